/* SPDX-License-Identifier: Apache-2.0 */
/* A view of lib/bolt's checks as one JSON object. */
#include "etcdwatch/worker/source/prove.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>

#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mem.h"
#include "bolt/hashkv.h"
#include "bolt/snapshot.h"
#include "etcdwatch/catalog/catalog.h"
#include "etcdwatch/worker/common/result.h"

/* --- membersjson --- */

/* One object a member. */

json_t *membersjson_make(const struct dbinfo *info)
{
	json_t *array = json_array();

	for (size_t i = 0; i < info->n_members; i++) {
		const struct dbinfo_member *m = &info->members[i];
		AUTO(free) char *id = xasprintf("%" PRIx64, m->id);
		json_t *urls = json_array();

		for (size_t k = 0; k < m->n_peer_urls; k++)
			(void) json_array_append_new(urls, jsonval_text(m->peer_urls[k]));
		(void) json_array_append_new(array, json_pack("{s:s, s:o, s:o, s:b}", "id", id, "name",
		                                              jsonval_text(m->name), "peer_urls", urls,
		                                              "learner", (int) m->is_learner));
	}
	return array;
}

/* --- prove --- */

/* As Kubernetes has them: "/registry/pods". */
#define DEPTH 2

/* `blame` when the file itself is to blame. */
static int refuse(int r, const char *blame, const struct bolt_fault *fault, struct problem *problem)
{
	const char *code = "READ";

	if (r == -ERANGE)
		code = "RANGE";
	else if (r == -EBADMSG || r == -ENODATA)
		code = blame;
	return problem_set(problem, r, code, "%s", fault->what);
}

/* It will stand in the catalogue, on terminals and in the log, so it drives none of them. */
static json_t *clean_text(struct bytes prefix)
{
	AUTO(free) char *text = xcalloc(1, prefix.len + 1);

	for (size_t i = 0; i < prefix.len; i++) {
		uint8_t c = prefix.data[i];
		/* Controls beyond ASCII are C2 80 to C2 9F. */
		bool bad = c < 0x20 || c == 0x7f || c == '"' ||
		           (c == 0xc2 && (i + 1 == prefix.len || prefix.data[i + 1] < 0xa0));

		text[i] = bad ? '?' : (char) c;
	}
	return jsonval_text(text);
}

static json_t *describe_usage(const struct usagetop *usage)
{
	struct usagetop_part parts[CATALOG_PARTS_MAX];
	size_t n = usagetop_largest(usage, parts, ARRAY_SIZE(parts));
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		(void) json_array_append_new(list,
		                             json_pack("{s:o, s:I}", "prefix", clean_text(parts[i].prefix),
		                                       "bytes", (json_int_t) parts[i].bytes));
	return json_pack("{s:I, s:I, s:o}", "bytes", (json_int_t) usagetop_all(usage), "missing",
	                 (json_int_t) usagetop_missing(usage), "largest", list);
}

/* They are good to know, and no reason to refuse a snapshot. */
static json_t *describe_members(struct snapshot *s)
{
	AUTO(dbinfo_free) struct dbinfo *info = NULL;

	return dbinfo_read(snapshot_db(s), &info) < 0 ? json_null() : membersjson_make(info);
}

static int check_all(struct snapshot *s, const struct bolt_fault *fault, struct problem *problem,
                     json_t **ret_fields)
{
	AUTO(usagetop_free) struct usagetop *usage = usagetop_new(DEPTH);
	struct snapshot_content c;
	struct mvcc_reach reach;
	int r;

	/* Not proven yet: so that a member can be asked about it meanwhile. */
	r = mvcc_read_reach(snapshot_db(s), &reach);
	if (r >= 0)
		result_line(json_pack("{s:I}", "claims_revision", (json_int_t) reach.current));
	r = snapshot_check_digest(s);
	if (r < 0)
		return refuse(r, "DIGEST", fault, problem);
	snapshot_count_usage(s, usage);
	r = snapshot_check_content(s, 0, &c);
	snapshot_count_usage(s, NULL);
	if (r < 0)
		return refuse(r, "TREE", fault, problem);
	*ret_fields = json_pack(
	    "{s:b, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "digest", 1, "tree", 1,
	    "hash", (json_int_t) c.hash, "revision", (json_int_t) c.revision, "compact_revision",
	    (json_int_t) c.hashkv.compact_revision, "hashkv", (json_int_t) c.hashkv.hash,
	    "hashkv_revision", (json_int_t) c.hashkv.revision, "total_key", (json_int_t) c.n_entries,
	    "live_keys", (json_int_t) c.hashkv.n_live, "db_bytes", (json_int_t) c.n_bytes, "usage",
	    describe_usage(usage), "members", describe_members(s));
	return 0;
}

static int compute_hashkv(struct snapshot *s, int64_t revision, int64_t compacted,
                          const struct bolt_fault *fault, struct problem *problem,
                          json_t **ret_fields)
{
	struct hashkv_result h;
	int r;

	r = hashkv_compute_compacted(snapshot_db(s), revision, compacted, &h);
	if (r < 0)
		return refuse(r, "TREE", fault, problem);
	*ret_fields =
	    json_pack("{s:I, s:I, s:I}", "hashkv", (json_int_t) h.hash, "hashkv_revision",
	              (json_int_t) h.revision, "compact_revision", (json_int_t) h.compact_revision);
	return 0;
}

int prove_run(const char *path, int64_t revision, int64_t compacted, struct problem *problem,
              json_t **ret_fields)
{
	AUTO(snapshot_close) struct snapshot *s = NULL;
	struct bolt_fault fault;
	struct pace pace;
	int r = snapshot_open(path, &fault, &s);

	if (r < 0)
		return refuse(r, "TREE", &fault, problem);
	bolt_on_pass(snapshot_db(s), pace_pass_cb, &pace);
	return revision == 0 ? check_all(s, &fault, problem, ret_fields)
	                     : compute_hashkv(s, revision, compacted, &fault, problem, ret_fields);
}
