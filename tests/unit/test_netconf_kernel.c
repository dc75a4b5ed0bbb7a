/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Observing and carrying out against a real kernel, in a namespace of its own; ip(8) is the other
 * opinion: what it made must be seen, and what we made it must see. Bonds, VLANs and VRFs, which
 * not every kernel has, go to and fro as messages in test_netconf_message.c.
 */
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/veth.h>
#include <poll.h>

#include "net/netlink.h"
#include "netconf/kernel/kernel.h"
#include "tests/unit/check.h"
#include "tests/unit/netns.h"

#define LISTING_MAX 8192

/* Every object of one owner, one a line, in the model's order. */
static const char *listing(const struct model *model, enum owner owner)
{
	static char text[LISTING_MAX];
	char line[MODEL_TEXT_MAX];
	FILE *out = fmemopen(text, sizeof(text), "w");

	text[0] = '\0';
	for (size_t i = 0; i < model->n_addresses; i++) {
		if (model->addresses[i].owner == owner)
			(void) fprintf(out, "address %s\n", address_format(&model->addresses[i], line));
	}
	for (size_t i = 0; i < model->n_routes; i++) {
		if (model->routes[i].owner == owner)
			(void) fprintf(out, "route %s%s\n", route_format(&model->routes[i], line),
			               model->routes[i].is_opaque ? " (opaque)" : "");
	}
	for (size_t i = 0; i < model->n_rules; i++) {
		if (model->rules[i].owner == owner)
			(void) fprintf(out, "rule %s%s\n", rule_format(&model->rules[i], line),
			               model->rules[i].is_opaque ? " (opaque)" : "");
	}
	(void) fclose(out);
	return text;
}

/* What ip(8) says, whole. */
static char *ip_says(const char *command)
{
	char *text = calloc(1, LISTING_MAX);
	FILE *in = popen(command, "r");

	CHECK(in != NULL);
	CHECK(fread(text, 1, LISTING_MAX - 1, in) > 0);
	CHECK_EQ_INT(pclose(in), 0);
	return text;
}

static struct model *observe(struct kernel *kernel)
{
	struct model *model = NULL;

	CHECK_EQ_INT(kernel_observe(kernel, &model), 0);
	return model;
}

static void carry_out(struct kernel *kernel, const struct op *op)
{
	int r = kernel_carry_out(kernel, op);

	if (r < 0)
		(void) fprintf(stderr, "refused: %s\n", kernel_error_text(kernel));
	CHECK_EQ_INT(r, 0);
}

/* Two ends of a cable, up, with addresses that others gave. */
static void world(void)
{
	(void) netns_enter_new();
	netns_sysctl("/proc/sys/net/ipv6/conf/default/accept_dad", "0");
	netns_sysctl("/proc/sys/net/ipv6/conf/default/addr_gen_mode", "1");
	netns_run("ip link add v0 address 02:00:00:00:00:01 type veth peer name v1");
	netns_run("ip link set v0 up");
	netns_run("ip link set v1 up");
	netns_run("ip address add 10.1.0.1/24 dev v0 metric 50");
	netns_run("ip address add 10.1.0.2/24 dev v0");
	netns_run("ip address add fd01::1/64 dev v0");
}

/* --- observing --- */

static void test_links(void)
{
	AUTO(kernel_free) struct kernel *kernel = NULL;
	AUTO(model_free) struct model *model = NULL;
	const struct link *link;

	world();
	netns_run("ip link add br0 type bridge stp_state 1");
	netns_run("ip link property add dev v1 altname the-other-end-of-the-cable");
	netns_run("ip link set v1 master br0");
	netns_run("ip link add br1 group 242 type bridge");
	netns_run("ip link add m0 link v0 type macvlan");
	CHECK_EQ_INT(kernel_new(NULL, &kernel), 0);
	model = observe(kernel);

	link = model_find_link(model, "v0");
	CHECK(link != NULL && link->kind == LINK_VETH && link->owner == OWNER_FOREIGN);
	CHECK_EQ_STR(link->peer, "v1");
	CHECK(link->up && link->carrier && link->multicast && link->mac.bytes[5] == 1);
	CHECK(link_has(link, LINK_HAS_MAC) && link->ifindex > 0);
	CHECK_EQ_STR(link->master, "");
	link = model_find_link(model, "v1");
	CHECK(link != NULL && link->n_altnames == 1);
	CHECK_EQ_STR(link->altnames[0], "the-other-end-of-the-cable");
	CHECK_EQ_STR(link->master, "br0");
	link = model_find_link(model, "br0");
	CHECK(link != NULL && link->kind == LINK_BRIDGE && link->stp);
	CHECK(!link->up);
	CHECK(model_find_link(model, "br1")->owner == OWNER_OURS);
	CHECK(!model_find_link(model, "br1")->stp);
	CHECK(model_find_link(model, "lo")->kind == LINK_LOOPBACK);
	CHECK(model_find_link(model, "lo")->owner == OWNER_KERNEL);
	link = model_find_link(model, "m0");
	CHECK(link->kind == LINK_OTHER);
	CHECK_EQ_STR(link->kind_name, "macvlan");
}

static void test_addresses_routes_rules(void)
{
	AUTO(kernel_free) struct kernel *kernel = NULL;
	AUTO(model_free) struct model *model = NULL;

	world();
	netns_run("ip route add default via 10.1.0.9 dev v0 metric 1024 mtu 1400 src 10.1.0.2");
	netns_run("ip route add 10.2.0.0/16 via 10.9.9.9 dev v0 onlink table 1000");
	netns_run("ip route add 10.3.0.0/16 dev v0 proto 242");
	netns_run("ip route add 10.4.0.0/16 via inet6 fd01::9 dev v0");
	netns_run("ip route add blackhole 10.5.0.0/16");
	netns_run("ip route add 10.6.0.0/16 nexthop via 10.1.0.8 nexthop via 10.1.0.9 weight 2");
	netns_run("ip -6 route add fd02::/64 via fd01::9 dev v0");
	netns_run("ip -6 route add blackhole fd05::/64 metric 7");
	netns_run("ip rule add priority 100 from 10.1.0.0/24 fwmark 0x10/0xff table 1000");
	netns_run("ip rule add priority 101 iif v0 blackhole");
	netns_run("ip -6 rule add priority 102 to fd02::/64 lookup 1000 suppress_prefixlength 0");
	CHECK_EQ_INT(kernel_new(NULL, &kernel), 0);
	model = observe(kernel);

	CHECK_EQ_STR(listing(model, OWNER_FOREIGN),
	             "address 10.1.0.1/24 dev v0 metric 50\n"
	             "address 10.1.0.2/24 dev v0\n"
	             "address fd01::1/64 dev v0\n"
	             "route default via 10.1.0.9 dev v0 src 10.1.0.2 metric 1024 mtu 1400\n"
	             "route 10.4.0.0/16 via fd01::9 dev v0\n"
	             "route blackhole 10.5.0.0/16\n"
	             "route 10.6.0.0/16 (opaque)\n"
	             "route 10.2.0.0/16 via 10.9.9.9 dev v0 onlink table 1000\n"
	             "route fd02::/64 via fd01::9 dev v0 metric 1024\n"
	             "route blackhole fd05::/64 metric 7\n"
	             "rule 100: from 10.1.0.0/24 fwmark 0x10/0xff lookup 1000\n"
	             "rule 101: iif v0 blackhole\n"
	             "rule IPv6 102: to fd02::/64 lookup 1000 (opaque)\n");
	CHECK_EQ_STR(listing(model, OWNER_OURS), "route 10.3.0.0/16 dev v0\n");
}

/* A thousand routes do not fit one datagram. */
static void test_many(void)
{
	AUTO(kernel_free) struct kernel *kernel = NULL;
	AUTO(model_free) struct model *model = NULL;
	size_t n = 0;

	world();
	netns_run("for i in $(seq 0 999); do echo route add 10.$((100 + i / 250)).$((i %% 250)).0/24 "
	          "dev v0; done | ip -batch -");
	CHECK_EQ_INT(kernel_new(NULL, &kernel), 0);
	model = observe(kernel);
	for (size_t i = 0; i < model->n_routes; i++)
		n += model->routes[i].owner == OWNER_FOREIGN;
	CHECK_EQ_INT(n, 1000);
}

/* --- carrying out --- */

static struct op link_op(enum op_kind kind, const char *name, enum link_kind link_kind)
{
	struct op op = {.kind = kind, .link = {.kind = link_kind}};

	(void) snprintf(op.link.name, sizeof(op.link.name), "%s", name);
	return op;
}

static void test_carry_out_links(void)
{
	AUTO(kernel_free) struct kernel *kernel = NULL;
	AUTO(model_free) struct model *model = NULL;
	const struct link *link;
	struct op op;

	world();
	CHECK_EQ_INT(kernel_new(NULL, &kernel), 0);
	op = link_op(OP_LINK_CREATE, "br0", LINK_BRIDGE);
	op.link.has = LINK_HAS_MTU | LINK_HAS_MAC | LINK_HAS_STP;
	op.link.mtu = 1400;
	op.link.stp = true;
	CHECK_EQ_INT(mac_parse("02:00:00:00:00:09", &op.link.mac), 0);
	carry_out(kernel, &op);
	op = link_op(OP_LINK_CREATE, "w0", LINK_VETH);
	(void) snprintf(op.link.peer, sizeof(op.link.peer), "w1");
	carry_out(kernel, &op);
	op = link_op(OP_LINK_SET, "w0", LINK_VETH);
	op.attributes = LINK_HAS_UP | LINK_HAS_MTU | LINK_HAS_MASTER | LINK_HAS_MULTICAST;
	op.link.up = true;
	op.link.mtu = 1300;
	(void) snprintf(op.link.master, sizeof(op.link.master), "br0");
	carry_out(kernel, &op);
	op = link_op(OP_LINK_SET, "br0", LINK_BRIDGE);
	op.attributes = LINK_HAS_STP | LINK_HAS_UP;
	op.link.up = true;
	carry_out(kernel, &op);

	model = observe(kernel);
	link = model_find_link(model, "br0");
	CHECK(link->owner == OWNER_OURS && link->up && !link->stp);
	CHECK_EQ_INT(link->mac.bytes[5], 9);
	link = model_find_link(model, "w0");
	CHECK(link->owner == OWNER_OURS && link->up && !link->multicast);
	CHECK_EQ_INT(link->mtu, 1300);
	CHECK_EQ_STR(link->master, "br0");
	CHECK(model_find_link(model, "w1")->owner == OWNER_OURS);
	CHECK(!link->carrier);
	CHECK_EQ_INT(kernel_carrier(kernel, "w0"), 0);
	CHECK_EQ_INT(kernel_carrier(kernel, "v0"), 1);
	CHECK_EQ_INT(kernel_carrier(kernel, "none"), -ENODEV);
	CHECK_EQ_INT(kernel_carries(kernel, "w0"), 0);
	CHECK_EQ_INT(kernel_carries(kernel, "v0"), 1);
	CHECK_EQ_INT(kernel_carries(kernel, "none"), -ENODEV);

	/* Out of the bridge again, and away with both. */
	op = link_op(OP_LINK_SET, "w0", LINK_VETH);
	op.attributes = LINK_HAS_MASTER;
	carry_out(kernel, &op);
	op = link_op(OP_LINK_DELETE, "w0", LINK_VETH);
	carry_out(kernel, &op);
	op = link_op(OP_LINK_DELETE, "br0", LINK_BRIDGE);
	carry_out(kernel, &op);
	model_free(TAKE_PTR(model));
	model = observe(kernel);
	CHECK(model_find_link(model, "w1") == NULL && model_find_link(model, "br0") == NULL);
}

static struct prefix prefix(const char *text)
{
	struct prefix p = {0};

	CHECK_EQ_INT(prefix_parse(text, &p), 0);
	return p;
}

/* A peer that came back has another number, though nobody observed meanwhile. */
static void test_made_anew(void)
{
	AUTO(kernel_free) struct kernel *kernel = NULL;
	struct op link = link_op(OP_LINK_CREATE, "w0", LINK_VETH);
	struct op address = {.kind = OP_ADDRESS_ADD,
	                     .address = {.protocol = NETCONF_PROTOCOL, .valid_s = ADDRESS_FOREVER}};

	world();
	CHECK_EQ_INT(kernel_new(NULL, &kernel), 0);
	(void) snprintf(link.link.peer, sizeof(link.link.peer), "w1");
	(void) snprintf(address.address.link, sizeof(address.address.link), "w1");
	address.address.prefix = prefix("10.7.0.1/24");
	carry_out(kernel, &link);
	carry_out(kernel, &address);
	link.kind = OP_LINK_DELETE;
	carry_out(kernel, &link);
	CHECK_EQ_INT(kernel_carry_out(kernel, &address), -ENODEV);
	link.kind = OP_LINK_CREATE;
	carry_out(kernel, &link);
	carry_out(kernel, &address);
	/* By somebody else: the step is refused, until the network is observed. */
	netns_run("ip link delete w0 && ip link add w0 type veth peer name w1");
	CHECK_EQ_INT(kernel_carry_out(kernel, &address), -ENODEV);
	model_free(observe(kernel));
	carry_out(kernel, &address);
	link.kind = OP_LINK_DELETE;
	carry_out(kernel, &link);
}

/* What tells a kernel that keeps marks of addresses: it has marked its own of IPv6. */
static void check_marks(const struct model *model)
{
	const struct prefix ours = prefix("10.7.0.1/24"), loopback = prefix("::1/128");

	CHECK_EQ_INT(model_find_address(model, "v0", &ours)->protocol != IFAPROT_UNSPEC,
	             model_find_address(model, "lo", &loopback)->protocol != IFAPROT_UNSPEC);
}

/* At most that: it goes by. */
static void check_lifetime(struct kernel *kernel, const char *text, uint32_t seconds)
{
	AUTO(model_free) struct model *model = observe(kernel);
	const struct prefix at = prefix(text);
	const struct address *address = model_find_address(model, "v0", &at);

	CHECK(address->valid_s <= seconds && address->preferred_s <= seconds);
	CHECK((address->valid_s == ADDRESS_FOREVER) == (seconds == ADDRESS_FOREVER));
	CHECK(seconds != 600 || address->valid_s > 300);
}

/* IPv6 takes it later, too, that it is to make no route of its own of an address. */
static void check_flag_in_place(struct kernel *kernel, struct op op)
{
	AUTO(model_free) struct model *model = NULL;

	op.kind = OP_ADDRESS_ADD;
	op.address.prefix = prefix("fd07::5/128");
	op.address.flags = 0;
	carry_out(kernel, &op);
	op.kind = OP_ADDRESS_CHANGE;
	op.address.flags = IFA_F_NOPREFIXROUTE;
	carry_out(kernel, &op);
	model = observe(kernel);
	CHECK_EQ_INT(model_find_address(model, "v0", &op.address.prefix)->flags, IFA_F_NOPREFIXROUTE);
	op.kind = OP_ADDRESS_DELETE;
	carry_out(kernel, &op);
}

static void test_carry_out_addresses(void)
{
	AUTO(kernel_free) struct kernel *kernel = NULL;
	AUTO(model_free) struct model *model = NULL;
	struct op op = {.kind = OP_ADDRESS_ADD,
	                .address = {.protocol = NETCONF_PROTOCOL, .valid_s = 600, .preferred_s = 600}};

	world();
	CHECK_EQ_INT(kernel_new(NULL, &kernel), 0);
	(void) snprintf(op.address.link, sizeof(op.address.link), "v0");
	op.address.prefix = prefix("10.7.0.1/24");
	op.address.priority = 300;
	carry_out(kernel, &op);
	CHECK_EQ_INT(kernel_carry_out(kernel, &op), -EEXIST);
	op.kind = OP_ADDRESS_CHANGE;
	op.address.priority = 301;
	carry_out(kernel, &op);
	check_lifetime(kernel, "10.7.0.1/24", 600);
	op.address.valid_s = op.address.preferred_s = ADDRESS_FOREVER;
	carry_out(kernel, &op);
	check_lifetime(kernel, "10.7.0.1/24", ADDRESS_FOREVER);
	op.address.valid_s = op.address.preferred_s = 300;
	carry_out(kernel, &op);
	check_lifetime(kernel, "10.7.0.1/24", 300);
	op.kind = OP_ADDRESS_ADD;
	op.address.prefix = prefix("fd07::1/64");
	op.address.flags = IFA_F_NOPREFIXROUTE;
	op.address.priority = 0;
	carry_out(kernel, &op);
	model = observe(kernel);
	CHECK_EQ_STR(listing(model, OWNER_OURS), "address 10.7.0.1/24 dev v0 metric 301\n"
	                                         "address fd07::1/64 dev v0 noprefixroute\n");
	check_marks(model);
	op.kind = OP_ADDRESS_DELETE;
	carry_out(kernel, &op);
	check_flag_in_place(kernel, op);
	op.address.prefix = prefix("10.7.0.1/24");
	carry_out(kernel, &op);
	CHECK_EQ_INT(kernel_carry_out(kernel, &op), -EADDRNOTAVAIL);
	model_free(TAKE_PTR(model));
	model = observe(kernel);
	CHECK_EQ_STR(listing(model, OWNER_OURS), "");
}

static void test_carry_out_routes(void)
{
	AUTO(kernel_free) struct kernel *kernel = NULL;
	AUTO(model_free) struct model *model = NULL;
	struct op op = {.kind = OP_ROUTE_ADD,
	                .route = {.type = RTN_UNICAST, .protocol = NETCONF_PROTOCOL}};

	world();
	/* The same key, of somebody else: it must outlive ours. */
	netns_run("ip -6 route add fd08::/64 via fd01::8 dev v0 metric 1024");
	CHECK_EQ_INT(kernel_new(NULL, &kernel), 0);
	(void) snprintf(op.route.link, sizeof(op.route.link), "v0");
	op.route.dst = prefix("0.0.0.0/0");
	op.route.table = 1000;
	op.route.metric = 5;
	op.route.mtu = 1400;
	CHECK_EQ_INT(addr_parse("10.1.0.9", &op.route.gateway), 0);
	carry_out(kernel, &op);
	op.kind = OP_ROUTE_REPLACE;
	CHECK_EQ_INT(addr_parse("10.1.0.8", &op.route.gateway), 0);
	op.route.onlink = true;
	carry_out(kernel, &op);
	model = observe(kernel);
	CHECK_EQ_STR(listing(model, OWNER_OURS),
	             "route default via 10.1.0.8 dev v0 metric 5 mtu 1400 onlink table 1000\n");
	op.kind = OP_ROUTE_DELETE;
	carry_out(kernel, &op);

	op = (struct op){
	    .kind = OP_ROUTE_DELETE,
	    .route = {.type = RTN_UNICAST, .table = RT_TABLE_MAIN, .protocol = NETCONF_PROTOCOL}};
	(void) snprintf(op.route.link, sizeof(op.route.link), "v0");
	op.route.dst = prefix("fd08::/64");
	op.route.metric = 1024;
	CHECK_EQ_INT(addr_parse("fd01::8", &op.route.gateway), 0);
	CHECK_EQ_INT(kernel_carry_out(kernel, &op), -ESRCH);
	/* Unless it has been adopted. */
	op.route.protocol = RTPROT_BOOT;
	carry_out(kernel, &op);

	op.kind = OP_ROUTE_ADD;
	op.route.dst = prefix("10.9.0.0/16");
	CHECK_EQ_INT(addr_parse("10.200.0.1", &op.route.gateway), 0);
	CHECK_EQ_INT(kernel_carry_out(kernel, &op), -ENETUNREACH);
	CHECK_EQ_STR(kernel_error_text(kernel), "Nexthop has invalid gateway");
	(void) snprintf(op.route.link, sizeof(op.route.link), "none");
	CHECK_EQ_INT(kernel_carry_out(kernel, &op), -ENODEV);
	CHECK_EQ_STR(kernel_error_text(kernel), "there is no link none");
	model_free(TAKE_PTR(model));
	model = observe(kernel);
	CHECK_EQ_STR(listing(model, OWNER_OURS), "");
}

static void test_carry_out_rules(void)
{
	AUTO(kernel_free) struct kernel *kernel = NULL;
	AUTO(model_free) struct model *model = NULL;
	struct op op = {.kind = OP_RULE_ADD,
	                .rule = {.family = AF_INET,
	                         .priority = 200,
	                         .fwmark = 3,
	                         .fwmask = UINT32_MAX,
	                         .action = FR_ACT_TO_TBL,
	                         .table = 1000,
	                         .protocol = NETCONF_PROTOCOL}};

	world();
	netns_run("ip rule add priority 200 fwmark 3 lookup 1000");
	CHECK_EQ_INT(kernel_new(NULL, &kernel), 0);
	op.rule.src = prefix("10.1.0.0/24");
	(void) snprintf(op.rule.iif, sizeof(op.rule.iif), "v0");
	carry_out(kernel, &op);
	model = observe(kernel);
	CHECK_EQ_STR(listing(model, OWNER_OURS),
	             "rule 200: from 10.1.0.0/24 iif v0 fwmark 0x3/0xffffffff lookup 1000\n");
	op.kind = OP_RULE_DELETE;
	carry_out(kernel, &op);
	model_free(TAKE_PTR(model));
	model = observe(kernel);
	CHECK_EQ_STR(listing(model, OWNER_OURS), "");
	CHECK_EQ_STR(listing(model, OWNER_FOREIGN), "address 10.1.0.1/24 dev v0 metric 50\n"
	                                            "address 10.1.0.2/24 dev v0\n"
	                                            "address fd01::1/64 dev v0\n"
	                                            "rule 200: fwmark 0x3/0xffffffff lookup 1000\n");
}

/* --- putting back what others had --- */

static void put_back(struct kernel *kernel, const struct model *model)
{
	for (size_t i = 0; i < model->n_addresses; i++) {
		struct op op = {.kind = OP_ADDRESS_ADD, .is_restoring = true};

		op.address = model->addresses[i];
		if (op.address.owner == OWNER_FOREIGN && op.address.prefix.addr.family == AF_INET6)
			carry_out(kernel, &op);
	}
	for (size_t i = 0; i < model->n_routes; i++) {
		struct op op = {.kind = OP_ROUTE_ADD, .is_restoring = true};

		op.route = model->routes[i];
		if (op.route.owner == OWNER_FOREIGN)
			carry_out(kernel, &op);
	}
	for (size_t i = 0; i < model->n_rules; i++) {
		struct op op = {.kind = OP_RULE_ADD, .is_restoring = true};

		op.rule = model->rules[i];
		if (op.rule.owner == OWNER_FOREIGN)
			carry_out(kernel, &op);
	}
}

static void test_put_back(void)
{
	static const char all[] =
	    "ip -4 address; ip -6 address; ip -details route show table all | "
	    "sort; ip -6 -details route show table all | sort; ip rule; ip -6 rule";
	AUTO(kernel_free) struct kernel *kernel = NULL;
	AUTO(model_free) struct model *model = NULL;
	AUTO(free) char *before = NULL;
	AUTO(free) char *after = NULL;

	world();
	netns_run("ip address add 10.9.0.1 peer 10.9.0.2/32 dev v1");
	netns_run("ip route add default via 10.1.0.9 proto bird metric 9 initcwnd 20");
	netns_run("ip route add 10.6.0.0/16 nexthop via 10.1.0.8 nexthop via 10.1.0.9 weight 2");
	netns_run("ip -6 route add fd02::/64 nexthop via fd01::8 nexthop via fd01::9");
	netns_run("ip -6 route add fd03::/64 via fd01::9 pref high proto static");
	netns_run("ip route add unreachable 10.7.0.0/16 proto 99");
	netns_run("ip rule add priority 100 not from 10.1.0.0/24 ipproto tcp dport 80 table 1000");
	netns_run("ip rule add priority 101 from 10.1.0.0/24 goto 200");
	netns_run("ip rule add priority 200 table 1001 protocol 77");
	before = ip_says(all);
	/* No carrier: next hops are told to be dead, which nobody may ask for. */
	netns_run("ip link set v1 down");
	CHECK_EQ_INT(kernel_new(NULL, &kernel), 0);
	model = observe(kernel);
	/* Down and up: gateway routes are lost, and what IPv6 has. */
	netns_run("ip link set v0 down && ip link set v0 up");
	netns_run("ip route flush proto 99; ip rule del priority 100; ip rule del priority 101; "
	          "ip rule del priority 200");
	after = ip_says(all);
	CHECK(strcmp(before, after) != 0);
	put_back(kernel, model);
	/* What is there need not be put back, and does no harm. */
	put_back(kernel, model);
	netns_run("ip link set v1 up");
	/* The carrier is told to routes and addresses by a worker of the kernel. */
	for (int i = 0; i < 600 && strcmp(before, after) != 0; i++) {
		(void) poll(NULL, 0, 50);
		free(after);
		after = ip_says(all);
	}
	CHECK_EQ_STR(after, before);
}

/* --- the monitor --- */

struct seen {
	struct kernel_news news;
	bool changed;
	int n;
};

static void on_changed(void *userdata)
{
	struct seen *seen = userdata;

	seen->changed = true;
	seen->n++;
}

static void on_told(const struct kernel_news *news, void *userdata)
{
	struct seen *seen = userdata;

	/* What the kernel drops with it is told, too. */
	if (news->by[0] != '\0' || news->kind == KERNEL_NEWS_LINK)
		seen->news = *news;
}

static void test_monitor(void)
{
	static const char *const changes[] = {
	    "ip link set v0 mtu 1400",
	    "ip address add 10.7.0.1/24 dev v0",
	    "ip -6 route add fd02::/64 via fd01::9",
	    "ip route add blackhole 10.5.0.0/16",
	    "ip rule add priority 100 table 1000",
	    "ip -6 rule add priority 100 table 1000",
	};
	struct ev_loop *ev = ev_loop_new(EVFLAG_AUTO);
	struct kernel *kernel = NULL;
	struct seen seen = {0};
	char text[PREFIX_TEXT_MAX];

	world();
	CHECK_EQ_INT(kernel_new(ev, &kernel), 0);
	CHECK_EQ_INT(kernel_monitor(kernel, on_changed, on_told, &seen), 0);
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		seen = (struct seen){0};
		netns_run("%s", changes[i]);
		CHECK(netns_run_until(ev, &seen.changed, 30.));
	}
	/* A burst is one change. */
	seen = (struct seen){0};
	netns_run("for i in $(seq 100); do echo route add blackhole 10.6.$i.0/24; done | ip -batch -");
	CHECK(netns_run_until(ev, &seen.changed, 30.));
	CHECK_EQ_INT(seen.n, 1);
	netns_run("ip address delete 10.7.0.1/24 dev v0");
	kernel_read_news(kernel);
	CHECK_EQ_INT(seen.news.kind, KERNEL_NEWS_ADDRESS);
	CHECK(seen.news.is_gone && strncmp(seen.news.by, "pid ", 4) == 0);
	CHECK_EQ_STR(prefix_format(&seen.news.prefix, text), "10.7.0.1/24");
	netns_run("ip route delete blackhole 10.6.7.0/24");
	kernel_read_news(kernel);
	CHECK_EQ_INT(seen.news.kind, KERNEL_NEWS_ROUTE);
	CHECK(seen.news.is_gone && strncmp(seen.news.by, "pid ", 4) == 0);
	CHECK_EQ_STR(prefix_format(&seen.news.prefix, text), "10.6.7.0/24");
	netns_run("ip link set v0 mtu 1300");
	kernel_read_news(kernel);
	CHECK_EQ_INT(seen.news.kind, KERNEL_NEWS_LINK);
	CHECK_EQ_STR(seen.news.link, "v0");
	CHECK(seen.news.ifindex > 1 && !seen.news.is_gone);
	kernel_free(kernel);
	ev_loop_destroy(ev);
}

/* --- what it knows --- */

#define NO_ATTRIBUTE 900 /* of any kind of link, in any kernel for years to come */

static void check_bonds(struct netlink *nl)
{
	const uint64_t young =
	    BOND_BIT(BOND_LACP_ACTIVE) | BOND_BIT(BOND_MISSED_MAX) | BOND_BIT(BOND_NS_IP6_TARGET);
	bool is_known;

	if (system("ip link add b0 type bond 2>/dev/null") != 0)
		return;
	CHECK_EQ_INT(kernel_knows(nl, "bond", IFLA_BOND_MODE, false), 1);
	CHECK_EQ_INT(kernel_knows(nl, "bond", NO_ATTRIBUTE, false), 0);
	CHECK_EQ_INT(kernel_knows(nl, "bond", NO_ATTRIBUTE, true), 0);
	/* Kernels since 5.18 have all. */
	CHECK_EQ_INT(kernel_bond_options_lacking(nl, young, &is_known), 0);
	CHECK(is_known);
	CHECK_EQ_INT(kernel_knows(nl, "bond", IFLA_BOND_NS_IP6_TARGET, true), 1);
	CHECK_EQ_INT(system("ip link delete b0"), 0);
}

/* Asking writes nothing, whatever the answer is. */
static void test_what_it_knows(void)
{
	static const char all[] = "ip -details -oneline link";
	AUTO(netlink_free) struct netlink *nl = NULL;
	AUTO(free) char *before = NULL;
	AUTO(free) char *after = NULL;

	netns_enter_new();
	CHECK_EQ_INT(netlink_new(NULL, NETLINK_ROUTE, &nl), 0);
	before = ip_says(all);
	CHECK_EQ_INT(kernel_knows(nl, "bridge", IFLA_BR_VLAN_FILTERING, false), 1);
	CHECK_EQ_INT(kernel_knows(nl, "veth", VETH_INFO_PEER, true), 1);
	CHECK_EQ_INT(kernel_knows(nl, "bridge", NO_ATTRIBUTE, false), 0);
	CHECK_EQ_INT(kernel_knows(nl, "bridge", NO_ATTRIBUTE, true), 0);
	check_bonds(nl);
	after = ip_says(all);
	CHECK_EQ_STR(after, before);
}

int main(void)
{
	test_links();
	test_addresses_routes_rules();
	test_many();
	test_carry_out_links();
	test_made_anew();
	test_carry_out_addresses();
	test_carry_out_routes();
	test_carry_out_rules();
	test_put_back();
	test_monitor();
	test_what_it_knows();
	return check_result();
}
