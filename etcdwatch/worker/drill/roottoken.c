/* SPDX-License-Identifier: Apache-2.0 */
/* Two JSON objects in base64 as addresses have it, and their signature. */
#include "etcdwatch/worker/drill/roottoken.h"

#include <string.h>
#include <sys/random.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "web/digest.h"

void roottoken_draw_key(char ret_key[static ROOTTOKEN_KEY_CHARS + 1])
{
	uint8_t bytes[ROOTTOKEN_KEY_CHARS / 2] = {0};

	/* It guards a copy that nobody else can reach, so any key would do. */
	if (getrandom(bytes, sizeof(bytes), 0) < 0)
		log_debug("no_random_key", "reason=\"getrandom failed\"");
	(void) digest_hex(bytes, sizeof(bytes), ret_key);
}

/* RFC 4648, section 5, without padding. */
static char *encode(const void *data, size_t len)
{
	char *text = base64_encode(data, len);

	text[strcspn(text, "=")] = '\0';
	for (char *p = text; *p != '\0'; p++) {
		if (*p == '+')
			*p = '-';
		else if (*p == '/')
			*p = '_';
	}
	return text;
}

char *roottoken_make(const char *key, uint64_t auth_revision, int64_t expires_s)
{
	static const char header[] = "{\"alg\":\"HS256\",\"typ\":\"JWT\"}";
	AUTO(free)
	char *claims = xasprintf("{\"username\":\"root\",\"revision\":%llu,\"exp\":%lld}",
	                         (unsigned long long) auth_revision, (long long) expires_s);
	AUTO(free) char *first = encode(header, strlen(header));
	AUTO(free) char *second = encode(claims, strlen(claims));
	AUTO(free) char *both = xasprintf("%s.%s", first, second);
	AUTO(free) char *third = NULL;
	uint8_t mac[DIGEST_SHA256_BYTES];

	digest_hmac_sha256(key, strlen(key), both, strlen(both), mac);
	third = encode(mac, sizeof(mac));
	return xasprintf("%s.%s", both, third);
}
