/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vipd: elects the owner of shared IP addresses through etcd and announces them. This file is the
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
#include "vipd/config.h"
#include "vipd/daemon.h"

#define RUNTIME_DIR "/run/fairlead/vipd"
#define CONFIG_PATHS_MAX 16

struct options {
	const char *config_paths[CONFIG_PATHS_MAX];
	size_t n_config_paths;
	const char *runtime_dir;
	bool check;
};

struct vipd {
	struct options options;
	struct loop *loop;
	struct daemon *daemon;
};

static void usage(FILE *to)
{
	(void) fputs(
	    "Usage: vipd [OPTION]...\n"
	    "Elects the owner of shared IP addresses through etcd and announces them.\n\n"
	    "  -c, --config PATH       file, or directory of *.yaml files; may be repeated\n"
	    "                          (default: /etc/fairlead/config.yaml, /etc/fairlead/conf.d)\n"
	    "      --runtime-dir DIR   control socket and state (default: " RUNTIME_DIR ")\n"
	    "      --check             read the configuration, print every error, and exit\n"
	    "      --log-level LEVEL   error, warning, notice, info (default) or debug\n"
	    "      --version           print the version and exit\n"
	    "  -h, --help              print this and exit\n\n"
	    "Signals: TERM hands every VIP over and exits; HUP reloads; USR2 exits and keeps the\n"
	    "addresses for the next start. See vipd(8).\n",
	    to);
}

/* 0 to go on; 1 when all is said; -EINVAL on bad usage, which is reported. */
static int parse_options(int argc, char **argv, struct options *o)
{
	enum { OPT_RUNTIME_DIR = 256, OPT_CHECK, OPT_LOG_LEVEL, OPT_VERSION };
	static const struct option table[] = {
	    {"config", required_argument, NULL, 'c'},
	    {"runtime-dir", required_argument, NULL, OPT_RUNTIME_DIR},
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
				(void) fprintf(stderr, "vipd: more than %d --config\n", CONFIG_PATHS_MAX);
				return -EINVAL;
			}
			o->config_paths[o->n_config_paths++] = optarg;
			break;
		case OPT_RUNTIME_DIR:
			o->runtime_dir = optarg;
			break;
		case OPT_CHECK:
			o->check = true;
			break;
		case OPT_LOG_LEVEL:
			if (log_level_parse(optarg, &level) < 0) {
				(void) fprintf(stderr, "vipd: --log-level: no such level: '%s'\n", optarg);
				return -EINVAL;
			}
			log_set_level(level);
			break;
		case OPT_VERSION:
			(void) printf("vipd (fairlead) %s\n", FAIRLEAD_VERSION);
			return 1;
		case 'h':
			usage(stdout);
			return 1;
		default:
			(void) fputs("Try 'vipd --help'.\n", stderr);
			return -EINVAL;
		}
	}
	if (optind < argc) {
		(void) fprintf(stderr, "vipd: unexpected argument: '%s'\n", argv[optind]);
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

/* The same, and the files that it names: what vipd could not start with is an error too. */
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
	int r;

	r = load_and_try(o, print_error_cb, &config);
	if (r < 0)
		return EXIT_FAILURE;
	for (size_t i = 0; i < config->notes.n; i++)
		(void) printf("note: %s\n", config->notes.items[i]);
	(void) printf("ok: %zu VIP%s\n", config->n_vips, config->n_vips == 1 ? "" : "s");
	return EXIT_SUCCESS;
}

static void on_stop(int signo, void *userdata)
{
	struct vipd *v = userdata;

	log_info("signal", "signal=%s", strsignal(signo));
	daemon_stop(v->daemon);
}

static void on_leave(int signo UNUSED, void *userdata)
{
	daemon_leave(((struct vipd *) userdata)->daemon);
}

static void on_reload(int signo UNUSED, void *userdata)
{
	struct vipd *v = userdata;
	AUTO(config_free) struct config *next = NULL;

	if (load_and_try(&v->options, log_error_cb, &next) < 0) {
		log_error("reload_refused",
		          "reason=\"the configuration has errors; the running one stays\"");
		return;
	}
	log_info("reload", "vips=%zu", next->n_vips);
	daemon_reload(v->daemon, next);
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
	(void) sigaddset(&ours, SIGUSR2);
	(void) sigprocmask(how, &ours, NULL);
}

/* Everything between the configuration and the end of the loop. */
static int run(struct vipd *v, struct config *config, bool *ret_exec)
{
	AUTO(loop_free) struct loop *loop = NULL;
	AUTO(daemon_free) struct daemon *daemon = NULL;
	int r;

	r = loop_new(&loop);
	if (r < 0) {
		config_free(config);
		(void) log_error_errno(r, "loop_failed", "reason=\"cannot make the event loop\"");
		return EXIT_FAILURE;
	}
	v->loop = loop;
	r = daemon_new(loop, config, v->options.runtime_dir, &daemon);
	if (r < 0)
		return EXIT_FAILURE;
	v->daemon = daemon;
	loop_on_signal(loop, SIGTERM, on_stop, v);
	loop_on_signal(loop, SIGINT, on_stop, v);
	loop_on_signal(loop, SIGHUP, on_reload, v);
	loop_on_signal(loop, SIGUSR2, on_leave, v);
	hold_signals(SIG_UNBLOCK);
	loop_notify(loop, "READY=1\nSTATUS=%zu VIPs", daemon_n_vips(daemon));
	r = loop_run(loop);
	hold_signals(SIG_BLOCK);
	*ret_exec = daemon_wants_exec(daemon);
	return r;
}

int main(int argc, char **argv)
{
	struct vipd v = {.options = {.runtime_dir = RUNTIME_DIR}};
	AUTO(free) char *self = realpath("/proc/self/exe", NULL);
	struct config *config = NULL;
	bool exec = false;
	int r;

	r = parse_options(argc, argv, &v.options);
	if (r != 0)
		return r < 0 ? 2 : EXIT_SUCCESS;
	if (v.options.check)
		return check_config(&v.options);
	if (mkdir(v.options.runtime_dir, 0755) < 0 && errno != EEXIST) {
		(void) log_error_errno(-errno, "runtime_dir_failed", "dir=%s", v.options.runtime_dir);
		return EXIT_FAILURE;
	}
	hold_signals(SIG_BLOCK);
	r = load_config(&v.options, log_error_cb, &config);
	if (r < 0)
		return DAEMON_EXIT_REFUSED;
	for (size_t i = 0; i < config->notes.n; i++)
		log_info("config_note", "reason=\"%s\"", config->notes.items[i]);
	log_info("starting", "version=%s node=%s vips=%zu", FAIRLEAD_VERSION, config->node_name,
	         config->n_vips);
	r = run(&v, config, &exec);
	if (exec && self != NULL) {
		/* A reload is a restart in place: one way to take over addresses, for both. */
		(void) execv(self, argv);
		(void) log_error_errno(-errno, "exec_failed", "path=%s", self);
		return EXIT_FAILURE;
	}
	return r;
}
