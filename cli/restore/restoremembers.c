/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of the two lists are the same by id, else by peer URLs: etcd 3.4 leaves those of before a
 * restore in its database, with the same URLs and other ids.
 */
#include "cli/restore/restoremembers.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/conf_url.h"
#include "base/jsonval.h"
#include "base/mem.h"

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "";
}

static const char *url_of(const json_t *member)
{
	const char *url = json_string_value(json_array_get(json_object_get(member, "peer_urls"), 0));

	return url != NULL ? url : "no peer URL";
}

/* 0: it has none. */
static uint64_t id_of(const json_t *member)
{
	return strtoull(text_of(member, "id"), NULL, 16);
}

/* --- the same member --- */

static bool has_url(const json_t *urls, const char *url)
{
	for (size_t i = 0; i < json_array_size(urls); i++) {
		const char *own = json_string_value(json_array_get(urls, i));

		if (own != NULL && strcmp(own, url) == 0)
			return true;
	}
	return false;
}

/* In any order. */
static bool same_urls(const json_t *a, const json_t *b)
{
	const json_t *urls_a = json_object_get(a, "peer_urls"),
	             *urls_b = json_object_get(b, "peer_urls");

	for (size_t i = 0; i < json_array_size(urls_a); i++) {
		const char *url = json_string_value(json_array_get(urls_a, i));

		if (url == NULL || !has_url(urls_b, url))
			return false;
	}
	return json_array_size(urls_a) == json_array_size(urls_b);
}

static const json_t *find(const json_t *list, const json_t *member)
{
	for (size_t i = 0; i < json_array_size(list) && id_of(member) != 0; i++) {
		if (id_of(json_array_get(list, i)) == id_of(member))
			return json_array_get(list, i);
	}
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (same_urls(json_array_get(list, i), member))
			return json_array_get(list, i);
	}
	return NULL;
}

/* --- from the database alone --- */

/*
 * The host of its first peer URL; to be freed. NULL: it has a name, or it was never started. etcd
 * 3.5 (seen with 3.5.16) writes names of those alone into its database that the cluster began with,
 * so there a member that joined later cannot be told from one that was never started.
 */
static char *call_by_host(const json_t *source, const json_t *member)
{
	const char *version = text_of(source, "storage_version");
	struct conf_url url;

	if (version[0] == '\0')
		version = text_of(source, "cluster_version");
	if (strncmp(version, "3.5.", 4) != 0 || text_of(member, "name")[0] != '\0' ||
	    conf_parse_url(url_of(member), &url) != NULL)
		return NULL;
	return xstrdup(url.host);
}

static void add(json_t *list, const char *name, const json_t *member, bool called, bool demoted,
                bool listed)
{
	(void) json_array_append_new(
	    list, json_pack("{s:o, s:O, s:b, s:b, s:b, s:b}", "name", jsonval_text(name), "peer_urls",
	                    json_object_get(member, "peer_urls"), "learner",
	                    (int) json_is_true(json_object_get(member, "learner")), "called",
	                    (int) called, "demoted", (int) demoted, "listed", (int) listed));
}

static json_t *read_database(const json_t *source)
{
	const json_t *members = json_object_get(source, "members");
	json_t *list = json_array();

	for (size_t i = 0; i < json_array_size(members); i++) {
		const json_t *member = json_array_get(members, i);
		AUTO(free) char *host = call_by_host(source, member);

		add(list, host != NULL ? host : text_of(member, "name"), member, host != NULL, false,
		    false);
	}
	return list;
}

/* --- both --- */

static void compare(const json_t *listed, const json_t *stored, struct texts *differ)
{
	const char *name = text_of(listed, "name"), *stored_name = text_of(stored, "name");

	if (!same_urls(listed, stored))
		texts_add(differ, "'%s' has the peer URL %s in the member list and %s in the database",
		          name, url_of(listed), url_of(stored));
	if (name[0] != '\0' && stored_name[0] != '\0' && strcmp(name, stored_name) != 0)
		texts_add(differ, "the member at %s is '%s' in the member list and '%s' in the database",
		          url_of(listed), name, stored_name);
}

static json_t *read_both(const json_t *members, const json_t *database, struct texts *differ)
{
	json_t *list = json_array();

	for (size_t i = 0; i < json_array_size(members); i++) {
		const json_t *listed = json_array_get(members, i), *stored = find(database, listed);
		const char *name = text_of(listed, "name");
		bool learner = json_is_true(json_object_get(listed, "learner"));

		if (stored == NULL)
			texts_add(differ, "the member '%s' at %s is in the member list alone", name,
			          url_of(listed));
		else
			compare(listed, stored, differ);
		add(list, name[0] != '\0' ? name : text_of(stored, "name"), listed, false,
		    !learner && json_is_true(json_object_get(stored, "learner")), true);
	}
	for (size_t i = 0; i < json_array_size(database); i++) {
		const json_t *stored = json_array_get(database, i);

		if (find(members, stored) == NULL)
			texts_add(differ, "the member '%s' at %s is in the database alone",
			          text_of(stored, "name"), url_of(stored));
	}
	return list;
}

json_t *restoremembers_read(const json_t *source, struct texts *ret_differ)
{
	const json_t *members = json_object_get(json_object_get(source, "entry"), "members");

	if (json_array_size(members) == 0)
		members = json_object_get(source, "base_members");
	if (json_array_size(members) == 0)
		return read_database(source);
	return read_both(members, json_object_get(source, "members"), ret_differ);
}
