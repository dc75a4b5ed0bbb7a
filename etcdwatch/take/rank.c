/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each member gets a verdict; candidates are sorted by class, then by a number that is drawn for
 * them from job, period and id. The highest number first, of each by itself: who is missing changes
 * nothing for the others.
 */
#include "etcdwatch/take/rank.h"

#include <stdlib.h>

#include "base/macro.h"

/* --- what the members say together --- */

/* A learner has no say in who leads, and may not know. */
static bool has_say(const struct rank_member *m)
{
	return m->is_started && m->answered && !m->is_learner;
}

/* Of two leaders with as many followers, the one of the lower id, only so that all say the same. */
static uint64_t find_leader(const struct rank_member *members, size_t n)
{
	uint64_t leader_id = 0;
	size_t most = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t id = members[i].leader_id;
		size_t followers = 0;

		if (!has_say(&members[i]) || id == 0)
			continue;
		for (size_t k = 0; k < n; k++)
			followers += has_say(&members[k]) && members[k].leader_id == id;
		if (followers > most || (followers == most && id < leader_id)) {
			most = followers;
			leader_id = id;
		}
	}
	return leader_id;
}

static uint64_t find_committed(const struct rank_member *members, size_t n, uint64_t leader_id)
{
	uint64_t committed = 0;

	for (size_t i = 0; i < n; i++) {
		if (has_say(&members[i]) && members[i].leader_id == leader_id)
			committed = MAX(committed, members[i].committed);
	}
	return committed;
}

/* --- one member --- */

struct view {
	const struct rank_facts *facts;
	uint64_t leader_id;
	uint64_t committed;
};

static enum rank_verdict judge(const struct view *view, const struct rank_member *m)
{
	if (!m->is_started)
		return RANK_NOT_STARTED;
	if (m->is_learner)
		return RANK_LEARNER;
	if (!m->answered)
		return RANK_SILENT;
	if (m->leader_id == 0 || m->leader_id != view->leader_id)
		return RANK_LEADERLESS;
	if (view->committed > m->applied && view->committed - m->applied > RANK_LAG_MAX)
		return RANK_BEHIND;
	if (m->id == view->facts->self_id && !view->facts->self_fit)
		return RANK_UNFIT;
	return RANK_CANDIDATE;
}

/* FNV-1a, then mixed once more, because its upper bits depend little on what came last. */
static uint64_t draw(const char *job, int64_t period_s, uint64_t id)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	const uint64_t numbers[] = {(uint64_t) period_s, id};

	for (const char *p = job; *p != '\0'; p++)
		hash = (hash ^ (unsigned char) *p) * UINT64_C(0x100000001b3);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		for (unsigned shift = 0; shift < 64; shift += 8)
			hash = (hash ^ (numbers[i] >> shift & 0xff)) * UINT64_C(0x100000001b3);
	}
	hash = (hash ^ hash >> 32) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

struct ranked {
	uint64_t id;
	enum rank_verdict verdict;
	unsigned class;
	uint64_t number;
};

static struct ranked rank(const struct view *view, const struct rank_member *m)
{
	return (struct ranked){
	    .id = m->id,
	    .verdict = judge(view, m),
	    .class = m->is_corrupt ? 2 : m->id == view->leader_id,
	    .number = draw(view->facts->job, view->facts->period_s, m->id),
	};
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int compare(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	bool x_is = x->verdict == RANK_CANDIDATE, y_is = y->verdict == RANK_CANDIDATE;
	int by_number = COMPARE(y->number, x->number);

	if (x_is != y_is)
		return x_is ? -1 : 1;
	if (x_is && x->class != y->class)
		return COMPARE(x->class, y->class);
	return x_is && by_number != 0 ? by_number : COMPARE(x->id, y->id);
}

/* --- all --- */

void rank_decide(const struct rank_facts *facts, struct rank_order *ret_order)
{
	size_t n = MIN(facts->n_members, (size_t) RANK_MEMBERS_MAX);
	struct view view = {.facts = facts, .leader_id = find_leader(facts->members, n)};
	struct ranked ranked[RANK_MEMBERS_MAX];
	struct rank_order order = {.n = n, .leader_id = view.leader_id};

	view.committed = find_committed(facts->members, n, view.leader_id);
	for (size_t i = 0; i < n; i++)
		ranked[i] = rank(&view, &facts->members[i]);
	qsort(ranked, n, sizeof(ranked[0]), compare);
	for (size_t i = 0; i < n; i++) {
		order.places[i] = (struct rank_place){.id = ranked[i].id, .verdict = ranked[i].verdict};
		if (ranked[i].verdict == RANK_CANDIDATE)
			order.places[i].delay_us = (int64_t) order.n_candidates++ * RANK_STEP_US;
	}
	*ret_order = order;
}

const struct rank_place *rank_find(const struct rank_order *order, uint64_t id)
{
	for (size_t i = 0; i < order->n; i++) {
		if (order->places[i].id == id)
			return &order->places[i];
	}
	return NULL;
}

const char *rank_verdict_name(enum rank_verdict verdict)
{
	static const char *const names[] = {
	    [RANK_CANDIDATE] = "candidate",   [RANK_NOT_STARTED] = "not-started",
	    [RANK_LEARNER] = "learner",       [RANK_SILENT] = "silent",
	    [RANK_LEADERLESS] = "leaderless", [RANK_BEHIND] = "behind",
	    [RANK_UNFIT] = "unfit",
	};

	return names[verdict];
}
