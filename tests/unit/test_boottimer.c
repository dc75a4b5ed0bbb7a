/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timers that go on while the machine is suspended. A suspend cannot be had in a test: that the
 * kernel counts it is its promise for the clock that the descriptor has, and what is over when the
 * loop goes on comes at once.
 */
#include "base/boottimer.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "tests/unit/check.h"

struct seen {
	struct boottimer *timer;
	int64_t at_us;
	int64_t next_us; /* to be set inside; 0: nothing */
	unsigned n;
};

static bool no_memory_to_watch;

/* libev's, before the C library's. */
int epoll_ctl(int epoll_fd, int op, int fd, struct epoll_event *event)
{
	if (no_memory_to_watch) {
		errno = ENOMEM;
		return -1;
	}
	return (int) syscall(SYS_epoll_ctl, epoll_fd, op, fd, event);
}

static void due_cb(void *userdata)
{
	struct seen *seen = userdata;

	seen->n++;
	seen->at_us = mono_now_us();
	if (seen->next_us != 0)
		boottimer_set(seen->timer, seen->next_us);
	seen->next_us = 0;
}

static void give_up_cb(struct ev_loop *ev, ev_timer *w UNUSED, int revents UNUSED)
{
	ev_break(ev, EVBREAK_ALL);
}

/* Until so many have come, for a minute. */
static void wait_for(struct ev_loop *ev, const struct seen *seen, unsigned n)
{
	ev_timer give_up;

	ev_timer_init(&give_up, give_up_cb, 60., 0.);
	ev_timer_start(ev, &give_up);
	while (seen->n < n && ev_is_active(&give_up))
		(void) ev_run(ev, EVRUN_ONCE);
	ev_timer_stop(ev, &give_up);
	CHECK_EQ_INT(seen->n, n);
}

static void test_times(struct ev_loop *ev)
{
	struct seen seen = {0};
	int64_t at_us;

	CHECK_EQ_INT(boottimer_new(ev, due_cb, &seen, &seen.timer), 0);
	at_us = mono_now_us() + 30 * US_PER_MS;
	boottimer_set(seen.timer, at_us);
	wait_for(ev, &seen, 1);
	CHECK(seen.at_us >= at_us);
	/* It is over already, by as much as the clock has: at once. */
	boottimer_set(seen.timer, 0);
	wait_for(ev, &seen, 2);
	boottimer_set(seen.timer, mono_now_us() - 3600 * US_PER_S);
	wait_for(ev, &seen, 3);
	/* Set inside. */
	seen.next_us = mono_now_us() + 20 * US_PER_MS;
	boottimer_set(seen.timer, 1);
	wait_for(ev, &seen, 5);
	boottimer_free(seen.timer);
	boottimer_free(NULL);
}

/* What was set before does not come, also when it is over and the loop has not seen it yet. */
static void test_set_anew(struct ev_loop *ev)
{
	struct seen first = {0}, second = {0};

	CHECK_EQ_INT(boottimer_new(ev, due_cb, &first, &first.timer), 0);
	CHECK_EQ_INT(boottimer_new(ev, due_cb, &second, &second.timer), 0);
	boottimer_set(first.timer, 1);
	boottimer_set(first.timer, MONO_NEVER);
	boottimer_set(second.timer, mono_now_us() + 10 * US_PER_MS);
	wait_for(ev, &second, 1);
	CHECK_EQ_INT(first.n, 0);
	boottimer_free(first.timer);
	boottimer_free(second.timer);
}

/* As the kernel shows a timer's descriptor (proc(5)). */
static void test_clock(struct ev_loop *ev)
{
	struct seen seen = {0};
	char line[128] = "";
	int clock = -1;
	struct dirent *entry;
	DIR *dir;

	CHECK_EQ_INT(boottimer_new(ev, due_cb, &seen, &seen.timer), 0);
	dir = opendir("/proc/self/fdinfo");
	while (CHECK(dir != NULL) && clock < 0 && (entry = readdir(dir)) != NULL) {
		AUTO(free) char *path = xasprintf("/proc/self/fdinfo/%s", entry->d_name);
		FILE *info = fopen(path, "re");

		while (info != NULL && fgets(line, sizeof(line), info) != NULL)
			(void) sscanf(line, "clockid: %d", &clock);
		if (info != NULL)
			(void) fclose(info);
	}
	CHECK_EQ_INT(clock, CLOCK_BOOTTIME);
	if (dir != NULL)
		(void) closedir(dir);
	boottimer_free(seen.timer);
}

static void wait_in_vain(void)
{
	const struct rlimit no_core = {0, 0};
	struct ev_loop *ev = ev_loop_new(EVFLAG_AUTO);
	struct seen seen = {0};

	(void) setrlimit(RLIMIT_CORE, &no_core);
	(void) signal(SIGABRT, SIG_DFL);
	if (boottimer_new(ev, due_cb, &seen, &seen.timer) < 0)
		_exit(1);
	no_memory_to_watch = true;
	(void) ev_run(ev, EVRUN_NOWAIT);
	_exit(0);
}

/* A timer that will never be heard of again ends the process, which is started anew. */
static void test_cannot_be_watched(void)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		wait_in_vain();
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

int main(void)
{
	struct ev_loop *ev = ev_loop_new(EVFLAG_AUTO);

	test_times(ev);
	test_set_anew(ev);
	test_clock(ev);
	test_cannot_be_watched();
	ev_loop_destroy(ev);
	return check_result();
}
