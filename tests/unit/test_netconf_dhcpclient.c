/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A DHCP client as a process: a script in dhcpcd's place, which says what it is told to, with the
 * real hook. test_netconf_dhcpcd.c has the real one.
 */
#include "netconf/dhcp/dhcpclient.h"

#include <fcntl.h>
#include <signal.h>

#include "tests/unit/dhcpworld.h"

struct count {
	const unsigned *at;
	unsigned want;
};

static bool has_count(void *userdata)
{
	const struct count *count = userdata;

	return *count->at >= count->want;
}

static bool wait_for_changes(const unsigned *changes, unsigned n)
{
	return wait_until(has_count, &(struct count){changes, n});
}

/* Lines of a file, as often as the script has started. */
static unsigned lines_of(const char *path)
{
	FILE *f = fopen(path, "re");
	unsigned n = 0;
	int c;

	if (f == NULL)
		return 0;
	while ((c = fgetc(f)) != EOF)
		n += c == '\n';
	(void) fclose(f);
	return n;
}

static bool has_started(void *userdata)
{
	return lines_of("starts") >= *(unsigned *) userdata;
}

static bool wait_for_starts(unsigned n)
{
	return wait_until(has_started, &n);
}

static char program[128];

/* It reads commands from a pipe with a name; `hook` is what dhcpcd would call. */
static void begin(void)
{
	dhcpworld_enter(program);
	(void) snprintf(program, sizeof(program), "%s/dhcpcd", scratch_dir);
	(void) scratch_shell("mkfifo events; cat >dhcpcd <<'END'\n"
	                     "#!/bin/sh\n"
	                     "cd %s\n"
	                     "export fairlead_lease=$(sed -n 's/^env fairlead_lease=//p' \"$4\")\n"
	                     "hook=$(sed -n 's/^script //p' \"$4\")\n"
	                     "exec 3<>events\n"
	                     "echo \"$$ $*\" >>starts\n"
	                     "while read -r line <&3; do eval \"$line\"; done\n"
	                     "END\n"
	                     "chmod 755 dhcpcd",
	                     scratch_dir);
}

static void say(const char *command)
{
	int fd = open("events", O_RDWR | O_CLOEXEC);

	CHECK(fd >= 0);
	CHECK(dprintf(fd, "%s\n", command) > 0);
	/* The script has had it open since before it said that it started, so nothing is lost. */
	(void) close(fd);
}

static void say_bound(const char *reason, const char *address, unsigned seconds)
{
	AUTO(free)
	char *command = xasprintf("env reason=%s ifcarrier=up new_ip_address=%s new_subnet_cidr=24 "
	                          "new_dhcp_lease_time=%u new_routers=10.0.0.1 $hook",
	                          reason, address, seconds);

	say(command);
}

static void stop(struct dhcpclient *client)
{
	dhcpclient_free(client);
	CHECK(wait_until(has_no_child, NULL));
}

static const char *address_of(const struct dhcpclient *client)
{
	static char text[PREFIX_TEXT_MAX];
	const struct lease *lease = dhcpclient_lease(client);

	return lease != NULL ? prefix_format(&lease->addresses[0], text) : "";
}

static void test_lease_comes_and_goes(void)
{
	unsigned changes = 0;
	struct dhcpclient *client;

	begin();
	client = start(&dhcp4, &changes);
	CHECK(dhcpclient_lease(client) == NULL);
	CHECK(wait_for_starts(1));
	(void) scratch_shell("grep -q -- ' -B -4 -f %s/run/dhcp4-eth0.conf eth0$' starts", scratch_dir);
	say_bound("BOUND", "10.0.0.5", 3600);
	CHECK(wait_for_changes(&changes, 1));
	CHECK_EQ_STR(address_of(client), "10.0.0.5/24");
	CHECK_EQ_INT(dhcpclient_lease(client)->n_routes, 1);

	/* Renewed, it ends later. */
	say_bound("RENEW", "10.0.0.5", 7200);
	CHECK(wait_for_changes(&changes, 2));
	CHECK(dhcpclient_lease(client)->ends_us > mono_now_us() + 3600 * US_PER_S);

	/* What is no news is not told: the next change is the third. */
	say("env reason=CARRIER $hook");
	say("env reason=NAK ifcarrier=down $hook");
	say("env reason=EXPIRE ifcarrier=up $hook");
	say_bound("REBIND", "10.0.0.6", 3600);
	CHECK(wait_for_changes(&changes, 3));
	CHECK_EQ_STR(address_of(client), "10.0.0.6/24");
	say("env reason=NAK ifcarrier=up $hook");
	CHECK(wait_for_changes(&changes, 4));
	CHECK(dhcpclient_lease(client) == NULL);
	say_bound("BOUND", "10.0.0.7", 3600);
	CHECK(wait_for_changes(&changes, 5));
	/* Its time ends a lease, or its server, not what the client makes of it. */
	say("env reason=EXPIRE ifcarrier=up $hook");
	say("env reason=RELEASE ifcarrier=up $hook");
	CHECK(wait_for_changes(&changes, 6));
	CHECK(dhcpclient_lease(client) == NULL);
	CHECK_EQ_INT(changes, 6);
	stop(client);
	scratch_leave();
}

/* What one identity was given is not another's, and is still there when the change is undone. */
static void test_identities(void)
{
	static char duids[][12] = {"00:01:0a", "00:01:0b"};
	struct config_dhcp first = dhcp4, second = dhcp4;
	unsigned changes = 0;
	struct dhcpclient *client;

	begin();
	first.client_id = second.client_id = CONFIG_CLIENT_ID_DUID;
	first.duid = duids[0];
	second.duid = duids[1];
	client = start(&first, &changes);
	CHECK(wait_for_starts(1));
	say_bound("BOUND", "10.0.0.5", 3600);
	CHECK(wait_for_changes(&changes, 1));
	stop(client);
	client = start(&dhcp4, &changes);
	CHECK(dhcpclient_lease(client) == NULL);
	stop(client);
	client = start(&second, &changes);
	CHECK(dhcpclient_lease(client) == NULL);
	stop(client);
	client = start(&first, &changes);
	CHECK_EQ_STR(address_of(client), "10.0.0.5/24");
	dhcpclient_forget_others(client);
	stop(client);
	client = start(&first, &changes);
	CHECK_EQ_STR(address_of(client), "10.0.0.5/24");
	stop(client);
	client = start(&dhcp4, &changes);
	dhcpclient_forget_others(client);
	stop(client);
	client = start(&first, &changes);
	CHECK(dhcpclient_lease(client) == NULL);
	stop(client);
	scratch_leave();
}

struct running_out {
	const unsigned *changes;
	int64_t until_us;
};

static bool has_run_out(void *userdata)
{
	const struct running_out *w = userdata;

	return *w->changes >= 2 || mono_now_us() > w->until_us;
}

/* Nobody says so, and it is over nevertheless. One that is over before it is read has never been:
 * then again, longer. */
static void test_lease_runs_out(void)
{
	unsigned changes = 0;
	struct dhcpclient *client;

	begin();
	client = start(&dhcp4, &changes);
	CHECK(wait_for_starts(1));
	for (unsigned s = 4; s <= 32 && changes < 2; s *= 2) {
		say_bound("BOUND", "10.0.0.5", s);
		(void) wait_until(has_run_out,
		                  &(struct running_out){&changes, mono_now_us() + (s + 4) * US_PER_S});
	}
	CHECK_EQ_INT(changes, 2);
	CHECK(dhcpclient_lease(client) == NULL);
	stop(client);
	scratch_leave();
}

/* A client that ends is started again, and its lease stays meanwhile; also over a new client. */
static void test_restarts(void)
{
	unsigned changes = 0;
	struct dhcpclient *client;

	begin();
	client = start(&dhcp4, &changes);
	CHECK(wait_for_starts(1));
	say_bound("BOUND", "10.0.0.5", 3600);
	CHECK(wait_for_changes(&changes, 1));
	say("exit 3");
	CHECK(wait_for_starts(2));
	say("kill -9 $$");
	CHECK(wait_for_starts(3));
	CHECK_EQ_STR(address_of(client), "10.0.0.5/24");
	stop(client);

	client = start(&dhcp4, &changes);
	CHECK_EQ_STR(address_of(client), "10.0.0.5/24");
	/* Before it is started, it is ended: nothing runs. */
	dhcpclient_forget(client);
	client = start(&dhcp4, &changes);
	CHECK(dhcpclient_lease(client) == NULL);
	stop(client);
	CHECK_EQ_INT(changes, 1);
	scratch_leave();
}

static void test_no_program(void)
{
	unsigned changes = 0;
	struct dhcpclient *client;

	begin();
	(void) scratch_shell("mv dhcpcd later");
	client = start(&dhcp4, &changes);
	(void) ev_run(loop_ev(loop), EVRUN_ONCE);
	(void) scratch_shell("mv later dhcpcd");
	CHECK(wait_for_starts(1));
	stop(client);
	settings.runtime_dir = "/nonexistent";
	CHECK_EQ_INT(
	    dhcpclient_new(loop, &settings, "eth0", &mac, &dhcp4, count_change, &changes, &client),
	    -ENOENT);
	scratch_leave();
}

struct process {
	pid_t pid;
};

/* Nobody may ever reap it. */
static bool is_gone(void *userdata)
{
	char path[64], state = 'Z';
	FILE *f;

	(void) snprintf(path, sizeof(path), "/proc/%d/stat", ((struct process *) userdata)->pid);
	f = fopen(path, "re");
	if (f == NULL)
		return true;
	if (fscanf(f, "%*d %*s %c", &state) != 1)
		state = 'Z';
	(void) fclose(f);
	return state == 'Z';
}

/* Whoever had a client was killed, and the client was not. */
static void leave_behind(unsigned *changes, struct process *ret_left)
{
	pid_t daemon = fork();
	FILE *f;

	if (daemon == 0) {
		ev_loop_fork(loop_ev(loop));
		(void) start(&dhcp4, changes);
		_exit(wait_for_starts(1) ? 0 : 1);
	}
	CHECK(daemon > 0 && wait_for_starts(1));
	/* The loop may have seen its end already. */
	CHECK(waitpid(daemon, NULL, 0) == daemon || errno == ECHILD);
	f = fopen("starts", "re");
	CHECK(f != NULL && fscanf(f, "%d", &ret_left->pid) == 1);
	(void) fclose(f);
	CHECK(!is_gone(ret_left));
}

static void test_left_behind(void)
{
	struct process left = {0};
	unsigned changes = 0;
	struct dhcpclient *client;
	struct dhcpclients *clients;

	/* The next one of the same link and family ends it. */
	begin();
	leave_behind(&changes, &left);
	client = start(&dhcp4, &changes);
	CHECK(wait_until(is_gone, &left));
	CHECK(wait_for_starts(2));
	stop(client);
	scratch_leave();

	/* Nobody wants DHCP any more: whoever starts then ends it, and keeps nothing of it. */
	begin();
	leave_behind(&changes, &left);
	(void) scratch_shell("touch run/dhcp4-eth0.lease run/dhcp6-eth0.100.conf run/dhcp4- run/else");
	clients = dhcpclients_new(loop, &settings, count_change, &changes);
	dhcpclients_want_none(clients);
	dhcpclients_forget_others(clients);
	CHECK(wait_until(is_gone, &left));
	(void) scratch_shell("test \"$(ls run | tr '\\n' ' ')\" = 'dhcp4- else '");
	dhcpclients_free(clients);
	scratch_leave();
}

static struct resolution *disputed(const struct config_dhcp *dhcp)
{
	struct resolution *resolution = NEW0(struct resolution);

	resolution->model = model_new();
	resolution->dhcps = NEW0(struct resolved_dhcp);
	resolution->dhcps[resolution->n_dhcps++] = (struct resolved_dhcp){.link = "eth0", .dhcp = dhcp};
	conf_strings_add(&resolution->disputed, "eth0");
	return resolution;
}

/* A link that two documents mean: what it was leased is renewed, by the next process as well. */
static void test_disputed(void)
{
	AUTO(resolution_free) struct resolution *resolution = disputed(&dhcp4);
	AUTO(model_free) struct model *have = model_new();
	struct link *link = model_add_link(have, "eth0", LINK_PHYSICAL);
	unsigned changes = 0;
	struct dhcpclient *client;
	struct dhcpclients *clients;
	struct dhcpclients_info info;

	link->up = true;
	link->mac = mac;
	begin();
	clients = dhcpclients_new(loop, &settings, count_change, &changes);
	dhcpclients_want(clients, resolution, have);
	CHECK_EQ_INT(dhcpclients_count(clients), 0);

	client = start(&dhcp4, &changes);
	CHECK(wait_for_starts(1));
	say_bound("BOUND", "10.0.0.5", 3600);
	CHECK(wait_for_changes(&changes, 1));
	stop(client);
	dhcpclients_want(clients, resolution, have);
	CHECK(wait_for_starts(2));
	CHECK_EQ_INT(dhcpclients_count(clients), 1);
	say_bound("RENEW", "10.0.0.5", 7200);
	CHECK(wait_for_changes(&changes, 2));

	/* The other document would have it told otherwise, and is not asked. */
	resolution->dhcps[0].dhcp = &(struct config_dhcp){
	    .family = AF_INET, .metric = 7, .ignore_hostname = true, .client_id = CONFIG_CLIENT_ID_MAC};
	dhcpclients_want(clients, resolution, have);
	dhcpclients_forget_others(clients);
	if (CHECK_EQ_INT(dhcpclients_count(clients), 1)) {
		dhcpclients_get(clients, 0, &info);
		CHECK(info.is_running && info.lease != NULL);
	}
	dhcpclients_free(clients);
	CHECK(wait_until(has_no_child, NULL));
	scratch_leave();
}

int main(void)
{
	dhcpworld_begin();
	test_lease_comes_and_goes();
	test_identities();
	test_lease_runs_out();
	test_restarts();
	test_no_program();
	test_left_behind();
	test_disputed();
	loop_free(loop);
	return check_result();
}
