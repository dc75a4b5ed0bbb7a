/* SPDX-License-Identifier: Apache-2.0 */
/* From the catalogue to what retain.c is asked, and back. */
#include "etcdwatch/catalog/prune.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

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
