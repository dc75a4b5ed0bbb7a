/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `fairlead etcd restore`: asks the worker what there is on this machine and what the snapshot is,
 * makes a plan of it (restoreplan.h), prints that, and only with --yes lets the worker carry it
 * out. No daemon is needed, and no etcd.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "bolt/wal.h"
#include "cli/common/cli.h"
#include "cli/common/fields.h"
#include "cli/common/table.h"
#include "cli/restore/restorecluster.h"
#include "cli/restore/restorenodes.h"
#include "cli/restore/restoreoptions.h"
#include "cli/restore/restorerender.h"
#include "cli/restore/restorestate.h"
#include "cli/restore/restorestep.h"
#include "cli/restore/restoring.h"
#include "cli/snapshot/file.h"

/* --- restorestatus --- */

/* `fairlead etcd restore status`: of this node, or of those in the options. An exit code. */

/* `fairlead etcd restore status`: the state of a restore of the whole cluster on this node, or on
 * several, as their state files have it; and which cluster the data directory is of, as its WAL has
 * it, so that members that were restored one by one can be compared too. */

#define TIMEOUT_US (20 * US_PER_S)

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
	const char *name = field_string(state, "phase");

	(void) restorephase_parse(name, &phase);
	table_cell(table, "%s", node);
	table_cell(table, "%s", field_string(state, "member"));
	table_cell(table, "%s", field_string(json_object_get(state, "data"), "cluster_id"));
	table_cell(table, "%s", name);
	table_cell(table, "%s", field_string(json_object_get(state, "times"), name));
	table_cell(table, "%s", field_string(state, "token"));
	table_cell(table, "%s", field_string(json_object_get(state, "claim"), "by"));
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
	table_line(stderr, "fairlead: %s: %s", answer->node, why);
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
	if (field_string(object, "data_dir")[0] != '\0')
		data_dir = field_string(object, "data_dir");
	(void) json_object_set_new(object, "data", look_at_data(data_dir));
	(void) json_object_set_new(object, "claim", claim != NULL ? claim : json_null());
	show(s, "this node", object);
	json_decref(object);
	return CLI_OK;
}

static int restorestatus_show(const struct cli *cli, const struct restoreoptions *options)
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

/* --- restore --- */

/* There is another directory than before, or none. */
static void say_exchanged(const json_t *dir, const char *set_aside)
{
	const char *unit = json_string_value(json_object_get(dir, "unit"));
	bool is_there = json_is_true(json_object_get(dir, "has_unit"));

	if (set_aside != NULL)
		(void) fprintf(stderr, "fairlead: the old data is in %s; the way back: %smv %s %s\n",
		               set_aside, is_there ? "move the new one away, and " : "", set_aside, unit);
	else
		(void) fprintf(stderr, "fairlead: the new data is in %s, where there was none\n", unit);
}

/* Where the data is after a failure, also of a worker that was killed: the directory that was there
 * before is known by its number. */
static void say_where_it_is(struct restoring *r)
{
	json_t *before = json_incref(json_object_get(r->host, "data_dir"));
	const json_t *dir;
	const char *set_aside;
	bool same_aside;

	if (restoring_look_at_host(r, NULL) != CLI_OK) {
		json_decref(before);
		return;
	}
	dir = json_object_get(r->host, "data_dir");
	set_aside = json_string_value(json_object_get(dir, "set_aside"));
	same_aside =
	    json_equal(json_object_get(dir, "set_aside"), json_object_get(before, "set_aside"));
	if (!json_equal(json_object_get(dir, "inode"), json_object_get(before, "inode")))
		say_exchanged(dir, same_aside ? NULL : set_aside);
	else if (same_aside || set_aside == NULL)
		(void) fputs("fairlead: nothing was changed\n", stderr);
	else
		(void) fprintf(stderr,
		               "fairlead: nothing was changed; what was made is in %s, and can go\n",
		               set_aside);
	json_decref(before);
}

static int act(struct restoring *r)
{
	struct texts words = {0};
	int code;

	texts_add(&words, "restore");
	texts_add(&words, "run");
	texts_add_all(&words, &r->plan->words);
	texts_add(&words, "--");
	texts_add(&words, "%s", json_string_value(json_object_get(r->found, "file")));
	if (r->cli.output == CLI_TABLE)
		(void) putchar('\n');
	r->acted = true;
	code = restoring_ask(r, &words, &r->result);
	if (code != CLI_OK) {
		say_where_it_is(r);
		return code;
	}
	if (r->cli.output != CLI_TABLE)
		restoring_print_new(r, json_pack("{s:O}", "result", r->result));
	else
		restorerender_result(stdout, r->plan, r->result);
	return CLI_OK;
}

static int run(struct restoring *r)
{
	int code = restoring_plan(r);

	if (code != CLI_OK)
		return code;
	restoring_print_plan(r);
	if (r->plan->against.n > 0)
		return CLI_FAILED;
	if (r->options.yes)
		return act(r);
	if (r->cli.output == CLI_TABLE)
		restorerender_dry(stdout, r->plan);
	return CLI_OK;
}

/* Looking at a snapshot would remove what the restore of the whole cluster has prepared here. */
static int check_no_other(void)
{
	AUTO(restorestate_free) struct restorestate *state = NULL;
	int code = restorestate_open(RESTORESTATE_DIR, false, &state);

	/* Who may not read it may not restore either, which is said in time. */
	if (code == CLI_DENIED ||
	    (code == CLI_OK && (state->phase == RESTORE_NONE || state->phase == RESTORE_DONE)))
		return CLI_OK;
	if (code == CLI_OK)
		(void) fprintf(stderr,
		               "fairlead: the restore '%s' of the whole cluster is under way on this node "
		               "('%s'): fairlead etcd restore status\n",
		               restorestate_text(state, "token"), restorephase_name(state->phase));
	return CLI_FAILED;
}

static int restore(struct restoring *r)
{
	int code;

	restoring_choose_token(r);
	r->progress = progress_new(r->cli.output == CLI_TABLE);
	if (r->options.nodes != NULL)
		return restorecluster_run(r);
	code = check_no_other();
	if (code == CLI_OK)
		code = run(r);
	restoring_clean_up(r);
	return code;
}

int cli_etcd_restore(const struct cli *cli, int argc, char **argv)
{
	struct restoring r = {.cli = *cli};
	int code = restoreoptions_parse(&r.cli, argc, argv, &r.options);

	if (code != CLI_OK) {
		(void) fputs("fairlead etcd restore --help lists the options.\n", stderr);
		restoreoptions_fini(&r.options);
		return code;
	}
	if (argc > 0 && strcmp(argv[0], "status") == 0)
		code = restorestatus_show(&r.cli, &r.options);
	else if (argc > 0 && strcmp(argv[0], "step") == 0)
		code = restorestep_run(&r, argc - 1, argv + 1);
	else
		code = restore(&r);
	restoring_fini(&r);
	return code != CLI_OK ? code : etcd_flush();
}
