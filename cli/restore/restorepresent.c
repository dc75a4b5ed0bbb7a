/* SPDX-License-Identifier: Apache-2.0 */
/* etcd 3.4 leaves members of before a restore in its database, with the same peer URLs and other
 * ids, so a member whose peer URLs were seen counts once. */
#include "cli/restore/restorepresent.h"

#include <stdbool.h>
#include <string.h>

static const struct newcluster_member *find(const struct newcluster *cluster, const json_t *urls)
{
	for (size_t i = 0; i < json_array_size(urls); i++) {
		const char *url = json_string_value(json_array_get(urls, i));
		const struct newcluster_member *member =
		    url != NULL ? newcluster_find_url(cluster, url) : NULL;

		if (member != NULL)
			return member;
	}
	return NULL;
}

static bool was_seen(const json_t *present, size_t n, const json_t *urls)
{
	for (size_t i = 0; i < n; i++) {
		if (json_equal(json_object_get(json_array_get(present, i), "peer_urls"), urls))
			return true;
	}
	return false;
}

static bool is_left_out(const struct newcluster *cluster, const struct newcluster_member *member,
                        const struct texts *without)
{
	for (size_t i = 0; i < without->n; i++) {
		if (newcluster_find(cluster, without->items[i]) == member)
			return true;
	}
	return false;
}

void restorepresent_check(const json_t *present, const struct newcluster *cluster,
                          const struct texts *without, struct texts *ret_against)
{
	size_t n = 0, n_stopped = 0;

	for (size_t i = 0; i < json_array_size(present); i++) {
		const json_t *member = json_array_get(present, i);
		const json_t *urls = json_object_get(member, "peer_urls");
		const char *name = json_string_value(json_object_get(member, "name"));
		const char *url = json_string_value(json_array_get(urls, 0));
		const struct newcluster_member *planned = find(cluster, urls);

		if (was_seen(present, i, urls))
			continue;
		n++;
		if (planned == NULL)
			texts_add(
			    ret_against,
			    "the member '%s' at %s is in the present cluster and not in the plan, so it "
			    "would go on as a second cluster: name all present members, --initial-cluster "
			    "NAME=PEER-URL,...",
			    name != NULL ? name : "", url != NULL ? url : "no peer URL");
		else
			n_stopped += !is_left_out(cluster, planned, without);
	}
	if (n > 0 && n_stopped * 2 <= n)
		texts_add(ret_against,
		          "this restore stops %zu of the %zu members of the present cluster, so the others "
		          "would go on as a second cluster: more than half have to take part",
		          n_stopped, n);
}
