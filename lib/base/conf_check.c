/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that mean the same in every daemon's configuration, checked in one place.
 */
#include "base/conf_check.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/addr.h"

#define PREFIX_BYTES_MAX 128

bool conf_has_upper_case(const char *text)
{
	for (; *text != '\0'; text++) {
		if (isupper((unsigned char) *text))
			return true;
	}
	return false;
}

static bool is_label_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool conf_is_dns_name(const char *text)
{
	char before = '.';

	for (const char *p = text; *p != '\0'; p++) {
		bool edge = before == '.' || p[1] == '.' || p[1] == '\0';

		if (*p == '.' ? before == '.' : !is_label_char(*p) && (*p != '-' || edge))
			return false;
		before = *p;
	}
	return before != '.';
}

const char *conf_check_server_name(const char *text, char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                                   const char **ret_hint)
{
	struct addr addr;

	if (addr_parse(text, &addr) >= 0)
		return NULL;
	if (strlen(text) > CONF_DNS_NAME_MAX || !conf_is_dns_name(text)) {
		*ret_hint = "such as kubernetes or 10.0.0.1";
		return "is neither a DNS name in lower case nor an address";
	}
	return NULL;
}

const char *conf_check_file(const char *text, char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                            const char **ret_hint)
{
	if (strncmp(text, "-----BEGIN", 10) == 0) {
		*ret_hint = "write it into a file and name that";
		return "is a key or certificate, not the name of a file";
	}
	if (text[0] == '/')
		return NULL;
	*ret_hint = "write the whole path";
	return "is not an absolute path";
}

const char *conf_check_prefix(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                              const char **ret_hint)
{
	size_t len = strlen(text);

	if (len > PREFIX_BYTES_MAX)
		return "is longer than 128 characters";
	for (const char *p = text; *p != '\0'; p++) {
		if (!isalnum((unsigned char) *p) && strchr("/._-", *p) == NULL)
			return "has characters other than letters, digits, '/', '.', '_' and '-'";
	}
	if (text[0] == '/')
		return "must not begin with '/'";
	if (strstr(text, "//") != NULL)
		return "has an empty part";
	if (text[len - 1] != '/') {
		(void) snprintf(scratch, CONF_SCRATCH_BYTES, "write '%s/'", text);
		*ret_hint = scratch;
		return "must end in '/'";
	}
	return NULL;
}
