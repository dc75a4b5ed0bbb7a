/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The client of the fault measurements, see load.h. It comes at its times whatever became of those
 * before, as clients of an API server do, and each failure is written to standard error with its
 * time and cause.
 */

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/signalfd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "bench/tools/common/histogram.h"
#include "bench/tools/load/load.h"

#define ORIGINS 256
#define LOOK_NS (5 * NS_PER_MS) /* how often time-outs are looked for */

struct watch;

struct visit {
	struct link link;
	struct watch *all;
	TAILQ_ENTRY(visit) place;
	int64_t due_ns;
};

struct watch {
	const struct load_options *options;
	struct reactor *reactor;
	struct reactor_watch signals;
	int signal_fd;
	struct histogram *times;
	TAILQ_HEAD(, visit) visits; /* under way, the oldest first */
	TAILQ_HEAD(, visit) over;   /* freed after the turn: see reactor.h */
	int64_t last_ns[ORIGINS];
	uint64_t failed;
	uint64_t moved;
	bool ending;
};

static void visit_end(struct visit *visit, int r)
{
	struct watch *all = visit->all;
	int64_t now_ns = reactor_now_ns();
	int64_t took_ns = now_ns - visit->due_ns;

	link_close(&visit->link);
	TAILQ_REMOVE(&all->visits, visit, place);
	TAILQ_INSERT_TAIL(&all->over, visit, place);
	histogram_add(all->times, took_ns);
	if (r >= 0) {
		all->last_ns[visit->link.answer_first] = now_ns;
		return;
	}
	all->failed++;
	(void) fprintf(stderr, "%.3f failed after %.1f ms: %s\n", (double) now_ns / NS_PER_S,
	               (double) took_ns / NS_PER_MS, strerror(-r));
}

static void visit_done(struct link *link, int r)
{
	visit_end(CONTAINER_OF(link, struct visit, link), r);
}

static void visit_begin(struct watch *all, int64_t due_ns)
{
	struct visit *visit = NEW0(struct visit);
	int r;

	visit->all = all;
	visit->due_ns = due_ns;
	visit->link.done = visit_done;
	visit->link.moved = &all->moved;
	TAILQ_INSERT_TAIL(&all->visits, visit, place);
	r = link_open(&visit->link, all->reactor, &all->options->to);
	if (r >= 0)
		r = link_ask(&visit->link, &all->options->message);
	if (r < 0)
		visit_end(visit, r);
}

static void look_for_timeouts(struct watch *all)
{
	int64_t limit_ns = reactor_now_ns() - all->options->timeout_ns;
	struct visit *oldest = TAILQ_FIRST(&all->visits);

	while (oldest != NULL && oldest->due_ns <= limit_ns) {
		visit_end(oldest, -ETIMEDOUT);
		oldest = TAILQ_FIRST(&all->visits);
	}
}

static void free_over(struct watch *all)
{
	while (!TAILQ_EMPTY(&all->over)) {
		struct visit *visit = TAILQ_FIRST(&all->over);

		TAILQ_REMOVE(&all->over, visit, place);
		free(visit);
	}
}

static void signal_event(struct reactor_watch *watch, uint32_t events UNUSED)
{
	struct watch *all = CONTAINER_OF(watch, struct watch, signals);
	struct signalfd_siginfo info;

	if (read(all->signal_fd, &info, sizeof(info)) == sizeof(info))
		all->ending = true;
}

static int signals_open(struct watch *all)
{
	sigset_t set;

	(void) sigemptyset(&set);
	(void) sigaddset(&set, SIGTERM);
	(void) sigprocmask(SIG_BLOCK, &set, NULL);
	all->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (all->signal_fd < 0)
		return -errno;
	all->signals.fn = signal_event;
	return reactor_add(all->reactor, all->signal_fd, EPOLLIN, &all->signals);
}

static int run(struct watch *all)
{
	int64_t due_ns = reactor_now_ns();
	int r = 0;

	while (r >= 0 && (!all->ending || !TAILQ_EMPTY(&all->visits))) {
		int64_t now_ns = reactor_now_ns();

		while (!all->ending && due_ns <= now_ns) {
			visit_begin(all, due_ns);
			due_ns += all->options->interval_ns;
		}
		r = reactor_turn(all->reactor, MIN(due_ns, now_ns + LOOK_NS));
		look_for_timeouts(all);
		free_over(all);
	}
	return r;
}

static void tell(const struct watch *all)
{
	(void) printf("requests %" PRIu64 "\nfailed %" PRIu64 "\np50_ms %.1f\nlongest_ms %.1f\n",
	              histogram_count(all->times), all->failed,
	              (double) histogram_at(all->times, 0.5) / NS_PER_MS,
	              (double) histogram_max(all->times) / NS_PER_MS);
	for (unsigned i = 0; i < ORIGINS; i++)
		if (all->last_ns[i] != 0)
			(void) printf("last_from_%u %.0f\n", i, (double) all->last_ns[i] / NS_PER_MS);
}

int load_watch(const struct load_options *o, struct reactor *reactor)
{
	AUTO(histogram_free) struct histogram *times = histogram_new();
	struct watch all = {.options = o, .reactor = reactor, .times = times, .signal_fd = -1};
	int r;

	TAILQ_INIT(&all.visits);
	TAILQ_INIT(&all.over);
	r = signals_open(&all);
	if (r >= 0)
		r = run(&all);
	if (r >= 0)
		tell(&all);
	if (all.signal_fd >= 0)
		(void) close(all.signal_fd);
	return r;
}
