/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is short and in every object is a column, and the table fits 80 of them with addresses and
 * names of usual length. What is made of words, the last move and what deserves a look, is a line
 * of its own below.
 */
#include "cli/common/cli.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/table.h"
#include "cli/common/fields.h"
#include "cli/common/worker.h"

/* --- the table --- */

/* "2.45s" of 2450. */
static void seconds_cell(struct table *table, const json_t *object, const char *key, int decimals)
{
	const json_t *ms = json_object_get(object, key);

	if (json_is_number(ms))
		table_cell(table, "%.*fs", decimals, json_number_value(ms) / 1000);
	else
		table_cell(table, "-");
}

static void rtt_cell(struct table *table, const json_t *object)
{
	const json_t *ms = json_object_get(object, "confirm_rtt_ms");

	if (json_is_number(ms))
		table_cell(table, "%.1fms", json_number_value(ms));
	else
		table_cell(table, "-");
}

static void epoch_cell(struct table *table, const json_t *object)
{
	if (json_is_integer(json_object_get(object, "epoch")))
		table_cell(table, "%lld", (long long) field_integer(object, "epoch"));
	else
		table_cell(table, "-");
}

static void add_row(struct table *table, const json_t *object)
{
	table_cell(table, "%s", field_text_or_dash(object, "vip"));
	table_cell(table, "%s", field_text_or_dash(object, "link"));
	table_cell(table, "%s", field_text_or_dash(object, "state"));
	table_cell(table, "%s", field_text_or_dash(object, "owner"));
	epoch_cell(table, object);
	seconds_cell(table, object, "fence_left_ms", 2);
	seconds_cell(table, object, "bound_ms", 1);
	rtt_cell(table, object);
	table_cell(table, "%s", field_text_or_dash(object, "health"));
}

/* --- the last move --- */

/* "10.0.0.5: moved from n2 12m ago in 3.2 s: owner silent". To whom it moved is the
 * table's to say. */
static void print_move(FILE *out, const json_t *object, int64_t wall_now_us)
{
	const json_t *move = json_object_get(object, "last_move");
	const json_t *duration_ms = json_object_get(move, "duration_ms");
	const char *time_text = field_text(move, "time");
	const char *from = field_text(move, "from");
	struct tm tm = {0};
	char age[FIELD_AGE_MAX];

	if (time_text == NULL || strptime(time_text, "%Y-%m-%dT%H:%M:%SZ", &tm) == NULL)
		return;
	table_print_safe(out, field_text_or_dash(object, "vip"));
	(void) fputs(": moved from ", out);
	table_print_safe(out, from != NULL ? from : "nobody");
	(void) fprintf(out, " %s ago", field_age(wall_now_us - (int64_t) timegm(&tm) * US_PER_S, age));
	if (json_is_number(duration_ms))
		(void) fprintf(out, " in %.1f s", json_number_value(duration_ms) / 1000);
	(void) fputs(": ", out);
	table_print_safe(out, field_text_or_dash(move, "reason"));
	(void) fputc('\n', out);
}

/* --- the notes --- */

static void note(FILE *out, const json_t *object, const char *what, const char *detail)
{
	color_print_state(out, "warning: ");
	table_print_safe(out, field_text_or_dash(object, "vip"));
	(void) fprintf(out, ": %s", what);
	table_print_safe(out, detail);
	(void) fputc('\n', out);
}

static void add_notes(FILE *out, const json_t *object)
{
	const char *state = field_text(object, "state");
	const char *health = field_text(object, "health");
	const char *foreign_mac = field_text(object, "foreign_mac");
	const char *foreign_node = field_text(object, "foreign_node");
	const char *link_problem = field_text(object, "link_problem");
	const json_t *warning;
	size_t i;

	if (link_problem != NULL)
		note(out, object, "", link_problem);
	if (state != NULL && strcmp(state, "down") == 0)
		note(out, object, "down: ", field_text_or_dash(object, "reason"));
	if (field_is_true(object, "hold"))
		note(out, object, "this node is on hold; 'fairlead vip unhold' ends that", "");
	if (health != NULL && strcmp(health, "bad") == 0)
		note(out, object, "the API server of this node is not healthy: ",
		     field_text_or_dash(object, "health_reason"));
	/* Else vipd has not asked etcd for it. */
	if (field_is_false(object, "etcd_ok") &&
	    (link_problem == NULL || field_text(object, "etcd_endpoint") != NULL))
		note(out, object, "etcd does not answer; the last endpoint tried is ",
		     field_text_or_dash(object, "etcd_endpoint"));
	if (foreign_mac != NULL)
		note(out, object,
		     field_is_true(object, "in_use") ? "a host that is not the owner answers for it: "
		                                     : "a host that is not the owner has claimed it: ",
		     foreign_mac);
	if (foreign_mac != NULL && foreign_node != NULL)
		note(out, object, "that is node ", foreign_node);
	json_array_foreach(json_object_get(object, "warnings"), i, warning)
	{
		if (json_is_string(warning) &&
		    (link_problem == NULL || strcmp(json_string_value(warning), link_problem) != 0))
			note(out, object, "", json_string_value(warning));
	}
}

void vip_render_status(FILE *out, const json_t *objects, int64_t wall_now_us)
{
	static const struct table_column columns[] = {
	    {"VIP", TABLE_LEFT},    {"LINK", TABLE_LEFT},   {"STATE", TABLE_STATE},
	    {"OWNER", TABLE_LEFT},  {"EPOCH", TABLE_RIGHT}, {"FENCE", TABLE_RIGHT},
	    {"BOUND", TABLE_RIGHT}, {"RTT", TABLE_RIGHT},   {"HEALTH", TABLE_STATE},
	};
	AUTO(table_free) struct table *table = NULL;
	const json_t *object;
	size_t i;

	if (json_array_size(objects) == 0) {
		(void) fputs("no VIP is configured on this node\n", out);
		return;
	}
	(void) fputs("node ", out);
	table_print_safe(out, field_text_or_dash(json_array_get(objects, 0), "node"));
	(void) fputc('\n', out);
	table = table_new(columns, ARRAY_SIZE(columns));
	json_array_foreach(objects, i, object)
	{
		add_row(table, object);
	}
	table_print(table, out);
	json_array_foreach(objects, i, object)
	{
		print_move(out, object, wall_now_us);
	}
	json_array_foreach(objects, i, object)
	{
		add_notes(out, object);
	}
}

/* --- the commands --- */

#define DAEMON "vipd"
#define TIMEOUT_US (5 * US_PER_S)
/* A move waits until somebody else owns the VIP; vipd gives up before this. */
#define MOVE_TIMEOUT_US (15 * US_PER_S)

/* --- vip move, hold, unhold --- */

/* "10.0.0.5: n2 owns it now, after 85 ms" */
static void print_moved(const char *vip, const char *owner, const json_t *duration_ms)
{
	table_print_safe(stdout, vip);
	(void) fputs(": ", stdout);
	table_print_safe(stdout, owner);
	(void) fputs(" owns it now", stdout);
	if (json_is_number(duration_ms))
		(void) printf(", after %.0f ms", json_number_value(duration_ms));
	(void) putchar('\n');
}

/* `to` is NULL when any node would do. A move that ended at another one is no success. */
static int conclude_move(const struct cli *cli, const struct client_answer *answer, const char *vip,
                         const char *to)
{
	const json_t *object = json_array_get(answer->objects, 0);
	const char *owner = json_string_value(json_object_get(object, "owner"));

	if (cli->output != CLI_TABLE)
		cli_print_answer(cli, answer);
	else
		print_moved(vip, owner != NULL ? owner : "another node",
		            json_object_get(object, "duration_ms"));
	if (to == NULL || (owner != NULL && strcmp(owner, to) == 0))
		return CLI_OK;
	(void) fprintf(stderr,
	               "fairlead: that is not '%s', which did not take it: see 'fairlead vip status'\n",
	               to);
	return CLI_FAILED;
}

int cli_vip_move(const struct cli *cli, int argc, char **argv)
{
	AUTO(client_answer_free) struct client_answer *answer = NULL;
	const char *words[] = {"vip", "move", argv[0], "to", argc == 3 ? argv[2] : NULL};
	int code;

	if (argc == 2 || (argc == 3 && strcmp(argv[1], "to") != 0)) {
		(void) fprintf(stderr, "fairlead: a node stands behind 'to': fairlead vip move %s to %s\n",
		               argv[0], argv[argc - 1]);
		return CLI_USAGE;
	}
	code = cli_ask(cli, DAEMON, words, argc == 3 ? 5 : 3, MOVE_TIMEOUT_US, &answer);
	if (code != CLI_OK)
		return code;
	return conclude_move(cli, answer, argv[0], argc == 3 ? argv[2] : NULL);
}

static int set_hold(const struct cli *cli, const char *word, const char *done)
{
	AUTO(client_answer_free) struct client_answer *answer = NULL;
	const char *words[] = {"vip", word};
	int code = cli_ask(cli, DAEMON, words, ARRAY_SIZE(words), TIMEOUT_US, &answer);

	if (code != CLI_OK)
		return code;
	if (cli->output != CLI_TABLE)
		cli_print_answer(cli, answer);
	else
		(void) puts(done);
	return CLI_OK;
}

int cli_vip_hold(const struct cli *cli, int argc UNUSED, char **argv UNUSED)
{
	return set_hold(
	    cli, "hold",
	    "on hold: this node takes no VIP, and hands over those it owns when another can "
	    "take them");
}

int cli_vip_unhold(const struct cli *cli, int argc UNUSED, char **argv UNUSED)
{
	return set_hold(cli, "unhold", "no longer on hold: this node may own VIPs again");
}

/* vipd's own program does it: its daemon cannot be asked, and this one knows nothing of nftables.
 */
int cli_vip_ungate(const struct cli *cli, int argc UNUSED, char **argv UNUSED)
{
	AUTO(free) char *installed = xasprintf("%s/" DAEMON, cli->runtime_dir);
	struct texts words = {0};
	int code;

	texts_add(&words, "--ungate");
	/* systemd/tmpfiles.d/fairlead.conf: the socket is a symbolic link into vipd's own directory. */
	texts_add_option(&words, "--runtime-dir",
	                 access(installed, F_OK) == 0 ? installed : cli->runtime_dir);
	if (cli->yes)
		texts_add(&words, "--yes");
	code = worker_become(DAEMON, &words);
	texts_fini(&words);
	return code;
}
