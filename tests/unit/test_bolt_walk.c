/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trees made by hand: what is sound is walked and found in order, also in inline and nested
 * buckets, over continued pages and with a list of free pages; each kind of damage is named.
 */
#include "bolt/walk.h"

#include <errno.h>
#include <stdio.h>

#include "bolt/cursor.h"
#include "tests/unit/boltfile.h"
#include "tests/unit/check.h"

#define N_NUMBERED 1000

/* --- a file with something of everything --- */

static char keys[N_NUMBERED][8];
static uint8_t large[3 * 65536];

static struct boltfile_entry numbered(unsigned i)
{
	return (struct boltfile_entry){keys[i], strlen(keys[i]), keys[i], i % 8, false};
}

/* Buckets "deep" (a tree of several levels), "empty", "inline", "large" (a continued leaf),
 * "nested". */
static struct boltfile whole_file(uint32_t page_bytes, uint64_t *ret_root)
{
	struct boltfile f = boltfile_new(page_bytes);
	struct boltfile_entry deep[N_NUMBERED], few[2], big = {"k", 1, large, 3 * page_bytes, false};
	struct boltfile_entry buckets[5], inner[2];
	uint8_t values[4][16], inlined[2][BOLTFILE_INLINE_MAX];

	for (unsigned i = 0; i < N_NUMBERED; i++) {
		(void) snprintf(keys[i], sizeof(keys[i]), "%05u", i);
		deep[i] = numbered(i);
	}
	few[0] = numbered(1);
	few[1] = numbered(2);
	buckets[0] = boltfile_bucket("deep", boltfile_tree(&f, deep, N_NUMBERED, 5), values[0]);
	buckets[1] = boltfile_bucket("empty", boltfile_leaf(&f, NULL, 0), values[1]);
	/* A name of three letters puts the page inside at an odd place. */
	buckets[2] = boltfile_inline("inl", few, 2, inlined[0]);
	buckets[3] = boltfile_bucket("large", boltfile_leaf(&f, &big, 1), values[2]);
	inner[0] = boltfile_inline("a", few, 1, inlined[1]);
	inner[1] = (struct boltfile_entry){"b", 1, "plain", 5, false};
	buckets[4] = boltfile_bucket("nested", boltfile_leaf(&f, inner, 2), values[3]);
	*ret_root = boltfile_leaf(&f, buckets, 5);
	return f;
}

struct seen {
	char text[256]; /* the beginning of what was seen */
	unsigned n_entries;
};

static int on_bucket(struct bytes name, void *userdata)
{
	struct seen *seen = userdata;
	size_t len = strlen(seen->text);

	(void) snprintf(seen->text + len, sizeof(seen->text) - len, "[%.*s]", (int) name.len,
	                name.data);
	return 0;
}

static int on_entry(const struct cursor_entry *entry, void *userdata)
{
	struct seen *seen = userdata;
	size_t len = strlen(seen->text);

	seen->n_entries++;
	if (entry->key.len < 5)
		(void) snprintf(seen->text + len, sizeof(seen->text) - len, "%.*s=%zu%s ",
		                (int) entry->key.len, entry->key.data, entry->value.len,
		                entry->is_bucket ? "B" : "");
	return 0;
}

/* What a walk finds: NULL, or what is wrong. */
static const char *walk(const struct boltfile *f, struct seen *seen, struct walk_result *ret_result)
{
	static struct bolt_fault fault;
	struct walk_visitor visitor = {.on_bucket = on_bucket, .on_entry = on_entry, .userdata = seen};
	struct bolt *db = NULL;
	int fd = boltfile_fd(f);
	int r;

	memset(seen, 0, sizeof(*seen));
	r = bolt_open(fd, f->n_pages * f->page_bytes, &fault, &db);
	if (r >= 0)
		r = walk_all(db, &visitor, ret_result);
	bolt_close(db);
	(void) close(fd);
	if (r < 0)
		CHECK_EQ_INT(r, -EBADMSG);
	return r < 0 ? fault.what : NULL;
}

static void test_whole(void)
{
	static const uint32_t sizes[] = {4096, 16384, 65536};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct walk_result result = {0};
		struct seen seen;
		uint64_t root, n_used;
		struct boltfile f = whole_file(sizes[i], &root);
		char want[256];

		n_used = f.n_pages;
		(void) boltfile_add(&f, 3); /* free, and of any content */
		boltfile_seal(&f, root, BOLT_NO_FREELIST);
		CHECK_EQ_STR(walk(&f, &seen, &result), NULL);
		(void) snprintf(want, sizeof(want), "[deep][empty][inl][large]k=%u [nested]a=0B b=5 ",
		                3 * sizes[i]);
		CHECK_EQ_STR(seen.text, want);
		CHECK_EQ_INT(seen.n_entries, N_NUMBERED + 2 + 1 + 2);
		CHECK_EQ_INT((long long) result.n_pages, (long long) n_used + 3);
		CHECK_EQ_INT((long long) result.n_free, 3);
		CHECK_EQ_INT((long long) result.n_continued, 3);
		CHECK_EQ_INT((long long) result.n_buckets, 6);
		/* 200 leaves of 5 keys, under 40, 8, 2 and 1 branches. */
		CHECK_EQ_INT((long long) result.n_leaves, 200 + 4);
		CHECK_EQ_INT((long long) result.n_branches, 51);
		boltfile_free(&f);
	}
}

/* --- cursors --- */

static void check_seek(struct cursor *c, const char *key, const char *want)
{
	struct cursor_entry entry;
	char got[16] = "the end";
	int r;

	CHECK_EQ_INT(cursor_seek(c, bytes_of_text(key)), 0);
	r = cursor_next(c, &entry);
	if (r == 1)
		(void) snprintf(got, sizeof(got), "%.*s", (int) entry.key.len, entry.key.data);
	CHECK_EQ_STR(got, want);
}

static void test_cursors(void)
{
	struct bolt_fault fault = {0};
	struct bolt *db = NULL;
	struct cursor *c = NULL;
	struct cursor_entry entry;
	uint64_t root;
	struct boltfile f = whole_file(4096, &root);
	char buf[8];
	int fd;

	boltfile_seal(&f, root, BOLT_NO_FREELIST);
	fd = boltfile_fd(&f);
	CHECK_EQ_INT(bolt_open(fd, f.n_pages * 4096, &fault, &db), 0);
	CHECK_EQ_INT(cursor_open_named(db, "deep", &c), 0);
	for (unsigned i = 0; i < N_NUMBERED; i++)
		check_seek(c, keys[i], keys[i]);
	check_seek(c, "", "00000");
	check_seek(c, "00004x", "00005"); /* between two leaves */
	check_seek(c, "00999", "00999");
	check_seek(c, "00999x", "the end");
	check_seek(c, "x", "the end");
	CHECK_EQ_INT(cursor_seek(c, bytes_of_text("00994")), 0);
	for (unsigned i = 994; i < N_NUMBERED; i++)
		CHECK_EQ_INT(cursor_next(c, &entry), 1);
	CHECK_EQ_INT(cursor_next(c, &entry), 0);
	CHECK_EQ_INT(cursor_next(c, &entry), 0);
	CHECK_EQ_INT(cursor_seek_last(c), 0);
	CHECK_EQ_INT(cursor_next(c, &entry), 1);
	CHECK(bytes_equal_text(entry.key, "00999"));
	cursor_free(TAKE_PTR(c));

	CHECK_EQ_INT(cursor_open_named(db, "empty", &c), 0);
	CHECK_EQ_INT(cursor_next(c, &entry), 0);
	CHECK_EQ_INT(cursor_seek_last(c), 0);
	CHECK_EQ_INT(cursor_next(c, &entry), 0);
	cursor_free(TAKE_PTR(c));

	CHECK_EQ_INT(cursor_open_named(db, "inl", &c), 0);
	check_seek(c, "00002", "00002");
	check_seek(c, "00003", "the end");
	CHECK_EQ_INT(cursor_seek_last(c), 0);
	CHECK_EQ_INT(cursor_next(c, &entry), 1);
	CHECK(bytes_equal_text(entry.key, "00002"));
	cursor_free(TAKE_PTR(c));

	CHECK_EQ_INT(cursor_open_named(db, "missing", &c), -ENOENT);
	CHECK_EQ_INT(cursor_open_named(db, "zzz", &c), -ENOENT);
	CHECK_EQ_INT(cursor_get(db, "deep", "00007", buf, sizeof(buf)), 7);
	CHECK_EQ_INT(cursor_get(db, "deep", "0000", buf, sizeof(buf)), -ENOENT);
	CHECK_EQ_INT(cursor_get(db, "missing", "00007", buf, sizeof(buf)), -ENOENT);
	CHECK_EQ_INT(cursor_get(db, "deep", "00007", buf, 6), -EBADMSG);
	CHECK_EQ_STR(strstr(fault.what, "the value of '00007' has 7 bytes"),
	             "the value of '00007' has 7 bytes");
	bolt_close(db);
	(void) close(fd);
	boltfile_free(&f);
}

/* --- free pages --- */

/* A root, and a list of n free pages behind it, which are there. */
static struct boltfile file_with_list(uint64_t n, uint64_t *ret_list, uint64_t *ret_first)
{
	struct boltfile f = boltfile_new(4096);
	uint64_t root = boltfile_leaf(&f, NULL, 0);
	uint64_t n_bytes = BOLTFILE_HEADER + 8 * (n + (n >= 0xffff));
	uint64_t n_pages = (n_bytes + 4095) / 4096;
	uint64_t list = boltfile_add(&f, n_pages), first = boltfile_add(&f, n);
	uint8_t *p = boltfile_page(&f, list), *numbers = p + BOLTFILE_HEADER;

	boltfile_header(p, list, 0x10, (uint16_t) MIN(n, 0xffffu), (uint32_t) n_pages - 1);
	if (n >= 0xffff) {
		boltfile_le64(numbers, n);
		numbers += 8;
	}
	for (uint64_t i = 0; i < n; i++)
		boltfile_le64(numbers + 8 * i, first + i);
	boltfile_seal(&f, root, list);
	*ret_list = list;
	*ret_first = first;
	return f;
}

static void test_freelist(void)
{
	static const uint64_t counts[] = {0, 1, 509, 510, 511, 0xfffe, 0xffff};
	struct walk_result result = {0};
	uint64_t list, first;
	struct boltfile f;
	struct seen seen;

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		f = file_with_list(counts[i], &list, &first);
		CHECK_EQ_STR(walk(&f, &seen, &result), NULL);
		CHECK_EQ_INT((long long) result.n_free, (long long) counts[i]);
		boltfile_free(&f);
	}

	f = file_with_list(3, &list, &first);
	boltfile_le64(boltfile_page(&f, list) + 16, first + 1);
	CHECK_EQ_STR(walk(&f, &seen, &result), "page 5: it is in use twice, or in use and free");
	boltfile_le64(boltfile_page(&f, list) + 16, 2);
	CHECK_EQ_STR(walk(&f, &seen, &result), "page 2: it is in use twice, or in use and free");
	boltfile_le64(boltfile_page(&f, list) + 16, 77);
	CHECK_EQ_STR(walk(&f, &seen, &result), "page 77: it is outside of the file");
	boltfile_header(boltfile_page(&f, list), list, 0x10, 2, 0);
	boltfile_le64(boltfile_page(&f, list) + 16, first);
	CHECK_EQ_STR(walk(&f, &seen, &result),
	             "page 6: it is neither in use nor in the list of free pages");
	boltfile_header(boltfile_page(&f, list), list, 0x10, 511, 0);
	CHECK_EQ_STR(walk(&f, &seen, &result), "page 3: 511 free pages do not fit into it");
	boltfile_header(boltfile_page(&f, list), list, 0x10, 0xffff, 0);
	boltfile_le64(boltfile_page(&f, list) + 16, UINT64_MAX);
	CHECK_EQ_STR(walk(&f, &seen, &result),
	             "page 3: 18446744073709551615 free pages do not fit into it");
	boltfile_header(boltfile_page(&f, list), list, 0x10, 3, 4);
	CHECK_EQ_STR(walk(&f, &seen, &result),
	             "page 3: it goes on for 4 pages, beyond the end of the file");
	boltfile_header(boltfile_page(&f, list), list, 2, 3, 0);
	CHECK_EQ_STR(walk(&f, &seen, &result), "page 3: it is not the list of free pages");
	boltfile_free(&f);
}

/* --- damage --- */

/*
 * Page 2 is a leaf with a, b, c; 3 a leaf with d, e; 4 the branch above them; 5 the root, with an
 * inline bucket "i" of one key and the bucket "t" of page 4.
 */
static struct boltfile small_file(void)
{
	static const struct boltfile_entry first[] = {
	    {"a", 1, "1", 1, false}, {"b", 1, "", 0, false}, {"c", 1, "333", 3, false}};
	static const struct boltfile_entry second[] = {{"d", 1, "4", 1, false},
	                                               {"e", 1, "5", 1, false}};
	struct boltfile_child children[] = {{"a", 1, 2}, {"d", 1, 3}};
	struct boltfile f = boltfile_new(4096);
	struct boltfile_entry buckets[2];
	uint8_t value[16], inlined[BOLTFILE_INLINE_MAX];

	(void) boltfile_leaf(&f, first, ARRAY_SIZE(first));
	(void) boltfile_leaf(&f, second, ARRAY_SIZE(second));
	(void) boltfile_branch(&f, children, ARRAY_SIZE(children));
	buckets[0] = boltfile_inline("i", first, 1, inlined);
	buckets[1] = boltfile_bucket("t", 4, value);
	boltfile_seal(&f, boltfile_leaf(&f, buckets, 2), BOLT_NO_FREELIST);
	return f;
}

/* Offsets in page 5: the values of "i" and "t" behind two elements. */
enum {
	INLINE_AT = 16 + 2 * 16 + 1,
	INLINE_BYTES = 16 + 16 + 16 + 2,
	TREE_AT = INLINE_AT + INLINE_BYTES + 1,
};

static void test_damage(void)
{
	static const struct {
		uint64_t page;
		size_t offset;
		unsigned width;
		uint64_t value;
		const char *says;
	} cases[] = {
	    /* header */
	    {2, 0, 8, 3, "page 2: it says that it is page 3"},
	    {2, 8, 2, 4, "page 2: neither a branch nor a leaf: flags 0x4"},
	    {2, 8, 2, 3, "page 2: neither a branch nor a leaf: flags 0x3"},
	    {2, 8, 2, 0x10, "page 2: neither a branch nor a leaf: flags 0x10"},
	    {2, 10, 2, 0, "page 2: it is empty and below a branch"},
	    {2, 10, 2, 2, "page 2: element 0 is at 64 and not at 48, behind the one before"},
	    {2, 10, 2, 0xffff, "page 2: it claims 65535 elements"},
	    {2, 10, 2, 0xfffe, "page 2: 65534 elements do not fit into the page"},
	    {2, 12, 4, 4, "page 2: it goes on for 4 pages, beyond the end of the file"},
	    {2, 12, 4, UINT32_MAX,
	     "page 2: it goes on for 4294967295 pages, beyond the end of the file"},
	    {2, 12, 4, 1, "page 2: it takes up 2 pages and needs 71 bytes"},
	    /* elements of a leaf */
	    {2, 16, 4, 2, "page 2: element 0 has unknown flags 0x2"},
	    {2, 20, 4, 49, "page 2: element 0 is at 65 and not at 64, behind the one before"},
	    {2, 20, 4, UINT32_MAX,
	     "page 2: element 0 is at 4294967311 and not at 64, behind the one before"},
	    {2, 24, 4, 0, "page 2: the key of element 0 has 0 bytes"},
	    {2, 24, 4, 32769, "page 2: the key of element 0 has 32769 bytes"},
	    {2, 24, 4, 2, "page 2: element 1 is at 66 and not at 67, behind the one before"},
	    {2, 28, 4, 0, "page 2: element 1 is at 66 and not at 65, behind the one before"},
	    {2, 28, 4, UINT32_MAX, "page 2: element 0 reaches beyond the end of the page"},
	    {2, 60, 4, 4096, "page 2: element 2 reaches beyond the end of the page"},
	    /* order and bounds */
	    {2, 64, 1, 'b', "page 2: the key of element 1 is not above the one before"},
	    {2, 64, 1, 'z', "page 2: the key of element 1 is not above the one before"},
	    {2, 67, 1, 'e', "page 2: its last key is not below the one behind it (page 4)"},
	    {2, 67, 1, 'd', "page 2: its last key is not below the one behind it (page 4)"},
	    {3, 48, 1, 'c', "page 3: its first key is below the one that leads to it (page 4)"},
	    {4, 49, 1, 'c', "page 2: its last key is not below the one behind it (page 4)"},
	    {4, 49, 1, 'e', "page 3: its first key is below the one that leads to it (page 4)"},
	    {4, 49, 1, 'a', "page 4: the key of element 1 is not above the one before"},
	    /* elements of a branch */
	    {4, 10, 2, 0, "page 4: a branch without children"},
	    {4, 24, 8, 0, "page 4: element 0 leads to page 0, outside of the file"},
	    {4, 24, 8, 1, "page 4: element 0 leads to page 1, outside of the file"},
	    {4, 24, 8, 6, "page 4: element 0 leads to page 6, outside of the file"},
	    {4, 24, 8, 3, "page 3: its last key is not below the one behind it (page 4)"},
	    {4, 24, 8, 4, "page 4: its last key is not below the one behind it (page 4)"},
	    {4, 24, 8, 5, "page 5: its last key is not below the one behind it (page 4)"},
	    {4, 40, 8, 2, "page 2: its first key is below the one that leads to it (page 4)"},
	    {4, 36, 4, 4096, "page 4: element 1 reaches beyond the end of the page"},
	    /* buckets */
	    {5, 16, 4, 0, "page 5: the root holds a key that is no bucket"},
	    {5, TREE_AT, 8, 1, "page 1: it is outside of the file"},
	    {5, TREE_AT, 8, 6, "page 6: it is outside of the file"},
	    {5, TREE_AT, 8, 5, "page 5: it is in use twice, or in use and free"},
	    {5, TREE_AT, 8, 0, "page 5: an inline bucket of 0 bytes"},
	    {5, 44, 4, 15, "page 5: a bucket in 15 bytes"},
	    {5, 44, 4, 17, "page 5: a bucket with a page of its own in 17 bytes"},
	    {5, INLINE_AT + 16, 8, 5, "page 5: an inline bucket that is not one leaf"},
	    {5, INLINE_AT + 16 + 8, 2, 1, "page 5: an inline bucket that is not one leaf"},
	    {5, INLINE_AT + 16 + 8, 2, 4, "page 5: neither a branch nor a leaf: flags 0x4"},
	    {5, INLINE_AT + 16 + 10, 2, 0, "page 5: an inline bucket of 34 bytes that needs 16"},
	    {5, INLINE_AT + 16 + 10, 2, 3, "page 5: 3 elements do not fit into the page"},
	    {5, INLINE_AT + 16 + 12, 4, 1, "page 5: an inline bucket that is not one leaf"},
	    {5, INLINE_AT + 32 + 12, 4, 2, "page 5: element 0 reaches beyond the end of the page"},
	    {5, INLINE_AT + 32 + 12, 4, 0, "page 5: an inline bucket of 34 bytes that needs 33"},
	    {5, INLINE_AT + 32, 4, 1, "page 5: a bucket in 1 bytes"},
	};
	struct walk_result result;
	struct seen seen;
	struct boltfile f = small_file();

	CHECK_EQ_STR(walk(&f, &seen, &result), NULL);
	CHECK_EQ_STR(seen.text, "[i]a=1 [t]a=1 b=0 c=3 d=1 e=1 ");
	boltfile_free(&f);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t *p;

		f = small_file();
		p = boltfile_page(&f, cases[i].page) + cases[i].offset;
		if (cases[i].width == 1)
			*p = (uint8_t) cases[i].value;
		else if (cases[i].width == 2)
			boltfile_le16(p, (uint16_t) cases[i].value);
		else if (cases[i].width == 4)
			boltfile_le32(p, (uint32_t) cases[i].value);
		else
			boltfile_le64(p, cases[i].value);
		CHECK_EQ_STR(walk(&f, &seen, &result), cases[i].says);
		boltfile_free(&f);
	}
}

/* What bounds the last child of a branch stands further up. */
static void test_bound_further_up(void)
{
	const struct boltfile_entry entries[] = {{"a", 1, "", 0, false},
	                                         {"b", 1, "", 0, false},
	                                         {"c", 1, "", 0, false},
	                                         {"d", 1, "", 0, false}};
	struct boltfile f = boltfile_new(4096);
	struct boltfile_entry bucket;
	struct walk_result result;
	uint8_t value[16];
	struct seen seen;

	/* Leaves 2 to 5 of one key, branches 6 and 7 above them, 8 above those. */
	for (size_t i = 0; i < 4; i++)
		(void) boltfile_leaf(&f, &entries[i], 1);
	(void) boltfile_branch(&f, (struct boltfile_child[]){{"a", 1, 2}, {"b", 1, 3}}, 2);
	(void) boltfile_branch(&f, (struct boltfile_child[]){{"c", 1, 4}, {"d", 1, 5}}, 2);
	(void) boltfile_branch(&f, (struct boltfile_child[]){{"a", 1, 6}, {"c", 1, 7}}, 2);
	bucket = boltfile_bucket("t", 8, value);
	boltfile_seal(&f, boltfile_leaf(&f, &bucket, 1), BOLT_NO_FREELIST);
	CHECK_EQ_STR(walk(&f, &seen, &result), NULL);
	boltfile_page(&f, 3)[32] = 'c';
	CHECK_EQ_STR(walk(&f, &seen, &result),
	             "page 3: its last key is not below the one behind it (page 6)");
	boltfile_free(&f);
}

/* Two buckets share a page; trees and buckets that are too deep; leaves that are too large. */
static void test_limits(void)
{
	struct boltfile_entry plain = {"k", 1, "v", 1, false}, buckets[2];
	struct boltfile_child child = {"k", 1, 0};
	struct boltfile f = boltfile_new(4096);
	struct walk_result result;
	uint8_t values[2][16];
	struct seen seen;
	uint64_t page;

	page = boltfile_leaf(&f, &plain, 1);
	buckets[0] = boltfile_bucket("a", page, values[0]);
	buckets[1] = boltfile_bucket("b", page, values[1]);
	boltfile_seal(&f, boltfile_leaf(&f, buckets, 2), BOLT_NO_FREELIST);
	CHECK_EQ_STR(walk(&f, &seen, &result), "page 2: it is in use twice, or in use and free");
	boltfile_free(&f);

	f = boltfile_new(4096);
	child.page = boltfile_leaf(&f, &plain, 1);
	for (unsigned i = 1; i < CURSOR_DEPTH_MAX; i++)
		child.page = boltfile_branch(&f, &child, 1);
	buckets[0] = boltfile_bucket("a", child.page, values[0]);
	boltfile_seal(&f, boltfile_leaf(&f, buckets, 1), BOLT_NO_FREELIST);
	CHECK_EQ_STR(walk(&f, &seen, &result), NULL);
	buckets[0] = boltfile_bucket("a", boltfile_branch(&f, &child, 1), values[0]);
	boltfile_seal(&f, boltfile_leaf(&f, buckets, 1), BOLT_NO_FREELIST);
	CHECK_EQ_STR(walk(&f, &seen, &result), "page 2: the tree is deeper than 32 pages");
	boltfile_free(&f);

	f = boltfile_new(4096);
	page = boltfile_leaf(&f, &plain, 1);
	for (unsigned i = 0; i < WALK_NESTING_MAX; i++) {
		buckets[0] = boltfile_bucket("a", page, values[0]);
		page = boltfile_leaf(&f, buckets, 1);
	}
	boltfile_seal(&f, page, BOLT_NO_FREELIST);
	CHECK_EQ_STR(walk(&f, &seen, &result), NULL);
	buckets[0] = boltfile_bucket("a", page, values[0]);
	boltfile_seal(&f, boltfile_leaf(&f, buckets, 1), BOLT_NO_FREELIST);
	CHECK_EQ_STR(walk(&f, &seen, &result), "page 3: more than 8 buckets in each other");
	boltfile_free(&f);

	f = boltfile_new(65536);
	page = boltfile_add(&f, PAGE_LEAF_BYTES_MAX / 65536 + 1);
	boltfile_put_leaf(boltfile_page(&f, page), page, PAGE_LEAF_BYTES_MAX / 65536, &plain, 1);
	buckets[0] = boltfile_bucket("a", page, values[0]);
	boltfile_seal(&f, boltfile_leaf(&f, buckets, 1), BOLT_NO_FREELIST);
	CHECK_EQ_STR(walk(&f, &seen, &result),
	             "page 2: it has 67174400 bytes; this program takes 67108864");
	boltfile_free(&f);
}

/* Leaves of three pages, two, and one, of which each lies in the value of the one before: as many
 * bytes as one likes to read, out of few. */
static void test_overlap(void)
{
	static const char *const names[] = {"a", "b", "c"};
	const struct boltfile_child children[] = {{"a", 1, 2}, {"b", 1, 3}, {"c", 1, 4}};
	struct boltfile f = boltfile_new(4096);
	AUTO(free) uint8_t *value = xcalloc(3, 4096);
	AUTO(cursor_free) struct cursor *cursor = NULL;
	AUTO(bolt_close) struct bolt *db = NULL;
	struct bolt_fault fault = {0};
	struct cursor_entry entry;
	int fd, r;

	CHECK_EQ_INT((int) boltfile_add(&f, 3), 2);
	for (unsigned i = 0; i < 3; i++) {
		struct boltfile_entry e = {names[i], 1, value, (3 - i) * 4096 - 33, false};

		/* What the value has in this place is the next of them. */
		boltfile_put_leaf(boltfile_page(&f, 2 + i), 2 + i, 2 - i, &e, 1);
	}
	boltfile_seal(&f, boltfile_branch(&f, children, 3), BOLT_NO_FREELIST);
	fd = boltfile_fd(&f);
	CHECK_EQ_INT(bolt_open(fd, f.n_pages * f.page_bytes, &fault, &db), 0);
	cursor = cursor_open_root(db);
	do
		r = cursor_next(cursor, &entry);
	while (r > 0);
	CHECK_EQ_INT(r, -EBADMSG);
	CHECK_EQ_STR(fault.what, "page 4: it is in use twice, or lies in another one");
	(void) close(fd);
	boltfile_free(&f);
}

/* What a page holds in memory. */
static size_t held(const struct page *page)
{
	size_t n = 0;

	for (unsigned i = 0; i < PAGE_BUFFERS; i++)
		n += page->buffers[i].n_bytes;
	return n;
}

/* Large leaves in different places are in memory one by one. */
static void test_memory(void)
{
	enum { N_LEAVES = 4, LEAF_PAGES = 8 };
	struct boltfile f = boltfile_new(65536);
	AUTO(free) uint8_t *value = xcalloc(LEAF_PAGES, 65536);
	AUTO(bolt_close) struct bolt *db = NULL;
	struct boltfile_entry e = {"k", 1, value, LEAF_PAGES * 65536 - 33, false};
	uint64_t pages[N_LEAVES];
	struct bolt_fault fault = {0};
	struct page page = {0};
	int fd;

	for (unsigned i = 0; i < N_LEAVES; i++)
		pages[i] = boltfile_leaf(&f, &e, 1);
	boltfile_seal(&f, pages[0], BOLT_NO_FREELIST);
	fd = boltfile_fd(&f);
	CHECK_EQ_INT(bolt_open(fd, f.n_pages * f.page_bytes, &fault, &db), 0);
	for (unsigned i = 0; i < 2 * N_LEAVES; i++) {
		CHECK_EQ_INT(page_load(db, pages[i * 3 % N_LEAVES], 1, &page), 0);
		CHECK_EQ_INT(page.n_bytes, LEAF_PAGES * 65536);
		CHECK(held(&page) <= page.n_bytes + (PAGE_BUFFERS - 1) * PAGE_KEPT_BYTES_MAX);
	}
	page_drop_large(&page);
	CHECK(held(&page) <= PAGE_BUFFERS * PAGE_KEPT_BYTES_MAX);
	page_fini(&page);
	(void) close(fd);
	boltfile_free(&f);
}

int main(void)
{
	test_overlap();
	test_memory();
	test_whole();
	test_cursors();
	test_freelist();
	test_damage();
	test_bound_further_up();
	test_limits();
	return check_result();
}
