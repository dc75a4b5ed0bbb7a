/* SPDX-License-Identifier: Apache-2.0 */
/* From attempts to a verdict, from verdicts to a count, and when a move is due. Pure; outside.h. */
#include "vipd/outside.h"

#include <string.h>

#include "base/macro.h"
#include "vipd/policy.h"

bool outside_on_look(struct outside_view *v, struct record_node *me, int64_t epoch, bool reached)
{
	bool good;

	if (v->epoch != epoch) {
		v->epoch = epoch;
		v->fold = (struct health_fold){0};
	}
	(void) health_fold(&v->fold, reached, OUTSIDE_RISE, OUTSIDE_FALL);
	if (v->fold.state == HEALTH_UNKNOWN)
		return false;
	good = v->fold.state == HEALTH_GOOD;
	v->has_reached = v->has_reached || good;
	if (!v->has_reached || (me->looked_epoch == epoch && me->reached == good))
		return false;
	me->looked_epoch = epoch;
	me->reached = good;
	return true;
}

struct outside_count outside_count(const struct facts *f)
{
	struct outside_count count = {0};

	if (!f->has_owner || f->owner.released)
		return count;
	for (size_t i = 0; i < f->n_nodes; i++) {
		const struct record_node *n = &f->nodes[i];

		if (strcmp(n->node, f->owner.node) == 0)
			continue;
		count.others++;
		if (n->looked_epoch != f->owner.epoch)
			continue;
		if (n->reached)
			count.reached++;
		else
			count.unreached++;
	}
	return count;
}

bool outside_is_cut_off(const struct outside_count *count)
{
	return 2 * count->unreached > count->others;
}

bool outside_is_reached(const struct outside_count *count)
{
	return 2 * count->reached > count->others;
}

void outside_on_facts(struct outside_moves *m, const struct facts *f, int64_t now_us)
{
	struct outside_count count = outside_count(f);
	int64_t ended_epoch = f->owner.released ? f->owner.epoch : f->owner.epoch - 1;

	if (outside_is_reached(&count))
		m->in_row = 0;
	if (!f->has_owner || f->owner_rev == m->owner_rev)
		return;
	m->owner_rev = f->owner_rev;
	/* The owner's last word and its successor's first one name the same move. */
	if (policy_cause_of(f->owner.reason) != POLICY_CAUSE_OUTSIDE || ended_epoch == m->ended_epoch)
		return;
	m->ended_epoch = ended_epoch;
	m->last_us = now_us;
	m->in_row++;
}

int64_t outside_rest_us(const struct outside_moves *m, int64_t now_us)
{
	unsigned doublings = MIN(m->in_row > 0 ? m->in_row - 1 : 0, OUTSIDE_DOUBLINGS_MAX);

	if (m->last_us == 0)
		return 0;
	return MAX(m->last_us + (OUTSIDE_REST_US << doublings) - now_us, 0);
}

void outside_review_mark(struct record_node *me, int64_t *marked_us, bool owner, int64_t epoch,
                         const struct outside_count *count, int64_t now_us)
{
	if (me->failed_epoch == 0) {
		*marked_us = 0;
		return;
	}
	if (*marked_us == 0)
		*marked_us = now_us;
	if (now_us - *marked_us < OUTSIDE_MARK_US &&
	    !(owner && epoch != me->failed_epoch && outside_is_reached(count)))
		return;
	me->failed_epoch = 0;
	*marked_us = 0;
}

const char *outside_stays(const struct outside_moves *moves, int64_t well_for_us,
                          const struct record_node *best, int64_t now_us)
{
	if (well_for_us < OUTSIDE_WELL_US)
		return "its own API server was not healthy a moment ago";
	if (best == NULL || best->health != HEALTH_GOOD)
		return "no other node is healthy";
	if (best->failed_epoch != 0)
		return "no healthy node is left that was reached when it had it";
	if (outside_rest_us(moves, now_us) > 0)
		return "it has moved for this a short time ago";
	return NULL;
}
