/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netconf: the network as a configuration says. This file is the command line and the choice of
 * what the program is this time; the work is done elsewhere.
 */
#include <errno.h>
#include <stdio.h>

#include "base/conf.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/service.h"
#include "netconf/change/guard.h"
#include "netconf/config/config.h"
#include "netconf/daemon.h"
#include "netconf/offline.h"
#include "netconf/once.h"

#define RUNTIME_DIR "/run/fairlead/netconf"
/* A boot is not held up longer than that by hardware that is broken. */
#define WAIT_MAX_US (30 * US_PER_S)
#define STATE_DIR "/var/lib/fairlead/netconf"

static struct {
	const char *state_dir; /* NULL: as the configuration says */
	const char *guarded;   /* the change's id */
	const char *wait;      /* a duration */
	bool once, check, describe, print, plan, convert, json;
} settings;

static const struct options_own own[] = {
    {"state-dir", "DIR",
     "what must not be forgotten (default: the policy's stateDir,\n" STATE_DIR ")",
     &settings.state_dir, NULL},
    {"once", NULL, "apply it, read back, and exit: for the boot", NULL, &settings.once},
    {"wait", "DURATION", "with --once: so long for links that are missing (default: 30s)",
     &settings.wait, NULL},
    {"check", NULL, "read the configuration, print every error, and exit", NULL, &settings.check},
    {"print", NULL, "print it with all that it leaves to defaults, and exit", NULL,
     &settings.print},
    {"plan", NULL, "print what applying it would do, and exit", NULL, &settings.plan},
    {"convert", NULL, "print it in the style of many documents, and exit", NULL, &settings.convert},
    {"describe", NULL, "print the network as it is, as a configuration, and exit", NULL,
     &settings.describe},
    {"json", NULL, "with --plan: an object a line", NULL, &settings.json},
    {"guard", "ID", "watch a change; started by the daemon", &settings.guarded, NULL},
    {0},
};

/* What the files say, if they can be read; a daemon must start with files that have errors, too. */
static char *find_state_dir(const struct service *service)
{
	AUTO(config_free) struct config *config = NULL;

	if (settings.state_dir != NULL)
		return xstrdup(settings.state_dir);
	if (config_load(service->options.config_paths, service->options.n_config_paths, NULL, NULL,
	                &config) < 0)
		return xstrdup(STATE_DIR);
	return xstrdup(config->policy.state_dir);
}

static int run_once(const struct service *service)
{
	AUTO(free) char *state_dir = find_state_dir(service);
	struct once_start start = {
	    .paths = service->options.config_paths,
	    .n_paths = service->options.n_config_paths,
	    .state_dir = state_dir,
	    .runtime_dir = service->runtime_dir,
	    .wait_us = WAIT_MAX_US,
	};
	int r;

	if (settings.wait != NULL)
		(void) conf_parse_duration(settings.wait, &start.wait_us);
	r = once_run(&start);
	if (r == -EINVAL)
		return EXIT_CONFIG;
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int run_guard(void)
{
	if (settings.state_dir == NULL) {
		(void) fputs("netconf: --guard needs --state-dir\n", stderr);
		return EXIT_USAGE;
	}
	return guard_run(settings.state_dir, settings.guarded);
}

/* Reported if not. */
static bool options_are_right(void)
{
	int64_t wait_us = 0;

	if (settings.once + settings.check + settings.describe + settings.print + settings.plan +
	        settings.convert + (settings.guarded != NULL) >
	    1) {
		(void) fputs("netconf: one thing at a time\n", stderr);
		return false;
	}
	if (settings.wait != NULL && (conf_parse_duration(settings.wait, &wait_us) < 0 || wait_us < 0 ||
	                              wait_us > WAIT_MAX_US)) {
		(void) fprintf(stderr, "netconf: --wait: not a duration of at most 30s: '%s'\n",
		               settings.wait);
		return false;
	}
	return true;
}

static int mode(const struct service *service)
{
	const struct offline offline = {
	    .paths = service->options.config_paths,
	    .n_paths = service->options.n_config_paths,
	    .json = settings.json,
	    .state_dir = settings.state_dir,
	    .runtime_dir = service->runtime_dir,
	};

	if (!options_are_right())
		return EXIT_USAGE;
	if (settings.guarded != NULL)
		return run_guard();
	if (settings.once)
		return run_once(service);
	if (settings.check)
		return offline_check(&offline);
	if (settings.print)
		return offline_print(&offline);
	if (settings.plan)
		return offline_plan(&offline);
	if (settings.convert)
		return offline_convert(&offline);
	return settings.describe ? offline_describe() : -1;
}

static int create(struct service *service, struct config *config UNUSED, struct daemon **ret_daemon)
{
	return daemon_new(service, find_state_dir(service), ret_daemon);
}

static const struct service_ops ops = {
    .program = "netconf",
    .summary =
        "Makes the network what the configuration says. Without --once, --check, --print,\n"
        "--plan, --convert or --describe: the daemon, which changes it when it is asked to, and\n"
        "back when nobody confirms.",
    .closing = "See netconf(8).",
    .runtime_dir = {.name = "runtime-dir",
                    .value = "DIR",
                    .help = "control socket (default: " RUNTIME_DIR ")"},
    .runtime_dir_path = RUNTIME_DIR,
    .own = own,
    .mode = mode,
    .create = create,
    .destroy = daemon_free,
    .reload = daemon_reload,
    .metrics = daemon_metrics,
};

int main(int argc, char **argv)
{
	return service_main(&ops, argc, argv);
}
