/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * bbolt files made by hand, for tests of lib/bolt: pages of any size, buckets of any number of
 * entries, and whatever else a test wants to put into the bytes. Written from the format, not by
 * lib/bolt, so that both can be wrong only in different ways.
 */

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "base/macro.h"
#include "base/mem.h"

#define BOLTFILE_HEADER 16
#define BOLTFILE_ELEMENT 16

struct boltfile {
	uint32_t page_bytes;
	uint64_t n_pages;
	uint8_t *bytes;
};

struct boltfile_entry {
	const void *key;
	size_t key_len;
	const void *value;
	size_t value_len;
	bool is_bucket;
};

static inline void boltfile_le16(uint8_t *p, uint16_t v)
{
	v = htole16(v);
	memcpy(p, &v, sizeof(v));
}

static inline void boltfile_le32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void boltfile_le64(uint8_t *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof(v));
}

/* The two meta pages are there, and empty until boltfile_seal(). */
static inline UNUSED struct boltfile boltfile_new(uint32_t page_bytes)
{
	return (struct boltfile){
	    .page_bytes = page_bytes, .n_pages = 2, .bytes = xcalloc(2, page_bytes)};
}

static inline UNUSED void boltfile_free(struct boltfile *f)
{
	free(f->bytes);
}

static inline uint8_t *boltfile_page(struct boltfile *f, uint64_t id)
{
	return f->bytes + id * f->page_bytes;
}

/* The first of n new pages, which are zeroed. */
static inline uint64_t boltfile_add(struct boltfile *f, uint64_t n)
{
	uint64_t id = f->n_pages;

	f->n_pages += n;
	f->bytes = xreallocarray(f->bytes, f->n_pages, f->page_bytes);
	memset(boltfile_page(f, id), 0, n * f->page_bytes);
	return id;
}

static inline void boltfile_header(uint8_t *p, uint64_t id, uint16_t flags, uint16_t count,
                                   uint32_t overflow)
{
	boltfile_le64(p, id);
	boltfile_le16(p + 8, flags);
	boltfile_le16(p + 10, count);
	boltfile_le32(p + 12, overflow);
}

/* --- meta pages --- */

static inline void boltfile_seal_meta(uint8_t *p)
{
	uint64_t sum = 0xcbf29ce484222325u;

	for (unsigned i = 0; i < 56; i++)
		sum = (sum ^ p[BOLTFILE_HEADER + i]) * 0x100000001b3u;
	boltfile_le64(p + BOLTFILE_HEADER + 56, sum);
}

static inline UNUSED void boltfile_meta(struct boltfile *f, uint64_t i, uint64_t root,
                                        uint64_t freelist, uint64_t txid)
{
	uint8_t *p = boltfile_page(f, i);

	boltfile_header(p, i, 4, 0, 0);
	boltfile_le32(p + 16, 0xed0cdaed);
	boltfile_le32(p + 20, 2);
	boltfile_le32(p + 24, f->page_bytes);
	boltfile_le64(p + 32, root);
	boltfile_le64(p + 48, freelist);
	boltfile_le64(p + 56, f->n_pages);
	boltfile_le64(p + 64, txid);
	boltfile_seal_meta(p);
}

/* As a transaction writes a copy of itself. */
static inline UNUSED void boltfile_seal(struct boltfile *f, uint64_t root, uint64_t freelist)
{
	boltfile_meta(f, 0, root, freelist, 7);
	boltfile_meta(f, 1, root, freelist, 6);
}

/* --- leaves, branches, buckets --- */

static inline size_t boltfile_leaf_bytes(const struct boltfile_entry *entries, size_t n)
{
	size_t bytes = BOLTFILE_HEADER;

	for (size_t i = 0; i < n; i++)
		bytes += BOLTFILE_ELEMENT + entries[i].key_len + entries[i].value_len;
	return bytes;
}

static inline void boltfile_put_leaf(uint8_t *p, uint64_t id, uint32_t overflow,
                                     const struct boltfile_entry *entries, size_t n)
{
	size_t at = BOLTFILE_HEADER + n * BOLTFILE_ELEMENT;

	boltfile_header(p, id, 2, (uint16_t) n, overflow);
	for (size_t i = 0; i < n; i++) {
		size_t begins = BOLTFILE_HEADER + i * BOLTFILE_ELEMENT;
		const struct boltfile_entry *e = &entries[i];

		boltfile_le32(p + begins, e->is_bucket);
		boltfile_le32(p + begins + 4, (uint32_t) (at - begins));
		boltfile_le32(p + begins + 8, (uint32_t) e->key_len);
		boltfile_le32(p + begins + 12, (uint32_t) e->value_len);
		memcpy(p + at, e->key, e->key_len);
		if (e->value_len > 0)
			memcpy(p + at + e->key_len, e->value, e->value_len);
		at += e->key_len + e->value_len;
	}
}

static inline UNUSED uint64_t boltfile_leaf(struct boltfile *f,
                                            const struct boltfile_entry *entries, size_t n)
{
	size_t bytes = boltfile_leaf_bytes(entries, n);
	uint64_t n_pages = (bytes + f->page_bytes - 1) / f->page_bytes;
	uint64_t id = boltfile_add(f, n_pages);

	boltfile_put_leaf(boltfile_page(f, id), id, (uint32_t) n_pages - 1, entries, n);
	return id;
}

struct boltfile_child {
	const void *key;
	size_t key_len;
	uint64_t page;
};

/* Of one page. */
static inline UNUSED uint64_t boltfile_branch(struct boltfile *f,
                                              const struct boltfile_child *children, size_t n)
{
	size_t at = BOLTFILE_HEADER + n * BOLTFILE_ELEMENT;
	uint64_t id = boltfile_add(f, 1);
	uint8_t *p = boltfile_page(f, id);

	boltfile_header(p, id, 1, (uint16_t) n, 0);
	for (size_t i = 0; i < n; i++) {
		size_t begins = BOLTFILE_HEADER + i * BOLTFILE_ELEMENT;

		boltfile_le32(p + begins, (uint32_t) (at - begins));
		boltfile_le32(p + begins + 4, (uint32_t) children[i].key_len);
		boltfile_le64(p + begins + 8, children[i].page);
		memcpy(p + at, children[i].key, children[i].key_len);
		at += children[i].key_len;
	}
	return id;
}

/* A tree of sorted entries, with so many (two or more) in a leaf and children of a branch: its
 * root. */
static inline UNUSED uint64_t boltfile_tree(struct boltfile *f,
                                            const struct boltfile_entry *entries, size_t n,
                                            size_t per_page)
{
	size_t n_level = (n + per_page - 1) / per_page;
	struct boltfile_child *level;
	uint64_t root;

	if (per_page < 2)
		abort();
	if (n_level <= 1)
		return boltfile_leaf(f, entries, n);
	level = xcalloc(n_level, sizeof(*level));
	for (size_t i = 0; i < n_level; i++) {
		const struct boltfile_entry *first = &entries[i * per_page];

		level[i] = (struct boltfile_child){.key = first->key, .key_len = first->key_len};
		level[i].page = boltfile_leaf(f, first, MIN(per_page, n - i * per_page));
	}
	while (n_level > 1) {
		size_t n_above = (n_level + per_page - 1) / per_page;

		for (size_t i = 0; i < n_above; i++) {
			struct boltfile_child first = level[i * per_page];

			first.page =
			    boltfile_branch(f, &level[i * per_page], MIN(per_page, n_level - i * per_page));
			level[i] = first;
		}
		n_level = n_above;
	}
	root = level[0].page;
	free(level);
	return root;
}

/* What stands in the root for a bucket with a page of its own. */
static inline UNUSED struct boltfile_entry boltfile_bucket(const char *name, uint64_t root,
                                                           uint8_t value[static 16])
{
	memset(value, 0, 16);
	boltfile_le64(value, root);
	return (struct boltfile_entry){name, strlen(name), value, 16, true};
}

/* A small inline bucket. */
#define BOLTFILE_INLINE_MAX 256
static inline UNUSED struct boltfile_entry
boltfile_inline(const char *name, const struct boltfile_entry *entries, size_t n,
                uint8_t value[static BOLTFILE_INLINE_MAX])
{
	size_t bytes = 16 + boltfile_leaf_bytes(entries, n);

	if (bytes > BOLTFILE_INLINE_MAX)
		abort();
	memset(value, 0, BOLTFILE_INLINE_MAX);
	boltfile_put_leaf(value + 16, 0, 0, entries, n);
	return (struct boltfile_entry){name, strlen(name), value, bytes, true};
}

/* --- files --- */

/* Something to read from, with these bytes. */
static inline int boltfile_fd_of(const void *bytes, size_t len)
{
	int fd = memfd_create("bolt", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, len) != (ssize_t) len)
		abort();
	return fd;
}

static inline UNUSED int boltfile_fd(const struct boltfile *f)
{
	return boltfile_fd_of(f->bytes, f->n_pages * f->page_bytes);
}

/* Writes the digest of len bytes behind them. */
static inline UNUSED void boltfile_digest(uint8_t *bytes, size_t len)
{
	if (EVP_Digest(bytes, len, bytes + len, NULL, EVP_sha256(), NULL) != 1)
		abort();
}
