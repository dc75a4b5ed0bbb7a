/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items are sorted into lines, each from old to new; then each line is walked from its newest one
 * down, and every rule marks what it keeps. What no rule marks goes.
 */
#include "etcdwatch/catalog/retain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/civil.h"
#include "base/macro.h"
#include "base/mem.h"

#define HOUR_S INT64_C(3600)

/* --- periods --- */

typedef int64_t (*period_fn)(const struct zone *zone, int64_t t_s);

/* Hours of the clock on the wall, each called by the moment at which it would have begun: in some
 * zones that is at half past; one that comes twice in autumn is two; and where clocks are changed
 * by half an hour, what is before and what is behind are two as well. */
static int64_t hour_of(const struct zone *zone, int64_t t_s)
{
	int64_t offset_s = zone_span_at(zone, t_s).offset_s;

	return civil_floor_div(t_s + offset_s, HOUR_S) * HOUR_S - offset_s;
}

static int64_t day_of(const struct zone *zone, int64_t t_s)
{
	return civil_floor_div(t_s + zone_span_at(zone, t_s).offset_s, CIVIL_DAY_S);
}

/* 1970-01-01 was a Thursday. */
static int64_t week_of(const struct zone *zone, int64_t t_s)
{
	return civil_floor_div(day_of(zone, t_s) + 3, 7);
}

static int64_t month_of(const struct zone *zone, int64_t t_s)
{
	struct civil date = civil_from_s(t_s + zone_span_at(zone, t_s).offset_s);

	return (int64_t) date.year * 12 + date.month;
}

/* --- a line --- */

/* Items of one line, from old to new. */
struct line {
	struct retain_item **items;
	size_t n;
};

static bool counts(const struct retain_item *item)
{
	return catalog_is_good(item->entry) && !item->untrusted;
}

static void keep_last(struct line *line, unsigned count)
{
	bool is_newest = true;

	for (size_t i = line->n; i > 0; i--) {
		struct retain_item *item = line->items[i - 1];

		if (!counts(item))
			continue;
		if (is_newest)
			item->kept |= RETAIN_NEWEST;
		is_newest = false;
		if (count == 0)
			return;
		item->kept |= RETAIN_LAST;
		count--;
	}
}

static bool has(const int64_t *periods, size_t n, int64_t period)
{
	for (size_t i = n; i > 0; i--) {
		if (periods[i - 1] == period)
			return true;
	}
	return false;
}

/* The first one that is met of a period is its newest. */
static void keep_periods(struct line *line, unsigned count, period_fn period_of,
                         const struct zone *zone, unsigned mark)
{
	AUTO(free) int64_t *seen = xcalloc(MIN(count, line->n), sizeof(*seen));
	size_t n_seen = 0;

	for (size_t i = line->n; i > 0 && n_seen < count; i--) {
		struct retain_item *item = line->items[i - 1];
		int64_t period;

		if (!counts(item))
			continue;
		period = period_of(zone, item->entry->started_s);
		if (has(seen, n_seen, period))
			continue;
		seen[n_seen++] = period;
		item->kept |= mark;
	}
}

/* --- freezing --- */

static bool is_accepted(const struct retain_facts *facts, const struct catalog_entry *before)
{
	for (size_t i = 0; i < facts->n_accepted; i++) {
		const struct retain_accepted *a = &facts->accepted[i];

		if (a->cluster_id == before->cluster_id && a->timeline == before->timeline &&
		    before->revision < a->revision)
			return true;
	}
	return false;
}

static bool shrank(const struct catalog_entry *before, const struct catalog_entry *after)
{
	return (__int128) after->live_keys * 100 <=
	           (__int128) before->live_keys * (100 - RETAIN_SHRINK_PERCENT) &&
	       before->live_keys > 0;
}

/* Looks at every pair of neighbours, not at the newest alone: the next snapshot of a cluster that
 * lost its data is as large as the last one. */
static bool find_shrinking(const struct line *line, const struct retain_facts *facts,
                           struct retain_result *result)
{
	const struct catalog_entry *before = NULL;
	bool found = false;

	for (size_t i = 0; i < line->n; i++) {
		const struct catalog_entry *entry = line->items[i]->entry;

		if (!counts(line->items[i]))
			continue;
		if (before != NULL && shrank(before, entry) && !is_accepted(facts, before)) {
			found = true;
			if (result->after == NULL || entry->started_s >= result->after->started_s) {
				result->before = before;
				result->after = entry;
			}
		}
		before = entry;
	}
	return found;
}

/* --- all --- */

static void decide_line(const struct retain_rules *rules, const struct zone *zone,
                        const struct retain_facts *facts, struct line *line,
                        struct retain_result *result)
{
	bool frozen = find_shrinking(line, facts, result) || facts->corrupt;

	keep_last(line, rules->last);
	keep_periods(line, rules->hourly, hour_of, zone, RETAIN_HOURLY);
	keep_periods(line, rules->daily, day_of, zone, RETAIN_DAILY);
	keep_periods(line, rules->weekly, week_of, zone, RETAIN_WEEKLY);
	keep_periods(line, rules->monthly, month_of, zone, RETAIN_MONTHLY);
	for (size_t i = 0; i < line->n; i++) {
		struct retain_item *item = line->items[i];

		if (item->pinned)
			item->kept |= RETAIN_PINNED;
		if (!counts(item))
			item->kept |= RETAIN_NOT_GOOD;
		if (frozen)
			item->kept |= RETAIN_FROZEN;
		result->n_going += item->kept == 0;
	}
}

static int compare_items(const void *a, const void *b)
{
	const struct retain_item *const *x = a, *const *y = b;

	return catalog_compare((*x)->entry, (*y)->entry);
}

void retain_decide(const struct retain_rules *rules, const struct zone *zone,
                   const struct retain_facts *facts, struct retain_item *items, size_t n,
                   struct retain_result *ret_result)
{
	AUTO(free) struct retain_item **sorted = xcalloc(n, sizeof(struct retain_item *));
	struct retain_result result = {.corrupt = facts->corrupt};

	for (size_t i = 0; i < n; i++) {
		items[i].kept = 0;
		sorted[i] = &items[i];
	}
	if (n > 0)
		qsort(sorted, n, sizeof(struct retain_item *), compare_items);
	for (size_t begin = 0, end; begin < n; begin = end) {
		struct line line = {.items = sorted + begin};

		for (end = begin; end < n && catalog_same_line(sorted[begin]->entry, sorted[end]->entry);)
			end++;
		line.n = end - begin;
		decide_line(rules, zone, facts, &line, &result);
	}
	*ret_result = result;
}

/* --- words --- */

const char *retain_describe(unsigned kept, char buf[static RETAIN_TEXT_MAX])
{
	static const char *const names[] = {"last",   "hourly", "daily",    "weekly", "monthly",
	                                    "newest", "in-use", "not-good", "frozen", "waiting"};
	size_t len = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if ((kept >> i & 1) != 0)
			len += (size_t) snprintf(buf + len, RETAIN_TEXT_MAX - len, "%s%s", len > 0 ? " " : "",
			                         names[i]);
	}
	return buf;
}

const char *retain_explain(const struct retain_result *result, char buf[static RETAIN_TEXT_MAX])
{
	buf[0] = '\0';
	if (result->corrupt)
		(void) snprintf(buf, RETAIN_TEXT_MAX, "%s", RETAIN_CORRUPT_TEXT);
	else if (result->after != NULL)
		(void) snprintf(buf, RETAIN_TEXT_MAX,
		                "nothing is deleted, because %s has %lld keys and %s before it has %lld: "
		                "accept the smaller one if that is right",
		                result->after->id, (long long) result->after->live_keys, result->before->id,
		                (long long) result->before->live_keys);
	return buf;
}

/* --- prune --- */

/* From the catalogue to what retain.c is asked, and back. */

/* What another node has taken counts, and does not go. */
static bool is_others(const struct prune_question *q, const struct catalog_entry *entry)
{
	return q->only_node != NULL && (entry->node == NULL || strcmp(entry->node, q->only_node) != 0);
}

const char *prune_find_lacking(const struct prune_question *q, const struct catalog_entry *entry)
{
	for (size_t i = 0; i < q->n_targets; i++) {
		if (catalog_find_copy(entry, q->targets[i]) == NULL)
			return q->targets[i];
	}
	return NULL;
}

static int compare_age(const void *a, const void *b)
{
	const struct retain_item *const *x = a, *const *y = b;

	if ((*x)->entry->started_s != (*y)->entry->started_s)
		return (*x)->entry->started_s < (*y)->entry->started_s ? -1 : 1;
	return strcmp((*x)->entry->id, (*y)->entry->id);
}

/* Of what would go, what some target lacks stays, as far as it may. */
static void keep_waiting(const struct prune_question *q, struct prune_plan *plan)
{
	AUTO(free) struct retain_item **unsent = xcalloc(plan->n + 1, sizeof(struct retain_item *));
	int64_t going_bytes = 0;
	size_t n = 0, n_go;

	for (size_t i = 0; i < plan->n; i++) {
		struct retain_item *item = &plan->items[i];

		if (item->kept == 0 && prune_find_lacking(q, item->entry) != NULL)
			unsent[n++] = item;
		else if (item->kept == 0)
			going_bytes += item->entry->file_bytes;
	}
	if (n == 0)
		return;
	qsort(unsent, n, sizeof(struct retain_item *), compare_age);
	n_go = n > PRUNE_WAITING_MAX ? n - PRUNE_WAITING_MAX : 0;
	if (q->one_more && n_go == 0)
		n_go = 1;
	for (size_t i = 0; i < n; i++) {
		if (i >= n_go && going_bytes >= q->lacking_bytes)
			unsent[i]->kept = RETAIN_WAITING;
		else
			going_bytes += unsent[i]->entry->file_bytes;
		plan->n_waiting += unsent[i]->kept != 0;
	}
	plan->n_unsent = n - plan->n_waiting;
	plan->n_going -= plan->n_waiting;
}

void prune_plan(const struct prune_question *q, struct prune_plan *ret_plan)
{
	const struct retain_facts facts = {
	    .corrupt = q->corrupt, .accepted = q->accepted, .n_accepted = q->n_accepted};
	struct prune_plan plan = {.items = xcalloc(q->n + 1, sizeof(plan.items[0])), .n = q->n};
	struct retain_result result;

	for (size_t i = 0; i < q->n; i++)
		plan.items[i] = (struct retain_item){
		    .entry = q->entries[i],
		    .untrusted = q->untrusted != NULL && q->untrusted[i],
		    .pinned = is_others(q, q->entries[i]),
		};
	retain_decide(q->rules, q->zone, &facts, plan.items, q->n, &result);
	(void) retain_explain(&result, plan.frozen);
	result.corrupt = false;
	(void) retain_explain(&result, plan.shrunk);
	plan.n_going = result.n_going;
	keep_waiting(q, &plan);
	plan.shrank = result.after != NULL;
	if (plan.shrank)
		plan.word = (struct retain_accepted){
		    .cluster_id = result.after->cluster_id,
		    .timeline = result.after->timeline,
		    .revision = result.after->revision,
		};
	*ret_plan = plan;
}

void prune_plan_fini(struct prune_plan *plan)
{
	free(plan->items);
	*plan = (struct prune_plan){0};
}
