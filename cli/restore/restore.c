/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `fairlead etcd restore`: asks the worker what there is on this machine and what the snapshot is,
 * makes a plan of it (restoreplan.h), prints that, and only with --yes lets the worker carry it
 * out. No daemon is needed, and no etcd.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/snapshot/file.h"
#include "cli/restore/restorecluster.h"
#include "cli/restore/restorerender.h"
#include "cli/restore/restorestate.h"
#include "cli/restore/restorestatus.h"
#include "cli/restore/restorestep.h"
#include "cli/restore/restoring.h"

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
