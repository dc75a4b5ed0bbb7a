/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The types that the rows of tables name: how a member is read from a node, printed, compared,
 * copied and freed. The slot keeps its value (the default) when the node is wrong.
 */
#include "base/conf_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/endpoint.h"
#include "base/hint.h"
#include "base/mem.h"

/* --- texts --- */

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

bool conf_is_secret_scalar(struct conf *conf, const struct conf_field *field,
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

static bool string_is_set(const struct conf_field *field UNUSED, const void *slot)
{
	return *(char *const *) slot != NULL;
}

static void print_string(const struct conf_field *field UNUSED, const void *slot, FILE *out)
{
	conf_write_string(out, *(char *const *) slot);
}

static void print_hidden(const struct conf_field *field UNUSED, const void *slot UNUSED, FILE *out)
{
	conf_write_string(out, "(hidden)");
}

static bool equal_string(const struct conf_field *field UNUSED, const void *a, const void *b)
{
	const char *x = *(char *const *) a, *y = *(char *const *) b;

	return x == NULL || y == NULL ? x == y : strcmp(x, y) == 0;
}

static void copy_string(const struct conf_field *field UNUSED, void *to, const void *from)
{
	const char *text = *(char *const *) from;

	*(char **) to = text != NULL ? xstrdup(text) : NULL;
}

static void free_string(const struct conf_field *field UNUSED, void *slot)
{
	free(*(char **) slot);
	*(char **) slot = NULL;
}

static void free_hidden(const struct conf_field *field, void *slot)
{
	char *text = *(char **) slot;

	if (text != NULL)
		explicit_bzero(text, strlen(text));
	free_string(field, slot);
}

#define STRING_TYPE                                                                          \
	.word = "text", .size = sizeof(char *), .set = conf_set_string, .is_set = string_is_set, \
	.equal = equal_string, .copy = copy_string
const struct conf_type conf_string = {STRING_TYPE, .print = print_string, .fini = free_string};
const struct conf_type conf_hidden = {STRING_TYPE, .print = print_hidden, .fini = free_hidden};

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

static bool text_is_set(const struct conf_field *field UNUSED, const void *slot)
{
	return *(const char *) slot != '\0';
}

static void print_text(const struct conf_field *field UNUSED, const void *slot, FILE *out)
{
	conf_write_string(out, slot);
}

const struct conf_type conf_text = {
    .word = "text", .set = conf_set_text, .is_set = text_is_set, .print = print_text};

/* --- lists of texts --- */

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

bool conf_length_is_good(struct conf *conf, const struct conf_field *field,
                         const struct conf_node *list)
{
	if ((int64_t) list->n >= field->min && (int64_t) list->n <= field->max)
		return true;
	conf_error(conf, list, NULL, "must have %lld to %lld items, has %zu", (long long) field->min,
	           (long long) field->max, list->n);
	return false;
}

void conf_set_strings(struct conf *conf, const struct conf_field *field,
                      const struct conf_node *value, void *slot)
{
	struct conf_strings fresh = {0}, *strings = slot;
	bool good;

	if (conf_is_secret_scalar(conf, field, value, "a list") || !conf_expect(conf, value, CONF_LIST))
		return;
	good = conf_length_is_good(conf, field, value);
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

static bool strings_are_set(const struct conf_field *field, const void *slot)
{
	return ((const struct conf_strings *) slot)->n > 0 || (field->flags & CONF_SHOW_EMPTY) != 0;
}

void conf_print_list_key(const struct conf_field *field, size_t n, struct conf_printer *printer)
{
	conf_print_key(printer, field->key);
	(void) fputs(n == 0 ? " []\n" : "\n", printer->out);
}

static void print_strings(const struct conf_field *field, const void *slot,
                          struct conf_printer *printer)
{
	const struct conf_strings *strings = slot;

	conf_print_list_key(field, strings->n, printer);
	conf_print_enter(printer);
	for (size_t i = 0; i < strings->n; i++) {
		conf_print_key(printer, NULL);
		conf_write_string(printer->out, strings->items[i]);
		(void) fputc('\n', printer->out);
	}
	conf_print_leave(printer);
}

static void free_strings(const struct conf_field *field UNUSED, void *slot)
{
	conf_strings_fini(slot);
}

const struct conf_type conf_strings = {
    .word = "list of texts",
    .size = sizeof(struct conf_strings),
    .set = conf_set_strings,
    .is_set = strings_are_set,
    .print_block = print_strings,
    .fini = free_strings,
};

/* --- booleans and numbers --- */

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

static void print_bool(const struct conf_field *field UNUSED, const void *slot, FILE *out)
{
	(void) fputs(*(const bool *) slot ? "true" : "false", out);
}

const struct conf_type conf_bool = {
    .word = "boolean", .size = sizeof(bool), .set = conf_set_bool, .print = print_bool};

/* Of a slot of 2, 4 or 8 bytes. */
static int64_t number_at(const struct conf_type *type, const void *slot)
{
	if (type->size == sizeof(uint16_t))
		return *(const uint16_t *) slot;
	if (type->size == sizeof(int64_t))
		return *(const int64_t *) slot;
	if (type == &conf_int)
		return *(const int *) slot;
	return *(const unsigned *) slot;
}

static void set_number(struct conf *conf, const struct conf_field *field,
                       const struct conf_node *value, size_t size, void *slot)
{
	int64_t number = 0;
	int r;

	if (!scalar_is_plain(conf, value, "a number"))
		return;
	r = conf_parse_int(value->text, &number);
	if (r == -EINVAL)
		conf_error(conf, value, "digits only, without a leading zero", "is not a whole number");
	else if (r < 0 || number < field->min || number > field->max)
		conf_error(conf, value, NULL, "must be %lld to %lld", (long long) field->min,
		           (long long) field->max);
	else if (size == sizeof(uint16_t))
		*(uint16_t *) slot = (uint16_t) number;
	else if (size == sizeof(int64_t))
		*(int64_t *) slot = number;
	else
		*(unsigned *) slot = (unsigned) number;
}

static void set_sized(struct conf *conf, const struct conf_field *field,
                      const struct conf_node *value, void *slot)
{
	set_number(conf, field, value, field->type->size, slot);
}

void conf_set_unsigned(struct conf *conf, const struct conf_field *field,
                       const struct conf_node *value, void *slot)
{
	set_number(conf, field, value, sizeof(unsigned), slot);
}

static bool number_is_set(const struct conf_field *field, const void *slot)
{
	return (field->flags & CONF_ZERO_IS_NONE) == 0 || number_at(field->type, slot) != 0;
}

static void print_number(const struct conf_field *field, const void *slot, FILE *out)
{
	(void) fprintf(out, "%" PRId64, number_at(field->type, slot));
}

#define NUMBER_TYPE(c_type)                                                                        \
	{                                                                                              \
		.word = "whole number", .size = sizeof(c_type), .set = set_sized, .is_set = number_is_set, \
		.print = print_number                                                                      \
	}
const struct conf_type conf_int = NUMBER_TYPE(int);
const struct conf_type conf_unsigned = NUMBER_TYPE(unsigned);
const struct conf_type conf_u16 = NUMBER_TYPE(uint16_t);
const struct conf_type conf_size = NUMBER_TYPE(size_t);
const struct conf_type conf_int64 = NUMBER_TYPE(int64_t);

/* --- durations and sizes --- */

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

static void print_duration(const struct conf_field *field UNUSED, const void *slot, FILE *out)
{
	char text[CONF_DURATION_TEXT_MAX];

	(void) fputs(conf_format_duration(*(const int64_t *) slot, text), out);
}

const struct conf_type conf_duration = {
    .word = "duration",
    .size = sizeof(int64_t),
    .set = conf_set_duration,
    .is_set = number_is_set,
    .print = print_duration,
};

static void set_bytes(struct conf *conf, const struct conf_field *field,
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

static void print_bytes(const struct conf_field *field UNUSED, const void *slot, FILE *out)
{
	char text[CONF_BYTES_TEXT_MAX];

	(void) fputs(conf_format_bytes(*(const int64_t *) slot, text), out);
}

const struct conf_type conf_bytes = {
    .word = "size", .size = sizeof(int64_t), .set = set_bytes, .print = print_bytes};

/* --- choices --- */

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

static void print_choice(const struct conf_field *field, const void *slot, FILE *out)
{
	conf_write_string(out, field->choices[*(const int *) slot]);
}

const struct conf_type conf_choice = {
    .word = "one of", .size = sizeof(int), .set = conf_set_choice, .print = print_choice};

/* --- addresses --- */

static bool addr_is_known(const struct conf_field *field UNUSED, const void *slot)
{
	return addr_is_set(slot);
}

static void print_addr(const struct conf_field *field UNUSED, const void *slot, FILE *out)
{
	char text[ADDR_TEXT_MAX];

	conf_write_string(out, addr_format(slot, text));
}

const struct conf_type conf_addr = {
    .word = "address",
    .size = sizeof(struct addr),
    .is_set = addr_is_known,
    .print = print_addr,
};

static bool endpoint_is_known(const struct conf_field *field UNUSED, const void *slot)
{
	return addr_is_set(&((const struct endpoint *) slot)->addr);
}

void conf_print_endpoint(const struct conf_field *field UNUSED, const void *slot, FILE *out)
{
	char text[ENDPOINT_TEXT_MAX];

	conf_write_string(out, endpoint_format(slot, text));
}

const struct conf_type conf_endpoint = {
    .word = "address and port",
    .size = sizeof(struct endpoint),
    .is_set = endpoint_is_known,
    .print = conf_print_endpoint,
};
