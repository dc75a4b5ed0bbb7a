/* SPDX-License-Identifier: Apache-2.0 */
/* What dhcpcd tells of a lease, with what a hostile server may put there, and what it adds to the
 * network that is wanted. */
#include <errno.h>
#include <stdlib.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "check.h"
#include "netconf/dhcp/dhcpfile.h"
#include "netconf/dhcp/lease.h"
#include "netconf/dhcp/dhcpclients.h"

#define TEXT_MAX 65536

/* Lines as the hook writes them. */
static int read_lines(const char *lines, sa_family_t family, struct lease *ret_lease)
{
	static char text[TEXT_MAX];
	size_t len = strlen(lines);

	memcpy(text, lines, len);
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\n')
			text[i] = '\0';
	}
	return lease_read(text, len, family, ret_lease);
}

static const char *describe(const struct lease *lease)
{
	static char text[4096];
	char a[PREFIX_TEXT_MAX], b[ADDR_TEXT_MAX];
	FILE *out = fmemopen(text, sizeof(text), "w");

	for (size_t i = 0; i < lease->n_addresses; i++)
		(void) fprintf(out, "address %s\n", prefix_format(&lease->addresses[i], a));
	for (size_t i = 0; i < lease->n_routes; i++)
		(void) fprintf(out, "route %s via %s\n", prefix_format(&lease->routes[i].dst, a),
		               addr_format(&lease->routes[i].gateway, b));
	for (size_t i = 0; i < lease->n_resolvers; i++)
		(void) fprintf(out, "resolver %s\n", addr_format(&lease->resolvers[i], b));
	for (size_t i = 0; i < lease->search.n; i++)
		(void) fprintf(out, "search %s\n", lease->search.items[i]);
	if (addr_is_set(&lease->server))
		(void) fprintf(out, "server %s\n", addr_format(&lease->server, b));
	(void) fprintf(out, "name '%s' until %lld\n", lease->host_name,
	               (long long) (lease->ends_us / US_PER_S));
	(void) fclose(out);
	return text;
}

#define V4                                                                         \
	"reason=BOUND\nnew_ip_address=10.9.0.59\nnew_subnet_cidr=24\nfairlead_uptime=" \
	"1000.25\nnew_dhcp_lease_time=120\n"
#define V6                                                                        \
	"reason=BOUND6\nfairlead_uptime=1000.25\nnew_dhcp6_ia_na1_ia_addr1=fd09::5\n" \
	"new_dhcp6_ia_na1_ia_addr1_vltime=300\n"

static void test_read(void)
{
	static const struct {
		const char *text;
		sa_family_t family;
		const char *lease;
	} cases[] = {
	    {V4, AF_INET, "address 10.9.0.59/24\nname '' until 1120\n"},
	    {V4 "new_routers=10.9.0.1 10.9.0.2\nnew_domain_name_servers=10.9.0.2 10.9.0.3\n"
	        "new_domain_name=Example.org\nnew_host_name=CP1.example.org\n"
	        "new_dhcp_server_identifier=10.9.0.7\n",
	     AF_INET,
	     "address 10.9.0.59/24\nroute 0.0.0.0/0 via 10.9.0.1\nresolver 10.9.0.2\n"
	     "resolver 10.9.0.3\nsearch example.org\nserver 10.9.0.7\nname 'cp1.example.org' until "
	     "1120\n"},
	    /* Classless routes go before routers, and a list of domains before one. */
	    {V4 "new_routers=10.9.0.1\nnew_domain_name=x\nnew_domain_search=a.example b.example.\n"
	        "new_classless_static_routes=10.8.1.2/16 10.9.0.9 10.7.0.1/32 0.0.0.0 0.0.0.0/0 "
	        "10.9.0.7\n",
	     AF_INET,
	     "address 10.9.0.59/24\nroute 10.8.0.0/16 via 10.9.0.9\nroute 10.7.0.1/32 via \n"
	     "route 0.0.0.0/0 via 10.9.0.7\nsearch a.example\nsearch b.example\nname '' until 1120\n"},
	    {V6 "new_dhcp6_name_servers=fd09::53 10.0.0.1\nnew_dhcp6_domain_search=a.example\n"
	        "new_dhcp6_ia_na2_ia_addr1=fd09::6\nnew_dhcp6_ia_na2_ia_addr1_vltime=600\n",
	     AF_INET6,
	     "address fd09::5/128\naddress fd09::6/128\nresolver fd09::53\nsearch a.example\n"
	     "name '' until 1600\n"},
	    /* What is not valid is left out. */
	    {V4 "new_routers=127.0.0.1\nnew_dhcp_server_identifier=224.0.0.1\nnew_domain_name_servers="
	        "0.0.0.0 224.0.0.1 fd00::1 127.0.0.53 "
	        "x 10.9.0.2\nnew_host_name=a b;c\nnew_domain_search=-x $(reboot) ok\n"
	        "new_interface_mtu=68\n",
	     AF_INET, "address 10.9.0.59/24\nresolver 10.9.0.2\nsearch ok\nname '' until 1120\n"},
	    {V4 "new_classless_static_routes=127.0.0.0/8 10.9.0.1 224.0.0.0/4 10.9.0.1 10.0.0.0/33 "
	        "10.9.0.1 10.5.0.0/16\n",
	     AF_INET, "address 10.9.0.59/24\nname '' until 1120\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct lease lease = {0}, again = {0};

		CHECK_EQ_INT(read_lines(cases[i].text, cases[i].family, &lease), LEASE_TAKEN);
		CHECK_EQ_STR(describe(&lease), cases[i].lease);
		CHECK_EQ_INT(read_lines(cases[i].text, cases[i].family, &again), LEASE_TAKEN);
		again.ends_us = 5;
		CHECK(lease_equal(&lease, &again));
		again.host_name[0] = 'x';
		CHECK(!lease_equal(&lease, &again));
		lease_fini(&lease);
		lease_fini(&again);
	}
}

static void test_forever(void)
{
	struct lease lease = {0};

	CHECK_EQ_INT(read_lines("reason=BOUND\nnew_ip_address=10.9.0.59\nnew_subnet_cidr=24\n"
	                        "fairlead_uptime=1\nnew_dhcp_lease_time=4294967295\n",
	                        AF_INET, &lease),
	             LEASE_TAKEN);
	CHECK(lease.ends_us == MONO_NEVER);
	lease_fini(&lease);
}

/* Much of everything: cut at the limits, and nothing is overrun. */
static void test_limits(void)
{
	AUTO(free) char *text = xcalloc(TEXT_MAX, 1);
	struct lease lease = {0};
	FILE *out = fmemopen(text, TEXT_MAX, "w");

	(void) fputs(V4 "new_domain_search=", out);
	for (int i = 0; i < 100; i++)
		(void) fprintf(out, "d%d ", i);
	(void) fputs("\nnew_domain_name_servers=", out);
	for (int i = 0; i < 100; i++)
		(void) fprintf(out, "10.0.1.%d ", i);
	(void) fputs("\nnew_host_name=", out);
	for (int i = 0; i < 300; i++)
		(void) fputc('a', out);
	(void) fputs("\nnew_classless_static_routes=", out);
	for (int i = 0; i < 200; i++)
		(void) fprintf(out, "10.%d.0.0/16 10.9.0.1 ", i);
	(void) fputs("\n", out);
	(void) fclose(out);
	CHECK_EQ_INT(read_lines(text, AF_INET, &lease), LEASE_TAKEN);
	CHECK_EQ_INT(lease.n_routes, LEASE_ROUTES_MAX);
	CHECK_EQ_INT(lease.n_resolvers, LEASE_RESOLVERS_MAX);
	CHECK_EQ_INT(lease.search.n, LEASE_DOMAINS_MAX);
	CHECK_EQ_STR(lease.host_name, "");
	lease_fini(&lease);

	out = fmemopen(text, TEXT_MAX, "w");
	(void) fputs("reason=BOUND6\nfairlead_uptime=1\n", out);
	for (int i = 1; i <= 8; i++) {
		for (int j = 1; j <= 8; j++)
			(void) fprintf(out,
			               "new_dhcp6_ia_na%d_ia_addr%d=fd00::%d%d\n"
			               "new_dhcp6_ia_na%d_ia_addr%d_vltime=60\n",
			               i, j, i, j, i, j);
	}
	(void) fclose(out);
	CHECK_EQ_INT(read_lines(text, AF_INET6, &lease), LEASE_TAKEN);
	CHECK_EQ_INT(lease.n_addresses, LEASE_ADDRESSES_MAX);
	lease_fini(&lease);
}

static void test_no_lease(void)
{
	static const struct {
		const char *text;
		sa_family_t family;
		int r;
	} cases[] = {
	    /* Its time is the lease's end, not what the client makes of it. */
	    {"reason=EXPIRE\nifcarrier=up\n", AF_INET, LEASE_OTHER},
	    {"reason=NAK\nifcarrier=up\n", AF_INET, LEASE_LOST},
	    {"reason=EXPIRE6\n", AF_INET6, LEASE_LOST},
	    /* No carrier is no reason to lose an address. */
	    {"reason=NAK\nifcarrier=down\n", AF_INET, LEASE_OTHER},
	    {"reason=STOP6\n", AF_INET6, LEASE_OTHER},
	    {"reason=STOPPED\n", AF_INET, LEASE_OTHER},
	    {"xreason=BOUND\n", AF_INET, LEASE_OTHER},
	    {"\n\n", AF_INET, LEASE_OTHER},
	    {"", AF_INET, -EBADMSG},
	    {"reason=EXPIRE", AF_INET, -EBADMSG},
	    {"reason=BOUND\n", AF_INET, -EBADMSG},
	    {"reason=BOUND6\n", AF_INET6, -EBADMSG},
	    {V4, AF_INET6, -EBADMSG},
	    {"reason=BOUND\nnew_ip_address=224.0.0.1\nnew_subnet_cidr=24\nnew_dhcp_lease_time=9\n",
	     AF_INET, -EBADMSG},
	    {"reason=BOUND\nnew_ip_address=10.0.0.1\nnew_subnet_cidr=0\nnew_dhcp_lease_time=9\n",
	     AF_INET, -EBADMSG},
	    {"reason=BOUND\nnew_ip_address=10.0.0.1\nnew_subnet_cidr=24\nnew_dhcp_lease_time=-1\n",
	     AF_INET, -EBADMSG},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct lease lease;

		if (!CHECK_EQ_INT(read_lines(cases[i].text, cases[i].family, &lease), cases[i].r))
			(void) fprintf(stderr, "  case %zu\n", i);
	}
}

/* --- into what is wanted --- */

static const char *listing(const struct model *model)
{
	static char text[4096];
	char line[MODEL_TEXT_MAX], addr[ADDR_TEXT_MAX];
	const struct host *host = &model->host;
	FILE *out = fmemopen(text, sizeof(text), "w");

	for (size_t i = 0; i < model->n_addresses; i++)
		(void) fprintf(out, "%s\n", address_format(&model->addresses[i], line));
	for (size_t i = 0; i < model->n_routes; i++)
		(void) fprintf(out, "%s%s\n", route_format(&model->routes[i], line),
		               model->routes[i].onlink ? " (onlink)" : "");
	for (size_t i = 0; i < host->n_resolvers; i++)
		(void) fprintf(out, "resolver %s\n", addr_format(&host->resolvers[i], addr));
	for (size_t i = 0; i < host->search.n; i++)
		(void) fprintf(out, "search %s\n", host->search.items[i]);
	if ((host->has & HOST_NAME) != 0)
		(void) fprintf(out, "name %s . %s\n", host->name, host->domain);
	(void) fclose(out);
	return text;
}

static struct lease lease_of(const char *lines, sa_family_t family)
{
	struct lease lease = {0};

	CHECK_EQ_INT(read_lines(lines, family, &lease), LEASE_TAKEN);
	return lease;
}

static void test_merge(void)
{
	AUTO(model_free) struct model *want = model_new();
	struct lease four = lease_of(V4 "new_routers=10.9.0.1\nnew_domain_name_servers=10.9.0.2\n"
	                                "new_domain_name=example.org\nnew_host_name=cp1.example.org\n",
	                             AF_INET);
	struct lease six = lease_of(V6 "new_dhcp6_name_servers=fd09::53\n"
	                               "new_dhcp6_domain_search=example.org lab\n",
	                            AF_INET6);
	const struct config_dhcp dhcp = {.family = AF_INET, .metric = 300};
	const struct config_dhcp dhcp6 = {.family = AF_INET6, .metric = 1024};
	const struct lease_use uses[] = {{&four, "eth0", &dhcp}, {&six, "eth0", &dhcp6}};
	struct conf_strings notes = {0};

	lease_merge(want, uses, ARRAY_SIZE(uses), 1050 * US_PER_S, false, &notes);
	CHECK_EQ_STR(listing(want), "10.9.0.59/24 dev eth0\n"
	                            "fd09::5/128 dev eth0 noprefixroute\n"
	                            "default via 10.9.0.1 dev eth0 src 10.9.0.59 metric 300\n"
	                            "resolver 10.9.0.2\nresolver fd09::53\n"
	                            "search example.org\nsearch lab\nname cp1 . example.org\n");
	CHECK_EQ_INT(notes.n, 0);
	/* They end with their leases. */
	CHECK_EQ_INT(want->addresses[0].valid_s, 70);
	CHECK_EQ_INT(want->addresses[0].preferred_s, 70);
	CHECK_EQ_INT(want->addresses[1].valid_s, 250);
	lease_fini(&four);
	lease_fini(&six);
}

/* What the kernel would refuse, and with it the change that it is part of. */
static void test_gateways(void)
{
	AUTO(model_free) struct model *want = model_new();
	struct lease lease = lease_of(V4 "new_classless_static_routes=10.1.0.0/16 10.9.0.255 "
	                                 "10.2.0.0/16 255.255.255.255 10.3.0.0/16 10.7.0.5 "
	                                 "10.4.0.0/16 10.7.0.255 10.5.0.0/16 10.9.0.59 "
	                                 "10.6.0.0/16 10.9.0.1 10.7.8.0/24 10.8.0.1\n",
	                              AF_INET);
	const struct config_dhcp dhcp = {.family = AF_INET, .metric = 300};
	const struct lease_use use = {&lease, "eth0", &dhcp};
	struct conf_strings notes = {0};
	struct prefix own, point;

	CHECK_EQ_INT(prefix_parse("10.7.0.5/24", &own), 0);
	CHECK_EQ_INT(prefix_parse("10.8.0.0/31", &point), 0);
	(void) model_add_address(want, "eth1", &own);
	(void) model_add_address(want, "eth2", &point);
	lease_merge(want, &use, 1, 1050 * US_PER_S, false, &notes);
	CHECK_EQ_STR(listing(want), "10.9.0.59/24 dev eth0\n10.7.0.5/24 dev eth1\n"
	                            "10.8.0.0/31 dev eth2\n"
	                            "10.5.0.0/16 via 10.9.0.59 dev eth0 src 10.9.0.59 metric 300\n"
	                            "10.6.0.0/16 via 10.9.0.1 dev eth0 src 10.9.0.59 metric 300\n"
	                            "10.7.8.0/24 via 10.8.0.1 dev eth0 src 10.9.0.59 metric 300 "
	                            "onlink (onlink)\n");
	if (CHECK_EQ_INT(notes.n, 4)) {
		CHECK_EQ_STR(notes.items[0], "the lease of eth0: a route is left out, as its gateway is a "
		                             "broadcast address: 10.9.0.255");
		CHECK_EQ_STR(notes.items[2], "the lease of eth0: a route is left out, as its gateway is an "
		                             "address of this host: 10.7.0.5");
	}
	conf_strings_fini(&notes);
	lease_fini(&lease);
}

/* Which of the addresses there are the kernel looks at: of the link itself; if the gateway is off
 * the link, of all in the same table. */
static void test_gateways_beside_addresses(void)
{
	static const struct {
		const char *gateway, *link, *address, *master;
		bool taken;
	} cases[] = {
	    {"10.9.0.63", "eth0", "10.9.0.58/29", "", false},
	    {"10.9.0.63", "eth1", "10.9.0.58/29", "", true},
	    {"10.7.0.255", "eth0", "10.7.0.5/24", "", false},
	    {"10.7.0.255", "eth1", "10.7.0.5/24", "", false},
	    {"10.7.0.255", "eth1", "10.7.0.5/24", "red", true},
	    {"10.7.0.255", "red", "10.7.0.5/24", "", true},
	    {"10.7.0.5", "eth1", "10.7.0.5/24", "", false},
	    {"10.7.0.5", "eth1", "10.7.0.5/24", "red", true},
	    {"10.7.0.5", "eth1", "10.7.0.5/24", "br0", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(model_free) struct model *want = model_new();
		AUTO(free)
		char *text = xasprintf(V4 "new_classless_static_routes=10.1.0.0/16 %s\n", cases[i].gateway);
		struct lease lease = lease_of(text, AF_INET);
		const struct config_dhcp dhcp = {.family = AF_INET, .metric = 300};
		const struct lease_use use = {&lease, "eth0", &dhcp};
		struct conf_strings notes = {0};
		struct prefix address;

		CHECK_EQ_INT(prefix_parse(cases[i].address, &address), 0);
		(void) model_add_link(want, "br0", LINK_BRIDGE);
		(void) model_add_link(want, "eth0", LINK_PHYSICAL);
		(void) snprintf(model_add_link(want, "eth1", LINK_PHYSICAL)->master, IFNAMSIZ, "%s",
		                cases[i].master);
		model_add_link(want, "red", LINK_VRF)->table = 10;
		(void) model_add_address(want, cases[i].link, &address);
		lease_merge(want, &use, 1, 1050 * US_PER_S, false, &notes);
		if (!CHECK_EQ_INT(want->n_routes, cases[i].taken ? 1 : 0) ||
		    !CHECK_EQ_INT(notes.n, cases[i].taken ? 0 : 1))
			(void) fprintf(stderr, "case %zu\n", i);
		conf_strings_fini(&notes);
		lease_fini(&lease);
	}
}

/* The configuration goes first, and then the first lease. */
static void test_precedence(void)
{
	AUTO(model_free) struct model *want = model_new();
	struct lease one = lease_of(V4 "new_routers=10.9.0.1\nnew_domain_name_servers=10.9.0.2\n"
	                               "new_domain_name=example.org\nnew_host_name=other\n",
	                            AF_INET);
	struct lease two = lease_of("reason=BOUND\nnew_ip_address=10.7.0.5\nnew_subnet_cidr=32\n"
	                            "fairlead_uptime=1\nnew_dhcp_lease_time=9\nnew_routers=10.7.0.1\n"
	                            "new_classless_static_routes=0.0.0.0/0 10.7.0.1 10.6.0.0/16 "
	                            "10.7.0.1\nnew_host_name=another\n",
	                            AF_INET);
	const struct config_dhcp dhcp = {.family = AF_INET, .metric = 1024, .ignore_hostname = true};
	const struct lease_use uses[] = {{&one, "eth0", &dhcp}, {&two, "eth1", &dhcp}};
	struct conf_strings notes = {0};
	struct prefix prefix;
	struct addr addr;

	CHECK_EQ_INT(prefix_parse("10.9.0.59/24", &prefix), 0);
	(void) model_add_address(want, "eth0", &prefix);
	CHECK_EQ_INT(addr_parse("10.0.0.1", &addr), 0);
	host_add_resolver(&want->host, &addr);
	want->host.has = HOST_RESOLVERS;
	lease_merge(want, uses, ARRAY_SIZE(uses), 0, true, &notes);
	CHECK_EQ_STR(listing(want), "10.9.0.59/24 dev eth0\n"
	                            "10.7.0.5/32 dev eth1\n"
	                            "default via 10.9.0.1 dev eth0 src 10.9.0.59 metric 1024\n"
	                            "10.6.0.0/16 via 10.7.0.1 dev eth1 src 10.7.0.5 metric 1024 onlink "
	                            "(onlink)\n"
	                            "resolver 10.0.0.1\n");
	CHECK_EQ_INT(notes.n, 2);
	CHECK_EQ_STR(notes.items[0],
	             "the lease of eth0: the configuration has the address 10.9.0.59/24 too");
	CHECK_EQ_STR(notes.items[1],
	             "the lease of eth1: there is another route of this metric already: default via "
	             "10.7.0.1 dev eth1 src 10.7.0.5 metric 1024 onlink");
	conf_strings_fini(&notes);
	lease_fini(&one);
	lease_fini(&two);
}

static void test_lifetime(void)
{
	static const struct {
		int64_t ends_us, now_us;
		uint32_t valid_s;
	} cases[] = {
	    {MONO_NEVER, 5 * US_PER_S, ADDRESS_FOREVER},
	    {100 * US_PER_S, 5 * US_PER_S + 1, 94},
	    {100 * US_PER_S, 100 * US_PER_S - 1, 1},
	    {INT64_C(1) << 33 << 20, 0, ADDRESS_FOREVER - 1},
	};
	const struct config_dhcp dhcp = {.family = AF_INET, .metric = 1024};
	struct lease lease = lease_of(V4, AF_INET);
	const struct lease_use use = {&lease, "eth0", &dhcp};
	struct conf_strings notes = {0};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(model_free) struct model *want = model_new();

		lease.ends_us = cases[i].ends_us;
		lease_merge(want, &use, 1, cases[i].now_us, false, &notes);
		CHECK_EQ_INT(want->addresses[0].valid_s, cases[i].valid_s);
		CHECK_EQ_INT(want->addresses[0].preferred_s, cases[i].valid_s);
	}
	lease_fini(&lease);
}

/* Routes of a port of a VRF are in the VRF's table. */
static void test_vrf(void)
{
	AUTO(model_free) struct model *want = model_new();
	struct lease lease = lease_of(V4 "new_routers=10.9.0.1\n", AF_INET);
	const struct config_dhcp dhcp = {.family = AF_INET, .metric = 1024};
	const struct lease_use use = {&lease, "eth0", &dhcp};
	struct conf_strings notes = {0};
	struct link *link;

	link = model_add_link(want, "red", LINK_VRF);
	link->table = 77;
	link->has = LINK_HAS_TABLE;
	link = model_add_link(want, "eth0", LINK_PHYSICAL);
	(void) snprintf(link->master, sizeof(link->master), "red");
	link->has = LINK_HAS_MASTER;
	model_normalise(want);
	lease_merge(want, &use, 1, 0, false, &notes);
	CHECK_EQ_INT(want->n_routes, 1);
	CHECK_EQ_INT(want->routes[0].table, 77);
	lease_fini(&lease);
}

/* --- dhcpcd's configuration --- */

static void test_conf(void)
{
	struct config_dhcp dhcp = {.family = AF_INET, .client_id = CONFIG_CLIENT_ID_MAC};
	const struct dhcpconf conf = {.dhcp = &dhcp,
	                              .mac = {{2, 0, 0, 0, 0, 0x0c}},
	                              .hook = "/h",
	                              .lease = "/run/l",
	                              .down = "/d"};
	AUTO(free) char *four = dhcpconf_text(&conf), *none = NULL, *six = NULL, *raw = NULL;

	CHECK_EQ_STR(
	    four, "# fairlead wrote this file (netconf); changes are lost.\n"
	          "noconfigure\npersistent\nscript /h\nenv fairlead_lease=/run/l\ntimeout 0\nhostname\n"
	          "noipv4ll\nrequire dhcp_server_identifier\n"
	          "option classless_static_routes, routers\n"
	          "option domain_name_servers, domain_name, domain_search\n"
	          "option host_name\nclientid 01:02:00:00:00:00:0c\n");
	dhcp.client_id = CONFIG_CLIENT_ID_NONE;
	dhcp.ignore_hostname = true;
	none = dhcpconf_text(&conf);
	CHECK(strstr(none, "clientid") == NULL && strstr(none, "host_name") == NULL);
	dhcp = (struct config_dhcp){.family = AF_INET6, .client_id = CONFIG_CLIENT_ID_MAC};
	six = dhcpconf_text(&conf);
	CHECK_EQ_STR(
	    six,
	    "# fairlead wrote this file (netconf); changes are lost.\n"
	    "noconfigure\npersistent\nscript /h\nenv fairlead_lease=/run/l\ntimeout 0\nhostname\n"
	    "env fairlead_down=/d\nnoipv6rs\nia_na\noption dhcp6_name_servers, dhcp6_domain_search\n"
	    "duid 00:03:00:01:02:00:00:00:00:0c\n");
	dhcp.client_id = CONFIG_CLIENT_ID_DUID;
	dhcp.duid = (char *) (uintptr_t) "00:04:aa";
	raw = dhcpconf_text(&conf);
	CHECK(strstr(raw, "\nduid 00:04:aa\n") != NULL);
}

/* Of what is there, ours and leased, and of nothing else of it but the time. */
static void test_renew(void)
{
	static const struct {
		const char *link;
		enum owner owner;
		uint32_t valid_s;
		int64_t ends_s; /* from now */
		uint32_t renewed_s;
	} cases[] = {
	    {"eth0", OWNER_OURS, 60, 1000, 1000},
	    {"eth0", OWNER_OURS, 1000, 60, 60},
	    {"eth0", OWNER_OURS, 998, 1000, 0},
	    {"eth0", OWNER_OURS, 60, 0, 0},
	    {"eth0", OWNER_OURS, ADDRESS_FOREVER, 1000, 0},
	    {"eth0", OWNER_FOREIGN, 60, 1000, 0},
	    {"eth1", OWNER_OURS, 60, 1000, 0},
	};
	struct lease lease;

	CHECK_EQ_INT(read_lines(V4, AF_INET, &lease), LEASE_TAKEN);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(model_free) struct model *have = model_new();
		AUTO(plan_free) struct plan *plan = NEW0(struct plan);
		struct address *address = model_add_address(have, cases[i].link, &lease.addresses[0]);

		address->owner = cases[i].owner;
		address->valid_s = address->preferred_s = cases[i].valid_s;
		address->priority = 7;
		lease.ends_us = (5000 + cases[i].ends_s) * US_PER_S;
		renew_plan(plan, have, "eth0", &lease, 5000 * US_PER_S);
		CHECK_EQ_INT(plan->n_ops, cases[i].renewed_s != 0);
		if (plan->n_ops == 0)
			continue;
		CHECK_EQ_INT(plan->ops[0].kind, OP_ADDRESS_CHANGE);
		CHECK_EQ_INT(plan->ops[0].address.valid_s, cases[i].renewed_s);
		CHECK_EQ_INT(plan->ops[0].address.preferred_s, cases[i].renewed_s);
		CHECK_EQ_INT(address_differs(&plan->ops[0].address, address), ADDRESS_LIFETIME);
	}
	lease_fini(&lease);
}

int main(void)
{
	test_read();
	test_forever();
	test_limits();
	test_no_lease();
	test_merge();
	test_gateways();
	test_gateways_beside_addresses();
	test_precedence();
	test_lifetime();
	test_renew();
	test_vrf();
	test_conf();
	return check_result();
}
