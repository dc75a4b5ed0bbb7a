/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML text to trees of nodes, by libyaml's events; its types stay in this file.
 *
 * The open lists and maps are a stack of our own, so that the depth of a file costs no C stack.
 *
 * An alias is the very node of its anchor. That keeps "billion laughs" small in memory, but whoever
 * walks the tree would still walk it all, so every node knows its weight, with aliases counted in
 * full, and the sum over a file is limited. A node is an anchor's target only once it is closed, so
 * the tree has no cycles.
 *
 * A mistake (a duplicate key, a strange tag) is reported and the rest goes on; broken syntax and a
 * passed limit end the file, since nothing behind it can be trusted.
 */
#include "base/conf_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/mem.h"

struct frame {
	struct conf_node *node;
	struct conf_node *key; /* map: read, and waiting for its value */
	size_t cap;
	ssize_t anchor; /* index of its own, or -1 */
};

struct anchor {
	char *name;
	struct conf_node *node; /* NULL while it is open */
};

struct conf_builder {
	struct conf *conf;
	struct frame stack[CONF_DEPTH_MAX];
	size_t depth;
	struct anchor anchors[CONF_ANCHORS_MAX];
	size_t n_anchors;
	size_t weight; /* of the file so far */
	struct conf_node *root;
	bool is_two; /* the document is two that nothing separates */
};

static struct conf_place place_of_node(const struct conf_node *node)
{
	return (struct conf_place){node->file, node->line, node->col};
}

/* --- placing a finished node --- */

static void frame_grow(struct frame *f)
{
	if (f->node->n < f->cap)
		return;
	f->cap = MAX(f->cap * 2, (size_t) 8);
	f->node->values = xreallocarray(f->node->values, f->cap, sizeof(struct conf_node *));
	if (f->node->shape == CONF_MAP)
		f->node->keys = xreallocarray(f->node->keys, f->cap, sizeof(struct conf_node *));
}

static bool map_has(const struct conf_node *map, const char *key, size_t *ret_index)
{
	for (size_t i = 0; i < map->n; i++) {
		if (strcmp(map->keys[i]->text, key) == 0) {
			*ret_index = i;
			return true;
		}
	}
	return false;
}

static void map_append(struct frame *f, struct conf_node *key, struct conf_node *value)
{
	frame_grow(f);
	f->node->keys[f->node->n] = key;
	f->node->values[f->node->n] = value;
	f->node->n++;
	f->node->weight += key->weight + value->weight;
}

static int too_many_keys(struct conf_builder *b, const struct conf_node *map)
{
	conf_error_at(b->conf, place_of_node(map), NULL, "a map with more than %d keys",
	              CONF_MAP_KEYS_MAX);
	return -E2BIG;
}

/* Of two documents in one the first key that says so is told, and not all that they share. */
static void report_duplicate(struct conf_builder *b, const struct conf_node *key,
                             unsigned first_line)
{
	bool begins =
	    b->depth == 1 && (strcmp(key->text, "apiVersion") == 0 || strcmp(key->text, "kind") == 0);

	if (b->is_two)
		return;
	b->is_two = begins;
	conf_error(b->conf, key, begins ? "is a line '---' missing before it?" : NULL,
	           "duplicate key, first on line %u", first_line);
}

static int map_place(struct conf_builder *b, struct frame *f, struct conf_node *node)
{
	struct conf_node *key = f->key;
	size_t first;

	if (key == NULL) {
		f->key = node;
		return 0;
	}
	f->key = NULL;
	if (key->shape != CONF_SCALAR) {
		conf_error_at(b->conf, place_of_node(key),
		              "a text that begins with '{' or '[' must be quoted",
		              "a key must be a plain word, not a list or a map");
		return 0;
	}
	if (map_has(f->node, key->text, &first)) {
		report_duplicate(b, key, f->node->keys[first]->line);
		return 0;
	}
	if (f->node->n == CONF_MAP_KEYS_MAX)
		return too_many_keys(b, f->node);
	map_append(f, key, node);
	return 0;
}

static int place_node(struct conf_builder *b, struct conf_node *node)
{
	struct frame *f;

	if (b->depth == 0) {
		b->root = node;
		return 0;
	}
	f = &b->stack[b->depth - 1];
	if (f->node->shape == CONF_MAP)
		return map_place(b, f, node);
	frame_grow(f);
	f->node->values[f->node->n++] = node;
	f->node->weight += node->weight;
	return 0;
}

/* Checked before a node or an alias is used, so that no weight can overflow. */
static int count_nodes(struct conf_builder *b, struct conf_place place, size_t weight)
{
	b->weight += weight;
	if (b->weight <= CONF_NODES_MAX)
		return 0;
	conf_error_at(b->conf, place, NULL, "more than %d values in one file, aliases counted in full",
	              CONF_NODES_MAX);
	return -E2BIG;
}

/* --- merge keys --- */

/* Keys that are there already win, whether written or from an earlier merged map. */
static int merge_map(struct conf_builder *b, struct frame *f, const struct conf_node *from)
{
	size_t ignored;
	int r;

	for (size_t i = 0; i < from->n; i++) {
		if (map_has(f->node, from->keys[i]->text, &ignored))
			continue;
		r = count_nodes(b, place_of_node(f->node), from->keys[i]->weight + from->values[i]->weight);
		if (r < 0)
			return r;
		if (f->node->n == CONF_MAP_KEYS_MAX)
			return too_many_keys(b, f->node);
		map_append(f, from->keys[i], from->values[i]);
	}
	return 0;
}

static int resolve_merge(struct conf_builder *b, struct frame *f)
{
	struct conf_node *map = f->node;
	struct conf_node *value, *one[1];
	size_t at, n = 1;
	struct conf_node **sources = one;
	int r;

	if (!map_has(map, "<<", &at) || map->keys[at]->quoted)
		return 0;
	value = map->values[at];
	one[0] = value;
	map->n--;
	memmove(map->keys + at, map->keys + at + 1, (map->n - at) * sizeof(*map->keys));
	memmove(map->values + at, map->values + at + 1, (map->n - at) * sizeof(*map->values));
	if (value->shape == CONF_LIST) {
		sources = value->values;
		n = value->n;
	}
	for (size_t i = 0; i < n; i++) {
		if (sources[i]->shape != CONF_MAP) {
			conf_error(b->conf, sources[i], "such as '<<: *anchor'",
			           "the merge key '<<' takes a map or a list of maps");
			continue;
		}
		r = merge_map(b, f, sources[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

/* --- anchors --- */

/* Remembers the anchor of an opened or whole node; its target is set when the node is closed. */
static int open_anchor(struct conf_builder *b, struct conf_place place, const char *name,
                       ssize_t *ret_index)
{
	*ret_index = -1;
	if (name == NULL)
		return 0;
	if (b->n_anchors == CONF_ANCHORS_MAX) {
		conf_error_at(b->conf, place, NULL, "more than %d anchors in one document",
		              CONF_ANCHORS_MAX);
		return -E2BIG;
	}
	b->anchors[b->n_anchors].name = xstrdup(name);
	b->anchors[b->n_anchors].node = NULL;
	*ret_index = (ssize_t) b->n_anchors++;
	return 0;
}

static void close_anchor(struct conf_builder *b, ssize_t index, struct conf_node *node)
{
	if (index >= 0)
		b->anchors[index].node = node;
}

/* The latest of that name, which is the one that counts. */
static const struct anchor *find_anchor(const struct conf_builder *b, const char *name)
{
	for (size_t i = b->n_anchors; i > 0; i--) {
		if (strcmp(b->anchors[i - 1].name, name) == 0)
			return &b->anchors[i - 1];
	}
	return NULL;
}

static void drop_anchors(struct conf_builder *b)
{
	for (size_t i = 0; i < b->n_anchors; i++)
		free(b->anchors[i].name);
	b->n_anchors = 0;
}

/* --- what the reader of a file has found --- */

static int place_alias(struct conf_builder *b, struct conf_place place, const char *name)
{
	const struct anchor *anchor = find_anchor(b, name);
	int r;

	if (anchor == NULL) {
		conf_error_at(b->conf, place, NULL, "no anchor '&%.64s' stands before this alias", name);
		return -EINVAL;
	}
	if (anchor->node == NULL) {
		conf_error_at(b->conf, place, NULL, "the alias '*%.64s' stands inside its own anchor",
		              name);
		return -EINVAL;
	}
	r = count_nodes(b, place, anchor->node->weight);
	return r < 0 ? r : place_node(b, anchor->node);
}

static int place_scalar(struct conf_builder *b, struct conf_place place, const char *anchor_name,
                        struct conf_node *node)
{
	ssize_t anchor;
	int r;

	r = open_anchor(b, place, anchor_name, &anchor);
	if (r < 0)
		return r;
	close_anchor(b, anchor, node);
	return place_node(b, node);
}

static int open_node(struct conf_builder *b, struct conf_place place, enum conf_shape shape)
{
	int r;

	if (b->depth == CONF_DEPTH_MAX) {
		conf_error_at(b->conf, place, NULL, "nested more than %d deep", CONF_DEPTH_MAX);
		return -E2BIG;
	}
	r = count_nodes(b, place, 1);
	if (r < 0)
		return r;
	b->stack[b->depth++] =
	    (struct frame){.node = conf_node_new(b->conf, shape, place), .anchor = -1};
	return 0;
}

static int name_node(struct conf_builder *b, struct conf_place place, const char *name)
{
	return open_anchor(b, place, name, &b->stack[b->depth - 1].anchor);
}

static int close_node(struct conf_builder *b)
{
	struct frame *f = &b->stack[b->depth - 1];
	struct conf_node *node = f->node;
	int r;

	if (node->shape == CONF_MAP) {
		r = resolve_merge(b, f);
		if (r < 0)
			return r;
	}
	close_anchor(b, f->anchor, node);
	b->depth--;
	return place_node(b, node);
}

static int end_document(struct conf_builder *b)
{
	struct conf_node *root = b->root;
	bool is_two = b->is_two;

	drop_anchors(b);
	b->root = NULL;
	b->is_two = false;
	if (root == NULL || conf_node_is_null(root))
		return 0; /* nothing but comments between two "---" */
	if (is_two)
		return 0;
	if (root->shape != CONF_MAP) {
		conf_error(b->conf, root, NULL, "a document must be a map of keys");
		return 0;
	}
	if (b->conf->n_documents == CONF_DOCUMENTS_MAX) {
		conf_error_at(b->conf, place_of_node(root), NULL, "more than %d documents",
		              CONF_DOCUMENTS_MAX);
		return -E2BIG;
	}
	conf_document_add(b->conf, root);
	return 0;
}

/* --- the file --- */

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
	return place_alias(in->builder, place_of(in, &event->start_mark),
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

	r = count_nodes(in->builder, place, 1);
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
	return place_scalar(in->builder, place, (const char *) event->data.scalar.anchor, node);
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
	r = open_node(in->builder, place, shape);
	if (r < 0)
		return r;
	(void) check_tag(in, place, tag, shape == CONF_MAP ? YAML_MAP_TAG : YAML_SEQ_TAG);
	return name_node(in->builder, place, (const char *) anchor);
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
		return close_node(in->builder);
	case YAML_DOCUMENT_END_EVENT:
		return end_document(in->builder);
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
	AUTO(free) struct conf_builder *builder = NEW0(struct conf_builder);
	struct reader in;
	yaml_parser_t parser;
	bool more = true;

	/* libyaml looks for it only where it may guess the encoding. */
	if (len >= sizeof(byte_order_mark) &&
	    memcmp(text, byte_order_mark, sizeof(byte_order_mark)) == 0) {
		text += sizeof(byte_order_mark);
		len -= sizeof(byte_order_mark);
	}
	builder->conf = conf;
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
	drop_anchors(builder);
}
