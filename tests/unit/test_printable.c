/* SPDX-License-Identifier: Apache-2.0 */
/* A value that a terminal would act on goes through JSON and YAML as it is, and nothing that the
 * terminal acts on is in the text. Jansson and libyaml read it back. */
#include "base/printable.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "cli/common/table.h"
#include "cli/common/cli.h"
#include "tests/unit/check.h"

static const struct range {
	uint32_t first, last;
	bool hidden;
} ranges[] = {
    {0x01, 0x1f, true},      {0x20, 0x7e, false},     {0x7f, 0x9f, true},
    {0xa0, 0xff, false},     {0x61b, 0x61b, false},   {0x61c, 0x61c, true},
    {0x200a, 0x200a, false}, {0x200b, 0x200f, true},  {0x2010, 0x2010, false},
    {0x2028, 0x202e, true},  {0x202f, 0x202f, false}, {0x2066, 0x2069, true},
    {0x2070, 0x2070, false}, {0xfeff, 0xfeff, true},  {0x1f600, 0x1f600, false},
};

static void encode(uint32_t c, char *text)
{
	size_t n = 0;

	if (c < 0x80) {
		text[n++] = (char) c;
	} else if (c < 0x800) {
		text[n++] = (char) (0xc0 | c >> 6);
	} else {
		if (c < 0x10000) {
			text[n++] = (char) (0xe0 | c >> 12);
		} else {
			text[n++] = (char) (0xf0 | c >> 18);
			text[n++] = (char) (0x80 | (c >> 12 & 0x3f));
		}
		text[n++] = (char) (0x80 | (c >> 6 & 0x3f));
	}
	if (c >= 0x80)
		text[n++] = (char) (0x80 | (c & 0x3f));
	text[n] = '\0';
}

typedef void (*print_fn)(FILE *out, json_t *value);

static void print_json(FILE *out, json_t *value)
{
	AUTO(free) char *text = json_dumps(value, JSON_COMPACT);

	printable_write_json(out, text);
	(void) fputc('\n', out);
}

static char *printed(print_fn print, json_t *value)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	print(out, value);
	(void) fclose(out);
	return text;
}

static void check_is_seen(const char *text, const char *not_this, uint32_t c)
{
	bool ok = CHECK(c < 0x20 || strstr(text, not_this) == NULL);

	for (const char *p = text; *p != '\0'; p++)
		ok = CHECK((unsigned char) *p >= 0x20 || *p == '\n') && ok;
	if (!ok)
		(void) fprintf(stderr, "U+%04X: %s\n", c, text);
}

/* The scalar behind `n` others. */
static char *yaml_scalar(const char *text, unsigned n)
{
	yaml_parser_t parser;
	yaml_event_t event;
	char *found = NULL;
	bool more = true;

	(void) yaml_parser_initialize(&parser);
	yaml_parser_set_input_string(&parser, (const unsigned char *) text, strlen(text));
	while (more && yaml_parser_parse(&parser, &event)) {
		if (event.type == YAML_SCALAR_EVENT && n-- == 0)
			found = xstrndup((const char *) event.data.scalar.value, event.data.scalar.length);
		more = found == NULL && event.type != YAML_STREAM_END_EVENT;
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	return found;
}

static void check_character(uint32_t c, bool hidden)
{
	AUTO(free) char *value = NULL, *json = NULL, *yaml = NULL, *read = NULL, *key = NULL;
	AUTO(free) char *table = NULL;
	char text[5];
	size_t len;
	json_t *object, *again;
	FILE *out;

	encode(c, text);
	CHECK_EQ_INT(printable_utf8_next(text, &len), c);
	CHECK_EQ_INT(len, strlen(text));
	CHECK_EQ_INT(printable_is_hidden(c), hidden);
	value = xasprintf("a%sb", text);
	object = json_pack("{s:s}", value, value);

	json = printed(print_json, object);
	again = json_loads(json, 0, NULL);
	CHECK_EQ_STR(json_string_value(json_object_get(again, value)), value);
	yaml = printed(yaml_print, object);
	key = yaml_scalar(yaml, 0);
	read = yaml_scalar(yaml, 1);
	if (CHECK(key != NULL) && CHECK(read != NULL)) {
		CHECK_EQ_STR(key, value);
		CHECK_EQ_STR(read, value);
	}
	out = open_memstream(&table, &len);
	table_print_safe(out, value);
	(void) fclose(out);
	CHECK_EQ_STR(table, hidden ? "a?b" : value);
	if (hidden) {
		check_is_seen(json, text, c);
		check_is_seen(yaml, text, c);
	} else if (c >= 0x80) {
		CHECK(strstr(json, value) != NULL);
	}
	json_decref(again);
	json_decref(object);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		for (uint32_t c = ranges[i].first; c <= ranges[i].last; c++)
			check_character(c, ranges[i].hidden);
	}
	return check_result();
}
