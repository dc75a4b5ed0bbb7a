/* SPDX-License-Identifier: Apache-2.0 */
/* One object a member. */
#include "etcdwatch/worker/source/membersjson.h"

#include <inttypes.h>

#include "base/jsonval.h"
#include "base/mem.h"

json_t *membersjson_make(const struct dbinfo *info)
{
	json_t *array = json_array();

	for (size_t i = 0; i < info->n_members; i++) {
		const struct dbinfo_member *m = &info->members[i];
		AUTO(free) char *id = xasprintf("%" PRIx64, m->id);
		json_t *urls = json_array();

		for (size_t k = 0; k < m->n_peer_urls; k++)
			(void) json_array_append_new(urls, jsonval_text(m->peer_urls[k]));
		(void) json_array_append_new(array, json_pack("{s:s, s:o, s:o, s:b}", "id", id, "name",
		                                              jsonval_text(m->name), "peer_urls", urls,
		                                              "learner", (int) m->is_learner));
	}
	return array;
}
