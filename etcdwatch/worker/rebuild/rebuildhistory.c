/* SPDX-License-Identifier: Apache-2.0 */
#include "etcdwatch/worker/rebuild/rebuildhistory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/civil.h"
#include "base/jsonval.h"
#include "base/mono.h"
#include "etcdwatch/worker/common/result.h"

static json_t *time_json(int64_t us)
{
	char text[CIVIL_TEXT_MAX];

	return us == 0 ? json_null() : json_string(civil_format(civil_floor_div(us, US_PER_S), text));
}

/* A snapshot has one revision, and one time. */
static struct chain alone(const struct rebuildhistory_list *list, size_t i)
{
	const struct rebuildpick_base *base = &list->world->bases[i];

	return (struct chain){.cluster_id = base->cluster_id,
	                      .first = base->revision,
	                      .last = base->revision,
	                      .first_us = base->started_s * US_PER_S,
	                      .last_us = base->started_s * US_PER_S};
}

json_t *rebuildhistory_json(const struct rebuildhistory_list *list, size_t i)
{
	const struct rebuildpick *pick = &list->picks[i];
	struct chain chain = pick->chain != NULL ? *pick->chain : alone(list, pick->base);
	char cluster[17];
	json_t *json;

	(void) snprintf(cluster, sizeof(cluster), "%" PRIx64, chain.cluster_id);
	json = json_pack(
	    "{s:I, s:s, s:I, s:I, s:o, s:o, s:o}", "history", (json_int_t) i + 1, "cluster_id", cluster,
	    "first", (json_int_t) chain.first, "last", (json_int_t) chain.last, "from",
	    time_json(chain.first_us), "until", time_json(chain.last_us), "segment",
	    pick->chain != NULL ? json_string(chains_segment(list->chains, pick->chain)) : json_null());
	if (list->names != NULL)
		(void) json_object_set_new(
		    json, "base", pick->has_base ? jsonval_text(list->names[pick->base]) : json_null());
	return json;
}

static void print(const struct rebuildhistory_list *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->n; i++)
		(void) json_array_append_new(array, rebuildhistory_json(list, i));
	result_line(json_pack("{s:o}", "histories", array));
}

int rebuildhistory_choose(const struct rebuildhistory_list *list, unsigned long wanted,
                          const char *what, struct problem *problem, size_t *ret_i)
{
	if (wanted > list->n)
		return problem_set(problem, -EINVAL, "USAGE", "--history %lu: %zu %s %s", wanted, list->n,
		                   list->n == 1 ? "history has" : "histories have", what);
	if (wanted == 0 && list->n > 1) {
		print(list);
		return problem_set(problem, -ENOTUNIQ, "HISTORY",
		                   "%zu histories of etcd have %s: name one of them by --history N, or the "
		                   "newest by --history latest",
		                   list->n, what);
	}
	*ret_i = wanted > 0 ? wanted - 1 : 0;
	return 0;
}
