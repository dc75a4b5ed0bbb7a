/* SPDX-License-Identifier: Apache-2.0 */
/* One process, its answer in a pipe, which has room for all of it, and a limit. */
#include "netconf/probe/quorumguard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/spawn.h"
#include "netconf/probe/quorum.h"

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

static void end_cb(struct ev_loop *ev, ev_child *end, int revents UNUSED)
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
	ev_child_init(&guard->end, end_cb, 0, 0);
	r = ask(guard, host->program, config);
	ev_timer_init(&guard->limit, limit_timer_cb, r < 0 ? 0. : LIMIT_S, 0.);
	ev_timer_start(guard->ev, &guard->limit);
	return guard;
}
