/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is done to a struct by its table: defaults, reading, printing, comparing, copying, freeing;
 * and the types that have a table themselves, maps and lists.
 *
 * Reading: every key must be in the table, every required one must be there, and each value goes to
 * its row's setter. What a person most likely meant by an unknown
 * key is worked out here: the nearest key of the table, or the part of it where that key belongs.
 *
 * The depth of recursion is that of the tables, not that of the file.
 */
#include "base/conf_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hint.h"
#include "base/mem.h"

static void set_member(struct conf *conf, const struct conf_field *field,
                       const struct conf_node *value, void *target)
{
	conf_set_fn set = field->set != NULL ? field->set : field->type->set;

	set(conf, field, value, (char *) target + field->offset);
}

/* --- defaults --- */

void conf_set_defaults(const struct conf_field *fields, void *target)
{
	for (const struct conf_field *f = fields; f->key != NULL; f++) {
		if (f->type != NULL && f->type->is_map)
			conf_set_defaults(f->fields, (char *) target + f->offset);
		if (f->def != NULL) {
			AUTO(conf_free) struct conf *conf = conf_new();
			struct conf_node *node = conf_node_new(conf, CONF_SCALAR, (struct conf_place){0});

			node->text = xstrdup(f->def);
			set_member(conf, f, node, target);
			assert(conf->n_errors == 0);
		}
	}
}

/* --- reading --- */

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
		set_member(conf, field, map->values[at], target);
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

/* --- printing --- */

void conf_print_enter(struct conf_printer *printer)
{
	size_t len = strlen(printer->prefix);

	assert(len + 2 < sizeof(printer->prefix));
	memcpy(printer->prefix + len, "  ", 3);
}

void conf_print_leave(struct conf_printer *printer)
{
	printer->prefix[strlen(printer->prefix) - 2] = '\0';
}

void conf_print_key(struct conf_printer *printer, const char *key)
{
	int len = (int) strlen(printer->prefix);

	if (printer->is_item)
		(void) fprintf(printer->out, "%.*s- %s:", len - 2, printer->prefix, key);
	else if (key != NULL)
		(void) fprintf(printer->out, "%s%s:", printer->prefix, key);
	else
		(void) fprintf(printer->out, "%s- ", printer->prefix);
	printer->is_item = false;
}

static void print_row(const struct conf_field *field, const void *target,
                      struct conf_printer *printer)
{
	const struct conf_type *type = field->type;
	const void *slot = (const char *) target + field->offset;

	if (type == NULL || (field->is_set != NULL && !field->is_set(slot)) ||
	    (type->is_set != NULL && !type->is_set(field, slot)))
		return;
	if (type->print_block != NULL) {
		type->print_block(field, slot, printer);
		return;
	}
	conf_print_key(printer, field->key);
	(void) fputc(' ', printer->out);
	type->print(field, slot, printer->out);
	(void) fputc('\n', printer->out);
}

static void print_rows(const struct conf_field *fields, const void *target,
                       struct conf_printer *printer)
{
	for (const struct conf_field *f = fields; f->key != NULL; f++)
		print_row(f, target, printer);
}

void conf_print_row(const struct conf_field *field, const void *target, const char *margin,
                    FILE *out)
{
	struct conf_printer printer = {.out = out};

	(void) snprintf(printer.prefix, sizeof(printer.prefix), "%s", margin);
	print_row(field, target, &printer);
}

void conf_print(const struct conf_field *fields, const void *target, const char *margin, FILE *out)
{
	for (const struct conf_field *f = fields; f->key != NULL; f++)
		conf_print_row(f, target, margin, out);
}

/* --- comparing, copying, freeing --- */

/* What owns memory is not compared byte by byte, nor copied so. */
static size_t plain_size(const struct conf_field *field)
{
	assert(field->type->fini == NULL);
	return field->type->size > 0 ? field->type->size : field->size;
}

static bool members_equal(const struct conf_field *field, const void *a, const void *b)
{
	if (field->type->is_map && !conf_equal(field->fields, a, b))
		return false;
	if (field->type->equal != NULL)
		return field->type->equal(field, a, b);
	return field->type->is_map || memcmp(a, b, plain_size(field)) == 0;
}

static void copy_member(const struct conf_field *field, void *to, const void *from)
{
	if (field->type->is_map)
		conf_copy(field->fields, to, from);
	else if (field->type->copy != NULL)
		field->type->copy(field, to, from);
	else
		memcpy(to, from, plain_size(field));
}

/* Of a member, or of an item of a list, whose type is field->item. */
static void free_value(const struct conf_type *type, const struct conf_field *field, void *slot)
{
	if (type->is_map)
		conf_fini(field->fields, slot);
	else if (type->fini != NULL)
		type->fini(field, slot);
}

bool conf_equal(const struct conf_field *fields, const void *a, const void *b)
{
	for (const struct conf_field *f = fields; f->key != NULL; f++) {
		if (f->type != NULL &&
		    !members_equal(f, (const char *) a + f->offset, (const char *) b + f->offset))
			return false;
	}
	return true;
}

void conf_copy(const struct conf_field *fields, void *to, const void *from)
{
	for (const struct conf_field *f = fields; f->key != NULL; f++) {
		if (f->type != NULL)
			copy_member(f, (char *) to + f->offset, (const char *) from + f->offset);
	}
}

void conf_fini(const struct conf_field *fields, void *target)
{
	for (const struct conf_field *f = fields; f->key != NULL; f++) {
		if (f->type != NULL)
			free_value(f->type, f, (char *) target + f->offset);
	}
}

/* --- maps --- */

void conf_set_map(struct conf *conf, const struct conf_field *field, const struct conf_node *value,
                  void *slot)
{
	if (!conf_is_secret_scalar(conf, field, value, "a map of keys"))
		conf_read_map(conf, value, field->fields, slot);
}

static void print_map(const struct conf_field *field, const void *slot,
                      struct conf_printer *printer)
{
	conf_print_key(printer, field->key);
	(void) fputc('\n', printer->out);
	conf_print_enter(printer);
	print_rows(field->fields, slot, printer);
	conf_print_leave(printer);
}

const struct conf_type conf_map = {
    .word = "map", .set = conf_set_map, .print_block = print_map, .is_map = true};

/* --- lists --- */

static size_t *count_of(const struct conf_field *field, void *slot)
{
	return (size_t *) (void *) ((char *) slot + field->count);
}

static size_t items_of(const struct conf_field *field, const void *slot, const char **ret_items)
{
	*ret_items = (field->flags & CONF_IN_PLACE) != 0 ? slot : *(const char *const *) slot;
	return *(const size_t *) (const void *) ((const char *) slot + field->count);
}

static void free_list(const struct conf_field *field, void *slot)
{
	size_t *n = count_of(field, slot);
	char *items = (field->flags & CONF_IN_PLACE) != 0 ? slot : *(char **) slot;

	for (size_t i = 0; i < *n; i++)
		free_value(field->item, field, items + i * field->size);
	*n = 0;
	if ((field->flags & CONF_IN_PLACE) != 0)
		return;
	free(items);
	*(char **) slot = NULL;
}

/* Items that are wrong are zero, or what their defaults are, so that each has its index. */
static void set_list(struct conf *conf, const struct conf_field *field,
                     const struct conf_node *value, void *slot)
{
	char *items = slot;

	if (conf_is_secret_scalar(conf, field, value, "a list") ||
	    !conf_expect(conf, value, CONF_LIST) || !conf_length_is_good(conf, field, value))
		return;
	free_list(field, slot);
	if ((field->flags & CONF_IN_PLACE) == 0)
		items = *(char **) slot = xcalloc(value->n, field->size);
	*count_of(field, slot) = value->n;
	for (size_t i = 0; i < value->n; i++) {
		size_t before = conf_enter(conf, "[%zu]", i);

		memset(items + i * field->size, 0, field->size);
		if (field->item->is_map)
			conf_set_defaults(field->fields, items + i * field->size);
		field->item->set(conf, field, value->values[i], items + i * field->size);
		conf_leave(conf, before);
	}
}

static bool list_is_set(const struct conf_field *field, const void *slot)
{
	const char *items;

	return items_of(field, slot, &items) > 0 || (field->flags & CONF_SHOW_EMPTY) != 0;
}

static void print_list(const struct conf_field *field, const void *slot,
                       struct conf_printer *printer)
{
	const char *items;
	size_t n = items_of(field, slot, &items);

	conf_print_list_key(field, n, printer);
	conf_print_enter(printer);
	for (size_t i = 0; i < n; i++) {
		if (field->item->is_map) {
			conf_print_enter(printer);
			printer->is_item = true;
			print_rows(field->fields, items + i * field->size, printer);
			conf_print_leave(printer);
			continue;
		}
		conf_print_key(printer, NULL);
		field->item->print(field, items + i * field->size, printer->out);
		(void) fputc('\n', printer->out);
	}
	conf_print_leave(printer);
}

const struct conf_type conf_list = {
    .word = "list",
    .set = set_list,
    .is_set = list_is_set,
    .print_block = print_list,
    .fini = free_list,
};
