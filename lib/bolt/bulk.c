/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tree has a node a level that is being filled: leaves at level 0, above them the branches, whose
 * elements are the first keys and the pages of the nodes below that were written. A leaf is written
 * before the entry that would not fit any more. A branch is held back until two children more than
 * fit are there, so that the last one of a level never has a single child.
 *
 * There are two trees: of the bucket that is being filled, and of the root, which gets an entry for
 * each bucket that is done.
 */
#include "bolt/bulk.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "bolt/cursor.h"
#include "bolt/page.h"

/* --- bulk_priv --- */

/*
 * What bulk.c (trees and buckets) and bulk.c (nodes, and how they become pages of the file)
 * share. Nobody else includes this.
 */

#define OUT_BYTES ((size_t) 1 << 20)

struct bulk_element {
	uint32_t key_len;
	uint32_t value_len;
	bool is_bucket;
	uint64_t child; /* of a branch */
};

struct bulk_node {
	struct bulk_element *elements;
	size_t n, room;
	uint8_t *data; /* their keys and values, one behind the other */
	size_t data_len, data_room;
};

struct bulk_tree {
	struct bulk_node levels[CURSOR_DEPTH_MAX];
	unsigned n_levels;
	uint8_t *last; /* the key that was added last */
	size_t last_len;
};

struct bulk {
	int fd;
	uint32_t page_bytes;
	uint64_t n_pages; /* written, or in `out` */
	uint8_t *out;
	size_t out_len;
	uint64_t written; /* bytes, of what is before `out` */
	struct bulk_tree root;
	struct bulk_tree bucket;
	uint8_t *name; /* of the bucket that is being filled; NULL: none is */
	size_t name_len;
};

/* --- bulk_page --- */

/*
 * Pages go out one behind the other through a buffer; a node that is larger than a page takes as
 * many as it needs.
 */

#define IS_BRANCH 1u
#define IS_LEAF 2u

/* --- output --- */

/* 0, or -errno. */
static int bulk_write_at(int fd, const uint8_t *data, size_t len, uint64_t at)
{
	while (len > 0) {
		ssize_t n = pwrite(fd, data, len, (off_t) at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		at += (uint64_t) n;
		len -= (size_t) n;
	}
	return 0;
}

/* All that waits in `out`. 0, or -errno. */
static int bulk_flush(struct bulk *b)
{
	int r = bulk_write_at(b->fd, b->out, b->out_len, b->written);

	if (r < 0)
		return r;
	b->written += b->out_len;
	b->out_len = 0;
	return 0;
}

/* NULL: zeros. */
static int put(struct bulk *b, const void *data, size_t len)
{
	const uint8_t *from = data;

	while (len > 0) {
		size_t n = MIN(len, OUT_BYTES - b->out_len);
		int r;

		if (from != NULL)
			memcpy(b->out + b->out_len, from, n);
		else
			memset(b->out + b->out_len, 0, n);
		from = from != NULL ? from + n : NULL;
		b->out_len += n;
		len -= n;
		r = b->out_len == OUT_BYTES ? bulk_flush(b) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

/* --- nodes --- */

static void bulk_node_fini(struct bulk_node *node)
{
	free(node->elements);
	free(node->data);
	*node = (struct bulk_node){0};
}

/* Copies key and value. */
static void bulk_node_append(struct bulk_node *node, struct bulk_element e, struct bytes key,
                             struct bytes value)
{
	size_t need = node->data_len + key.len + value.len;

	if (node->n == node->room) {
		node->room = node->room * 2 + 64;
		node->elements = xreallocarray(node->elements, node->room, sizeof(*node->elements));
	}
	if (need > node->data_room) {
		node->data_room = need + need / 2;
		node->data = xreallocarray(node->data, node->data_room, 1);
	}
	e.key_len = (uint32_t) key.len;
	e.value_len = (uint32_t) value.len;
	node->elements[node->n++] = e;
	memcpy(node->data + node->data_len, key.data, key.len);
	if (value.len > 0)
		memcpy(node->data + node->data_len + key.len, value.data, value.len);
	node->data_len = need;
}

/* How long its key and its value are. */
static size_t bulk_element_data(const struct bulk_element *e)
{
	return (size_t) e->key_len + e->value_len;
}

/* Of all of it as a page, or of its first n elements, whose keys and values have so many bytes. */
/* Of all of it as a page, or of its first n elements, whose keys and values have so many bytes. */
static size_t bulk_page_size(size_t n, size_t data_len)
{
	return PAGE_HEADER_BYTES + n * PAGE_ELEMENT_BYTES + data_len;
}

static size_t bulk_node_size(const struct bulk_node *node)
{
	return bulk_page_size(node->n, node->data_len);
}

static size_t bulk_data_of_first(const struct bulk_node *node, size_t n)
{
	size_t data_len = 0;

	for (size_t i = 0; i < n; i++)
		data_len += bulk_element_data(&node->elements[i]);
	return data_len;
}

/* The first n, of which the keys and values have so many bytes. */
static void bulk_drop_first(struct bulk_node *node, size_t n, size_t data_len)
{
	node->n -= n;
	node->data_len -= data_len;
	if (node->n == 0)
		return;
	memmove(node->elements, node->elements + n, node->n * sizeof(*node->elements));
	memmove(node->data, node->data + data_len, node->data_len);
}

/* --- pages --- */

static void le16(uint8_t *p, uint16_t v)
{
	v = htole16(v);
	memcpy(p, &v, sizeof(v));
}

static void le32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}

static void bulk_le64(uint8_t *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof(v));
}

static void bulk_format_header(uint8_t p[static PAGE_HEADER_BYTES], uint64_t id, bool is_branch,
                               size_t count, uint64_t n_continued)
{
	bulk_le64(p, id);
	le16(p + 8, is_branch ? IS_BRANCH : IS_LEAF);
	le16(p + 10, (uint16_t) count);
	le32(p + 12, (uint32_t) n_continued);
}

/* `pos` is how far from the element its key stands. */
/* `pos` is how far from the element its key stands. */
static void bulk_format_element(uint8_t p[static PAGE_ELEMENT_BYTES], const struct bulk_element *e,
                                bool is_branch, size_t pos)
{
	if (is_branch) {
		le32(p, (uint32_t) pos);
		le32(p + 4, e->key_len);
		bulk_le64(p + 8, e->child);
		return;
	}
	le32(p, e->is_bucket ? PAGE_ELEMENT_IS_BUCKET : 0);
	le32(p + 4, (uint32_t) pos);
	le32(p + 8, e->key_len);
	le32(p + 12, e->value_len);
}

/* The first n elements, and behind them zeros up to the end of the page. */
/* The first n elements, and behind them zeros up to the end of the page; as the next pages of the
 * file. 0, or -errno. */
static int bulk_write_page(struct bulk *b, const struct bulk_node *node, bool is_branch, size_t n,
                           size_t data_len, uint64_t *ret_id)
{
	size_t size = bulk_page_size(n, data_len), at = size - data_len;
	uint64_t id = b->n_pages, n_pages = (size + b->page_bytes - 1) / b->page_bytes;
	uint8_t p[PAGE_HEADER_BYTES];
	int r;

	bulk_format_header(p, id, is_branch, n, n_pages - 1);
	r = put(b, p, sizeof(p));
	for (size_t i = 0; i < n && r == 0; i++) {
		const struct bulk_element *e = &node->elements[i];

		bulk_format_element(p, e, is_branch, at - PAGE_HEADER_BYTES - i * PAGE_ELEMENT_BYTES);
		r = put(b, p, PAGE_ELEMENT_BYTES);
		at += bulk_element_data(e);
	}
	if (r == 0)
		r = put(b, node->data, data_len);
	if (r == 0)
		r = put(b, NULL, n_pages * b->page_bytes - size);
	b->n_pages += n_pages;
	*ret_id = id;
	return r;
}

/* --- bulk --- */

#define N_METAS 2
#define BUCKET_BYTES 16 /* u64 page of its root (0: inline), u64 sequence */
/* bbolt's: what is larger gets a page of its own. */
#define INLINE_PART 4
#define CHILDREN_MIN 2

/* Of the transaction that wrote it all: the first one behind those of an empty database. bbolt's
 * meta page of an even one is the first, which has to be the newer. */
#define TXID 2

/* --- trees --- */

static void tree_fini(struct bulk_tree *tree)
{
	for (unsigned i = 0; i < tree->n_levels; i++)
		bulk_node_fini(&tree->levels[i]);
	free(tree->last);
	*tree = (struct bulk_tree){0};
}

static int add_child(struct bulk *b, struct bulk_tree *tree, unsigned level, struct bytes key,
                     uint64_t child);

/* The first n elements of a level become a page, which the level above is told. */
static int write_first(struct bulk *b, struct bulk_tree *tree, unsigned level, size_t n)
{
	struct bulk_node *node = &tree->levels[level];
	size_t data_len = bulk_data_of_first(node, n);
	struct bytes first = {.data = node->data, .len = node->elements[0].key_len};
	uint64_t id;
	int r = bulk_write_page(b, node, level > 0, n, data_len, &id);

	if (r == 0)
		r = add_child(b, tree, level + 1, first, id);
	if (r == 0)
		bulk_drop_first(node, n, data_len);
	return r;
}

/* How many of the first elements go into one page; two, however large they are. */
static size_t count_fitting(const struct bulk *b, const struct bulk_node *node)
{
	size_t n = 0, data_len = 0;

	while (n < node->n) {
		data_len += bulk_element_data(&node->elements[n]);
		if (n >= CHILDREN_MIN && bulk_page_size(n + 1, data_len) > b->page_bytes)
			break;
		n++;
	}
	return n;
}

static int add_child(struct bulk *b, struct bulk_tree *tree, unsigned level, struct bytes key,
                     uint64_t child)
{
	struct bulk_node *node = &tree->levels[level];
	size_t n;

	if (level == CURSOR_DEPTH_MAX)
		return -EFBIG;
	if (level == tree->n_levels)
		tree->n_levels++;
	bulk_node_append(node, (struct bulk_element){.child = child}, key, (struct bytes){0});
	if (bulk_node_size(node) <= b->page_bytes)
		return 0;
	n = count_fitting(b, node);
	return node->n - n >= CHILDREN_MIN ? write_first(b, tree, level, n) : 0;
}

static bool is_behind_last(const struct bulk_tree *tree, struct bytes key)
{
	struct bytes last = {.data = tree->last, .len = tree->last_len};

	return tree->last == NULL || bytes_compare(last, key) < 0;
}

static int tree_add(struct bulk *b, struct bulk_tree *tree, struct bytes key, struct bytes value,
                    bool is_bucket)
{
	struct bulk_node *leaf = &tree->levels[0];
	size_t more = PAGE_ELEMENT_BYTES + key.len + value.len;
	int r = 0;

	if (key.len == 0 || key.len > PAGE_KEY_BYTES_MAX || !is_behind_last(tree, key))
		return -EINVAL;
	if (value.len > PAGE_LEAF_BYTES_MAX - 2 * (uint64_t) PAGE_KEY_BYTES_MAX)
		return -EMSGSIZE;
	tree->n_levels = MAX(tree->n_levels, 1u);
	if (leaf->n > 0 && bulk_node_size(leaf) + more > b->page_bytes)
		r = write_first(b, tree, 0, leaf->n);
	if (r < 0)
		return r;
	bulk_node_append(leaf, (struct bulk_element){.is_bucket = is_bucket}, key, value);
	tree->last = xreallocarray(tree->last, key.len, 1);
	tree->last_len = key.len;
	memcpy(tree->last, key.data, key.len);
	return 0;
}

/* The nodes that are there, from the leaves up, until there is one above all others. */
static int tree_finish(struct bulk *b, struct bulk_tree *tree, uint64_t *ret_root)
{
	int r = 0;

	tree->n_levels = MAX(tree->n_levels, 1u);
	for (unsigned i = 0; r == 0; i++) {
		struct bulk_node *node = &tree->levels[i];
		bool is_branch = i > 0;
		bool is_split =
		    is_branch && node->n >= 2 * CHILDREN_MIN && bulk_node_size(node) > b->page_bytes;

		if (is_split)
			r = write_first(b, tree, i, node->n / 2);
		if (r == 0 && i + 1 == tree->n_levels)
			return bulk_write_page(b, node, is_branch, node->n, node->data_len, ret_root);
		if (r == 0)
			r = write_first(b, tree, i, node->n);
	}
	return r;
}

/* --- buckets --- */

/* As the value of a bucket that has no page of its own, to be freed. */
static uint8_t *format_inline(const struct bulk_node *node)
{
	size_t size = bulk_node_size(node), at = size - node->data_len;
	uint8_t *value = xcalloc(1, BUCKET_BYTES + size), *page = value + BUCKET_BYTES;

	bulk_format_header(page, 0, false, node->n, 0);
	for (size_t i = 0; i < node->n; i++) {
		size_t begins = PAGE_HEADER_BYTES + i * PAGE_ELEMENT_BYTES;

		bulk_format_element(page + begins, &node->elements[i], false, at - begins);
		at += bulk_element_data(&node->elements[i]);
	}
	if (node->data_len > 0)
		memcpy(page + size - node->data_len, node->data, node->data_len);
	return value;
}

static int end_bucket(struct bulk *b)
{
	const struct bytes name = {.data = b->name, .len = b->name_len};
	struct bulk_tree *tree = &b->bucket;
	const struct bulk_node *leaf = &tree->levels[0];
	uint8_t own[BUCKET_BYTES] = {0};
	AUTO(free) uint8_t *inlined = NULL;
	struct bytes value = {.data = own, .len = sizeof(own)};
	uint64_t root;
	int r = 0;

	if (b->name == NULL)
		return 0;
	if (tree->n_levels <= 1 && bulk_node_size(leaf) <= b->page_bytes / INLINE_PART) {
		inlined = format_inline(leaf);
		value = (struct bytes){.data = inlined, .len = BUCKET_BYTES + bulk_node_size(leaf)};
	} else {
		r = tree_finish(b, tree, &root);
		if (r == 0)
			bulk_le64(own, root);
	}
	if (r == 0)
		r = tree_add(b, &b->root, name, value, true);
	tree_fini(tree);
	free(b->name);
	b->name = NULL;
	return r;
}

/* --- all of it --- */

struct bulk *bulk_new(int fd, uint32_t page_bytes)
{
	struct bulk *b = NEW0(struct bulk);

	b->fd = fd;
	b->page_bytes = page_bytes;
	b->n_pages = N_METAS;
	b->written = (uint64_t) N_METAS * page_bytes; /* a hole, until the end */
	b->out = xcalloc(1, OUT_BYTES);
	return b;
}

void bulk_free(struct bulk *b)
{
	if (b == NULL)
		return;
	tree_fini(&b->bucket);
	tree_fini(&b->root);
	free(b->name);
	free(b->out);
	free(b);
}

int bulk_begin(struct bulk *b, struct bytes name)
{
	int r = end_bucket(b);

	if (r < 0)
		return r;
	if (name.len == 0 || name.len > PAGE_KEY_BYTES_MAX || !is_behind_last(&b->root, name))
		return -EINVAL;
	b->name = xcalloc(1, name.len);
	b->name_len = name.len;
	memcpy(b->name, name.data, name.len);
	return 0;
}

int bulk_add(struct bulk *b, struct bytes key, struct bytes value)
{
	return b->name != NULL ? tree_add(b, &b->bucket, key, value, false) : -EINVAL;
}

static int write_metas(struct bulk *b, uint64_t root)
{
	struct bolt_meta meta = {
	    .page_bytes = b->page_bytes,
	    .root = root,
	    .freelist = BOLT_NO_FREELIST,
	    .n_pages = b->n_pages,
	};
	AUTO(free) uint8_t *page = xcalloc(1, b->page_bytes);
	int r = 0;

	for (unsigned i = 0; i < N_METAS && r == 0; i++) {
		meta.txid = TXID - i;
		bolt_format_meta(&meta, i, page);
		r = bulk_write_at(b->fd, page, b->page_bytes, (uint64_t) i * b->page_bytes);
	}
	return r;
}

int bulk_finish(struct bulk *b, uint64_t *ret_bytes)
{
	uint64_t root = 0;
	int r = end_bucket(b);

	if (r == 0)
		r = tree_finish(b, &b->root, &root);
	if (r == 0)
		r = bulk_flush(b);
	if (r == 0)
		r = write_metas(b, root);
	if (r < 0)
		return r;
	*ret_bytes = b->n_pages * b->page_bytes;
	return 0;
}
