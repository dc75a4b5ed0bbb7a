/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes into frames. A frame is read whole, its checksum proven, its payload parsed to the last
 * byte and its revision held against those before it, before anybody sees it. What is wrong at the
 * end of the file and what is wrong before it are told apart by looking for a frame behind that is
 * whole: its checksum goes on from the one that is stored in front of it.
 *
 * Whatever a length says is held against what is left of the file before it is believed; within a
 * payload segment_parse.c does so.
 */
#include "etcdwatch/record/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/macro.h"
#include "base/mem.h"
#include "bolt/crc32c.h"
#include "etcdwatch/record/segment_parse.h"
#include "etcdwatch/record/segment_priv.h"

/* How much may be summed up in search of a frame behind a wrong one; each byte of what is left
 * could begin one. */
#define SEARCH_BYTES_MAX ((uint64_t) 256 << 20)

struct record_reader {
	char *path;
	FILE *f;
	uint64_t size;   /* of the file as it was opened */
	uint64_t offset; /* behind the last whole frame */
	uint32_t sum;
	struct digest *digest;
	struct record_header header;
	int64_t revision;
	enum record_tail tail;
	bool has_gap;
	int r; /* the error that ended it */
	uint8_t *buf;
	size_t buf_size;
	struct record_room room;
	char fault[RECORD_FAULT_MAX];
};

PRINTF_LIKE(3, 4)
static int fail(struct record_reader *rd, int r, const char *fmt, ...)
{
	char what[RECORD_FAULT_MAX / 2];
	va_list ap;

	va_start(ap, fmt);
	(void) vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	(void) snprintf(rd->fault, sizeof(rd->fault), "'%.200s', at byte %" PRIu64 ": %s", rd->path,
	                rd->offset, what);
	rd->r = r;
	return r;
}

/* --- what it means --- */

static int check_end(struct record_reader *rd, const struct record_frame *frame)
{
	uint8_t digest[DIGEST_SHA256_BYTES];

	digest_peek(rd->digest, digest);
	if (memcmp(digest, frame->digest, sizeof(digest)) != 0)
		return fail(rd, -EBADMSG, "the digest in its end is not that of the file");
	return 0;
}

/* Only what was written out of order can fail here: every bit of it has been proven. */
static int check_order(struct record_reader *rd, const struct record_frame *frame)
{
	bool is_wrong = false;

	if (rd->has_gap && frame->type != RECORD_END)
		return fail(rd, -EBADMSG, "something follows a gap");
	switch (frame->type) {
	case RECORD_EVENTS:
		is_wrong = rd->revision == INT64_MAX || frame->revision != rd->revision + 1;
		break;
	case RECORD_PROGRESS:
	case RECORD_END:
		is_wrong = frame->revision != rd->revision;
		break;
	case RECORD_HASH:
		is_wrong = frame->revision > rd->revision;
		break;
	case RECORD_GAP:
		is_wrong = rd->revision == INT64_MAX || frame->revision != rd->revision + 1 ||
		           (frame->last_lost != 0 && frame->last_lost < frame->revision);
		break;
	case RECORD_LEASE:
	case RECORD_COMPACTED:
		break;
	}
	if (is_wrong)
		return fail(rd, -EBADMSG, "a frame of type %d for revision %" PRId64 " follows %" PRId64,
		            (int) frame->type, frame->revision, rd->revision);
	return frame->type == RECORD_END ? check_end(rd, frame) : 0;
}

bool record_tells_time(const struct record_frame *frame)
{
	return frame->type == RECORD_EVENTS || frame->type == RECORD_PROGRESS;
}

/* --- the file --- */

static int read_bytes(struct record_reader *rd, size_t at, size_t len)
{
	if (at + len > rd->buf_size) {
		rd->buf_size = MAX(at + len, (size_t) 4096);
		rd->buf = xreallocarray(rd->buf, rd->buf_size, 1);
	}
	if (fread(rd->buf + at, 1, len, rd->f) == len)
		return 0;
	return fail(rd, -EIO, "%s", ferror(rd->f) ? "cannot be read" : "the file became shorter");
}

/* Whether a whole frame is at `at`, when what is before it has the sum `sum`. */
static bool is_frame(struct bytes b, size_t at, uint32_t sum, uint64_t *budget)
{
	size_t len;

	if (b.len - at < FRAME_HEAD_BYTES + SUM_BYTES || b.data[at + 4] < RECORD_EVENTS ||
	    b.data[at + 4] > RECORD_END)
		return false;
	len = bytes_le32(b.data + at);
	if (len > b.len - at - FRAME_HEAD_BYTES - SUM_BYTES || len > *budget)
		return false;
	len += FRAME_HEAD_BYTES;
	*budget -= MIN(*budget, len);
	return crc32c_update(sum, b.data + at, len) == bytes_le32(b.data + at + len);
}

/* `b` is what is left of the file, and no frame begins it. */
static bool has_frame_behind(struct bytes b, uint32_t sum)
{
	uint64_t budget = SEARCH_BYTES_MAX;
	size_t next;

	if (b.len < FRAME_HEAD_BYTES + SUM_BYTES)
		return false;
	/* Its checksum alone may be wrong. */
	next = (size_t) bytes_le32(b.data) + FRAME_HEAD_BYTES + SUM_BYTES;
	if (next < b.len && is_frame(b, next, crc32c_update(sum, b.data, next - SUM_BYTES), &budget))
		return true;
	for (size_t at = SUM_BYTES; at < b.len; at++) {
		if (is_frame(b, at, bytes_le32(b.data + at - SUM_BYTES), &budget))
			return true;
	}
	return false;
}

static int end_wrong(struct record_reader *rd)
{
	uint64_t left = rd->size - rd->offset, searched = MIN(left, SEARCH_BYTES_MAX);
	int r;

	if (fseeko(rd->f, (off_t) rd->offset, SEEK_SET) < 0)
		return fail(rd, -errno, "cannot be read");
	/* No frame is read any more. */
	free(rd->room.events);
	rd->room = (struct record_room){0};
	r = read_bytes(rd, 0, (size_t) searched);
	if (r < 0)
		return r;
	if (has_frame_behind((struct bytes){.data = rd->buf, .len = (size_t) searched}, rd->sum))
		return fail(rd, -EBADMSG, "a frame is damaged, and others follow it");
	(void) fail(rd, 0, "the last %" PRIu64 " bytes are no whole frame", left);
	rd->tail = RECORD_TAIL_TORN;
	return 0;
}

static int accept(struct record_reader *rd, size_t bytes, struct record_frame *frame)
{
	int r;

	if (!record_parse_payload(&rd->room, rd->buf[4],
	                          (struct bytes){.data = rd->buf + FRAME_HEAD_BYTES,
	                                         .len = bytes - FRAME_HEAD_BYTES - SUM_BYTES},
	                          frame))
		return fail(rd, -EBADMSG, "a frame of type %d that makes no sense", rd->buf[4]);
	r = check_order(rd, frame);
	if (r < 0)
		return r;
	if (frame->type == RECORD_EVENTS)
		rd->revision = frame->revision;
	rd->has_gap |= frame->type == RECORD_GAP;
	rd->sum = bytes_le32(rd->buf + bytes - SUM_BYTES);
	digest_update(rd->digest, rd->buf, bytes);
	rd->offset += bytes;
	if (frame->type != RECORD_END)
		return 1;
	if (rd->offset < rd->size)
		return fail(rd, -EBADMSG, "something follows its end");
	rd->tail = RECORD_TAIL_CLOSED;
	return 1;
}

int record_reader_next(struct record_reader *rd, struct record_frame *ret_frame)
{
	uint64_t left = rd->size - rd->offset;
	struct record_frame frame;
	size_t len;
	int r;

	if (rd->r < 0 || rd->tail != RECORD_TAIL_NONE)
		return rd->r;
	if (left == 0) {
		rd->tail = RECORD_TAIL_OPEN;
		return 0;
	}
	if (left < FRAME_HEAD_BYTES + SUM_BYTES)
		return end_wrong(rd);
	r = read_bytes(rd, 0, FRAME_HEAD_BYTES);
	if (r < 0)
		return r;
	len = bytes_le32(rd->buf);
	if (len > left - FRAME_HEAD_BYTES - SUM_BYTES || len > RECORD_FRAME_BYTES_MAX)
		return end_wrong(rd);
	r = read_bytes(rd, FRAME_HEAD_BYTES, len + SUM_BYTES);
	if (r < 0)
		return r;
	len += FRAME_HEAD_BYTES;
	if (crc32c_update(rd->sum, rd->buf, len) != bytes_le32(rd->buf + len))
		return end_wrong(rd);
	r = accept(rd, len + SUM_BYTES, &frame);
	if (r > 0)
		*ret_frame = frame;
	return r;
}

/* --- the header --- */

static int parse_header(struct record_reader *rd, size_t name_len)
{
	struct record_header *h = &rd->header;
	uint32_t version = bytes_le32(rd->buf + MAGIC_BYTES);
	size_t len = HEADER_BYTES + name_len;

	if (crc32c_update(0, rd->buf, len) != bytes_le32(rd->buf + len))
		return fail(rd, -EBADMSG, "its header is damaged");
	if (version != FORMAT_VERSION)
		return fail(rd, -EPROTONOSUPPORT, "its format has the version %" PRIu32, version);
	record_parse_header((struct bytes){.data = rd->buf, .len = len}, h);
	if (h->first_revision < 1)
		return fail(rd, -EBADMSG, "it begins with revision %" PRId64, h->first_revision);
	rd->revision = h->first_revision - 1;
	rd->sum = bytes_le32(rd->buf + len);
	rd->digest = digest_new(DIGEST_SHA256);
	digest_update(rd->digest, rd->buf, len + SUM_BYTES);
	rd->offset = len + SUM_BYTES;
	return 0;
}

static int read_header(struct record_reader *rd)
{
	size_t name_len;
	int r;

	if (rd->size < HEADER_BYTES + SUM_BYTES)
		return fail(rd, -ENODATA, "it ends before its header does");
	r = read_bytes(rd, 0, HEADER_BYTES);
	if (r < 0)
		return r;
	if (memcmp(rd->buf, MAGIC, MAGIC_BYTES) != 0)
		return fail(rd, -EBADMSG, "it is no segment of a record");
	name_len = bytes_le16(rd->buf + MAGIC_BYTES + 4);
	if (name_len >= RECORD_MEMBER_NAME_MAX)
		return fail(rd, -EBADMSG, "its header is damaged");
	if (rd->size < HEADER_BYTES + name_len + SUM_BYTES)
		return fail(rd, -ENODATA, "it ends before its header does");
	r = read_bytes(rd, HEADER_BYTES, name_len + SUM_BYTES);
	return r < 0 ? r : parse_header(rd, name_len);
}

static int open_file(struct record_reader *rd)
{
	struct stat st;

	rd->f = fopen(rd->path, "re");
	if (rd->f == NULL)
		return fail(rd, -errno, "%s", strerror(errno));
	if (fstat(fileno(rd->f), &st) < 0)
		return fail(rd, -errno, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return fail(rd, -EBADMSG, "it is no regular file");
	rd->size = (uint64_t) st.st_size;
	return read_header(rd);
}

int record_reader_open(const char *path, struct record_reader **ret_reader,
                       char ret_fault[static RECORD_FAULT_MAX])
{
	AUTO(record_reader_free) struct record_reader *rd = NEW0(struct record_reader);
	int r;

	rd->path = xstrdup(path);
	r = open_file(rd);
	if (r < 0) {
		(void) snprintf(ret_fault, RECORD_FAULT_MAX, "%s", rd->fault);
		return r;
	}
	*ret_reader = TAKE_PTR(rd);
	return 0;
}

void record_reader_free(struct record_reader *rd)
{
	if (rd == NULL)
		return;
	if (rd->f != NULL)
		(void) fclose(rd->f);
	digest_free(rd->digest);
	free(rd->path);
	free(rd->buf);
	free(rd->room.events);
	free(rd);
}

/* The sum of an END goes on from the one in front of it. */
static int parse_last(struct record_reader *rd, struct record_frame *ret_end)
{
	enum { END_BYTES = FRAME_HEAD_BYTES + 2 * 8 + DIGEST_SHA256_BYTES };
	uint64_t at = rd->size - END_BYTES - SUM_BYTES;
	int r;

	if (rd->size < rd->offset + END_BYTES + SUM_BYTES)
		return -ENODATA;
	if (fseeko(rd->f, (off_t) (at - SUM_BYTES), SEEK_SET) < 0)
		return fail(rd, -errno, "cannot be read");
	r = read_bytes(rd, 0, END_BYTES + 2 * SUM_BYTES);
	if (r < 0)
		return r;
	if (rd->buf[SUM_BYTES + 4] != RECORD_END ||
	    bytes_le32(rd->buf + SUM_BYTES) != END_BYTES - FRAME_HEAD_BYTES ||
	    crc32c_update(bytes_le32(rd->buf), rd->buf + SUM_BYTES, END_BYTES) !=
	        bytes_le32(rd->buf + SUM_BYTES + END_BYTES))
		return -ENODATA;
	return record_parse_payload(&rd->room, RECORD_END,
	                            (struct bytes){.data = rd->buf + SUM_BYTES + FRAME_HEAD_BYTES,
	                                           .len = END_BYTES - FRAME_HEAD_BYTES},
	                            ret_end)
	           ? 0
	           : -ENODATA;
}

int record_peek_end(const char *path, struct record_header *ret_header,
                    struct record_frame *ret_end, uint64_t *ret_bytes,
                    char ret_fault[static RECORD_FAULT_MAX])
{
	AUTO(record_reader_free) struct record_reader *rd = NULL;
	struct record_frame end;
	int r;

	r = record_reader_open(path, &rd, ret_fault);
	if (r < 0)
		return r;
	r = parse_last(rd, &end);
	if (r < 0) {
		(void) snprintf(ret_fault, RECORD_FAULT_MAX, "%s", rd->fault);
		return r;
	}
	*ret_header = rd->header;
	*ret_bytes = rd->size;
	*ret_end = end;
	return 0;
}

const struct record_header *record_reader_header(const struct record_reader *rd)
{
	return &rd->header;
}

const char *record_reader_path(const struct record_reader *rd)
{
	return rd->path;
}

enum record_tail record_reader_tail(const struct record_reader *rd)
{
	return rd->tail;
}

uint64_t record_reader_offset(const struct record_reader *rd)
{
	return rd->offset;
}

int64_t record_reader_revision(const struct record_reader *rd)
{
	return rd->revision;
}

const char *record_reader_fault(const struct record_reader *rd)
{
	return rd->fault;
}

uint32_t record_reader_sum(const struct record_reader *rd)
{
	return rd->sum;
}

struct digest *record_reader_take_digest(struct record_reader *rd)
{
	return TAKE_PTR(rd->digest);
}
