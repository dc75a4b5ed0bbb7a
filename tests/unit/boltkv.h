/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Entries of etcd's bucket "key", written by hand on top of boltfile.h. */

#include <stdint.h>
#include <string.h>

#include "base/macro.h"
#include "tests/unit/boltfile.h"

#define BOLTKV_KEY_MAX 18
#define BOLTKV_VALUE_MAX 128

/* One change of a user's key, and what stands in the file for it. */
struct boltkv {
	int64_t main, sub;
	bool is_tombstone;
	uint8_t key[BOLTKV_KEY_MAX];
	uint8_t value[BOLTKV_VALUE_MAX];
	size_t value_len;
};

static inline void boltkv_be64(uint8_t *p, uint64_t v)
{
	v = htobe64(v);
	memcpy(p, &v, sizeof(v));
}

static inline size_t boltkv_varint(uint8_t *p, uint64_t v)
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		p[n++] = (uint8_t) (v | 0x80);
	p[n++] = (uint8_t) v;
	return n;
}

static inline size_t boltkv_integer(uint8_t *p, unsigned field, int64_t v)
{
	*p = (uint8_t) (field << 3);
	return 1 + boltkv_varint(p + 1, (uint64_t) v);
}

static inline size_t boltkv_text(uint8_t *p, unsigned field, const char *text)
{
	size_t len = strlen(text), n = 1;

	*p = (uint8_t) (field << 3 | 2);
	n += boltkv_varint(p + n, len);
	memcpy(p + n, text, len);
	return n + len;
}

/* The revision as a bolt key. */
static inline void boltkv_rev(uint8_t key[static BOLTKV_KEY_MAX], int64_t main, int64_t sub)
{
	boltkv_be64(key, (uint64_t) main);
	key[8] = '_';
	boltkv_be64(key + 9, (uint64_t) sub);
	key[17] = 't';
}

static inline UNUSED struct boltkv boltkv_put(int64_t main, int64_t sub, const char *key,
                                              int64_t created, int64_t version, const char *value)
{
	struct boltkv kv = {.main = main, .sub = sub};

	boltkv_rev(kv.key, main, sub);
	kv.value_len += boltkv_text(kv.value, 1, key);
	kv.value_len += boltkv_integer(kv.value + kv.value_len, 2, created);
	kv.value_len += boltkv_integer(kv.value + kv.value_len, 3, main);
	kv.value_len += boltkv_integer(kv.value + kv.value_len, 4, version);
	kv.value_len += boltkv_text(kv.value + kv.value_len, 5, value);
	return kv;
}

static inline UNUSED struct boltkv boltkv_delete(int64_t main, int64_t sub, const char *key)
{
	struct boltkv kv = {.main = main, .sub = sub, .is_tombstone = true};

	boltkv_rev(kv.key, main, sub);
	kv.value_len = boltkv_text(kv.value, 1, key);
	return kv;
}

/* What `restore --bump-revision` leaves. */
static inline UNUSED struct boltkv boltkv_bump(int64_t main)
{
	struct boltkv kv = {.main = main};

	boltkv_rev(kv.key, main, 0);
	return kv;
}

static inline struct boltfile_entry boltkv_entry(const struct boltkv *kv)
{
	return (struct boltfile_entry){kv->key, kv->is_tombstone ? 18u : 17u, kv->value, kv->value_len,
	                               false};
}

/* A database of these changes, with these compactions (-1: none). */
static inline UNUSED struct boltfile boltkv_file(const struct boltkv *kvs, size_t n,
                                                 int64_t finished, int64_t scheduled,
                                                 size_t per_page)
{
	struct boltfile f = boltfile_new(4096);
	struct boltfile_entry *entries = xcalloc(n, sizeof(*entries)), meta[2] = {0}, buckets[2];
	uint8_t values[2][16], revs[2][BOLTKV_KEY_MAX];
	size_t n_meta = 0;

	for (size_t i = 0; i < n; i++)
		entries[i] = boltkv_entry(&kvs[i]);
	boltkv_rev(revs[0], finished, 0);
	boltkv_rev(revs[1], scheduled, 0);
	if (finished >= 0)
		meta[n_meta++] = (struct boltfile_entry){"finishedCompactRev", 18, revs[0], 17, false};
	if (scheduled >= 0)
		meta[n_meta++] = (struct boltfile_entry){"scheduledCompactRev", 19, revs[1], 17, false};
	buckets[0] = boltfile_bucket("key", boltfile_tree(&f, entries, n, per_page), values[0]);
	buckets[1] = boltfile_bucket("meta", boltfile_leaf(&f, meta, n_meta), values[1]);
	boltfile_seal(&f, boltfile_leaf(&f, buckets, 2), UINT64_MAX);
	free(entries);
	return f;
}
