/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A clock that goes in steps of 10 ms, and at each step all who are due ask. Requests are counted
 * by the second. As prism does, whoever hears of a fall from a client asks sooner, but never sooner
 * after its last question than its pause.
 */
#include "bench/tools/scale/model.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "prism/balance.h"
#include "prism/probing.h"

#define STEP_US (10 * US_PER_MS)

struct upstream {
	struct judge judge;
	unsigned connections;
	int64_t sent_us;
	int64_t due_us;
};

struct node {
	struct balance_random random;
	uint64_t number;
	struct upstream upstreams[MODEL_SERVERS_MAX];
};

struct model {
	const struct model_options *o;
	struct node *nodes;
	struct endpoint servers[MODEL_SERVERS_MAX];
	int64_t steady_us, falls_us, starts_us, ready_us, end_us;
	unsigned *answered, *refused; /* by the second */
};

static double share(struct balance_random *random)
{
	return (double) (balance_next(random) >> 11) / (double) (UINT64_C(1) << 53);
}

static bool is_good(enum judge_state state)
{
	return state == JUDGE_READY || state == JUDGE_ALIVE;
}

static int64_t pause_us(const struct model *m, struct node *n, size_t which)
{
	bool others = false;

	for (size_t i = 0; i < m->o->servers; i++)
		others = others || (i != which && is_good(n->upstreams[i].judge.state));
	return probing_draw_us(&n->random,
	                       judge_pause(&n->upstreams[which].judge, &m->o->rules,
	                                   (struct judge_place){
	                                       .others_serve = others && !m->o->hurry,
	                                       .carries = n->upstreams[which].connections > 0,
	                                   }));
}

static enum judge_evidence answer_of(const struct model *m, size_t which, int64_t now)
{
	if ((which > 0 && !m->o->all) || now < m->falls_us || now >= m->ready_us)
		return JUDGE_PROBE_READY;
	return now < m->starts_us ? JUDGE_PROBE_DOWN : JUDGE_PROBE_NOT_READY;
}

static void place(const struct model *m, struct node *n, unsigned connections)
{
	for (; connections > 0; connections--) {
		struct balance_candidate candidates[MODEL_SERVERS_MAX];
		size_t order[BALANCE_MAX];

		for (size_t i = 0; i < m->o->servers; i++)
			candidates[i] = (struct balance_candidate){
			    .state = n->upstreams[i].judge.state,
			    .connections = n->upstreams[i].connections,
			    .home = balance_home(n->number, &m->servers[i]),
			};
		(void) balance_order(candidates, m->o->servers, &n->random, order);
		n->upstreams[order[0]].connections++;
	}
}

/* The connections of one that has fallen are made again elsewhere. */
static void leave(const struct model *m, struct node *n, size_t which)
{
	unsigned connections = n->upstreams[which].connections;

	if (is_good(n->upstreams[which].judge.state))
		return;
	n->upstreams[which].connections = 0;
	place(m, n, connections);
}

static void ask(struct model *m, struct node *n, size_t which, int64_t now)
{
	struct upstream *u = &n->upstreams[which];
	enum judge_evidence evidence = answer_of(m, which, now);

	if (which == 0)
		(evidence == JUDGE_PROBE_DOWN ? m->refused : m->answered)[now / US_PER_S]++;
	u->sent_us = now;
	(void) judge_fold(&u->judge, &m->o->rules, evidence, NULL, now);
	leave(m, n, which);
	u->due_us = now + pause_us(m, n, which);
}

/* Its clients' connections are refused, and are told to go elsewhere. */
static void fall(struct model *m, struct node *n, int64_t now)
{
	for (size_t i = 0; i < (m->o->all ? m->o->servers : 1); i++) {
		struct upstream *u = &n->upstreams[i];

		(void) judge_fold(&u->judge, &m->o->rules, JUDGE_CONNECT_FAILED, NULL, now);
		leave(m, n, i);
		u->due_us = MIN(u->due_us, u->sent_us + pause_us(m, n, i));
	}
}

static void begin(struct model *m, struct balance_random *random)
{
	for (unsigned i = 0; i < m->o->nodes; i++) {
		struct node *n = &m->nodes[i];
		int64_t at = (int64_t) (share(random) * m->o->begin_s * US_PER_S);

		n->random.state = balance_next(random) | 1;
		n->number = balance_next(random);
		for (size_t k = 0; k < m->o->servers; k++) {
			judge_init(&n->upstreams[k].judge, false, at);
			n->upstreams[k].due_us = at;
		}
		place(m, n, m->o->connections);
	}
}

static unsigned most_in(const unsigned *counts, int64_t from_us, int64_t until_us, unsigned seconds)
{
	unsigned most = 0;

	for (int64_t s = from_us / US_PER_S; (s + seconds) * US_PER_S <= until_us; s++) {
		unsigned sum = 0;

		for (unsigned i = 0; i < seconds; i++)
			sum += counts[s + i];
		most = MAX(most, sum);
	}
	return most;
}

/* How many nodes say that the first one is ready. */
static unsigned n_ready(const struct model *m)
{
	unsigned n = 0;

	for (unsigned i = 0; i < m->o->nodes; i++)
		n += m->nodes[i].upstreams[0].judge.state == JUDGE_READY;
	return n;
}

static void note_return(const struct model *m, int64_t now, struct model_result *result)
{
	unsigned n = n_ready(m);
	double since_s = (double) (now - m->ready_us) / (double) US_PER_S;

	if (result->half_s < 0 && 2 * n >= m->o->nodes)
		result->half_s = since_s;
	if (result->all_s < 0 && n == m->o->nodes)
		result->all_s = since_s;
}

static void step(struct model *m, struct balance_random *random, int64_t now)
{
	for (unsigned i = 0; i < m->o->nodes; i++) {
		struct node *n = &m->nodes[i];

		if (now == m->falls_us && m->o->down_s > 0 && share(random) < m->o->clients)
			fall(m, n, now);
		for (size_t k = 0; k < m->o->servers; k++) {
			if (n->upstreams[k].due_us <= now)
				ask(m, n, k, now);
		}
	}
}

struct model_result model_run(const struct model_options *o)
{
	struct model m = {.o = o};
	struct model_result result = {.half_s = -1, .all_s = -1};
	struct balance_random random = {.state = o->seed};
	AUTO(free) struct node *nodes = xcalloc(o->nodes, sizeof(*nodes));
	AUTO(free) unsigned *answered = NULL, *refused = NULL;
	unsigned steady = 0;
	size_t seconds;

	m.steady_us = (o->begin_s + o->warm_s) * US_PER_S;
	m.falls_us = m.steady_us + o->steady_s * US_PER_S;
	m.starts_us = m.falls_us + o->down_s * US_PER_S;
	m.ready_us = m.starts_us + o->starts_s * US_PER_S;
	m.end_us = m.ready_us + o->after_s * US_PER_S;
	seconds = (size_t) (m.end_us / US_PER_S) + 1;
	m.nodes = nodes;
	m.answered = answered = xcalloc(seconds, sizeof(*answered));
	m.refused = refused = xcalloc(seconds, sizeof(*refused));
	for (size_t k = 0; k < o->servers; k++)
		m.servers[k] = (struct endpoint){
		    .addr = {.family = AF_INET, .bytes = {10, 0, 0, (uint8_t) (k + 1)}}, .port = 6443};
	begin(&m, &random);
	for (int64_t now = 0; now < m.end_us; now += STEP_US) {
		step(&m, &random, now);
		if (now >= m.ready_us && result.all_s < 0)
			note_return(&m, now, &result);
	}
	for (int64_t s = m.steady_us / US_PER_S; s < m.falls_us / US_PER_S; s++)
		steady += answered[s];
	result.steady_per_s = (double) steady / o->steady_s;
	result.steady_peak = most_in(answered, m.steady_us, m.falls_us, 1);
	result.refused_peak = most_in(refused, m.falls_us, m.starts_us, 1);
	result.starts_peak = most_in(answered, m.starts_us, m.ready_us, 1);
	result.after_peak = most_in(answered, m.ready_us, m.end_us, 1);
	result.after_peak_10s = most_in(answered, m.ready_us, m.end_us, 10);
	return result;
}
