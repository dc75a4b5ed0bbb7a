/* SPDX-License-Identifier: Apache-2.0 */
/* OpenSSL says why in a queue of the thread. What others of the thread have left there, as of a
 * connection that could not be made, stands before it. */
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
	code = ERR_peek_last_error();
	if (code != 0)
		ERR_error_string_n(code, reason, sizeof(reason));
	log_error("openssl_failed", "call=%s reason=\"%s\"", call, reason);
	abort();
}
