/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `etcd snapshot list [JOB] [--local | --others]`: what is here and what the targets hold, one row
 * a snapshot; and what each other node has that is newest (others.h). Etcd is asked first, then the
 * targets; with --others etcd alone.
 */
#include <stdlib.h>
#include <string.h>

#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcd/etcd.h"
#include "etcdwatch/commands_priv.h"
#include "etcdwatch/looks.h"
#include "etcdwatch/report.h"
#include "etcdwatch/signing.h"
#include "etcdwatch/target/storing.h"

/* Of one job: the keys below PREFIX/etcdwatch/JOB/done/. */
struct asked {
	struct list *list;
	struct job *job;
	struct etcd_call *call;
	struct others others; /* what the keys say */
	char *unknown;        /* why they say nothing; or NULL */
};

struct list {
	struct command command;
	struct job *jobs[CONFIG_JOBS_MAX];
	size_t n_jobs;
	struct asked asked[CONFIG_JOBS_MAX]; /* of each job */
	size_t n_asking;
	bool only_others;
	struct looks *looks;
};

/* --- rows --- */

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

/* The targets that have it. */
static json_t *find_places(const struct job *job, const char *id, const struct looks_item *items,
                           size_t n)
{
	json_t *places = json_array();

	for (size_t i = 0; i < n; i++) {
		if (items[i].job == job && items[i].there != NULL &&
		    inventory_find(items[i].there, id) != NULL)
			(void) json_array_append_new(
			    places, jsonval_text(target_options(items[i].target)->target->name));
	}
	return places;
}

static void reply_others(const struct list *l, size_t at, const struct looks_item *items, size_t n)
{
	const struct job *job = l->jobs[at];
	const char *name = job_config(job)->name;
	struct others others = l->asked[at].others;

	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0;
		     items[i].job == job && items[i].there != NULL && k < inventory_n(items[i].there); k++)
			others_add_entry(&others, job_env(job)->node_name,
			                 inventory_entries(items[i].there)[k]);
	}
	for (size_t i = 0; i < others.n; i++)
		control_reply(l->command.request,
		              report_other_json(name, &others.items[i], wall_now_us() / US_PER_S,
		                                find_places(job, others.items[i].id, items, n)));
	if (l->asked[at].unknown != NULL)
		control_reply(l->command.request,
		              json_pack("{s:s, s:s, s:o}", "job", name, "target", "etcd", "error",
		                        jsonval_text(l->asked[at].unknown)));
}

/* As they were known last, be it that etcd does not answer now. */
static void reply_known(const struct list *l, size_t at)
{
	struct job *job = l->jobs[at];
	const char *name = job_config(job)->name, *why = l->asked[at].unknown;
	const struct others *others = job_others(job);

	for (size_t i = 0; i < others->n; i++) {
		json_t *json =
		    report_other_json(name, &others->items[i], wall_now_us() / US_PER_S, json_array());

		(void) json_object_set_new(json, "as_of", jsonval_moment(others->read_s));
		control_reply(l->command.request, json);
	}
	if (job_config(job)->taker != CONFIG_TAKER_ELECTED)
		why = "with 'taker: every-node' etcd has no record of who took which";
	if (why != NULL)
		control_reply(l->command.request, json_pack("{s:s, s:s, s:o}", "job", name, "target",
		                                            "etcd", "error", jsonval_text(why)));
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
	for (size_t i = 0; i < l->n_jobs; i++)
		reply_others(l, i, items, n);
	control_ok(request);
}

/* --- the command --- */

static void free_list(struct list *l)
{
	looks_free(l->looks);
	for (size_t i = 0; i < l->n_jobs; i++) {
		etcd_call_cancel(l->asked[i].call);
		free(l->asked[i].unknown);
	}
	command_end(&l->command);
	free(l);
}

static void give_up(struct command *command)
{
	free_list(CONTAINER_OF(command, struct list, command));
}

static void looked_cb(const struct looks_item *items, size_t n, void *userdata)
{
	struct list *l = userdata;

	l->looks = NULL;
	reply(l, items, n);
	free_list(l);
}

static void look(struct list *l)
{
	l->looks = looks_start(l->jobs, l->n_jobs, looked_cb, l);
	if (l->looks != NULL)
		return;
	reply(l, NULL, 0);
	free_list(l);
}

static void others_cb(const struct etcd_outcome *outcome, const struct etcd_range_result *result,
                      void *userdata)
{
	struct asked *asked = userdata;
	struct list *l = asked->list;

	asked->call = NULL;
	if (outcome->r == 0) {
		asked->others =
		    others_of_done(job_env(asked->job)->node_name, result, wall_now_us() / US_PER_S);
		*job_others(asked->job) = asked->others;
	} else {
		asked->unknown = xstrdup(outcome->text);
	}
	if (--l->n_asking > 0)
		return;
	if (!l->only_others) {
		look(l);
		return;
	}
	for (size_t i = 0; i < l->n_jobs; i++)
		reply_known(l, i);
	control_ok(l->command.request);
	free_list(l);
}

/* The job remembers the answer (others.h). */
static void ask(struct list *l, size_t at)
{
	struct asked *asked = &l->asked[at];
	const struct job_env *env = job_env(l->jobs[at]);
	AUTO(free)
	char *folder = xasprintf("%setcdwatch/%s/done/", env->prefix, job_config(l->jobs[at])->name);
	const struct etcd_range range = {
	    .key = ETCD_STR(folder), .prefix = true, .limit = OTHERS_READ_MAX};

	asked->list = l;
	asked->job = l->jobs[at];
	l->n_asking++;
	(void) etcd_range(env->etcd, &range, others_cb, asked, &asked->call);
}

void listcommand_fn(struct control_request *request, int argc, char **argv, void *userdata)
{
	struct commands *c = userdata;
	const char *name = NULL;
	bool only_local = false, only_others = false, is_wrong = false;
	struct list *l;

	for (int i = 0; i < argc; i++) {
		if (strcmp(argv[i], "--local") == 0) {
			only_local = true;
		} else if (strcmp(argv[i], "--others") == 0) {
			only_others = true;
		} else if (name == NULL && argv[i][0] != '-') {
			name = argv[i];
		} else {
			is_wrong = true;
		}
	}
	if (is_wrong || (only_local && only_others)) {
		control_fail(request, CONTROL_USAGE, "etcd snapshot list [JOB] [--local | --others]");
		return;
	}
	l = NEW0(struct list);
	if (!command_begin(c, &l->command, request, give_up)) {
		free(l);
		return;
	}
	l->only_others = only_others;
	l->n_jobs = commands_jobs(request, commands_daemon(c), name, l->jobs);
	for (size_t i = 0; i < l->n_jobs && !only_local; i++)
		ask(l, i);
	if (l->n_asking > 0)
		return;
	if (l->n_jobs > 0)
		reply(l, NULL, 0);
	free_list(l);
}
