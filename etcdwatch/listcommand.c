/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `etcd snapshot list [JOB] [--local]`: what is here and what the targets hold, one row a snapshot.
 */
#include <stdlib.h>
#include <string.h>

#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/commands_priv.h"
#include "etcdwatch/looks.h"
#include "etcdwatch/report.h"
#include "etcdwatch/signing.h"
#include "etcdwatch/target/storing.h"

struct list {
	struct command command;
	struct job *jobs[CONFIG_JOBS_MAX];
	size_t n_jobs;
	struct looks *looks;
};

/* --- rows --------------------------------------------------------------------------------------
 */

struct row {
	const struct catalog_entry *entry;
	json_t *where;
};

struct rows {
	struct row *items;
	size_t n;
};

static void add(struct rows *rows, const struct catalog_entry *entry, const char *where)
{
	struct row *row = NULL;

	for (size_t i = 0; i < rows->n && row == NULL; i++) {
		if (strcmp(rows->items[i].entry->id, entry->id) == 0)
			row = &rows->items[i];
	}
	if (row == NULL) {
		rows->items = xreallocarray(rows->items, rows->n + 1, sizeof(rows->items[0]));
		row = &rows->items[rows->n++];
		*row = (struct row){.entry = entry, .where = json_array()};
	}
	(void) json_array_append_new(row->where, jsonval_text(where));
}

static int compare(const void *a, const void *b)
{
	const struct catalog_entry *x = ((const struct row *) a)->entry;
	const struct catalog_entry *y = ((const struct row *) b)->entry;

	if (x->started_s != y->started_s)
		return x->started_s < y->started_s ? -1 : 1;
	return strcmp(x->id, y->id);
}

static void reply_rows(struct control_request *request, struct rows *rows,
                       const struct trust *trust)
{
	if (rows->n > 0)
		qsort(rows->items, rows->n, sizeof(rows->items[0]), compare);
	for (size_t i = 0; i < rows->n; i++) {
		json_t *json = report_snapshot_json(rows->items[i].entry);

		(void) json_object_set_new(json, "where", rows->items[i].where);
		(void) json_object_set_new(
		    json, "signed",
		    json_string(trust_verdict_words[trust_judge(rows->items[i].entry, trust)]));
		control_reply(request, json);
	}
	free(rows->items);
}

static void reply_job(struct control_request *request, struct job *job, const struct trust *trust,
                      const struct looks_item *items, size_t n)
{
	const struct store *store = job_store(job);
	struct rows rows = {0};

	for (size_t i = 0; i < store_n(store); i++)
		add(&rows, store_get(store, i), LISTING_LOCAL);
	for (size_t i = 0; i < n; i++) {
		if (items[i].job != job || items[i].there == NULL)
			continue;
		for (size_t k = 0; k < inventory_n(items[i].there); k++)
			add(&rows, inventory_entries(items[i].there)[k],
			    target_options(items[i].target)->target->name);
	}
	reply_rows(request, &rows, trust);
	for (size_t i = 0; i < n; i++) {
		if (items[i].job == job && items[i].there == NULL)
			control_reply(request,
			              json_pack("{s:s, s:s, s:o}", "job", job_config(job)->name, "target",
			                        target_options(items[i].target)->target->name, "error",
			                        jsonval_text(items[i].reason)));
	}
}

static void reply(const struct list *l, const struct looks_item *items, size_t n)
{
	const struct daemon *daemon = commands_daemon(l->command.commands);
	const char *own = daemon_own_key(daemon);
	const struct trust trust = signing_trust(daemon_trusted_keys(daemon), &own);
	struct control_request *request = l->command.request;

	for (size_t i = 0; i < l->n_jobs; i++)
		reply_job(request, l->jobs[i], &trust, items, n);
	control_ok(request);
}

/* --- the command -------------------------------------------------------------------------------
 */

static void looked_cb(const struct looks_item *items, size_t n, void *userdata)
{
	struct list *l = userdata;

	reply(l, items, n);
	command_end(&l->command);
	free(l);
}

static void give_up(struct command *command)
{
	struct list *l = CONTAINER_OF(command, struct list, command);

	looks_free(l->looks);
	command_end(command);
	free(l);
}

void listcommand_fn(struct control_request *request, int argc, char **argv, void *userdata)
{
	struct commands *c = userdata;
	const char *name = NULL;
	bool only_local = false;
	struct list *l;

	for (int i = 0; i < argc; i++) {
		if (strcmp(argv[i], "--local") == 0) {
			only_local = true;
		} else if (name == NULL && argv[i][0] != '-') {
			name = argv[i];
		} else {
			control_fail(request, CONTROL_USAGE, "etcd snapshot list [JOB] [--local]");
			return;
		}
	}
	l = NEW0(struct list);
	if (!command_begin(c, &l->command, request, give_up)) {
		free(l);
		return;
	}
	l->n_jobs = commands_jobs(request, commands_daemon(c), name, l->jobs);
	if (l->n_jobs > 0 && !only_local)
		l->looks = looks_start(l->jobs, l->n_jobs, looked_cb, l);
	if (l->looks != NULL)
		return;
	if (l->n_jobs > 0)
		reply(l, NULL, 0);
	command_end(&l->command);
	free(l);
}
