/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that bulk.c makes: every database of tests/bolt copied entry by entry and found the same,
 * trees of all shapes read back, and what it refuses. What real etcd makes of such files is in
 * tests/netns/etcd_rebuild.sh.
 */
#include "bolt/bulk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "bolt/cursor.h"
#include "bolt/page.h"
#include "tests/unit/check.h"
#include "tests/unit/snapfile.h"

static int new_file(void)
{
	int fd = memfd_create("bulk", MFD_CLOEXEC);

	if (fd < 0)
		abort();
	return fd;
}

static struct snapshot *open_fd(int fd, struct bolt_fault *fault)
{
	struct snapshot *s = NULL;
	char path[32];

	(void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (snapshot_open(path, fault, &s) < 0) {
		(void) fprintf(stderr, "not opened: %s\n", fault->what);
		exit(1);
	}
	return s;
}

/* --- copies of what etcd made --- */

static struct bulk *copying;

static int copy_bucket(struct bytes name, void *userdata)
{
	(void) userdata;
	return bulk_begin(copying, name);
}

static int copy_entry(const struct cursor_entry *entry, void *userdata)
{
	(void) userdata;
	return bulk_add(copying, entry->key, entry->value);
}

static void test_copy(const char *path, uint32_t page_bytes)
{
	const struct walk_visitor visitor = {.on_bucket = copy_bucket, .on_entry = copy_entry};
	AUTO(close) int fd = new_file();
	AUTO(bulk_free) struct bulk *bulk = bulk_new(fd, page_bytes);
	struct snapshot_content content[2] = {0};
	struct bolt_fault faults[2] = {0};
	struct snapshot *s[2];
	uint64_t n_bytes = 0;
	struct stat st;

	copying = bulk;
	CHECK_EQ_INT(snapshot_open(path, &faults[0], &s[0]), 0);
	CHECK_EQ_INT(walk_all(snapshot_db(s[0]), &visitor, &(struct walk_result){0}), 0);
	CHECK_EQ_INT(bulk_finish(bulk, &n_bytes), 0);
	CHECK(fstat(fd, &st) == 0 && (uint64_t) st.st_size == n_bytes);
	CHECK_EQ_INT(snapshot_append_digest(fd, n_bytes), 0);
	s[1] = open_fd(fd, &faults[1]);
	CHECK_EQ_INT(snapshot_check_digest(s[1]), 0);
	for (unsigned i = 0; i < 2; i++) {
		if (!CHECK_EQ_INT(snapshot_check_content(s[i], 0, &content[i]), 0))
			(void) fprintf(stderr, "%s: %s\n", path, faults[i].what);
	}
	CHECK_EQ_INT(content[1].hash, content[0].hash);
	CHECK_EQ_INT((long long) content[1].n_entries, (long long) content[0].n_entries);
	CHECK_EQ_INT(content[1].hashkv.hash, content[0].hashkv.hash);
	CHECK_EQ_INT((long long) content[1].pages.n_buckets, (long long) content[0].pages.n_buckets);
	CHECK_EQ_INT((long long) content[1].pages.n_free, 0);
	CHECK_EQ_INT((long long) bolt_get_meta(snapshot_db(s[1]))->page_bytes, page_bytes);
	snapshot_close(s[0]);
	snapshot_close(s[1]);
}

/* --- trees of all shapes --- */

static const struct shape {
	const char *name;
	uint32_t page_bytes;
	unsigned n_entries;
	size_t key_len; /* at least 4; of the first and every seventh, if `long_key` is more */
	size_t long_key;
	size_t value_len;
	size_t long_value;
	unsigned n_pages; /* of the file; 0: not looked at */
} shapes[] = {
    {"no entry", 4096, 0, 4, 0, 0, 0, 0},
    {"one that stays inline", 4096, 1, 4, 0, 900, 0, 3},
    {"one that just fits inline", 4096, 1, 4, 0, 988, 0, 3},
    {"one that just does not", 4096, 1, 4, 0, 989, 0, 5},
    {"one on a page", 4096, 1, 4, 0, 4060, 0, 5},
    {"one byte more than a page", 4096, 1, 4, 0, 4061, 0, 7},
    {"a page that is full to the end", 4096, 2, 4, 0, 2020, 0, 5},
    {"a child more than a branch has room for", 4096, 205, 4, 0, 4060, 0, 0},
    {"without values", 4096, 5000, 4, 0, 0, 0, 0},
    {"etcd's", 4096, 60000, 17, 0, 100, 0, 0},
    {"large pages", 65536, 20000, 17, 0, 100, 0, 0},
    {"large values between small ones", 4096, 600, 17, 0, 30, 50000, 0},
    {"all of them large", 4096, 20, 17, 0, 100000, 0, 0},
    {"keys that fill a branch by two", 4096, 40, 2000, 0, 1, 0, 0},
    {"keys that fill it by three", 4096, 40, 1300, 0, 1, 0, 0},
    {"a key that is as long as can be", 4096, 100, 4, 32768, 1, 0, 0},
    {"keys of all lengths", 4096, 300, 4, 3000, 700, 9000, 0},
};

struct item {
	uint8_t *key, *value;
	size_t key_len, value_len;
};

/* Numbers that ascend, and what follows tells the place. */
static struct item item_of(const struct shape *shape, unsigned i)
{
	bool is_long = i % 7 == 0;
	struct item item = {
	    .key_len = is_long && shape->long_key > 0 ? shape->long_key : shape->key_len,
	    .value_len = is_long && shape->long_value > 0 ? shape->long_value : shape->value_len};

	item.key = xcalloc(1, item.key_len);
	item.value = xcalloc(1, item.value_len + 1);
	for (unsigned k = 0; k < 4; k++)
		item.key[k] = (uint8_t) (i >> (24 - 8 * k));
	memset(item.key + 4, (int) (i % 251), item.key_len - 4);
	memset(item.value, (int) (i % 241 + 1), item.value_len);
	return item;
}

static void item_fini(struct item *item)
{
	free(item->key);
	free(item->value);
}

static void fill(struct bulk *bulk, const struct shape *shape)
{
	for (unsigned i = 0; i < shape->n_entries; i++) {
		struct item item = item_of(shape, i);

		if (!CHECK_EQ_INT(bulk_add(bulk, (struct bytes){item.key, item.key_len},
		                           (struct bytes){item.value, item.value_len}),
		                  0))
			i = shape->n_entries;
		item_fini(&item);
	}
}

static void compare(struct bolt *db, const char *bucket, const struct shape *shape)
{
	AUTO(cursor_free) struct cursor *c = NULL;
	struct cursor_entry e;
	unsigned n = 0;

	CHECK_EQ_INT(cursor_open_named(db, bucket, &c), 0);
	while (c != NULL && cursor_next(c, &e) > 0 && n < shape->n_entries) {
		struct item item = item_of(shape, n++);
		bool same = CHECK(e.key.len == item.key_len && e.value.len == item.value_len &&
		                  memcmp(e.key.data, item.key, item.key_len) == 0 &&
		                  memcmp(e.value.data, item.value, item.value_len) == 0);

		item_fini(&item);
		if (!same)
			break;
	}
	CHECK_EQ_INT(n, shape->n_entries);
	CHECK_EQ_INT(c != NULL ? cursor_next(c, &e) : -1, 0);
}

/* No level of a tree has a page with a single child, nor a longer branch than its keys need. */
static int check_page(const struct page *page, void *userdata)
{
	(void) userdata;
	CHECK(!page->is_branch || page->count >= 2);
	CHECK(!page->is_branch || page->n_pages == 1 || page->count < 4);
	return 0;
}

static void test_shape(const struct shape *shape)
{
	AUTO(close) int fd = new_file();
	AUTO(bulk_free) struct bulk *bulk = bulk_new(fd, shape->page_bytes);
	AUTO(bolt_close) struct bolt *db = NULL;
	AUTO(cursor_free) struct cursor *c = NULL;
	struct bolt_fault fault = {0};
	struct walk_result pages = {0};
	struct cursor_entry e;
	unsigned before = check_failures;
	uint64_t n_bytes = 0;

	CHECK_EQ_INT(bulk_begin(bulk, bytes_of_text("a")), 0);
	fill(bulk, shape);
	CHECK_EQ_INT(bulk_begin(bulk, bytes_of_text("empty")), 0);
	CHECK_EQ_INT(bulk_begin(bulk, bytes_of_text("z")), 0);
	fill(bulk, shape);
	CHECK_EQ_INT(bulk_finish(bulk, &n_bytes), 0);
	CHECK_EQ_INT(bolt_open(fd, n_bytes, &fault, &db), 0);
	CHECK_EQ_INT(db != NULL ? bolt_check_both_metas(db) : -1, 0);
	CHECK_EQ_INT(db != NULL ? walk_all(db, NULL, &pages) : -1, 0);
	CHECK_EQ_INT((long long) pages.n_buckets, 3);
	CHECK_EQ_INT((long long) pages.n_free, 0);
	CHECK(shape->n_pages == 0 || pages.n_pages == shape->n_pages);
	CHECK_EQ_INT((long long) pages.n_pages, (long long) (n_bytes / shape->page_bytes));
	if (db != NULL) {
		compare(db, "a", shape);
		compare(db, "z", shape);
		CHECK_EQ_INT(cursor_open_named(db, "z", &c), 0);
		cursor_on_page(c, check_page, NULL);
		while (cursor_next(c, &e) > 0)
			continue;
	}
	if (check_failures > before)
		(void) fprintf(stderr, "  with %s: %s\n", shape->name, fault.what);
}

/* Many buckets, so that the root has branches too. */
static void test_many_buckets(void)
{
	AUTO(close) int fd = new_file();
	AUTO(bulk_free) struct bulk *bulk = bulk_new(fd, 4096);
	AUTO(bolt_close) struct bolt *db = NULL;
	struct bolt_fault fault = {0};
	struct walk_result pages = {0};
	uint64_t n_bytes = 0;
	char name[16];

	for (unsigned i = 0; i < 1000; i++) {
		(void) snprintf(name, sizeof(name), "b%05u", i);
		CHECK_EQ_INT(bulk_begin(bulk, bytes_of_text(name)), 0);
		CHECK_EQ_INT(bulk_add(bulk, bytes_of_text("key"), bytes_of_text(name)), 0);
	}
	CHECK_EQ_INT(bulk_finish(bulk, &n_bytes), 0);
	CHECK_EQ_INT(bolt_open(fd, n_bytes, &fault, &db), 0);
	CHECK_EQ_INT(walk_all(db, NULL, &pages), 0);
	CHECK_EQ_INT((long long) pages.n_buckets, 1000);
	CHECK(pages.n_branches > 0);
}

/* --- refusals --- */

static void test_refused(void)
{
	static uint8_t long_key[PAGE_KEY_BYTES_MAX + 1];
	static const uint8_t one[1] = {1};
	AUTO(close) int fd = new_file();
	struct bulk *b = bulk_new(fd, 4096);

	CHECK_EQ_INT(bulk_add(b, bytes_of_text("k"), bytes_of_text("v")), -EINVAL); /* in no bucket */
	CHECK_EQ_INT(bulk_begin(b, bytes_of_text("b")), 0);
	CHECK_EQ_INT(bulk_add(b, bytes_of_text("k"), bytes_of_text("v")), 0);
	CHECK_EQ_INT(bulk_add(b, bytes_of_text("k"), bytes_of_text("v")), -EINVAL); /* again */
	CHECK_EQ_INT(bulk_add(b, bytes_of_text("j"), bytes_of_text("v")), -EINVAL); /* before */
	CHECK_EQ_INT(bulk_add(b, bytes_of_text(""), bytes_of_text("v")), -EINVAL);
	memset(long_key, 'x', sizeof(long_key));
	CHECK_EQ_INT(bulk_add(b, (struct bytes){long_key, sizeof(long_key)}, bytes_of_text("v")),
	             -EINVAL);
	CHECK_EQ_INT(bulk_add(b, bytes_of_text("l"), (struct bytes){one, PAGE_LEAF_BYTES_MAX}),
	             -EMSGSIZE);
	CHECK_EQ_INT(bulk_begin(b, bytes_of_text("a")), -EINVAL);
	bulk_free(b);
	b = bulk_new(fd, 4096);
	CHECK_EQ_INT(bulk_begin(b, bytes_of_text("b")), 0);
	CHECK_EQ_INT(bulk_begin(b, bytes_of_text("b")), -EINVAL);
	bulk_free(b);
}

/* A disk that is full is told, wherever it is found out. */
static void test_full(void)
{
	const struct shape shape = {"full", 4096, 1, 17, 0, 100, 0, 0};
	AUTO(close) int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	AUTO(bulk_free) struct bulk *small = bulk_new(fd, 4096), *large = bulk_new(fd, 4096);
	AUTO(free) uint8_t *value = xcalloc(1, 3 << 20);
	uint64_t n_bytes;

	CHECK_EQ_INT(bulk_begin(small, bytes_of_text("b")), 0);
	fill(small, &shape);
	CHECK_EQ_INT(bulk_finish(small, &n_bytes), -ENOSPC);
	CHECK_EQ_INT(bulk_begin(large, bytes_of_text("b")), 0);
	CHECK_EQ_INT(bulk_add(large, bytes_of_text("a"), (struct bytes){value, 3 << 20}), 0);
	CHECK_EQ_INT(bulk_add(large, bytes_of_text("b"), bytes_of_text("v")), -ENOSPC);
}

int main(void)
{
	static const char *const files[] = {"tests/bolt/etcd-3.4.db", "tests/bolt/etcd-3.4-empty.db",
	                                    "tests/bolt/etcd-3.5.db", "tests/bolt/etcd-3.5-empty.db",
	                                    "tests/bolt/seed-history.db"};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		test_copy(files[i], 4096);
		test_copy(files[i], 16384);
	}
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++)
		test_shape(&shapes[i]);
	test_many_buckets();
	test_refused();
	test_full();
	return check_result();
}
