/* SPDX-License-Identifier: Apache-2.0 */
/* `fairlead etcd restore status`: the state of a restore of the whole cluster on this node, or on
 * several, as their state files have it; and which cluster the data directory is of, as its WAL has
 * it, so that members that were restored one by one can be compared too. */
#include "cli/restore/restorestatus.h"

#include <inttypes.h>
#include <string.h>

#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "bolt/wal.h"
#include "cli/cli.h"
#include "cli/common/table.h"
#include "cli/restore/restoreclaim.h"
#include "cli/restore/restorenodes.h"
#include "cli/restore/restorestate.h"

#define TIMEOUT_US (20 * US_PER_S)

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "";
}

/* --- for people --- */

static const char *next_of(enum restore_phase phase)
{
	switch (phase) {
	case RESTORE_NONE:
	case RESTORE_DONE:
		return "nothing is to be done";
	case RESTORE_PREPARED:
		return "etcd runs as before; --resume goes on, --back removes what was prepared";
	case RESTORE_STOPPING:
	case RESTORE_STOPPED:
	case RESTORE_EXCHANGED:
		return "etcd is held: --resume goes on, --back starts the old etcd";
	case RESTORE_STARTED:
		return "etcd runs with the new data: --resume looks at it and starts API servers";
	case RESTORE_RETURNING:
	case RESTORE_RETURNED:
		return "--back goes on";
	case RESTORE_N_PHASES:
		break;
	}
	return "";
}

static void add_row(struct table *table, const char *node, const json_t *state)
{
	enum restore_phase phase = RESTORE_NONE;
	const char *name = text_of(state, "phase");

	(void) restorephase_parse(name, &phase);
	table_cell(table, "%s", node);
	table_cell(table, "%s", text_of(state, "member"));
	table_cell(table, "%s", text_of(json_object_get(state, "data"), "cluster_id"));
	table_cell(table, "%s", name);
	table_cell(table, "%s", text_of(json_object_get(state, "times"), name));
	table_cell(table, "%s", text_of(state, "token"));
	table_cell(table, "%s", text_of(json_object_get(state, "claim"), "by"));
	table_cell(table, "%s", next_of(phase));
}

struct showing {
	const struct cli *cli;
	struct table *table;
	int code;
};

/* With --nodes each object says of which node it is. */
static void show(struct showing *s, const char *node, const json_t *state)
{
	json_t *object;

	if (s->cli->output == CLI_TABLE) {
		add_row(s->table, node, state);
		return;
	}
	object = json_pack("{s:o}", "node", jsonval_text(node));
	(void) json_object_update_missing(object, (json_t *) (uintptr_t) state);
	cli_print(s->cli, object);
	json_decref(object);
}

static void on_answer(const struct remote_answer *answer, void *userdata)
{
	struct showing *s = userdata;
	const char *why = answer->error != NULL ? answer->error : remote_outcome_name(answer->outcome);

	if (answer->outcome == REMOTE_DONE && answer->exit_code == CLI_OK) {
		show(s, answer->node, json_array_get(answer->objects, 0));
		return;
	}
	(void) fprintf(stderr, "fairlead: %s: ", answer->node);
	table_print_safe(stderr, why);
	(void) fputc('\n', stderr);
	s->code = CLI_UNREACHABLE;
}

/* --- all --- */

static int ask_nodes(struct showing *s)
{
	AUTO(remote_free) struct remote *remote = NULL;
	struct restorenodes nodes = {0};
	int code = remote_new(s->cli->via, &remote);

	if (code != CLI_OK)
		return code;
	nodes.remote = remote;
	code = restorenodes_name_all(&nodes, s->cli);
	if (code == CLI_OK)
		restorenodes_ask_state(&nodes, TIMEOUT_US, on_answer, s);
	restorenodes_fini(&nodes);
	return code == CLI_OK ? s->code : code;
}

/* {"member_id", "cluster_id"}; NULL: there is no WAL that tells. */
static json_t *look_at_data(const char *data_dir)
{
	AUTO(free) char *path = xasprintf("%s/member/wal", data_dir);
	struct wal_reach reach;
	char member[17], cluster[17];

	if (wal_read(path, UINT64_MAX, &reach) < 0 || reach.cluster_id == 0)
		return json_null();
	(void) snprintf(member, sizeof(member), "%" PRIx64, reach.member_id);
	(void) snprintf(cluster, sizeof(cluster), "%" PRIx64, reach.cluster_id);
	return json_pack("{s:s, s:s}", "member_id", member, "cluster_id", cluster);
}

static int show_own(struct showing *s, const char *data_dir)
{
	AUTO(restorestate_free) struct restorestate *state = NULL;
	int code = restorestate_open(RESTORESTATE_DIR, false, &state);
	json_t *object, *claim = NULL;

	if (code == CLI_OK)
		code = restoreclaim_read(RESTORESTATE_DIR, &claim);
	if (code != CLI_OK)
		return code;
	object = restorestate_json(state);
	if (text_of(object, "data_dir")[0] != '\0')
		data_dir = text_of(object, "data_dir");
	(void) json_object_set_new(object, "data", look_at_data(data_dir));
	(void) json_object_set_new(object, "claim", claim != NULL ? claim : json_null());
	show(s, "this node", object);
	json_decref(object);
	return CLI_OK;
}

int restorestatus_show(const struct cli *cli, const struct restoreoptions *options)
{
	static const struct table_column columns[] = {
	    {"NODE", TABLE_LEFT},       {"MEMBER", TABLE_LEFT}, {"CLUSTER", TABLE_LEFT},
	    {"PHASE", TABLE_STATE},     {"SINCE", TABLE_LEFT},  {"TOKEN", TABLE_LEFT},
	    {"CLAIMED BY", TABLE_LEFT}, {"NEXT", TABLE_LEFT},
	};
	AUTO(table_free) struct table *table = table_new(columns, ARRAY_SIZE(columns));
	struct showing s = {.cli = cli, .table = table};
	int code = options->nodes != NULL ? ask_nodes(&s) : show_own(&s, options->wish.data_dir);

	if (cli->output == CLI_TABLE)
		table_print(table, stdout);
	return code;
}
