/* SPDX-License-Identifier: Apache-2.0 */
/* From a view to what rank.c is asked, and back. */
#include "etcdwatch/take/place.h"

#include <stdbool.h>
#include <stddef.h>

#include "etcdwatch/take/rank.h"

static const struct view_member *find_local(const struct view *view)
{
	for (size_t i = 0; i < view->n_members; i++) {
		if (view->members[i].local)
			return &view->members[i];
	}
	return NULL;
}

static void rank(const struct view *view, const struct view_member *local, const char *job,
                 int64_t period_s, struct rank_order *ret_order)
{
	struct rank_member members[VIEW_MEMBERS_MAX];

	for (size_t i = 0; i < view->n_members; i++) {
		const struct view_member *m = &view->members[i];

		members[i] = (struct rank_member){
		    .id = m->id,
		    .is_started = m->name[0] != '\0' || m->answers,
		    .is_learner = m->learner,
		    .is_corrupt = m->corrupt,
		    .answered = m->answers,
		    .leader_id = m->leader_id,
		    .committed = m->raft_index,
		    .applied = m->raft_applied_index,
		};
	}
	rank_decide(&(struct rank_facts){.members = members,
	                                 .n_members = view->n_members,
	                                 .self_id = local != NULL ? local->id : 0,
	                                 .self_fit = true,
	                                 .job = job,
	                                 .period_s = period_s},
	            ret_order);
}

static bool can_give(const struct view_member *m)
{
	return m->answers && !m->learner;
}

static const struct view_member *find_any(const struct view *view, const struct view_member *local)
{
	if (local != NULL && can_give(local))
		return local;
	for (size_t i = 0; i < view->n_members; i++) {
		if (can_give(&view->members[i]))
			return &view->members[i];
	}
	return NULL;
}

void place_find(const struct view *view, const char *job, int64_t period_s, struct place *ret_place)
{
	const struct view_member *local = find_local(view);
	const struct rank_place *own;
	struct rank_order order;

	rank(view, local, job, period_s, &order);
	own = local != NULL ? rank_find(&order, local->id) : NULL;
	*ret_place = (struct place){
	    .delay_us = (int64_t) order.n_candidates * RANK_STEP_US,
	    .verdict = own != NULL ? rank_verdict_name(own->verdict) : "no member here",
	};
	if (own != NULL && own->verdict == RANK_CANDIDATE) {
		ret_place->delay_us = own->delay_us;
		ret_place->source = local;
	} else if (order.n_candidates > 0) {
		ret_place->source = view_find(view, order.places[0].id);
	} else {
		ret_place->source = find_any(view, local);
	}
}
