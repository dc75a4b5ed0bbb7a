/* SPDX-License-Identifier: Apache-2.0 */
/* A lease out of its text, checked word by word, since whoever is on the link may have sent it. */
#include "netconf/dhcp/lease.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/conf_check.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

#define FOREVER_S UINT32_MAX /* RFC 2131, section 3.3 */
#define WORD_MAX 256

/* --- the text --- */

struct text {
	const char *data;
	size_t len;
};

/* "" if there is no such key. */
static const char *find(const struct text *text, const char *key)
{
	size_t n = strlen(key);

	for (size_t at = 0; at < text->len; at += strlen(text->data + at) + 1) {
		const char *line = text->data + at;

		if (strncmp(line, key, n) == 0 && line[n] == '=')
			return line + n + 1;
	}
	return "";
}

/* The next word; false at the end. One that is too long is no word of ours: "". */
static bool next_word(const char **rest, char word[static WORD_MAX])
{
	const char *begin = *rest + strspn(*rest, " \t\n");
	size_t len = strcspn(begin, " \t\n");

	*rest = begin + len;
	if (len == 0)
		return false;
	(void) snprintf(word, WORD_MAX, "%.*s", len < WORD_MAX ? (int) len : 0, begin);
	return true;
}

static bool read_number(const char *word, uint32_t max, uint32_t *ret_number)
{
	int64_t value;

	if (conf_parse_int(word, &value) < 0 || value < 0 || value > max)
		return false;
	*ret_number = (uint32_t) value;
	return true;
}

/* Of one host, and of this family. */
static bool read_host_addr(const char *word, sa_family_t family, struct addr *ret_addr)
{
	struct addr addr;

	if (addr_parse(word, &addr) < 0 || addr.family != family || addr_is_unspecified(&addr) ||
	    addr_is_multicast(&addr) || addr_is_loopback(&addr))
		return false;
	*ret_addr = addr;
	return true;
}

/* Small letters, as names are compared. */
static bool read_name(const char *word, char name[static CONF_DNS_NAME_MAX + 1])
{
	size_t len = strlen(word);

	if (len > 0 && word[len - 1] == '.')
		len--;
	if (len == 0 || len > CONF_DNS_NAME_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		name[i] = (char) tolower((unsigned char) word[i]);
	name[len] = '\0';
	return conf_is_dns_name(name) && strcspn(name, ".") <= HOST_LABEL_MAX;
}

/* --- the parts --- */

static void read_resolvers(const char *value, sa_family_t family, struct lease *lease)
{
	char word[WORD_MAX];

	while (lease->n_resolvers < LEASE_RESOLVERS_MAX && next_word(&value, word)) {
		if (read_host_addr(word, family, &lease->resolvers[lease->n_resolvers]))
			lease->n_resolvers++;
	}
}

static void read_search(const char *value, struct lease *lease)
{
	char word[WORD_MAX], name[CONF_DNS_NAME_MAX + 1];

	while (lease->search.n < LEASE_DOMAINS_MAX && next_word(&value, word)) {
		if (read_name(word, name))
			host_add_text(&lease->search, name);
	}
}

static void add_route(struct lease *lease, const struct prefix *dst, const struct addr *gateway)
{
	struct lease_route route = {.dst = *dst, .gateway = *gateway};

	prefix_mask(&route.dst);
	if (addr_is_loopback(&route.dst.addr) || addr_is_multicast(&route.dst.addr))
		return;
	if (lease->n_routes < LEASE_ROUTES_MAX)
		lease->routes[lease->n_routes++] = route;
}

/* Pairs of a network and a gateway; 0.0.0.0 is none. */
static void read_classless(const char *value, struct lease *lease)
{
	char net[WORD_MAX], hop[WORD_MAX];

	while (next_word(&value, net) && next_word(&value, hop)) {
		struct addr gateway = {0};
		struct prefix dst;

		if (prefix_parse(net, &dst) < 0 || dst.addr.family != AF_INET)
			continue;
		if (strcmp(hop, "0.0.0.0") == 0 || read_host_addr(hop, AF_INET, &gateway))
			add_route(lease, &dst, &gateway);
	}
}

/* Who has classless routes has no other (RFC 3442). Of the routers the first is the best. */
static void read_routes(const struct text *text, struct lease *lease)
{
	static const struct prefix everything = {.addr = {.family = AF_INET}};
	const char *classless = find(text, "new_classless_static_routes");
	const char *routers = find(text, "new_routers");
	struct addr gateway;
	char word[WORD_MAX];

	if (classless[0] != '\0')
		read_classless(classless, lease);
	else if (next_word(&routers, word) && read_host_addr(word, AF_INET, &gateway))
		add_route(lease, &everything, &gateway);
}

static int64_t end_of(const struct text *text, uint32_t seconds)
{
	const char *uptime = find(text, "fairlead_uptime");
	char whole[WORD_MAX];
	uint32_t at_s;

	if (seconds == FOREVER_S)
		return MONO_NEVER;
	(void) snprintf(whole, sizeof(whole), "%.*s", (int) strcspn(uptime, "."), uptime);
	if (!read_number(whole, UINT32_MAX, &at_s))
		return 0;
	return ((int64_t) at_s + seconds) * US_PER_S;
}

static int read4(const struct text *text, struct lease *lease)
{
	const char *name = find(text, "new_host_name"), *search = find(text, "new_domain_search");
	struct prefix *address = &lease->addresses[0];
	uint32_t bits, seconds;

	if (!read_host_addr(find(text, "new_ip_address"), AF_INET, &address->addr) ||
	    !read_number(find(text, "new_subnet_cidr"), 32, &bits) || bits == 0 ||
	    !read_number(find(text, "new_dhcp_lease_time"), UINT32_MAX, &seconds))
		return -EBADMSG;
	address->len = (uint8_t) bits;
	lease->n_addresses = 1;
	lease->ends_us = end_of(text, seconds);
	(void) read_host_addr(find(text, "new_dhcp_server_identifier"), AF_INET, &lease->server);
	read_routes(text, lease);
	read_resolvers(find(text, "new_domain_name_servers"), AF_INET, lease);
	read_search(search[0] != '\0' ? search : find(text, "new_domain_name"), lease);
	if (!read_name(name, lease->host_name))
		lease->host_name[0] = '\0';
	return LEASE_TAKEN;
}

/* The client numbers associations and addresses from 1. Where on the link an address belongs is
 * for the routers to tell, so it stands alone. */
static int read6(const struct text *text, struct lease *lease)
{
	for (unsigned ia = 1; ia <= LEASE_ADDRESSES_MAX; ia++) {
		for (unsigned i = 1; i <= LEASE_ADDRESSES_MAX; i++) {
			struct prefix *address = &lease->addresses[lease->n_addresses];
			char key[64];
			uint32_t seconds;

			(void) snprintf(key, sizeof(key), "new_dhcp6_ia_na%u_ia_addr%u", ia, i);
			if (lease->n_addresses == LEASE_ADDRESSES_MAX ||
			    !read_host_addr(find(text, key), AF_INET6, &address->addr))
				continue;
			(void) snprintf(key, sizeof(key), "new_dhcp6_ia_na%u_ia_addr%u_vltime", ia, i);
			if (!read_number(find(text, key), UINT32_MAX, &seconds) || seconds == 0)
				continue;
			address->len = 128;
			lease->n_addresses++;
			lease->ends_us = MAX(lease->ends_us, end_of(text, seconds));
		}
	}
	if (lease->n_addresses == 0)
		return -EBADMSG;
	read_resolvers(find(text, "new_dhcp6_name_servers"), AF_INET6, lease);
	read_search(find(text, "new_dhcp6_domain_search"), lease);
	return LEASE_TAKEN;
}

/* --- the whole --- */

static bool is_one_of(const char *reason, const char *const *reasons)
{
	for (; *reasons != NULL; reasons++) {
		if (strcmp(reason, *reasons) == 0)
			return true;
	}
	return false;
}

/* A link that has lost its carrier has not lost its lease: that ends by its time. */
static enum lease_event judge(const struct text *text)
{
	static const char *const taken[] = {"BOUND",  "RENEW",   "REBIND",  "REBOOT", "BOUND6",
	                                    "RENEW6", "REBIND6", "REBOOT6", NULL};
	static const char *const lost[] = {"NAK",      "FAIL",  "RELEASE", "EXPIRE6",
	                                   "RELEASE6", "FAIL6", NULL};
	const char *reason = find(text, "reason");

	if (is_one_of(reason, taken))
		return LEASE_TAKEN;
	if (is_one_of(reason, lost) && strcmp(find(text, "ifcarrier"), "down") != 0)
		return LEASE_LOST;
	return LEASE_OTHER;
}

int lease_read(const char *text, size_t len, sa_family_t family, struct lease *ret_lease)
{
	const struct text all = {text, len};
	struct lease lease = {0};
	int r;

	if (len == 0 || text[len - 1] != '\0')
		return -EBADMSG;
	r = (int) judge(&all);
	if (r != LEASE_TAKEN)
		return r;
	r = family == AF_INET ? read4(&all, &lease) : read6(&all, &lease);
	if (r < 0)
		lease_fini(&lease);
	else
		*ret_lease = lease;
	return r;
}

void lease_fini(struct lease *lease)
{
	conf_strings_fini(&lease->search);
	*lease = (struct lease){0};
}

bool lease_equal(const struct lease *a, const struct lease *b)
{
	if (a->n_addresses != b->n_addresses || a->n_routes != b->n_routes ||
	    a->n_resolvers != b->n_resolvers || a->search.n != b->search.n ||
	    strcmp(a->host_name, b->host_name) != 0)
		return false;
	for (size_t i = 0; i < a->n_addresses; i++) {
		if (!prefix_equal(&a->addresses[i], &b->addresses[i]))
			return false;
	}
	for (size_t i = 0; i < a->n_routes; i++) {
		if (!prefix_equal(&a->routes[i].dst, &b->routes[i].dst) ||
		    !addr_equal(&a->routes[i].gateway, &b->routes[i].gateway))
			return false;
	}
	for (size_t i = 0; i < a->n_resolvers; i++) {
		if (!addr_equal(&a->resolvers[i], &b->resolvers[i]))
			return false;
	}
	for (size_t i = 0; i < a->search.n; i++) {
		if (strcmp(a->search.items[i], b->search.items[i]) != 0)
			return false;
	}
	return true;
}
