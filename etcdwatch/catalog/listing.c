/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First every entry is read, then every other file is looked for among those that the entries name.
 * What is not understood is told and left alone.
 */
#include "etcdwatch/catalog/listing.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

/* Beyond them a directory is not read to its end, and nothing is removed from it. */
#define NAMES_MAX 20000
#define ODD_MAX 20
#define TIME_CHARS 17 /* "20261121T203000Z-" before the job's name */

/* --- names --- */

void names_add(struct names *names, char *name)
{
	names->items = xreallocarray(names->items, names->n + 1, sizeof(names->items[0]));
	names->items[names->n++] = name;
}

bool names_have(const struct names *names, const char *name)
{
	for (size_t i = 0; i < names->n; i++) {
		if (strcmp(names->items[i], name) == 0)
			return true;
	}
	return false;
}

void names_fini(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->items[i]);
	free(names->items);
	*names = (struct names){0};
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

int listing_names(const char *directory, bool hidden, struct names *ret_names)
{
	struct names names = {0};
	DIR *dir = opendir(directory);
	const struct dirent *entry;
	int r = 0;

	if (dir == NULL && errno != ENOENT)
		return -errno;
	errno = 0;
	while (dir != NULL && (entry = readdir(dir)) != NULL && names.n <= NAMES_MAX) {
		if ((entry->d_name[0] == '.') == hidden)
			names_add(&names, xstrdup(entry->d_name));
		errno = 0;
	}
	if (errno != 0)
		r = -errno;
	else if (names.n > NAMES_MAX)
		r = -E2BIG;
	if (dir != NULL)
		(void) closedir(dir);
	if (r < 0) {
		names_fini(&names);
		return r;
	}
	if (names.n > 0)
		qsort(names.items, names.n, sizeof(names.items[0]), compare_names);
	*ret_names = names;
	return 0;
}

static bool ends_with(const char *text, const char *suffix)
{
	size_t n = strlen(text), m = strlen(suffix);

	return n > m && strcmp(text + n - m, suffix) == 0;
}

bool listing_is_entry(const char *name)
{
	return ends_with(name, LISTING_ENTRY_SUFFIX);
}

bool listing_is_of_job(const char *name, const char *job)
{
	size_t n = strlen(job);

	return strlen(name) > TIME_CHARS && (strstr(name, ".db") != NULL || listing_is_entry(name)) &&
	       strncmp(name + TIME_CHARS, job, n) == 0 && name[TIME_CHARS + n] == '-';
}

/* --- the catalogue --- */

struct reading {
	const char *directory, *job;
	struct listing *listing;
	struct names known; /* files that entries stand for */
};

void listing_add_odd(struct listing *l, char *text)
{
	if (l->odd.n < ODD_MAX)
		names_add(&l->odd, text);
	else
		free(text);
}

/* Takes the entry. */
static void add_entry(struct reading *rd, const char *name, struct catalog_entry *entry)
{
	AUTO(catalog_entry_free) struct catalog_entry *e = entry;
	AUTO(free) char *path = xasprintf("%s/%s", rd->directory, e->file);
	struct listing *l = rd->listing;
	struct stat st;

	if (strncmp(name, e->id, strlen(e->id)) != 0 ||
	    strcmp(name + strlen(e->id), LISTING_ENTRY_SUFFIX) != 0) {
		listing_add_odd(l,
		                xasprintf("%s/%s: is the entry of another snapshot", rd->directory, name));
	} else if (stat(path, &st) < 0) {
		listing_add_odd(l, xasprintf("%s: %s, but it has an entry", path, strerror(errno)));
	} else if (st.st_size != e->file_bytes) {
		listing_add_odd(l, xasprintf("%s: has %lld bytes, and by its entry %lld", path,
		                             (long long) st.st_size, (long long) e->file_bytes));
	} else {
		l->entries = xreallocarray(l->entries, l->n + 1, sizeof(l->entries[0]));
		l->entries[l->n++] = TAKE_PTR(e);
	}
}

/* Entries of other jobs only tell which files are theirs. */
static void read_entry(struct reading *rd, const char *name)
{
	AUTO(free) char *path = xasprintf("%s/%s", rd->directory, name);
	AUTO(catalog_entry_free) struct catalog_entry *entry = NULL;
	char error[CATALOG_ERROR_MAX];

	if (catalog_read(path, &entry, error) < 0) {
		listing_add_odd(rd->listing, xstrdup(error));
		return;
	}
	names_add(&rd->known, xstrdup(entry->file));
	if (strcmp(entry->job, rd->job) == 0)
		add_entry(rd, name, TAKE_PTR(entry));
}

static int compare_entries(const void *a, const void *b)
{
	const struct catalog_entry *x = *(struct catalog_entry *const *) a;
	const struct catalog_entry *y = *(struct catalog_entry *const *) b;

	if (x->started_s != y->started_s)
		return x->started_s < y->started_s ? -1 : 1;
	return strcmp(x->id, y->id);
}

static size_t count_rejected(const char *directory, const char *job)
{
	AUTO(free) char *path = xasprintf("%s/" LISTING_REJECTED_DIRECTORY, directory);
	struct names names = {0};
	size_t n = 0;

	(void) listing_names(path, false, &names);
	for (size_t i = 0; i < names.n; i++)
		n += listing_is_of_job(names.items[i], job) && !listing_is_entry(names.items[i]);
	names_fini(&names);
	return n;
}

int listing_read(const char *directory, const char *job, struct listing *ret_listing,
                 char ret_reason[static LISTING_REASON_MAX])
{
	struct listing listing = {0};
	struct reading rd = {.directory = directory, .job = job, .listing = &listing};
	struct names names = {0};
	int r;

	r = listing_names(directory, false, &names);
	if (r < 0) {
		(void) snprintf(ret_reason, LISTING_REASON_MAX, "cannot read '%s': %s", directory,
		                r == -E2BIG ? "too many files" : strerror(-r));
		return r;
	}
	for (size_t i = 0; i < names.n; i++) {
		if (listing_is_entry(names.items[i]))
			read_entry(&rd, names.items[i]);
	}
	for (size_t i = 0; i < names.n; i++) {
		const char *name = names.items[i];

		if (!listing_is_entry(name) && listing_is_of_job(name, job) && !names_have(&rd.known, name))
			listing_add_odd(&listing, xasprintf("%s/%s: has no entry", directory, name));
	}
	if (listing.n > 0)
		qsort(listing.entries, listing.n, sizeof(listing.entries[0]), compare_entries);
	listing.n_rejected = count_rejected(directory, job);
	names_fini(&names);
	names_fini(&rd.known);
	*ret_listing = listing;
	return 0;
}

void listing_fini(struct listing *l)
{
	for (size_t i = 0; i < l->n; i++)
		catalog_entry_free(l->entries[i]);
	free(l->entries);
	names_fini(&l->odd);
	*l = (struct listing){0};
}

/* --- the rejected --- */

/* How long the id is, by which a file's name begins. */
static size_t id_len(const char *name)
{
	const char *end = name + strlen(name);

	if (listing_is_entry(name))
		return strlen(name) - strlen(LISTING_ENTRY_SUFFIX);
	for (const char *p = strstr(name, ".db"); p != NULL; p = strstr(p + 1, ".db"))
		end = p;
	return (size_t) (end - name);
}

/* Their names begin with their time, so the last ones are the newest. */
int listing_trim_rejected(const char *directory, const char *job, size_t n_kept)
{
	AUTO(free) char *rejected = xasprintf("%s/" LISTING_REJECTED_DIRECTORY, directory);
	struct names names = {0};
	const char *last = NULL;
	size_t n_ids = 0;
	int r;

	r = listing_names(rejected, false, &names);
	for (size_t i = names.n; r == 0 && i-- > 0;) {
		const char *name = names.items[i];
		AUTO(free) char *path = xasprintf("%s/%s", rejected, name);

		if (!listing_is_of_job(name, job))
			continue;
		if (last == NULL || id_len(last) != id_len(name) || strncmp(last, name, id_len(name)) != 0)
			n_ids++;
		last = name;
		if (n_ids > n_kept)
			(void) unlink(path);
	}
	names_fini(&names);
	return r;
}
