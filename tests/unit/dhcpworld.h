/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For tests of a DHCP client that is a process: the settings of one, and a loop that is turned
 * until something is so. The test runs in the root of the tree, where the hook is.
 */

#include <errno.h>
#include <sys/wait.h>

#include "base/mono.h"
#include "netconf/dhcp/dhcpclients.h"
#include "tests/unit/netns.h"
#include "tests/unit/scratch.h"

#define LONG_S 120. /* for what comes at once on a machine that is not busy */

static struct loop *loop;
static char hook[4096];
static const struct mac mac = {{2, 0, 0, 0, 0, 0x0c}};
static const struct config_dhcp dhcp4 = {
    .family = AF_INET, .metric = 1024, .client_id = CONFIG_CLIENT_ID_MAC};
static inline UNUSED void count_change(void *userdata)
{
	(*(unsigned *) userdata)++;
}

/* --- waiting for a state --- */

struct waiting {
	bool (*holds)(void *userdata);
	void *userdata;
	bool held;
	double end;
};

static void wait_cb(struct ev_loop *ev, ev_timer *w, int revents UNUSED)
{
	struct waiting *waiting = w->data;

	waiting->held = waiting->holds(waiting->userdata);
	if (waiting->held || ev_time() > waiting->end)
		ev_break(ev, EVBREAK_ONE);
}

static inline UNUSED bool wait_until(bool (*holds)(void *userdata), void *userdata)
{
	struct waiting waiting = {holds, userdata, false, ev_time() + LONG_S};
	ev_timer timer;

	ev_timer_init(&timer, wait_cb, 0.01, 0.01);
	timer.data = &waiting;
	ev_timer_start(loop_ev(loop), &timer);
	ev_run(loop_ev(loop), 0);
	ev_timer_stop(loop_ev(loop), &timer);
	return waiting.held;
}

static struct dhcpclient_settings settings;
static char runtime_dir[128];

/* In a directory of its own, whatever `program` it is; the hook is the real one. */
static inline UNUSED void dhcpworld_enter(const char *program)
{
	scratch_enter();
	(void) scratch_shell("mkdir run");
	(void) snprintf(runtime_dir, sizeof(runtime_dir), "%s/run", scratch_dir);
	settings = (struct dhcpclient_settings){program, hook, runtime_dir};
}

static inline UNUSED struct dhcpclient *start(const struct config_dhcp *dhcp, unsigned *changes)
{
	struct dhcpclient *client = NULL;

	CHECK_EQ_INT(
	    dhcpclient_new(loop, &settings, "eth0", &mac, dhcp, count_change, changes, &client), 0);
	return client;
}

/* All have ended and been reaped, by the loop. */
static inline UNUSED bool has_no_child(void *userdata UNUSED)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
}

static inline UNUSED void dhcpworld_begin(void)
{
	char *path = realpath("netconf/dhcp/dhcp-hook", NULL);

	if (path == NULL)
		netns_die("find netconf/dhcp/dhcp-hook: run this in the root of the tree");
	(void) snprintf(hook, sizeof(hook), "%s", path);
	free(path);
	CHECK_EQ_INT(loop_new(&loop), 0);
}
