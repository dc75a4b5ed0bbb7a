/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The open loop, see load.h. A question that finds no connection free waits in a queue and keeps
 * its time: a balancer that stops for a moment pays for all who came meanwhile. The queue's length
 * is bounded by what one who cannot keep up would make of it: that ends the run.
 */

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/macro.h"
#include "base/mem.h"
#include "bench/tools/common/histogram.h"
#include "bench/tools/load/load.h"

#define QUEUE_MAX (1U << 17)

struct paced;

struct asker {
	struct link link;
	struct paced *all;
	int64_t due_ns; /* of the question under way */
	struct asker *next_free;
};

struct paced {
	const struct load_options *options;
	struct reactor *reactor;
	struct histogram *times;
	struct asker *free;
	int64_t *queue; /* a ring of due times */
	unsigned queue_first;
	unsigned queue_n;
	uint64_t random;
	int64_t next_due_ns;
	uint64_t failed;
	uint64_t moved;
	unsigned opened;
};

/* The time to the next question: -ln(u) / rate; u by xorshift64*, in (0, 1]. */
static int64_t next_gap_ns(struct paced *all)
{
	double u;

	all->random ^= all->random >> 12;
	all->random ^= all->random << 25;
	all->random ^= all->random >> 27;
	u = (double) ((all->random * UINT64_C(0x2545F4914F6CDD1D) >> 11) + 1) * 0x1p-53;
	return (int64_t) (-log(u) / all->options->rate * (double) NS_PER_S);
}

static void ask(struct asker *asker, int64_t due_ns)
{
	asker->due_ns = due_ns;
	if (link_ask(&asker->link, &asker->all->options->message) < 0)
		asker->all->failed++;
}

static int ask_or_queue(struct paced *all, int64_t due_ns)
{
	struct asker *asker = all->free;

	if (asker != NULL) {
		all->free = asker->next_free;
		ask(asker, due_ns);
		return 0;
	}
	if (all->queue_n == QUEUE_MAX)
		return -EOVERFLOW;
	all->queue[(all->queue_first + all->queue_n++) % QUEUE_MAX] = due_ns;
	return 0;
}

static void paced_done(struct link *link, int r)
{
	struct asker *asker = CONTAINER_OF(link, struct asker, link);
	struct paced *all = asker->all;

	if (r < 0) {
		all->failed++;
		return;
	}
	if (asker->due_ns != 0)
		histogram_add(all->times, reactor_now_ns() - asker->due_ns);
	else
		all->opened++;
	if (all->queue_n > 0) {
		int64_t due_ns = all->queue[all->queue_first];

		all->queue_first = (all->queue_first + 1) % QUEUE_MAX;
		all->queue_n--;
		ask(asker, due_ns);
		return;
	}
	asker->next_free = all->free;
	all->free = asker;
}

/* Opens every connection, all the way to the origin: the first answer on each is not measured. */
static int open_all(struct paced *all, struct asker *askers)
{
	const struct load_options *o = all->options;
	int64_t end_ns = reactor_now_ns() + o->timeout_ns;
	int r;

	for (unsigned i = 0; i < o->connections; i++) {
		askers[i].all = all;
		askers[i].link.done = paced_done;
		askers[i].link.moved = &all->moved;
		r = link_open(&askers[i].link, all->reactor, &o->to);
		if (r >= 0)
			r = link_ask(&askers[i].link, &o->message);
		if (r < 0)
			return r;
	}
	while (all->opened < o->connections) {
		if (all->failed > 0)
			return -EIO;
		if (reactor_now_ns() >= end_ns)
			return -ETIMEDOUT;
		r = reactor_turn(all->reactor, end_ns);
		if (r < 0)
			return r;
	}
	return 0;
}

static int run_until(struct paced *all, int64_t end_ns)
{
	while (all->next_due_ns < end_ns) {
		int r = reactor_turn(all->reactor, all->next_due_ns);

		if (r < 0)
			return r;
		if (all->failed >= all->options->connections)
			return -EIO;
		while (all->next_due_ns < end_ns && all->next_due_ns <= reactor_now_ns()) {
			r = ask_or_queue(all, all->next_due_ns);
			if (r < 0)
				return r;
			all->next_due_ns += next_gap_ns(all);
		}
	}
	return 0;
}

static void tell(const struct paced *all)
{
	static const struct {
		const char *name;
		double share;
	} ranks[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}, {"max", 1}};

	(void) printf("requests %" PRIu64 "\nfailed %" PRIu64 "\n", histogram_count(all->times),
	              all->failed);
	for (size_t i = 0; i < ARRAY_SIZE(ranks); i++)
		(void) printf("%s_us %.1f\n", ranks[i].name,
		              (double) histogram_at(all->times, ranks[i].share) / (double) NS_PER_US);
}

int load_paced(const struct load_options *o, struct reactor *reactor)
{
	AUTO(histogram_free) struct histogram *times = histogram_new();
	AUTO(free) struct asker *askers = xcalloc(o->connections, sizeof(*askers));
	AUTO(free) int64_t *queue = xcalloc(QUEUE_MAX, sizeof(*queue));
	struct paced all = {
	    .options = o,
	    .reactor = reactor,
	    .times = times,
	    .queue = queue,
	    .random = UINT64_C(0x9E3779B97F4A7C15),
	};
	int r = open_all(&all, askers);

	if (r >= 0) {
		all.next_due_ns = reactor_now_ns() + next_gap_ns(&all);
		r = run_until(&all, reactor_now_ns() + o->warm_ns);
	}
	if (r >= 0) {
		histogram_clear(times);
		r = run_until(&all, reactor_now_ns() + o->measure_ns);
	}
	for (unsigned i = 0; i < o->connections; i++)
		link_close(&askers[i].link);
	if (r >= 0)
		tell(&all);
	return r;
}
