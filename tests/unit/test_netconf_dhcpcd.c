/* SPDX-License-Identifier: Apache-2.0 */
/* The real dhcpcd and a real server (dnsmasq), in two network namespaces. */
#include <sched.h>
#include <signal.h>
#include <spawn.h>

#include "tests/unit/dhcpworld.h"

static const struct config_dhcp dhcp6 = {
    .family = AF_INET6, .metric = 1024, .client_id = CONFIG_CLIENT_ID_MAC};

static pid_t start_server(int client_ns, int server_ns)
{
	static const char *const argv[] = {
	    "dnsmasq",
	    "--no-daemon",
	    "--conf-file=/dev/null",
	    "--interface=s0",
	    "--bind-interfaces",
	    "--port=0",
	    "--no-resolv",
	    "--no-hosts",
	    "--no-ping",
	    "--leasefile-ro",
	    "--dhcp-authoritative",
	    "--log-facility=/dev/null",
	    "--dhcp-range=10.9.0.50,10.9.0.60,3600",
	    "--dhcp-option=option:router,10.9.0.1",
	    "--dhcp-option=option:dns-server,10.9.0.2",
	    "--dhcp-option=option:domain-search,a.example,b.example",
	    "--dhcp-option=option:classless-static-route,10.8.0.0/16,10.9.0.9,0.0.0.0/0,10.9.0.1",
	    "--dhcp-host=02:00:00:00:00:0c,10.9.0.55,cp1",
	    "--dhcp-range=fd09::100,fd09::110,64,3600",
	    "--dhcp-host=id:00:03:00:01:02:00:00:00:00:0c,[fd09::10c]",
	    "--dhcp-option=option6:dns-server,[fd09::53]",
	    NULL,
	};
	pid_t pid;

	netns_switch(server_ns);
	CHECK_EQ_INT(posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *) (uintptr_t) argv, environ),
	             0);
	netns_switch(client_ns);
	return pid;
}

struct both {
	struct dhcpclient *four, *six;
};

static bool is_running(void *userdata)
{
	return dhcpclient_is_running(userdata);
}

struct renewal {
	const struct dhcpclient *client;
	int64_t ends_us;
};

static bool ends_later(void *userdata)
{
	const struct renewal *renewal = userdata;
	const struct lease *lease = dhcpclient_lease(renewal->client);

	return lease != NULL && lease->ends_us > renewal->ends_us;
}

static bool have_both(void *userdata)
{
	struct both *both = userdata;

	return dhcpclient_lease(both->four) != NULL && dhcpclient_lease(both->six) != NULL;
}

/* dhcpcd has its files in /run and /var/lib: here a file system that nobody else sees. */
static void hide_directories(void)
{
	CHECK_EQ_INT(unshare(CLONE_NEWNS), 0);
	(void) scratch_shell("mount --make-rprivate / && mount -t tmpfs none /run && "
	                     "mount -t tmpfs none /var/lib/dhcpcd");
}

static void check_leases(const struct both *both)
{
	const struct lease_use uses[] = {
	    {dhcpclient_lease(both->four), "eth0", &dhcp4},
	    {dhcpclient_lease(both->six), "eth0", &dhcp6},
	};
	AUTO(model_free) struct model *want = model_new();
	char text[MODEL_TEXT_MAX], addr[ADDR_TEXT_MAX];
	struct conf_strings notes = {0};

	CHECK(uses[0].lease->ends_us > mono_now_us());
	CHECK(uses[0].lease->ends_us - mono_now_us() <= 3600 * US_PER_S);
	lease_merge(want, uses, ARRAY_SIZE(uses), mono_now_us(), false, &notes);
	CHECK_EQ_INT(want->n_addresses, 2);
	CHECK_EQ_STR(address_format(&want->addresses[0], text), "10.9.0.55/24 dev eth0");
	CHECK_EQ_STR(address_format(&want->addresses[1], text), "fd09::10c/128 dev eth0 noprefixroute");
	CHECK_EQ_INT(want->n_routes, 2);
	CHECK_EQ_STR(route_format(&want->routes[0], text),
	             "default via 10.9.0.1 dev eth0 src 10.9.0.55 metric 1024");
	CHECK_EQ_STR(route_format(&want->routes[1], text),
	             "10.8.0.0/16 via 10.9.0.9 dev eth0 src 10.9.0.55 metric 1024");
	CHECK_EQ_STR(want->host.name, "cp1");
	CHECK_EQ_INT(want->host.n_resolvers, 2);
	CHECK_EQ_STR(addr_format(&want->host.resolvers[0], addr), "10.9.0.2");
	CHECK_EQ_STR(addr_format(&want->host.resolvers[1], addr), "fd09::53");
	CHECK_EQ_INT(want->host.search.n, 2);
	CHECK_EQ_INT(notes.n, 0);
}

static void test_for_real(void)
{
	struct both both = {0};
	struct renewal renewal;
	int client_ns, server_ns;
	unsigned changes = 0;
	pid_t server;

	dhcpworld_enter("dhcpcd");
	hide_directories();
	server_ns = netns_enter_new();
	client_ns = netns_enter_new();
	netns_veth("eth0", "02:00:00:00:00:0c", server_ns, "s0", "02:00:00:00:00:01");
	netns_switch(server_ns);
	netns_run("ip address add 10.9.0.1/24 dev s0");
	netns_run("sysctl -qw net.ipv6.conf.s0.keep_addr_on_down=1");
	netns_run("ip address add fd09::1/64 dev s0 nodad");
	netns_switch(client_ns);
	server = start_server(client_ns, server_ns);
	/* The carrier comes when they are there already. */
	netns_switch(server_ns);
	netns_run("ip link set s0 down");
	netns_switch(client_ns);
	netns_run("ip link set eth0 down");
	netns_run("ip link set eth0 up");
	both.four = start(&dhcp4, &changes);
	both.six = start(&dhcp6, &changes);
	CHECK(wait_until(is_running, both.four));
	CHECK(!dhcpclient_is_running(both.six));
	netns_switch(server_ns);
	netns_run("ip link set s0 up");
	netns_switch(client_ns);
	if (CHECK(wait_until(have_both, &both))) {
		check_leases(&both);
		/* A link that goes down takes along the address that IPv6 asks from. */
		renewal = (struct renewal){both.six, dhcpclient_lease(both.six)->ends_us};
		netns_run("ip link set eth0 down");
		netns_run("ip link set eth0 up");
		CHECK(wait_until(ends_later, &renewal));
	}
	/* It has touched nothing: what is to be there is ours to carry out. */
	netns_run("test -z \"$(ip -4 address show dev eth0)\"");
	netns_run("test -z \"$(ip route)\"");

	dhcpclient_free(both.four);
	dhcpclient_free(both.six);
	CHECK_EQ_INT(kill(server, SIGTERM), 0);
	CHECK(wait_until(has_no_child, NULL));
	(void) close(client_ns);
	(void) close(server_ns);
	scratch_leave();
}

int main(void)
{
	dhcpworld_begin();
	test_for_real();
	loop_free(loop);
	return check_result();
}
