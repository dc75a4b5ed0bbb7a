/* SPDX-License-Identifier: Apache-2.0 */
/* name -> file or object and its entry -> local file -> plain file -> proven, compared. */
#include "etcdwatch/worker/source/source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/worker/common/file.h"
#include "etcdwatch/worker/common/sink.h"
#include "etcdwatch/worker/pack/unpack.h"
#include "etcdwatch/worker/source/datadir.h"
#include "etcdwatch/worker/source/sourcefind.h"
#include "etcdwatch/worker/store/s3get.h"

void source_free(struct source *s)
{
	if (s == NULL)
		return;
	free(s->origin);
	free(s->id);
	free(s->path);
	catalog_entry_free(s->entry);
	catalog_entry_free(s->newer);
	dbinfo_free(s->info);
	free(s);
}

/* --- found --- */

/* What the catalogue has against it. */
static int check_entry(const struct source *s, struct problem *problem)
{
	const struct catalog_entry *e = s->entry;

	if (e == NULL || catalog_is_good(e))
		return 0;
	if (e->rejected != NULL)
		return problem_set(problem, -EBADMSG, "REJECTED",
		                   "etcdwatch has put '%s' aside, as no snapshot: %s", e->id, e->rejected);
	return problem_set(problem, -EBADMSG, "REJECTED", "etcdwatch has not verified '%s'", e->id);
}

/* `encrypted` is what is known of it so far. */
static int check_encrypted(const struct source_request *q, const struct source *s, bool encrypted,
                           struct problem *problem)
{
	if (encrypted || q->allow_plain || !q->encrypted)
		return 0;
	return problem_set(problem, -EPERM, "PLAIN",
	                   "'%s' is not encrypted, and snapshots are where the job encrypts or an "
	                   "identity is given: it may be a stranger's. To take it all the same, name "
	                   "it with --plain",
	                   s->id != NULL ? s->id : s->origin);
}

static int check_signature(const struct source_request *q, struct source *s,
                           struct problem *problem)
{
	s->verdict = trust_judge(s->entry, &q->trust);
	if (trust_allows_named(&q->trust, s->verdict))
		return 0;
	if (s->verdict == TRUST_WRONG)
		return problem_set(problem, -EPERM, "UNTRUSTED",
		                   "the signature of the entry of '%s' is wrong: it was changed after it "
		                   "was signed, or is a forgery",
		                   s->id);
	if (s->verdict == TRUST_NEWER)
		return problem_set(problem, -EPERM, "UNTRUSTED",
		                   "the entry of '%s' is signed in a format of a newer version: use that "
		                   "version",
		                   s->id);
	return problem_set(problem, -EPERM, "UNTRUSTED",
	                   "the entry of '%s' is signed by %s, which is none of the trusted keys: if a "
	                   "node of this cluster has that key, add it to trustedKeys, or --trust it",
	                   s->id, s->entry->key);
}

/* A store may show one entry when it is listed, and another when it is asked for by its id. */
static int check_chosen(const struct source_request *q, const struct source *s,
                        struct problem *problem)
{
	if (s->entry == NULL || strcmp(s->entry->file_sha256, q->chosen->file_sha256) != 0 ||
	    strcmp(s->entry->db_sha256, q->chosen->db_sha256) != 0)
		return problem_set(problem, -EBADMSG, "MISMATCH",
		                   "'%s' is another snapshot than the one that was listed: the store shows "
		                   "two under one name",
		                   q->name);
	if (sourcefind_may_choose(q, s->entry))
		return 0;
	return problem_set(problem, -EPERM, "UNTRUSTED",
	                   "the entry of '%s' was signed when it was listed, and now is not: the store "
	                   "shows two under one name",
	                   q->name);
}

/* What this node's own catalogue has of it. */
static int check_known(const struct source_request *q, struct source *s, struct problem *problem)
{
	struct catalog_entry *known = NULL;
	int r = sourcefind_known(q, s->entry, problem, &known, &s->newer);

	if (r == 0 && known != NULL &&
	    (strcmp(known->file_sha256, s->entry->file_sha256) != 0 ||
	     strcmp(known->db_sha256, s->entry->db_sha256) != 0))
		r = problem_set(problem, -EBADMSG, "MISMATCH",
		                "the store has another '%s' than this node's catalogue in '%s'", s->id,
		                q->known);
	catalog_entry_free(known);
	return r;
}

static int find(const struct source_request *q, struct source *s, struct problem *problem)
{
	struct sourcefound found = {0};
	int r =
	    q->s3 != NULL ? sourcefind_s3(q, problem, &found) : sourcefind_local(q, problem, &found);

	if (r < 0) {
		sourcefound_fini(&found);
		return r;
	}
	s->origin = found.origin;
	s->entry = found.entry;
	s->passed = found.passed;
	s->is_named = !sourcefind_is_latest(q);
	s->id = s->entry != NULL ? xstrdup(s->entry->id) : NULL;
	r = q->rejected_too ? 0 : check_entry(s, problem);
	if (r == 0 && q->chosen != NULL)
		r = check_chosen(q, s, problem);
	if (r < 0 || s->entry == NULL)
		return r;
	r = check_encrypted(q, s, s->entry->age, problem);
	if (r == 0)
		r = check_signature(q, s, problem);
	if (r == 0 && q->s3 != NULL && q->known != NULL)
		r = check_known(q, s, problem);
	return r;
}

/* --- fetched and unpacked --- */

/* Of the snapshot's file when it is not packed. */
static uint64_t plain_bytes(const struct catalog_entry *entry)
{
	return (uint64_t) entry->db_bytes + SNAPSHOT_DIGEST_BYTES;
}

static int fetch(const struct source_request *q, struct source *s, char **ret_path,
                 struct problem *problem)
{
	const char *slash = strrchr(s->origin, '/');
	AUTO(free)
	char *path = xasprintf("%s/%s", q->fetched, slash != NULL ? slash + 1 : s->origin);
	const struct s3get_request request = {
	    .key = s->origin,
	    .path = path,
	    .sha256 = s->entry->file_sha256,
	    .n_bytes = (uint64_t) s->entry->file_bytes,
	    .more_bytes = plain_bytes(s->entry),
	};
	struct s3get_result result;
	int r;

	result_doing("fetch", s->origin);
	r = s3get_run(q->s3, &request, problem, &result);
	if (r < 0)
		return r;
	*ret_path = TAKE_PTR(path);
	return 0;
}

static bool is_named_packed(const char *path)
{
	static const char *const suffixes[] = {".age", ".zst", ".tar"};
	size_t len = strlen(path);

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		if (len > strlen(suffixes[i]) && strcmp(path + len - strlen(suffixes[i]), suffixes[i]) == 0)
			return true;
	}
	return false;
}

static int is_packed(const char *path, struct problem *problem)
{
	char head[OPENER_HEAD_BYTES];
	AUTO(close) int fd = -1;
	uint64_t n_bytes;
	mode_t mode;
	ssize_t n;
	int r = infile_open(path, problem, &fd, &mode, &n_bytes);

	if (r < 0)
		return r;
	n = pread(fd, head, sizeof(head), 0);
	if (n < 0)
		return problem_set_errno(problem, -errno, "cannot read '%s'", path);
	return opener_is_packed(head, (size_t) n) || is_named_packed(path);
}

/* `path` is read and, if it was fetched, removed. */
static int unpack(const struct source_request *q, struct source *s, const char *path,
                  struct problem *problem)
{
	const struct unpack_request request = {
	    .path = path,
	    .to = q->unpacked,
	    .to_fd = q->unpacked_fd,
	    .keys = {.files = q->identities, .n_files = q->n_identities},
	    .packed_sha256 = s->entry != NULL ? s->entry->file_sha256 : NULL,
	    .plain_bytes = s->entry != NULL ? plain_bytes(s->entry) : 0,
	};
	struct unpack_result result = {0};
	int r;

	result_doing("unpack", path);
	r = unpack_run(&request, problem, &result);
	if (r < 0)
		return r;
	s->path = result.path;
	s->is_ours = true;
	/* The entry may lie, the file cannot. */
	r = check_encrypted(q, s, result.found.age, problem);
	if (r < 0)
		(void) unlink(s->path);
	return r;
}

static int make_plain(const struct source_request *q, struct source *s, struct problem *problem)
{
	AUTO(free) char *fetched = NULL;
	int r;

	if (q->s3 != NULL) {
		r = fetch(q, s, &fetched, problem);
		if (r == 0)
			r = unpack(q, s, fetched, problem);
		if (fetched != NULL)
			(void) unlink(fetched);
		return r;
	}
	r = is_packed(s->origin, problem);
	if (r > 0)
		return unpack(q, s, s->origin, problem);
	if (r == 0)
		r = check_encrypted(q, s, false, problem);
	if (r < 0)
		return r;
	s->path = xstrdup(s->origin);
	return 0;
}

/* --- proven and compared --- */

/* What is at its end; it has been checked. */
static int read_digest(struct source *s, struct problem *problem)
{
	uint8_t digest[SNAPSHOT_DIGEST_BYTES];
	AUTO(close) int fd = -1;
	uint64_t n_bytes;
	mode_t mode;
	int r = infile_open(s->path, problem, &fd, &mode, &n_bytes);

	if (r < 0)
		return r;
	if (pread(fd, digest, sizeof(digest), (off_t) (n_bytes - sizeof(digest))) != sizeof(digest))
		return problem_set(problem, -EIO, "READ", "cannot read '%s'", s->path);
	(void) digest_hex(digest, sizeof(digest), s->sha256);
	return 0;
}

static int hash_all(struct source *s, struct problem *problem)
{
	struct tap_result result = {0};
	AUTO(sink_free) struct sink *tap = tap_new(NULL, &result);
	AUTO(close) int fd = -1;
	uint64_t n_bytes;
	mode_t mode;
	int r = infile_open(s->path, problem, &fd, &mode, &n_bytes);

	if (r == 0)
		r = infile_feed(fd, s->path, "read", tap, problem);
	if (r == 0)
		r = sink_finish(tap);
	if (r == 0)
		(void) snprintf(s->sha256, sizeof(s->sha256), "%s", result.sha256);
	return r;
}

static int compare_sha256(const char *whose, const char *want, const struct source *s,
                          struct problem *problem)
{
	if (want == NULL || strcasecmp(want, s->sha256) == 0)
		return 0;
	return problem_set(problem, -EBADMSG, "MISMATCH",
	                   "this is another snapshot: its SHA-256 is %s, and %s is %s", s->sha256,
	                   whose, want);
}

/* Whether it is the one that is meant. */
static int identify(const struct source_request *q, struct source *s, struct problem *problem)
{
	int r = s->has_digest ? read_digest(s, problem) : hash_all(s, problem);

	if (r == 0)
		r = compare_sha256("the catalogue's", s->entry != NULL ? s->entry->db_sha256 : NULL, s,
		                   problem);
	if (r == 0)
		r = compare_sha256("what --sha256 asks for", q->sha256, s, problem);
	return r;
}

static int blame(const struct source *s, const char *code, int r, const struct bolt_fault *fault,
                 struct problem *problem)
{
	bool damaged = r == -EBADMSG || r == -ENODATA || r == -ERANGE;

	return problem_set(problem, r, damaged ? code : "READ", "'%s': %s", s->origin, fault->what);
}

/* A database that etcd writes to is not one state but several. */
static int check_not_used(const struct source *s, struct problem *problem)
{
	int r = bolt_is_locked(s->path);

	if (r <= 0)
		return r < 0 ? problem_set_errno(problem, r, "cannot see whether '%s' is in use", s->path)
		             : 0;
	return problem_set(problem, -EBUSY, "IN_USE", "etcd runs on '%s': stop it first", s->path);
}

static int check_digest(const struct source_request *q, struct source *s, struct snapshot *snapshot,
                        const struct bolt_fault *fault, struct problem *problem)
{
	int r;

	s->has_digest = snapshot_has_digest(snapshot);
	if (s->has_digest) {
		r = q->unproven ? 0 : snapshot_check_digest(snapshot);
		return r < 0 ? blame(s, "DIGEST", r, fault, problem) : 0;
	}
	if (!q->skip_digest)
		return problem_set(
		    problem, -ENODATA, "NO_DIGEST",
		    "'%s' does not end with a digest: it was cut off, or is no snapshot but a database "
		    "from a data directory (then: --skip-hash-check)",
		    s->origin);
	return check_not_used(s, problem);
}

/* What the catalogue says is in it, is in it. */
static int compare_content(const struct source *s, struct problem *problem)
{
	const struct catalog_entry *e = s->entry;
	const struct hashkv_result *h = &s->content.hashkv;

	if (e == NULL || e->hashkv_revision != h->revision ||
	    (e->hashkv == h->hash && e->hash == s->content.hash))
		return 0;
	return problem_set(problem, -EBADMSG, "MISMATCH",
	                   "'%s' has the HashKV %" PRIu32 ", and the catalogue says %" PRIu32,
	                   s->origin, h->hash, e->hashkv);
}

/* What a plan needs, from few pages. */
static int measure_content(struct snapshot *snapshot, struct snapshot_content *ret_content)
{
	const struct bolt_meta *meta = bolt_get_meta(snapshot_db(snapshot));

	ret_content->n_bytes = meta->n_pages * meta->page_bytes;
	return mvcc_read_reach(snapshot_db(snapshot), &ret_content->reach);
}

static int prove(const struct source_request *q, struct source *s, struct problem *problem)
{
	AUTO(snapshot_close) struct snapshot *snapshot = NULL;
	struct bolt_fault fault;
	struct pace pace;
	int r;

	if (!q->unproven)
		result_doing("prove", s->path);
	r = snapshot_open(s->path, &fault, &snapshot);
	if (r < 0)
		return blame(s, "TREE", r, &fault, problem);
	bolt_on_pass(snapshot_db(snapshot), pace_pass_cb, &pace);
	r = check_digest(q, s, snapshot, &fault, problem);
	if (r == 0)
		r = identify(q, s, problem);
	if (r < 0)
		return r;
	r = q->unproven ? measure_content(snapshot, &s->content)
	                : snapshot_check_content(snapshot, 0, &s->content);
	if (r >= 0)
		r = dbinfo_read(snapshot_db(snapshot), &s->info);
	if (r < 0)
		return blame(s, "TREE", r, &fault, problem);
	return q->unproven ? 0 : compare_content(s, problem);
}

int source_open(const struct source_request *q, struct problem *problem, struct source **ret_source)
{
	AUTO(source_free) struct source *s = NEW0(struct source);
	int r = find(q, s, problem);

	if (r == 0)
		r = make_plain(q, s, problem);
	/* The SHA-256 of a packed file has been compared. */
	if (r == 0 && !s->is_ours && s->entry != NULL)
		r = read_digest(s, problem);
	if (r == 0 && !s->is_ours && s->entry != NULL)
		r = compare_sha256("the catalogue's", s->entry->db_sha256, s, problem);
	if (r < 0)
		return r;
	*ret_source = TAKE_PTR(s);
	return 0;
}

int source_take(const struct source_request *q, struct problem *problem, struct source **ret_source)
{
	AUTO(source_free) struct source *s = NEW0(struct source);
	int r = find(q, s, problem);

	if (r == 0)
		r = make_plain(q, s, problem);
	if (r == 0)
		r = prove(q, s, problem);
	if (r < 0)
		return r;
	*ret_source = TAKE_PTR(s);
	return 0;
}

/* --- sourcewords --- */

/* One table for all commands that take a snapshot from somewhere. */

const struct options_entry sourcewords_options[SOURCEWORDS_OPTIONS] = {
    OPTION("--directory", TEXT, struct sourcewords, directory),
    OPTION("--job", TEXT, struct sourcewords, job),
    OPTION("--s3-prefix", TEXT, struct sourcewords, s3_prefix),
    OPTION("--identity", LIST, struct sourcewords, identities),
    OPTION("--skip-hash-check", FLAG, struct sourcewords, skip_hash_check),
    OPTION("--encrypted", FLAG, struct sourcewords, encrypted),
    OPTION("--plain", FLAG, struct sourcewords, plain),
    OPTION("--trust", LIST, struct sourcewords, trusted),
    OPTION("--own-key", TEXT, struct sourcewords, own_key),
    OPTION("--known", TEXT, struct sourcewords, known),
};

int sourcewords_check_keys(const struct options_list *keys, struct problem *problem)
{
	for (size_t i = 0; i < keys->n; i++) {
		if (!signature_is_public_key(keys->values[i]))
			return problem_set(problem, -EINVAL, "USAGE",
			                   "--trust: '%s' is not a public key: 'fairlead etcd snapshot key' "
			                   "prints a node's",
			                   keys->values[i]);
	}
	return 0;
}

int sourcewords_request(const struct sourcewords *w, const char *name, struct problem *problem,
                        struct source_request *ret)
{
	bool is_configured = w->trusted.n > 0;
	int r = sourcewords_check_keys(&w->trusted, problem);

	if (r < 0)
		return r;
	*ret = (struct source_request){
	    .name = name,
	    .directory = w->directory,
	    .job = w->job,
	    .s3_prefix = w->s3_prefix != NULL ? w->s3_prefix : "",
	    .identities = w->identities.values,
	    .n_identities = w->identities.n,
	    .encrypted = w->encrypted || w->identities.n > 0,
	    .allow_plain = w->plain,
	    .skip_digest = w->skip_hash_check,
	    .trust = {.keys = is_configured ? w->trusted.values : &w->own_key,
	              .n = is_configured ? w->trusted.n : w->own_key != NULL,
	              .is_configured = is_configured},
	    .known = w->known,
	};
	return 0;
}
