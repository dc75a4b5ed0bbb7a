/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Damage, of which none passes: snapshots of etcd 3.4.23 and 3.5.16 (tests/bolt), full and as a new
 * member has them, and others made by hand with pages of 4, 16 and 64 KiB, with continued pages,
 * with and without a list of free pages. Each is cut off everywhere, and each of its bytes is wrong
 * once. The digest finds each; without it, or with one that was made to fit, the tree and its
 * entries still find what is said below.
 */
#include <errno.h>
#include <stdio.h>

#include "tests/unit/boltkv.h"
#include "tests/unit/check.h"
#include "tests/unit/snapfile.h"

/* Of what is not the tree, and is nearly all of the file, some bytes will do. */
#define OTHER_STEP 7
#define OTHER_STEP_LARGE 997
#define LARGE_BYTES 65536

/* --- files made by hand --- */

#define N_KEYS 13
#define N_FREE 3

/* A value longer than a page. */
static struct boltfile_entry large_value(const struct boltkv *kv, uint32_t page_bytes,
                                         uint8_t **ret_value)
{
	struct boltfile_entry e = boltkv_entry(kv);
	size_t n_text = page_bytes + page_bytes / 2;
	char *text = xcalloc(n_text + 1, 1);
	uint8_t *value = xcalloc(n_text + BOLTKV_VALUE_MAX, 1);

	memset(text, 'x', n_text);
	/* What is there ends in a value of no bytes, behind two that say so. */
	memcpy(value, kv->value, kv->value_len);
	e.value_len = kv->value_len - 2 + boltkv_text(value + kv->value_len - 2, 5, text);
	e.value = value;
	free(text);
	*ret_value = value;
	return e;
}

/* Branches above branches, and leaves, of which one goes on for a second page. */
static uint64_t put_keys(struct boltfile *f)
{
	struct boltfile_entry entries[N_KEYS];
	struct boltkv kvs[N_KEYS];
	uint8_t *large;
	uint64_t root;

	for (int i = 0; i < N_KEYS; i++) {
		char key[16];

		(void) snprintf(key, sizeof(key), "/registry/%d", i % 9);
		if (i == 10)
			kvs[i] = boltkv_delete(2 + i, 0, key);
		else
			kvs[i] = boltkv_put(2 + i, 0, key, 2 + i % 9, i < 9 ? 1 : 2, i == 5 ? "" : "v");
		entries[i] = boltkv_entry(&kvs[i]);
	}
	entries[5] = large_value(&kvs[5], f->page_bytes, &large);
	root = boltfile_tree(f, entries, N_KEYS, 3);
	free(large);
	return root;
}

static uint64_t put_meta(struct boltfile *f)
{
	uint8_t finished[BOLTKV_KEY_MAX], scheduled[BOLTKV_KEY_MAX], index[8];
	const struct boltfile_entry meta[] = {
	    {"consistent_index", 16, index, sizeof(index), false},
	    {"finishedCompactRev", 18, finished, 17, false},
	    {"scheduledCompactRev", 19, scheduled, 17, false},
	};

	boltkv_be64(index, 99);
	boltkv_rev(finished, 3, 0);
	boltkv_rev(scheduled, 4, 0);
	return boltfile_leaf(f, meta, ARRAY_SIZE(meta));
}

/* Free pages are never zeroed: this is what was there. */
static uint64_t put_free(struct boltfile *f, uint64_t stale)
{
	uint64_t first = boltfile_add(f, N_FREE);

	for (unsigned i = 0; i < N_FREE; i++)
		memcpy(boltfile_page(f, first + i), boltfile_page(f, stale), f->page_bytes);
	return first;
}

static uint64_t put_freelist(struct boltfile *f, uint64_t first)
{
	uint64_t list = boltfile_add(f, 1);

	boltfile_header(boltfile_page(f, list), list, 0x10, N_FREE, 0);
	for (unsigned i = 0; i < N_FREE; i++)
		boltfile_le64(boltfile_page(f, list) + BOLTFILE_HEADER + 8 * i, first + i);
	return list;
}

static struct snapfile sign(struct boltfile *f)
{
	size_t len = f->n_pages * f->page_bytes;

	f->bytes = xreallocarray(f->bytes, len + SNAPSHOT_DIGEST_BYTES, 1);
	boltfile_digest(f->bytes, len);
	return (struct snapfile){(char *) f->bytes, len + SNAPSHOT_DIGEST_BYTES};
}

static struct snapfile make(uint32_t page_bytes, bool has_freelist)
{
	static const struct boltfile_entry version = {"clusterVersion", 14, "3.5.0", 5, false};
	static const char member[] = "{\"id\":1,\"peerURLs\":[\"http://a:2380\"],\"name\":\"n1\"}";
	static const struct boltfile_entry members = {"0000000000000001", 16, member,
	                                              sizeof(member) - 1, false};
	uint8_t values[2][16], inlined[3][BOLTFILE_INLINE_MAX];
	struct boltfile f = boltfile_new(page_bytes);
	struct boltfile_entry buckets[5];
	uint64_t free_pages, list = BOLT_NO_FREELIST;

	buckets[0] = boltfile_inline("alarm", NULL, 0, inlined[0]);
	buckets[1] = boltfile_inline("cluster", &version, 1, inlined[1]);
	buckets[2] = boltfile_bucket("key", put_keys(&f), values[0]);
	buckets[3] = boltfile_inline("members", &members, 1, inlined[2]);
	free_pages = put_free(&f, f.n_pages - 1);
	if (has_freelist)
		list = put_freelist(&f, free_pages);
	buckets[4] = boltfile_bucket("meta", put_meta(&f), values[1]);
	boltfile_seal(&f, boltfile_leaf(&f, buckets, ARRAY_SIZE(buckets)), list);
	return sign(&f);
}

/* --- where is what --- */

enum place {
	PLACE_OTHER, /* values, free pages, what follows the last value of a page */
	PLACE_META,
	PLACE_HEADER,
	PLACE_ELEMENT,
	PLACE_LENGTH, /* of the last key in a leaf and its value, unless that is a bucket */
	PLACE_KEY,
	PLACE_REVISION, /* the main revision in a key of etcd's keys */
	PLACE_ROOT,     /* the page that a bucket names */
	PLACE_FREELIST,
	PLACE_DIGEST,
	N_PLACES,
};

static const struct {
	const char *name;
	bool always; /* found also without the digest, whichever bit it is */
} places[N_PLACES] = {
    [PLACE_OTHER] = {"other", false},      [PLACE_META] = {"meta", true},
    [PLACE_HEADER] = {"header", true},     [PLACE_ELEMENT] = {"element", true},
    [PLACE_LENGTH] = {"length", false},    [PLACE_KEY] = {"key", false},
    [PLACE_REVISION] = {"revision", true}, [PLACE_ROOT] = {"root", true},
    [PLACE_FREELIST] = {"freelist", true}, [PLACE_DIGEST] = {"digest", false},
};

struct map {
	const struct snapfile *file;
	uint64_t page_bytes;
	uint8_t *places; /* of each byte */
};

static uint64_t number(const char *bytes, unsigned width)
{
	uint64_t v = 0;

	for (unsigned i = width; i-- > 0;)
		v = v << 8 | (uint8_t) bytes[i];
	return v;
}

static void map_page(struct map *map, size_t base, bool is_keys, bool is_inline);

/* A bucket's value: where it is, and what it holds. */
static void map_bucket(struct map *map, size_t at, bool is_keys)
{
	uint64_t root = number(map->file->bytes + at, 8);

	memset(map->places + at, PLACE_ROOT, 8);
	if (root == 0)
		map_page(map, at + 16, is_keys, true);
	else
		map_page(map, root * map->page_bytes, is_keys, false);
}

/* Below this page, in a file that is known to be good. */
static void map_page(struct map *map, size_t base, bool is_keys, bool is_inline)
{
	const char *p = map->file->bytes + base;
	bool is_leaf = number(p + 8, 2) == 2;
	size_t count = number(p + 10, 2);

	memset(map->places + base, PLACE_HEADER, 16);
	for (size_t i = 0; i < count; i++) {
		size_t at = 16 + i * 16;
		const char *e = p + at;
		size_t key = at + number(e + (is_leaf ? 4 : 0), 4);
		size_t key_len = number(e + (is_leaf ? 8 : 4), 4);
		bool is_bucket = is_leaf && number(e, 4) == 1;

		memset(map->places + base + at, PLACE_ELEMENT, 16);
		/* An inline one's page is as long as its bucket's value says. */
		if (is_leaf && i + 1 == count && !is_bucket && !is_inline)
			memset(map->places + base + at + 8, PLACE_LENGTH, 8);
		memset(map->places + base + key, PLACE_KEY, key_len);
		if (is_leaf && is_keys)
			memset(map->places + base + key, PLACE_REVISION, 8);
		if (!is_leaf)
			map_page(map, number(e + 8, 8) * map->page_bytes, is_keys, false);
		else if (is_bucket)
			map_bucket(map, base + key + key_len, key_len == 3 && memcmp(p + key, "key", 3) == 0);
	}
}

static struct map map_of(const struct snapfile *file)
{
	struct map map = {.file = file, .page_bytes = number(file->bytes + 24, 4)};
	const char *metas[2] = {file->bytes, file->bytes + map.page_bytes};
	const char *meta = metas[number(metas[1] + 64, 8) > number(metas[0] + 64, 8)];
	uint64_t list = number(meta + 48, 8);

	map.places = xcalloc(file->len, 1);
	memset(map.places, PLACE_META, 80);
	memset(map.places + map.page_bytes, PLACE_META, 80);
	memset(map.places + file->len - SNAPSHOT_DIGEST_BYTES, PLACE_DIGEST, SNAPSHOT_DIGEST_BYTES);
	map_page(&map, number(meta + 32, 8) * map.page_bytes, false, false);
	if (list != BOLT_NO_FREELIST)
		memset(map.places + list * map.page_bytes, PLACE_FREELIST,
		       16 + 8 * number(file->bytes + list * map.page_bytes + 10, 2));
	return map;
}

/* --- damage --- */

/* Cut off at each multiple of 512, and 32 before and behind it. */
static void test_cut_off(const struct snapfile *file)
{
	int fd = boltfile_fd_of(file->bytes, file->len);

	for (off_t len = (off_t) file->len - 1; len >= 0; len--) {
		bool digest_fits;

		if (len % 512 != 0 && len % 512 != 32 && len % 512 != 480)
			continue;
		CHECK_EQ_INT(ftruncate(fd, len), 0);
		digest_fits = snapfile_check_digest(fd) == 0;
		CHECK(!digest_fits);
		/* What lacks nothing but the digest is a good database. */
		if ((size_t) len < file->len - SNAPSHOT_DIGEST_BYTES)
			CHECK(snapfile_fault(fd) != NULL);
	}
	(void) close(fd);
}

struct tally {
	unsigned n, found;
};

/* One bit of a byte. A digest over a large file takes a while: not each time. */
static void test_bit(const char *title, const struct map *map, int fd, size_t at, unsigned bit,
                     struct tally *t)
{
	const struct snapfile *file = map->file;
	enum place place = map->places[at];
	char byte = (char) (file->bytes[at] ^ (1 << bit));

	CHECK_EQ_INT(pwrite(fd, &byte, 1, (off_t) at), 1);
	if (snapfile_fault(fd) != NULL)
		t->found++;
	else if (places[place].always)
		(void) fprintf(stderr, "%s: bit %u of byte %zu (%s) passed\n", title, bit, at,
		               places[place].name);
	if (file->len <= LARGE_BYTES || t->n % 16 == 0)
		CHECK_EQ_INT(snapfile_check_digest(fd), -EBADMSG);
	t->n++;
	CHECK_EQ_INT(pwrite(fd, file->bytes + at, 1, (off_t) at), 1);
}

static void test_wrong_bytes(const char *title, const struct snapfile *file)
{
	size_t step = file->len > LARGE_BYTES ? OTHER_STEP_LARGE : OTHER_STEP;
	struct tally tallies[N_PLACES] = {0};
	struct map map = map_of(file);
	int fd = boltfile_fd_of(file->bytes, file->len);

	CHECK_EQ_STR(snapfile_fault(fd), NULL);
	for (size_t i = 0; i < file->len; i++) {
		struct tally *t = &tallies[map.places[i]];

		if (map.places[i] == PLACE_OTHER && i % step != 0)
			continue;
		/* It is short, and each bit of it goes wrong in a way of its own. */
		for (unsigned bit = 0; map.places[i] == PLACE_FREELIST && bit < 8; bit++)
			test_bit(title, &map, fd, i, bit, t);
		if (map.places[i] != PLACE_FREELIST)
			test_bit(title, &map, fd, i, i % 8, t);
	}
	CHECK_EQ_STR(snapfile_fault(fd), NULL);
	CHECK_EQ_INT(snapfile_check_digest(fd), 0);
	for (unsigned i = 0; i < N_PLACES; i++) {
		if (places[i].always)
			CHECK_EQ_INT(tallies[i].found, tallies[i].n);
		if (tallies[i].n > 0)
			(void) printf("%s: %-8s %5u of %5u found without the digest\n", title, places[i].name,
			              tallies[i].found, tallies[i].n);
	}
	/* In each file there is something of these. */
	CHECK(tallies[PLACE_META].n == 160 && tallies[PLACE_HEADER].n > 0 &&
	      tallies[PLACE_ELEMENT].n > 0 && tallies[PLACE_KEY].n > 0 && tallies[PLACE_ROOT].n > 0 &&
	      tallies[PLACE_OTHER].n > 0 && tallies[PLACE_DIGEST].n == SNAPSHOT_DIGEST_BYTES);
	(void) close(fd);
	free(map.places);
}

static void test_real(const char *path)
{
	struct snapfile file = snapfile_load(path);

	test_cut_off(&file);
	test_wrong_bytes(path, &file);
	free(file.bytes);
}

static void test_made(uint32_t page_bytes, bool has_freelist)
{
	struct snapfile file = make(page_bytes, has_freelist);
	char title[64];

	(void) snprintf(title, sizeof(title), "%u KiB%s", page_bytes / 1024,
	                has_freelist ? ", freelist" : "");
	test_cut_off(&file);
	test_wrong_bytes(title, &file);
	free(file.bytes);
}

/* --- nothing in it --- */

/* As bbolt makes a new one, in which etcd has never written: no etcd can be restored from it. */
static void test_empty(uint32_t page_bytes)
{
	struct boltfile f = boltfile_new(page_bytes);
	uint64_t list = boltfile_add(&f, 1), root = boltfile_leaf(&f, NULL, 0);
	struct snapfile file;
	int fd;

	boltfile_header(boltfile_page(&f, list), list, 0x10, 0, 0);
	boltfile_meta(&f, 0, root, list, 1);
	boltfile_meta(&f, 1, root, list, 0);
	file = sign(&f);
	fd = boltfile_fd_of(file.bytes, file.len);
	CHECK_EQ_INT(snapfile_check_digest(fd), 0);
	CHECK_EQ_STR(snapfile_fault(fd), "no database of etcd 3: it lacks the bucket 'key'");
	(void) close(fd);
	test_cut_off(&file);
	free(file.bytes);

	fd = boltfile_fd_of("", 0);
	CHECK(snapfile_fault(fd) != NULL);
	CHECK(snapfile_check_digest(fd) < 0);
	(void) close(fd);
}

int main(void)
{
	static const uint32_t sizes[] = {4096, 16384, 65536};

	test_real("tests/bolt/etcd-3.4.db");
	test_real("tests/bolt/etcd-3.5.db");
	test_real("tests/bolt/etcd-3.4-empty.db");
	test_real("tests/bolt/etcd-3.5-empty.db");
	test_made(4096, false);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		test_made(sizes[i], true);
		test_empty(sizes[i]);
	}
	return check_result();
}
