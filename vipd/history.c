/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognises a move by the epoch in the owner record. It begins with the old owner's last sign of
 * life and ends when its new owner holds the address, or, on other nodes, when they hear of the new
 * record.
 */
#include "vipd/history.h"

#include <stdio.h>
#include <string.h>

static void count(struct history *h, const char *reason)
{
	size_t i = 0;

	while (i < h->n_counts && strcmp(h->counts[i].reason, reason) != 0)
		i++;
	if (i == HISTORY_REASONS_MAX)
		i--;
	else if (i == h->n_counts) {
		h->n_counts++;
		(void) snprintf(h->counts[i].reason, sizeof(h->counts[i].reason), "%s", reason);
	}
	h->counts[i].count++;
}

static void moved(struct history *h, const struct record_owner *o, int64_t now_us)
{
	(void) snprintf(h->last.from, sizeof(h->last.from), "%s", h->owner);
	(void) snprintf(h->last.to, sizeof(h->last.to), "%s", o->node);
	(void) snprintf(h->last.reason, sizeof(h->last.reason), "%s", o->reason);
	h->last.wall_us = o->wall_us;
	h->last.begun_us = h->life_us;
	h->last.duration_us = h->life_us == 0 ? 0 : now_us - h->life_us;
	count(h, o->reason);
}

void history_on_facts(struct history *h, const struct facts *f, int64_t now_us)
{
	const struct record_owner *o = &f->owner;

	if (!f->has_owner)
		return;
	if (o->epoch != h->epoch && !o->released) {
		/* The first record that is seen is old news, unless it is the first of all. */
		if (h->epoch != 0 || o->epoch == 1)
			moved(h, o, now_us);
		h->epoch = o->epoch;
		(void) snprintf(h->owner, sizeof(h->owner), "%s", o->node);
	}
	if (h->epoch == 0) {
		h->epoch = o->epoch;
		(void) snprintf(h->owner, sizeof(h->owner), "%s", o->node);
	}
	h->life_us = f->life.us;
}

void history_on_held(struct history *h, int64_t now_us)
{
	if (h->last.begun_us == 0)
		return;
	h->last.duration_us = now_us - h->last.begun_us;
	h->last.begun_us = 0;
}

void history_report(const struct history *h, struct vip_report *report,
                    struct vip_report_count *counts)
{
	for (size_t i = 0; i < h->n_counts; i++) {
		counts[i].name = h->counts[i].reason;
		counts[i].count = h->counts[i].count;
	}
	report->moves = counts;
	report->n_moves = h->n_counts;
	if (h->last.to[0] == '\0')
		return;
	report->last_move.from = h->last.from[0] != '\0' ? h->last.from : NULL;
	report->last_move.to = h->last.to;
	report->last_move.reason = h->last.reason;
	report->last_move.wall_us = h->last.wall_us;
	report->last_move.duration_us = h->last.duration_us;
}
