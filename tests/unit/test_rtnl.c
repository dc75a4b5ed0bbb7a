/* SPDX-License-Identifier: Apache-2.0 */
/* Against the real kernel, in a namespace of its own; `ip` plays the other programs. */
#include "net/rtnl.h"

#include <errno.h>

#include "base/mem.h"
#include "net/netlink.h"
#include "tests/unit/check.h"
#include "tests/unit/netns.h"

#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <malloc.h>
#include <sys/utsname.h>

struct seen {
	unsigned links, addrs, resyncs;
	struct rtnl_link link;
	bool gone;
	struct rtnl_addr addr;
	bool added;
	bool any;
	const char *want_link; /* events of other links are not counted */
	struct addr want_expired;
	bool expired; /* that address has gone */
};

static void link_cb(const struct rtnl_link *link, bool gone, void *userdata)
{
	struct seen *s = userdata;

	if (s->want_link != NULL && strcmp(s->want_link, link->name) != 0)
		return;
	s->links++;
	s->link = *link;
	s->gone = gone;
	s->any = true;
}

static void addr_cb(const struct rtnl_addr *addr, bool added, void *userdata)
{
	struct seen *s = userdata;

	s->addrs++;
	s->addr = *addr;
	s->added = added;
	s->any = true;
	s->expired |= !added && addr_equal(&addr->prefix.addr, &s->want_expired);
}

static void resync_cb(void *userdata)
{
	struct seen *s = userdata;

	s->resyncs++;
	s->any = true;
}

static const struct rtnl_events events = {.link = link_cb, .addr = addr_cb, .resync = resync_cb};

static struct seen seen;
static struct ev_loop *ev;

static bool next_event(void)
{
	return netns_run_until(ev, &seen.any, 30);
}

/* Reads what is in the socket. */
static void settle(void)
{
	bool never = false;

	(void) netns_run_until(ev, &never, 0.05);
}

/* What came until now belongs to what was done before. */
static void forget(const char *want_link)
{
	settle();
	seen = (struct seen){.want_link = want_link};
}

static void test_links(struct rtnl *rtnl)
{
	const struct rtnl_link *link;
	int ifindex;

	link = rtnl_link_by_name(rtnl, "lo");
	CHECK(link != NULL && link->ifindex == 1 && link->up && link->carrier && !link->has_mac);
	CHECK(rtnl_link_by_name(rtnl, "nonesuch") == NULL);
	CHECK(rtnl_link_by_index(rtnl, 4711) == NULL);

	forget("va");
	netns_run("ip link add va address 02:00:00:00:00:0a type veth peer name vb");
	CHECK(next_event());
	link = rtnl_link_by_name(rtnl, "va");
	if (!CHECK(link != NULL))
		return;
	ifindex = link->ifindex;
	CHECK(link->has_mac && link->mac.bytes[0] == 2 && link->mac.bytes[5] == 0x0a);
	CHECK(!link->up && !link->carrier);
	CHECK(rtnl_link_by_index(rtnl, ifindex) == link);

	forget("va");
	netns_run("ip link set va up && ip link set vb up");
	while (!seen.link.carrier && next_event())
		seen.any = false;
	CHECK(seen.link.up && seen.link.carrier && !seen.gone);

	forget("va");
	netns_run("ip link set vb down");
	/* The kernel may still tell of the carrier that came. */
	while ((!seen.any || seen.link.carrier) && next_event())
		seen.any = false;
	CHECK(seen.link.up && !seen.link.carrier);

	forget("va");
	netns_run("ip link set va address 02:00:00:00:00:bb");
	CHECK(next_event());
	CHECK_EQ_INT(seen.link.mac.bytes[5], 0xbb);

	/* Nothing that the table shows has changed: no event. */
	forget("va");
	netns_run("ip link set va mtu 1400");
	settle();
	CHECK_EQ_INT(seen.links, 0);

	forget("va");
	netns_run("ip link property add dev va altname a-rather-long-name-of-a-link altname short2");
	CHECK(next_event());
	link = rtnl_link_by_name(rtnl, "a-rather-long-name-of-a-link");
	CHECK(link != NULL && link->ifindex == ifindex);
	CHECK(rtnl_link_by_name(rtnl, "short2") == link);

	forget("va");
	netns_run("ip link set va group 7");
	CHECK(next_event());
	CHECK(seen.link.group == 7 && !seen.link.is_dummy);
	CHECK_EQ_INT(rtnl_link_del(rtnl, 4711), -ENODEV);

	/* A port that leaves its bridge is announced as an RTM_DELLINK of the bridge's family. */
	netns_run("ip link add br0 type bridge && ip link set va master br0");
	forget("va");
	netns_run("ip link set va nomaster");
	settle();
	CHECK_EQ_INT(seen.links, 0);
	CHECK(rtnl_link_by_name(rtnl, "va") != NULL);

	forget("vc");
	netns_run("ip link set va down && ip link set va name vc");
	CHECK(next_event());
	CHECK(rtnl_link_by_name(rtnl, "va") == NULL);
	link = rtnl_link_by_name(rtnl, "vc");
	CHECK(link != NULL && link->ifindex == ifindex);

	forget("vc");
	netns_run("ip link del vc");
	while (!seen.gone && next_event())
		seen.any = false;
	CHECK(seen.gone);
	CHECK_EQ_INT(seen.link.ifindex, ifindex);
	CHECK(rtnl_link_by_name(rtnl, "vc") == NULL);
	CHECK(rtnl_link_by_name(rtnl, "short2") == NULL);
	CHECK(rtnl_link_by_name(rtnl, "vb") == NULL);
}

struct wanted {
	struct addr addr;
	unsigned found;
	struct rtnl_addr got;
};

static void find_cb(const struct rtnl_addr *addr, void *userdata)
{
	struct wanted *w = userdata;

	if (!addr_equal(&addr->prefix.addr, &w->addr))
		return;
	w->found++;
	w->got = *addr;
}

static unsigned find_addr(struct rtnl *rtnl, const struct addr *addr, struct rtnl_addr *ret)
{
	struct wanted w = {.addr = *addr};

	CHECK_EQ_INT(rtnl_addr_list(rtnl, find_cb, &w), 0);
	*ret = w.got;
	return w.found;
}

/* Kernels before 5.18 keep no mark. */
static uint8_t mark_kept(void)
{
	struct utsname name;
	int major = 0, minor = 0;

	CHECK_EQ_INT(uname(&name), 0);
	CHECK_EQ_INT(sscanf(name.release, "%d.%d", &major, &minor), 2);
	return major > 5 || (major == 5 && minor >= 18) ? 0xf1 : 0;
}

static void test_addresses(struct rtnl *rtnl)
{
	const uint8_t proto = mark_kept();
	static const struct {
		const char *prefix;
		uint32_t valid_s, preferred_s;
		bool no_prefix_route, no_dad;
	} cases[] = {
	    {"192.0.2.5/32", RTNL_LIFETIME_FOREVER, RTNL_LIFETIME_FOREVER, true, false},
	    {"192.0.2.6/24", 100, 50, false, false},
	    {"2001:db8::5/128", RTNL_LIFETIME_FOREVER, 0, true, true},
	    {"2001:db8::6/64", 100, 0, true, true},
	    {"2001:db8::7/128", 100, 50, false, true},
	};
	int ifindex = rtnl_link_by_name(rtnl, "vd")->ifindex;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rtnl_addr a = {.ifindex = ifindex,
		                      .proto = 0xf1,
		                      .valid_s = cases[i].valid_s,
		                      .preferred_s = cases[i].preferred_s,
		                      .no_prefix_route = cases[i].no_prefix_route,
		                      .no_dad = cases[i].no_dad};
		struct rtnl_addr got = {0};

		CHECK_EQ_INT(prefix_parse(cases[i].prefix, &a.prefix), 0);
		forget(NULL);
		CHECK_EQ_INT(rtnl_addr_del(rtnl, ifindex, &a.prefix), -EADDRNOTAVAIL);
		CHECK_EQ_INT(rtnl_addr_add(rtnl, &a), 0);
		/* Done when it returns: the list says so at once, before any notification is read. */
		CHECK_EQ_INT(find_addr(rtnl, &a.prefix.addr, &got), 1);
		CHECK_EQ_INT(got.ifindex, ifindex);
		CHECK_EQ_INT(got.prefix.len, a.prefix.len);
		CHECK_EQ_INT(got.proto, proto);
		CHECK_EQ_INT(got.valid_s, a.valid_s);
		CHECK_EQ_INT(got.preferred_s, a.preferred_s);
		CHECK_EQ_INT(got.no_prefix_route, a.no_prefix_route);
		CHECK_EQ_INT(got.no_dad, a.no_dad);
		CHECK_EQ_INT(rtnl_addr_add(rtnl, &a), -EEXIST);

		CHECK(next_event());
		CHECK(seen.added && addr_equal(&seen.addr.prefix.addr, &a.prefix.addr));
		CHECK_EQ_INT(seen.addr.proto, proto);

		a.valid_s = 30;
		CHECK_EQ_INT(rtnl_addr_replace(rtnl, &a), a.preferred_s > 30 ? -EINVAL : 0);
		a.preferred_s = MIN(a.preferred_s, 20U);
		CHECK_EQ_INT(rtnl_addr_replace(rtnl, &a), 0);
		CHECK_EQ_INT(find_addr(rtnl, &a.prefix.addr, &got), 1);
		CHECK_EQ_INT(got.valid_s, 30);
		CHECK_EQ_INT(got.preferred_s, a.preferred_s);
		CHECK_EQ_INT(got.no_prefix_route, a.no_prefix_route);
		CHECK_EQ_INT(got.proto, proto);

		forget(NULL);
		CHECK_EQ_INT(rtnl_addr_del(rtnl, ifindex, &a.prefix), 0);
		CHECK(next_event());
		CHECK(!seen.added && addr_equal(&seen.addr.prefix.addr, &a.prefix.addr));
		CHECK_EQ_INT(find_addr(rtnl, &a.prefix.addr, &got), 0);
	}
}

/* The kernel takes the address away by itself, and never early. */
static void test_lifetime(struct rtnl *rtnl)
{
	struct rtnl_addr a = {.ifindex = rtnl_link_by_name(rtnl, "vd")->ifindex,
	                      .proto = 0xf1,
	                      .valid_s = 1,
	                      .preferred_s = 1};
	double start, took;

	CHECK_EQ_INT(prefix_parse("192.0.2.9/32", &a.prefix), 0);
	forget(NULL);
	seen.want_expired = a.prefix.addr;
	start = ev_time();
	CHECK_EQ_INT(rtnl_addr_add(rtnl, &a), 0);
	CHECK(netns_run_until(ev, &seen.expired, 30));
	took = ev_time() - start;
	CHECK(took >= 0.99);
}

static void test_errors(struct rtnl *rtnl)
{
	struct rtnl_addr a = {
	    .ifindex = 4711, .valid_s = RTNL_LIFETIME_FOREVER, .preferred_s = RTNL_LIFETIME_FOREVER};

	CHECK_EQ_INT(prefix_parse("192.0.2.5/32", &a.prefix), 0);
	CHECK_EQ_INT(rtnl_addr_add(rtnl, &a), -ENODEV);
	CHECK_EQ_INT(rtnl_addr_del(rtnl, 4711, &a.prefix), -EADDRNOTAVAIL);
	a.ifindex = 1;
	a.valid_s = 0;
	CHECK_EQ_INT(rtnl_addr_add(rtnl, &a), -EINVAL);
	CHECK(rtnl_error_text(rtnl) != NULL);
}

/* Notifications are lost; the table is right again and the listener is told. */
static void test_resync(struct rtnl *rtnl)
{
	forget("gone1");
	netns_run("ip link add gone1 type veth peer name gone2");
	CHECK(next_event());
	CHECK(rtnl_link_by_name(rtnl, "gone1") != NULL);
	seen = (struct seen){.want_link = "fresh"};
	netns_run("(for i in $(seq 1500); do echo link set vd mtu $((1400 + i %% 2)); done;"
	          " echo link del gone1; echo link add fresh type veth peer name fresh2) | ip -b -");
	while (seen.resyncs == 0 && netns_run_until(ev, &seen.any, 30))
		seen.any = false;
	CHECK(seen.resyncs >= 1);
	CHECK(rtnl_link_by_name(rtnl, "gone1") == NULL);
	CHECK(rtnl_link_by_name(rtnl, "fresh") != NULL);
	CHECK(seen.links >= 1);
	CHECK_EQ_STR(seen.link.name, "fresh");
}

/* What the kernel would never send is refused. */
static void test_hostile_messages(void)
{
	static const struct {
		uint16_t type;
		uint8_t family;
		uint16_t attr;
		size_t attr_len;
		int want;
	} cases[] = {
	    {RTM_NEWADDR, AF_INET, IFA_LOCAL, 4, 0},
	    {RTM_NEWADDR, AF_INET, IFA_LOCAL, 3, -EINVAL},
	    {RTM_NEWADDR, AF_INET, IFA_LOCAL, 16, -EINVAL},
	    {RTM_NEWADDR, AF_INET6, IFA_ADDRESS, 16, 0},
	    {RTM_NEWADDR, AF_INET6, IFA_ADDRESS, 4, -EINVAL},
	    {RTM_NEWADDR, AF_INET6, IFA_FLAGS, 4, -EINVAL},
	    {RTM_NEWADDR, AF_BRIDGE, IFA_LOCAL, 4, -EINVAL},
	    {RTM_NEWLINK, AF_INET, IFA_LOCAL, 4, -EINVAL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		static const uint8_t bytes[16] = {192, 0, 2, 1};
		uint8_t buf[256];
		struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
		struct ifaddrmsg *ifa = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifa));
		struct rtnl_addr got;

		nlh->nlmsg_type = cases[i].type;
		ifa->ifa_family = cases[i].family;
		mnl_attr_put(nlh, cases[i].attr, cases[i].attr_len, bytes);
		CHECK_EQ_INT(rtnl_msg_parse_addr(nlh, &got), cases[i].want);
		nlh->nlmsg_len = NLMSG_HDRLEN + 4;
		CHECK_EQ_INT(rtnl_msg_parse_addr(nlh, &got), -EINVAL);
	}
}

/* A kernel has them or it does not; a second one of the name is refused in any case. */
static void test_dummy(struct rtnl *rtnl)
{
	int r;

	forget("d1");
	r = rtnl_link_add_dummy(rtnl, "d1", 241);
	if (r == -EOPNOTSUPP)
		return;
	CHECK_EQ_INT(r, 0);
	CHECK(next_event());
	CHECK(seen.link.up && seen.link.has_mac);
	CHECK(seen.link.is_dummy && seen.link.group == 241);
	CHECK_EQ_INT(rtnl_link_add_dummy(rtnl, "d1", 241), -EEXIST);
	netns_run("ip -d link show d1 | grep -q dummy");
	CHECK_EQ_INT(rtnl_link_del(rtnl, seen.link.ifindex), 0);
}

/* Nothing of what was in the memory before goes to the kernel, not even between attributes. */
static void test_padding(void)
{
	struct rtnl_addr addr = {.ifindex = 7, .proto = 5};
	struct message *built[2][2];

	CHECK_EQ_INT(prefix_parse("10.0.0.1/32", &addr.prefix), 0);
	for (size_t i = 0; i < 2; i++) {
		(void) mallopt(M_PERTURB, i == 0 ? 0x55 : 0xaa);
		built[0][i] = rtnl_msg_new_addr(&addr, 0);
		built[1][i] = rtnl_msg_new_dummy("vip0", 1);
	}
	(void) mallopt(M_PERTURB, 0);
	for (size_t i = 0; i < 2; i++) {
		const struct nlmsghdr *a = message_header(built[i][0]), *b = message_header(built[i][1]);

		CHECK_EQ_INT(memcmp(a, b, a->nlmsg_len), 0);
		message_free(built[i][0]);
		message_free(built[i][1]);
	}
}

int main(void)
{
	AUTO(rtnl_free) struct rtnl *rtnl = NULL;

	ev = ev_default_loop(EVFLAG_AUTO);
	(void) netns_enter_new();
	netns_run("ip link add vd type veth peer name ve && ip link set vd up && ip link set ve up");
	CHECK_EQ_INT(rtnl_new(ev, &events, &seen, &rtnl), 0);
	if (rtnl == NULL)
		return check_result();
	test_links(rtnl);
	test_addresses(rtnl);
	test_lifetime(rtnl);
	test_errors(rtnl);
	test_dummy(rtnl);
	test_resync(rtnl);
	test_hostile_messages();
	test_padding();
	return check_result();
}
