/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netconf: the network as a configuration says. This file is the command line and the choice of
 * what the program is this time; the work is done elsewhere.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/macro.h"
#include "base/conf.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/options.h"
#include "netconf/config/config.h"
#include "netconf/daemon.h"
#include "netconf/change/guard.h"
#include "netconf/offline.h"
#include "netconf/once.h"

#define RUNTIME_DIR "/run/fairlead/netconf"
#define DHCP_CLIENT "dhcpcd"          /* in PATH */
#define DHCP_HOOK "netconf-dhcp-hook" /* beside our own */
#define PROBE_PROGRAM "netconf-probe" /* the same */
/* A boot is not held up longer than that by hardware that is broken. */
#define WAIT_MAX_US (30 * US_PER_S)
#define STATE_DIR "/var/lib/fairlead/netconf"

struct settings {
	struct options common;
	const char *runtime_dir;
	const char *state_dir; /* NULL: as the configuration says */
	const char *guarded;   /* the change's id */
	const char *wait;      /* a duration */
	int64_t wait_us;
	bool once, check, describe, print, plan, convert, json;
};

/* 0 to go on; 1 when all is said; -EINVAL on bad usage, which is reported. */
static int parse_options(int argc, char **argv, struct settings *s)
{
	const struct options_own own[] = {
	    {"runtime-dir", "DIR", "control socket (default: " RUNTIME_DIR ")", &s->runtime_dir, NULL},
	    {"state-dir", "DIR",
	     "what must not be forgotten (default: the policy's stateDir,\n" STATE_DIR ")",
	     &s->state_dir, NULL},
	    {"once", NULL, "apply it, read back, and exit: for the boot", NULL, &s->once},
	    {"wait", "DURATION", "with --once: so long for links that are missing (default: 30s)",
	     &s->wait, NULL},
	    {"check", NULL, "read the configuration, print every error, and exit", NULL, &s->check},
	    {"print", NULL, "print it with all that it leaves to defaults, and exit", NULL, &s->print},
	    {"plan", NULL, "print what applying it would do, and exit", NULL, &s->plan},
	    {"convert", NULL, "print it in the style of many documents, and exit", NULL, &s->convert},
	    {"describe", NULL, "print the network as it is, as a configuration, and exit", NULL,
	     &s->describe},
	    {"json", NULL, "with --plan: an object a line", NULL, &s->json},
	    {"guard", "ID", "watch a change; started by the daemon", &s->guarded, NULL},
	    {0},
	};
	const struct options_about about = {
	    .program = "netconf",
	    .summary =
	        "Makes the network what the configuration says. Without --once, --check, --print,\n"
	        "--plan, --convert or --describe: the daemon, which changes it when it is asked to, "
	        "and\n"
	        "back when nobody confirms.",
	    .closing = "See netconf(8).",
	    .own = own,
	};
	int r = options_parse(&about, argc, argv, &s->common);

	if (r == 0 &&
	    s->once + s->check + s->describe + s->print + s->plan + s->convert + (s->guarded != NULL) >
	        1) {
		(void) fputs("netconf: one thing at a time\n", stderr);
		return -EINVAL;
	}
	if (r == 0 && s->wait != NULL &&
	    (conf_parse_duration(s->wait, &s->wait_us) < 0 || s->wait_us < 0 ||
	     s->wait_us > WAIT_MAX_US)) {
		(void) fprintf(stderr, "netconf: --wait: not a duration of at most 30s: '%s'\n", s->wait);
		return -EINVAL;
	}
	return r;
}

/* What the files say, if they can be read; a daemon must start with files that have errors, too. */
static char *find_state_dir(const struct settings *s)
{
	AUTO(config_free) struct config *config = NULL;

	if (s->state_dir != NULL)
		return xstrdup(s->state_dir);
	if (config_load(s->common.config_paths, s->common.n_config_paths, NULL, NULL, &config) < 0)
		return xstrdup(STATE_DIR);
	return xstrdup(config->policy.state_dir);
}

static int run_once(const struct settings *s)
{
	AUTO(free) char *state_dir = find_state_dir(s);
	const struct once_start start = {
	    .paths = s->common.config_paths,
	    .n_paths = s->common.n_config_paths,
	    .state_dir = state_dir,
	    .runtime_dir = s->runtime_dir,
	    .wait_us = s->wait_us,
	};
	int r = once_run(&start);

	if (r == -EINVAL)
		return EXIT_CONFIG;
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* --- the daemon --- */

static char *beside(const char *self, const char *name)
{
	return xasprintf("%.*s%s", (int) (strrchr(self, '/') + 1 - self), self, name);
}

static void on_stop(int signo, void *userdata)
{
	log_info("signal", "signal=%s", strsignal(signo));
	loop_stop(userdata, EXIT_SUCCESS);
}

/* Nothing is applied that nobody asked for; but somebody may want to know. */
static void on_reload(int signo UNUSED, void *userdata)
{
	log_notice(
	    "reload",
	    "reason=\"NodeConfig is read; the network is changed by 'fairlead net apply' only\"");
	daemon_reload(userdata);
}

static int run_daemon(const struct settings *s)
{
	AUTO(free) char *state_dir = find_state_dir(s);
	AUTO(free) char *self = realpath("/proc/self/exe", NULL);
	AUTO(free) char *hook = self != NULL ? beside(self, DHCP_HOOK) : NULL;
	AUTO(free) char *probe = self != NULL ? beside(self, PROBE_PROGRAM) : NULL;
	AUTO(free) char *runtime_dir = NULL;
	struct daemon_start start = {
	    .paths = s->common.config_paths,
	    .n_paths = s->common.n_config_paths,
	    .state_dir = state_dir,
	    .program = self,
	    .dhcp_client = DHCP_CLIENT,
	    .dhcp_hook = hook,
	    .probe_program = probe,
	};
	AUTO(loop_free) struct loop *loop = NULL;
	AUTO(daemon_free) struct daemon *daemon = NULL;
	int r;

	if (self == NULL) {
		(void) fputs("netconf: /proc is needed\n", stderr);
		return EXIT_FAILURE;
	}
	/* What follows from that is decided where the control socket is opened. */
	if (mkdir(s->runtime_dir, 0755) < 0 && errno != EEXIST)
		(void) log_error_errno(-errno, "runtime_dir_failed", "dir=%s", s->runtime_dir);
	/* Clients run elsewhere. */
	runtime_dir = realpath(s->runtime_dir, NULL);
	start.runtime_dir = runtime_dir != NULL ? runtime_dir : s->runtime_dir;
	r = loop_new(&loop);
	if (r < 0)
		return EXIT_FAILURE;
	loop_on_signal(loop, SIGTERM, on_stop, loop);
	loop_on_signal(loop, SIGINT, on_stop, loop);
	log_info("starting", "version=%s state=%s", FAIRLEAD_VERSION, state_dir);
	if (daemon_new(loop, &start, &daemon) < 0)
		return EXIT_FAILURE;
	loop_on_signal(loop, SIGHUP, on_reload, daemon);
	return loop_run(loop);
}

static int run_guard(const struct settings *s)
{
	if (s->state_dir == NULL) {
		(void) fputs("netconf: --guard needs --state-dir\n", stderr);
		return EXIT_USAGE;
	}
	return guard_run(s->state_dir, s->guarded);
}

int main(int argc, char **argv)
{
	struct settings s = {.runtime_dir = RUNTIME_DIR, .wait_us = WAIT_MAX_US};
	struct offline offline = {.paths = s.common.config_paths};
	int r;

	r = parse_options(argc, argv, &s);
	if (r != 0)
		return r < 0 ? EXIT_USAGE : EXIT_SUCCESS;
	offline.n_paths = s.common.n_config_paths;
	offline.json = s.json;
	offline.state_dir = s.state_dir;
	offline.runtime_dir = s.runtime_dir;
	if (s.guarded != NULL)
		return run_guard(&s);
	if (s.once)
		return run_once(&s);
	if (s.check)
		return offline_check(&offline);
	if (s.print)
		return offline_print(&offline);
	if (s.plan)
		return offline_plan(&offline);
	if (s.convert)
		return offline_convert(&offline);
	if (s.describe)
		return offline_describe();
	return run_daemon(&s);
}
