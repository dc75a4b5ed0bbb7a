/* SPDX-License-Identifier: Apache-2.0 */
/*
 * etcdwatch: takes snapshots of etcd on schedule, proves them and keeps them. This file is the
 * command line, the signals and the order of starting and ending; the work is daemon.c's.
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
#include "etcd/connect.h"
#include "etcdwatch/config.h"
#include "etcdwatch/daemon.h"

#define RUNTIME_DIR "/run/fairlead/etcdwatch"
#define WORKER_PROGRAM "etcdwatch-worker" /* beside our own */
#define CONFIG_PATHS_MAX 16
#define EXIT_CONFIG 78 /* EX_CONFIG of sysexits.h: starting again would not help */

struct options {
	const char *config_paths[CONFIG_PATHS_MAX];
	size_t n_config_paths;
	const char *runtime_dir;
	const char *worker;
	bool check;
	bool print_jobs;
};

static void usage(FILE *to)
{
	(void) fputs(
	    "Usage: etcdwatch [OPTION]...\n"
	    "Takes snapshots of etcd on schedule, proves them and keeps them.\n\n"
	    "  -c, --config PATH         file, or directory of *.yaml files; may be repeated\n"
	    "                            (default: /etc/fairlead/config.yaml, /etc/fairlead/conf.d)\n"
	    "      --runtime-dir DIR     control socket (default: " RUNTIME_DIR ")\n"
	    "      --worker PATH         what does the heavy work (default: etcdwatch-worker beside\n"
	    "                            etcdwatch)\n"
	    "      --check               read the configuration, print every error, and exit\n"
	    "      --print-jobs          print where each job has its snapshots, as JSON, and exit\n"
	    "      --log-level LEVEL     error, warning, notice, info (default) or debug\n"
	    "      --version             print the version and exit\n"
	    "  -h, --help                print this and exit\n\n"
	    "Signals: TERM gives up what is under way and exits; HUP reads the configuration anew. "
	    "See\n"
	    "etcdwatch(8).\n",
	    to);
}

/* 0 to go on; 1 when all is said; -EINVAL on bad usage, which is reported. */
static int parse_options(int argc, char **argv, struct options *o)
{
	enum {
		OPT_RUNTIME_DIR = 256,
		OPT_WORKER,
		OPT_CHECK,
		OPT_PRINT_JOBS,
		OPT_LOG_LEVEL,
		OPT_VERSION
	};
	static const struct option table[] = {
	    {"config", required_argument, NULL, 'c'},
	    {"runtime-dir", required_argument, NULL, OPT_RUNTIME_DIR},
	    {"worker", required_argument, NULL, OPT_WORKER},
	    {"check", no_argument, NULL, OPT_CHECK},
	    {"print-jobs", no_argument, NULL, OPT_PRINT_JOBS},
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
				(void) fprintf(stderr, "etcdwatch: more than %d --config\n", CONFIG_PATHS_MAX);
				return -EINVAL;
			}
			o->config_paths[o->n_config_paths++] = optarg;
			break;
		case OPT_RUNTIME_DIR:
			o->runtime_dir = optarg;
			break;
		case OPT_WORKER:
			o->worker = optarg;
			break;
		case OPT_CHECK:
			o->check = true;
			break;
		case OPT_PRINT_JOBS:
			o->print_jobs = true;
			break;
		case OPT_LOG_LEVEL:
			if (log_level_parse(optarg, &level) < 0) {
				(void) fprintf(stderr, "etcdwatch: --log-level: no such level: '%s'\n", optarg);
				return -EINVAL;
			}
			log_set_level(level);
			break;
		case OPT_VERSION:
			(void) printf("etcdwatch (fairlead) %s\n", FAIRLEAD_VERSION);
			return 1;
		case 'h':
			usage(stdout);
			return 1;
		default:
			(void) fputs("Try 'etcdwatch --help'.\n", stderr);
			return -EINVAL;
		}
	}
	if (optind < argc) {
		(void) fprintf(stderr, "etcdwatch: unexpected argument: '%s'\n", argv[optind]);
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

/* The same, and the files that it names: what etcdwatch could not start with is an error too. */
static int load_and_try(const struct options *o, conf_message_fn error, struct config **ret_config)
{
	AUTO(config_free) struct config *config = NULL;
	char text[ETCD_ERROR_TEXT_MAX];
	int r;

	r = load_config(o, error, &config);
	if (r < 0)
		return r;
	r = connect_check(&config->etcd, text);
	if (r < 0) {
		AUTO(free) char *message = xasprintf("EtcdClientConfig: %s", text);

		error(message, NULL);
		return r;
	}
	*ret_config = TAKE_PTR(config);
	return 0;
}

static int check_config(const struct options *o)
{
	AUTO(config_free) struct config *config = NULL;

	if (load_and_try(o, print_error_cb, &config) < 0)
		return EXIT_FAILURE;
	if (access(o->worker, X_OK) < 0) {
		(void) fprintf(stderr, "etcdwatch: %s: %s\n", o->worker, strerror(errno));
		return EXIT_FAILURE;
	}
	for (size_t i = 0; i < config->notes.n; i++)
		(void) printf("note: %s\n", config->notes.items[i]);
	(void) printf("ok: %zu job%s\n", config->n_jobs, config->n_jobs == 1 ? "" : "s");
	return EXIT_SUCCESS;
}

static int print_jobs(const struct options *o)
{
	AUTO(config_free) struct config *config = NULL;

	if (load_config(o, print_error_cb, &config) < 0)
		return EXIT_FAILURE;
	config_print_jobs(config, stdout);
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

struct etcdwatch {
	struct options options;
	struct daemon *daemon;
};

static void on_stop(int signo, void *userdata)
{
	const struct etcdwatch *e = userdata;

	log_info("signal", "signal=%s", strsignal(signo));
	daemon_stop(e->daemon);
}

static void on_reload(int signo UNUSED, void *userdata)
{
	const struct etcdwatch *e = userdata;
	AUTO(config_free) struct config *next = NULL;

	if (load_and_try(&e->options, log_error_cb, &next) < 0) {
		log_error("reload_refused",
		          "reason=\"the configuration has errors; the running one stays\"");
		return;
	}
	log_info("reload", "jobs=%zu", next->n_jobs);
	daemon_reload(e->daemon);
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

/* Everything between the configuration and the end of the loop. */
static int run(struct etcdwatch *e, struct config *config, bool *ret_exec)
{
	AUTO(loop_free) struct loop *loop = NULL;
	AUTO(daemon_free) struct daemon *daemon = NULL;
	const struct daemon_start start = {
	    .runtime_dir = e->options.runtime_dir,
	    .worker = e->options.worker,
	};
	int r;

	r = loop_new(&loop);
	if (r < 0) {
		config_free(config);
		(void) log_error_errno(r, "loop_failed", "reason=\"cannot make the event loop\"");
		return EXIT_FAILURE;
	}
	r = daemon_new(loop, config, &start, &daemon);
	if (r < 0)
		return EXIT_FAILURE;
	e->daemon = daemon;
	loop_on_signal(loop, SIGTERM, on_stop, e);
	loop_on_signal(loop, SIGINT, on_stop, e);
	loop_on_signal(loop, SIGHUP, on_reload, e);
	hold_signals(SIG_UNBLOCK);
	loop_notify(loop, "READY=1\nSTATUS=%zu jobs", daemon_n_jobs(daemon));
	r = loop_run(loop);
	hold_signals(SIG_BLOCK);
	*ret_exec = daemon_wants_exec(daemon);
	return r;
}

int main(int argc, char **argv)
{
	struct etcdwatch e = {.options = {.runtime_dir = RUNTIME_DIR}};
	AUTO(free) char *self = realpath("/proc/self/exe", NULL);
	AUTO(free) char *beside = NULL;
	struct config *config = NULL;
	bool exec = false;
	int r;

	if (self != NULL)
		beside = xasprintf("%.*s%s", (int) (strrchr(self, '/') + 1 - self), self, WORKER_PROGRAM);
	e.options.worker = beside;
	r = parse_options(argc, argv, &e.options);
	if (r != 0)
		return r < 0 ? 2 : EXIT_SUCCESS;
	if (e.options.worker == NULL) {
		(void) fputs("etcdwatch: /proc is needed\n", stderr);
		return EXIT_FAILURE;
	}
	if (e.options.check)
		return check_config(&e.options);
	if (e.options.print_jobs)
		return print_jobs(&e.options);
	if (mkdir(e.options.runtime_dir, 0755) < 0 && errno != EEXIST) {
		(void) log_error_errno(-errno, "runtime_dir_failed", "dir=%s", e.options.runtime_dir);
		return EXIT_FAILURE;
	}
	hold_signals(SIG_BLOCK);
	r = load_config(&e.options, log_error_cb, &config);
	if (r < 0)
		return EXIT_CONFIG;
	for (size_t i = 0; i < config->notes.n; i++)
		log_info("config_note", "reason=\"%s\"", config->notes.items[i]);
	log_info("starting", "version=%s node=%s jobs=%zu", FAIRLEAD_VERSION, config->node_name,
	         config->n_jobs);
	r = run(&e, config, &exec);
	if (exec && self != NULL) {
		/* A reload is a restart in place. */
		(void) execv(self, argv);
		(void) log_error_errno(-errno, "exec_failed", "path=%s", self);
		return EXIT_FAILURE;
	}
	return r;
}
