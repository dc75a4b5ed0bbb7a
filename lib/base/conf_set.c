/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The setters that tables name: one node to one member, checked on the way. The slot keeps its
 * value (the default) when the node is wrong.
 */
#include "base/conf_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hint.h"
#include "base/mem.h"

/* A scalar with characters that one can see, of some length, that the field's check lets pass. */
static bool text_is_good(struct conf *conf, const struct conf_field *field,
                         const struct conf_node *value)
{
	char scratch[CONF_SCRATCH_BYTES];
	const char *hint = NULL, *wrong = NULL;

	if (!conf_expect(conf, value, CONF_SCALAR))
		return false;
	if (value->text[0] == '\0')
		wrong = "is empty";
	else if (field->check != NULL)
		wrong = field->check(value->text, scratch, &hint);
	for (const char *p = value->text; *p != '\0' && wrong == NULL; p++) {
		if ((unsigned char) *p < 0x20 || *p == 0x7f)
			wrong = "holds a control character";
	}
	if (wrong != NULL && (field->flags & CONF_SECRET) != 0)
		conf_error_at(conf, (struct conf_place){value->file, value->line, value->col}, hint, "%s",
		              wrong);
	else if (wrong != NULL)
		conf_error(conf, value, hint, "%s", wrong);
	return wrong == NULL;
}

/* One text where a list or a map belongs, and perhaps a secret: reported without it. */
static bool is_secret_scalar(struct conf *conf, const struct conf_field *field,
                             const struct conf_node *value, const char *wanted)
{
	if ((field->flags & CONF_SECRET) == 0 || value->shape != CONF_SCALAR ||
	    conf_node_is_null(value))
		return false;
	conf_error_at(conf, (struct conf_place){value->file, value->line, value->col}, NULL,
	              "must be %s, not a single value", wanted);
	return true;
}

void conf_set_string(struct conf *conf, const struct conf_field *field,
                     const struct conf_node *value, void *slot)
{
	char **string = slot;

	if (!text_is_good(conf, field, value))
		return;
	free(*string);
	*string = xstrdup(value->text);
}

void conf_set_text(struct conf *conf, const struct conf_field *field, const struct conf_node *value,
                   void *slot)
{
	size_t len;

	if (!text_is_good(conf, field, value))
		return;
	len = strlen(value->text);
	if (len >= field->size) {
		conf_error(conf, value, NULL, "is longer than %zu characters", field->size - 1);
		return;
	}
	memcpy(slot, value->text, len + 1);
}

void conf_strings_add(struct conf_strings *strings, const char *text)
{
	strings->items = xreallocarray(strings->items, strings->n + 1, sizeof(*strings->items));
	strings->items[strings->n++] = xstrdup(text);
}

void conf_strings_fini(struct conf_strings *strings)
{
	for (size_t i = 0; i < strings->n; i++)
		free(strings->items[i]);
	free(strings->items);
	*strings = (struct conf_strings){0};
}

void conf_set_strings(struct conf *conf, const struct conf_field *field,
                      const struct conf_node *value, void *slot)
{
	struct conf_strings fresh = {0}, *strings = slot;
	bool good = true;

	if (is_secret_scalar(conf, field, value, "a list") || !conf_expect(conf, value, CONF_LIST))
		return;
	if ((int64_t) value->n < field->min || (int64_t) value->n > field->max) {
		conf_error(conf, value, NULL, "must have %lld to %lld items, has %zu",
		           (long long) field->min, (long long) field->max, value->n);
		good = false;
	}
	fresh.items = xcalloc(value->n, sizeof(*fresh.items));
	for (size_t i = 0; i < value->n; i++) {
		size_t before = conf_enter(conf, "[%zu]", i);

		if (text_is_good(conf, field, value->values[i]))
			fresh.items[fresh.n++] = xstrdup(value->values[i]->text);
		else
			good = false;
		conf_leave(conf, before);
	}
	if (good) {
		struct conf_strings old = *strings;

		*strings = fresh;
		fresh = old;
	}
	conf_strings_fini(&fresh);
}

/* Numbers and booleans that stand in quotes are texts, for Go too. */
static bool scalar_is_plain(struct conf *conf, const struct conf_node *value, const char *what)
{
	if (!conf_expect(conf, value, CONF_SCALAR))
		return false;
	if (!value->quoted)
		return true;
	conf_error(conf, value, "write it without quotes", "is a text, not %s", what);
	return false;
}

void conf_set_bool(struct conf *conf, const struct conf_field *field UNUSED,
                   const struct conf_node *value, void *slot)
{
	if (!scalar_is_plain(conf, value, "true or false"))
		return;
	if (conf_parse_bool(value->text, slot) < 0)
		conf_error(conf, value, NULL, "must be true or false");
}

static bool parse_int(struct conf *conf, const struct conf_field *field,
                      const struct conf_node *value, int64_t *ret_value)
{
	int64_t number = 0;
	int r;

	if (!scalar_is_plain(conf, value, "a number"))
		return false;
	r = conf_parse_int(value->text, &number);
	if (r == -EINVAL) {
		conf_error(conf, value, "digits only, without a leading zero", "is not a whole number");
		return false;
	}
	if (r < 0 || number < field->min || number > field->max) {
		conf_error(conf, value, NULL, "must be %lld to %lld", (long long) field->min,
		           (long long) field->max);
		return false;
	}
	*ret_value = number;
	return true;
}

void conf_set_int(struct conf *conf, const struct conf_field *field, const struct conf_node *value,
                  void *slot)
{
	int64_t number;

	if (parse_int(conf, field, value, &number))
		*(int *) slot = (int) number;
}

void conf_set_unsigned(struct conf *conf, const struct conf_field *field,
                       const struct conf_node *value, void *slot)
{
	int64_t number;

	if (parse_int(conf, field, value, &number))
		*(unsigned *) slot = (unsigned) number;
}

static bool is_bare_number(const char *text)
{
	return text[0] != '\0' && text[strspn(text, "0123456789.")] == '\0';
}

void conf_set_duration(struct conf *conf, const struct conf_field *field,
                       const struct conf_node *value, void *slot)
{
	char low[CONF_DURATION_TEXT_MAX], high[CONF_DURATION_TEXT_MAX];
	int64_t us = 0;
	int r;

	if (!conf_expect(conf, value, CONF_SCALAR))
		return;
	r = conf_parse_duration(value->text, &us);
	if (r == -EINVAL) {
		if (is_bare_number(value->text))
			conf_error(conf, value, "write it as 3s or 250ms", "is a duration without a unit");
		else
			conf_error(conf, value, "such as 3s, 1.5s, 250ms or 1m30s", "is not a duration");
		return;
	}
	if (r == -EDOM) {
		conf_error(conf, value, NULL, "is finer than a microsecond");
		return;
	}
	if (us == 0 && (field->flags & CONF_OR_ZERO) != 0) {
		*(int64_t *) slot = 0;
		return;
	}
	if (r < 0 || us < field->min || us > field->max) {
		conf_error(conf, value, NULL, "must be %s%s to %s",
		           (field->flags & CONF_OR_ZERO) != 0 ? "0 or " : "",
		           conf_format_duration(field->min, low), conf_format_duration(field->max, high));
		return;
	}
	*(int64_t *) slot = us;
}

void conf_set_bytes(struct conf *conf, const struct conf_field *field,
                    const struct conf_node *value, void *slot)
{
	char low[CONF_BYTES_TEXT_MAX], high[CONF_BYTES_TEXT_MAX];
	int64_t bytes = 0;
	int r;

	if (!conf_expect(conf, value, CONF_SCALAR))
		return;
	r = conf_parse_bytes(value->text, &bytes);
	if (r == -EINVAL) {
		conf_error(conf, value, "such as 1GiB, 500MiB or 20GB", "is not a size in whole units");
		return;
	}
	if (r < 0 || bytes < field->min || bytes > field->max) {
		conf_error(conf, value, NULL, "must be %s to %s", conf_format_bytes(field->min, low),
		           conf_format_bytes(field->max, high));
		return;
	}
	*(int64_t *) slot = bytes;
}

static char *list_choices(const char *const *choices)
{
	char *text = xstrdup(choices[0]);

	for (size_t i = 1; choices[i] != NULL; i++) {
		char *longer =
		    xasprintf("%s%s%s", text, choices[i + 1] != NULL ? ", " : " or ", choices[i]);

		free(text);
		text = longer;
	}
	return text;
}

void conf_set_choice(struct conf *conf, const struct conf_field *field,
                     const struct conf_node *value, void *slot)
{
	AUTO(free) char *all = NULL;
	AUTO(free) char *hint = NULL;
	const char *nearest;
	size_t n = 0;

	if (!conf_expect(conf, value, CONF_SCALAR))
		return;
	for (; field->choices[n] != NULL; n++) {
		if (strcmp(field->choices[n], value->text) == 0) {
			*(int *) slot = (int) n;
			return;
		}
	}
	nearest = hint_nearest(value->text, field->choices, n);
	if (nearest != NULL)
		hint = xasprintf("did you mean '%s'?", nearest);
	all = list_choices(field->choices);
	conf_error(conf, value, hint, "must be %s", all);
}

void conf_set_map(struct conf *conf, const struct conf_field *field, const struct conf_node *value,
                  void *slot)
{
	if (!is_secret_scalar(conf, field, value, "a map of keys"))
		conf_read_map(conf, value, field->fields, slot);
}
