/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rebuild --record DIR | --record-stored --output FILE [--to-revision N | --to-time RFC3339]
 *     [--base NAME] [--history N|latest] [the options of source.h and s3target.h]
 *
 * Without a revision or a time: as far as the record goes. The base is a file, an id or "latest",
 * which means the one that fits best. Of several histories that have the revision one must be
 * named: {"histories":[...]} lists them. While it works: {"doing":...}, see result.h, and once a
 * second {"doing":"merge","revision":N,"of":N}.
 */
#include "etcdwatch/worker/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/civil.h"
#include "base/jsonval.h"
#include "base/mono.h"
#include "etcdwatch/worker/rebuild/rebuild.h"
#include "etcdwatch/worker/rebuild/rebuildchoice.h"

struct rebuild_words {
	struct words common;
	int64_t revision; /* 0: not named */
	const char *time;
	const char *history;
	const char *base;
	bool record_stored;
	struct rebuild_request request;
};

static const struct options_entry options[] = {
    OPTION("--record", TEXT, struct rebuild_words, request.record),
    OPTION("--record-stored", FLAG, struct rebuild_words, record_stored),
    OPTION("--output", TEXT, struct rebuild_words, request.output),
    OPTION_NUMBER("--to-revision", struct rebuild_words, revision, 1, LONG_MAX, 0),
    OPTION("--to-time", TEXT, struct rebuild_words, time),
    OPTION("--history", TEXT, struct rebuild_words, history),
    OPTION("--base", TEXT, struct rebuild_words, base),
};

/* --- what was asked for --- */

static int parse_target(struct rebuild_words *w, struct problem *problem)
{
	struct rebuild_request *q = &w->request;
	int64_t s;

	if (w->revision != 0 && w->time != NULL)
		return problem_set(problem, -EINVAL, "USAGE", "--to-revision or --to-time, not both");
	if (w->revision != 0) {
		q->to = REBUILD_TO_REVISION;
		q->revision = w->revision;
	}
	if (w->time == NULL)
		return 0;
	if (civil_parse(w->time, &s) < 0)
		return problem_set(problem, -EINVAL, "USAGE",
		                   "--to-time: a time is written as 2026-11-21T20:30:00Z, not '%s'",
		                   w->time);
	q->to = REBUILD_TO_TIME;
	q->us = s * US_PER_S;
	return 0;
}

/* A number, or the latest. */
static int parse_history(const char *text, struct rebuild_request *q, struct problem *problem)
{
	char *end = NULL;

	q->history = REBUILDHISTORY_LATEST;
	if (text == NULL) {
		q->history = 0;
		return 0;
	}
	if (strcmp(text, "latest") == 0)
		return 0;
	q->history = strtoul(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || q->history < 1 ||
	    q->history > REBUILDPICK_HISTORIES_MAX)
		return problem_set(problem, -EINVAL, "USAGE", "--history is '%s', and has to be 1 to %d",
		                   text, REBUILDPICK_HISTORIES_MAX);
	return 0;
}

static int parse(struct rebuild_words *w, struct problem *problem)
{
	struct rebuild_request *q = &w->request;
	int r;

	if ((q->record == NULL) != w->record_stored || q->output == NULL)
		return problem_set(problem, -EINVAL, "USAGE",
		                   "--record or --record-stored, and --output are needed");
	if (w->record_stored && w->common.s3 == NULL)
		return problem_set(problem, -EINVAL, "USAGE",
		                   "--record-stored is for snapshots in a target");
	r = parse_target(w, problem);
	if (r == 0)
		r = parse_history(w->history, q, problem);
	if (r == 0)
		r = sourcewords_request(&w->common.source, w->base != NULL ? w->base : "latest", problem,
		                        &q->base);
	q->base.s3 = w->common.s3;
	return r;
}

/* --- what came of it --- */

static json_t *time_of(int64_t us)
{
	char text[CIVIL_TEXT_MAX];

	return us == 0 ? json_null() : json_string(civil_format(civil_floor_div(us, US_PER_S), text));
}

static json_t *describe_record(const struct rebuild_result *result)
{
	const struct chain *c = &result->record;
	char cluster[17];

	if (!result->has_record)
		return json_null();
	(void) snprintf(cluster, sizeof(cluster), "%" PRIx64, c->cluster_id);
	return json_pack("{s:s, s:I, s:I, s:o, s:o}", "cluster_id", cluster, "first",
	                 (json_int_t) c->first, "last", (json_int_t) c->last, "from",
	                 time_of(c->first_us), "until", time_of(c->last_us));
}

static json_t *describe_fetched(const struct recordfetched *fetched)
{
	const struct recordjoined *joined = &fetched->joined;
	json_t *keys;

	if (fetched->node[0] == '\0')
		return json_null();
	keys = json_array();
	for (size_t i = 0; i < joined->n_signers; i++)
		(void) json_array_append_new(keys, jsonval_text(joined->signers[i]));
	return json_pack("{s:o, s:I, s:I, s:o, s:o}", "node", jsonval_text(fetched->node), "segments",
	                 (json_int_t) fetched->n_segments, "bytes", (json_int_t) joined->n_bytes,
	                 "keys", keys, "passed",
	                 fetched->passed[0] != '\0' ? jsonval_text(fetched->passed) : json_null());
}

static json_t *describe_base(const struct source *base)
{
	return json_pack("{s:o, s:o, s:I, s:o}", "origin", jsonval_text(base->origin), "id",
	                 jsonval_text(base->id), "revision", (json_int_t) base->content.reach.current,
	                 "members",
	                 base->entry != NULL ? catalog_members_json(base->entry) : json_array());
}

static json_t *describe(const struct rebuild_request *q, const struct rebuild_result *result)
{
	const struct rebuildmerge_result *m = &result->merge;
	const struct snapshot_content *c = &result->content;
	json_t *fields =
	    json_pack("{s:o, s:I, s:o, s:o, s:o, s:s, s:I}", "file", jsonval_text(q->output),
	              "revision", (json_int_t) c->reach.current, "time", time_of(m->wall_us), "base",
	              describe_base(result->base), "record", describe_record(result), "db_sha256",
	              result->sha256, "db_bytes", (json_int_t) m->n_bytes);
	json_t *more = json_pack(
	    "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "hashkv", (json_int_t) c->hashkv.hash,
	    "live_keys", (json_int_t) c->hashkv.n_live, "compact_revision",
	    (json_int_t) c->hashkv.compact_revision, "revisions", (json_int_t) m->n_revisions, "events",
	    (json_int_t) m->n_events, "event_bytes", (json_int_t) m->n_event_bytes, "same_events",
	    (json_int_t) m->n_same, "leases", (json_int_t) m->n_leases, "unknown_leases",
	    (json_int_t) m->n_unknown_leases, "hashes_agreed", (json_int_t) result->n_proven);

	(void) json_object_update_new(fields, more);
	(void) json_object_set(fields, "history", result->history);
	(void) json_object_set_new(fields, "histories", json_integer((json_int_t) result->n_histories));
	(void) json_object_set_new(fields, "fetched", describe_fetched(&result->fetched));
	return fields;
}

static int rebuild(void *words, struct problem *problem, json_t **ret_fields)
{
	struct rebuild_words *w = words;
	struct rebuild_result result = {0};
	int r = parse(w, problem);

	if (r == 0)
		r = rebuild_run(&w->request, problem, &result);
	if (r < 0)
		return r;
	*ret_fields = describe(&w->request, &result);
	source_free(result.base);
	json_decref(result.history);
	return 0;
}

const struct command rebuild_commands[] = {
    {"rebuild", COMMAND_URGENT | COMMAND_TIMED | COMMAND_SOURCE | COMMAND_TARGET | COMMAND_OPENS, 0,
     0, sizeof(struct rebuild_words), COMMAND_OPTIONS(options), .run = rebuild},
    {.name = NULL},
};
