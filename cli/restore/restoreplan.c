/* SPDX-License-Identifier: Apache-2.0 */
/* The cluster, this node's place in it, and the commands. What is said against a plan and what goes
 * with it is restoreadvice.c's. */
#include "cli/restore/restoreplan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/conf_check.h"
#include "base/jsonval.h"
#include "base/mem.h"
#include "bolt/crc32c.h"
#include "cli/common/fields.h"
#include "cli/restore/restoreadvice.h"

/* --- restoremembers --- */

/*
 * Which members the cluster of a snapshot had. Two sources: the member list in its database, and
 * the one in its entry of the catalogue, which is what etcd's MemberList said when it was taken.
 * The database may be wrong in flags and names: etcd 3.5.1 to 3.5.19 does not write the promotion
 * of a learner (etcd-io/etcd#19557), and 3.5 keeps no names of members that joined later. Pure.
 */

/*
 * Members of the two lists are the same by id, else by peer URLs: etcd 3.4 leaves those of before a
 * restore in its database, with the same URLs and other ids.
 */

static const char *url_of(const json_t *member)
{
	const char *url = json_string_value(json_array_get(json_object_get(member, "peer_urls"), 0));

	return url != NULL ? url : "no peer URL";
}

/* 0: it has none. */
static uint64_t id_of(const json_t *member)
{
	return strtoull(field_string(member, "id"), NULL, 16);
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
	const char *version = field_string(source, "storage_version");
	struct conf_url url;

	if (version[0] == '\0')
		version = field_string(source, "cluster_version");
	if (strncmp(version, "3.5.", 4) != 0 || field_string(member, "name")[0] != '\0' ||
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

		add(list, host != NULL ? host : field_string(member, "name"), member, host != NULL, false,
		    false);
	}
	return list;
}

/* --- both --- */

static void compare(const json_t *listed, const json_t *stored, struct texts *differ)
{
	const char *name = field_string(listed, "name"), *stored_name = field_string(stored, "name");

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
		const char *name = field_string(listed, "name");
		bool learner = json_is_true(json_object_get(listed, "learner"));

		if (stored == NULL)
			texts_add(differ, "the member '%s' at %s is in the member list alone", name,
			          url_of(listed));
		else
			compare(listed, stored, differ);
		add(list, name[0] != '\0' ? name : field_string(stored, "name"), listed, false,
		    !learner && json_is_true(json_object_get(stored, "learner")), true);
	}
	for (size_t i = 0; i < json_array_size(database); i++) {
		const json_t *stored = json_array_get(database, i);

		if (find(members, stored) == NULL)
			texts_add(differ, "the member '%s' at %s is in the database alone",
			          field_string(stored, "name"), url_of(stored));
	}
	return list;
}

/*
 * A list of {"name": "" if it has none, "peer_urls", "learner"}, and of each the booleans
 *   "called":     it has no name in either list, and is called by the host of its peer URL
 *   "demoted":    a learner in the database alone, so it was promoted
 *   "listed":     it is in the entry's list
 * Names and flags are the entry's, where there is one. Where the lists differ in more, so that it
 * is not certain who the members were, ret_differ gets a text for each difference. The caller frees
 * both. `source` is the last line of `etcdwatch-worker restore source`; of a snapshot that was
 * rebuilt it has "base_members", the list in the entry of the snapshot that it began with.
 */
static json_t *restoremembers_read(const json_t *source, struct texts *ret_differ)
{
	const json_t *members = json_object_get(json_object_get(source, "entry"), "members");

	if (json_array_size(members) == 0)
		members = json_object_get(source, "base_members");
	if (json_array_size(members) == 0)
		return read_database(source);
	return read_both(members, json_object_get(source, "members"), ret_differ);
}

/* --- restoreplan --- */

void restoreplan_free(struct restoreplan *plan)
{
	if (plan == NULL)
		return;
	for (size_t i = 0; i < plan->n_others; i++)
		free(plan->others[i].command);
	free(plan->others);
	newcluster_free(plan->cluster);
	free(plan->initial_cluster);
	free(plan->peer_urls);
	free(plan->command);
	json_decref(plan->members);
	texts_fini(&plan->differ);
	texts_fini(&plan->words);
	texts_fini(&plan->against);
	texts_fini(&plan->mind);
	texts_fini(&plan->then);
	free(plan);
}

/* --- the cluster --- */

/* "n1=url,n1=url"; a member that is listed twice (by etcd 3.4, after a restore) counts once. */
static void add_member(struct texts *parts, const json_t *member, const char *name)
{
	const json_t *urls = json_object_get(member, "peer_urls");

	for (size_t i = 0; i < json_array_size(urls); i++) {
		const char *url = json_string_value(json_array_get(urls, i));
		AUTO(free) char *part = xasprintf("%s=%s", name, url != NULL ? url : "");
		bool known = false;

		for (size_t k = 0; k < parts->n; k++)
			known |= strcmp(parts->items[k], part) == 0;
		if (!known)
			texts_add(parts, "%s", part);
	}
}

static char *join(const struct texts *parts)
{
	char *text = xstrdup("");

	for (size_t i = 0; i < parts->n; i++) {
		AUTO(free) char *before = text;

		text = xasprintf("%s%s%s", before, i > 0 ? "," : "", parts->items[i]);
	}
	return text;
}

/*
 * Those that have a name; to be freed. Each restored member is a voter, so learners are not left
 * out: without the members that kubeadm joined the rest would be a second cluster.
 */
static char *named_members(const json_t *members)
{
	struct texts parts = {0};
	char *text;

	for (size_t i = 0; i < json_array_size(members); i++) {
		const json_t *member = json_array_get(members, i);

		if (field_string(member, "name")[0] != '\0')
			add_member(&parts, member, field_string(member, "name"));
	}
	text = join(&parts);
	texts_fini(&parts);
	return text;
}

static void make_cluster(const struct restoreplan_wish *wish, const char *initial_cluster,
                         struct restoreplan *plan)
{
	AUTO(free) char *why = NULL;

	newcluster_free(plan->cluster);
	plan->cluster = NULL;
	plan->self = NULL;
	free(plan->initial_cluster);
	plan->initial_cluster = xstrdup(initial_cluster);
	if (initial_cluster[0] == '\0')
		why = xstrdup("the snapshot does not say which members there were");
	else
		why = newcluster_parse(initial_cluster, wish->token, &plan->cluster);
	if (why != NULL)
		texts_add(&plan->against, "%s%s", why,
		          wish->initial_cluster != NULL
		              ? ""
		              : ": name the members yourself, --initial-cluster NAME=PEER-URL,...");
}

/* --- this node --- */

static bool is_own_address(const json_t *host, const char *address)
{
	const json_t *addresses = json_object_get(json_object_get(host, "self"), "addresses");

	for (size_t i = 0; i < json_array_size(addresses); i++) {
		const char *own = json_string_value(json_array_get(addresses, i));

		if (own != NULL && strcmp(own, address) == 0)
			return true;
	}
	return false;
}

static bool lives_here(const struct newcluster_member *member, const json_t *host)
{
	for (size_t i = 0; i < member->n_peer_urls; i++) {
		struct conf_url url;

		if (conf_parse_url(member->peer_urls[i], &url) == NULL && url.is_address &&
		    is_own_address(host, url.host))
			return true;
	}
	return false;
}

/* By its address, and else by its name. NULL: neither tells, or several do. */
const struct newcluster_member *restoreplan_find_self(const struct newcluster *cluster,
                                                      const json_t *host)
{
	const struct newcluster_member *found = NULL;
	size_t n = 0;

	for (size_t i = 0; i < cluster->n_members; i++) {
		if (lives_here(&cluster->members[i], host)) {
			found = &cluster->members[i];
			n++;
		}
	}
	if (n == 0)
		found = newcluster_find(cluster, field_string(json_object_get(host, "self"), "host"));
	return n > 1 ? NULL : found;
}

static char *names_of(const struct newcluster *cluster)
{
	char *text = xstrdup("");

	for (size_t i = 0; i < cluster->n_members; i++) {
		AUTO(free) char *before = text;

		text = xasprintf("%s%s%s", before, i > 0 ? ", " : "", cluster->members[i].name);
	}
	return text;
}

static void choose_self(const struct restoreplan_wish *wish, const json_t *host,
                        struct restoreplan *plan)
{
	AUTO(free) char *names = NULL;

	if (plan->cluster == NULL || wish->of_cluster)
		return;
	plan->self = wish->name != NULL ? newcluster_find(plan->cluster, wish->name)
	                                : restoreplan_find_self(plan->cluster, host);
	if (plan->self == NULL && wish->name == NULL && plan->cluster->n_members == 1)
		plan->self = &plan->cluster->members[0];
	if (plan->self != NULL) {
		plan->peer_urls = newcluster_urls(plan->self);
		return;
	}
	names = names_of(plan->cluster);
	if (wish->name != NULL)
		texts_add(&plan->against, "there is no member '%s' among %s", wish->name, names);
	else
		texts_add(&plan->against,
		          "neither name nor address tells which member this node is: --name, one of %s",
		          names);
}

/* Of all members only this one. */
static void leave_alone(const struct restoreplan_wish *wish, struct restoreplan *plan)
{
	struct texts parts = {0};
	AUTO(free) char *text = NULL;

	for (size_t i = 0; i < plan->self->n_peer_urls; i++)
		texts_add(&parts, "%s=%s", plan->self->name, plan->self->peer_urls[i]);
	text = join(&parts);
	texts_fini(&parts);
	make_cluster(wish, text, plan);
	if (plan->cluster != NULL)
		plan->self = &plan->cluster->members[0];
}

/* --- commands --- */

/* What has to be the same wherever it is typed. */
static char *command_for(const struct restoreplan_wish *wish, const struct restoreplan *plan,
                         const struct newcluster_member *member, const json_t *dir,
                         const json_t *source)
{
	struct texts words = {0};
	char *command;

	texts_add(&words, "fairlead");
	texts_add(&words, "etcd");
	texts_add(&words, "restore");
	texts_add_all(&words, wish->source);
	texts_add_option(&words, "--sha256", field_string(source, "sha256"));
	texts_add_option(&words, "--data-dir",
	                 wish->data_dir[0] == '/' ? wish->data_dir : field_string(dir, "path"));
	if (wish->wal_dir != NULL)
		texts_add_option(&words, "--wal-dir", wish->wal_dir);
	texts_add_option(&words, "--name", member->name);
	texts_add_option(&words, "--initial-cluster", plan->initial_cluster);
	texts_add_option(&words, "--token", wish->token);
	texts_add(&words, "--bump-revision");
	texts_add(&words, "%" PRIu64, plan->bump_revision);
	texts_add(&words, "--yes");
	command = texts_command(&words);
	texts_fini(&words);
	return command;
}

static void make_commands(const struct restoreplan_wish *wish, const json_t *host,
                          const json_t *source, struct restoreplan *plan)
{
	const json_t *dir = json_object_get(host, "data_dir");
	const struct newcluster *cluster = plan->cluster;

	plan->command = command_for(wish, plan, plan->self, dir, source);
	plan->others = xcalloc(cluster->n_members, sizeof(plan->others[0]));
	for (size_t i = 0; i < cluster->n_members; i++) {
		const struct newcluster_member *member = &cluster->members[i];

		if (member != plan->self)
			plan->others[plan->n_others++] = (struct restoreplan_node){
			    .member = member, .command = command_for(wish, plan, member, dir, source)};
	}
}

/* What the catalogue says of the snapshot: it is compared where the restore proves it. */
static void add_expected(struct texts *words, const json_t *entry)
{
	static const struct {
		const char *option, *key;
	} numbers[] = {{"--hashkv", "hashkv"}, {"--hashkv-revision", "hashkv_revision"}};

	for (size_t i = 0; json_is_object(entry) && i < ARRAY_SIZE(numbers); i++) {
		texts_add(words, "%s", numbers[i].option);
		texts_add(words, "%" JSON_INTEGER_FORMAT,
		          json_integer_value(json_object_get(entry, numbers[i].key)));
	}
}

void restoreplan_add_tool(const json_t *tool, struct texts *words)
{
	texts_add_option(words, "--tool", json_string_value(json_object_get(tool, "path")));
	texts_add_option(words, "--tool-says", json_string_value(json_object_get(tool, "says")));
}

static void make_words(const struct restoreplan_wish *wish, const json_t *host,
                       const json_t *source, struct restoreplan *plan)
{
	struct texts *words = &plan->words;

	texts_add_option(words, "--data-dir", wish->data_dir);
	texts_add_option(words, "--name", plan->self->name);
	texts_add_option(words, "--initial-cluster", plan->initial_cluster);
	texts_add_option(words, "--token", wish->token);
	add_expected(words, json_object_get(source, "entry"));
	restoreplan_add_tool(json_object_get(host, "tool"), words);
	if (!json_is_true(json_object_get(source, "digest")))
		texts_add(words, "--skip-hash-check");
	if (plan->bump_revision > 0) {
		texts_add(words, "--bump-revision");
		texts_add(words, "%" PRIu64, plan->bump_revision);
	}
}

/* --- the token --- */

#define TOKEN_FORM "restore-%016" PRIx64 "-%08" PRIx32

static uint32_t sum_of(const char *sha256, const struct restoreplan *plan)
{
	AUTO(free)
	char *text = xasprintf("%s %" PRIu64 " %s", sha256, plan->bump_revision, plan->initial_cluster);

	return crc32c_update(0, text, strlen(text));
}

char *restoreplan_token(uint64_t random, const char *sha256, const struct restoreplan *plan)
{
	return xasprintf(TOKEN_FORM, random, sum_of(sha256, plan));
}

/* One that was given in another form says nothing. */
static void check_token(const struct restoreplan_wish *wish, const json_t *source,
                        struct restoreplan *plan)
{
	uint64_t random;
	uint32_t sum;
	int end = 0;

	if (plan->cluster == NULL || wish->token_is_new ||
	    sscanf(wish->token, "restore-%16" SCNx64 "-%8" SCNx32 "%n", &random, &sum, &end) != 2 ||
	    wish->token[end] != '\0' || sum == sum_of(field_string(source, "sha256"), plan))
		return;
	texts_add(&plan->against,
	          "the token %s is of another plan: the snapshot, the members or --bump-revision are "
	          "others than there; restore all nodes by the commands of one plan",
	          wish->token);
}

/* --- all --- */

static uint64_t choose_bump(const struct restoreplan_wish *wish, const json_t *host)
{
	if (wish->bump_is_given)
		return wish->bump_revision;
	if (wish->of_cluster && json_object_get(json_object_get(host, "tool"), "path") == NULL)
		return RESTOREPLAN_BUMP; /* where there is no tool, the nodes judge theirs */
	return json_is_true(json_object_get(json_object_get(host, "tool"), "can_bump"))
	           ? RESTOREPLAN_BUMP
	           : 0;
}

struct restoreplan *restoreplan_make(const struct restoreplan_wish *wish, const json_t *host,
                                     const json_t *source)
{
	struct restoreplan *plan = NEW0(struct restoreplan);
	AUTO(free) char *members = NULL;

	plan->bump_revision = choose_bump(wish, host);
	plan->members = restoremembers_read(source, &plan->differ);
	members = wish->initial_cluster != NULL ? xstrdup(wish->initial_cluster)
	                                        : named_members(plan->members);
	make_cluster(wish, members, plan);
	choose_self(wish, host, plan);
	if (plan->self != NULL && wish->alone)
		leave_alone(wish, plan);
	if (plan->self != NULL) {
		make_commands(wish, host, source, plan);
		make_words(wish, host, source, plan);
	}
	check_token(wish, source, plan);
	restoreadvice_give(wish, host, source, plan);
	return plan;
}
