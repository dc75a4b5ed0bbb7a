/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netconf: the network as a configuration says. This file is the command line and the choice of
 * what the program is this time; the work is done elsewhere.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/macro.h"
#include "base/mem.h"
#include "netconf/config.h"
#include "netconf/daemon.h"
#include "netconf/guard.h"
#include "netconf/offline.h"
#include "netconf/once.h"

#define RUNTIME_DIR "/run/fairlead/netconf"
#define STATE_DIR "/var/lib/fairlead/netconf"
#define CONFIG_PATHS_MAX 16
#define EXIT_CONFIG 78 /* EX_CONFIG of sysexits.h: starting again would not help */

enum mode {
	MODE_DAEMON,
	MODE_GUARD,
	MODE_ONCE,
	MODE_CHECK,
	MODE_PLAN,
	MODE_CONVERT,
};

struct options {
	const char *config_paths[CONFIG_PATHS_MAX];
	size_t n_config_paths;
	const char *runtime_dir;
	const char *state_dir; /* NULL: as the configuration says */
	const char *guarded;   /* the change's id */
	enum mode mode;
	bool json;
};

static void usage(FILE *to)
{
	(void) fputs(
	    "Usage: netconf [OPTION]... [--once | --check | --plan | --convert]\n"
	    "Makes the network what the configuration says. Without one of these: the daemon, which\n"
	    "changes it when it is asked to, and back when nobody confirms.\n\n"
	    "  -c, --config PATH         file, or directory of *.yaml files; may be repeated\n"
	    "                            (default: /etc/fairlead/config.yaml, /etc/fairlead/conf.d)\n"
	    "      --runtime-dir DIR     control socket (default: " RUNTIME_DIR ")\n"
	    "      --state-dir DIR       what must not be forgotten (default: the policy's stateDir,\n"
	    "                            " STATE_DIR ")\n"
	    "      --once                apply it, read back, and exit: for the boot\n"
	    "      --check               read the configuration, print every error, and exit\n"
	    "      --plan                print what applying it would do, and exit\n"
	    "      --convert             print it in the style of many documents, and exit\n"
	    "      --json                with --plan: an object a line\n"
	    "      --guard ID            watch a change; started by the daemon\n"
	    "      --log-level LEVEL     error, warning, notice, info (default) or debug\n"
	    "      --version             print the version and exit\n"
	    "  -h, --help                print this and exit\n\n"
	    "See netconf(8).\n",
	    to);
}

static int set_mode(struct options *o, enum mode mode)
{
	if (o->mode != MODE_DAEMON) {
		(void) fputs("netconf: one thing at a time\n", stderr);
		return -EINVAL;
	}
	o->mode = mode;
	return 0;
}

static int set_log_level(const char *word)
{
	enum log_level level;

	if (log_level_parse(word, &level) < 0) {
		(void) fprintf(stderr, "netconf: --log-level: no such level: '%s'\n", word);
		return -EINVAL;
	}
	log_set_level(level);
	return 0;
}

static int add_path(struct options *o, const char *path)
{
	if (o->n_config_paths == CONFIG_PATHS_MAX) {
		(void) fprintf(stderr, "netconf: more than %d --config\n", CONFIG_PATHS_MAX);
		return -EINVAL;
	}
	o->config_paths[o->n_config_paths++] = path;
	return 0;
}

enum long_option {
	OPT_MODE = 256,
	OPT_JSON = 512,
	OPT_RUNTIME_DIR,
	OPT_STATE_DIR,
	OPT_GUARD,
	OPT_LOG_LEVEL,
	OPT_VERSION
};

static const struct option option_table[] = {
    {"config", required_argument, NULL, 'c'},
    {"once", no_argument, NULL, OPT_MODE + MODE_ONCE},
    {"check", no_argument, NULL, OPT_MODE + MODE_CHECK},
    {"plan", no_argument, NULL, OPT_MODE + MODE_PLAN},
    {"convert", no_argument, NULL, OPT_MODE + MODE_CONVERT},
    {"runtime-dir", required_argument, NULL, OPT_RUNTIME_DIR},
    {"state-dir", required_argument, NULL, OPT_STATE_DIR},
    {"guard", required_argument, NULL, OPT_GUARD},
    {"json", no_argument, NULL, OPT_JSON},
    {"log-level", required_argument, NULL, OPT_LOG_LEVEL},
    {"version", no_argument, NULL, OPT_VERSION},
    {"help", no_argument, NULL, 'h'},
    {0},
};

/* 0 to go on; 1 when all is said; -EINVAL on bad usage, which is reported. */
static int take_option(struct options *o, int option)
{
	switch (option) {
	case 'c':
		return add_path(o, optarg);
	case OPT_JSON:
		o->json = true;
		return 0;
	case OPT_RUNTIME_DIR:
		o->runtime_dir = optarg;
		return 0;
	case OPT_STATE_DIR:
		o->state_dir = optarg;
		return 0;
	case OPT_GUARD:
		o->guarded = optarg;
		return set_mode(o, MODE_GUARD);
	case OPT_LOG_LEVEL:
		return set_log_level(optarg);
	case OPT_VERSION:
		(void) printf("netconf (fairlead) %s\n", FAIRLEAD_VERSION);
		return 1;
	case 'h':
		usage(stdout);
		return 1;
	case '?':
		(void) fputs("Try 'netconf --help'.\n", stderr);
		return -EINVAL;
	default:
		return set_mode(o, (enum mode)(option - OPT_MODE));
	}
}

static int parse_options(int argc, char **argv, struct options *o)
{
	int option, r;

	while ((option = getopt_long(argc, argv, "c:h", option_table, NULL)) != -1) {
		r = take_option(o, option);
		if (r != 0)
			return r;
	}
	if (optind < argc) {
		(void) fprintf(stderr, "netconf: unexpected argument: '%s'\n", argv[optind]);
		return -EINVAL;
	}
	return 0;
}

/* What the files say, if they can be read; a daemon must start with files that have errors, too. */
static char *find_state_dir(const struct options *o)
{
	AUTO(config_free) struct config *config = NULL;

	if (o->state_dir != NULL)
		return xstrdup(o->state_dir);
	if (config_load(o->config_paths, o->n_config_paths, NULL, NULL, &config) < 0)
		return xstrdup(STATE_DIR);
	return xstrdup(config->policy.state_dir);
}

static int run_once(const struct options *o)
{
	AUTO(free) char *state_dir = find_state_dir(o);
	const struct once_start start = {
	    .paths = o->config_paths,
	    .n_paths = o->n_config_paths,
	    .state_dir = state_dir,
	};
	int r = once_run(&start);

	if (r == -EINVAL)
		return EXIT_CONFIG;
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* --- the daemon --- */

static void on_stop(int signo, void *userdata)
{
	log_info("signal", "signal=%s", strsignal(signo));
	loop_stop(userdata, EXIT_SUCCESS);
}

/* Nothing is applied that nobody asked for; but somebody may want to know. */
static void on_reload(int signo UNUSED, void *userdata UNUSED)
{
	log_notice("reload", "reason=\"the network is changed by 'fairlead net apply' only\"");
}

static int run_daemon(const struct options *o)
{
	AUTO(free) char *state_dir = find_state_dir(o);
	AUTO(free) char *self = realpath("/proc/self/exe", NULL);
	const struct daemon_start start = {
	    .paths = o->config_paths,
	    .n_paths = o->n_config_paths,
	    .runtime_dir = o->runtime_dir,
	    .state_dir = state_dir,
	    .program = self,
	};
	AUTO(loop_free) struct loop *loop = NULL;
	AUTO(daemon_free) struct daemon *daemon = NULL;
	int r;

	if (self == NULL) {
		(void) fputs("netconf: /proc is needed\n", stderr);
		return EXIT_FAILURE;
	}
	/* What follows from that is decided where the control socket is opened. */
	if (mkdir(o->runtime_dir, 0755) < 0 && errno != EEXIST)
		(void) log_error_errno(-errno, "runtime_dir_failed", "dir=%s", o->runtime_dir);
	r = loop_new(&loop);
	if (r < 0)
		return EXIT_FAILURE;
	loop_on_signal(loop, SIGTERM, on_stop, loop);
	loop_on_signal(loop, SIGINT, on_stop, loop);
	loop_on_signal(loop, SIGHUP, on_reload, NULL);
	log_info("starting", "version=%s state=%s", FAIRLEAD_VERSION, state_dir);
	if (daemon_new(loop, &start, &daemon) < 0)
		return EXIT_FAILURE;
	return loop_run(loop);
}

static int run_guard(const struct options *o)
{
	if (o->state_dir == NULL) {
		(void) fputs("netconf: --guard needs --state-dir\n", stderr);
		return 2;
	}
	return guard_run(o->state_dir, o->guarded);
}

int main(int argc, char **argv)
{
	struct options o = {.runtime_dir = RUNTIME_DIR};
	struct offline offline = {.paths = o.config_paths};
	int r;

	r = parse_options(argc, argv, &o);
	if (r != 0)
		return r < 0 ? 2 : EXIT_SUCCESS;
	offline.n_paths = o.n_config_paths;
	offline.json = o.json;
	offline.state_dir = o.state_dir;
	switch (o.mode) {
	case MODE_DAEMON:
		return run_daemon(&o);
	case MODE_GUARD:
		return run_guard(&o);
	case MODE_ONCE:
		return run_once(&o);
	case MODE_CHECK:
		return offline_check(&offline);
	case MODE_PLAN:
		return offline_plan(&offline);
	case MODE_CONVERT:
		return offline_convert(&offline);
	}
	return 2;
}
