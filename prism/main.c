/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prism: a local, health-aware TCP balancer in front of the Kubernetes API servers. This file is
 * the command line, the signals and the order of starting and ending; the work is daemon.c's.
 */
#include <errno.h>
#include <getopt.h>
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
#include "prism/config.h"
#include "prism/daemon.h"
#include "prism/handover.h"

#define RUNTIME_DIR "/run/fairlead/prism"
#define PROBE_PROGRAM "prism-probe" /* beside our own */
#define CONFIG_PATHS_MAX 16
#define EXIT_CONFIG 78 /* EX_CONFIG of sysexits.h: starting again would not help */

struct options {
	const char *config_paths[CONFIG_PATHS_MAX];
	size_t n_config_paths;
	const char *runtime_dir;
	const char *probe_program;
	bool check;
};

static void usage(FILE *to)
{
	(void) fputs(
	    "Usage: prism [OPTION]...\n"
	    "Balances connections of this node to the Kubernetes API servers.\n\n"
	    "  -c, --config PATH         file, or directory of *.yaml files; may be repeated\n"
	    "                            (default: /etc/fairlead/config.yaml, /etc/fairlead/conf.d)\n"
	    "      --runtime-dir DIR     control socket (default: " RUNTIME_DIR ")\n"
	    "      --probe-program PATH  the probe process (default: prism-probe beside prism)\n"
	    "      --check               read the configuration, print every error, and exit\n"
	    "      --log-level LEVEL     error, warning, notice, info (default) or debug\n"
	    "      --version             print the version and exit\n"
	    "  -h, --help                print this and exit\n\n"
	    "Signals: TERM lets connections end and exits; HUP reads the configuration anew and "
	    "starts\n"
	    "the program anew, in place: connections stay. See prism(8).\n",
	    to);
}

/* 0 to go on; 1 when all is said; -EINVAL on bad usage, which is reported. */
static int parse_options(int argc, char **argv, struct options *o)
{
	enum { OPT_RUNTIME_DIR = 256, OPT_PROBE_PROGRAM, OPT_CHECK, OPT_LOG_LEVEL, OPT_VERSION };
	static const struct option table[] = {
	    {"config", required_argument, NULL, 'c'},
	    {"runtime-dir", required_argument, NULL, OPT_RUNTIME_DIR},
	    {"probe-program", required_argument, NULL, OPT_PROBE_PROGRAM},
	    {"check", no_argument, NULL, OPT_CHECK},
	    {"log-level", required_argument, NULL, OPT_LOG_LEVEL},
	    {"version", no_argument, NULL, OPT_VERSION},
	    {"help", no_argument, NULL, 'h'},
	    {0},
	};
	enum log_level level;
	int c;

	while ((c = getopt_long(argc, argv, "c:h", table, NULL)) != -1) {
		switch (c) {
		case 'c':
			if (o->n_config_paths == CONFIG_PATHS_MAX) {
				(void) fprintf(stderr, "prism: more than %d --config\n", CONFIG_PATHS_MAX);
				return -EINVAL;
			}
			o->config_paths[o->n_config_paths++] = optarg;
			break;
		case OPT_RUNTIME_DIR:
			o->runtime_dir = optarg;
			break;
		case OPT_PROBE_PROGRAM:
			o->probe_program = optarg;
			break;
		case OPT_CHECK:
			o->check = true;
			break;
		case OPT_LOG_LEVEL:
			if (log_level_parse(optarg, &level) < 0) {
				(void) fprintf(stderr, "prism: --log-level: no such level: '%s'\n", optarg);
				return -EINVAL;
			}
			log_set_level(level);
			break;
		case OPT_VERSION:
			(void) printf("prism (fairlead) %s\n", FAIRLEAD_VERSION);
			return 1;
		case 'h':
			usage(stdout);
			return 1;
		default:
			(void) fputs("Try 'prism --help'.\n", stderr);
			return -EINVAL;
		}
	}
	if (optind < argc) {
		(void) fprintf(stderr, "prism: unexpected argument: '%s'\n", argv[optind]);
		return -EINVAL;
	}
	return 0;
}

static void print_error_cb(const char *message, void *userdata UNUSED)
{
	(void) fprintf(stderr, "%s\n", message);
}

static void log_error_cb(const char *message, void *userdata UNUSED)
{
	log_error("config_error", "reason=\"%s\"", message);
}

static int load_config(const struct options *o, conf_message_fn error, struct config **ret_config)
{
	return config_load(o->config_paths, o->n_config_paths, error, NULL, ret_config);
}

static int check_config(const struct options *o)
{
	AUTO(config_free) struct config *config = NULL;
	char text[ENDPOINT_TEXT_MAX];

	if (load_config(o, print_error_cb, &config) < 0)
		return EXIT_FAILURE;
	if (access(o->probe_program, X_OK) < 0) {
		(void) fprintf(stderr, "prism: %s: %s\n", o->probe_program, strerror(errno));
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
	(void) config_load_text("the running configuration", yaml, len, NULL, log_error_cb, NULL,
	                        userdata);
}

/*
 * Started in place of a process that carries connections, prism must not fail for a file that
 * became wrong since it was checked: then the configuration that was in force goes on.
 */
static int load_config_or_old(const struct options *o, const struct handover *handover,
                              struct config **ret_config)
{
	static const struct handover_reader_ops ops = {.config = handover_config_cb};
	int r;

	r = load_config(o, log_error_cb, ret_config);
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

/*
 * Our signals wait until they can be handled: a second SIGHUP must not kill a process that has just
 * executed itself because of the first. The mask survives execve(2), the handlers do not.
 */
static void hold_signals(int how)
{
	sigset_t ours;

	(void) sigemptyset(&ours);
	(void) sigaddset(&ours, SIGTERM);
	(void) sigaddset(&ours, SIGINT);
	(void) sigaddset(&ours, SIGHUP);
	(void) sigprocmask(how, &ours, NULL);
}

static int run(struct loop *loop, struct daemon *daemon)
{
	int code;

	loop_on_signal(loop, SIGTERM, on_stop, daemon);
	loop_on_signal(loop, SIGINT, on_stop, daemon);
	loop_on_signal(loop, SIGHUP, on_reload, daemon);
	hold_signals(SIG_UNBLOCK);
	loop_notify(loop, "READY=1");
	for (;;) {
		code = loop_run(loop);
		if (!daemon_wants_exec(daemon))
			return code;
		hold_signals(SIG_BLOCK);
		daemon_exec(daemon);
		hold_signals(SIG_UNBLOCK);
	}
}

static int start(const struct options *o, const struct daemon_start *as)
{
	AUTO(handover_free) struct handover *handover = NULL;
	AUTO(loop_free) struct loop *loop = NULL;
	AUTO(daemon_free) struct daemon *daemon = NULL;
	struct config *config = NULL;
	int r;

	r = handover_open(&handover);
	if (r < 0 && r != -ENOENT)
		log_error_errno(r, "handover_unreadable", "reason=\"all connections are closed\"");
	r = load_config_or_old(o, handover, &config);
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
	struct options o = {.runtime_dir = RUNTIME_DIR};
	AUTO(free) char *self = realpath("/proc/self/exe", NULL);
	AUTO(free) char *beside = NULL;
	int r;

	if (self != NULL)
		beside = xasprintf("%.*s%s", (int) (strrchr(self, '/') + 1 - self), self, PROBE_PROGRAM);
	o.probe_program = beside;
	r = parse_options(argc, argv, &o);
	if (r != 0)
		return r < 0 ? 2 : EXIT_SUCCESS;
	if (self == NULL) {
		(void) fputs("prism: /proc is needed\n", stderr);
		return EXIT_FAILURE;
	}
	if (o.check)
		return check_config(&o);
	/* What follows from that is decided where the control socket is opened. */
	if (mkdir(o.runtime_dir, 0755) < 0 && errno != EEXIST)
		(void) log_error_errno(-errno, "runtime_dir_failed", "dir=%s", o.runtime_dir);
	hold_signals(SIG_BLOCK);
	return start(&o, &(struct daemon_start){
	                     .runtime_dir = o.runtime_dir,
	                     .probe_program = o.probe_program,
	                     .self = self,
	                     .argv = argv,
	                 });
}
