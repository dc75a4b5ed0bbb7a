/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a restore, and the comparison of what was made with what it was made from. */
#include "etcdwatch/worker/restore/restore.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"

/* --- restoreproof --- */

/* One thread, joined before its results are read; it shares nothing while it runs. Signals go to
 * the thread that waits for etcd's tool. */

struct restoreproof {
	pthread_t thread;
	bool is_running;
	const char *path;
	bool may_lack_digest;
	int r;
	const char *code; /* of a failure that is the file's fault */
	struct bolt_fault fault;
	struct snapshot *snapshot;
	struct snapshot_content content;
	struct dbinfo *info;
};

static int prove(struct restoreproof *p)
{
	int r = snapshot_open(p->path, &p->fault, &p->snapshot);

	p->code = "DIGEST";
	if (r >= 0 && (snapshot_has_digest(p->snapshot) || !p->may_lack_digest))
		r = snapshot_check_digest(p->snapshot);
	if (r < 0)
		return r;
	p->code = "TREE";
	r = snapshot_check_content(p->snapshot, 0, &p->content);
	return r < 0 ? r : dbinfo_read(snapshot_db(p->snapshot), &p->info);
}

static void *thread_main(void *userdata)
{
	struct restoreproof *p = userdata;

	p->r = prove(p);
	return NULL;
}

struct restoreproof *restoreproof_start(const char *path, bool may_lack_digest)
{
	struct restoreproof *p = NEW0(struct restoreproof);
	sigset_t all, before;

	p->path = path;
	p->may_lack_digest = may_lack_digest;
	(void) sigfillset(&all);
	(void) pthread_sigmask(SIG_SETMASK, &all, &before);
	p->is_running = pthread_create(&p->thread, NULL, thread_main, p) == 0;
	(void) pthread_sigmask(SIG_SETMASK, &before, NULL);
	/* Then it takes longer. */
	if (!p->is_running)
		p->r = prove(p);
	return p;
}

static void join(struct restoreproof *p)
{
	if (p->is_running)
		(void) pthread_join(p->thread, NULL);
	p->is_running = false;
}

int restoreproof_wait(struct restoreproof *p, struct problem *problem,
                      const struct snapshot_content **ret_content, const struct dbinfo **ret_info)
{
	bool is_damaged;

	join(p);
	is_damaged = p->r == -EBADMSG || p->r == -ENODATA || p->r == -ERANGE;
	if (p->r < 0)
		return problem_set(problem, p->r, is_damaged ? p->code : "READ", "'%s': %s", p->path,
		                   p->fault.what);
	*ret_content = &p->content;
	*ret_info = p->info;
	return 0;
}

void restoreproof_free(struct restoreproof *p)
{
	if (p == NULL)
		return;
	join(p);
	dbinfo_free(p->info);
	snapshot_close(p->snapshot);
	free(p);
}

/* --- restore --- */

#define SNAP_BYTES_MAX ((size_t) 1 << 20)
#define SNAP_MEMBER_MARK "/0/members/"

/* --- the members --- */

static int bad_members(struct problem *problem)
{
	return problem_set(problem, -EBADMSG, "RESULT",
	                   "what the tool made does not have the members that were asked for");
}

static int check_members(const struct dbinfo *info, const struct newcluster *cluster,
                         struct problem *problem)
{
	for (size_t i = 0; i < info->n_members; i++) {
		const struct dbinfo_member *got = &info->members[i];
		const struct newcluster_member *want = newcluster_find(cluster, got->name);

		if (want == NULL || want->id != got->id)
			return bad_members(problem);
	}
	return info->n_members == cluster->n_members ? 0 : bad_members(problem);
}

/* etcd 3.4 has the members in the snapshot of raft, as text, and not yet in the database. */
static int check_members_of_raft(const char *text, size_t len, const struct newcluster *cluster,
                                 struct problem *problem)
{
	const char *p = text, *end = text + len;
	size_t n_found = 0;

	for (size_t i = 0; i < cluster->n_members; i++) {
		AUTO(free)
		char *path = xasprintf(SNAP_MEMBER_MARK "%" PRIx64 "\"", cluster->members[i].id);

		n_found += memmem(text, len, path, strlen(path)) != NULL;
	}
	if (n_found != cluster->n_members)
		return bad_members(problem);
	while ((p = memmem(p, (size_t) (end - p), SNAP_MEMBER_MARK, strlen(SNAP_MEMBER_MARK)))) {
		uint64_t id = strtoull(p + strlen(SNAP_MEMBER_MARK), NULL, 16);
		bool known = false;

		for (size_t i = 0; i < cluster->n_members; i++)
			known |= cluster->members[i].id == id;
		if (!known)
			return bad_members(problem);
		p += strlen(SNAP_MEMBER_MARK);
	}
	return 0;
}

static int check_snap(const struct restore_request *q, struct problem *problem)
{
	AUTO(free) char *pattern = xasprintf("%s/member/snap/*.snap", exchange_new_path(q->exchange));
	AUTO(free) char *text = NULL;
	glob_t found;
	size_t len;
	int r = -ENOENT;

	if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
		r = file_read(found.gl_pathv[0], SNAP_BYTES_MAX, &text, &len);
		globfree(&found);
	}
	if (r < 0)
		return problem_set(problem, r, "RESULT", "the tool has left no snapshot of raft");
	return check_members_of_raft(text, len, q->cluster, problem);
}

/* --- the keys --- */

/* The revision that is to be found in what was made. */
static int64_t planned_revision(const struct restore_request *q, const struct mvcc_reach *before)
{
	return q->bump_revision > 0 ? before->last + (int64_t) q->bump_revision : before->current;
}

static int check_keys(const struct restore_request *q, const struct snapshot_content *before,
                      const struct snapshot_content *after, struct restore_result *result,
                      struct problem *problem)
{
	const struct hashkv_result *want = &before->hashkv, *got = &after->hashkv;
	int64_t revision = planned_revision(q, &before->reach);

	if (got->hash != want->hash || got->n_live != want->n_live)
		return problem_set(problem, -EBADMSG, "RESULT",
		                   "what the tool made does not hold the keys of the snapshot: HashKV "
		                   "%" PRIu32 " and %" PRIu64 " keys, and not %" PRIu32 " and %" PRIu64,
		                   got->hash, got->n_live, want->hash, want->n_live);
	if (after->reach.current != revision ||
	    (q->bump_revision > 0 && after->reach.compacted != revision))
		return problem_set(problem, -EBADMSG, "RESULT",
		                   "what the tool made has the revision %" PRId64 ", compacted at %" PRId64
		                   ", and not %" PRId64,
		                   after->reach.current, after->reach.compacted, revision);
	result->hashkv = got->hash;
	result->hashkv_revision = got->revision;
	result->live_keys = got->n_live;
	result->revision = revision;
	result->db_bytes = after->n_bytes;
	return 0;
}

static int check_rest(const struct dbinfo *before, const struct dbinfo *after,
                      struct problem *problem)
{
	if (before->n_leases != after->n_leases || before->n_users != after->n_users ||
	    before->n_roles != after->n_roles || before->auth_is_enabled != after->auth_is_enabled)
		return problem_set(problem, -EBADMSG, "RESULT",
		                   "what the tool made does not have the leases, users and roles of the "
		                   "snapshot");
	return 0;
}

/* What the catalogue says is in the snapshot, is in it. */
static int check_entry(const struct restore_request *q, const struct snapshot_content *content,
                       struct problem *problem)
{
	const struct hashkv_result *h = &content->hashkv;

	if (q->expected == NULL || q->expected->revision != h->revision || q->expected->hash == h->hash)
		return 0;
	return problem_set(problem, -EBADMSG, "MISMATCH",
	                   "'%s' has the HashKV %" PRIu32 ", and the catalogue says %" PRIu32,
	                   q->snapshot, h->hash, q->expected->hash);
}

/* Reads back what the tool made, in one pass. */
static int read_back(const char *db, const struct mvcc_reach *before,
                     struct snapshot_content *ret_content, struct dbinfo **ret_info,
                     struct problem *problem)
{
	AUTO(snapshot_close) struct snapshot *snapshot = NULL;
	struct bolt_fault fault;
	struct pace pace;
	int r = snapshot_open(db, &fault, &snapshot);

	if (r >= 0) {
		bolt_on_pass(snapshot_db(snapshot), pace_pass_cb, &pace);
		r = snapshot_check_restored(snapshot, before, ret_content);
	}
	if (r >= 0)
		r = dbinfo_read(snapshot_db(snapshot), ret_info);
	if (r < 0)
		return problem_set(problem, r, "RESULT", "what the tool made is damaged: %s", fault.what);
	return 0;
}

/* Where the snapshot is damaged that says more than what the tool says of it. */
static void blame_snapshot(struct restoreproof *proof, struct problem *problem)
{
	const struct snapshot_content *content;
	const struct dbinfo *info;
	struct problem own = {0};

	if (restoreproof_wait(proof, &own, &content, &info) < 0)
		*problem = own;
}

static int verify(const struct restore_request *q, struct restoreproof *proof,
                  struct restore_result *result, struct problem *problem)
{
	AUTO(free) char *db = xasprintf("%s/member/snap/db", exchange_new_path(q->exchange));
	AUTO(dbinfo_free) struct dbinfo *info = NULL;
	const struct snapshot_content *before;
	const struct dbinfo *info_before;
	struct snapshot_content after;
	int r;

	result_doing("prove", q->snapshot);
	r = restoreproof_wait(proof, problem, &before, &info_before);
	if (r == 0)
		r = check_entry(q, before, problem);
	if (r < 0)
		return r;
	result_doing("verify", db);
	r = read_back(db, &before->reach, &after, &info, problem);
	if (r == 0)
		r = check_keys(q, before, &after, result, problem);
	if (r == 0)
		r = check_rest(info_before, info, problem);
	if (r == 0)
		r = etcdtool_info(q->tool)->minor > 4 ? check_members(info, q->cluster, problem)
		                                      : check_snap(q, problem);
	return r;
}

/* --- all --- */

static int run_tool(const struct restore_request *q, struct problem *problem)
{
	const struct etcdtool_restore restore = {
	    .snapshot = q->snapshot,
	    .data_dir = exchange_new_path(q->exchange),
	    .name = q->self->name,
	    .peer_urls = q->peer_urls,
	    .initial_cluster = q->initial_cluster,
	    .token = q->token,
	    .skip_hash_check = q->skip_hash_check,
	    .bump_revision = q->bump_revision,
	};

	result_doing("restore", etcdtool_path(q->tool));
	return etcdtool_restore(q->tool, &restore, problem);
}

static int put_in_place(const struct restore_request *q, struct restore_result *result,
                        struct problem *problem)
{
	AUTO(free) char *aside = datadir_aside_name(q->dir, q->now_s);
	int r;

	if (cancel_is_wanted())
		return problem_set(problem, -ECANCELED, "CANCELLED", "cancelled");
	result_doing("exchange", q->dir->path);
	r = exchange_commit(q->exchange, aside, problem);
	if (r == 0 && q->dir->has_unit)
		result->set_aside = TAKE_PTR(aside);
	return r;
}

int restore_make(const struct restore_request *q, struct problem *problem,
                 struct restore_result *ret_result)
{
	struct restore_result result = {.member_id = q->self->id, .cluster_id = q->cluster->id};
	AUTO(restoreproof_free)
	struct restoreproof *proof = restoreproof_start(q->snapshot, q->skip_hash_check);
	int r = run_tool(q, problem);

	if (r == 0)
		r = verify(q, proof, &result, problem);
	else if (r != -ECANCELED)
		blame_snapshot(proof, problem);
	if (r == 0)
		r = exchange_seal(q->exchange, problem, &result.inode);
	if (r < 0)
		return r;
	*ret_result = result;
	return 0;
}

int restore_run(const struct restore_request *q, struct problem *problem,
                struct restore_result *ret_result)
{
	struct restore_result result;
	int r = restore_make(q, problem, &result);

	if (r == 0)
		r = put_in_place(q, &result, problem);
	if (r < 0)
		return r;
	*ret_result = result;
	return 0;
}
