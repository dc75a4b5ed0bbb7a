/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages go out one behind the other through a buffer; a node that is larger than a page takes as
 * many as it needs.
 */
#include "bolt/bulk_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"

#define IS_BRANCH 1u
#define IS_LEAF 2u

/* --- output --- */

int bulk_write_at(int fd, const uint8_t *data, size_t len, uint64_t at)
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

int bulk_flush(struct bulk *b)
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

void bulk_node_fini(struct bulk_node *node)
{
	free(node->elements);
	free(node->data);
	*node = (struct bulk_node){0};
}

void bulk_node_append(struct bulk_node *node, struct bulk_element e, struct bytes key,
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

size_t bulk_element_data(const struct bulk_element *e)
{
	return (size_t) e->key_len + e->value_len;
}

/* Of all of it as a page, or of its first n elements, whose keys and values have so many bytes. */
size_t bulk_page_size(size_t n, size_t data_len)
{
	return PAGE_HEADER_BYTES + n * PAGE_ELEMENT_BYTES + data_len;
}

size_t bulk_node_size(const struct bulk_node *node)
{
	return bulk_page_size(node->n, node->data_len);
}

size_t bulk_data_of_first(const struct bulk_node *node, size_t n)
{
	size_t data_len = 0;

	for (size_t i = 0; i < n; i++)
		data_len += bulk_element_data(&node->elements[i]);
	return data_len;
}

void bulk_drop_first(struct bulk_node *node, size_t n, size_t data_len)
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

void bulk_le64(uint8_t *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof(v));
}

void bulk_format_header(uint8_t p[static PAGE_HEADER_BYTES], uint64_t id, bool is_branch,
                        size_t count, uint64_t n_continued)
{
	bulk_le64(p, id);
	le16(p + 8, is_branch ? IS_BRANCH : IS_LEAF);
	le16(p + 10, (uint16_t) count);
	le32(p + 12, (uint32_t) n_continued);
}

/* `pos` is how far from the element its key stands. */
void bulk_format_element(uint8_t p[static PAGE_ELEMENT_BYTES], const struct bulk_element *e,
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
int bulk_write_page(struct bulk *b, const struct bulk_node *node, bool is_branch, size_t n,
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
