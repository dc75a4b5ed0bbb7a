/* SPDX-License-Identifier: Apache-2.0 */
/* The rule for names of VLANs. The length of the base alone decides, so that all VLANs of a link
 * have names of one form. */
#include "netconf/model/vlanname.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "web/digest.h"

void vlanname_form(const char *base, unsigned id, char ret_name[static IFNAMSIZ])
{
	uint8_t digest[DIGEST_SHA256_BYTES];

	if (strlen(base) + strlen(".4094") < IFNAMSIZ) {
		(void) snprintf(ret_name, IFNAMSIZ, "%.10s.%u", base, id % 10000);
		return;
	}
	digest_sha256(base, strlen(base), digest);
	(void) snprintf(ret_name, IFNAMSIZ, "%.4s%02x%02x%02x.%u", base, digest[0], digest[1],
	                digest[2], id % 10000);
}
