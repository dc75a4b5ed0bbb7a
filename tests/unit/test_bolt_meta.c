/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a file: which meta page is in force, at every page size, and what is refused. */
#include "bolt/bolt.h"

#include <errno.h>

#include "tests/unit/boltfile.h"
#include "tests/unit/check.h"

static const uint32_t page_sizes[] = {4096, 8192, 16384, 32768, 65536};

/* A file of nothing but a root bucket without buckets. */
static struct boltfile empty_file(uint32_t page_bytes)
{
	struct boltfile f = boltfile_new(page_bytes);
	uint64_t root = boltfile_leaf(&f, NULL, 0);

	boltfile_seal(&f, root, BOLT_NO_FREELIST);
	return f;
}

/* Opens it and says what is wrong, or which transaction is in force. */
static const char *outcome(const struct boltfile *f, uint64_t n_bytes)
{
	static char text[BOLT_WHAT_MAX];
	struct bolt_fault fault = {0};
	struct bolt *db = NULL;
	int fd = boltfile_fd(f);
	int r = bolt_open(fd, n_bytes, &fault, &db);

	if (r == -EBADMSG)
		(void) snprintf(text, sizeof(text), "%s", fault.what);
	else
		(void) snprintf(text, sizeof(text), "r=%d txid=%d of %u", r,
		                db != NULL ? (int) bolt_get_meta(db)->txid : -1,
		                db != NULL ? bolt_get_meta(db)->page_bytes : 0);
	bolt_close(db);
	(void) close(fd);
	return text;
}

static void test_page_sizes(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(page_sizes); i++) {
		struct boltfile f = empty_file(page_sizes[i]);
		uint64_t all = f.n_pages * f.page_bytes;
		char want[64];

		(void) snprintf(want, sizeof(want), "r=0 txid=7 of %u", page_sizes[i]);
		CHECK_EQ_STR(outcome(&f, all), want);

		/* The second one is newer. */
		boltfile_meta(&f, 1, 2, BOLT_NO_FREELIST, 9);
		(void) snprintf(want, sizeof(want), "r=0 txid=9 of %u", page_sizes[i]);
		CHECK_EQ_STR(outcome(&f, all), want);

		/* The first one is broken, and so where the second one stands is unknown. */
		boltfile_page(&f, 0)[20] ^= 1;
		CHECK_EQ_STR(outcome(&f, all), want);

		/* Both are. */
		boltfile_page(&f, 1)[70] ^= 0x80;
		CHECK_EQ_STR(outcome(&f, all),
		             "page 0: no good meta page: it is of another version of the format");
		boltfile_free(&f);
	}
}

/* What looks like a second one, where by its own account it cannot be, is none: here the remains of
 * one in the middle of the first page. */
static void test_misplaced_second(void)
{
	struct boltfile f = empty_file(8192);
	uint8_t *p = boltfile_page(&f, 0);

	memcpy(p + 4096, boltfile_page(&f, 1), 80);
	boltfile_le64(p + 4096 + 64, 99);
	boltfile_seal_meta(p + 4096);
	p[20] ^= 1;
	CHECK_EQ_STR(outcome(&f, f.n_pages * 8192), "r=0 txid=6 of 8192");
	boltfile_free(&f);
}

/* A broken second one does not matter, except for a whole copy. */
static void test_second(void)
{
	struct boltfile f = empty_file(4096);
	struct bolt_fault fault = {0};
	struct bolt *db = NULL;
	int fd;

	boltfile_page(&f, 1)[72] ^= 1;
	CHECK_EQ_STR(outcome(&f, f.n_pages * 4096), "r=0 txid=7 of 4096");
	fd = boltfile_fd(&f);
	CHECK_EQ_INT(bolt_open(fd, f.n_pages * 4096, &fault, &db), 0);
	CHECK_EQ_INT(bolt_check_both_metas(db), -EBADMSG);
	CHECK_EQ_STR(fault.what, "page 1: no good meta page: its checksum is wrong");
	CHECK_EQ_INT((long long) fault.page, 1);
	bolt_close(db);
	(void) close(fd);

	boltfile_meta(&f, 1, 2, BOLT_NO_FREELIST, 5);
	fd = boltfile_fd(&f);
	CHECK_EQ_INT(bolt_open(fd, f.n_pages * 4096, &fault, &db), 0);
	CHECK_EQ_INT(bolt_check_both_metas(db), -EBADMSG);
	CHECK_EQ_STR(fault.what, "page 1: the second meta page is no copy of the first");
	bolt_close(db);
	(void) close(fd);

	boltfile_meta(&f, 1, 2, BOLT_NO_FREELIST, 6);
	fd = boltfile_fd(&f);
	CHECK_EQ_INT(bolt_open(fd, f.n_pages * 4096, &fault, &db), 0);
	CHECK_EQ_INT(bolt_check_both_metas(db), 0);
	bolt_close(db);
	(void) close(fd);
	boltfile_free(&f);
}

/* Fields that are signed by their checksum and still impossible; both meta pages have them. */
static void test_impossible(void)
{
	static const struct {
		size_t offset;
		uint64_t value;
		const char *says;
	} cases[] = {
	    {0, 3, "page 0: no good meta page: its header is not that of a meta page at its place"},
	    {8, 2, "page 0: no good meta page: its header is not that of a meta page at its place"},
	    {16, 0, "page 0: no good meta page: it does not begin as bbolt's do (magic number)"},
	    {24, 2048, "page 0: no good meta page: it names a page size that is none"},
	    {24, 12288, "page 0: no good meta page: it names a page size that is none"},
	    {24, 131072, "page 0: no good meta page: it names a page size that is none"},
	    {32, 0, "page 0: no good meta page: the root bucket lies outside of the file"},
	    {32, 3, "page 0: no good meta page: the root bucket lies outside of the file"},
	    {48, 3, "page 0: no good meta page: the list of free pages lies outside of the file"},
	    {48, 1, "page 0: no good meta page: the list of free pages lies outside of the file"},
	    {56, 4, "the file is cut off: it has 12288 bytes, and 4 pages of 4096 bytes"},
	    {56, UINT64_MAX,
	     "the file is cut off: it has 12288 bytes, and 18446744073709551615 pages "
	     "of 4096 bytes"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct boltfile f = empty_file(4096);

		for (uint64_t page = 0; page < 2; page++) {
			uint8_t *p = boltfile_page(&f, page) + cases[i].offset;

			if (cases[i].offset == 8)
				boltfile_le16(p, (uint16_t) cases[i].value);
			else if (cases[i].offset == 16 || cases[i].offset == 24)
				boltfile_le32(p, (uint32_t) cases[i].value);
			else
				boltfile_le64(p, cases[i].value);
			boltfile_seal_meta(boltfile_page(&f, page));
		}
		CHECK_EQ_STR(outcome(&f, f.n_pages * f.page_bytes), cases[i].says);
		boltfile_free(&f);
	}
}

static void test_short(void)
{
	struct boltfile f = empty_file(4096);

	CHECK_EQ_STR(outcome(&f, 0), "page 0: no good meta page: the file ends before it");
	CHECK_EQ_STR(outcome(&f, 79), "page 0: no good meta page: the file ends before it");
	CHECK_EQ_STR(outcome(&f, 4096),
	             "the file is cut off: it has 4096 bytes, and 3 pages of 4096 bytes");
	CHECK_EQ_STR(outcome(&f, 3 * 4096 - 1),
	             "the file is cut off: it has 12287 bytes, and 3 pages of 4096 bytes");
	CHECK_EQ_STR(outcome(&f, BOLT_FILE_BYTES_MAX + 1),
	             "the file has 1099511627777 bytes; this program takes 1099511627776");
	boltfile_free(&f);

	/* What is claimed of a file is not believed either. */
	f = empty_file(4096);
	boltfile_meta(&f, 0, 2, BOLT_NO_FREELIST, 7);
	CHECK_EQ_STR(outcome(&f, 5 * 4096), "r=0 txid=7 of 4096");
	boltfile_free(&f);
}

/* Of pages of different sizes neither can be trusted. */
static void test_two_sizes(void)
{
	struct boltfile f = empty_file(8192);
	uint8_t *p = boltfile_page(&f, 1);

	boltfile_le32(p + 24, 4096);
	boltfile_seal_meta(p);
	CHECK_EQ_STR(outcome(&f, f.n_pages * 8192), "page 1: the meta pages name different page sizes");
	boltfile_free(&f);
}

int main(void)
{
	test_page_sizes();
	test_misplaced_second();
	test_second();
	test_impossible();
	test_short();
	test_two_sizes();
	return check_result();
}
