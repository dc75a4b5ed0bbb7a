/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who terminates TCP on a guarded address when the kernel translates destinations. A node `a`
 * redirects ports of the address to a server of its own and translates others to a pod behind it;
 * a client `b` is on its LAN, and has a permanent neighbour entry, as a client with an old one has
 * until it asks again. Nothing here depends on milliseconds, so this also runs on emulated
 * processors.
 */
#include "net/nftgate.h"

#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/mono.h"
#include "tests/unit/check.h"
#include "tests/unit/netns.h"
#include "tests/unit/sockets.h"

static int open_for(struct nftgate *gate, const struct addr *addr, int64_t timeout_us)
{
	return nftgate_open_until(gate, addr, mono_now_us() + timeout_us);
}

#define TABLE "fairlead_test"
#define VIP4 "10.9.0.5"
#define VIP6 "fd00::5"
#define MAC_A "02:00:00:00:00:0a" /* the link of the VIP */
#define MAC_M "02:00:00:00:00:0d" /* another link of the node in the same LAN */
#define MAC_B "02:00:00:00:00:0b" /* the client */
#define SERVER_PORT 6443
#define SILENCE_MS 100

static struct ev_loop *ev;
static int ns_a, ns_b, ns_pod;

static struct addr addr_of(const char *text)
{
	struct addr a = {0};

	CHECK_EQ_INT(addr_parse(text, &a), 0);
	return a;
}

/* Where a connection ends that is translated, or not. */
static const struct path {
	const char *name;
	const char *vip;
	uint16_t port;
	bool to_pod;
} paths[] = {
    {"direct", VIP4, SERVER_PORT, false},    {"direct", VIP6, SERVER_PORT, false},
    {"redirect", VIP4, 443, false},          {"redirect", VIP6, 443, false},
    {"dnat to a pod", VIP4, 8443, true},     {"dnat to a pod", VIP6, 8443, true},
    {"dnat, masqueraded", VIP4, 8444, true}, {"dnat, masqueraded", VIP6, 8444, true},
};

static int listener_of(const struct path *p)
{
	struct endpoint at;
	int fd;

	netns_switch(p->to_pod ? ns_pod : ns_a);
	fd = sockets_listen(strchr(p->vip, ':') != NULL ? "::" : "0.0.0.0", SERVER_PORT, 16, &at);
	netns_switch(ns_a);
	return fd;
}

static bool is_ready(int fd, short events, int wait_ms)
{
	struct pollfd pfd = {.fd = fd, .events = events};

	return poll(&pfd, 1, wait_ms) == 1 && (pfd.revents & events) != 0;
}

/* Connects from a namespace; -1 if no handshake ends within wait_ms. */
static int reach(int ns, const char *vip, uint16_t port, int wait_ms)
{
	const struct endpoint to = {.addr = addr_of(vip), .port = port};
	struct sockaddr_storage ss;
	int error = 0, fd;
	socklen_t len = sizeof(error);

	netns_switch(ns);
	fd = socket(to.addr.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	(void) connect(fd, (struct sockaddr *) &ss, endpoint_to_sockaddr(&to, &ss));
	netns_switch(ns_a);
	if (is_ready(fd, POLLOUT, wait_ms) && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 &&
	    error == 0)
		return fd;
	(void) close(fd);
	return -1;
}

static bool carries(int from, int to, int wait_ms)
{
	char c = 'x';

	CHECK_EQ_INT(send(from, &c, 1, MSG_NOSIGNAL), 1);
	return is_ready(to, POLLIN, wait_ms) && recv(to, &c, 1, 0) == 1;
}

static void set_address(const char *verb, const char *vip)
{
	const bool v6 = strchr(vip, ':') != NULL;

	netns_run("ip addr %s %s/%d dev va %s", verb, vip, v6 ? 128 : 32,
	          v6 && strcmp(verb, "add") == 0 ? "nodad" : "");
}

/* An established connection and new ones: heard while live, silent in both directions when not,
 * with the address on the link and without it. */
static void test_path(const struct path *p)
{
	AUTO(nftgate_free) struct nftgate *gate = NULL;
	const struct addr vip = addr_of(p->vip);
	const int listener = listener_of(p);
	int client, server;
	bool ok;

	CHECK_EQ_INT(nftgate_new(ev, TABLE, &gate), 0);
	CHECK_EQ_INT(nftgate_guard(gate, &vip), 0);
	CHECK_EQ_INT(nftgate_add_link(gate, (int) if_nametoindex("va")), 0);
	CHECK_EQ_INT(open_for(gate, &vip, 60 * US_PER_S), 0);
	client = reach(ns_b, p->vip, p->port, SOCKETS_WAIT_MS);
	CHECK(client >= 0 && is_ready(listener, POLLIN, SOCKETS_WAIT_MS));
	server = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	ok = CHECK(carries(client, server, SOCKETS_WAIT_MS));
	ok = CHECK(carries(server, client, SOCKETS_WAIT_MS)) && ok;

	CHECK_EQ_INT(nftgate_shut(gate, &vip), 0);
	ok = CHECK(!carries(client, server, SILENCE_MS)) && ok;
	ok = CHECK(!carries(server, client, SILENCE_MS)) && ok;
	ok = CHECK(reach(ns_b, p->vip, p->port, SILENCE_MS) < 0) && ok;
	set_address("del", p->vip);
	ok = CHECK(!is_ready(server, POLLIN, SILENCE_MS)) && ok;
	ok = CHECK(!is_ready(client, POLLIN, SILENCE_MS)) && ok;
	ok = CHECK(reach(ns_b, p->vip, p->port, SILENCE_MS) < 0) && ok;

	/* It resumes: what was under way arrives. */
	set_address("add", p->vip);
	CHECK_EQ_INT(open_for(gate, &vip, 60 * US_PER_S), 0);
	ok = CHECK(is_ready(server, POLLIN, SOCKETS_WAIT_MS)) && ok;
	ok = CHECK(is_ready(client, POLLIN, SOCKETS_WAIT_MS)) && ok;
	if (!ok)
		(void) fprintf(stderr, "%s, %s\n", p->vip, p->name);
	(void) close(client);
	(void) close(server);
	(void) close(listener);
	CHECK_EQ_INT(nftgate_destroy(gate), 0);
}

/* A pod whose connections leave with the address as their source. */
static void test_source(const char *vip, const char *client)
{
	AUTO(nftgate_free) struct nftgate *gate = NULL;
	const struct addr addr = addr_of(vip);
	struct endpoint at;
	int on_client, pod, client_end;
	bool ok;

	netns_switch(ns_b);
	on_client = sockets_listen(client, 8447, 16, &at);
	netns_switch(ns_a);
	CHECK_EQ_INT(nftgate_new(ev, TABLE, &gate), 0);
	CHECK_EQ_INT(nftgate_guard(gate, &addr), 0);
	CHECK_EQ_INT(nftgate_add_link(gate, (int) if_nametoindex("va")), 0);
	CHECK(reach(ns_pod, client, 8447, SILENCE_MS) < 0);
	CHECK_EQ_INT(open_for(gate, &addr, 60 * US_PER_S), 0);
	pod = reach(ns_pod, client, 8447, SOCKETS_WAIT_MS);
	CHECK(pod >= 0 && is_ready(on_client, POLLIN, SOCKETS_WAIT_MS));
	client_end = accept4(on_client, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	ok = CHECK(carries(pod, client_end, SOCKETS_WAIT_MS));
	ok = CHECK(carries(client_end, pod, SOCKETS_WAIT_MS)) && ok;
	CHECK_EQ_INT(nftgate_shut(gate, &addr), 0);
	ok = CHECK(!carries(pod, client_end, SILENCE_MS)) && ok;
	ok = CHECK(!carries(client_end, pod, SILENCE_MS)) && ok;
	if (!ok)
		(void) fprintf(stderr, "source %s\n", vip);
	(void) close(pod);
	(void) close(client_end);
	(void) close(on_client);
	CHECK_EQ_INT(nftgate_destroy(gate), 0);
}

/* By another link than the VIP's: one that leads to the LAN as well is shut, one that leads to this
 * machine's pods is not. */
static void test_other_links(void)
{
	AUTO(nftgate_free) struct nftgate *gate = NULL;
	const struct addr vip = addr_of(VIP4);
	const struct path *to_pod = &paths[4], *redirected = &paths[2];
	const int in_pod = listener_of(to_pod), in_a = listener_of(redirected);
	int fd;

	CHECK_EQ_INT(nftgate_new(ev, TABLE, &gate), 0);
	CHECK_EQ_INT(nftgate_guard(gate, &vip), 0);
	CHECK_EQ_INT(nftgate_add_link(gate, (int) if_nametoindex("va")), 0);
	netns_switch(ns_b);
	netns_run("ip neigh replace " VIP4 " lladdr " MAC_M " dev vb nud permanent");
	netns_switch(ns_a);
	netns_run(
	    "ip link add vm link va address " MAC_M " type macvlan mode bridge && "
	    "ip link set vm up && ip addr add 10.9.0.7/24 dev vm && ip route add 10.9.0.2 dev vm && "
	    "ip neigh replace 10.9.0.2 lladdr " MAC_B " dev vm nud permanent");
	CHECK(reach(ns_b, VIP4, to_pod->port, SILENCE_MS) < 0);
	CHECK_EQ_INT(open_for(gate, &vip, 60 * US_PER_S), 0);
	fd = reach(ns_b, VIP4, to_pod->port, SOCKETS_WAIT_MS);
	CHECK(fd >= 0);
	(void) close(fd);
	CHECK_EQ_INT(nftgate_shut(gate, &vip), 0);
	netns_run("ip link del vm");
	netns_switch(ns_b);
	netns_run("ip neigh replace " VIP4 " lladdr " MAC_A " dev vb nud permanent");
	netns_switch(ns_a);

	/* Without the address, as on a node that is no owner. */
	set_address("del", VIP4);
	CHECK(reach(ns_b, VIP4, to_pod->port, SILENCE_MS) < 0);
	fd = reach(ns_pod, VIP4, 443, SOCKETS_WAIT_MS); /* a pod, to a server of this node */
	CHECK(fd >= 0);
	(void) close(fd);
	fd = reach(ns_a, VIP4, 443, SOCKETS_WAIT_MS); /* a process, likewise */
	CHECK(fd >= 0);
	(void) close(fd);
	fd = reach(ns_a, VIP4, to_pod->port, SOCKETS_WAIT_MS); /* and to a pod */
	CHECK(fd >= 0);
	(void) close(fd);
	netns_switch(ns_b);
	netns_run("ip route add 10.9.9.0/24 via 10.9.0.1");
	netns_switch(ns_a);
	{
		struct endpoint at;
		int on_b;

		netns_switch(ns_b);
		on_b = sockets_listen("0.0.0.0", SERVER_PORT, 16, &at);
		fd = reach(ns_pod, VIP4, 8446, SOCKETS_WAIT_MS); /* a pod, to another node */
		CHECK(fd >= 0);
		(void) close(fd);
		(void) close(on_b);
	}
	set_address("add", VIP4);
	(void) close(in_pod);
	(void) close(in_a);
	CHECK_EQ_INT(nftgate_destroy(gate), 0);
}

static void build_network(void)
{
	ev = ev_default_loop(EVFLAG_AUTO);
	ns_pod = netns_enter_new();
	ns_b = netns_enter_new();
	ns_a = netns_enter_new();
	netns_veth("va", MAC_A, ns_b, "vb", MAC_B);
	netns_veth("ve", "02:00:00:00:00:0e", ns_pod, "vg", "02:00:00:00:00:0f");
	netns_sysctl("/proc/sys/net/ipv4/ip_forward", "1");
	netns_sysctl("/proc/sys/net/ipv6/conf/all/forwarding", "1");
	netns_run("ip addr add 10.9.0.1/24 dev va && ip addr add fd00::1/64 dev va nodad && "
	          "ip addr add " VIP4 "/32 dev va && ip addr add " VIP6 "/128 dev va nodad && "
	          "ip addr add 10.9.9.1/24 dev ve && ip addr add fd09::1/64 dev ve nodad");
	netns_run("nft -f - <<'END'\n"
	          "table ip nat4 {\n"
	          " chain pre { type nat hook prerouting priority dstnat;\n"
	          "  ip daddr " VIP4 " tcp dport 443 redirect to :6443\n"
	          "  ip daddr " VIP4 " tcp dport { 8443, 8444 } dnat to 10.9.9.5:6443\n"
	          "  ip daddr " VIP4 " tcp dport 8446 dnat to 10.9.0.2:6443; }\n"
	          " chain out { type nat hook output priority -100;\n"
	          "  ip daddr " VIP4 " tcp dport 443 redirect to :6443\n"
	          "  ip daddr " VIP4 " tcp dport 8443 dnat to 10.9.9.5:6443; }\n"
	          " chain post { type nat hook postrouting priority srcnat;\n"
	          "  tcp dport 8447 snat to " VIP4 "\n"
	          "  meta l4proto tcp ct original proto-dst 8444 masquerade; }\n"
	          "}\n"
	          "END");
	netns_run("nft -f - <<'END'\n"
	          "table ip6 nat6 {\n"
	          " chain pre { type nat hook prerouting priority dstnat;\n"
	          "  ip6 daddr " VIP6 " tcp dport 443 redirect to :6443\n"
	          "  ip6 daddr " VIP6 " tcp dport { 8443, 8444 } dnat to [fd09::5]:6443; }\n"
	          " chain post { type nat hook postrouting priority srcnat;\n"
	          "  tcp dport 8447 snat to " VIP6 "\n"
	          "  meta l4proto tcp ct original proto-dst 8444 masquerade; }\n"
	          "}\n"
	          "END");
	netns_switch(ns_pod);
	netns_run("ip addr add 10.9.9.5/24 dev vg && ip addr add fd09::5/64 dev vg nodad && "
	          "ip route add default via 10.9.9.1 && ip -6 route add default via fd09::1");
	netns_switch(ns_b);
	netns_run("ip addr add 10.9.0.2/24 dev vb && ip addr add fd00::2/64 dev vb nodad && "
	          "ip neigh replace " VIP4 " lladdr " MAC_A " dev vb nud permanent && "
	          "ip neigh replace " VIP6 " lladdr " MAC_A " dev vb nud permanent");
	netns_switch(ns_a);
}

int main(void)
{
	build_network();
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		test_path(&paths[i]);
	test_source(VIP4, "10.9.0.2");
	test_source(VIP6, "fd00::2");
	test_other_links();
	return check_result();
}
