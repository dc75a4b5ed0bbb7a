/* SPDX-License-Identifier: Apache-2.0 */
/* From the catalogue to what retain.c is asked, and back. */
#include "etcdwatch/prune.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"

void prune_plan(const struct store *store, const struct config_job *job, bool corrupt,
                struct prune_plan *ret_plan)
{
	size_t n = store_n(store);
	AUTO(free) struct retain_item *items = xcalloc(n + 1, sizeof(items[0]));
	const struct retain_facts facts = {.corrupt = corrupt};
	struct prune_plan plan = {.ids = xcalloc(n + 1, sizeof(plan.ids[0]))};
	struct retain_result result;

	for (size_t i = 0; i < n; i++)
		items[i].entry = store_get(store, i);
	retain_decide(&job->retention, job->zone, &facts, items, n, &result);
	(void) retain_explain(&result, plan.frozen);
	for (size_t i = 0; i < n; i++) {
		if (items[i].kept != 0)
			continue;
		log_info("snapshot_goes", "job=%s id=%s", job->name, items[i].entry->id);
		plan.ids[plan.n_ids++] = items[i].entry->id;
	}
	*ret_plan = plan;
}
