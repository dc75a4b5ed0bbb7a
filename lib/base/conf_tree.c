/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML text to nodes, by libyaml's events; its types stay in this file. conf_build.c makes the tree
 * of them.
 *
 * A mistake (a duplicate key, a strange tag) is reported and the rest goes on; broken syntax and a
 * passed limit end the file, since nothing behind it can be trusted.
 */
#include "base/conf_priv.h"

#include <string.h>
#include <yaml.h>

#include "base/conf_build.h"
#include "base/mem.h"

struct reader {
	struct conf *conf;
	unsigned file;
	const char *text;
	size_t len;
	struct conf_builder *builder;
};

static struct conf_place place_of(const struct reader *in, const yaml_mark_t *mark)
{
	return (struct conf_place){
	    .file = in->file, .line = (unsigned) mark->line + 1, .col = (unsigned) mark->column + 1};
}

/* --- events --- */

static int on_alias(struct reader *in, const yaml_event_t *event)
{
	return conf_build_alias(in->builder, place_of(in, &event->start_mark),
	                        (const char *) event->data.alias.anchor);
}

/* A plain tag says nothing new: the target's type decides. */
static bool check_tag(struct reader *in, struct conf_place place, const yaml_char_t *tag,
                      const char *expected)
{
	if (tag == NULL || strcmp((const char *) tag, expected) == 0 ||
	    strcmp((const char *) tag, "!") == 0)
		return true;
	conf_error_at(in->conf, place, "leave it out", "the tag '%.64s' has no meaning here",
	              (const char *) tag);
	return false;
}

static int on_scalar(struct reader *in, const yaml_event_t *event)
{
	struct conf_place place = place_of(in, &event->start_mark);
	const char *value = (const char *) event->data.scalar.value;
	size_t len = event->data.scalar.length;
	struct conf_node *node;
	int r;

	r = conf_build_count(in->builder, place, 1);
	if (r < 0)
		return r;
	node = conf_node_new(in->conf, CONF_SCALAR, place);
	node->quoted =
	    event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE || event->data.scalar.tag != NULL;
	(void) check_tag(in, place, event->data.scalar.tag, YAML_STR_TAG);
	if (memchr(value, '\0', len) != NULL)
		conf_error_at(in->conf, place, NULL, "a text with a NUL character in it");
	node->text = xstrndup(value, len);
	node->begin = event->start_mark.index;
	node->end = event->end_mark.index;
	return conf_build_scalar(in->builder, place, (const char *) event->data.scalar.anchor, node);
}

static int on_open(struct reader *in, const yaml_event_t *event, enum conf_shape shape)
{
	struct conf_place place = place_of(in, &event->start_mark);
	const yaml_char_t *anchor, *tag;
	int r;

	if (shape == CONF_MAP) {
		anchor = event->data.mapping_start.anchor;
		tag = event->data.mapping_start.tag;
	} else {
		anchor = event->data.sequence_start.anchor;
		tag = event->data.sequence_start.tag;
	}
	r = conf_build_open(in->builder, place, shape);
	if (r < 0)
		return r;
	(void) check_tag(in, place, tag, shape == CONF_MAP ? YAML_MAP_TAG : YAML_SEQ_TAG);
	return conf_build_anchor(in->builder, place, (const char *) anchor);
}

static int on_event(struct reader *in, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_ALIAS_EVENT:
		return on_alias(in, event);
	case YAML_SCALAR_EVENT:
		return on_scalar(in, event);
	case YAML_SEQUENCE_START_EVENT:
		return on_open(in, event, CONF_LIST);
	case YAML_MAPPING_START_EVENT:
		return on_open(in, event, CONF_MAP);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return conf_build_close(in->builder);
	case YAML_DOCUMENT_END_EVENT:
		return conf_build_document_end(in->builder);
	default:
		return 0;
	}
}

/* --- syntax errors --- */

/* libyaml's reader gives a byte offset and no mark. */
static struct conf_place place_of_offset(const struct reader *in, size_t offset)
{
	struct conf_place place = {.file = in->file, .line = 1, .col = 1};

	for (size_t i = 0; i < offset && i < in->len; i++) {
		if (in->text[i] == '\n') {
			place.line++;
			place.col = 1;
		} else if (((unsigned char) in->text[i] & 0xc0) != 0x80) {
			place.col++;
		}
	}
	return place;
}

static void report_syntax(struct reader *in, const yaml_parser_t *parser)
{
	const char *problem = parser->problem != NULL ? parser->problem : "out of memory";
	const char *hint = NULL;
	size_t at = parser->problem_mark.index;

	if (parser->error == YAML_READER_ERROR) {
		conf_error_at(in->conf, place_of_offset(in, parser->problem_offset), "write it in UTF-8",
		              "not YAML: %s", problem);
		return;
	}
	/* A mark's index counts characters; before the first one beyond ASCII that is bytes. */
	if (at < in->len && in->text[at] == '\t')
		hint = "indent with spaces, not with tabs";
	if (parser->context != NULL)
		conf_error_at(in->conf, place_of(in, &parser->problem_mark), hint,
		              "not YAML: %s, %s that begins on line %zu", problem, parser->context,
		              parser->context_mark.line + 1);
	else
		conf_error_at(in->conf, place_of(in, &parser->problem_mark), hint, "not YAML: %s", problem);
}

void conf_tree_read(struct conf *conf, unsigned file, const char *text, size_t len)
{
	static const char byte_order_mark[] = {'\xef', '\xbb', '\xbf'};
	AUTO(conf_build_free) struct conf_builder *builder = conf_build_new(conf);
	struct reader in;
	yaml_parser_t parser;
	bool more = true;

	/* libyaml looks for it only where it may guess the encoding. */
	if (len >= sizeof(byte_order_mark) &&
	    memcmp(text, byte_order_mark, sizeof(byte_order_mark)) == 0) {
		text += sizeof(byte_order_mark);
		len -= sizeof(byte_order_mark);
	}
	in = (struct reader){.conf = conf, .file = file, .text = text, .len = len, .builder = builder};
	if (!yaml_parser_initialize(&parser))
		mem_give_up();
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *) text, len);
	while (more) {
		yaml_event_t event;

		if (!yaml_parser_parse(&parser, &event)) {
			report_syntax(&in, &parser);
			break;
		}
		more = on_event(&in, &event) >= 0 && event.type != YAML_STREAM_END_EVENT;
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
}
