/* SPDX-License-Identifier: Apache-2.0 */
/* Members of the two lists are the same by their ids. */
#include "etcdwatch/take/listdiff.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"

struct sentence {
	char text[CATALOG_TEXT_MAX + 1];
};

static void PRINTF_LIKE(2, 3) say(struct sentence *s, const char *fmt, ...)
{
	size_t len = strlen(s->text);
	va_list ap;

	va_start(ap, fmt);
	len += (size_t) snprintf(s->text + len, sizeof(s->text) - len, "%s", len > 0 ? "; " : "");
	if (len < sizeof(s->text))
		(void) vsnprintf(s->text + len, sizeof(s->text) - len, fmt, ap);
	va_end(ap);
}

static uint64_t id_of(const json_t *stored)
{
	const char *text = json_string_value(json_object_get(stored, "id"));

	return text != NULL ? strtoull(text, NULL, 16) : 0;
}

static const json_t *find_stored(const json_t *database, uint64_t id)
{
	for (size_t i = 0; i < json_array_size(database); i++) {
		if (id_of(json_array_get(database, i)) == id)
			return json_array_get(database, i);
	}
	return NULL;
}

static bool is_listed(const struct catalog_entry *entry, uint64_t id)
{
	for (size_t i = 0; i < entry->n_members; i++) {
		if (entry->members[i].id == id)
			return true;
	}
	return false;
}

/* etcd stores and lists them in one order. */
static bool same_urls(const json_t *urls, const char *joined)
{
	const char *at = joined;

	for (size_t i = 0; i < json_array_size(urls); i++) {
		const char *url = json_string_value(json_array_get(urls, i));
		size_t len = strcspn(at, ",");

		if (url == NULL || strlen(url) != len || strncmp(url, at, len) != 0)
			return false;
		at += len + (at[len] == ',' ? 1 : 0);
	}
	return at[0] == '\0';
}

static void compare(struct sentence *s, const struct catalog_member *m, const json_t *stored)
{
	const char *name = m->name != NULL ? m->name : m->peer_urls;
	bool learner = json_is_true(json_object_get(stored, "learner"));

	if (stored == NULL)
		say(s, "'%s' is not in the database", name);
	else if (learner != m->learner)
		say(s, "'%s' is a %s in the database and a %s in the member list", name,
		    learner ? "learner" : "voter", m->learner ? "learner" : "voter");
	else if (!same_urls(json_object_get(stored, "peer_urls"), m->peer_urls))
		say(s, "'%s' has other peer URLs in the database", name);
}

char *listdiff_text(const json_t *database, const struct catalog_entry *entry)
{
	struct sentence s = {""};

	if (json_array_size(database) == 0 || entry->n_members == 0)
		return NULL;
	for (size_t i = 0; i < entry->n_members; i++)
		compare(&s, &entry->members[i], find_stored(database, entry->members[i].id));
	for (size_t i = 0; i < json_array_size(database); i++) {
		const json_t *stored = json_array_get(database, i);

		if (!is_listed(entry, id_of(stored)))
			say(&s, "the member %llx is in the database alone", (unsigned long long) id_of(stored));
	}
	return s.text[0] != '\0' ? xstrdup(s.text) : NULL;
}
