/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prism: a local, health-aware TCP balancer in front of the Kubernetes API servers. This file is
 * the command line, the signals and the order of starting and ending; the work is daemon.c's.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/options.h"
#include "prism/config.h"
#include "prism/daemon.h"
#include "prism/handover.h"

#define RUNTIME_DIR "/run/fairlead/prism"
#define PROBE_PROGRAM "prism-probe" /* beside our own */

struct settings {
	struct options common;
	const char *runtime_dir;
	const char *probe_program;
	bool check;
	bool print;
};

/* 0 to go on; 1 when all is said; -EINVAL on bad usage, which is reported. */
static int parse_options(int argc, char **argv, struct settings *s)
{
	const struct options_own own[] = {
	    {"runtime-dir", "DIR", "control socket (default: " RUNTIME_DIR ")", &s->runtime_dir, NULL},
	    {"probe-program", "PATH", "the probe process (default: prism-probe beside prism)",
	     &s->probe_program, NULL},
	    {"check", NULL, "read the configuration, print every error, and exit", NULL, &s->check},
	    {"print", NULL, "print it with all that it leaves to defaults, and exit", NULL, &s->print},
	    {0},
	};
	const struct options_about about = {
	    .program = "prism",
	    .summary = "Balances connections of this node to the Kubernetes API servers.",
	    .closing = "Signals: TERM lets connections end and exits; HUP reads the configuration anew "
	               "and starts\n"
	               "the program anew, in place: connections stay. See prism(8).",
	    .own = own,
	};

	return options_parse(&about, argc, argv, &s->common);
}

static int load_config(const struct settings *s, conf_message_fn error, struct config **ret_config)
{
	return config_load(s->common.config_paths, s->common.n_config_paths, error, NULL, ret_config);
}

/* What was read, however it was said. */
static int print_config(const struct settings *s)
{
	AUTO(config_free) struct config *config = NULL;

	if (load_config(s, conf_message_print, &config) < 0)
		return EXIT_FAILURE;
	config_print(config, stdout);
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int check_config(const struct settings *s)
{
	AUTO(config_free) struct config *config = NULL;
	char text[ENDPOINT_TEXT_MAX];

	if (load_config(s, conf_message_print, &config) < 0)
		return EXIT_FAILURE;
	if (access(s->probe_program, X_OK) < 0) {
		(void) fprintf(stderr, "prism: %s: %s\n", s->probe_program, strerror(errno));
		return EXIT_FAILURE;
	}
	for (size_t i = 0; i < config->notes.n; i++)
		(void) printf("note: %s\n", config->notes.items[i]);
	(void) printf("ok: listens on");
	for (size_t i = 0; i < config->n_listen; i++)
		(void) printf(" %s", endpoint_format(&config->listen[i], text));
	(void) printf("\n");
	return EXIT_SUCCESS;
}

static void handover_config_cb(const char *yaml, size_t len, void *userdata)
{
	(void) config_load_text("the running configuration", yaml, len, NULL, conf_message_log, NULL,
	                        userdata);
}

/*
 * Started in place of a process that carries connections, prism must not fail for a file that
 * became wrong since it was checked: then the configuration that was in force goes on.
 */
static int load_config_or_old(const struct settings *s, const struct handover *handover,
                              struct config **ret_config)
{
	static const struct handover_reader_ops ops = {.config = handover_config_cb};
	int r;

	r = load_config(s, conf_message_log, ret_config);
	if (r == 0 || handover == NULL)
		return r;
	handover_read(handover, &ops, ret_config);
	if (*ret_config == NULL)
		return r;
	log_error("config_kept", "reason=\"the files have errors; the configuration before goes on\"");
	return 0;
}

static void on_stop(int signo, void *userdata)
{
	log_info("signal", "signal=%s", strsignal(signo));
	daemon_stop(userdata);
}

static void on_reload(int signo UNUSED, void *userdata)
{
	daemon_reload(userdata);
}

static int run(struct loop *loop, struct daemon *daemon)
{
	int code;

	loop_on_signal(loop, SIGTERM, on_stop, daemon);
	loop_on_signal(loop, SIGINT, on_stop, daemon);
	loop_on_signal(loop, SIGHUP, on_reload, daemon);
	loop_hold_signals(false);
	loop_notify(loop, "READY=1");
	for (;;) {
		code = loop_run(loop);
		if (!daemon_wants_exec(daemon))
			return code;
		loop_hold_signals(true);
		daemon_exec(daemon);
		loop_hold_signals(false);
	}
}

static int start(const struct settings *s, const struct daemon_start *as)
{
	AUTO(handover_free) struct handover *handover = NULL;
	AUTO(loop_free) struct loop *loop = NULL;
	AUTO(daemon_free) struct daemon *daemon = NULL;
	struct config *config = NULL;
	int r;

	r = handover_open(&handover);
	if (r < 0 && r != -ENOENT)
		log_error_errno(r, "handover_unreadable", "reason=\"all connections are closed\"");
	r = load_config_or_old(s, handover, &config);
	if (r < 0)
		return EXIT_CONFIG;
	for (size_t i = 0; i < config->notes.n; i++)
		log_info("config_note", "reason=\"%s\"", config->notes.items[i]);
	log_info("starting", "version=%s", FAIRLEAD_VERSION);
	r = loop_new(&loop);
	if (r < 0) {
		config_free(config);
		(void) log_error_errno(r, "loop_failed", "reason=\"cannot make the event loop\"");
		return EXIT_FAILURE;
	}
	r = daemon_new(loop, config, as, handover, &daemon);
	if (r < 0)
		return EXIT_FAILURE;
	handover_free(TAKE_PTR(handover));
	return run(loop, daemon);
}

int main(int argc, char **argv)
{
	struct settings s = {.runtime_dir = RUNTIME_DIR};
	AUTO(free) char *self = realpath("/proc/self/exe", NULL);
	AUTO(free) char *beside = NULL;
	int r;

	if (self != NULL)
		beside = xasprintf("%.*s%s", (int) (strrchr(self, '/') + 1 - self), self, PROBE_PROGRAM);
	s.probe_program = beside;
	r = parse_options(argc, argv, &s);
	if (r != 0)
		return r < 0 ? EXIT_USAGE : EXIT_SUCCESS;
	if (self == NULL) {
		(void) fputs("prism: /proc is needed\n", stderr);
		return EXIT_FAILURE;
	}
	if (s.check)
		return check_config(&s);
	if (s.print)
		return print_config(&s);
	/* What follows from that is decided where the control socket is opened. */
	if (mkdir(s.runtime_dir, 0755) < 0 && errno != EEXIST)
		(void) log_error_errno(-errno, "runtime_dir_failed", "dir=%s", s.runtime_dir);
	loop_hold_signals(true);
	return start(&s, &(struct daemon_start){
	                     .runtime_dir = s.runtime_dir,
	                     .probe_program = s.probe_program,
	                     .self = self,
	                     .argv = argv,
	                 });
}
