/* SPDX-License-Identifier: Apache-2.0 */
/*
 * etcdwatch: takes snapshots of etcd on schedule, proves them and keeps them. This file is the
 * command line, the signals and the order of starting and ending; the work is daemon.c's.
 */
#include <errno.h>
#include <malloc.h>
#include <pwd.h>
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
#include "etcd/connect.h"
#include "etcdwatch/config/config.h"
#include "etcdwatch/daemon.h"
#include "etcdwatch/signing.h"

#define RUNTIME_DIR "/run/fairlead/etcdwatch"
#define WORKER_PROGRAM "etcdwatch-worker" /* beside our own */

struct settings {
	struct options common;
	const char *runtime_dir;
	const char *worker;
	bool check;
	bool print;
	bool print_jobs;
	bool print_etcd;
};

/* 0 to go on; 1 when all is said; -EINVAL on bad usage, which is reported. */
static int parse_options(int argc, char **argv, struct settings *s)
{
	const struct options_own own[] = {
	    {"runtime-dir", "DIR", "control socket (default: " RUNTIME_DIR ")", &s->runtime_dir, NULL},
	    {"worker", "PATH", "what does the heavy work (default: etcdwatch-worker beside\netcdwatch)",
	     &s->worker, NULL},
	    {"check", NULL, "read the configuration, print every error, and exit", NULL, &s->check},
	    {"print", NULL, "print it with all that it leaves to defaults, and exit", NULL, &s->print},
	    {"print-jobs", NULL, "print where each job has its snapshots, as JSON, and exit", NULL,
	     &s->print_jobs},
	    {"print-etcd", NULL, "print how etcd is reached, as options in JSON, and exit", NULL,
	     &s->print_etcd},
	    {0},
	};
	const struct options_about about = {
	    .program = "etcdwatch",
	    .summary = "Takes snapshots of etcd on schedule, proves them and keeps them.",
	    .closing = "Signals: TERM gives up what is under way and exits; HUP reads the "
	               "configuration anew. See\n"
	               "etcdwatch(8).",
	    .own = own,
	};

	return options_parse(&about, argc, argv, &s->common);
}

static int load_config(const struct settings *s, conf_message_fn error, struct config **ret_config)
{
	return config_load(s->common.config_paths, s->common.n_config_paths, error, NULL, ret_config);
}

/* The same, and the files that it names: what etcdwatch could not start with is an error too. */
static int load_and_try(const struct settings *s, conf_message_fn error, struct config **ret_config)
{
	AUTO(config_free) struct config *config = NULL;
	char text[ETCD_ERROR_TEXT_MAX];
	int r;

	r = load_config(s, error, &config);
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

/* What was read, however it was said. */
static int print_config(const struct settings *s)
{
	AUTO(config_free) struct config *config = NULL;

	if (load_config(s, conf_message_print, &config) < 0)
		return EXIT_FAILURE;
	config_print(config, stdout);
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* The daemon starts without them, and may be another user. */
static void print_unread(const char *sentence, void *userdata UNUSED)
{
	const struct passwd *user = getpwuid(geteuid());

	(void) printf("note: %s (read as user %s)\n", sentence,
	              user != NULL ? user->pw_name : "without a name");
}

static int check_config(const struct settings *s)
{
	AUTO(config_free) struct config *config = NULL;

	if (load_and_try(s, conf_message_print, &config) < 0)
		return EXIT_FAILURE;
	if (access(s->worker, X_OK) < 0) {
		(void) fprintf(stderr, "etcdwatch: %s: %s\n", s->worker, strerror(errno));
		return EXIT_FAILURE;
	}
	for (size_t i = 0; i < config->notes.n; i++)
		(void) printf("note: %s\n", config->notes.items[i]);
	config_look_at_files(config, print_unread, NULL);
	(void) printf("ok: %zu job%s\n", config->n_jobs, config->n_jobs == 1 ? "" : "s");
	return EXIT_SUCCESS;
}

static int print_jobs(const struct settings *s)
{
	AUTO(config_free) struct config *config = NULL;
	AUTO(signature_key_free) struct signature_key *key = NULL;
	AUTO(free) char *path = signing_path();

	if (load_config(s, conf_message_print, &config) < 0)
		return EXIT_FAILURE;
	(void) signature_key_load(path, &key);
	config_print_jobs(config, key != NULL ? signature_key_public(key) : NULL, stdout);
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int print_etcd(const struct settings *s)
{
	AUTO(config_free) struct config *config = NULL;

	if (load_config(s, conf_message_print, &config) < 0)
		return EXIT_FAILURE;
	config_print_etcd(config, stdout);
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

struct etcdwatch {
	struct settings settings;
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

	if (load_and_try(&e->settings, conf_message_log, &next) < 0) {
		log_error("reload_refused",
		          "reason=\"the configuration has errors; the running one stays\"");
		return;
	}
	log_info("reload", "jobs=%zu", next->n_jobs);
	daemon_reload(e->daemon);
}

/* Everything between the configuration and the end of the loop. */
static int run(struct etcdwatch *e, struct config *config, bool *ret_exec)
{
	AUTO(loop_free) struct loop *loop = NULL;
	AUTO(daemon_free) struct daemon *daemon = NULL;
	const struct daemon_start start = {
	    .runtime_dir = e->settings.runtime_dir,
	    .worker = e->settings.worker,
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
	loop_hold_signals(false);
	loop_notify(loop, "READY=1\nSTATUS=%zu jobs", daemon_n_jobs(daemon));
	r = loop_run(loop);
	loop_hold_signals(true);
	*ret_exec = daemon_wants_exec(daemon);
	return r;
}

int main(int argc, char **argv)
{
	struct etcdwatch e = {.settings = {.runtime_dir = RUNTIME_DIR}};
	AUTO(free) char *self = realpath("/proc/self/exe", NULL);
	AUTO(free) char *beside = NULL;
	struct config *config = NULL;
	bool exec = false;
	int r;

	if (self != NULL)
		beside = xasprintf("%.*s%s", (int) (strrchr(self, '/') + 1 - self), self, WORKER_PROGRAM);
	e.settings.worker = beside;
	r = parse_options(argc, argv, &e.settings);
	if (r != 0)
		return r < 0 ? EXIT_USAGE : EXIT_SUCCESS;
	if (e.settings.worker == NULL) {
		(void) fputs("etcdwatch: /proc is needed\n", stderr);
		return EXIT_FAILURE;
	}
	if (e.settings.check)
		return check_config(&e.settings);
	if (e.settings.print)
		return print_config(&e.settings);
	if (e.settings.print_jobs)
		return print_jobs(&e.settings);
	if (e.settings.print_etcd)
		return print_etcd(&e.settings);
	if (mkdir(e.settings.runtime_dir, 0755) < 0 && errno != EEXIST) {
		(void) log_error_errno(-errno, "runtime_dir_failed", "dir=%s", e.settings.runtime_dir);
		return EXIT_FAILURE;
	}
	/* What one thread allocates another one frees, gRPC's, the loop and the disk's: an arena for
	 * each would keep its own holes. */
	(void) mallopt(M_ARENA_MAX, 1);
	loop_hold_signals(true);
	r = load_config(&e.settings, conf_message_log, &config);
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
