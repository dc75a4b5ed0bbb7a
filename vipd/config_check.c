/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single values: links, addresses, URLs. Each check is a conf_check_fn, pure: NULL, or what is
 * wrong with the text and perhaps what to write instead.
 */
#include "vipd/config_priv.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/conf_url.h"

/* --- names --- */

/* As the kernel's dev_valid_name() has it. */
const char *config_check_link(const char *text, char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                              const char **ret_hint UNUSED)
{
	if (strlen(text) >= IFNAMSIZ)
		return "is longer than the 15 characters of a link's name";
	if (strcmp(text, ".") == 0 || strcmp(text, "..") == 0)
		return "is no name of a link";
	for (const char *p = text; *p != '\0'; p++) {
		if (*p == '/' || *p == ':' || isspace((unsigned char) *p))
			return "has a character that no link's name can have";
		/* Where a link is made, the kernel would number it instead. */
		if (*p == '%')
			return "has a '%', which is a pattern and no name";
	}
	return NULL;
}

/* --- the VIP --- */

static const char *check_vip_sort(const struct addr *addr)
{
	static const uint8_t broadcast[4] = {255, 255, 255, 255};

	if (addr_is_unspecified(addr))
		return "is the unspecified address, not one that clients can reach";
	if (addr_is_loopback(addr))
		return "is a loopback address, which no other host can reach";
	if (addr_is_multicast(addr))
		return "is a multicast address";
	if (addr_is_linklocal(addr))
		return "is a link-local address";
	if (addr->family == AF_INET && memcmp(addr->bytes, broadcast, sizeof(broadcast)) == 0)
		return "is the broadcast address";
	if (addr->family == AF_INET && addr->bytes[0] == 0)
		return "lies in 0.0.0.0/8, which no host may have";
	return NULL;
}

const char *config_check_vip(const char *text, struct addr *ret_addr,
                             char scratch[static CONF_SCRATCH_BYTES], const char **ret_hint)
{
	char plain[ADDR_TEXT_MAX];
	struct prefix prefix;
	struct addr addr;
	const char *wrong;

	if (strchr(text, '/') != NULL && prefix_parse(text, &prefix) >= 0) {
		(void) snprintf(scratch, CONF_SCRATCH_BYTES, "write '%s'; a VIP always is /%u",
		                addr_format(&prefix.addr, plain),
		                (unsigned) addr_len_bytes(&prefix.addr) * 8);
		*ret_hint = scratch;
		return "is an address with a prefix length";
	}
	if (strncasecmp(text, "::ffff:", 7) == 0 && strchr(text, '.') != NULL) {
		(void) snprintf(scratch, CONF_SCRATCH_BYTES, "write '%.64s'", text + 7);
		*ret_hint = scratch;
		return "is an IPv4 address in IPv6 clothes";
	}
	if (addr_parse(text, &addr) < 0) {
		*ret_hint = "such as 10.0.0.5 or fd00::5";
		return "is not an IP address";
	}
	wrong = check_vip_sort(&addr);
	if (wrong == NULL)
		*ret_addr = addr;
	return wrong;
}

/* --- the health check --- */

const char *config_check_health_url(const char *text,
                                    char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                                    const char **ret_hint)
{
	struct conf_url url;
	const char *wrong;

	*ret_hint = "such as https://127.0.0.1:6443/readyz";
	wrong = conf_parse_url(text, &url);
	if (wrong != NULL)
		return wrong;
	if (strchr(url.rest, '#') != NULL)
		return "has a fragment";
	if (!url.is_address) {
		*ret_hint = "write the address, such as 127.0.0.1; the name to verify is 'serverName'";
		return "has a host name, and vipd resolves none";
	}
	return NULL;
}
