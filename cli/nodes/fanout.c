/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For people, a node's own table is shown, as its version of fairlead makes it and by its clock;
 * for programs, its JSON. What failed stands in a table below all.
 */
#include "cli/nodes/fanout.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "cli/common/table.h"
#include "cli/nodes/nodelist.h"
#include "cli/nodes/remote.h"

#define INTERRUPTED 130 /* as a shell says it */

/* --- exit codes --- */

static const int from_good_to_bad[] = {CLI_OK,     CLI_WARNED,      CLI_FAILED,
                                       CLI_DENIED, CLI_UNREACHABLE, CLI_USAGE};

static size_t badness(int code)
{
	for (size_t i = 0; i < ARRAY_SIZE(from_good_to_bad); i++) {
		if (from_good_to_bad[i] == code)
			return i;
	}
	return badness(CLI_FAILED);
}

int fanout_worse(int a, int b)
{
	return from_good_to_bad[MAX(badness(a), badness(b))];
}

static int code_of(const struct remote_answer *answer)
{
	switch (answer->outcome) {
	case REMOTE_DONE:
		return answer->exit_code;
	case REMOTE_UNREACHABLE:
	case REMOTE_TIMEOUT:
	case REMOTE_NO_PROGRAM:
		return CLI_UNREACHABLE;
	case REMOTE_DENIED:
		return CLI_DENIED;
	case REMOTE_GARBLED:
	case REMOTE_TOO_MUCH:
	case REMOTE_INTERRUPTED:
		break;
	}
	return CLI_FAILED;
}

/* --- for programs --- */

/* Members of etcd and snapshots have a `node` themselves. */
static json_t *with_node(const char *node, const json_t *object)
{
	json_t *whole = json_pack("{s:s}", "node", node);
	const char *key;
	json_t *value;

	json_object_foreach((json_t *) (uintptr_t) object, key, value)
	{
		(void) json_object_set(whole, strcmp(key, "node") == 0 ? "own_node" : key, value);
	}
	return whole;
}

static void print_objects(const struct cli *cli, const struct remote_answer *answer)
{
	const json_t *object;
	json_t *whole;
	size_t i;

	json_array_foreach(answer->objects, i, object)
	{
		whole = with_node(answer->node, object);
		cli_print(cli, whole);
		json_decref(whole);
	}
	if (answer->outcome == REMOTE_DONE && answer->exit_code == CLI_OK)
		return;
	whole = json_pack("{s:s, s:s, s:s?}", "node", answer->node, "outcome",
	                  remote_outcome_name(answer->outcome), "error", answer->error);
	if (answer->outcome == REMOTE_DONE)
		(void) json_object_set_new(whole, "exit_code", json_integer(answer->exit_code));
	cli_print(cli, whole);
	json_decref(whole);
}

/* --- for people --- */

static void print_section(const struct remote_answer *answer, bool is_first)
{
	const json_t *line;
	size_t i;

	if (json_array_size(answer->objects) == 0)
		return;
	(void) printf("%s== %s ==\n", is_first ? "" : "\n", answer->node);
	json_array_foreach(answer->objects, i, line)
	{
		table_print_safe(stdout, json_string_value(line));
		(void) putchar('\n');
	}
}

static void add_failed(struct table *table, const struct remote_answer *answer)
{
	table_cell(table, "%s", answer->node);
	if (answer->outcome == REMOTE_DONE)
		table_cell(table, "exit %d", answer->exit_code);
	else
		table_cell(table, "%s", remote_outcome_name(answer->outcome));
	table_cell(table, "%s", answer->error != NULL ? answer->error : "-");
}

static void print_sections(const struct remote_answer *answers, size_t n)
{
	static const struct table_column columns[] = {
	    {"NODE", TABLE_LEFT}, {"OUTCOME", TABLE_LEFT}, {"ERROR", TABLE_LEFT}};
	AUTO(table_free) struct table *failed = table_new(columns, ARRAY_SIZE(columns));
	size_t n_failed = 0, n_shown = 0;

	for (size_t i = 0; i < n; i++) {
		print_section(&answers[i], n_shown == 0);
		n_shown += json_array_size(answers[i].objects) > 0 ? 1 : 0;
		/* One that says in its own words what is wrong has no error. */
		if (answers[i].outcome == REMOTE_DONE && answers[i].error == NULL &&
		    (answers[i].exit_code == CLI_OK || json_array_size(answers[i].objects) > 0))
			continue;
		add_failed(failed, &answers[i]);
		n_failed++;
	}
	if (n_failed == 0)
		return;
	if (n_shown > 0)
		(void) putchar('\n');
	table_print(failed, stdout);
}

/* --- all together --- */

static int ask_and_print(const struct cli *cli, const struct remote *remote,
                         const struct texts *nodes, const struct texts *words, int64_t timeout_us)
{
	AUTO(free) struct remote_answer *answers = xcalloc(nodes->n, sizeof(*answers));
	int code = CLI_OK;
	int r = remote_run(remote, (const char *const *) nodes->items, nodes->n, words, NULL, 0,
	                   timeout_us, NULL, NULL, answers);

	if (cli->output == CLI_TABLE)
		print_sections(answers, nodes->n);
	for (size_t i = 0; i < nodes->n; i++) {
		if (cli->output != CLI_TABLE)
			print_objects(cli, &answers[i]);
		code = fanout_worse(code, code_of(&answers[i]));
	}
	remote_answers_fini(answers, nodes->n);
	return r == -EINTR ? INTERRUPTED : code;
}

int fanout_run(const struct cli *cli, const struct texts *words, int64_t timeout_us)
{
	AUTO(remote_free) struct remote *remote = NULL;
	struct texts nodes = {0};
	struct texts whole = {0};
	int code = remote_new(cli->via, &remote);

	if (code == CLI_OK)
		code = nodelist_resolve(cli, &nodes);
	if (code == CLI_OK) {
		if (cli->output == CLI_TABLE)
			remote_expect_text(remote);
		else
			texts_add_option(&whole, "--output", "json");
		texts_add_all(&whole, words);
		code = ask_and_print(cli, remote, &nodes, &whole, timeout_us);
	}
	texts_fini(&nodes);
	texts_fini(&whole);
	return code;
}
