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

void prune_plan(const struct prune_question *q, struct prune_plan *ret_plan)
{
	const struct retain_facts facts = {
	    .corrupt = q->corrupt, .accepted = q->accepted, .n_accepted = q->n_accepted};
	struct prune_plan plan = {.items = xcalloc(q->n + 1, sizeof(plan.items[0])), .n = q->n};
	struct retain_result result;

	for (size_t i = 0; i < q->n; i++)
		plan.items[i] =
		    (struct retain_item){.entry = q->entries[i], .pinned = is_others(q, q->entries[i])};
	retain_decide(q->rules, q->zone, &facts, plan.items, q->n, &result);
	(void) retain_explain(&result, plan.frozen);
	result.corrupt = false;
	(void) retain_explain(&result, plan.shrunk);
	plan.n_going = result.n_going;
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
