/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the configuration, as the daemons find them. */
#include "cli/support/collect.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/conf.h"
#include "base/fileio.h"
#include "base/mem.h"

static int select_yaml(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot != NULL && dot != entry->d_name && strcmp(dot, ".yaml") == 0;
}

static void add_path(const char *path, bool may_be_missing, struct texts *files)
{
	struct dirent **entries = NULL;
	struct stat st;
	int n;

	errno = 0;
	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode)) {
		if (!may_be_missing || errno != ENOENT)
			texts_add(files, "%s", path);
		return;
	}
	n = scandir(path, &entries, select_yaml, alphasort);
	for (int i = 0; i < n; i++) {
		if (files->n < CONF_FILES_MAX)
			texts_add(files, "%s/%s", path, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
}

void collect_find_config(const struct texts *paths, struct texts *ret_files)
{
	static const char *const defaults[] = {CONF_DEFAULT_FILE, CONF_DEFAULT_DIRECTORY};

	for (size_t i = 0; i < paths->n; i++)
		add_path(paths->items[i], false, ret_files);
	for (size_t i = 0; i < ARRAY_SIZE(defaults) && paths->n == 0; i++)
		add_path(defaults[i], true, ret_files);
}

void collect_config(const struct collect *c, const struct texts *files)
{
	for (size_t i = 0; i < files->n; i++) {
		AUTO(free)
		char *name = xasprintf("config/%s", files->items[i] + (files->items[i][0] == '/' ? 1 : 0));
		AUTO(free) char *text = NULL;
		size_t len;
		int r;

		if (strstr(name, "..") != NULL)
			continue;
		r = file_read(files->items[i], CONF_FILE_BYTES_MAX, &text, &len);
		if (r < 0)
			stage_note(c->stage, "%s: %s", files->items[i], strerror(-r));
		else
			stage_add(c->stage, name, text, len, BLANK_YAML);
	}
}
