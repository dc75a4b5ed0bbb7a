/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One slot for each rule and subject of which something is remembered:
 *
 *             holds                    held for after_us
 *    (none) ─────────► SLOT_WAITING ─────────────────────► SLOT_RAISED ◄───┐ holds
 *      ▲                    │                                   │          │
 *      │  does not hold     │                     does not hold ▼          │
 *      ├────────────────────┘                              SLOT_HELD ──────┘
 *      └────────────────────────────────────────────────────────┘ has not held for hold_us
 */
#include "etcdwatch/rules/judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum slot_state {
	SLOT_WAITING,
	SLOT_RAISED,
	SLOT_HELD,
};

struct slot {
	enum slot_state state;
	struct judge_finding finding;
	int64_t held_us;  /* when it was last seen to hold */
	int64_t quiet_us; /* SLOT_HELD: since when it does not hold */
	bool seen;        /* in this look */
};

struct judge {
	struct judge_settings settings;
	struct trend *trend;
	struct rules_hits hits; /* of the look that is under way */
	struct slot slots[JUDGE_SLOTS_MAX];
	size_t n_slots;
};

void judge_default_settings(struct judge_settings *ret)
{
	for (size_t i = 0; i < RULES_N; i++) {
		ret->of[i].after_us = rules[i].after_s * US_PER_S;
		ret->of[i].hold_us = rules[i].hold_s * US_PER_S;
		ret->of[i].off = false;
	}
}

struct judge *judge_new(const struct judge_settings *settings)
{
	struct judge *j = NEW0(struct judge);

	j->settings = *settings;
	j->trend = trend_new();
	return j;
}

void judge_free(struct judge *j)
{
	if (j == NULL)
		return;
	trend_free(j->trend);
	free(j);
}

static enum rules_id rule_of(const struct slot *slot)
{
	return (enum rules_id)(slot->finding.rule - rules);
}

static struct slot *find(struct judge *j, enum rules_id rule, uint64_t number)
{
	for (size_t i = 0; i < j->n_slots; i++) {
		if (rule_of(&j->slots[i]) == rule && j->slots[i].finding.number == number)
			return &j->slots[i];
	}
	return NULL;
}

static struct slot *begin(struct judge *j, const struct rules_hit *hit, int64_t now_us)
{
	struct slot *slot;

	if (j->n_slots == JUDGE_SLOTS_MAX)
		return NULL;
	slot = &j->slots[j->n_slots++];
	*slot = (struct slot){
	    .state = SLOT_WAITING,
	    .finding = {.rule = &rules[hit->rule], .number = hit->subject, .since_us = now_us},
	    .held_us = now_us,
	};
	return slot;
}

static void holds(struct judge *j, const struct rules_hit *hit, int64_t now_us,
                  judge_changed_fn changed, void *userdata)
{
	struct slot *slot = find(j, hit->rule, hit->subject);

	if (slot == NULL)
		slot = begin(j, hit, now_us);
	if (slot == NULL)
		return;
	slot->seen = true;
	if (slot->state == SLOT_WAITING && now_us - slot->held_us > JUDGE_GAP_US)
		slot->finding.since_us = now_us;
	slot->held_us = now_us;
	/* Members are given names, and sentences have figures. */
	(void) snprintf(slot->finding.subject, sizeof(slot->finding.subject), "%s", hit->name);
	(void) snprintf(slot->finding.sentence, sizeof(slot->finding.sentence), "%s", hit->sentence);
	if (slot->state == SLOT_HELD)
		slot->state = SLOT_RAISED;
	if (slot->state != SLOT_WAITING ||
	    now_us - slot->finding.since_us < j->settings.of[hit->rule].after_us)
		return;
	slot->state = SLOT_RAISED;
	slot->finding.raised_us = now_us;
	changed(&slot->finding, true, userdata);
}

/* What is not seen does not hold. True: the slot is to go. */
static bool does_not_hold(struct judge *j, struct slot *slot, int64_t now_us,
                          judge_changed_fn changed, void *userdata)
{
	switch (slot->state) {
	case SLOT_WAITING:
		return true;
	case SLOT_RAISED:
		slot->state = SLOT_HELD;
		slot->quiet_us = now_us;
		break;
	case SLOT_HELD:
		break;
	}
	if (now_us - slot->quiet_us < j->settings.of[rule_of(slot)].hold_us)
		return false;
	changed(&slot->finding, false, userdata);
	return true;
}

void judge_look(struct judge *j, const struct observation *o, judge_changed_fn changed,
                void *userdata)
{
	size_t kept = 0;

	trend_add(j->trend, o);
	rules_look(o, j->trend, &j->hits);
	for (size_t i = 0; i < j->n_slots; i++)
		j->slots[i].seen = false;
	for (size_t i = 0; i < j->hits.n; i++) {
		const struct rules_hit *hit = &j->hits.items[i];
		struct slot *slot = find(j, hit->rule, hit->subject);

		if (j->settings.of[hit->rule].off)
			continue;
		if (!hit->unknown)
			holds(j, hit, o->now_us, changed, userdata);
		else if (slot != NULL)
			slot->seen = true;
	}
	for (size_t i = 0; i < j->n_slots; i++) {
		struct slot *slot = &j->slots[i];

		if (!slot->seen && does_not_hold(j, slot, o->now_us, changed, userdata))
			continue;
		if (kept != i)
			j->slots[kept] = *slot;
		kept++;
	}
	j->n_slots = kept;
}

/* --- telling --- */

static bool is_outdone(const struct judge *j, const struct slot *slot)
{
	for (size_t i = 0; i < j->n_slots; i++) {
		const struct slot *other = &j->slots[i];

		if (other->state != SLOT_WAITING && (int) rule_of(other) == slot->finding.rule->stronger &&
		    other->finding.number == slot->finding.number)
			return true;
	}
	return false;
}

static int compare(const void *a, const void *b)
{
	const struct judge_finding *x = *(const struct judge_finding *const *) a;
	const struct judge_finding *y = *(const struct judge_finding *const *) b;

	if (x->rule->severity != y->rule->severity)
		return x->rule->severity > y->rule->severity ? -1 : 1;
	if (x->rule != y->rule)
		return x->rule < y->rule ? -1 : 1;
	return strcmp(x->subject, y->subject);
}

const struct trend *judge_trend(const struct judge *j)
{
	return j->trend;
}

size_t judge_findings(const struct judge *j,
                      const struct judge_finding *ret_findings[static JUDGE_SLOTS_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < j->n_slots; i++) {
		if (j->slots[i].state != SLOT_WAITING && !is_outdone(j, &j->slots[i]))
			ret_findings[n++] = &j->slots[i].finding;
	}
	qsort(ret_findings, n, sizeof(*ret_findings), compare);
	return n;
}
