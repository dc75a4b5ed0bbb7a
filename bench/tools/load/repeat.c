/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The closed loop, see load.h. What is counted is what was done between two readings of the
 * balancer's CPU clock, so that neither the start nor the end of the run is in it.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/macro.h"
#include "base/mem.h"
#include "bench/tools/load/load.h"

#define FAILED_MAX 1000 /* it does not work: no figure */
#define BYTES_PER_MIB (1 << 20)

struct repeat;

struct repeater {
	struct link link;
	struct repeat *all;
};

struct repeat {
	const struct load_options *options;
	struct reactor *reactor;
	bool anew;
	uint64_t answered;
	uint64_t failed;
	uint64_t moved;
};

/* At one moment of the run. */
struct reading {
	int64_t at_ns;
	int64_t cpu_ns;
	uint64_t answered;
	uint64_t failed;
	uint64_t moved;
};

static void begin(struct repeater *repeater)
{
	struct repeat *all = repeater->all;
	struct link *link = &repeater->link;

	while (all->failed < FAILED_MAX) {
		int r = link->is_open ? 0 : link_open(link, all->reactor, &all->options->to);

		if (r >= 0)
			r = link_ask(link, &all->options->message);
		if (r >= 0)
			return;
		all->failed++;
	}
}

static void repeat_done(struct link *link, int r)
{
	struct repeater *repeater = CONTAINER_OF(link, struct repeater, link);
	struct repeat *all = repeater->all;

	if (r < 0)
		all->failed++;
	else
		all->answered++;
	if (all->anew)
		link_close(link);
	begin(repeater);
}

static int read_now(const struct repeat *all, struct reading *ret_reading)
{
	*ret_reading = (struct reading){
	    .at_ns = reactor_now_ns(),
	    .answered = all->answered,
	    .failed = all->failed,
	    .moved = all->moved,
	};
	return load_cpu_ns(all->options, &ret_reading->cpu_ns);
}

static int run_for(const struct repeat *all, int64_t ns)
{
	int64_t end_ns = reactor_now_ns() + ns;

	while (reactor_now_ns() < end_ns) {
		int r = reactor_turn(all->reactor, end_ns);

		if (r < 0)
			return r;
		if (all->failed >= FAILED_MAX)
			return -EIO;
	}
	return 0;
}

static void tell(const struct reading *from, const struct reading *to)
{
	double seconds = (double) (to->at_ns - from->at_ns) / (double) NS_PER_S;
	double cpu_us = (double) (to->cpu_ns - from->cpu_ns) / (double) NS_PER_US;
	uint64_t requests = to->answered - from->answered;
	double mib = (double) (to->moved - from->moved) / BYTES_PER_MIB;

	(void) printf("requests %" PRIu64 "\nfailed %" PRIu64 "\nseconds %.3f\nrate %.1f\n"
	              "cpu_us %.0f\ncpu_share %.3f\n",
	              requests, to->failed - from->failed, seconds, (double) requests / seconds, cpu_us,
	              cpu_us / seconds / 1e6);
	if (requests > 0)
		(void) printf("cpu_us_per_request %.3f\ncpu_us_per_mib %.3f\n", cpu_us / (double) requests,
		              cpu_us / mib);
}

int load_repeat(const struct load_options *o, struct reactor *reactor, bool anew)
{
	AUTO(free) struct repeater *repeaters = xcalloc(o->connections, sizeof(*repeaters));
	struct repeat all = {.options = o, .reactor = reactor, .anew = anew};
	struct reading from, to;
	int r;

	for (unsigned i = 0; i < o->connections; i++) {
		repeaters[i].all = &all;
		repeaters[i].link.done = repeat_done;
		repeaters[i].link.moved = &all.moved;
		begin(&repeaters[i]);
	}
	r = run_for(&all, o->warm_ns);
	if (r >= 0)
		r = read_now(&all, &from);
	if (r >= 0)
		r = run_for(&all, o->measure_ns);
	if (r >= 0)
		r = read_now(&all, &to);
	for (unsigned i = 0; i < o->connections; i++)
		link_close(&repeaters[i].link);
	if (r >= 0)
		tell(&from, &to);
	return r;
}
