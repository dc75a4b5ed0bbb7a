/* SPDX-License-Identifier: Apache-2.0 */
/* The name of what is half taken, and who else may have left one. */
#include "etcdwatch/store/leftover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "web/digest.h"

#define PREFIX ".taking-"
/* The worker's own: `.NAME.new`, while it writes NAME. */
#define NEW_PREFIX "."
/* An entry that is being written: `[.]<id>.json.new.<pid>` (base/fileio.h). */
#define NEW_ENTRY ".json.new."
#define TIME_CHARS 17 /* of an id, before the job's name */

char *leftover_path(const char *directory, const char *job)
{
	return xasprintf("%s/" PREFIX "%s-%d.db", directory, job, (int) getpid());
}

/* A job whose name begins with ours and a dash is another one: behind ours come digits. */
static bool is_leftover(const char *name, const char *prefix)
{
	size_t digits;

	if (strncmp(name, NEW_PREFIX PREFIX, strlen(NEW_PREFIX PREFIX)) == 0)
		name += strlen(NEW_PREFIX);
	if (strncmp(name, prefix, strlen(prefix)) != 0)
		return false;
	name += strlen(prefix);
	digits = strspn(name, "0123456789");
	return digits > 0 && name[digits] == '.';
}

/* Not one of ours: another job of this process, whose name begins like this one's, may be at it. */
static bool is_half_entry(const char *name, const char *job)
{
	const char *suffix = strstr(name, NEW_ENTRY);
	char *end;
	long pid;

	name += name[0] == '.';
	if (suffix == NULL || strlen(name) < TIME_CHARS ||
	    strncmp(name + TIME_CHARS, job, strlen(job)) != 0 || name[TIME_CHARS + strlen(job)] != '-')
		return false;
	pid = strtol(suffix + strlen(NEW_ENTRY), &end, 10);
	return *end == '\0' && pid > 0 && pid != (long) getpid();
}

int leftover_sweep(const char *directory, const char *job)
{
	AUTO(free) char *prefix = xasprintf(PREFIX "%s-", job);
	DIR *dir = opendir(directory);
	const struct dirent *entry;
	int r = 0;

	if (dir == NULL)
		return errno == ENOENT ? 0 : -errno;
	while ((entry = readdir(dir)) != NULL) {
		if (!is_leftover(entry->d_name, prefix) && !is_half_entry(entry->d_name, job))
			continue;
		if (unlinkat(dirfd(dir), entry->d_name, 0) < 0 && errno != ENOENT)
			r = -errno;
	}
	(void) closedir(dir);
	return r;
}

/* --- adopt --- */

/* Goes through the promised entries; each is kept, made good, or found to be of nothing. */

#define BUFFER_BYTES ((size_t) 256 << 10)

char *adopt_promised_path(const char *directory, const char *id)
{
	return xasprintf("%s/.%s" LISTING_ENTRY_SUFFIX, directory, id);
}

static int hash_file(const char *path, char hex[static DIGEST_HEX_MAX])
{
	AUTO(digest_free) struct digest *digest = digest_new(DIGEST_SHA256);
	AUTO(close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	AUTO(free) void *buffer = xcalloc(BUFFER_BYTES, 1);
	ssize_t n;

	if (fd < 0)
		return -errno;
	while ((n = read(fd, buffer, BUFFER_BYTES)) != 0) {
		if (n < 0 && errno != EINTR)
			return -errno;
		digest_update(digest, buffer, n > 0 ? (size_t) n : 0);
	}
	(void) digest_finish_hex(digest, hex);
	return 0;
}

/* 1: it is what the entry says; 0: it is not. */
static int is_as_promised(const char *file, const struct catalog_entry *e)
{
	char hex[DIGEST_HEX_MAX];
	struct stat st;
	int r;

	if (stat(file, &st) < 0)
		return -errno;
	if (st.st_size != e->file_bytes)
		return 0;
	r = hash_file(file, hex);
	return r < 0 ? r : strcmp(hex, e->file_sha256) == 0;
}

/* The entry gets its name. */
static int catalogue(const char *directory, const char *promised, const char *entry)
{
	AUTO(close) int fd = -1;

	if (rename(promised, entry) < 0)
		return -errno;
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

static void adopt(const char *directory, const struct catalog_entry *e, const char *promised,
                  struct names *ids, struct names *odd)
{
	AUTO(free) char *file = xasprintf("%s/%s", directory, e->file);
	AUTO(free) char *entry = xasprintf("%s/%s" LISTING_ENTRY_SUFFIX, directory, e->id);
	int r;

	/* The next snapshot of that name gets a promise of its own. */
	if (access(entry, F_OK) == 0 || (access(file, F_OK) < 0 && errno == ENOENT)) {
		(void) unlink(promised);
		return;
	}
	r = is_as_promised(file, e);
	if (r > 0)
		r = catalogue(directory, promised, entry);
	else if (r == 0)
		r = -EBADMSG;
	if (r < 0)
		names_add(odd, xasprintf("%s: cannot be catalogued: %s", file,
		                         r == -EBADMSG ? "it is not what was taken" : strerror(-r)));
	else
		names_add(ids, xstrdup(e->id));
}

int adopt_run(const char *directory, const char *job, struct names *ids, struct names *odd)
{
	struct names names = {0};
	int r;

	r = listing_names(directory, true, &names);
	for (size_t i = 0; r == 0 && i < names.n; i++) {
		const char *name = names.items[i] + 1;
		AUTO(free) char *path = xasprintf("%s/.%s", directory, name);
		AUTO(catalog_entry_free) struct catalog_entry *e = NULL;
		char error[CATALOG_ERROR_MAX];

		if (!listing_is_of_job(name, job) || !listing_is_entry(name))
			continue;
		if (catalog_read(path, &e, error) < 0)
			names_add(odd, xstrdup(error));
		else if (strcmp(e->job, job) == 0 && catalog_is_good(e))
			adopt(directory, e, path, ids, odd);
	}
	names_fini(&names);
	return r;
}
