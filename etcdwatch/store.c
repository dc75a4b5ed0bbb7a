/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each call is one task: what is to be done to the directory, and then the catalogue is read again,
 * so that what the loop looks at is what is there. What a task needs and finds is in `struct store`
 * under "the thread's", which nobody else touches while it is away.
 */
#include "etcdwatch/store.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/leftover.h"

#define ENTRY_SUFFIX ".json"
#define ENTRY_MODE 0600
/* Beyond them a directory is not read to its end, and nothing is removed from it. */
#define ENTRIES_MAX 20000
#define ODD_MAX 20
#define TIME_CHARS 17 /* "20261121T203000Z-" before the job's name */

struct names {
	char **items;
	size_t n;
};

struct listing {
	struct catalog_entry **entries; /* of this job, with their files; oldest first */
	size_t n;
	struct names odd;
	size_t n_rejected;
};

struct store {
	struct disk *disk;
	char *directory, *job;
	struct listing now; /* the loop's */

	store_done_fn done;
	void *userdata;
	struct disk_task task;
	bool is_away;

	/* The thread's. */
	int (*work)(struct store *s);
	char *path;
	struct catalog_entry *entry;
	struct names ids;
	struct listing fresh;
	int r;
	char reason[STORE_REASON_MAX];
};

/* --- small things ------------------------------------------------------------------------------
 */

static void names_add(struct names *names, char *name)
{
	names->items = xreallocarray(names->items, names->n + 1, sizeof(names->items[0]));
	names->items[names->n++] = name;
}

static void names_fini(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->items[i]);
	free(names->items);
	*names = (struct names){0};
}

static void listing_fini(struct listing *l)
{
	for (size_t i = 0; i < l->n; i++)
		catalog_entry_free(l->entries[i]);
	free(l->entries);
	names_fini(&l->odd);
	*l = (struct listing){0};
}

static bool ends_with(const char *text, const char *suffix)
{
	size_t n = strlen(text), m = strlen(suffix);

	return n > m && strcmp(text + n - m, suffix) == 0;
}

static int fail(struct store *s, int r, const char *what, const char *path)
{
	(void) snprintf(s->reason, sizeof(s->reason), "%s '%s': %s", what, path, strerror(-r));
	return r;
}

static int sync_directory(struct store *s, const char *path)
{
	AUTO(close) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0)
		return fail(s, -errno, "cannot sync", path);
	return 0;
}

/* --- reading the catalogue ---------------------------------------------------------------------
 */

static void add_odd(struct store *s, char *text)
{
	if (s->fresh.odd.n < ODD_MAX)
		names_add(&s->fresh.odd, text);
	else
		free(text);
}

/* Takes the entry. */
static void add_entry(struct store *s, const char *name, struct catalog_entry *entry)
{
	AUTO(catalog_entry_free) struct catalog_entry *e = entry;
	AUTO(free) char *path = xasprintf("%s/%s", s->directory, e->file);
	struct stat st;

	if (strncmp(name, e->id, strlen(e->id)) != 0 || strcmp(name + strlen(e->id), ENTRY_SUFFIX) != 0)
		add_odd(s, xasprintf("%s/%s: is the entry of another snapshot", s->directory, name));
	else if (stat(path, &st) < 0)
		add_odd(s, xasprintf("%s: %s, but it has an entry", path, strerror(errno)));
	else if (st.st_size != e->file_bytes)
		add_odd(s, xasprintf("%s: has %lld bytes, and by its entry %lld", path,
		                     (long long) st.st_size, (long long) e->file_bytes));
	else {
		struct listing *l = &s->fresh;

		l->entries = xreallocarray(l->entries, l->n + 1, sizeof(l->entries[0]));
		l->entries[l->n++] = TAKE_PTR(e);
	}
}

/* Entries of other jobs only tell which files are theirs. */
static void read_entry(struct store *s, const char *name, struct names *known)
{
	AUTO(free) char *path = xasprintf("%s/%s", s->directory, name);
	AUTO(catalog_entry_free) struct catalog_entry *entry = NULL;
	char error[CATALOG_ERROR_MAX];

	if (catalog_read(path, &entry, error) < 0) {
		add_odd(s, xstrdup(error));
		return;
	}
	names_add(known, xstrdup(entry->file));
	if (strcmp(entry->job, s->job) == 0)
		add_entry(s, name, TAKE_PTR(entry));
}

static bool is_known(const struct names *known, const char *name)
{
	for (size_t i = 0; i < known->n; i++) {
		if (strcmp(known->items[i], name) == 0)
			return true;
	}
	return false;
}

/* By its name it is a snapshot of this job. */
static bool is_ours(const struct store *s, const char *name)
{
	size_t n = strlen(s->job);

	return strlen(name) > TIME_CHARS &&
	       (strstr(name, ".db") != NULL || ends_with(name, ENTRY_SUFFIX)) &&
	       strncmp(name + TIME_CHARS, s->job, n) == 0 && name[TIME_CHARS + n] == '-';
}

static int compare_entries(const void *a, const void *b)
{
	const struct catalog_entry *x = *(struct catalog_entry *const *) a;
	const struct catalog_entry *y = *(struct catalog_entry *const *) b;

	if (x->started_s != y->started_s)
		return x->started_s < y->started_s ? -1 : 1;
	return strcmp(x->id, y->id);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

/* All names but hidden ones, in order. */
static int read_names(struct store *s, const char *path, struct names *ret_names)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	int r = 0;

	if (dir == NULL)
		return errno == ENOENT ? 0 : fail(s, -errno, "cannot read", path);
	errno = 0;
	while ((entry = readdir(dir)) != NULL && ret_names->n < ENTRIES_MAX) {
		if (entry->d_name[0] != '.')
			names_add(ret_names, xstrdup(entry->d_name));
	}
	if (entry != NULL)
		r = fail(s, -E2BIG, "too many files in", path);
	else if (errno != 0)
		r = fail(s, -errno, "cannot read", path);
	(void) closedir(dir);
	if (ret_names->n > 0)
		qsort(ret_names->items, ret_names->n, sizeof(ret_names->items[0]), compare_names);
	return r;
}

static char *rejected_directory(const struct store *s)
{
	return xasprintf("%s/" STORE_REJECTED_DIRECTORY, s->directory);
}

static size_t count_rejected(struct store *s)
{
	AUTO(free) char *path = rejected_directory(s);
	struct names names = {0};
	size_t n = 0;

	(void) read_names(s, path, &names);
	for (size_t i = 0; i < names.n; i++)
		n += is_ours(s, names.items[i]) && !ends_with(names.items[i], ENTRY_SUFFIX);
	names_fini(&names);
	return n;
}

static int read_catalogue(struct store *s)
{
	struct names names = {0}, known = {0};
	int r;

	r = read_names(s, s->directory, &names);
	for (size_t i = 0; r == 0 && i < names.n; i++) {
		if (ends_with(names.items[i], ENTRY_SUFFIX))
			read_entry(s, names.items[i], &known);
	}
	for (size_t i = 0; r == 0 && i < names.n; i++) {
		const char *name = names.items[i];

		if (!ends_with(name, ENTRY_SUFFIX) && is_ours(s, name) && !is_known(&known, name))
			add_odd(s, xasprintf("%s/%s: has no entry", s->directory, name));
	}
	if (s->fresh.n > 0)
		qsort(s->fresh.entries, s->fresh.n, sizeof(s->fresh.entries[0]), compare_entries);
	s->fresh.n_rejected = count_rejected(s);
	names_fini(&names);
	names_fini(&known);
	return r;
}

/* --- changing the directory --------------------------------------------------------------------
 */

static int scan_work(struct store *s)
{
	int r;

	r = leftover_sweep(s->directory, s->job);
	return r < 0 ? fail(s, r, "cannot remove what was left in", s->directory) : 0;
}

/* Never over a file that is there. */
static int move(struct store *s, const char *from, const char *to)
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	/* Some file systems cannot promise that. */
	if (errno == EINVAL && access(to, F_OK) < 0 && rename(from, to) == 0)
		return 0;
	return fail(s, -errno, "cannot give a name to", to);
}

/* The file at s->path and its entry, into a directory. */
static int put(struct store *s, const char *directory)
{
	AUTO(free) char *file = xasprintf("%s/%s", directory, s->entry->file);
	AUTO(free) char *entry = xasprintf("%s/%s" ENTRY_SUFFIX, directory, s->entry->id);
	AUTO(free) char *text = catalog_print(s->entry);
	int r;

	r = move(s, s->path, file);
	if (r < 0) {
		(void) unlink(s->path);
		return r;
	}
	r = sync_directory(s, directory);
	if (r == 0) {
		r = file_write_atomic(entry, text, strlen(text), ENTRY_MODE, FILE_DURABLE);
		if (r < 0)
			(void) fail(s, r, "cannot write", entry);
	}
	if (r < 0)
		(void) unlink(file);
	return r;
}

static int keep_work(struct store *s)
{
	return put(s, s->directory);
}

/* How long the id is, by which a file's name begins. */
static size_t id_len(const char *name)
{
	const char *end = name + strlen(name);

	if (ends_with(name, ENTRY_SUFFIX))
		return strlen(name) - strlen(ENTRY_SUFFIX);
	for (const char *p = strstr(name, ".db"); p != NULL; p = strstr(p + 1, ".db"))
		end = p;
	return (size_t) (end - name);
}

/* Their names begin with their time, so the last ones are the newest. */
static int drop_old_rejected(struct store *s, const char *directory)
{
	struct names names = {0};
	const char *last = NULL;
	size_t n_ids = 0;
	int r;

	r = read_names(s, directory, &names);
	for (size_t i = names.n; r == 0 && i-- > 0;) {
		const char *name = names.items[i];
		AUTO(free) char *path = xasprintf("%s/%s", directory, name);

		if (!is_ours(s, name))
			continue;
		if (last == NULL || id_len(last) != id_len(name) || strncmp(last, name, id_len(name)) != 0)
			n_ids++;
		last = name;
		if (n_ids > STORE_REJECTED_MAX)
			(void) unlink(path);
	}
	names_fini(&names);
	return r;
}

static int reject_work(struct store *s)
{
	AUTO(free) char *directory = rejected_directory(s);
	int r;

	if (mkdir(directory, 0700) < 0 && errno != EEXIST)
		return fail(s, -errno, "cannot make", directory);
	r = put(s, directory);
	return r < 0 ? r : drop_old_rejected(s, directory);
}

static int remove_one(struct store *s, const char *id)
{
	const struct catalog_entry *e = NULL;
	AUTO(free) char *entry = xasprintf("%s/%s" ENTRY_SUFFIX, s->directory, id);
	AUTO(free) char *file = NULL;

	for (size_t i = 0; i < s->now.n; i++) {
		if (strcmp(s->now.entries[i]->id, id) == 0)
			e = s->now.entries[i];
	}
	if (e == NULL)
		return -ENOENT;
	file = xasprintf("%s/%s", s->directory, e->file);
	if (unlink(file) < 0 && errno != ENOENT)
		return fail(s, -errno, "cannot remove", file);
	if (unlink(entry) < 0 && errno != ENOENT)
		return fail(s, -errno, "cannot remove", entry);
	return 0;
}

static int remove_work(struct store *s)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->ids.n; i++)
		r = remove_one(s, s->ids.items[i]);
	return r == 0 ? sync_directory(s, s->directory) : r;
}

/* --- on the loop -------------------------------------------------------------------------------
 */

static void task_work(struct disk_task *task)
{
	struct store *s = CONTAINER_OF(task, struct store, task);
	int r;

	s->r = s->work(s);
	r = read_catalogue(s);
	if (s->r == 0)
		s->r = r;
}

static void task_done(struct disk_task *task)
{
	struct store *s = CONTAINER_OF(task, struct store, task);

	s->is_away = false;
	listing_fini(&s->now);
	s->now = s->fresh;
	s->fresh = (struct listing){0};
	catalog_entry_free(TAKE_PTR(s->entry));
	free(TAKE_PTR(s->path));
	names_fini(&s->ids);
	s->done(s->r, s->r < 0 ? s->reason : "", s->userdata);
}

static void begin(struct store *s, int (*work)(struct store *s), store_done_fn done, void *userdata)
{
	assert(!s->is_away);
	s->is_away = true;
	s->work = work;
	s->done = done;
	s->userdata = userdata;
	s->task = (struct disk_task){.work = task_work, .done = task_done};
	disk_do(s->disk, &s->task);
}

void store_scan(struct store *s, store_done_fn done, void *userdata)
{
	begin(s, scan_work, done, userdata);
}

void store_keep(struct store *s, const char *path, struct catalog_entry *entry, store_done_fn done,
                void *userdata)
{
	s->path = xstrdup(path);
	s->entry = entry;
	begin(s, keep_work, done, userdata);
}

void store_reject(struct store *s, const char *path, struct catalog_entry *entry,
                  store_done_fn done, void *userdata)
{
	s->path = xstrdup(path);
	s->entry = entry;
	begin(s, reject_work, done, userdata);
}

void store_remove(struct store *s, const char *const *ids, size_t n_ids, store_done_fn done,
                  void *userdata)
{
	for (size_t i = 0; i < n_ids; i++)
		names_add(&s->ids, xstrdup(ids[i]));
	begin(s, remove_work, done, userdata);
}

struct store *store_new(struct disk *disk, const char *directory, const char *job)
{
	struct store *s = NEW0(struct store);

	s->disk = disk;
	s->directory = xstrdup(directory);
	s->job = xstrdup(job);
	return s;
}

void store_free(struct store *s)
{
	if (s == NULL)
		return;
	listing_fini(&s->now);
	listing_fini(&s->fresh);
	names_fini(&s->ids);
	catalog_entry_free(s->entry);
	free(s->path);
	free(s->directory);
	free(s->job);
	free(s);
}

size_t store_n(const struct store *s)
{
	return s->now.n;
}

const struct catalog_entry *store_get(const struct store *s, size_t i)
{
	return s->now.entries[i];
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

size_t store_n_rejected(const struct store *s)
{
	return s->now.n_rejected;
}
