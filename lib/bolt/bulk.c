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
#include "bolt/bulk_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

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
