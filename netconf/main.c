/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netconf: the network as a configuration says. This file is the command line and the choice of
 * what the program is this time; the work is done elsewhere.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/macro.h"
#include "netconf/config.h"
#include "netconf/kernel.h"
#include "netconf/offline.h"
#include "netconf/once.h"

#define CONFIG_PATHS_MAX 16
#define EXIT_CONFIG 78 /* EX_CONFIG of sysexits.h: starting again would not help */

enum mode {
	MODE_NONE,
	MODE_ONCE,
	MODE_CHECK,
	MODE_PLAN,
	MODE_CONVERT,
};

struct options {
	const char *config_paths[CONFIG_PATHS_MAX];
	size_t n_config_paths;
	enum mode mode;
	bool json;
};

static void usage(FILE *to)
{
	(void) fputs(
	    "Usage: netconf [OPTION]... --once | --check | --plan | --convert\n"
	    "Makes the network what the configuration says.\n\n"
	    "  -c, --config PATH         file, or directory of *.yaml files; may be repeated\n"
	    "                            (default: /etc/fairlead/config.yaml, /etc/fairlead/conf.d)\n"
	    "      --once                apply it, read back, and exit: for the boot\n"
	    "      --check               read the configuration, print every error, and exit\n"
	    "      --plan                print what applying it would do, and exit\n"
	    "      --convert             print it in the style of many documents, and exit\n"
	    "      --json                with --plan: an object a line\n"
	    "      --log-level LEVEL     error, warning, notice, info (default) or debug\n"
	    "      --version             print the version and exit\n"
	    "  -h, --help                print this and exit\n\n"
	    "See netconf(8).\n",
	    to);
}

static int set_mode(struct options *o, enum mode mode)
{
	if (o->mode != MODE_NONE) {
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

enum long_option { OPT_MODE = 256, OPT_JSON = 512, OPT_LOG_LEVEL, OPT_VERSION };

static const struct option option_table[] = {
    {"config", required_argument, NULL, 'c'},
    {"once", no_argument, NULL, OPT_MODE + MODE_ONCE},
    {"check", no_argument, NULL, OPT_MODE + MODE_CHECK},
    {"plan", no_argument, NULL, OPT_MODE + MODE_PLAN},
    {"convert", no_argument, NULL, OPT_MODE + MODE_CONVERT},
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

static void log_error_cb(const char *message, void *userdata UNUSED)
{
	log_error("config_error", "reason=\"%s\"", message);
}

static int run_once(const struct options *o)
{
	AUTO(config_free) struct config *config = NULL;
	AUTO(loop_free) struct loop *loop = NULL;
	AUTO(kernel_free) struct kernel *kernel = NULL;
	struct once_result result;
	int r;

	if (config_load(o->config_paths, o->n_config_paths, log_error_cb, NULL, &config) < 0)
		return EXIT_CONFIG;
	for (size_t i = 0; i < config->notes.n; i++)
		log_info("config_note", "reason=\"%s\"", config->notes.items[i]);
	r = loop_new(&loop);
	if (r == 0)
		r = kernel_new(loop_ev(loop), &kernel);
	if (r < 0) {
		(void) log_error_errno(r, "start_failed", "reason=\"cannot speak to the kernel\"");
		return EXIT_FAILURE;
	}
	once_apply(loop, kernel, config, &result);
	return result.r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	struct options o = {0};
	struct offline offline = {.paths = o.config_paths};
	int r;

	r = parse_options(argc, argv, &o);
	if (r != 0)
		return r < 0 ? 2 : EXIT_SUCCESS;
	offline.n_paths = o.n_config_paths;
	offline.json = o.json;
	switch (o.mode) {
	case MODE_ONCE:
		return run_once(&o);
	case MODE_CHECK:
		return offline_check(&offline);
	case MODE_PLAN:
		return offline_plan(&offline);
	case MODE_CONVERT:
		return offline_convert(&offline);
	case MODE_NONE:
		break;
	}
	usage(stderr);
	return 2;
}
