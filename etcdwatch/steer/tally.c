/* SPDX-License-Identifier: Apache-2.0 */
/* Every combination has a sample from the start, so that what happens first shows as an increase.
 */
#include "etcdwatch/steer/tally.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/mono.h"

/* --- upkeepdue --- */

/* Room goes first: while there is none, nothing can be locked, and recovering defragments too. */

const char *upkeepdue_name(enum upkeep_what what)
{
	static const char *const names[] = {
	    [UPKEEP_NOTHING] = "nothing",
	    [UPKEEP_DEFRAG] = "defrag",
	    [UPKEEP_RECOVER] = "recover-space",
	};

	return names[what];
}

enum upkeep_what upkeepdue_look(const struct config_watch *watch, const struct upkeep_past *past,
                                bool no_space, int64_t now_s)
{
	if (no_space) {
		/* Farther away than any is set: the clock was set back. */
		bool may = now_s >= past->recover_s || past->recover_s > now_s + UPKEEP_AGAIN_S;

		return watch->recover_space && may ? UPKEEP_RECOVER : UPKEEP_NOTHING;
	}
	if (watch->defrag.enabled &&
	    schedule_previous(&watch->defrag.schedule, watch->zone, now_s) > past->defrag_s)
		return UPKEEP_DEFRAG;
	return UPKEEP_NOTHING;
}

/* Recovering takes no lock, and moves the leadership on its way: one who leads then would begin a
 * second. Whether that voter is healthy does not matter, since the plan wants all to be. */
static const struct survey_member *first_voter(const struct survey *survey)
{
	const struct survey_member *first = NULL;

	for (size_t i = 0; i < survey->n_members; i++) {
		const struct survey_member *m = &survey->members[i];

		if (m->listed && !m->learner && (first == NULL || m->id < first->id))
			first = m;
	}
	return first;
}

const struct survey_member *upkeepdue_whose(enum upkeep_what what, const struct survey *survey)
{
	return what == UPKEEP_RECOVER ? first_voter(survey) : survey_leader(survey);
}

static const char *const result_names[TALLY_RESULTS_N] = {
    [TALLY_DONE] = "done",
    [TALLY_FAILED] = "failed",
    [TALLY_REFUSED] = "refused",
    [TALLY_NEEDLESS] = "needless",
};

/* --- counting --- */

/* The one of that name, or a new one, or the oldest. One that replaced another has its name, and no
 * two samples may have the same labels. */
static struct tally_defrag *place_for(struct tally *t, const char *name)
{
	struct tally_defrag *oldest = &t->defrags[0];

	for (size_t i = 0; i < t->n_defrags; i++) {
		if (strcmp(t->defrags[i].name, name) == 0)
			return &t->defrags[i];
		if (t->defrags[i].at_s < oldest->at_s)
			oldest = &t->defrags[i];
	}
	return t->n_defrags < TALLY_MEMBERS_MAX ? &t->defrags[t->n_defrags++] : oldest;
}

static void add_defrag(struct tally *t, const struct step *step, const struct tally_cost *cost)
{
	struct tally_defrag *last = place_for(t, step->name);

	t->defrag_us += cost->took_us;
	t->stall_us += MAX(cost->stall_us, 0);
	t->leader_stall_us += MAX(cost->leader_stall_us, 0);
	t->freed_bytes += (uint64_t) MAX(step->db_bytes - cost->db_bytes, 0);
	(void) snprintf(last->name, sizeof(last->name), "%s", step->name);
	last->stall_us = MAX(cost->stall_us, 0);
	last->at_s = cost->at_s;
}

void tally_step(struct tally *t, const struct step *step, const struct tally_cost *cost)
{
	if (t == NULL)
		return;
	t->steps[step->kind][cost != NULL ? TALLY_DONE : TALLY_FAILED]++;
	if (cost != NULL && step->kind == STEP_DEFRAGMENT)
		add_defrag(t, step, cost);
}

void tally_upkeep(struct tally *t, enum upkeep_what what, enum tally_result result)
{
	if (t != NULL)
		t->upkeep[what][result]++;
}

/* --- telling --- */

static double seconds(int64_t us)
{
	return (double) us / (double) US_PER_S;
}

static void add_steps(struct metrics *m, const struct tally *t)
{
	metrics_family(m, "fairlead_etcdwatch_steps_total{step,result}", METRICS_COUNTER,
	               "Steps by which this node has changed the cluster.");
	for (size_t kind = 0; kind < ARRAY_SIZE(t->steps); kind++) {
		for (size_t result = TALLY_DONE; result <= TALLY_FAILED; result++) {
			const struct metrics_label labels[] = {{"step", step_kind_name((enum step_kind) kind)},
			                                       {"result", result_names[result]}};

			metrics_sample(m, (double) t->steps[kind][result], labels, ARRAY_SIZE(labels));
		}
	}
}

static void add_upkeep(struct metrics *m, const struct tally *t)
{
	metrics_family(m, "fairlead_etcdwatch_upkeep_total{what,result}", METRICS_COUNTER,
	               "What this node has begun to do by itself, and how it ended.");
	for (size_t what = UPKEEP_DEFRAG; what < ARRAY_SIZE(t->upkeep); what++) {
		for (size_t result = 0; result < TALLY_RESULTS_N; result++) {
			const struct metrics_label labels[] = {
			    {"what", upkeepdue_name((enum upkeep_what) what)},
			    {"result", result_names[result]}};

			metrics_sample(m, (double) t->upkeep[what][result], labels, ARRAY_SIZE(labels));
		}
	}
}

static void add_defrags(struct metrics *m, const struct tally *t)
{
	metrics_family(m, "fairlead_etcdwatch_defrag_last_timestamp_seconds{member}", METRICS_GAUGE,
	               "When the member's database was last written anew by this node.");
	for (size_t i = 0; i < t->n_defrags; i++)
		metrics_sample(m, (double) t->defrags[i].at_s,
		               &(struct metrics_label){"member", t->defrags[i].name}, 1);
	metrics_family(m, "fairlead_etcdwatch_defrag_last_stall_seconds{member}", METRICS_GAUGE,
	               "The longest that a read of the member had to wait then.");
	for (size_t i = 0; i < t->n_defrags; i++)
		metrics_sample(m, seconds(t->defrags[i].stall_us),
		               &(struct metrics_label){"member", t->defrags[i].name}, 1);
}

void tally_metrics(struct metrics *m, const struct tally *t)
{
	add_steps(m, t);
	add_upkeep(m, t);
	metrics_family(m, "fairlead_etcdwatch_defrag_seconds_total", METRICS_COUNTER,
	               "How long databases were written anew.");
	metrics_sample(m, seconds(t->defrag_us), NULL, 0);
	metrics_family(m, "fairlead_etcdwatch_defrag_freed_bytes_total", METRICS_COUNTER,
	               "By how much that has made them smaller.");
	metrics_sample(m, (double) t->freed_bytes, NULL, 0);
	metrics_family(m, "fairlead_etcdwatch_defrag_stall_seconds_total{of}", METRICS_COUNTER,
	               "The longest wait of a read at each, added up.");
	metrics_sample(m, seconds(t->stall_us), &(struct metrics_label){"of", "member"}, 1);
	metrics_sample(m, seconds(t->leader_stall_us), &(struct metrics_label){"of", "leader"}, 1);
	add_defrags(m, t);
}
