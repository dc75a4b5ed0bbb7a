/* SPDX-License-Identifier: Apache-2.0 */
/* Commands stand alone on their lines, without anything in front, so that they can be copied. */
#include "cli/restore/restorerender.h"

#include <inttypes.h>
#include <string.h>

#include "base/civil.h"
#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/fields.h"
#include "cli/common/table.h"
#include "cli/restore/restorestate.h"

#define MIB (1024 * 1024)

/* --- the plan --- */

/* To be freed. */
static char *age_of(const char *taken, int64_t now_s)
{
	int64_t taken_s, age_s;

	if (civil_parse(taken, &taken_s) < 0)
		return xstrdup("");
	age_s = now_s - taken_s;
	if (age_s < 0)
		return xstrdup(" (by this clock in the future)");
	if (age_s < 2 * 3600)
		return xasprintf(" (%" PRId64 " min ago)", age_s / 60);
	if (age_s < 2 * CIVIL_DAY_S)
		return xasprintf(" (%" PRId64 " h ago)", age_s / 3600);
	return xasprintf(" (%" PRId64 " days ago)", age_s / CIVIL_DAY_S);
}

static void print_entry(FILE *out, const json_t *entry, int64_t now_s)
{
	AUTO(free) char *age = age_of(field_string(entry, "started"), now_s);

	if (json_is_object(entry))
		table_line(out, "taken     %s%s, from member %s of cluster %s, etcd %s",
		           field_string(entry, "started"), age,
		           field_string(json_object_get(entry, "member"), "name"),
		           field_string(entry, "cluster_id"), field_string(entry, "server_version"));
}

static void print_signature(FILE *out, const char *verdict, const char *key)
{
	if (strcmp(verdict, "none") == 0)
		table_line(out, "signed    no");
	else if (verdict[0] != '\0')
		table_line(out, "signed    by %s key, %s",
		           strcmp(verdict, "trusted") == 0 ? "a trusted" : "an unknown", key);
}

static void print_elsewhere(FILE *out, const json_t *elsewhere)
{
	const json_t *newest = json_object_get(elsewhere, "newest");
	const char *reason = field_string(elsewhere, "reason");
	AUTO(free) char *now = NULL;

	if (elsewhere == NULL)
		return;
	if (json_is_object(newest) && reason[0] != '\0')
		now = xasprintf(" (read from etcd at %s; now: %s)", field_string(newest, "as_of"), reason);
	if (json_is_object(newest))
		table_line(out, "elsewhere newest known: %s, %s, %s%s", field_string(newest, "node"),
		           field_string(newest, "id"), field_string(newest, "finished"),
		           now != NULL ? now : "");
	else if (reason[0] != '\0')
		table_line(out, "elsewhere not compared: %s", reason);
	else
		table_line(out, "elsewhere no snapshot of another node is known");
}

static void print_source(FILE *out, const json_t *source, int64_t now_s)
{
	const json_t *entry = json_object_get(source, "entry");
	const char *version = field_string(source, "cluster_version");
	bool is_proven = json_is_integer(json_object_get(source, "hashkv"));

	table_line(out, "snapshot  %s", field_string(source, "origin"));
	print_entry(out, entry, now_s);
	print_signature(out, field_string(source, "signed"), field_string(entry, "key"));
	print_elsewhere(out, json_object_get(source, "elsewhere"));
	(void) fprintf(out, "content   revision %lld, ", field_integer(source, "revision"));
	if (is_proven)
		(void) fprintf(out, "%lld keys, HashKV %lld, ", field_integer(source, "live_keys"),
		               field_integer(source, "hashkv"));
	table_line(out, "%lld leases, %.1f MiB; etcd %s", field_integer(source, "leases"),
	           (double) field_integer(source, "db_bytes") / MIB,
	           version[0] != '\0' ? version : "of no version");
	if (is_proven)
		table_line(out, "proven    %stree and keys%s",
		           field_is_true(source, "digest") ? "digest, " : "",
		           json_is_object(entry) ? ", and it is what the catalogue says" : "");
	else
		table_line(out, "proven    while etcd's tool restores from it, before anything is put in "
		                "place");
}

static void print_dir(FILE *out, const json_t *dir)
{
	table_line(out, "into      %s", field_string(dir, "path"));
	if (!field_is_true(dir, "has_unit"))
		table_line(out, "old data  none");
	else
		table_line(out,
		           "old data  stays, as %s.before-restore-TIME; the new one gets its owner "
		           "(%lld:%lld) and mode (%llo)",
		           field_string(dir, "unit"), field_integer(dir, "uid"), field_integer(dir, "gid"),
		           field_integer(dir, "mode"));
}

static void print_members(FILE *out, const struct restoreplan_wish *wish,
                          const struct restoreplan *plan)
{
	static const struct table_column columns[] = {
	    {"MEMBER", TABLE_LEFT}, {"ID", TABLE_LEFT}, {"PEER URLS", TABLE_LEFT}, {"", TABLE_LEFT}};
	struct table *table;

	if (plan->cluster == NULL)
		return;
	table_line(out, "cluster   %" PRIx64 ", a new one, by the token %s", plan->cluster->id,
	           wish->token);
	(void) fputc('\n', out);
	table = table_new(columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < plan->cluster->n_members; i++) {
		const struct newcluster_member *m = &plan->cluster->members[i];
		AUTO(free) char *urls = newcluster_urls(m);

		table_cell(table, "%s", m->name);
		table_cell(table, "%" PRIx64, m->id);
		table_cell(table, "%s", urls);
		table_cell(table, "%s", m == plan->self ? "this node" : "");
	}
	table_print(table, out);
	table_free(table);
}

static void print_revision(FILE *out, const struct restoreplan *plan, const json_t *source)
{
	if (plan->bump_revision > 0)
		table_line(out,
		           "revision  raised by %" PRIu64
		           " to %lld, all before it compacted: watches begin anew",
		           plan->bump_revision,
		           field_integer(source, "last_revision") + (long long) plan->bump_revision);
	else
		table_line(out, "revision  %lld, as it was then", field_integer(source, "revision"));
}

static void print_list(FILE *out, const char *title, const struct texts *texts)
{
	if (texts->n == 0)
		return;
	(void) fprintf(out, "\n%s\n", title);
	for (size_t i = 0; i < texts->n; i++)
		table_line(out, "  - %s", texts->items[i]);
}

static void print_others(FILE *out, const struct restoreplan_wish *wish,
                         const struct restoreplan *plan)
{
	if (plan->n_others == 0)
		return;
	(void) fprintf(out, "\nOn the other nodes%s:\n",
	               wish->source_is_local ? ", with the same file at the same place" : "");
	for (size_t i = 0; i < plan->n_others; i++) {
		table_line(out, "# %s", plan->others[i].member->name);
		table_line(out, "%s", plan->others[i].command);
	}
}

void restorerender_plan(FILE *out, const struct restoreplan_wish *wish,
                        const struct restoreplan *plan, const json_t *host, const json_t *source,
                        int64_t now_s)
{
	const json_t *tool = json_object_get(host, "tool");

	print_source(out, source, now_s);
	print_dir(out, json_object_get(host, "data_dir"));
	table_line(out, "by        %s %s",
	           field_string(tool, "path")[0] != '\0' ? field_string(tool, "path") : "nothing",
	           field_string(tool, "version"));
	print_revision(out, plan, source);
	print_members(out, wish, plan);
	print_list(out, "Mind:", &plan->mind);
	print_list(out, "It cannot be done:", &plan->against);
	if (plan->against.n == 0) {
		print_others(out, wish, plan);
		print_list(out, "Then:", &plan->then);
	}
}

/* Parts of it, for a plan of the whole cluster: the snapshot and the revision; what has to be
 * minded and what comes afterwards. */
static void restorerender_plan_of_cluster(FILE *out, const struct restoreplan *plan,
                                          const json_t *source, int64_t now_s)
{
	print_source(out, source, now_s);
	print_revision(out, plan, source);
}

static void restorerender_lists(FILE *out, const struct restoreplan *plan)
{
	print_list(out, "Mind:", &plan->mind);
	print_list(out, "Then:", &plan->then);
}

void restorerender_dry(FILE *out, const struct restoreplan *plan)
{
	(void) fputs("\nNothing was done. To do it here:\n", out);
	table_line(out, "%s", plan->command);
}

/* --- what came of it --- */

void restorerender_result(FILE *out, const struct restoreplan *plan, const json_t *result)
{
	(void) fputc('\n', out);
	table_line(
	    out,
	    "Restored: %s is member %s (%s) of cluster %s, at revision %lld, with %lld keys; read "
	    "back, and its HashKV %lld is the snapshot's.",
	    field_string(result, "data_dir"), plan->self->name, field_string(result, "member_id"),
	    field_string(result, "cluster_id"), field_integer(result, "revision"),
	    field_integer(result, "live_keys"), field_integer(result, "hashkv"));
	if (field_string(result, "set_aside")[0] != '\0')
		table_line(out, "The old data is in %s", field_string(result, "set_aside"));
}

/* --- for programs --- */

/* An array of them. */
static json_t *restorerender_list_json(const struct texts *texts)
{
	json_t *array = json_array();

	for (size_t i = 0; i < texts->n; i++)
		(void) json_array_append_new(array, jsonval_text(texts->items[i]));
	return array;
}

static json_t *hex_id(uint64_t id)
{
	char text[17];

	(void) snprintf(text, sizeof(text), "%" PRIx64, id);
	return json_string(text);
}

static const char *command_of(const struct restoreplan *plan,
                              const struct newcluster_member *member)
{
	for (size_t i = 0; i < plan->n_others; i++) {
		if (plan->others[i].member == member)
			return plan->others[i].command;
	}
	return plan->command;
}

static json_t *members_json(const struct restoreplan *plan)
{
	json_t *array = json_array();

	for (size_t i = 0; plan->cluster != NULL && i < plan->cluster->n_members; i++) {
		const struct newcluster_member *m = &plan->cluster->members[i];
		json_t *urls = json_array();

		for (size_t k = 0; k < m->n_peer_urls; k++)
			(void) json_array_append_new(urls, jsonval_text(m->peer_urls[k]));
		(void) json_array_append_new(
		    array, json_pack("{s:o, s:o, s:o, s:b, s:o}", "name", jsonval_text(m->name), "id",
		                     hex_id(m->id), "peer_urls", urls, "this_node", (int) (m == plan->self),
		                     "command", jsonval_text(command_of(plan, m))));
	}
	return array;
}

json_t *restorerender_plan_json(const struct restoreplan_wish *wish, const struct restoreplan *plan,
                                const json_t *host, const json_t *source)
{
	return json_pack("{s:O, s:O, s:o, s:o, s:o, s:I, s:o, s:o, s:o}", "snapshot", source, "host",
	                 host, "members", members_json(plan), "cluster_id",
	                 plan->cluster != NULL ? hex_id(plan->cluster->id) : json_null(), "token",
	                 jsonval_text(wish->token), "bump_revision", (json_int_t) plan->bump_revision,
	                 "mind", restorerender_list_json(&plan->mind), "against",
	                 restorerender_list_json(&plan->against), "then",
	                 restorerender_list_json(&plan->then));
}

/* --- restoreclusterrender --- */

void restorecluster_print_against(FILE *out, const struct restoreplan *plan)
{
	for (size_t i = 0; i < plan->against.n; i++)
		table_line(out, "fairlead: %s", plan->against.items[i]);
}

/* --- the plan --- */

/* "etcd.yaml, kube-apiserver.yaml", to be freed. */
static char *services_of(const json_t *survey)
{
	const json_t *services = json_object_get(survey, "services");
	char *text = xstrdup("");

	for (size_t i = 0; i < json_array_size(services); i++) {
		AUTO(free) char *before = text;

		text = xasprintf("%s%s%s", before, i > 0 ? ", " : "",
		                 field_string(json_array_get(services, i), "name"));
	}
	return text;
}

static void print_nodes(FILE *out, const struct restorenodes *nodes)
{
	static const struct table_column columns[] = {
	    {"MEMBER", TABLE_LEFT}, {"NODE", TABLE_LEFT},     {"ID", TABLE_LEFT},
	    {"PHASE", TABLE_STATE}, {"SERVICES", TABLE_LEFT},
	};
	struct table *table = table_new(columns, ARRAY_SIZE(columns));

	for (size_t i = 0; i < nodes->cluster->n_members; i++) {
		const struct newcluster_member *member = &nodes->cluster->members[i];
		const struct restorenode *node = restorenodes_of(nodes, i);
		AUTO(free) char *services = services_of(node != NULL ? node->survey : NULL);
		const char *phase = nodes->excused[i]                ? "left out"
		                    : node == NULL || !node->reached ? "not reached"
		                                                     : restorephase_name(node->phase);

		table_cell(table, "%s", member->name);
		table_cell(table, "%s", node != NULL ? node->name : "-");
		table_cell(table, "%" PRIx64, member->id);
		table_cell(table, "%s", phase);
		table_cell(table, "%s", services);
	}
	table_print(table, out);
	table_free(table);
}

/* Another command works on it. */
static void print_claims(FILE *out, const struct restorenodes *nodes)
{
	for (size_t i = 0; i < nodes->n; i++) {
		const json_t *claim = json_object_get(nodes->nodes[i].survey, "claim");

		if (claim == NULL || restoreclaim_is_dead(claim))
			continue;
		(void) fputc('\n', out);
		table_line(out, "%s works on the restore of %s since %s", field_string(claim, "by"),
		           nodes->nodes[i].name, field_string(claim, "since"));
	}
}

static json_t *nodes_json(const struct restorenodes *nodes, const json_t *health)
{
	json_t *array = json_array();

	for (size_t i = 0; i < nodes->cluster->n_members; i++) {
		const struct newcluster_member *member = &nodes->cluster->members[i];
		const struct restorenode *node = restorenodes_of(nodes, i);
		AUTO(free) char *id = xasprintf("%" PRIx64, member->id);
		json_t *said = node != NULL ? json_object_get(health, node->name) : NULL;
		bool reached = node != NULL && node->reached;
		json_t *object =
		    json_pack("{s:o, s:o, s:s, s:b, s:o}", "member", jsonval_text(member->name), "node",
		              jsonval_text(node != NULL ? node->name : NULL), "id", id, "left_out",
		              (int) nodes->excused[i], "phase",
		              jsonval_text(reached ? restorephase_name(node->phase) : NULL));

		if (said != NULL)
			(void) json_object_set(object, "health", said);
		if (reached)
			(void) json_object_set(object, "claim", json_object_get(node->survey, "claim"));
		(void) json_array_append_new(array, object);
	}
	return array;
}

static json_t *describe(const struct restorenodes *nodes, const json_t *health)
{
	AUTO(free) char *id = xasprintf("%" PRIx64, nodes->cluster->id);

	return json_pack("{s:s, s:s, s:o}", "cluster_id", id, "token", nodes->token, "nodes",
	                 nodes_json(nodes, health));
}

static void print_left_out(FILE *out, const struct texts *without)
{
	for (size_t i = 0; i < without->n; i++) {
		(void) fputc('\n', out);
		table_line(out,
		           "The etcd of %s must never start with its old data again. Before that node has "
		           "the network again, on it:",
		           without->items[i]);
		(void) fputs("mv /etc/kubernetes/manifests/etcd.yaml /etc/kubernetes/   # static pods\n"
		             "systemctl disable --now etcd                              # a service\n"
		             "Then replace it: etcdctl member remove, member add, and etcd with an empty "
		             "data directory.\n",
		             out);
	}
}

void restorecluster_print_plan(const struct restoring *r, const struct restorenodes *nodes,
                               const struct texts *without)
{
	if (r->cli.output != CLI_TABLE) {
		json_t *object = describe(nodes, NULL);

		if (r->found != NULL)
			(void) json_object_set(object, "snapshot", r->found);
		if (r->plan != NULL)
			(void) json_object_set_new(object, "mind", restorerender_list_json(&r->plan->mind));
		restoring_print_new(r, json_pack("{s:o}", "plan", object));
		return;
	}
	if (r->plan != NULL)
		restorerender_plan_of_cluster(stdout, r->plan, r->found, wall_now_us() / US_PER_S);
	table_line(stdout, "cluster   %" PRIx64 ", a new one, by the token %s", nodes->cluster->id,
	           nodes->token);
	(void) fputc('\n', stdout);
	print_nodes(stdout, nodes);
	print_claims(stdout, nodes);
	if (r->plan != NULL)
		restorerender_lists(stdout, r->plan);
	print_left_out(stdout, without);
	(void) fflush(stdout);
}

/* --- what came of it --- */

void restorecluster_print_result(const struct restoring *r, const struct restorenodes *nodes,
                                 const struct restorehealth *health, const struct texts *without)
{
	size_t n = json_object_size(health->said);

	if (r->cli.output != CLI_TABLE) {
		json_t *object = describe(nodes, health->said);

		(void) json_object_set_new(object, "revision",
		                           n > 0 ? json_integer(health->revision) : json_null());
		restoring_print_new(r, json_pack("{s:o}", "result", object));
		return;
	}
	if (n > 0)
		(void) printf("\nRestored: cluster %" PRIx64 ", %zu of %zu members, all healthy, all with "
		              "revision %" PRId64 ".\n",
		              nodes->cluster->id, n, nodes->cluster->n_members, health->revision);
	else if (r->options.back)
		(void) puts("\nThe old data is in place on all nodes, and the old etcd was started.");
	else
		(void) puts("\nThere was nothing left to do.");
	print_left_out(stdout, without);
}
