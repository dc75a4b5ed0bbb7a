/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each call is a request: one task of the disk's thread, in which something is done to the
 * directory, and then the catalogue is read again, so that what the loop looks at is what is there.
 * A request is the thread's from the call until it is over, and nobody else touches it meanwhile;
 * what the thread reads of the catalogue it reads from the disk.
 */
#include "etcdwatch/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/catalog/listing.h"
#include "etcdwatch/catalog/catalog.h"
#include "etcdwatch/store/leftover.h"

#define ENTRY_SUFFIX LISTING_ENTRY_SUFFIX
#define ENTRY_MODE 0600

_Static_assert(STORE_REASON_MAX >= LISTING_REASON_MAX, "a listing's reason is the request's");

struct request {
	struct store *store;
	store_done_fn done;
	void *userdata;
	struct disk_task task;
	LIST_ENTRY(request) link;

	/* The thread's. */
	int (*work)(struct request *q);
	const char *directory, *job; /* the store's, which do not change */
	const struct signature_key *key;
	char *path;
	char *id; /* whose copy is recorded, or which is put aside */
	struct catalog_entry *entry;
	struct catalog_copy copy;
	int64_t timeline;
	char *text;       /* why it is put aside */
	struct names ids; /* to remove; after a scan: adopted */
	struct names odd; /* what a scan could not adopt */
	struct listing fresh;
	bool is_read;
	int64_t free_bytes;
	int r;
	char reason[STORE_REASON_MAX];
};

struct store {
	struct disk *disk;
	char *directory, *job;
	const struct signature_key *key;
	struct listing now;
	bool is_read; /* once */
	int64_t free_bytes;
	struct names adopted;
	LIST_HEAD(, request) requests;
};

static int fail(struct request *q, int r, const char *what, const char *path)
{
	(void) snprintf(q->reason, sizeof(q->reason), "%s '%s': %s", what, path, strerror(-r));
	return r;
}

static int sync_directory(struct request *q, const char *path)
{
	AUTO(close) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0)
		return fail(q, -errno, "cannot sync", path);
	return 0;
}

/* --- changing the directory --- */

/* A leftover that cannot be removed takes room, and is no reason to do without snapshots. */
static int scan_work(struct request *q)
{
	int r;

	r = leftover_sweep(q->directory, q->job);
	if (r < 0)
		names_add(&q->odd, xasprintf("%s: what was left half taken cannot be removed: %s",
		                             q->directory, strerror(-r)));
	r = adopt_run(q->directory, q->job, &q->ids, &q->odd);
	return r < 0 ? fail(q, r, "cannot read", q->directory) : 0;
}

/* Never over a file that is there. */
static int move(struct request *q, const char *from, const char *to)
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	/* Some file systems cannot promise that. */
	if (errno == EINVAL && access(to, F_OK) < 0 && rename(from, to) == 0)
		return 0;
	return fail(q, -errno, "cannot give a name to", to);
}

/* Reading is stricter than printing: what could not be read back is not written. */
static int write_entry(struct request *q, const struct catalog_entry *entry, const char *path)
{
	AUTO(free) char *text = catalog_print(entry);
	AUTO(catalog_entry_free) struct catalog_entry *parsed = NULL;
	char error[CATALOG_ERROR_MAX];
	int r = catalog_parse(text, strlen(text), &parsed, error);

	if (r < 0) {
		(void) snprintf(q->reason, sizeof(q->reason),
		                "cannot write '%s', which could not be read: "
		                "%.*s",
		                path, STORE_REASON_MAX / 2, error);
		return r;
	}
	r = file_write_atomic(path, text, strlen(text), ENTRY_MODE, FILE_DURABLE);
	return r < 0 ? fail(q, r, "cannot write", path) : 0;
}

/* The file at q->path and its entry, into a directory (leftover.h has the order). */
static int put(struct request *q, const char *directory)
{
	AUTO(free) char *file = xasprintf("%s/%s", directory, q->entry->file);
	AUTO(free) char *entry = xasprintf("%s/%s" ENTRY_SUFFIX, directory, q->entry->id);
	AUTO(free) char *promised = adopt_promised_path(directory, q->entry->id);
	const char *file_now = q->path, *entry_now = promised;
	int r;

	/* Under the name that does not count yet. */
	r = write_entry(q, q->entry, promised);
	if (r == 0)
		r = move(q, q->path, file);
	if (r == 0) {
		file_now = file;
		r = move(q, promised, entry);
	}
	if (r == 0) {
		entry_now = entry;
		r = sync_directory(q, directory);
	}
	if (r < 0) {
		(void) unlink(file_now);
		(void) unlink(entry_now);
	}
	return r;
}

static int keep_work(struct request *q)
{
	if (q->key != NULL)
		trust_sign(q->entry, q->key);
	return put(q, q->directory);
}

static int put_rejected(struct request *q)
{
	AUTO(free) char *directory = xasprintf("%s/" LISTING_REJECTED_DIRECTORY, q->directory);
	int r;

	if (mkdir(directory, 0700) < 0 && errno != EEXIST)
		return fail(q, -errno, "cannot make", directory);
	r = put(q, directory);
	if (r < 0)
		return r;
	r = listing_trim_rejected(q->directory, q->job, STORE_REJECTED_MAX);
	return r < 0 ? fail(q, r, "cannot read", directory) : 0;
}

static int read_entry(struct request *q, const char *id, struct catalog_entry **ret_entry)
{
	AUTO(free) char *path = xasprintf("%s/%s" ENTRY_SUFFIX, q->directory, id);
	char error[CATALOG_ERROR_MAX];
	int r;

	r = catalog_read(path, ret_entry, error);
	if (r < 0)
		(void) snprintf(q->reason, sizeof(q->reason), "%.*s", STORE_REASON_MAX - 1, error);
	return r;
}

/* The way of put(), backwards: what a crash leaves is there as before, or not at all. */
static int remove_one(struct request *q, const char *id)
{
	AUTO(free) char *path = xasprintf("%s/%s" ENTRY_SUFFIX, q->directory, id);
	AUTO(free) char *promised = adopt_promised_path(q->directory, id);
	AUTO(catalog_entry_free) struct catalog_entry *e = NULL;
	AUTO(free) char *file = NULL;
	int r;

	r = read_entry(q, id, &e);
	if (r < 0)
		return r;
	file = xasprintf("%s/%s", q->directory, e->file);
	if (rename(path, promised) < 0)
		return fail(q, -errno, "cannot remove", path);
	if (unlink(file) < 0 && errno != ENOENT) {
		r = fail(q, -errno, "cannot remove", file);
		(void) rename(promised, path);
		return r;
	}
	return unlink(promised) < 0 ? fail(q, -errno, "cannot remove", promised) : 0;
}

static int remove_work(struct request *q)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < q->ids.n; i++)
		r = remove_one(q, q->ids.items[i]);
	return r == 0 ? sync_directory(q, q->directory) : r;
}

static int rewrite(struct request *q, const struct catalog_entry *e)
{
	AUTO(free) char *path = xasprintf("%s/%s" ENTRY_SUFFIX, q->directory, e->id);

	return write_entry(q, e, path);
}

static int record_copy_work(struct request *q)
{
	AUTO(catalog_entry_free) struct catalog_entry *e = NULL;
	int r;

	r = read_entry(q, q->id, &e);
	if (r < 0)
		return r;
	r = catalog_set_copy(e, &q->copy);
	return r < 0 ? fail(q, r, "cannot record a copy of", q->id) : rewrite(q, e);
}

static int set_timeline_work(struct request *q)
{
	AUTO(catalog_entry_free) struct catalog_entry *e = NULL;
	int r;

	r = read_entry(q, q->id, &e);
	if (r < 0)
		return r;
	if (q->timeline > CATALOG_TIMELINE_MAX) {
		(void) snprintf(
		    q->reason, sizeof(q->reason),
		    "'%s' would be of the timeline %lld, and there are no more than %d: an entry "
		    "in the target has one that cannot be right",
		    q->id, (long long) q->timeline, CATALOG_TIMELINE_MAX);
		return -ERANGE;
	}
	if (e->key != NULL && (q->key == NULL || strcmp(e->key, signature_key_public(q->key)) != 0))
		return 0;
	e->timeline = q->timeline;
	if (e->key != NULL)
		trust_sign(e, q->key);
	return rewrite(q, e);
}

/* The file goes first, which may be all that there is room for. */
static int set_aside_work(struct request *q)
{
	AUTO(catalog_entry_free) struct catalog_entry *e = NULL;
	AUTO(free) char *path = xasprintf("%s/%s" ENTRY_SUFFIX, q->directory, q->id);
	AUTO(free) char *rejected = xasprintf("%s/" LISTING_REJECTED_DIRECTORY, q->directory);
	AUTO(free) char *file = NULL, *to = NULL, *entry = NULL, *text = NULL;
	int r;

	r = read_entry(q, q->id, &e);
	if (r < 0)
		return r;
	file = xasprintf("%s/%s", q->directory, e->file);
	to = xasprintf("%s/%s", rejected, e->file);
	if (mkdir(rejected, 0700) < 0 && errno != EEXIST)
		return fail(q, -errno, "cannot make", rejected);
	r = move(q, file, to);
	if (r < 0)
		return r;
	e->rejected = xstrndup(q->text, CATALOG_TEXT_MAX);
	text = catalog_print(e);
	entry = xasprintf("%s/%s" ENTRY_SUFFIX, rejected, q->id);
	r = file_write_atomic(entry, text, strlen(text), ENTRY_MODE, FILE_DURABLE);
	if (unlink(path) < 0)
		return fail(q, -errno, "cannot remove", path);
	return r < 0 ? fail(q, r, "cannot write", entry) : 0;
}

/* --- on the loop --- */

static void request_free(struct request *q)
{
	LIST_REMOVE(q, link);
	catalog_entry_free(q->entry);
	listing_fini(&q->fresh);
	names_fini(&q->ids);
	names_fini(&q->odd);
	free(q->copy.target);
	free(q->copy.key);
	free(q->path);
	free(q->id);
	free(q->text);
	free(q);
}

static int64_t find_free_bytes(const char *directory)
{
	struct statvfs fs;

	return statvfs(directory, &fs) == 0 ? (int64_t) (fs.f_bavail * fs.f_frsize) : -1;
}

static void task_work(struct disk_task *task)
{
	struct request *q = CONTAINER_OF(task, struct request, task);
	char reason[LISTING_REASON_MAX];
	int r;

	q->r = q->work(q);
	r = listing_read(q->directory, q->job, &q->fresh, reason);
	q->is_read = r == 0;
	q->free_bytes = find_free_bytes(q->directory);
	for (size_t i = 0; i < q->odd.n && r == 0; i++)
		listing_add_odd(&q->fresh, xstrdup(q->odd.items[i]));
	if (r < 0 && q->r == 0 && q->work == scan_work) {
		q->r = r;
		(void) snprintf(q->reason, sizeof(q->reason), "%s", reason);
	}
}

/* What was kept counts, whether its entry could be read back just now or not. */
static void count_kept(struct store *s, struct request *q)
{
	struct listing *l = &s->now;

	if (q->r < 0 || q->work != keep_work || store_find(s, q->entry->id) != NULL)
		return;
	l->entries = xreallocarray(l->entries, l->n + 1, sizeof(l->entries[0]));
	l->entries[l->n++] = TAKE_PTR(q->entry);
}

/* Calls out: last act. */
static void task_done(struct disk_task *task)
{
	struct request *q = CONTAINER_OF(task, struct request, task);
	struct store *s = q->store;
	struct listing before = s->now;

	if (q->is_read) {
		s->now = q->fresh;
		q->fresh = before;
		s->is_read = true;
	}
	s->free_bytes = q->free_bytes;
	count_kept(s, q);
	if (q->work == scan_work) {
		struct names adopted = s->adopted;

		s->adopted = q->ids;
		q->ids = adopted;
	}
	q->done(q->r, q->r < 0 ? q->reason : "", q->userdata);
	request_free(q);
}

static struct request *new_request(struct store *s, int (*work)(struct request *q),
                                   store_done_fn done, void *userdata)
{
	struct request *q = NEW0(struct request);

	q->store = s;
	q->directory = s->directory;
	q->job = s->job;
	q->key = s->key;
	q->work = work;
	q->done = done;
	q->userdata = userdata;
	q->task = (struct disk_task){.work = task_work, .done = task_done};
	LIST_INSERT_HEAD(&s->requests, q, link);
	return q;
}

void store_scan(struct store *s, store_done_fn done, void *userdata)
{
	disk_do(s->disk, &new_request(s, scan_work, done, userdata)->task);
}

void store_keep(struct store *s, const char *path, struct catalog_entry *entry, store_done_fn done,
                void *userdata)
{
	struct request *q = new_request(s, keep_work, done, userdata);

	q->path = xstrdup(path);
	q->entry = entry;
	disk_do(s->disk, &q->task);
}

void store_reject(struct store *s, const char *path, struct catalog_entry *entry,
                  store_done_fn done, void *userdata)
{
	struct request *q = new_request(s, put_rejected, done, userdata);

	q->path = xstrdup(path);
	q->entry = entry;
	disk_do(s->disk, &q->task);
}

void store_remove(struct store *s, const char *const *ids, size_t n_ids, store_done_fn done,
                  void *userdata)
{
	struct request *q = new_request(s, remove_work, done, userdata);

	for (size_t i = 0; i < n_ids; i++)
		names_add(&q->ids, xstrdup(ids[i]));
	disk_do(s->disk, &q->task);
}

void store_record_copy(struct store *s, const char *id, const struct catalog_copy *copy,
                       store_done_fn done, void *userdata)
{
	struct request *q = new_request(s, record_copy_work, done, userdata);

	q->id = xstrdup(id);
	q->copy = *copy;
	q->copy.target = xstrdup(copy->target);
	q->copy.key = xstrdup(copy->key);
	disk_do(s->disk, &q->task);
}

void store_set_timeline(struct store *s, const char *id, int64_t timeline, store_done_fn done,
                        void *userdata)
{
	struct request *q = new_request(s, set_timeline_work, done, userdata);

	q->id = xstrdup(id);
	q->timeline = timeline;
	disk_do(s->disk, &q->task);
}

void store_set_aside(struct store *s, const char *id, const char *reason, store_done_fn done,
                     void *userdata)
{
	struct request *q = new_request(s, set_aside_work, done, userdata);

	q->id = xstrdup(id);
	q->text = xstrdup(reason);
	disk_do(s->disk, &q->task);
}

struct store *store_new(struct disk *disk, const char *directory, const char *job,
                        const struct signature_key *key)
{
	struct store *s = NEW0(struct store);

	s->disk = disk;
	s->directory = xstrdup(directory);
	s->job = xstrdup(job);
	s->free_bytes = -1;
	s->key = key;
	LIST_INIT(&s->requests);
	return s;
}

void store_free(struct store *s)
{
	if (s == NULL)
		return;
	while (!LIST_EMPTY(&s->requests))
		request_free(LIST_FIRST(&s->requests));
	listing_fini(&s->now);
	names_fini(&s->adopted);
	free(s->directory);
	free(s->job);
	free(s);
}

bool store_is_read(const struct store *s)
{
	return s->is_read;
}

size_t store_n(const struct store *s)
{
	return s->now.n;
}

const struct catalog_entry *store_get(const struct store *s, size_t i)
{
	return s->now.entries[i];
}

const struct catalog_entry *store_find(const struct store *s, const char *id)
{
	for (size_t i = 0; i < s->now.n; i++) {
		if (strcmp(s->now.entries[i]->id, id) == 0)
			return s->now.entries[i];
	}
	return NULL;
}

const struct catalog_entry *const *store_entries(const struct store *s)
{
	return (const struct catalog_entry *const *) s->now.entries;
}

size_t store_n_odd(const struct store *s)
{
	return s->now.odd.n;
}

const char *store_odd(const struct store *s, size_t i)
{
	return s->now.odd.items[i];
}

size_t store_n_adopted(const struct store *s)
{
	return s->adopted.n;
}

const char *store_adopted(const struct store *s, size_t i)
{
	return s->adopted.items[i];
}

int64_t store_free_bytes(const struct store *s)
{
	return s->free_bytes;
}

size_t store_n_rejected(const struct store *s)
{
	return s->now.n_rejected;
}
