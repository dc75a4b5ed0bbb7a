/* SPDX-License-Identifier: Apache-2.0 */
/* What OpenSSL says of a failure is the first thing that it could not do; what follows from that
 * stands behind it in its queue, and is left there. */
#include "base/openssl.h"

#include <openssl/err.h>
#include <stdlib.h>

#include "base/log.h"

#define REASON_MAX 256

void openssl_expect(int returned, const char *call)
{
	char reason[REASON_MAX] = "OpenSSL does not say why";
	unsigned long code;

	if (returned == 1)
		return;
	code = ERR_peek_error();
	if (code != 0)
		ERR_error_string_n(code, reason, sizeof(reason));
	log_error("openssl_failed", "call=%s reason=\"%s\"", call, reason);
	abort();
}
