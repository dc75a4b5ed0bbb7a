/* SPDX-License-Identifier: Apache-2.0 */
/* The name of what is half taken, and who else may have left one. */
#include "etcdwatch/leftover.h"

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

int leftover_sweep(const char *directory, const char *job)
{
	AUTO(free) char *prefix = xasprintf(PREFIX "%s-", job);
	DIR *dir = opendir(directory);
	const struct dirent *entry;
	int r = 0;

	if (dir == NULL)
		return errno == ENOENT ? 0 : -errno;
	while ((entry = readdir(dir)) != NULL) {
		if (is_leftover(entry->d_name, prefix) && unlinkat(dirfd(dir), entry->d_name, 0) < 0 &&
		    errno != ENOENT)
			r = -errno;
	}
	(void) closedir(dir);
	return r;
}
