/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening: the two meta pages are pages 0 and 1, so where the second one stands depends on the page
 * size, which is in either of them. The first is tried as it is; for the second, each page size
 * that there can be, until one stands where the page size that it names puts it.
 */
#include "bolt/bolt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/mem.h"
#include "bolt/bytes.h"

#define MAGIC 0xed0cdaedu
#define VERSION 2u
#define PAGE_HEADER_BYTES 16
#define PAGE_IS_META 4u
#define META_SUMMED_BYTES 56 /* what its checksum covers */
#define META_BYTES BOLT_META_BYTES
#define N_METAS 2

struct bolt {
	int fd;
	uint64_t n_bytes;
	struct bolt_fault *fault;
	struct bolt_meta metas[N_METAS];
	const char *broken[N_METAS]; /* why; NULL: it is good */
	struct bolt_meta *meta;
	bolt_pass_fn on_pass; /* NULL: nobody waits */
	void *userdata;
	const char *pass; /* NULL: none has begun */
	uint64_t pass_bytes, pass_of_bytes;
};

void bolt_note_fault(struct bolt *db, uint64_t page, const char *fmt, ...)
{
	struct bolt_fault *fault = db->fault;
	size_t len = 0;
	va_list ap;

	fault->page = page;
	if (page != BOLT_NO_PAGE)
		len = (size_t) snprintf(fault->what, sizeof(fault->what),
		                        "page %llu: ", (unsigned long long) page);
	va_start(ap, fmt);
	(void) vsnprintf(fault->what + len, sizeof(fault->what) - len, fmt, ap);
	va_end(ap);
}

int bolt_read(struct bolt *db, uint64_t offset, void *buf, size_t len)
{
	uint8_t *to = buf;

	if (offset > db->n_bytes || len > db->n_bytes - offset)
		return bolt_fail(db, BOLT_NO_PAGE, "the file ends at %llu, before byte %llu",
		                 (unsigned long long) db->n_bytes, (unsigned long long) (offset + len));
	while (len > 0) {
		ssize_t n = pread(db->fd, to, len, (off_t) offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int r = -errno;

			bolt_note_fault(db, BOLT_NO_PAGE, "cannot read at byte %llu: %s",
			                (unsigned long long) offset, strerror(-r));
			return r;
		}
		if (n == 0)
			return bolt_fail(db, BOLT_NO_PAGE, "the file became shorter while it was read");
		to += n;
		offset += (uint64_t) n;
		len -= (size_t) n;
	}
	return 0;
}

/* --- meta pages --- */

/* FNV-1a (draft-eastlake-fnv), 64 bits. */
static uint64_t checksum(const uint8_t *p, size_t len)
{
	uint64_t sum = 0xcbf29ce484222325u;

	for (size_t i = 0; i < len; i++)
		sum = (sum ^ p[i]) * 0x100000001b3u;
	return sum;
}

static bool is_page_size(uint64_t n)
{
	return n >= BOLT_PAGE_BYTES_MIN && n <= BOLT_PAGE_BYTES_MAX && (n & (n - 1)) == 0;
}

/* Why these bytes are no meta page; NULL when they are one. */
static const char *parse_meta(const uint8_t *p, uint64_t id, struct bolt_meta *ret_meta)
{
	const uint8_t *meta = p + PAGE_HEADER_BYTES;
	struct bolt_meta m = {
	    .page_bytes = bytes_le32(meta + 8),
	    .root = bytes_le64(meta + 16),
	    .freelist = bytes_le64(meta + 32),
	    .n_pages = bytes_le64(meta + 40),
	    .txid = bytes_le64(meta + 48),
	};

	if (bytes_le32(meta) != MAGIC)
		return "it does not begin as bbolt's do (magic number)";
	if (bytes_le32(meta + 4) != VERSION)
		return "it is of another version of the format";
	if (bytes_le64(meta + META_SUMMED_BYTES) != checksum(meta, META_SUMMED_BYTES))
		return "its checksum is wrong";
	if (bytes_le64(p) != id || bytes_le16(p + 8) != PAGE_IS_META || bytes_le16(p + 10) != 0 ||
	    bytes_le32(p + 12) != 0)
		return "its header is not that of a meta page at its place";
	if (!is_page_size(m.page_bytes))
		return "it names a page size that is none";
	if (m.root < N_METAS || m.root >= m.n_pages)
		return "the root bucket lies outside of the file";
	if (m.freelist != BOLT_NO_FREELIST && (m.freelist < N_METAS || m.freelist >= m.n_pages))
		return "the list of free pages lies outside of the file";
	*ret_meta = m;
	return NULL;
}

static void put_le(uint8_t *p, uint64_t v, size_t n_bytes)
{
	v = htole64(v);
	memcpy(p, &v, n_bytes);
}

void bolt_format_meta(const struct bolt_meta *m, uint64_t id, uint8_t page[static BOLT_META_BYTES])
{
	uint8_t *meta = page + PAGE_HEADER_BYTES;

	memset(page, 0, META_BYTES);
	put_le(page, id, 8);
	put_le(page + 8, PAGE_IS_META, 2);
	put_le(meta, MAGIC, 4);
	put_le(meta + 4, VERSION, 4);
	put_le(meta + 8, m->page_bytes, 4);
	put_le(meta + 16, m->root, 8);
	put_le(meta + 32, m->freelist, 8);
	put_le(meta + 40, m->n_pages, 8);
	put_le(meta + 48, m->txid, 8);
	put_le(meta + META_SUMMED_BYTES, checksum(meta, META_SUMMED_BYTES), 8);
}

/* 1 if there is one; 0 if not; or an error of reading. */
static int read_meta(struct bolt *db, unsigned i, uint64_t offset)
{
	uint8_t p[META_BYTES];
	int r;

	if (offset + sizeof(p) > db->n_bytes) {
		db->broken[i] = "the file ends before it";
		return 0;
	}
	r = bolt_read(db, offset, p, sizeof(p));
	if (r < 0)
		return r;
	db->broken[i] = parse_meta(p, i, &db->metas[i]);
	return db->broken[i] == NULL ? 1 : 0;
}

/* With the first broken, only the place can tell the page size. */
static int look_for_second_meta(struct bolt *db)
{
	for (uint64_t at = BOLT_PAGE_BYTES_MIN; at <= BOLT_PAGE_BYTES_MAX; at *= 2) {
		int r = read_meta(db, 1, at);

		if (r < 0)
			return r;
		if (r > 0 && db->metas[1].page_bytes == at)
			return 1;
	}
	return 0;
}

static int read_metas(struct bolt *db)
{
	int first, second;

	first = read_meta(db, 0, 0);
	if (first < 0)
		return first;
	if (first > 0)
		second = read_meta(db, 1, db->metas[0].page_bytes);
	else
		second = look_for_second_meta(db);
	if (second < 0)
		return second;
	if (first == 0 && second == 0)
		return bolt_fail(db, 0, "no good meta page: %s", db->broken[0]);
	if (first > 0 && second > 0 && db->metas[0].page_bytes != db->metas[1].page_bytes)
		return bolt_fail(db, 1, "the meta pages name different page sizes");
	db->meta = second > 0 && (first == 0 || db->metas[1].txid > db->metas[0].txid) ? &db->metas[1]
	                                                                               : &db->metas[0];
	if (db->meta->n_pages > db->n_bytes / db->meta->page_bytes)
		return bolt_fail(db, BOLT_NO_PAGE,
		                 "the file is cut off: it has %llu bytes, and %llu pages of %u bytes",
		                 (unsigned long long) db->n_bytes, (unsigned long long) db->meta->n_pages,
		                 db->meta->page_bytes);
	return 0;
}

int bolt_open(int fd, uint64_t n_bytes, struct bolt_fault *fault, struct bolt **ret_db)
{
	AUTO(bolt_close) struct bolt *db = NEW0(struct bolt);
	int r;

	db->fd = fd;
	db->n_bytes = n_bytes;
	db->fault = fault;
	if (n_bytes > BOLT_FILE_BYTES_MAX)
		return bolt_fail(db, BOLT_NO_PAGE, "the file has %llu bytes; this program takes %llu",
		                 (unsigned long long) n_bytes, (unsigned long long) BOLT_FILE_BYTES_MAX);
	r = read_metas(db);
	if (r < 0)
		return r;
	*ret_db = TAKE_PTR(db);
	return 0;
}

void bolt_close(struct bolt *db)
{
	free(db);
}

const struct bolt_meta *bolt_get_meta(const struct bolt *db)
{
	return db->meta;
}

/* --- how far it is --- */

void bolt_on_pass(struct bolt *db, bolt_pass_fn fn, void *userdata)
{
	db->on_pass = fn;
	db->userdata = userdata;
}

static void tell_pass(const struct bolt *db)
{
	if (db->on_pass != NULL && db->pass != NULL)
		db->on_pass(db->pass, db->pass_bytes, db->pass_of_bytes, db->userdata);
}

void bolt_pass_begin(struct bolt *db, const char *pass, bool is_whole)
{
	db->pass = pass;
	db->pass_bytes = 0;
	db->pass_of_bytes = is_whole ? db->meta->n_pages * db->meta->page_bytes : 0;
	tell_pass(db);
}

void bolt_pass_add(struct bolt *db, uint64_t bytes)
{
	db->pass_bytes += bytes;
	/* A page above may be looked at again. */
	if (db->pass_of_bytes > 0)
		db->pass_bytes = MIN(db->pass_bytes, db->pass_of_bytes);
	tell_pass(db);
}

void bolt_pass_end(struct bolt *db)
{
	db->pass = NULL;
}

/* --- others --- */

int bolt_check_both_metas(struct bolt *db)
{
	const struct bolt_meta *a = &db->metas[0], *b = &db->metas[1];

	for (unsigned i = 0; i < N_METAS; i++) {
		if (db->broken[i] != NULL)
			return bolt_fail(db, i, "no good meta page: %s", db->broken[i]);
	}
	if (a->root != b->root || a->freelist != b->freelist || a->n_pages != b->n_pages ||
	    a->txid != b->txid + 1)
		return bolt_fail(db, 1, "the second meta page is no copy of the first");
	return 0;
}

int bolt_is_locked(const char *path)
{
	AUTO(close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	return errno == EWOULDBLOCK ? 1 : -errno;
}
