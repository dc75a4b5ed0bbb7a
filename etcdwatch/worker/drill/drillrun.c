/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is read of the snapshot is read before the process enters the network: it may lie where
 * only its caller's rights lead. Afterwards it stays open, and all other files are in the working
 * directory.
 *
 * The data are restored as they are, without raising the revision: what is compared is one revision
 * of the snapshot. Leases begin to run out as soon as etcd serves, and take their keys with them,
 * so everything is asked for at that revision, where they still are.
 */
#include "etcdwatch/worker/drill/drillrun.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "bolt/dbinfo.h"
#include "bolt/snapshot.h"
#include "etcdwatch/worker/common/file.h"
#include "etcdwatch/worker/drill/etcdask.h"
#include "etcdwatch/worker/drill/etcdrun.h"
#include "etcdwatch/worker/pack/unpack.h"
#include "etcdwatch/worker/restore/etcdtool.h"
#include "etcdwatch/worker/store/s3get.h"
#include "web/digest.h"

/* --- workroom --- */

/* A lock on the directory that holds it tells whether somebody is at work in there; the kernel
 * gives it back when that process ends. */

struct workroom {
	char *base;
	char *path;
	int lock; /* of base */
	bool is_made;
};

/* --- the directory that holds it --- */

static int lock_base(struct workroom *room, struct problem *problem)
{
	struct stat st;

	room->lock = open(room->base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (room->lock < 0 || fstat(room->lock, &st) < 0)
		return problem_set_errno(problem, -errno, "cannot open the directory '%s'", room->base);
	if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return problem_set(problem, -EPERM, "DIRECTORY",
		                   "others may write into '%s': what is restored there is secret; name "
		                   "another directory, or chmod go-w",
		                   room->base);
	if (flock(room->lock, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK
		           ? problem_set(problem, -EBUSY, "BUSY", "another drill is at work in '%s'",
		                         room->base)
		           : problem_set_errno(problem, -errno, "cannot lock '%s'", room->base);
	return 0;
}

static struct workroom *room_new(const char *base)
{
	struct workroom *room = NEW0(struct workroom);

	room->base = xstrdup(base);
	room->path = xasprintf("%s/" WORKROOM_NAME, base);
	room->lock = -1;
	return room;
}

static int clear(struct workroom *room, struct problem *problem)
{
	int r = file_remove_tree(room->path);

	return r < 0 ? problem_set_errno(problem, r, "cannot remove '%s', which an earlier drill left",
	                                 room->path)
	             : 0;
}

/* --- the whole --- */

int workroom_open(const char *base, struct problem *problem, struct workroom **ret_room)
{
	AUTO(workroom_free) struct workroom *room = room_new(base);
	int r;

	if (mkdir(base, 0700) < 0 && errno != EEXIST)
		return problem_set_errno(problem, -errno, "cannot make the directory '%s'", base);
	r = lock_base(room, problem);
	if (r == 0)
		r = clear(room, problem);
	if (r < 0)
		return r;
	if (mkdir(room->path, 0700) < 0)
		return problem_set_errno(problem, -errno, "cannot make the directory '%s'", room->path);
	room->is_made = true;
	*ret_room = TAKE_PTR(room);
	return 0;
}

void workroom_free(struct workroom *room)
{
	if (room == NULL)
		return;
	if (room->is_made)
		(void) file_remove_tree(room->path);
	/* While it is locked: nobody can have begun in there. */
	if (room->is_made)
		(void) rmdir(room->base);
	if (room->lock >= 0)
		(void) close(room->lock);
	free(room->base);
	free(room->path);
	free(room);
}

const char *workroom_path(const struct workroom *room)
{
	return room->path;
}

int workroom_clear(const char *base, struct problem *problem)
{
	AUTO(workroom_free) struct workroom *room = room_new(base);
	int r;

	if (access(room->path, F_OK) < 0 && errno == ENOENT)
		return 0;
	r = lock_base(room, problem);
	if (r == -EBUSY) {
		*problem = (struct problem){0};
		return 0;
	}
	if (r == 0)
		r = clear(room, problem);
	room->is_made = r == 0;
	return r;
}

/* --- drillrun --- */

#define FETCHED "fetched"
#define UNPACKED "snapshot.db"
#define DATA_DIR "data"
#define LOG "etcd.log"
#define KEY_FILE "token.key"
/* The write-ahead log, of which etcd has two files of 64 MB at once, and what is small. */
#define WAL_BYTES ((uint64_t) 160 << 20)
#define POLL_US 50000
/* Who started us ends us at the deadline; what can be said before is worth more. */
#define MARGIN_US (1 * US_PER_S)
#define TOKEN_LIFE_S (24 * 3600)

struct drill {
	const struct drillrun_request *q;
	struct drillreport *report;
	struct problem *problem;
	char *packed; /* the file that it begins with */
	char *path;   /* of the plain snapshot */
	struct bolt_fault fault;
	struct snapshot *snapshot;
	struct pace pace; /* of reading it */
	struct snapshot_content content;
	struct dbinfo *info;
	struct etcdrun *etcd;
	char *token;
	struct etcdask ask;
};

static void drill_fini(struct drill *d)
{
	etcdrun_free(d->etcd);
	snapshot_close(d->snapshot);
	dbinfo_free(d->info);
	free(d->packed);
	free(d->path);
	free(d->token);
}

static int check_space(struct drill *d, uint64_t need_bytes)
{
	uint64_t free_bytes = 0;
	int r = room_common_bytes(d->q->directory, &free_bytes);

	if (r < 0)
		return problem_set_errno(d->problem, r, "cannot look at the disk of '%s'", d->q->directory);
	if (free_bytes >= need_bytes + d->q->reserve_bytes)
		return 0;
	return problem_set(d->problem, -ENOSPC, "NO_SPACE",
	                   "a drill needs %" PRIu64 " MB in '%s', besides the %" PRIu64
	                   " MB that stay free, and %" PRIu64 " MB are free",
	                   need_bytes / 1000000, d->q->directory, d->q->reserve_bytes / 1000000,
	                   free_bytes / 1000000);
}

/* --- the file --- */

/* `encrypted` is what is known of it so far. */
static int check_encrypted(struct drill *d, bool encrypted)
{
	if (encrypted || !d->q->only_encrypted)
		return 0;
	return problem_set(d->problem, -EPERM, "PLAIN",
	                   "'%s' is not encrypted, and snapshots are where the job encrypts or an "
	                   "identity is given: it may be a stranger's",
	                   d->q->file);
}

static int check_entry(struct drill *d)
{
	const struct catalog_entry *entry = d->q->entry;
	enum trust_verdict verdict;

	if (entry == NULL)
		return 0;
	verdict = trust_judge(entry, &d->q->trust);
	if (verdict == TRUST_WRONG || verdict == TRUST_NEWER ||
	    (d->q->trust.is_configured && !trust_allows_chosen(&d->q->trust, verdict)))
		return problem_set(d->problem, -EPERM, "UNTRUSTED", "%s '%s' %s", "the entry of", entry->id,
		                   verdict == TRUST_WRONG  ? "has a wrong signature"
		                   : verdict == TRUST_NONE ? "is not signed"
		                   : verdict == TRUST_NEWER
		                       ? "is signed in a format of a newer version: use that version"
		                       : "is signed by a key that is not trusted");
	return check_encrypted(d, entry->age);
}

static int fetch(struct drill *d)
{
	const struct catalog_entry *entry = d->q->entry;
	AUTO(s3_free) struct s3 *s3 = NULL;
	struct s3get_request request = {.key = d->q->file};
	struct s3get_result result;
	int r = check_entry(d);

	if (r < 0)
		return r;
	if (d->q->target == NULL) {
		d->packed = xstrdup(d->q->file);
		return 0;
	}
	drillreport_begin(d->report, DRILLREPORT_FETCH);
	d->packed = xasprintf("%s/" FETCHED, d->q->directory);
	request.path = d->packed;
	if (entry != NULL) {
		request.sha256 = entry->file_sha256;
		request.n_bytes = (uint64_t) entry->file_bytes;
		r = check_space(d, (uint64_t) (entry->file_bytes + 2 * entry->db_bytes) + WAL_BYTES);
	}
	if (r == 0)
		r = s3target_open(d->q->target, d->problem, &s3);
	return r < 0 ? r : s3get_run(s3, &request, d->problem, &result);
}

static bool is_plain(const struct catalog_entry *entry)
{
	return entry != NULL && !entry->zstd && !entry->age && entry->n_extra == 0;
}

/* What nothing is known of may be packed or not: either way a copy comes of it. */
static int unpack(struct drill *d)
{
	const struct catalog_entry *entry = d->q->entry;
	AUTO(free) char *to = xasprintf("%s/" UNPACKED, d->q->directory);
	const struct unpack_request request = {
	    .path = d->packed,
	    .to = to,
	    .keys = {.files = d->q->identities, .n_files = d->q->n_identities},
	    .packed_sha256 = entry != NULL ? entry->file_sha256 : NULL,
	    .plain_bytes = entry != NULL ? (uint64_t) entry->db_bytes + SNAPSHOT_DIGEST_BYTES : 0,
	};
	struct unpack_result result = {0};
	struct stat st;
	uint64_t bytes;
	int r;

	drillreport_begin(d->report, DRILLREPORT_UNPACK);
	if (is_plain(entry)) {
		d->path = xstrdup(d->packed);
		return 0;
	}
	if (stat(d->packed, &st) < 0)
		return problem_set_errno(d->problem, -errno, "cannot open '%s'", d->packed);
	bytes = entry != NULL ? (uint64_t) entry->db_bytes : (uint64_t) st.st_size;
	r = check_space(d, 2 * bytes + WAL_BYTES);
	if (r == 0)
		r = unpack_run(&request, d->problem, &result);
	d->path = TAKE_PTR(result.path);
	return r == 0 ? check_encrypted(d, result.found.age) : r;
}

static int refuse_file(struct drill *d, int r, const char *code)
{
	return problem_set(d->problem, r, code, "%s", d->fault.what);
}

/* The digest at the end, which is that of all before it, is the one that the catalogue has. */
static int check_identity(struct drill *d)
{
	AUTO(close) int fd = open(d->path, O_RDONLY | O_CLOEXEC);
	uint8_t digest[SNAPSHOT_DIGEST_BYTES];
	char hex[DIGEST_HEX_MAX];

	if (fd < 0 || lseek(fd, -(off_t) sizeof(digest), SEEK_END) < 0 ||
	    read(fd, digest, sizeof(digest)) != sizeof(digest))
		return problem_set(d->problem, -EIO, "READ", "cannot read '%s'", d->path);
	if (strcasecmp(digest_hex(digest, sizeof(digest), hex), d->q->entry->db_sha256) != 0)
		return problem_set(d->problem, -EBADMSG, "DIFFERS",
		                   "it is another snapshot: its SHA-256 is %s, and %s by the catalogue",
		                   hex, d->q->entry->db_sha256);
	drillreport_passed(d->report, "sha256");
	return 0;
}

/* With this one etcd takes no writes, and nobody knows whether what it serves is right. */
static int check_alarms(struct drill *d)
{
	for (size_t i = 0; i < d->info->n_alarms; i++) {
		if (d->info->alarms[i].kind == DBINFO_ALARM_CORRUPT)
			return problem_set(d->problem, -EBADMSG, "ALARM", "%s",
			                   "etcd's alarm CORRUPT stands in the snapshot: its members had "
			                   "different data, and etcd takes no writes with it");
	}
	return 0;
}

static int prove(struct drill *d)
{
	int r;

	drillreport_begin(d->report, DRILLREPORT_PROVE);
	r = snapshot_open(d->path, &d->fault, &d->snapshot);
	if (r == 0)
		bolt_on_pass(snapshot_db(d->snapshot), pace_pass_cb, &d->pace);
	if (r == 0)
		r = snapshot_check_digest(d->snapshot);
	if (r < 0)
		return refuse_file(d, r, "DIGEST");
	r = snapshot_check_content(d->snapshot, 0, &d->content);
	if (r == 0)
		r = dbinfo_read(snapshot_db(d->snapshot), &d->info);
	if (r < 0)
		return refuse_file(d, r, "TREE");
	drillreport_passed(d->report, "digest");
	drillreport_passed(d->report, "tree");
	r = check_alarms(d);
	if (r < 0 || d->q->entry == NULL)
		return r;
	r = check_identity(d);
	return r < 0 ? r : drillcompare_file(d->report, d->q->entry, &d->content, d->problem);
}

/* --- etcd --- */

static unsigned time_left_ms(const struct drill *d)
{
	int64_t left_us = d->q->deadline_us - MARGIN_US - mono_now_us();

	return (unsigned) MAX(left_us / US_PER_MS, 1);
}

static int restore(struct drill *d)
{
	AUTO(etcdtool_free) struct etcdtool *tool = NULL;
	AUTO(free) char *data_dir = xasprintf("%s/" DATA_DIR, d->q->directory);
	AUTO(free) char *token = NULL;
	const struct etcdtool_info *info;
	char version[32];
	int r;

	drillreport_begin(d->report, DRILLREPORT_RESTORE);
	r = check_space(d, d->content.n_bytes + WAL_BYTES);
	if (r == 0)
		r = etcdtool_find(d->q->etcdutl, NULL, d->problem, &tool);
	if (r < 0)
		return r;
	info = etcdtool_info(tool);
	(void) snprintf(version, sizeof(version), "%u.%u.%u", info->major, info->minor, info->patch);
	drillreport_version(d->report, info->kind == ETCDTOOL_ETCDUTL ? "etcdutl" : "etcdctl", version);
	token = xasprintf("drill-%d-%" PRId64, (int) getpid(), mono_now_us());
	return etcdtool_restore(tool,
	                        &(struct etcdtool_restore){
	                            .snapshot = d->path,
	                            .data_dir = data_dir,
	                            .name = ETCDRUN_NAME,
	                            .peer_urls = ETCDRUN_PEER_URL,
	                            .initial_cluster = ETCDRUN_CLUSTER,
	                            .token = token,
	                            .limit_ms = time_left_ms(d),
	                        },
	                        d->problem);
}

/* With authentication, root is asked for: by a token that we sign, as we say what it is signed
 * with. */
static int prepare_token(struct drill *d)
{
	AUTO(free) char *path = xasprintf("%s/" KEY_FILE, d->q->directory);
	char key[ROOTTOKEN_KEY_CHARS + 1];
	uint8_t revision[8];
	int r;

	if (!d->info->auth_is_enabled)
		return 0;
	r = cursor_get(snapshot_db(d->snapshot), "auth", "authRevision", revision, sizeof(revision));
	if (r != sizeof(revision))
		return problem_set(d->problem, -EBADMSG, "TREE", "%s",
		                   "authentication is on, and its revision is not there");
	roottoken_draw_key(key);
	r = file_write_atomic(path, key, strlen(key), 0600, FILE_VOLATILE);
	if (r < 0)
		return problem_set_errno(d->problem, r, "cannot write '%s'", path);
	d->token = roottoken_make(key, bytes_be64(revision), wall_now_us() / US_PER_S + TOKEN_LIFE_S);
	return 0;
}

static int wait_healthy(struct drill *d)
{
	while (!etcdask_is_healthy(&d->ask)) {
		int r = etcdrun_check(d->etcd, d->problem);

		if (r < 0)
			return r;
		if (cancel_is_wanted())
			return problem_set(d->problem, -ECANCELED, "CANCELLED", "cancelled");
		if (mono_now_us() >= d->ask.deadline_us)
			return etcdrun_blame(d->etcd, -ETIMEDOUT, "etcd does not serve in time", d->problem);
		(void) usleep(POLL_US);
	}
	return 0;
}

/* Its path, to be freed, as the working directory changes. */
static char *find_etcd(const struct drill *d)
{
	AUTO(free) char *found = d->q->etcd == NULL ? etcdtool_look_up("etcd") : NULL;
	const char *path = d->q->etcd != NULL ? d->q->etcd : found;
	char *whole = path != NULL ? realpath(path, NULL) : NULL;

	if (path == NULL)
		(void) problem_set(d->problem, -ENOENT, "START",
		                   "there is no program 'etcd' in the PATH: install it, or name it");
	else if (whole == NULL)
		(void) problem_set(d->problem, -errno, "START", "cannot run '%s': %s", path,
		                   strerror(errno));
	return whole;
}

static int enter(struct drill *d)
{
	if (chdir(d->q->directory) < 0)
		return problem_set_errno(d->problem, -errno, "cannot enter '%s'", d->q->directory);
	return enclave_enter(d->problem);
}

static int start(struct drill *d)
{
	AUTO(free) char *etcd = NULL;
	struct etcdrun_options options = {.data_dir = DATA_DIR, .log = LOG};
	char version[ETCDASK_VERSION_MAX];
	int r;

	drillreport_begin(d->report, DRILLREPORT_START);
	etcd = find_etcd(d);
	if (etcd == NULL)
		return -ENOENT;
	r = prepare_token(d);
	if (r == 0)
		r = enter(d);
	if (r < 0)
		return r;
	options.etcd = etcd;
	options.token_key = d->token != NULL ? KEY_FILE : NULL;
	d->ask = (struct etcdask){ETCDRUN_CLIENT_URL, ETCDRUN_PEER_URL, d->token,
	                          d->q->deadline_us - MARGIN_US};
	r = etcdrun_start(&options, d->problem, &d->etcd);
	if (r == 0)
		r = wait_healthy(d);
	if (r == 0)
		r = etcdask_version(&d->ask, d->problem, version);
	if (r == 0)
		drillreport_version(d->report, "etcd", version);
	return r;
}

static int compare(struct drill *d)
{
	const struct drillcompare_facts facts = {
	    .entry = d->q->entry,
	    .snapshot = d->snapshot,
	    .fault = &d->fault,
	    .content = &d->content,
	    .info = d->info,
	    .ask = &d->ask,
	};
	int r;

	drillreport_begin(d->report, DRILLREPORT_COMPARE);
	r = drillcompare_etcd(d->report, &facts, d->problem);
	/* When etcd dies meanwhile, that is the reason, and not that it does not answer. */
	if (r < 0 && r != -EBADMSG) {
		struct problem died = {0};

		if (etcdrun_check(d->etcd, &died) < 0)
			*d->problem = died;
	}
	return r;
}

int drillrun(const struct drillrun_request *request, struct drillreport *report,
             struct problem *problem)
{
	static int (*const steps[])(struct drill * d) = {fetch, unpack, prove, restore, start, compare};
	struct drill d = {.q = request, .report = report, .problem = problem};
	int r = 0;

	if (request->entry != NULL)
		drillreport_version(report, "snapshot", request->entry->server_version);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(steps); i++)
		r = cancel_is_wanted() ? problem_set(problem, -ECANCELED, "CANCELLED", "cancelled")
		                       : steps[i](&d);
	drill_fini(&d);
	return r;
}
