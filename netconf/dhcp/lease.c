/* SPDX-License-Identifier: Apache-2.0 */
/* A lease out of its text, checked word by word, since whoever is on the link may have sent it. */
#include "netconf/dhcp/lease.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
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

/* From leases to what is wanted. Pure. What two of them say otherwise, the first one says. */

struct merging {
	struct model *want;
	const struct lease_use *use;
	int64_t now_us;
	unsigned configured; /* enum host_attr: what the configuration says itself */
	bool no_search;
	struct conf_strings *notes;
};

static void note(const struct merging *m, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void note(const struct merging *m, const char *fmt, ...)
{
	AUTO(free) char *text = NULL;
	AUTO(free) char *line = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	line = xasprintf("the lease of %s: %s", m->use->link, text);
	host_add_text(m->notes, line);
}

/* --- addresses and routes --- */

/* A lease that is over is none. */
uint32_t lease_left_s(const struct lease *lease, int64_t now_us)
{
	int64_t left_s = (lease->ends_us - now_us) / US_PER_S;

	if (lease->ends_us == MONO_NEVER)
		return ADDRESS_FOREVER;
	return (uint32_t) MAX(1, MIN(left_s, ADDRESS_FOREVER - 1));
}

static void add_address(const struct merging *m, const struct prefix *prefix)
{
	struct model *want = m->want;
	struct address address = {.prefix = *prefix}, *added;
	char text[PREFIX_TEXT_MAX];

	(void) snprintf(address.link, sizeof(address.link), "%s", m->use->link);
	for (size_t i = 0; i < want->n_addresses; i++) {
		if (address_compare_key(&want->addresses[i], &address) != 0)
			continue;
		note(m, "the configuration has the address %s too", prefix_format(prefix, text));
		return;
	}
	added = model_add_address(want, m->use->link, prefix);
	added->origin = m->use->dhcp->origin;
	added->valid_s = added->preferred_s = lease_left_s(m->use->lease, m->now_us);
	/* The kernel's route to an IPv6 address that ends stays when that is deleted. */
	if (prefix->addr.family == AF_INET6)
		added->flags = IFA_F_NOPREFIXROUTE;
}

/* A gateway that no address of the lease has as a neighbour is on the link all the same. */
static bool is_off_link(const struct lease *lease, const struct addr *gateway)
{
	for (size_t i = 0; i < lease->n_addresses; i++) {
		if (prefix_contains(&lease->addresses[i], gateway))
			return false;
	}
	return true;
}

static bool is_broadcast(const struct prefix *prefix, const struct addr *addr)
{
	struct prefix net = *prefix;

	prefix_mask(&net);
	for (unsigned bit = net.len; bit < 32; bit++)
		net.addr.bytes[bit / 8] |= (uint8_t) (0x80u >> bit % 8);
	return prefix->len < 31 && addr_equal(&net.addr, addr);
}

/* Where the kernel has what belongs to the link: of a VRF, and of its ports, in the VRF's own. */
static uint32_t table_of(const struct merging *m, const char *name)
{
	const struct link *link = model_find_link(m->want, name);
	const struct link *master = link != NULL ? model_find_link(m->want, link->master) : NULL;

	if (link != NULL && link->kind == LINK_VRF)
		return link->table;
	return master != NULL && master->kind == LINK_VRF ? master->table : RT_TABLE_MAIN;
}

/* A gateway on the link it looks for on that alone; one that is not, in all of the table. */
static bool is_looked_at(const struct merging *m, const char *link, bool off_link)
{
	if (strcmp(link, m->use->link) == 0)
		return true;
	return off_link && table_of(m, link) == table_of(m, m->use->link);
}

/*
 * Why the kernel would refuse a route over it, and with it the change that the route is part of:
 * no server may keep the operator from changing the network. NULL: it would not. Its own address as
 * the gateway the kernel takes, as long as that is on the link.
 */
static const char *no_gateway(const struct merging *m, const struct addr *gateway)
{
	static const struct prefix everywhere = {.addr = {.family = AF_INET}};
	const struct model *want = m->want;
	bool off_link = is_off_link(m->use->lease, gateway);

	if (is_broadcast(&everywhere, gateway))
		return "a broadcast address";
	for (size_t i = 0; i < want->n_addresses; i++) {
		const struct prefix *prefix = &want->addresses[i].prefix;

		if (!is_looked_at(m, want->addresses[i].link, off_link))
			continue;
		if (prefix->addr.family == AF_INET && is_broadcast(prefix, gateway))
			return "a broadcast address";
		if (addr_equal(&prefix->addr, gateway) && off_link)
			return "an address of this host";
	}
	return NULL;
}

static void merge_route(const struct merging *m, const struct lease_route *from)
{
	const struct lease *lease = m->use->lease;
	const char *why = no_gateway(m, &from->gateway);
	struct model *want = m->want;
	struct route *route;
	char text[MODEL_TEXT_MAX];

	if (why != NULL) {
		note(m, "a route is left out, as its gateway is %s: %s", why,
		     addr_format(&from->gateway, text));
		return;
	}
	route = model_add_route(want, &from->dst);
	route->table = table_of(m, m->use->link);
	route->metric = m->use->dhcp->metric;
	route->gateway = from->gateway;
	route->src = lease->addresses[0].addr;
	route->onlink = addr_is_set(&from->gateway) && is_off_link(lease, &from->gateway);
	route->origin = m->use->dhcp->origin;
	(void) snprintf(route->link, sizeof(route->link), "%s", m->use->link);
	route_normalise(route);
	for (size_t i = 0; i + 1 < want->n_routes; i++) {
		if (route_compare_key(&want->routes[i], route) != 0)
			continue;
		note(m, "there is another route of this metric already: %s", route_format(route, text));
		model_remove_route(want, want->n_routes - 1);
		return;
	}
}

/* --- the host --- */

static bool has_resolver(const struct host *host, const struct addr *addr)
{
	for (size_t i = 0; i < host->n_resolvers; i++) {
		if (addr_equal(&host->resolvers[i], addr))
			return true;
	}
	return false;
}

static void add_resolvers(const struct merging *m)
{
	const struct lease *lease = m->use->lease;
	struct host *host = &m->want->host;

	for (size_t i = 0; i < lease->n_resolvers && (m->configured & HOST_RESOLVERS) == 0; i++) {
		if (host->n_resolvers == LEASE_RESOLVERS_MAX || has_resolver(host, &lease->resolvers[i]))
			continue;
		host_add_resolver(host, &lease->resolvers[i]);
		host->has |= HOST_RESOLVERS;
	}
}

static bool has_domain(const struct host *host, const char *domain)
{
	for (size_t i = 0; i < host->search.n; i++) {
		if (strcmp(host->search.items[i], domain) == 0)
			return true;
	}
	return false;
}

static void add_search(const struct merging *m)
{
	const struct lease *lease = m->use->lease;
	struct host *host = &m->want->host;

	if ((m->configured & HOST_SEARCH) != 0 || m->no_search)
		return;
	for (size_t i = 0; i < lease->search.n; i++) {
		if (host->search.n == LEASE_DOMAINS_MAX || has_domain(host, lease->search.items[i]))
			continue;
		host_add_text(&host->search, lease->search.items[i]);
		host->has |= HOST_SEARCH;
	}
}

static void add_name(const struct merging *m)
{
	const char *name = m->use->lease->host_name;
	struct host *host = &m->want->host;
	size_t label = strcspn(name, ".");

	if ((host->has & HOST_NAME) != 0 || m->use->dhcp->ignore_hostname || label == 0)
		return;
	(void) snprintf(host->name, sizeof(host->name), "%.*s", (int) label, name);
	if (name[label] == '.')
		(void) snprintf(host->domain, sizeof(host->domain), "%s", name + label + 1);
	host->has |= HOST_NAME;
}

void lease_merge(struct model *want, const struct lease_use *uses, size_t n, int64_t now_us,
                 bool no_default_search, struct conf_strings *notes)
{
	struct merging m = {
	    .want = want,
	    .now_us = now_us,
	    .configured = want->host.has,
	    .no_search = no_default_search,
	    .notes = notes,
	};

	/* All addresses first, as routes depend on which there are. */
	for (size_t i = 0; i < n; i++) {
		m.use = &uses[i];
		for (size_t j = 0; j < uses[i].lease->n_addresses; j++)
			add_address(&m, &uses[i].lease->addresses[j]);
	}
	for (size_t i = 0; i < n; i++) {
		const struct lease *lease = uses[i].lease;

		m.use = &uses[i];
		for (size_t j = 0; j < lease->n_routes; j++)
			merge_route(&m, &lease->routes[j]);
		add_resolvers(&m);
		add_search(&m);
		add_name(&m);
	}
	model_normalise(want);
}
