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
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/civil.h"
#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/worker/commands.h"
#include "etcdwatch/worker/common/options.h"
#include "etcdwatch/worker/rebuild/rebuild.h"
#include "etcdwatch/worker/rebuild/rebuildchoice.h"
#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/store/s3target.h"
#include "etcdwatch/worker/source/source.h"

struct words {
	const char *revision;
	const char *time;
	const char *history;
	const char *base;
	bool record_stored;
	struct sourcewords source;
	struct options_list rest;
	struct s3target s3;
};

/* --- what was asked for --- */

static int parse_target(const struct words *w, struct rebuild_request *q, struct problem *problem)
{
	unsigned long revision = 0;
	int64_t s;
	int r;

	if (w->revision != NULL && w->time != NULL)
		return problem_set(problem, -EINVAL, "USAGE", "--to-revision or --to-time, not both");
	if (w->revision != NULL) {
		r = options_number("--to-revision", w->revision, 1, LONG_MAX, &revision, problem);
		q->to = REBUILD_TO_REVISION;
		q->revision = (int64_t) revision;
		return r;
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

static int parse_history(const char *text, struct rebuild_request *q, struct problem *problem)
{
	q->history = REBUILDHISTORY_LATEST;
	if (strcmp(text, "latest") == 0)
		return 0;
	return options_number("--history", text, 1, REBUILDPICK_HISTORIES_MAX, &q->history, problem);
}

static int parse(int argc, char **argv, struct words *w, struct rebuild_request *q,
                 struct problem *problem)
{
	const struct options_entry own[] = {
	    {.name = "--record", .text = &q->record},
	    {.name = "--record-stored", .flag = &w->record_stored},
	    {.name = "--output", .text = &q->output},
	    {.name = "--to-revision", .text = &w->revision},
	    {.name = "--to-time", .text = &w->time},
	    {.name = "--history", .text = &w->history},
	    {.name = "--base", .text = &w->base},
	};
	struct options_entry entries[ARRAY_SIZE(own) + S3TARGET_OPTIONS + SOURCEWORDS_OPTIONS];
	int r;

	memcpy(entries, own, sizeof(own));
	s3target_options(&w->s3, entries + ARRAY_SIZE(own));
	sourcewords_options(&w->source, entries + ARRAY_SIZE(own) + S3TARGET_OPTIONS);
	r = options_parse(argc, argv, entries, ARRAY_SIZE(entries), 0, 0, &w->rest, problem);
	if (r == 0 && ((q->record == NULL) != w->record_stored || q->output == NULL))
		r = problem_set(problem, -EINVAL, "USAGE",
		                "--record or --record-stored, and --output are needed");
	if (r == 0)
		r = parse_target(w, q, problem);
	if (r == 0 && w->history != NULL)
		r = parse_history(w->history, q, problem);
	if (r == 0)
		r = sourcewords_request(&w->source, w->base != NULL ? w->base : "latest", problem,
		                        &q->base);
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

static json_t *describe(const struct rebuild_request *q, const struct rebuild_result *result,
                        int64_t took_us)
{
	const struct rebuildmerge_result *m = &result->merge;
	const struct snapshot_content *c = &result->content;
	json_t *fields =
	    json_pack("{s:o, s:I, s:o, s:o, s:o, s:s, s:I}", "file", jsonval_text(q->output),
	              "revision", (json_int_t) c->reach.current, "time", time_of(m->wall_us), "base",
	              describe_base(result->base), "record", describe_record(result), "db_sha256",
	              result->sha256, "db_bytes", (json_int_t) m->n_bytes);
	json_t *more = json_pack(
	    "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "hashkv",
	    (json_int_t) c->hashkv.hash, "live_keys", (json_int_t) c->hashkv.n_live, "compact_revision",
	    (json_int_t) c->hashkv.compact_revision, "revisions", (json_int_t) m->n_revisions, "events",
	    (json_int_t) m->n_events, "event_bytes", (json_int_t) m->n_event_bytes, "same_events",
	    (json_int_t) m->n_same, "leases", (json_int_t) m->n_leases, "unknown_leases",
	    (json_int_t) m->n_unknown_leases, "hashes_agreed", (json_int_t) result->n_proven, "took_ms",
	    (json_int_t) (took_us / US_PER_MS));

	(void) json_object_update_new(fields, more);
	(void) json_object_set(fields, "history", result->history);
	(void) json_object_set_new(fields, "histories", json_integer((json_int_t) result->n_histories));
	(void) json_object_set_new(fields, "fetched", describe_fetched(&result->fetched));
	return fields;
}

int command_rebuild(int argc, char **argv)
{
	int64_t began_us = mono_now_us();
	AUTO(free) struct words *words = NEW0(struct words);
	AUTO(s3_free) struct s3 *s3 = NULL;
	struct rebuild_request request = {0};
	struct rebuild_result result = {0};
	struct problem problem = {0};
	int r = parse(argc, argv, words, &request, &problem), code;

	if (r == 0 && s3target_is_named(&words->s3))
		r = s3target_open(&words->s3, &problem, &s3);
	request.base.s3 = s3;
	if (r == 0 && words->record_stored && s3 == NULL)
		r = problem_set(&problem, -EINVAL, "USAGE", "--record-stored is for snapshots in a target");
	if (r == 0)
		r = rebuild_run(&request, &problem, &result);
	if (r != 0)
		return result_fail(&problem);
	code = result_ok(describe(&request, &result, mono_now_us() - began_us));
	source_free(result.base);
	json_decref(result.history);
	return code;
}
