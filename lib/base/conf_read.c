/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A map into a struct, by its table: every key must be in the table, every required one must be
 * there, and each value goes to its field's setter. What a person most likely meant by an unknown
 * key is worked out here: the nearest key of the table, or the part of it where that key belongs.
 *
 * The depth of recursion is that of the tables, not that of the file.
 */
#include "base/conf_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/hint.h"
#include "base/mem.h"

static const struct conf_field *find_field(const struct conf_field *fields, const char *key)
{
	for (const struct conf_field *f = fields; f->key != NULL; f++) {
		if (strcmp(f->key, key) == 0)
			return f;
	}
	return NULL;
}

static const struct conf_field *nearest_field(const struct conf_field *fields, const char *key)
{
	AUTO(free) const char **names = NULL;
	const char *nearest;
	size_t n = 0;

	while (fields[n].key != NULL)
		n++;
	names = xcalloc(n, sizeof(*names));
	for (size_t i = 0; i < n; i++)
		names[i] = fields[i].key;
	nearest = hint_nearest(key, names, n);
	return nearest != NULL ? find_field(fields, nearest) : NULL;
}

/* The key stands one level too high: `rise` beside `healthCheck` and not in it. */
static const struct conf_field *field_that_has(const struct conf_field *fields, const char *key)
{
	for (const struct conf_field *f = fields; f->key != NULL; f++) {
		if (f->fields != NULL && find_field(f->fields, key) != NULL)
			return f;
	}
	return NULL;
}

static char *hint_for(const struct conf_field *fields, const struct conf_field *nearest,
                      const char *key)
{
	const struct conf_field *home;

	if (nearest != NULL)
		return xasprintf("did you mean '%s'?", nearest->key);
	home = field_that_has(fields, key);
	return home != NULL ? xasprintf("it belongs under '%s'", home->key) : NULL;
}

static void check_unknown(struct conf *conf, const struct conf_node *key,
                          const struct conf_field *fields)
{
	const struct conf_field *nearest = nearest_field(fields, key->text);
	AUTO(free) char *hint = NULL;
	size_t before;

	/* In a map that is Talos's, a key that we never heard of is a newer Talos; one that is almost
	 * ours, or ours in another place, is a mistake. */
	if (find_field(fields, CONF_ANY_KEY) != NULL &&
	    (nearest == NULL || (nearest->flags & CONF_PASS) != 0) &&
	    field_that_has(fields, key->text) == NULL)
		return;
	hint = hint_for(fields, nearest, key->text);
	before = conf_enter(conf, "%s", key->text);
	conf_error(conf, key, hint, "unknown key");
	conf_leave(conf, before);
}

static void read_field(struct conf *conf, const struct conf_node *map,
                       const struct conf_field *field, void *target)
{
	size_t before, at;

	if ((field->flags & CONF_PASS) != 0)
		return;
	for (at = 0; at < map->n; at++) {
		if (strcmp(map->keys[at]->text, field->key) == 0)
			break;
	}
	if (at == map->n && (field->flags & CONF_REQUIRED) == 0)
		return;
	before = conf_enter(conf, "%s", field->key);
	if (at == map->n)
		conf_error(conf, map, NULL, "is missing");
	else if ((field->flags & CONF_REFUSED) != 0)
		/* At the key: the value may be a secret. */
		conf_error(conf, map->keys[at], NULL, "%s", field->refusal);
	else
		field->set(conf, field, map->values[at], (char *) target + field->offset);
	conf_leave(conf, before);
}

/* The keys by which conf_read() chose the reader. */
static bool is_dispatch_key(const struct conf_node *map, const char *key)
{
	return map->is_document && (strcmp(key, "kind") == 0 || strcmp(key, "apiVersion") == 0);
}

void conf_read_map(struct conf *conf, const struct conf_node *map, const struct conf_field *fields,
                   void *target)
{
	if (!conf_expect(conf, map, CONF_MAP))
		return;
	for (size_t i = 0; i < map->n; i++) {
		if (find_field(fields, map->keys[i]->text) == NULL &&
		    !is_dispatch_key(map, map->keys[i]->text))
			check_unknown(conf, map->keys[i], fields);
	}
	for (const struct conf_field *f = fields; f->key != NULL; f++)
		read_field(conf, map, f, target);
}

void conf_read_list(struct conf *conf, const struct conf_node *list, size_t max, conf_item_fn fn,
                    void *userdata)
{
	if (!conf_expect(conf, list, CONF_LIST))
		return;
	if (list->n > max) {
		conf_error(conf, list, NULL, "must have at most %zu items, has %zu", max, list->n);
		return;
	}
	for (size_t i = 0; i < list->n; i++) {
		size_t before = conf_enter(conf, "[%zu]", i);

		fn(conf, list->values[i], userdata);
		conf_leave(conf, before);
	}
}
