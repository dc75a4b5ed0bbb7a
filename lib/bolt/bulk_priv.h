/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What bulk.c (trees and buckets) and bulk_page.c (nodes, and how they become pages of the file)
 * share. Nobody else includes this.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bolt/bulk.h"
#include "bolt/cursor.h"
#include "bolt/page.h"

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

/* 0, or -errno. */
int bulk_write_at(int fd, const uint8_t *data, size_t len, uint64_t at);
/* All that waits in `out`. 0, or -errno. */
int bulk_flush(struct bulk *b);
void bulk_node_fini(struct bulk_node *node);
/* Copies key and value. */
void bulk_node_append(struct bulk_node *node, struct bulk_element e, struct bytes key,
                      struct bytes value);
/* How long its key and its value are. */
size_t bulk_element_data(const struct bulk_element *e);
/* Of all of it as a page, or of its first n elements, whose keys and values have so many bytes. */
size_t bulk_page_size(size_t n, size_t data_len);
size_t bulk_node_size(const struct bulk_node *node);
size_t bulk_data_of_first(const struct bulk_node *node, size_t n);
/* The first n, of which the keys and values have so many bytes. */
void bulk_drop_first(struct bulk_node *node, size_t n, size_t data_len);
void bulk_le64(uint8_t *p, uint64_t v);
void bulk_format_header(uint8_t p[static PAGE_HEADER_BYTES], uint64_t id, bool is_branch,
                        size_t count, uint64_t n_continued);
/* `pos` is how far from the element its key stands. */
void bulk_format_element(uint8_t p[static PAGE_ELEMENT_BYTES], const struct bulk_element *e,
                         bool is_branch, size_t pos);
/* The first n elements, and behind them zeros up to the end of the page; as the next pages of the
 * file. 0, or -errno. */
int bulk_write_page(struct bulk *b, const struct bulk_node *node, bool is_branch, size_t n,
                    size_t data_len, uint64_t *ret_id);
