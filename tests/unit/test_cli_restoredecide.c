/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes next in a restore of the whole cluster. All combinations of phases of three nodes are
 * judged one by one; then every order of events is walked through from the beginning: each step on
 * any of the nodes it is for, interrupted anywhere, forward or back at each decision.
 */
#include "cli/restore/restoredecide.h"

#include "base/macro.h"
#include "tests/unit/check.h"

#define N 3
#define N_ALL (RESTORE_N_PHASES * RESTORE_N_PHASES * RESTORE_N_PHASES)

static void unpack(unsigned number, struct restoredecide_node nodes[static N])
{
	for (unsigned i = 0; i < N; i++, number /= RESTORE_N_PHASES)
		nodes[i] = (struct restoredecide_node){
		    .reached = true, .phase = (enum restore_phase)(number % RESTORE_N_PHASES)};
}

static unsigned pack(const struct restoredecide_node nodes[static N])
{
	unsigned number = 0;

	for (unsigned i = N; i-- > 0;)
		number = number * RESTORE_N_PHASES + nodes[i].phase;
	return number;
}

static bool old_may_run(enum restore_phase phase)
{
	return phase == RESTORE_NONE || phase == RESTORE_PREPARED || phase == RESTORE_STOPPING;
}

static bool new_may_run(enum restore_phase phase)
{
	return phase == RESTORE_STARTED || phase == RESTORE_DONE;
}

static bool is_new(enum restore_phase phase)
{
	return phase == RESTORE_EXCHANGED || new_may_run(phase);
}

static size_t count(const struct restoredecide_node nodes[static N], bool (*is)(enum restore_phase))
{
	size_t n = 0;

	for (size_t i = 0; i < N; i++)
		n += is(nodes[i].phase);
	return n;
}

static bool is_back(enum restore_phase phase)
{
	return phase == RESTORE_NONE || phase == RESTORE_RETURNED;
}

/* What each step leads to. */
static enum restore_phase after(enum restore_step step)
{
	switch (step) {
	case RESTORE_PREPARE:
		return RESTORE_PREPARED;
	case RESTORE_STOP:
		return RESTORE_STOPPED;
	case RESTORE_EXCHANGE:
		return RESTORE_EXCHANGED;
	case RESTORE_START:
		return RESTORE_STARTED;
	case RESTORE_FINISH:
		return RESTORE_DONE;
	case RESTORE_RETURN:
		return RESTORE_RETURNED;
	case RESTORE_REVIVE:
		return RESTORE_NONE;
	case RESTORE_NOTHING:
	case RESTORE_UNREACHED:
	case RESTORE_NO_MAJORITY:
	case RESTORE_GOING_BACK:
	case RESTORE_TOO_LATE:
	case RESTORE_FORGOTTEN:
		break;
	}
	return RESTORE_N_PHASES;
}

static void test_all_combinations(void)
{
	for (unsigned k = 0; k < 2 * N_ALL; k++) {
		struct restoredecide_node nodes[N];
		struct restoredecide next;

		unpack(k / 2, nodes);
		next = restoredecide_next(nodes, N, k % 2 == 1);
		CHECK((next.step == RESTORE_NOTHING) == (next.who == 0));
		if (next.step == RESTORE_EXCHANGE)
			CHECK_EQ_INT(count(nodes, old_may_run), 0);
		if (next.step == RESTORE_START)
			CHECK_EQ_INT(count(nodes, is_new), N);
		if (next.step == RESTORE_RETURN || next.step == RESTORE_REVIVE)
			CHECK_EQ_INT(count(nodes, new_may_run), 0);
		if (next.step == RESTORE_REVIVE)
			CHECK_EQ_INT(count(nodes, is_back), N);
		if (next.step == RESTORE_PREPARE)
			CHECK_EQ_INT(count(nodes, new_may_run), 0);
		/* A step of one direction is none of the other. */
		if (k % 2 == 1)
			CHECK(next.step > RESTORE_FINISH);
		else
			CHECK(next.step != RESTORE_RETURN && next.step != RESTORE_REVIVE &&
			      next.step != RESTORE_TOO_LATE);
		for (unsigned i = 0; i < N; i++) {
			if ((next.who & (1u << i)) != 0 && next.step < RESTORE_NOTHING &&
			    next.step != RESTORE_STOP && next.step != RESTORE_RETURN)
				CHECK(restorephase_allows(nodes[i].phase, after(next.step)));
		}
	}
}

/* --- every order of events --- */

static bool seen[N_ALL];
static unsigned queue[N_ALL], n_queued;

static void reach(const struct restoredecide_node nodes[static N])
{
	unsigned number = pack(nodes);

	if (seen[number])
		return;
	seen[number] = true;
	queue[n_queued++] = number;
}

/* One that was interrupted in the middle has written what it intends. */
static void reach_both(struct restoredecide_node nodes[static N], unsigned i,
                       enum restore_step step)
{
	enum restore_phase before = nodes[i].phase;

	nodes[i].phase = after(step);
	reach(nodes);
	if (step == RESTORE_STOP || step == RESTORE_RETURN) {
		nodes[i].phase = step == RESTORE_STOP ? RESTORE_STOPPING : RESTORE_RETURNING;
		reach(nodes);
	}
	nodes[i].phase = before;
}

/* The old cluster and the new one never run at the same time, and there is always a way. */
static void test_every_order(void)
{
	struct restoredecide_node nodes[N];

	unpack(0, nodes);
	reach(nodes);
	for (unsigned k = 0; k < n_queued; k++) {
		enum restore_step steps[2];

		unpack(queue[k], nodes);
		CHECK(count(nodes, old_may_run) == 0 || count(nodes, new_may_run) == 0);
		CHECK(count(nodes, new_may_run) == 0 || count(nodes, is_new) == N);
		for (unsigned back = 0; back < 2; back++) {
			struct restoredecide next = restoredecide_next(nodes, N, back == 1);

			steps[back] = next.step;
			for (unsigned i = 0; next.step < RESTORE_NOTHING && i < N; i++) {
				if ((next.who & (1u << i)) != 0)
					reach_both(nodes, i, next.step);
			}
		}
		CHECK(steps[0] != RESTORE_GOING_BACK || steps[1] == RESTORE_RETURN ||
		      steps[1] == RESTORE_REVIVE);
		CHECK(steps[1] != RESTORE_TOO_LATE || steps[0] <= RESTORE_NOTHING);
	}
	for (unsigned i = 0; i < N; i++)
		nodes[i].phase = RESTORE_DONE;
	CHECK(seen[pack(nodes)]);
}

/* --- who takes part --- */

static void test_parts(void)
{
	/* One letter a node: r reached, u not reached, x excused; their phase is "exchanged". */
	static const struct {
		const char *nodes;
		bool back;
		enum restore_step step;
		uint64_t who;
	} cases[] = {
	    {"rrr", false, RESTORE_START, 7},      {"rur", false, RESTORE_UNREACHED, 2},
	    {"rxr", false, RESTORE_START, 5},      {"rxx", false, RESTORE_NO_MAJORITY, 6},
	    {"rx", false, RESTORE_NO_MAJORITY, 2}, {"uxr", false, RESTORE_UNREACHED, 1},
	    {"r", false, RESTORE_START, 1},        {"x", false, RESTORE_NO_MAJORITY, 1},
	    {"rrrxx", false, RESTORE_START, 7},    {"rrxx", false, RESTORE_NO_MAJORITY, 12},
	    {"rur", true, RESTORE_UNREACHED, 2},   {"rxr", true, RESTORE_RETURN, 5},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct restoredecide_node nodes[8];
		size_t n = strlen(cases[i].nodes);
		struct restoredecide next;

		for (size_t k = 0; k < n; k++)
			nodes[k] = (struct restoredecide_node){
			    .excused = cases[i].nodes[k] == 'x',
			    .reached = cases[i].nodes[k] == 'r',
			    .phase = RESTORE_EXCHANGED,
			};
		next = restoredecide_next(nodes, n, cases[i].back);
		if (!CHECK_EQ_INT(next.step, cases[i].step) || !CHECK_EQ_INT(next.who, cases[i].who))
			(void) fprintf(stderr, "  of '%s'\n", cases[i].nodes);
	}
}

static void test_names(void)
{
	for (unsigned i = 0; i < RESTORE_N_PHASES; i++) {
		enum restore_phase phase = RESTORE_N_PHASES;

		CHECK(restorephase_parse(restorephase_name((enum restore_phase) i), &phase));
		CHECK_EQ_INT(phase, i);
	}
	CHECK(!restorephase_parse("halfway", &(enum restore_phase){0}));
	CHECK(!restorephase_parse(NULL, &(enum restore_phase){0}));
	CHECK(!restorephase_allows(RESTORE_STARTED, RESTORE_RETURNING));
	CHECK(!restorephase_allows(RESTORE_RETURNING, RESTORE_EXCHANGED));
	CHECK(!restorephase_allows(RESTORE_PREPARED, RESTORE_EXCHANGED));
}

int main(void)
{
	test_all_combinations();
	test_every_order();
	test_parts();
	test_names();
	return check_result();
}
