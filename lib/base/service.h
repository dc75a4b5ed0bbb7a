/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What every daemon's process does alike: the command line, --check and --print, the runtime
 * directory, signals, the event loop, the control socket `<runtime_dir>/<program>.sock`, the port
 * for metrics, and the restart in place. A daemon adds a `struct service_ops`.
 *
 * `struct config` and `struct daemon` are the program's own; nothing here looks into them.
 *
 * In the order of calls: options, mode(); --check or --print end here. Then load(), create(), the
 * loop until loop_stop(), and, if wants_exec(), execve(2) of the same program with the same words.
 * TERM, INT, HUP and USR2 wait from before load() until the loop runs, and from its end until the
 * next image of the program handles them.
 */

#include "base/conf.h"
#include "base/control.h"
#include "base/loop.h"
#include "base/metricsport.h"

/* --- the command line: what all take (--config, --log-level, --version, --help), and a daemon's own
 * --- */

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

/* --- the daemon --- */

struct config;
struct daemon;
struct service;

/* A program of its own that lies in the folder of this one. */
struct service_helper {
	const char *program;
	struct options_own option; /* with which another path is given; `text` is not used */
};

struct service_ops {
	const char *program;
	const char *summary; /* as of struct options_about */
	const char *closing;
	struct options_own runtime_dir; /* `text` is not used */
	const char *runtime_dir_path;   /* unless the option says otherwise */
	bool needs_runtime_dir;         /* does not start without; else the socket's error ends it */
	const struct service_helper *helper; /* NULL: there is none */
	const struct options_own *own;       /* more options */

	/* What the program is this time instead of the daemon: the exit code, or -1. May be NULL. */
	int (*mode)(const struct service *service);
	/* The first act of the daemon, before a thread or a descriptor is made. May be NULL. */
	void (*begin)(void);

	/* --- the configuration; all NULL for a daemon that reads its own --- */
	int (*load)(const char *const *paths, size_t n_paths, conf_message_fn error, void *userdata,
	            struct config **ret_config);
	/* What --check and a reload try besides, and the start does not wait for. All errors told; 0
	 * or -errno. May be NULL. */
	int (*try)(const struct config *config, conf_message_fn error);
	/* What on this node speaks against it; also at the start, which may go better the next time. It
	 * may add notes. The same. */
	int (*look)(struct config *config, conf_message_fn error, void *userdata);
	const struct conf_strings *(*notes)(const struct config *config);
	void (*print)(const struct config *config, FILE *out);
	void (*print_checked)(const struct config *config); /* the last lines of --check */
	void (*free_config)(struct config *config);
	/* Where load() failed: what the program starts with nevertheless, or NULL. May be NULL. */
	struct config *(*load_other)(void);

	/* --- the daemon --- */
	/* Takes config, also on failure. 0; or -errno, which has been logged. */
	int (*create)(struct service *service, struct config *config, struct daemon **ret_daemon);
	void (*destroy)(struct daemon *daemon);
	void (*stop)(struct daemon *daemon);   /* TERM, INT; NULL: ends the loop */
	void (*reload)(struct daemon *daemon); /* HUP */
	void (*leave)(struct daemon *daemon);  /* USR2; may be NULL */
	void (*metrics)(struct metrics *m, void *daemon);
	/* After the loop's end: is the program to be executed again? NULL: never. */
	bool (*wants_exec)(const struct daemon *daemon);
	/* Does that itself, with the daemon still there; returns if it failed, and the loop goes on.
	 * NULL: the daemon is freed before. */
	void (*exec)(struct daemon *daemon);
};

/* Everything is borrowed until the end of the process. */
struct service {
	const struct service_ops *ops;
	struct options options; /* the paths of the configuration */
	const char *runtime_dir;
	const char *helper; /* the path of the program; NULL: there is none */
	char *self;         /* the path of the program that runs */
	char *const *argv;
	bool check, print;
	struct loop *loop;
	struct metricsport *metrics_port; /* before create(); closed: metricsport_set() opens it */
	struct control *control;          /* NULL before service_serve() */
	struct daemon *daemon;            /* NULL before create() has returned */
};

/* All of main(). The exit code. */
int service_main(const struct service_ops *ops, int argc, char **argv);

/* The folder of `service->self` and a name. The caller frees. */
char *service_beside(const struct service *service, const char *name);

/* Opens the control socket, with `metrics` among its commands. 0 or -errno. */
int service_serve(struct service *service, const struct control_command *commands,
                  size_t n_commands, void *userdata);

/* For a reload: the configuration as it is on disk, tried. -errno is logged, and the running one
 * stays in force. */
int service_load_next(const struct service *service, struct config **ret_config);

/* For a mode that prints something of the configuration: what `print` writes to standard output, if
 * there are no errors. The exit code. */
int service_print(const struct service *service,
                  void (*print)(const struct config *config, FILE *out));
