/* SPDX-License-Identifier: Apache-2.0 */
/* The model of a network: identity, order, difference, and the kernel's form of everything. */
#include "netconf/model/model.h"

#include <stdlib.h>

#include "base/mem.h"
#include "tests/unit/check.h"

static struct prefix prefix(const char *text)
{
	struct prefix p = {0};

	CHECK(prefix_parse(text, &p) == 0);
	return p;
}

static struct addr addr(const char *text)
{
	struct addr a = {0};

	CHECK(addr_parse(text, &a) == 0);
	return a;
}

/* --- bonds --- */

static void test_bond_table(void)
{
	for (enum bond_option o = 0; o < BOND_OPTIONS; o++) {
		const struct bond_option_info *info = &bond_options[o];

		if (!CHECK(info->name != NULL && info->attribute != 0 && info->modes != 0))
			continue;
		for (enum bond_option other = 0; other < o; other++)
			CHECK(bond_options[other].attribute != info->attribute &&
			      strcmp(bond_options[other].name, info->name) != 0);
		CHECK(info->initial >= info->min || info->max == 0);
		for (uint32_t i = 0; info->choices != NULL && i <= info->max; i++)
			CHECK(info->choices[i] != NULL);
		CHECK(info->choices == NULL || info->choices[info->max + 1] == NULL);
	}
	CHECK_EQ_INT(bond_options[BOND_MODE].constraint, BOND_NEEDS_DOWN_EMPTY);
	CHECK_EQ_INT(bond_options[BOND_FAIL_OVER_MAC].constraint, BOND_NEEDS_EMPTY);
	CHECK_EQ_INT(bond_options[BOND_LACP_RATE].constraint, BOND_NEEDS_DOWN);
	CHECK_EQ_INT(bond_options[BOND_AD_ACTOR_SYSTEM].constraint, BOND_LIVE);
	CHECK(bond_mode_allows(BOND_TLB, BOND_PRIMARY) && !bond_mode_allows(BOND_8023AD, BOND_PRIMARY));
	CHECK(!bond_mode_allows(BOND_TLB, BOND_ARP_INTERVAL));
}

static void test_bond_normal_form(void)
{
	struct bond bond = {0};

	bond_set(&bond, BOND_MODE, BOND_8023AD);
	CHECK_EQ_INT(bond_get(&bond, BOND_MIIMON), 100);
	CHECK_EQ_INT(bond_get(&bond, BOND_TLB_DYNAMIC_LB), 1);
	bond_set(&bond, BOND_UPDELAY, 250);
	bond_set(&bond, BOND_PACKETS_PER_SLAVE, 1);
	bond_normalise(&bond);
	CHECK_EQ_INT(bond_get(&bond, BOND_UPDELAY), 200);
	CHECK(!bond_has(&bond, BOND_PACKETS_PER_SLAVE));
	bond_set(&bond, BOND_MIIMON, 80);
	bond_set(&bond, BOND_PEER_NOTIF_DELAY, 79);
	bond_set(&bond, BOND_DOWNDELAY, 170);
	bond_normalise(&bond);
	CHECK_EQ_INT(bond_get(&bond, BOND_UPDELAY), 160);
	CHECK_EQ_INT(bond_get(&bond, BOND_DOWNDELAY), 160);
	CHECK_EQ_INT(bond_get(&bond, BOND_PEER_NOTIF_DELAY), 0);

	bond = (struct bond){0};
	bond_set(&bond, BOND_MODE, BOND_ACTIVE_BACKUP);
	bond_set(&bond, BOND_MIIMON, 100);
	bond_set(&bond, BOND_UPDELAY, 200);
	bond_set(&bond, BOND_ARP_INTERVAL, 1000);
	bond_normalise(&bond);
	CHECK_EQ_INT(bond_get(&bond, BOND_MIIMON), 0);
	CHECK_EQ_INT(bond_get(&bond, BOND_UPDELAY), 0);
}

static void test_bond_difference(void)
{
	struct bond want = {0}, have = {0};
	char text[BOND_VALUE_TEXT_MAX];

	for (enum bond_option o = 0; o < BOND_OPTIONS; o++)
		have.has |= BOND_BIT(o);
	bond_set(&have, BOND_MODE, BOND_ACTIVE_BACKUP);
	CHECK_EQ_INT(bond_differs(&want, &have), 0);
	bond_set(&want, BOND_MODE, BOND_ACTIVE_BACKUP);
	bond_set(&want, BOND_LACP_RATE, 1);
	want.has |=
	    BOND_BIT(BOND_PRIMARY) | BOND_BIT(BOND_ARP_IP_TARGET) | BOND_BIT(BOND_AD_ACTOR_SYSTEM);
	(void) snprintf(want.primary, sizeof(want.primary), "eth0");
	want.arp_targets[want.n_arp_targets++] = addr("10.0.0.1");
	want.arp_targets[want.n_arp_targets++] = addr("10.0.0.2");
	have.arp_targets[have.n_arp_targets++] = addr("10.0.0.1");
	want.ad_actor_system.bytes[0] = 2;
	CHECK_EQ_INT(bond_differs(&want, &have), BOND_BIT(BOND_PRIMARY) | BOND_BIT(BOND_ARP_IP_TARGET) |
	                                             BOND_BIT(BOND_LACP_RATE) |
	                                             BOND_BIT(BOND_AD_ACTOR_SYSTEM));
	CHECK_EQ_STR(bond_format_value(&want, BOND_MODE, text), "active-backup");
	CHECK_EQ_STR(bond_format_value(&want, BOND_LACP_RATE, text), "fast");
	CHECK_EQ_STR(bond_format_value(&want, BOND_PRIMARY, text), "eth0");
	CHECK_EQ_STR(bond_format_value(&want, BOND_ARP_IP_TARGET, text), "10.0.0.1,10.0.0.2");
	CHECK_EQ_STR(bond_format_value(&want, BOND_NS_IP6_TARGET, text), "");
	CHECK_EQ_STR(bond_format_value(&want, BOND_AD_ACTOR_SYSTEM, text), "02:00:00:00:00:00");
	(void) snprintf(have.primary, sizeof(have.primary), "eth0");
	have.arp_targets[have.n_arp_targets++] = addr("10.0.0.2");
	bond_normalise(&want);
	bond_normalise(&have);
	CHECK_EQ_INT(bond_differs(&want, &have), 0);
	have.has &= ~BOND_BIT(BOND_PRIMARY);
	CHECK_EQ_INT(bond_differs(&want, &have), BOND_BIT(BOND_PRIMARY));
}

/* --- links --- */

static void test_link_difference(void)
{
	struct link want = {.name = "v", .kind = LINK_VLAN}, have = {.name = "v", .kind = LINK_VLAN};

	have.has = LINK_HAS_UP | LINK_HAS_MTU | LINK_HAS_MASTER | LINK_HAS_PARENT | LINK_HAS_VLAN_ID |
	           LINK_HAS_VLAN_PROTOCOL;
	have.mtu = 1500;
	have.vlan_protocol = LINK_VLAN_8021Q;
	CHECK_EQ_INT(link_differs(&want, &have), 0);
	link_normalise(&want);
	CHECK_EQ_INT(want.vlan_protocol, LINK_VLAN_8021Q);
	CHECK_EQ_INT(link_differs(&want, &have), 0);
	want.has |= LINK_HAS_UP | LINK_HAS_MTU | LINK_HAS_PARENT | LINK_HAS_VLAN_ID;
	want.up = true;
	want.mtu = 1500;
	(void) snprintf(want.parent, sizeof(want.parent), "bond0");
	CHECK_EQ_INT(link_differs(&want, &have), LINK_HAS_UP | LINK_HAS_PARENT);
	CHECK_EQ_STR(link_attr_name(link_differs(&want, &have)), "up");
	/* What nobody told is not known to be right. */
	have.has &= ~(unsigned) LINK_HAS_MTU;
	CHECK_EQ_INT(link_differs(&want, &have), LINK_HAS_UP | LINK_HAS_PARENT | LINK_HAS_MTU);
	have.kind = LINK_DUMMY;
	CHECK((link_differs(&want, &have) & LINK_HAS_KIND) != 0);
	CHECK(link_is_virtual(&want));
	have.kind = LINK_PHYSICAL;
	CHECK(!link_is_virtual(&have));
}

/* --- addresses, routes, rules --- */

static void test_addresses(void)
{
	struct model *m = model_new();
	struct prefix wide = prefix("10.0.0.5/16"), narrow = prefix("10.0.0.5/24");
	struct address *a = model_add_address(m, "eth0", &wide);

	a->flags = IFA_F_PERMANENT | IFA_F_NODAD | IFA_F_NOPREFIXROUTE;
	a->peer = wide.addr;
	a->valid_s = 60;
	a->priority = 10;
	(void) model_add_address(m, "eth0", &narrow);
	model_normalise(m);
	/* IPv4 takes both beside each other; the shorter prefix stands first. */
	CHECK_EQ_INT(m->n_addresses, 2);
	CHECK(model_find_address(m, "eth0", &wide) == &m->addresses[0]);
	CHECK(model_find_address(m, "eth0", &narrow) == &m->addresses[1]);
	CHECK(model_find_address(m, "eth1", &narrow) == NULL);
	CHECK_EQ_INT(m->addresses[0].flags, IFA_F_NOPREFIXROUTE);
	CHECK_EQ_INT(m->addresses[0].state, IFA_F_PERMANENT);
	CHECK(!addr_is_set(&m->addresses[0].peer));
	CHECK_EQ_INT(address_differs(&m->addresses[1], &m->addresses[0]),
	             ADDRESS_PRIORITY | ADDRESS_FLAGS | ADDRESS_LIFETIME);
	model_free(m);
}

/* Time goes by between a look and what is written, and on a busy machine more of it. */
static void test_lifetimes(void)
{
	static const struct {
		uint32_t want_s, have_s;
		bool differs, like;
	} cases[] = {
	    {ADDRESS_FOREVER, ADDRESS_FOREVER, false, true},
	    {ADDRESS_FOREVER, 3600, true, false},
	    {3600, ADDRESS_FOREVER, true, true},
	    {3600, 3590, false, true},
	    {3600, 3610, false, true},
	    {3600, 3589, true, true},
	    {1800, 3600, true, true},
	    /* A short one is renewed soon. */
	    {20, 15, false, true},
	    {20, 14, true, true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct address want = {.valid_s = cases[i].want_s, .preferred_s = cases[i].want_s};
		struct address have = {.valid_s = cases[i].have_s, .preferred_s = cases[i].have_s};
		unsigned differs = address_differs(&want, &have);

		if (!CHECK_EQ_INT(differs, cases[i].differs ? ADDRESS_LIFETIME : 0) ||
		    !CHECK_EQ_INT(address_is_like(&want, &have), cases[i].like))
			(void) fprintf(stderr, "  case %zu\n", i);
		have.priority = 5;
		CHECK(!address_is_like(&want, &have));
	}
}

static void test_routes(void)
{
	static const struct {
		const char *dst;
		uint8_t type;
		const char *gateway, *link;
		uint32_t metric, table;
		uint32_t want_metric, want_table;
		uint8_t want_scope;
		const char *text;
	} cases[] = {
	    {"10.1.2.3/8", RTN_UNICAST, "10.0.0.1", "eth0", 0, 0, 0, RT_TABLE_MAIN, RT_SCOPE_UNIVERSE,
	     "10.0.0.0/8 via 10.0.0.1 dev eth0"},
	    {"10.1.2.3/8", RTN_UNICAST, NULL, "eth0", 7, 300, 7, 300, RT_SCOPE_LINK,
	     "10.0.0.0/8 dev eth0 metric 7 table 300"},
	    {"fd00::5/64", RTN_UNICAST, NULL, "eth0", 0, 254, 1024, RT_TABLE_MAIN, RT_SCOPE_UNIVERSE,
	     "fd00::/64 dev eth0 metric 1024"},
	    {"::/0", RTN_UNICAST, "fe80::1", "eth0", 5, 254, 5, RT_TABLE_MAIN, RT_SCOPE_UNIVERSE,
	     "default via fe80::1 dev eth0 metric 5"},
	    {"10.9.0.0/16", RTN_BLACKHOLE, NULL, "", 0, 254, 0, RT_TABLE_MAIN, RT_SCOPE_UNIVERSE,
	     "blackhole 10.9.0.0/16"},
	    {"fd09::/32", RTN_BLACKHOLE, NULL, "lo", 0, 254, 1024, RT_TABLE_MAIN, RT_SCOPE_UNIVERSE,
	     "blackhole fd09::/32 metric 1024"},
	    {"0.0.0.0/0", RTN_UNICAST, NULL, "wg0", 0, 254, 0, RT_TABLE_MAIN, RT_SCOPE_LINK,
	     "default dev wg0 (IPv4)"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(model_free) struct model *m = model_new();
		struct prefix dst = prefix(cases[i].dst);
		struct route *r = model_add_route(m, &dst);
		char text[MODEL_TEXT_MAX];

		r->type = cases[i].type;
		r->metric = cases[i].metric;
		r->table = cases[i].table;
		if (cases[i].gateway != NULL)
			r->gateway = addr(cases[i].gateway);
		(void) snprintf(r->link, sizeof(r->link), "%s", cases[i].link);
		model_normalise(m);
		CHECK_EQ_INT(r->metric, cases[i].want_metric);
		CHECK_EQ_INT(r->table, cases[i].want_table);
		CHECK_EQ_INT(r->scope, cases[i].want_scope);
		CHECK_EQ_STR(route_format(r, text), cases[i].text);
	}
}

static void test_route_order(void)
{
	struct prefix a = prefix("10.0.0.0/8"), b = prefix("fd00::/8");
	AUTO(model_free) struct model *m = model_new();
	struct route one, two;

	model_add_route(m, &b)->table = 5;
	model_add_route(m, &a)->metric = 20;
	model_add_route(m, &a)->metric = 10;
	model_add_route(m, &a)->table = 5;
	model_normalise(m);
	CHECK(m->routes[0].table == 5 && m->routes[1].metric == 10 && m->routes[2].metric == 20 &&
	      m->routes[3].dst.addr.family == AF_INET6);
	one = two = m->routes[1];
	two.gateway = addr("10.0.0.1");
	two.mtu = 1400;
	two.onlink = true;
	two.protocol = 99;
	two.type = RTN_THROW;
	CHECK_EQ_INT(route_compare_key(&one, &two), 0);
	CHECK(route_compare(&one, &two) < 0 && route_compare(&two, &one) > 0);
	CHECK_EQ_INT(route_differs(&one, &two), ROUTE_TYPE | ROUTE_GATEWAY | ROUTE_MTU | ROUTE_ONLINK);
}

static void test_rules(void)
{
	AUTO(model_free) struct model *m = model_new();
	char text[MODEL_TEXT_MAX];
	struct rule *r = model_add_rule(m, AF_INET, 1000);

	r->src = prefix("10.1.2.3/24");
	r->dst = prefix("0.0.0.0/0");
	r->fwmark = 5;
	r->table = 100;
	r = model_add_rule(m, AF_INET, 900);
	r->action = FR_ACT_BLACKHOLE;
	r->table = 7;
	model_normalise(m);
	CHECK_EQ_STR(rule_format(&m->rules[0], text), "900: blackhole");
	CHECK_EQ_STR(rule_format(&m->rules[1], text),
	             "1000: from 10.1.2.0/24 fwmark 0x5/0xffffffff lookup 100");
	CHECK_EQ_INT(m->rules[0].table, 0);
}

/* --- the whole --- */

static void test_model(void)
{
	AUTO(model_free) struct model *m = model_new();
	AUTO(model_free) struct model *copy = NULL;
	struct prefix dst = prefix("10.0.0.0/8");
	char text[MODEL_ORIGIN_TEXT_MAX];
	struct addr name_server = addr("10.0.0.53");
	struct link *link;

	for (int i = 40; i > 0; i--) {
		char name[IFNAMSIZ];

		(void) snprintf(name, sizeof(name), "eth%02d", i);
		link = model_add_link(m, name, LINK_PHYSICAL);
		link->ifindex = i;
	}
	link->altnames = xcalloc(1, sizeof(*link->altnames));
	link->altnames[link->n_altnames++] = xstrdup("enp1s1");
	link = model_add_link(m, "bond0", LINK_BOND);
	link->bond = NEW0(struct bond);
	link->origin = model_origin(m, "a.yaml", 3);
	CHECK_EQ_INT(model_origin(m, "b.yaml", 4).file, 1);
	CHECK_EQ_INT(model_origin(m, "a.yaml", 9).file, 0);
	model_add_route(m, &dst)->raw = (struct raw_message){xmemdup("raw", 3), 3};
	host_add_resolver(&m->host, &name_server);
	host_add_text(&host_add_entry(&m->host, &name_server)->names, "ns");
	m->host.has = HOST_RESOLVERS | HOST_ENTRIES | HOST_SEARCH;
	model_normalise(m);
	CHECK_EQ_STR(m->links[0].name, "bond0");
	copy = model_copy(m);
	CHECK_EQ_INT(model_find_link(copy, "eth17")->ifindex, 17);
	CHECK(model_find_link(copy, "enp1s1") == NULL && model_find_link(copy, "") == NULL);
	CHECK_EQ_STR(model_find_link(copy, "eth01")->altnames[0], "enp1s1");
	CHECK_EQ_STR(model_format_origin(copy, &copy->links[0].origin, text), "a.yaml:3");
	CHECK_EQ_STR(model_format_origin(copy, &copy->links[1].origin, text), "");
	CHECK(copy->links[0].bond != m->links[0].bond);
	CHECK(copy->routes[0].raw.data != m->routes[0].raw.data);
	CHECK(copy->host.has == m->host.has && copy->host.n_resolvers == 1);
	CHECK_EQ_STR(copy->host.entries[0].names.items[0], "ns");
	model_remove_link(copy, 0);
	model_remove_route(copy, 0);
	CHECK(copy->n_routes == 0 && copy->n_links == 40);
	CHECK_EQ_STR(copy->links[0].name, "eth01");
}

/* --- WireGuard --- */

#define KEY_A "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
#define KEY_B "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="

static struct wireguard *sample_wireguard(bool turned)
{
	struct wireguard *w = wireguard_new();
	const char *const keys[] = {KEY_A, KEY_B};
	struct prefix one = prefix("10.0.0.7/8"), two = prefix("fd00::/8");

	for (size_t i = 0; i < 2; i++) {
		struct wireguard_peer *peer = wireguard_add_peer(w);

		CHECK_EQ_INT(wireguard_key_parse(keys[turned ? 1 - i : i], &peer->public_key), 0);
		wireguard_peer_allow(peer, turned ? &two : &one);
		wireguard_peer_allow(peer, turned ? &one : &two);
		wireguard_peer_allow(peer, &one);
	}
	w->has = WIREGUARD_PEERS | WIREGUARD_PRIVATE_KEY;
	wireguard_normalise(w);
	return w;
}

static void test_wireguard(void)
{
	AUTO(wireguard_free) struct wireguard *a = sample_wireguard(false);
	AUTO(wireguard_free) struct wireguard *b = sample_wireguard(true);
	AUTO(wireguard_free) struct wireguard *c = wireguard_copy(b);
	char text[WIREGUARD_KEY_TEXT_MAX];
	struct wireguard_key key;

	CHECK_EQ_INT(a->peers[0].n_allowed, 2);
	CHECK_EQ_INT(wireguard_differs(a, b), 0);
	CHECK_EQ_INT(wireguard_key_parse(KEY_B, &key), 0);
	CHECK(wireguard_find_peer(a, &key) == &a->peers[1]);
	CHECK_EQ_STR(wireguard_key_format(&key, text), KEY_B);
	/* Where a peer that calls us called from is no difference; where we shall call it is. */
	CHECK_EQ_INT(endpoint_parse("10.0.0.1:51820", 0, &b->peers[0].endpoint), 0);
	CHECK_EQ_INT(wireguard_differs(a, b), 0);
	CHECK_EQ_INT(wireguard_differs(b, a), WIREGUARD_PEERS);
	c->private_key.bytes[0] = 1;
	c->listen_port = 5;
	CHECK_EQ_INT(wireguard_differs(a, c), WIREGUARD_PRIVATE_KEY);
	CHECK(wireguard_key_parse("AAAA", &key) < 0);
	CHECK(wireguard_key_parse("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", &key) < 0);
}

int main(void)
{
	test_bond_table();
	test_bond_normal_form();
	test_bond_difference();
	test_link_difference();
	test_addresses();
	test_lifetimes();
	test_routes();
	test_route_order();
	test_rules();
	test_model();
	test_wireguard();
	return check_result();
}
