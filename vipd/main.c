/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vipd: elects the owner of shared IP addresses through etcd and announces them. This file is the
 * command line, the signals and the order of starting and ending; the work is daemon.c's.
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
#include "base/mono.h"
#include "base/options.h"
#include "etcd/connect.h"
#include "vipd/config.h"
#include "vipd/daemon.h"
#include "vipd/onlink.h"

#define RUNTIME_DIR "/run/fairlead/vipd"

/* How often a reload that waits is tried. */
#define RELOAD_RETRY_US (100 * US_PER_MS)

struct settings {
	struct options common;
	const char *runtime_dir;
	bool check;
	bool print;
	bool ungate;
	bool yes;
};

struct vipd {
	struct settings settings;
	struct loop *loop;
	struct daemon *daemon;
	ev_timer reload_again;
};

/* 0 to go on; 1 when all is said; -EINVAL on bad usage, which is reported. */
static int parse_options(int argc, char **argv, struct settings *s)
{
	const struct options_own own[] = {
	    {"runtime-dir", "DIR", "control socket and state (default: " RUNTIME_DIR ")",
	     &s->runtime_dir, NULL},
	    {"check", NULL, "read the configuration, print every error, and exit", NULL, &s->check},
	    {"print", NULL, "print it with all that it leaves to defaults, and exit", NULL, &s->print},
	    {"ungate", NULL, "say what the gate of a dead vipd silences; with --yes remove it", NULL,
	     &s->ungate},
	    {"yes", NULL, "of --ungate: do it", NULL, &s->yes},
	    {0},
	};
	const struct options_about about = {
	    .program = "vipd",
	    .summary = "Elects the owner of shared IP addresses through etcd and announces them.",
	    .closing =
	        "Signals: TERM hands every VIP over and exits; HUP reloads; USR2 exits and keeps the\n"
	        "addresses for the next start. See vipd(8).",
	    .own = own,
	};

	return options_parse(&about, argc, argv, &s->common);
}

static int load_config(const struct settings *s, conf_message_fn error, struct config **ret_config)
{
	return config_load(s->common.config_paths, s->common.n_config_paths, error, NULL, ret_config);
}

/* The same, and what stands on this node: what vipd could not start with is an error too. */
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
	r = onlink_check(config, error, NULL);
	if (r < 0)
		return r;
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

static int check_config(const struct settings *s)
{
	AUTO(config_free) struct config *config = NULL;
	int r;

	r = load_and_try(s, conf_message_print, &config);
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

/*
 * The next process begins without a connection to etcd, and what this one has seen of the owner is
 * lost with it. One reload after the other, each before the first answer, would let the fence run
 * out, and no standby would ever have waited for long enough.
 */
static void reload(struct vipd *v)
{
	AUTO(config_free) struct config *next = NULL;

	if (daemon_is_settling(v->daemon)) {
		if (!ev_is_active(&v->reload_again)) {
			log_info("reload_delayed", "reason=\"the last start is not complete\"");
			ev_timer_again(loop_ev(v->loop), &v->reload_again);
		}
		return;
	}
	ev_timer_stop(loop_ev(v->loop), &v->reload_again);
	if (load_and_try(&v->settings, conf_message_log, &next) < 0) {
		log_error("reload_refused",
		          "reason=\"the configuration has errors; the running one stays\"");
		return;
	}
	log_info("reload", "vips=%zu", next->n_vips);
	daemon_reload(v->daemon, next);
}

static void on_reload(int signo UNUSED, void *userdata)
{
	reload(userdata);
}

static void reload_again_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	reload(CONTAINER_OF(w, struct vipd, reload_again));
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
	r = daemon_new(loop, config, v->settings.runtime_dir, &daemon);
	if (r < 0)
		return EXIT_FAILURE;
	v->daemon = daemon;
	ev_timer_init(&v->reload_again, reload_again_cb, 0., mono_to_ev(RELOAD_RETRY_US));
	loop_on_signal(loop, SIGTERM, on_stop, v);
	loop_on_signal(loop, SIGINT, on_stop, v);
	loop_on_signal(loop, SIGHUP, on_reload, v);
	loop_on_signal(loop, SIGUSR2, on_leave, v);
	loop_hold_signals(false);
	loop_notify(loop, "READY=1\nSTATUS=%zu VIPs", daemon_n_vips(daemon));
	r = loop_run(loop);
	loop_hold_signals(true);
	*ret_exec = daemon_wants_exec(daemon);
	return r;
}

int main(int argc, char **argv)
{
	struct vipd v = {.settings = {.runtime_dir = RUNTIME_DIR}};
	AUTO(free) char *self = realpath("/proc/self/exe", NULL);
	struct config *config = NULL;
	bool exec = false;
	int r;

	r = parse_options(argc, argv, &v.settings);
	if (r != 0)
		return r < 0 ? EXIT_USAGE : EXIT_SUCCESS;
	if (v.settings.check)
		return check_config(&v.settings);
	if (v.settings.print)
		return print_config(&v.settings);
	if (v.settings.ungate)
		return daemon_ungate(v.settings.runtime_dir, v.settings.yes);
	if (mkdir(v.settings.runtime_dir, 0755) < 0 && errno != EEXIST) {
		(void) log_error_errno(-errno, "runtime_dir_failed", "dir=%s", v.settings.runtime_dir);
		return EXIT_FAILURE;
	}
	loop_hold_signals(true);
	r = load_config(&v.settings, conf_message_log, &config);
	if (r < 0)
		return EXIT_CONFIG;
	/* The address may go, so systemd starts it again. */
	if (onlink_check(config, conf_message_log, NULL) < 0) {
		config_free(config);
		return EXIT_FAILURE;
	}
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
