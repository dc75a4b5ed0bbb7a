/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Idle connections, see load.h. They have each carried something once, as real ones have: buffers
 * that a balancer keeps from then on are part of what a connection costs.
 */

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>

#include "base/macro.h"
#include "base/mem.h"
#include "bench/tools/load/load.h"

#define OPENING_AT_ONCE 64

struct hold;

struct holder {
	struct link link;
	struct hold *all;
	bool answered;
};

struct hold {
	struct reactor_watch input;
	unsigned opening;
	unsigned held;
	unsigned lost;
	uint64_t moved;
	bool ended;
};

static void hold_done(struct link *link, int r)
{
	struct holder *holder = CONTAINER_OF(link, struct holder, link);
	struct hold *all = holder->all;

	if (!holder->answered)
		all->opening--;
	if (r < 0)
		all->lost++;
	else
		all->held++;
	holder->answered = true;
}

static void input_event(struct reactor_watch *watch, uint32_t events UNUSED)
{
	struct hold *all = CONTAINER_OF(watch, struct hold, input);
	char ignored[64];

	if (read(STDIN_FILENO, ignored, sizeof(ignored)) <= 0)
		all->ended = true;
}

static int open_all(const struct load_options *o, struct reactor *reactor, struct hold *all,
                    struct holder *holders)
{
	int64_t end_ns = reactor_now_ns() + o->timeout_ns;
	unsigned begun = 0;

	while (all->held + all->lost < o->connections) {
		int r = 0;

		while (begun < o->connections && all->opening < OPENING_AT_ONCE && r >= 0) {
			struct holder *holder = &holders[begun++];

			holder->all = all;
			holder->link.done = hold_done;
			holder->link.moved = &all->moved;
			all->opening++;
			r = link_open(&holder->link, reactor, &o->to);
			if (r >= 0)
				r = link_ask(&holder->link, &o->message);
		}
		if (r >= 0)
			r = reactor_turn(reactor, end_ns);
		if (r < 0)
			return r;
		if (reactor_now_ns() >= end_ns)
			return -ETIMEDOUT;
	}
	return 0;
}

int load_hold(const struct load_options *o, struct reactor *reactor)
{
	AUTO(free) struct holder *holders = xcalloc(o->connections, sizeof(*holders));
	struct hold all = {.input.fn = input_event};
	int r = open_all(o, reactor, &all, holders);

	if (r >= 0)
		r = reactor_add(reactor, STDIN_FILENO, EPOLLIN, &all.input);
	if (r >= 0) {
		(void) printf("held %u\n", all.held);
		(void) fflush(stdout);
	}
	while (r >= 0 && !all.ended)
		r = reactor_turn(reactor, reactor_now_ns() + NS_PER_S);
	for (unsigned i = 0; i < o->connections; i++)
		link_close(&holders[i].link);
	if (r >= 0)
		(void) printf("lost %u\n", all.lost);
	return r;
}
