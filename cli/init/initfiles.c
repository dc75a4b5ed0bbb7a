/* SPDX-License-Identifier: Apache-2.0 */
/* What cannot be read is not there: who looks at a node as another user than root sees less of it.
 */
#include "cli/init/initfiles.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fileio.h"
#include "base/mem.h"

#define FILE_BYTES_MAX (1 << 20)
#define NAMES_MAX 256

char *initfiles_at(const char *root, const char *path)
{
	return xasprintf("%s%s", strcmp(root, "/") == 0 ? "" : root, path);
}

bool initfiles_exist(const char *root, const char *path)
{
	AUTO(free) char *at = initfiles_at(root, path);

	return access(at, F_OK) == 0;
}

bool initfiles_is_hidden(const char *root, const char *path)
{
	AUTO(free) char *at = initfiles_at(root, path);

	return access(at, F_OK) < 0 && errno == EACCES;
}

char *initfiles_text(const char *root, const char *path)
{
	AUTO(free) char *at = initfiles_at(root, path);
	char *text;
	size_t len;

	return file_read(at, FILE_BYTES_MAX, &text, &len) < 0 ? NULL : text;
}

const struct conf_node *initfiles_yaml(const char *root, const char *path, struct conf **ret_conf)
{
	AUTO(free) char *text = initfiles_text(root, path);

	*ret_conf = NULL;
	if (text == NULL)
		return NULL;
	*ret_conf = conf_new();
	conf_add_text(*ret_conf, path, text, strlen(text));
	return conf_document(*ret_conf, 0);
}

const struct conf_node *initfiles_find(const struct conf_node *node, ...)
{
	const char *key;
	va_list ap;

	va_start(ap, node);
	while (node != NULL && (key = va_arg(ap, const char *)) != NULL) {
		if (node->shape == CONF_MAP) {
			node = conf_node_find(node, key);
		} else {
			size_t i = strtoul(key, NULL, 10);

			node = node->shape == CONF_LIST && i < node->n ? node->values[i] : NULL;
		}
	}
	va_end(ap);
	return node;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

static bool ends_in(const char *name, const char *end)
{
	size_t len = strlen(name), end_len = strlen(end);

	return name[0] != '.' && len >= end_len && strcmp(name + len - end_len, end) == 0;
}

void initfiles_list(const char *root, const char *directory, const char *end,
                    struct texts *ret_names)
{
	AUTO(free) char *at = initfiles_at(root, directory);
	DIR *dir = opendir(at);
	struct dirent *entry;

	while (dir != NULL && ret_names->n < NAMES_MAX && (entry = readdir(dir)) != NULL) {
		if (ends_in(entry->d_name, end))
			texts_add(ret_names, "%s", entry->d_name);
	}
	if (dir != NULL)
		(void) closedir(dir);
	if (ret_names->n > 0)
		qsort(ret_names->items, ret_names->n, sizeof(*ret_names->items), compare_names);
}
