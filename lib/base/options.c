/* SPDX-License-Identifier: Apache-2.0 */
/*
 * getopt_long(3) over a table that is put together from the options of all daemons and those of
 * one.
 */
#include "base/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/macro.h"

#define HELP_COLUMN 28

enum { OPT_OWN = 256, OPT_LOG_LEVEL = OPT_OWN + OPTIONS_OWN_MAX, OPT_VERSION };

static const struct option common[] = {
    {"config", required_argument, NULL, 'c'},
    {"log-level", required_argument, NULL, OPT_LOG_LEVEL},
    {"version", no_argument, NULL, OPT_VERSION},
    {"help", no_argument, NULL, 'h'},
};

static size_t count_own(const struct options_own *own)
{
	size_t n = 0;

	while (own[n].name != NULL)
		n++;
	return n;
}

/* --- --help --- */

static void print_option(const char *lead, const struct options_own *o)
{
	int column = printf("  %s--%s%s%s", lead, o->name, o->value != NULL ? " " : "",
	                    o->value != NULL ? o->value : "");

	for (const char *line = o->help;; column = 0) {
		const char *end = strchrnul(line, '\n');

		(void) printf("%*s%.*s\n", HELP_COLUMN - column, "", (int) (end - line), line);
		if (*end == '\0')
			return;
		line = end + 1;
	}
}

static void print_help(const struct options_about *about)
{
	(void) printf("Usage: %s [OPTION]...\n%s\n\n", about->program, about->summary);
	print_option("-c, ",
	             &(struct options_own){"config", "PATH",
	                                   "file, or directory of *.yaml files; may be repeated\n"
	                                   "(default: /etc/fairlead/config.yaml, /etc/fairlead/conf.d)",
	                                   NULL, NULL});
	for (const struct options_own *own = about->own; own->name != NULL; own++)
		print_option("    ", own);
	print_option("    ", &(struct options_own){"log-level", "LEVEL",
	                                           "error, warning, notice, info (default) or debug",
	                                           NULL, NULL});
	print_option("    ",
	             &(struct options_own){"version", NULL, "print the version and exit", NULL, NULL});
	print_option("-h, ", &(struct options_own){"help", NULL, "print this and exit", NULL, NULL});
	(void) printf("\n%s\n", about->closing);
}

/* --- taking --- */

static int add_path(const struct options_about *about, const char *path, struct options *options)
{
	if (options->n_config_paths == OPTIONS_CONFIG_PATHS_MAX) {
		(void) fprintf(stderr, "%s: more than %d --config\n", about->program,
		               OPTIONS_CONFIG_PATHS_MAX);
		return -EINVAL;
	}
	options->config_paths[options->n_config_paths++] = path;
	return 0;
}

static int set_log_level(const struct options_about *about, const char *word)
{
	enum log_level level;

	if (log_level_parse(word, &level) < 0) {
		(void) fprintf(stderr, "%s: --log-level: no such level: '%s'\n", about->program, word);
		return -EINVAL;
	}
	log_set_level(level);
	return 0;
}

static int take(const struct options_about *about, int option, struct options *options)
{
	const struct options_own *own;

	switch (option) {
	case 'c':
		return add_path(about, optarg, options);
	case OPT_LOG_LEVEL:
		return set_log_level(about, optarg);
	case OPT_VERSION:
		(void) printf("%s (fairlead) %s\n", about->program, FAIRLEAD_VERSION);
		return 1;
	case 'h':
		print_help(about);
		return 1;
	case '?':
		(void) fprintf(stderr, "Try '%s --help'.\n", about->program);
		return -EINVAL;
	default:
		own = &about->own[option - OPT_OWN];
		if (own->value != NULL)
			*own->text = optarg;
		else
			*own->flag = true;
		return 0;
	}
}

int options_parse(const struct options_about *about, int argc, char **argv,
                  struct options *ret_options)
{
	struct option table[ARRAY_SIZE(common) + OPTIONS_OWN_MAX + 1] = {0};
	size_t n_own = MIN(count_own(about->own), (size_t) OPTIONS_OWN_MAX);
	int option, r;

	*ret_options = (struct options){0};
	memcpy(table, common, sizeof(common));
	for (size_t i = 0; i < n_own; i++) {
		table[ARRAY_SIZE(common) + i] = (struct option){
		    .name = about->own[i].name,
		    .has_arg = about->own[i].value != NULL ? required_argument : no_argument,
		    .val = OPT_OWN + (int) i,
		};
	}
	while ((option = getopt_long(argc, argv, "c:h", table, NULL)) != -1) {
		r = take(about, option, ret_options);
		if (r != 0)
			return r;
	}
	if (optind < argc) {
		(void) fprintf(stderr, "%s: unexpected argument: '%s'\n", about->program, argv[optind]);
		return -EINVAL;
	}
	return 0;
}
