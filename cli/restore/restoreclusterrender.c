/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/restore/restoreclusterrender.h"

#include <inttypes.h>
#include <string.h>

#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/table.h"
#include "cli/restore/restoreclaim.h"
#include "cli/restore/restorerender.h"

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "";
}

void restorecluster_print_against(FILE *out, const struct restoreplan *plan)
{
	for (size_t i = 0; i < plan->against.n; i++) {
		(void) fputs("fairlead: ", out);
		table_print_safe(out, plan->against.items[i]);
		(void) fputc('\n', out);
	}
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
		                 text_of(json_array_get(services, i), "name"));
	}
	return text;
}

static const struct restorenode *node_of(const struct restorenodes *nodes, size_t member)
{
	for (size_t i = 0; i < nodes->n; i++) {
		if (nodes->nodes[i].member == member)
			return &nodes->nodes[i];
	}
	return NULL;
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
		const struct restorenode *node = node_of(nodes, i);
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
		table_print_safe(out, text_of(claim, "by"));
		(void) fputs(" works on the restore of ", out);
		table_print_safe(out, nodes->nodes[i].name);
		(void) fputs(" since ", out);
		table_print_safe(out, text_of(claim, "since"));
		(void) fputc('\n', out);
	}
}

static json_t *nodes_json(const struct restorenodes *nodes, const json_t *health)
{
	json_t *array = json_array();

	for (size_t i = 0; i < nodes->cluster->n_members; i++) {
		const struct newcluster_member *member = &nodes->cluster->members[i];
		const struct restorenode *node = node_of(nodes, i);
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
		(void) fputs("\nThe etcd of ", out);
		table_print_safe(out, without->items[i]);
		(void) fputs(" must never start with its old data again. Before that node has the network "
		             "again, on it:\n"
		             "mv /etc/kubernetes/manifests/etcd.yaml /etc/kubernetes/   # static pods\n"
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
	(void) printf("cluster   %" PRIx64 ", a new one, by the token ", nodes->cluster->id);
	table_print_safe(stdout, nodes->token);
	(void) fputs("\n\n", stdout);
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
