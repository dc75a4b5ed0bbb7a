/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A file of a time zone (RFC 8536) that has nothing but the rule. */

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ZONEFILE_BYTES_MAX 256

static inline size_t zonefile_put(uint8_t *at)
{
	memset(at, 0, 44 + 6 + 4);
	memcpy(at, "TZif2", 5);
	at[39] = 1; /* types */
	at[43] = 4; /* characters of names */
	memcpy(at + 50, "UTC", 3);
	return 44 + 6 + 4;
}

/* How many bytes it has. */
static inline size_t zonefile_make(const char *rule, uint8_t ret_file[static ZONEFILE_BYTES_MAX])
{
	size_t len = zonefile_put(ret_file), rule_len = strlen(rule);

	len += zonefile_put(ret_file + len);
	assert(len + rule_len + 2 <= ZONEFILE_BYTES_MAX);
	ret_file[len++] = '\n';
	memcpy(ret_file + len, rule, rule_len);
	ret_file[len + rule_len] = '\n';
	return len + rule_len + 1;
}
