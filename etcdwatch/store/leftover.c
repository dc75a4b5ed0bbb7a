/* SPDX-License-Identifier: Apache-2.0 */
/* The name of what is half taken, and who else may have left one. */
#include "etcdwatch/store/leftover.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"

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
