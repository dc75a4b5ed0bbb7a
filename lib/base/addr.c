/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing, printing and comparing of addresses. Pure. */
#include "base/addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"

int addr_parse(const char *text, struct addr *ret_addr)
{
	struct addr a = {0};

	if (inet_pton(AF_INET, text, a.bytes) == 1) {
		a.family = AF_INET;
	} else if (inet_pton(AF_INET6, text, a.bytes) == 1) {
		struct in6_addr in6;

		memcpy(&in6, a.bytes, sizeof(in6));
		if (IN6_IS_ADDR_V4MAPPED(&in6))
			return -EINVAL;
		a.family = AF_INET6;
	} else {
		return -EINVAL;
	}
	*ret_addr = a;
	return 0;
}

/* Digits only, no sign, no leading zero, at most `max`. */
static int parse_prefix_len(const char *text, unsigned max, uint8_t *ret_len)
{
	unsigned value = 0;

	if (text[0] == '\0' || strlen(text) > 3 || (text[0] == '0' && text[1] != '\0'))
		return -EINVAL;
	for (const char *p = text; *p != '\0'; p++) {
		if (*p < '0' || *p > '9')
			return -EINVAL;
		value = value * 10 + (unsigned) (*p - '0');
	}
	if (value > max)
		return -EINVAL;
	*ret_len = (uint8_t) value;
	return 0;
}

int prefix_parse(const char *text, struct prefix *ret_prefix)
{
	const char *slash = strchr(text, '/');
	size_t host_len = slash != NULL ? (size_t) (slash - text) : strlen(text);
	char host[ADDR_TEXT_MAX];
	struct prefix p = {0};
	uint8_t max;
	int r;

	if (host_len >= sizeof(host))
		return -EINVAL;
	memcpy(host, text, host_len);
	host[host_len] = '\0';
	r = addr_parse(host, &p.addr);
	if (r < 0)
		return r;
	max = (uint8_t) (addr_len_bytes(&p.addr) * 8);
	p.len = max;
	if (slash != NULL) {
		r = parse_prefix_len(slash + 1, max, &p.len);
		if (r < 0)
			return r;
	}
	*ret_prefix = p;
	return 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int mac_parse(const char *text, struct mac *ret_mac)
{
	struct mac m;

	if (strlen(text) != MAC_TEXT_MAX - 1)
		return -EINVAL;
	for (size_t i = 0; i < sizeof(m.bytes); i++) {
		int high = hex_digit(text[i * 3]);
		int low = hex_digit(text[i * 3 + 1]);

		if (high < 0 || low < 0 || (i < 5 && text[i * 3 + 2] != ':'))
			return -EINVAL;
		m.bytes[i] = (uint8_t) (high << 4 | low);
	}
	*ret_mac = m;
	return 0;
}

const char *addr_format(const struct addr *a, char buf[static ADDR_TEXT_MAX])
{
	buf[0] = '\0';
	if (a->family != AF_UNSPEC)
		(void) inet_ntop(a->family, a->bytes, buf, ADDR_TEXT_MAX);
	return buf;
}

const char *prefix_format(const struct prefix *p, char buf[static PREFIX_TEXT_MAX])
{
	char text[ADDR_TEXT_MAX];

	(void) snprintf(buf, PREFIX_TEXT_MAX, "%s/%u", addr_format(&p->addr, text), p->len);
	return buf;
}

const char *mac_format(const struct mac *m, char buf[static MAC_TEXT_MAX])
{
	const uint8_t *b = m->bytes;

	(void) snprintf(buf, MAC_TEXT_MAX, "%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3],
	                b[4], b[5]);
	return buf;
}

size_t addr_len_bytes(const struct addr *a)
{
	switch (a->family) {
	case AF_INET:
		return 4;
	case AF_INET6:
		return 16;
	default:
		return 0;
	}
}

bool addr_is_set(const struct addr *a)
{
	return a->family != AF_UNSPEC;
}

bool addr_equal(const struct addr *a, const struct addr *b)
{
	return addr_compare(a, b) == 0;
}

int addr_compare(const struct addr *a, const struct addr *b)
{
	if (a->family != b->family)
		return a->family < b->family ? -1 : 1;
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

bool addr_is_multicast(const struct addr *a)
{
	if (a->family == AF_INET)
		return (a->bytes[0] & 0xf0) == 0xe0;
	return a->family == AF_INET6 && a->bytes[0] == 0xff;
}

bool addr_is_loopback(const struct addr *a)
{
	static const uint8_t loopback6[16] = {[15] = 1};

	if (a->family == AF_INET)
		return a->bytes[0] == 127;
	return a->family == AF_INET6 && memcmp(a->bytes, loopback6, sizeof(loopback6)) == 0;
}

bool addr_is_unspecified(const struct addr *a)
{
	static const uint8_t zero[16];

	return a->family != AF_UNSPEC && memcmp(a->bytes, zero, sizeof(zero)) == 0;
}

bool addr_is_linklocal(const struct addr *a)
{
	if (a->family == AF_INET)
		return a->bytes[0] == 169 && a->bytes[1] == 254;
	return a->family == AF_INET6 && a->bytes[0] == 0xfe && (a->bytes[1] & 0xc0) == 0x80;
}

bool mac_equal(const struct mac *a, const struct mac *b)
{
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

/* --- prefixes --- */

void prefix_mask(struct prefix *p)
{
	for (size_t i = 0; i < sizeof(p->addr.bytes); i++) {
		unsigned kept = p->len > i * 8 ? MIN(p->len - (unsigned) i * 8, 8u) : 0;

		p->addr.bytes[i] &= (uint8_t) (0xff00u >> kept);
	}
}

bool prefix_is_masked(const struct prefix *p)
{
	struct prefix masked = *p;

	prefix_mask(&masked);
	return addr_equal(&masked.addr, &p->addr);
}

bool prefix_equal(const struct prefix *a, const struct prefix *b)
{
	return prefix_compare(a, b) == 0;
}

int prefix_compare(const struct prefix *a, const struct prefix *b)
{
	int order = addr_compare(&a->addr, &b->addr);

	return order != 0 ? order : (int) a->len - (int) b->len;
}

bool prefix_contains(const struct prefix *p, const struct addr *a)
{
	struct prefix network = *p, other = {*a, p->len};

	prefix_mask(&network);
	prefix_mask(&other);
	return addr_equal(&network.addr, &other.addr);
}

int addr_from_bytes(sa_family_t family, const void *bytes, size_t len, struct addr *ret_addr)
{
	struct addr a = {.family = family};

	if ((family != AF_INET && family != AF_INET6) || len != addr_len_bytes(&a))
		return -EINVAL;
	memcpy(a.bytes, bytes, len);
	*ret_addr = a;
	return 0;
}
