/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restore host --data-dir DIR [--tool PATH [--tool-says TEXT]] [--manifests DIR] [--peer-urls URLS]
 * restore source NAME --data-dir DIR [--sha256 HEX] [--unproven]
 *     [the options of source.h, s3target.h]
 * restore run FILE --data-dir DIR --name NAME --initial-cluster TEXT --token TEXT
 *     [--tool PATH [--tool-says TEXT]] [--skip-hash-check] [--bump-revision N]
 *     [--hashkv N --hashkv-revision N]
 * restore make, as run
 * restore put|back --data-dir DIR --inode N --old-inode N --aside PATH
 * restore clean --data-dir DIR
 *
 * `host` says what there is on this machine; `source` finds, unpacks and proves a snapshot, and
 * leaves it plain; `run` restores from such a one: `make` and then `put`, which exchanges the data
 * directories, as `back` does the other way; `clean` removes what `source` left when it was
 * not used. Each prints lines of {"doing":...,"name":...} as it goes.
 */
#include "etcdwatch/worker/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/civil.h"
#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/worker/restore/hostfacts.h"
#include "etcdwatch/worker/source/prove.h"
#include "etcdwatch/worker/restore/restore.h"

#define MANIFESTS "/etc/kubernetes/manifests"
#define BUMP_MAX 1000000000000000ul

/* What the subcommands are told. */
struct restore_words {
	struct words common;
	const char *data_dir;
	const char *tool;
	const char *tool_says;
	const char *manifests;
	const char *peer_urls;
	const char *sha256;
	bool unproven;
	const char *name;
	const char *initial_cluster;
	const char *token;
	int64_t bump;
	int64_t hashkv, hashkv_revision; /* 0: the catalogue does not tell it */
	int64_t inode;                   /* of the new data directory */
	int64_t old_inode;               /* 0: there was none */
	const char *aside;
};

#define TEXT(name, member) OPTION(name, TEXT, struct restore_words, member)
#define NUMBER(name, member, min, max, initial) \
	OPTION_NUMBER(name, struct restore_words, member, min, max, initial)

static const struct options_entry options[] = {
    TEXT("--data-dir", data_dir),
    TEXT("--tool", tool),
    TEXT("--tool-says", tool_says),
    TEXT("--manifests", manifests),
    TEXT("--peer-urls", peer_urls),
    TEXT("--sha256", sha256),
    OPTION("--unproven", FLAG, struct restore_words, unproven),
    TEXT("--name", name),
    TEXT("--initial-cluster", initial_cluster),
    TEXT("--token", token),
    NUMBER("--bump-revision", bump, 0, BUMP_MAX, 0),
    NUMBER("--hashkv", hashkv, 0, UINT32_MAX, -1),
    NUMBER("--hashkv-revision", hashkv_revision, 1, LONG_MAX, 0),
    NUMBER("--inode", inode, 1, LONG_MAX, 0),
    NUMBER("--old-inode", old_inode, 0, LONG_MAX, -1),
    TEXT("--aside", aside),
};

static int look_at_dir(const struct restore_words *w, struct problem *problem,
                       struct datadir **ret_dir)
{
	if (w->data_dir == NULL)
		return problem_set(problem, -EINVAL, "USAGE", "--data-dir is needed");
	return datadir_look(w->data_dir, problem, ret_dir);
}

static json_t *hex_id(uint64_t id)
{
	char text[17];

	(void) snprintf(text, sizeof(text), "%" PRIx64, id);
	return json_string(text);
}

/* --- host --- */

static json_t *describe_dir(const struct datadir *dir)
{
	return json_pack(
	    "{s:o, s:o, s:b, s:b, s:b, s:b, s:b, s:b, s:i, s:i, s:i, s:o, s:o, s:I, s:I, s:I}", "path",
	    jsonval_text(dir->path), "unit", jsonval_text(dir->unit), "mount", dir->is_mount, "exists",
	    dir->exists, "has_unit", dir->has_unit, "has_db", dir->has_db, "has_wal", dir->has_wal,
	    "in_use", dir->in_use, "uid", (int) dir->uid, "gid", (int) dir->gid, "mode",
	    (int) dir->mode, "inner", jsonval_text(dir->inner), "set_aside",
	    jsonval_text(dir->set_aside), "free_bytes", (json_int_t) dir->free_bytes, "db_bytes",
	    (json_int_t) dir->db_bytes, "inode", (json_int_t) dir->inode);
}

static json_t *describe_tool(const char *path, const char *says)
{
	AUTO(etcdtool_free) struct etcdtool *tool = NULL;
	struct problem problem = {0};
	const struct etcdtool_info *info;
	AUTO(free) char *version = NULL;

	if (etcdtool_find(path, says, &problem, &tool) < 0)
		return json_pack("{s:o}", "problem", jsonval_text(problem.reason));
	info = etcdtool_info(tool);
	version = xasprintf("%u.%u.%u", info->major, info->minor, info->patch);
	return json_pack("{s:o, s:s, s:s, s:i, s:i, s:b}", "path", jsonval_text(etcdtool_path(tool)),
	                 "says", etcdtool_says(tool), "version", version, "major", (int) info->major,
	                 "minor", (int) info->minor, "can_bump", (int) info->can_bump);
}

static int run_host(void *words, struct problem *problem, json_t **ret_fields)
{
	const struct restore_words *w = words;
	const char *manifests = w->manifests != NULL ? w->manifests : MANIFESTS;
	AUTO(datadir_free) struct datadir *dir = NULL;
	int r = look_at_dir(w, problem, &dir);

	if (r < 0)
		return r;
	*ret_fields = json_pack("{s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o}", "data_dir",
	                        describe_dir(dir), "members", hostfacts_members(dir->db), "tool",
	                        describe_tool(w->tool, w->tool_says), "self", hostfacts_self(),
	                        "kubelet", access(manifests, F_OK) == 0, "manifests",
	                        hostfacts_manifests(manifests, dir->path), "peers",
	                        w->peer_urls != NULL ? hostfacts_peers(w->peer_urls) : json_array(),
	                        "api_servers", hostfacts_api_servers());
	return 0;
}

/* --- source --- */

static json_t *describe_alarms(const struct dbinfo *info)
{
	json_t *array = json_array();

	for (size_t i = 0; i < info->n_alarms; i++) {
		if (info->alarms[i].kind != DBINFO_ALARM_NONE)
			(void) json_array_append_new(
			    array,
			    json_string(info->alarms[i].kind == DBINFO_ALARM_NOSPACE ? "NOSPACE" : "CORRUPT"));
	}
	return array;
}

static json_t *describe_entry(const struct source *s)
{
	char *text = s->entry != NULL ? catalog_print(s->entry) : NULL;
	json_t *entry = text != NULL ? json_loads(text, 0, NULL) : NULL;

	free(text);
	return entry != NULL ? entry : json_null();
}

static json_t *describe_passed(const struct source_passed *passed)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "plain", (json_int_t) passed->n_plain, "unsigned",
	                 (json_int_t) passed->n_unsigned, "unknown_key", (json_int_t) passed->n_unknown,
	                 "wrong_signature", (json_int_t) passed->n_wrong, "newer_format",
	                 (json_int_t) passed->n_newer);
}

static json_t *describe_newer(const struct source *s)
{
	char text[CIVIL_TEXT_MAX];

	if (s->newer == NULL)
		return json_null();
	return json_pack("{s:o, s:I, s:s, s:b}", "id", jsonval_text(s->newer->id), "revision",
	                 (json_int_t) s->newer->revision, "started",
	                 civil_format(s->newer->started_s, text), "named", (int) s->is_named);
}

static json_t *describe_source(const struct source *s)
{
	const struct snapshot_content *c = &s->content;
	const struct dbinfo *info = s->info;
	json_t *object = json_pack(
	    "{s:o, s:o, s:o, s:b, s:s, s:b, s:o, s:o, s:o, s:o}", "origin", jsonval_text(s->origin),
	    "id", jsonval_text(s->id), "file", jsonval_text(s->path), "unpacked", (int) s->is_ours,
	    "sha256", s->sha256, "digest", (int) s->has_digest, "entry", describe_entry(s), "signed",
	    s->entry != NULL ? json_string(trust_verdict_words[s->verdict]) : json_null(),
	    "passed_over", describe_passed(&s->passed), "newer_known", describe_newer(s));
	json_t *more = json_pack(
	    "{s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:s, s:o, s:o, s:I, s:b, s:I, s:I}", "revision",
	    (json_int_t) c->reach.current, "compact_revision", (json_int_t) c->reach.compacted,
	    "hashkv", (json_int_t) c->hashkv.hash, "hashkv_revision", (json_int_t) c->hashkv.revision,
	    "live_keys", (json_int_t) c->hashkv.n_live, "db_bytes", (json_int_t) c->n_bytes,
	    "cluster_version", info->cluster_version, "storage_version", info->storage_version,
	    "members", membersjson_make(info), "alarms", describe_alarms(info), "leases",
	    (json_int_t) info->n_leases, "auth_enabled", (int) info->auth_is_enabled, "last_revision",
	    (json_int_t) c->reach.last, "consistent_index", (json_int_t) info->consistent_index);

	(void) json_object_update_new(object, more);
	return object;
}

/* What only the reading of all of it tells. */
static void mark_unproven(json_t *source)
{
	static const char *const unknown[] = {"hashkv", "hashkv_revision", "live_keys"};

	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++)
		(void) json_object_set_new(source, unknown[i], json_null());
}

static int take_source(const struct restore_words *w, struct exchange *x, struct problem *problem,
                       json_t **ret_fields)
{
	AUTO(source_free) struct source *source = NULL;
	struct source_request request;
	int r = sourcewords_request(&w->common.source, w->common.rest.values[0], problem, &request);

	if (r < 0)
		return r;
	request.s3 = w->common.s3;
	request.sha256 = w->sha256;
	request.unproven = w->unproven;
	request.fetched = exchange_work_path(x);
	request.unpacked = exchange_snapshot_path(x);
	r = source_take(&request, problem, &source);
	if (r == 0)
		*ret_fields = describe_source(source);
	if (r == 0 && w->unproven)
		mark_unproven(*ret_fields);
	return r;
}

/* The work directory stays only when a plain snapshot is in it. */
static int run_source(void *words, struct problem *problem, json_t **ret_fields)
{
	const struct restore_words *w = words;
	AUTO(datadir_free) struct datadir *dir = NULL;
	AUTO(exchange_close) struct exchange *x = NULL;
	int r = look_at_dir(w, problem, &dir);

	if (r == 0)
		r = exchange_open(dir, problem, &x);
	if (r < 0)
		return r;
	r = exchange_clear(x, false, problem);
	if (r == 0)
		r = take_source(w, x, problem, ret_fields);
	if (r < 0 || !json_is_true(json_object_get(*ret_fields, "unpacked"))) {
		struct problem more = {0};

		(void) exchange_remove(x, &more);
	}
	return r;
}

/* --- run and clean --- */

static json_t *describe_result(const struct restore_result *result, const struct datadir *dir)
{
	return json_pack(
	    "{s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I}", "data_dir", jsonval_text(dir->path),
	    "set_aside", jsonval_text(result->set_aside), "member_id", hex_id(result->member_id),
	    "cluster_id", hex_id(result->cluster_id), "revision", (json_int_t) result->revision,
	    "hashkv", (json_int_t) result->hashkv, "hashkv_revision",
	    (json_int_t) result->hashkv_revision, "live_keys", (json_int_t) result->live_keys,
	    "db_bytes", (json_int_t) result->db_bytes, "inode", (json_int_t) result->inode);
}

static int check_run_words(const struct restore_words *w, struct problem *problem)
{
	if (w->name == NULL || w->initial_cluster == NULL || w->token == NULL)
		return problem_set(problem, -EINVAL, "USAGE",
		                   "--name, --initial-cluster and --token are needed");
	return 0;
}

typedef int (*restore_fn)(const struct restore_request *request, struct problem *problem,
                          struct restore_result *ret_result);

static int restore_in(const struct restore_words *w, const struct datadir *dir, struct exchange *x,
                      restore_fn restore, struct problem *problem, json_t **ret_fields)
{
	AUTO(newcluster_free) struct newcluster *cluster = NULL;
	AUTO(etcdtool_free) struct etcdtool *tool = NULL;
	AUTO(free) char *why = newcluster_parse(w->initial_cluster, w->token, &cluster);
	AUTO(free) char *urls = NULL;
	const struct newcluster_member *self;
	const struct hashkv_result expected = {.hash = (uint32_t) w->hashkv,
	                                       .revision = w->hashkv_revision};
	struct restore_result result;
	int r;

	self = cluster != NULL ? newcluster_find(cluster, w->name) : NULL;
	if (self == NULL)
		return problem_set(problem, -EINVAL, "USAGE", "%s",
		                   why != NULL ? why : "the member is not in the cluster");
	urls = newcluster_urls(self);
	r = etcdtool_find(w->tool, w->tool_says, problem, &tool);
	if (r == 0) {
		const struct restore_request request = {
		    .dir = dir,
		    .exchange = x,
		    .tool = tool,
		    .snapshot = w->common.rest.values[0],
		    .expected = w->hashkv >= 0 && w->hashkv_revision > 0 ? &expected : NULL,
		    .cluster = cluster,
		    .self = self,
		    .peer_urls = urls,
		    .initial_cluster = w->initial_cluster,
		    .token = w->token,
		    .skip_hash_check = w->common.source.skip_hash_check,
		    .bump_revision = (uint64_t) w->bump,
		    .now_s = wall_now_us() / US_PER_S,
		};

		r = restore(&request, problem, &result);
	}
	if (r != 0)
		return r;
	*ret_fields = describe_result(&result, dir);
	free(result.set_aside);
	return 0;
}

static int check_dir(const struct datadir *dir, struct problem *problem)
{
	if (dir->in_use)
		return problem_set(problem, -EBUSY, "IN_USE", "etcd runs on '%s': stop it first",
		                   dir->path);
	return 0;
}

/* For `put`: under which name the old data goes. The snapshot is not needed any more. */
static int end_make(const struct datadir *dir, struct exchange *x, struct problem *problem,
                    json_t *fields)
{
	AUTO(free) char *aside = datadir_aside_name(dir, wall_now_us() / US_PER_S);

	(void) json_object_set_new(fields, "aside", jsonval_text(aside));
	if (unlink(exchange_snapshot_path(x)) < 0 && errno != ENOENT)
		return problem_set_errno(problem, -errno, "cannot remove '%s'", exchange_snapshot_path(x));
	return 0;
}

/* While it is only made, etcd may run. */
static int run_or_make(const struct restore_words *w, bool is_made_only, struct problem *problem,
                       json_t **ret_fields)
{
	AUTO(datadir_free) struct datadir *dir = NULL;
	AUTO(exchange_close) struct exchange *x = NULL;
	struct problem more = {0};
	int r = check_run_words(w, problem);

	if (r == 0)
		r = look_at_dir(w, problem, &dir);
	if (r == 0 && !is_made_only)
		r = check_dir(dir, problem);
	if (r == 0)
		r = exchange_open(dir, problem, &x);
	if (r != 0)
		return r;
	r = exchange_clear(x, true, problem);
	if (r == 0)
		r = restore_in(w, dir, x, is_made_only ? restore_make : restore_run, problem, ret_fields);
	if (r == 0 && is_made_only)
		return end_make(dir, x, problem, *ret_fields);
	/* What cannot be removed does not disturb. */
	(void) exchange_remove(x, &more);
	return r;
}

static int run_run(void *words, struct problem *problem, json_t **ret_fields)
{
	return run_or_make(words, false, problem, ret_fields);
}

static int run_make(void *words, struct problem *problem, json_t **ret_fields)
{
	return run_or_make(words, true, problem, ret_fields);
}

/* A file system that is not mounted makes another unit of the same path. */
static int check_unit(const struct datadir *dir, const char *aside, struct problem *problem)
{
	size_t len = strlen(dir->unit);

	if (strncmp(aside, dir->unit, len) == 0 &&
	    strncmp(aside + len, DATADIR_ASIDE, strlen(DATADIR_ASIDE)) == 0)
		return 0;
	return problem_set(problem, -ENOENT, "NOT_FOUND",
	                   "'%s' is not what was prepared, as '%s' is not next to it: mount the file "
	                   "system of the data directory",
	                   dir->unit, aside);
}

static int exchange_in(const struct restore_words *w, bool is_put, struct problem *problem)
{
	AUTO(datadir_free) struct datadir *dir = NULL;
	AUTO(exchange_close) struct exchange *x = NULL;
	int r;

	if (w->inode == 0 || w->old_inode < 0 || w->aside == NULL)
		return problem_set(problem, -EINVAL, "USAGE",
		                   "--inode, --old-inode and --aside are needed");
	r = look_at_dir(w, problem, &dir);
	if (r == 0)
		r = check_dir(dir, problem);
	if (r == 0)
		r = check_unit(dir, w->aside, problem);
	if (r == 0)
		r = exchange_open(dir, problem, &x);
	if (r == 0)
		r = is_put
		        ? exchange_put(x, (uint64_t) w->inode, w->aside, problem)
		        : exchange_back(x, (uint64_t) w->inode, (uint64_t) w->old_inode, w->aside, problem);
	return r;
}

static int run_put(void *words, struct problem *problem, json_t **ret_fields UNUSED)
{
	return exchange_in(words, true, problem);
}

static int run_back(void *words, struct problem *problem, json_t **ret_fields UNUSED)
{
	return exchange_in(words, false, problem);
}

static int run_clean(void *words, struct problem *problem, json_t **ret_fields UNUSED)
{
	AUTO(datadir_free) struct datadir *dir = NULL;
	AUTO(exchange_close) struct exchange *x = NULL;
	int r = look_at_dir(words, problem, &dir);

	if (r == 0)
		r = exchange_open(dir, problem, &x);
	if (r == 0)
		r = exchange_remove(x, problem);
	return r;
}

/* --- all --- */

#define FLAGS (COMMAND_URGENT | COMMAND_SOURCE | COMMAND_TARGET)
#define ROW(name, flags, n_names, run)                                         \
	{                                                                          \
		name, FLAGS | (flags), n_names, n_names, sizeof(struct restore_words), \
		    COMMAND_OPTIONS(options), run                                      \
	}

const struct command restore_commands[] = {
    ROW("restore host", 0, 0, run_host),   ROW("restore source", COMMAND_OPENS, 1, run_source),
    ROW("restore run", 0, 1, run_run),     ROW("restore make", 0, 1, run_make),
    ROW("restore put", 0, 0, run_put),     ROW("restore back", 0, 0, run_back),
    ROW("restore clean", 0, 0, run_clean), {.name = NULL},
};
