/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Holds the documentation to the tables: docs/config.md and fairlead.yaml(5) name every kind that a
 * daemon reads, and in the section of each kind every key. Runs in the root of the source tree.
 */

#include <stdlib.h>

#include "base/conf.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "tests/unit/check.h"

static bool confdocs_names(const char *page, const char *key)
{
	size_t len = strlen(key);

	for (const char *p = strstr(page, key); p != NULL; p = strstr(p + 1, key)) {
		const char *edges = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

		if ((p == page || strchr(edges, p[-1]) == NULL) &&
		    (p[len] == '\0' || strchr(edges, p[len]) == NULL))
			return true;
	}
	return false;
}

static unsigned confdocs_check_keys(const char *path, const char *page,
                                    const struct conf_field *fields)
{
	unsigned n = 0;

	for (const struct conf_field *f = fields; f != NULL && f->key != NULL; f++) {
		if (strcmp(f->key, CONF_ANY_KEY) == 0 || (f->flags & CONF_PASS) != 0)
			continue;
		n++;
		if (!CHECK(confdocs_names(page, f->key)))
			(void) fprintf(stderr, "  %s does not name '%s'\n", path, f->key);
		n += confdocs_check_keys(path, page, f->fields);
	}
	return n;
}

/* What stands between the heading of a kind and the next of the same sort; NULL: it has none. */
static char *confdocs_section(const char *page, const char *sign, const char *kind)
{
	const char *title = kind[0] != '\0' ? kind : "The machine configuration";
	AUTO(free) char *heading = xasprintf("\n%s %s\n", sign, title);
	AUTO(free) char *next = xasprintf("\n%s ", sign);
	const char *start = strstr(page, heading), *end;

	if (start == NULL)
		return NULL;
	start += strlen(heading);
	end = strstr(start, next);
	return xstrndup(start, end != NULL ? (size_t) (end - start) : strlen(start));
}

/* keys_min: fewer would mean that the tables were not walked. */
static void confdocs_check(const struct conf_kind *kinds, unsigned keys_min)
{
	static const struct {
		const char *path, *sign;
	} pages[] = {{"docs/config.md", "##"}, {"docs/man/fairlead.yaml.5", ".Ss"}};

	for (size_t i = 0; i < ARRAY_SIZE(pages); i++) {
		AUTO(free) char *page = NULL;
		unsigned n = 0;
		size_t len;

		if (!CHECK(file_read(pages[i].path, 1 << 20, &page, &len) >= 0))
			continue;
		for (const struct conf_kind *k = kinds; k->kind != NULL; k++) {
			AUTO(free) char *section = confdocs_section(page, pages[i].sign, k->kind);

			if (!CHECK(confdocs_names(page, k->kind)) ||
			    !CHECK(k->fields == NULL || section != NULL))
				(void) fprintf(stderr, "  %s does not describe '%s'\n", pages[i].path, k->kind);
			if (section != NULL)
				n += confdocs_check_keys(pages[i].path, section, k->fields);
		}
		CHECK(n > keys_min);
	}
}
