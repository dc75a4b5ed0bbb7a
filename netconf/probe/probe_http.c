/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a URL is answered, with a status from 200 to 399: netconf-probe asks. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/conf_check.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/spawn.h"
#include "netconf/probe/probe_priv.h"
#include "netconf/probe/quorum.h"

struct web {
	struct ev_loop *ev;
	char *program, *url;
	int64_t timeout_us, deadline_us;
	ev_child end; /* active: one is asking */
	enum probe_verdict answer;
};

static void stop(struct web *web)
{
	if (!ev_is_active(&web->end))
		return;
	(void) kill(web->end.pid, SIGKILL);
	ev_child_stop(web->ev, &web->end);
}

static void end_cb(struct ev_loop *ev, ev_child *end, int revents UNUSED)
{
	struct web *web = CONTAINER_OF(end, struct web, end);

	ev_child_stop(ev, end);
	web->answer =
	    WIFEXITED(end->rstatus) && WEXITSTATUS(end->rstatus) == 0 ? PROBE_GOOD : PROBE_BAD;
}

static enum probe_verdict start(struct probe *probe, int64_t now_us)
{
	struct web *web = probe->data;
	AUTO(free) char *limit = xasprintf("%" PRId64, MAX(web->timeout_us / US_PER_MS, INT64_C(1)));
	const char *const argv[] = {web->program, web->url, limit, NULL};
	pid_t pid;

	stop(web);
	web->deadline_us = now_us + web->timeout_us;
	web->answer = PROBE_RUNNING;
	if (spawn_program(&(struct spawn){.argv = argv}, &pid) < 0)
		return PROBE_BAD;
	ev_child_set(&web->end, pid, 0);
	ev_child_start(web->ev, &web->end);
	return PROBE_RUNNING;
}

static enum probe_verdict poll(struct probe *probe, int64_t now_us)
{
	struct web *web = probe->data;

	if (web->answer == PROBE_RUNNING && now_us >= web->deadline_us) {
		stop(web);
		return PROBE_BAD;
	}
	return web->answer;
}

static void fini(struct probe *probe)
{
	struct web *web = probe->data;

	stop(web);
	free(web->program);
	free(web->url);
	free(web);
}

int probe_http_init(struct probe *probe, const struct probe_host *host, const char *name,
                    const char *url, int64_t timeout_us)
{
	static const struct probe_kind kind = {NULL, start, poll, fini};
	struct conf_url parsed;
	struct web *web;

	if (conf_parse_url(url, &parsed) != NULL)
		return -EINVAL;
	web = NEW0(struct web);
	web->ev = host->ev;
	web->program = xstrdup(host->program);
	web->url = xstrdup(url);
	web->timeout_us = timeout_us;
	ev_child_init(&web->end, end_cb, 0, 0);
	*probe = (struct probe){.kind = &kind, .data = web};
	probe->name = xasprintf("%s (%s)", name, url);
	return 0;
}

/* --- the question whether etcd can do without this node --- */

/* One process, its answer in a pipe, which has room for all of it, and a limit. */

#define LIMIT_S 30.

struct quorumguard {
	struct ev_loop *ev;
	ev_child end; /* active: it is asking */
	ev_timer limit;
	int answer; /* to be read when it has ended; -1: none */
	quorumguard_done_fn done;
	void *userdata;
};

void quorumguard_free(struct quorumguard *guard)
{
	if (guard == NULL)
		return;
	if (ev_is_active(&guard->end))
		(void) kill(guard->end.pid, SIGKILL);
	ev_child_stop(guard->ev, &guard->end);
	ev_timer_stop(guard->ev, &guard->limit);
	if (guard->answer >= 0)
		(void) close(guard->answer);
	free(guard);
}

/* reason: "": none */
static void finish(struct quorumguard *guard, const char *reason)
{
	quorumguard_done_fn done = guard->done;
	void *userdata = guard->userdata;

	quorumguard_free(guard);
	done(reason[0] != '\0' ? reason : NULL, userdata);
}

static void give_up(struct quorumguard *guard, const char *why)
{
	log_warning("quorum_unknown", "reason=\"%s\"", why);
	finish(guard, "");
}

static void quorum_end_cb(struct ev_loop *ev, ev_child *end, int revents UNUSED)
{
	struct quorumguard *guard = CONTAINER_OF(end, struct quorumguard, end);
	char reason[QUORUM_REASON_MAX] = "";

	ev_child_stop(ev, end);
	if (!WIFEXITED(end->rstatus) || WEXITSTATUS(end->rstatus) != 0 ||
	    read(guard->answer, reason, sizeof(reason) - 1) < 0) {
		give_up(guard, "no etcd says who its members are");
		return;
	}
	reason[strcspn(reason, "\n")] = '\0';
	finish(guard, reason);
}

static void limit_timer_cb(struct ev_loop *ev UNUSED, ev_timer *timer, int revents UNUSED)
{
	struct quorumguard *guard = CONTAINER_OF(timer, struct quorumguard, limit);

	give_up(guard, guard->answer < 0 ? "netconf-probe cannot be started" : "it takes too long");
}

static int write_config(const char *config)
{
	AUTO(close) int fd = memfd_create("configuration", MFD_CLOEXEC);
	size_t len = strlen(config);

	if (fd < 0)
		return -errno;
	return write(fd, config, len) == (ssize_t) len ? TAKE_FD(fd) : -EIO;
}

static int ask(struct quorumguard *guard, const char *program, const char *config)
{
	const char *const argv[] = {program, "--quorum", NULL};
	AUTO(close) int fd = write_config(config);
	int ends[2], r;
	pid_t pid;

	if (fd < 0)
		return fd;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	r = spawn_program(
	    &(struct spawn){
	        .argv = argv, .out = ends[1], .extra = fd, .given = SPAWN_OUT | SPAWN_EXTRA},
	    &pid);
	(void) close(ends[1]);
	if (r < 0) {
		(void) close(ends[0]);
		return r;
	}
	guard->answer = ends[0];
	ev_child_set(&guard->end, pid, 0);
	ev_child_start(guard->ev, &guard->end);
	return 0;
}

struct quorumguard *quorumguard_start(const struct probe_host *host, const char *config,
                                      quorumguard_done_fn done, void *userdata)
{
	struct quorumguard *guard = NEW0(struct quorumguard);
	int r;

	guard->ev = host->ev;
	guard->answer = -1;
	guard->done = done;
	guard->userdata = userdata;
	ev_child_init(&guard->end, quorum_end_cb, 0, 0);
	r = ask(guard, host->program, config);
	ev_timer_init(&guard->limit, limit_timer_cb, r < 0 ? 0. : LIMIT_S, 0.);
	ev_timer_start(guard->ev, &guard->limit);
	return guard;
}
