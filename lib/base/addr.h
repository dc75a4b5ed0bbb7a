/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One type for IPv4 and IPv6 addresses, a prefix, and a link-layer address. Plain values: copied,
 * compared, never allocated. Text is canonical as inet_ntop(3) writes it; IPv4-mapped IPv6
 * addresses are refused, because they would be a second spelling of the same address.
 */

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct addr {
	sa_family_t family; /* AF_INET, AF_INET6, or AF_UNSPEC for "none" */
	uint8_t bytes[16];  /* network order; IPv4 uses the first four, the rest is zero */
};

struct prefix {
	struct addr addr;
	uint8_t len; /* bits */
};

struct mac {
	uint8_t bytes[6];
};

#define ADDR_TEXT_MAX INET6_ADDRSTRLEN
#define PREFIX_TEXT_MAX (ADDR_TEXT_MAX + 4)
#define MAC_TEXT_MAX 18

/* 0, or -EINVAL. No prefix length, no zone, no brackets. */
int addr_parse(const char *text, struct addr *ret_addr);

/* "10.0.0.0/8"; a bare address means /32 or /128. 0, or -EINVAL. */
int prefix_parse(const char *text, struct prefix *ret_prefix);

/* "02:00:00:00:00:01", six hexadecimal pairs. 0, or -EINVAL. */
int mac_parse(const char *text, struct mac *ret_mac);

/* Write into buf (of at least *_TEXT_MAX bytes) and return buf. AF_UNSPEC gives "". */
const char *addr_format(const struct addr *a, char buf[static ADDR_TEXT_MAX]);
const char *prefix_format(const struct prefix *p, char buf[static PREFIX_TEXT_MAX]);
const char *mac_format(const struct mac *m, char buf[static MAC_TEXT_MAX]);

size_t addr_len_bytes(const struct addr *a); /* 4, 16, or 0 */
bool addr_is_set(const struct addr *a);
bool addr_equal(const struct addr *a, const struct addr *b);
int addr_compare(const struct addr *a, const struct addr *b); /* a total order */
bool addr_is_multicast(const struct addr *a);
bool addr_is_loopback(const struct addr *a);
bool addr_is_unspecified(const struct addr *a); /* 0.0.0.0 or :: */
bool addr_is_linklocal(const struct addr *a);
bool mac_equal(const struct mac *a, const struct mac *b);

/* Clears the bits behind the prefix. */
void prefix_mask(struct prefix *p);
bool prefix_is_masked(const struct prefix *p);
bool prefix_equal(const struct prefix *a, const struct prefix *b);
int prefix_compare(const struct prefix *a, const struct prefix *b); /* address, then length */
bool prefix_contains(const struct prefix *p, const struct addr *a);

/* From raw network-order bytes of the family; len must be 4 or 16. 0, or -EINVAL. */
int addr_from_bytes(sa_family_t family, const void *bytes, size_t len, struct addr *ret_addr);
