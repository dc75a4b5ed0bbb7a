/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The command line of a daemon: what all of them take (--config, --log-level, --version, --help),
 * and its own options by a table. Everything points into argv or to what the caller gave; nothing
 * is to be freed.
 */
#include <stdbool.h>
#include <stddef.h>

#define OPTIONS_CONFIG_PATHS_MAX 16
#define OPTIONS_OWN_MAX 16

/* The exit status for a wrong command line. */
#define EXIT_USAGE 2
/* For a wrong configuration: starting again would not help. EX_CONFIG of sysexits.h; the units name
 * it in RestartPreventExitStatus=. */
#define EXIT_CONFIG 78

struct options_own {
	const char *name;  /* without the dashes; NULL ends the table */
	const char *value; /* what --help calls its value; NULL: it takes none */
	const char *help;  /* a line; after a '\n' another one */
	const char **text; /* where the value goes, if it takes one */
	bool *flag;        /* what becomes true, if not */
};

struct options_about {
	const char *program;
	const char *summary;           /* what it does, a line */
	const char *closing;           /* what --help ends with, lines */
	const struct options_own *own; /* at most OPTIONS_OWN_MAX */
};

/* What the common ones said. */
struct options {
	const char *config_paths[OPTIONS_CONFIG_PATHS_MAX]; /* in the order given */
	size_t n_config_paths;
};

/* 0 to go on; 1 when all is said (--help, --version); -EINVAL on bad usage, which is on stderr. The
 * log level is in force afterwards. */
int options_parse(const struct options_about *about, int argc, char **argv,
                  struct options *ret_options);
