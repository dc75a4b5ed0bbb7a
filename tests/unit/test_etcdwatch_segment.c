/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments of the record: what is written is read again, frame by frame; cut off anywhere they end
 * with what was whole, and a byte changed anywhere, a frame missing, doubled or swapped is told,
 * with where.
 */
#include "etcdwatch/record/segment.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "base/mem.h"
#include "bolt/bytes.h"
#include "etcdwatch/record/segment_parse.h"
#include "bolt/crc32c.h"
#include "tests/unit/recordfile.h"
#include "tests/unit/scratch.h"

#define FILE_NAME "x.rec"
#define TEXT_MAX 4096

/* --- in words --- */

PRINTF_LIKE(3, 4)
static size_t say(char *text, size_t len, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text + len, TEXT_MAX - len, fmt, ap);
	va_end(ap);
	return MIN(len + (size_t) n, (size_t) TEXT_MAX - 1);
}

static size_t say_event(char *text, size_t len, const struct record_event *e)
{
	if (e->is_delete)
		return say(text, len, " del(%.*s)", (int) e->key.len, (const char *) e->key.data);
	return say(text, len, " put(%.*s=%.*s %" PRId64 " %" PRId64 " %" PRIx64 ")", (int) e->key.len,
	           (const char *) e->key.data, (int) e->value.len, (const char *) e->value.data,
	           e->create_revision, e->version, (uint64_t) e->lease);
}

static size_t say_frame(char *text, size_t len, const struct record_frame *f)
{
	static const char *const names[] = {
	    [RECORD_EVENTS] = "events", [RECORD_PROGRESS] = "progress",   [RECORD_LEASE] = "lease",
	    [RECORD_HASH] = "hash",     [RECORD_COMPACTED] = "compacted", [RECORD_GAP] = "gap",
	    [RECORD_END] = "end",
	};

	len = say(text, len, "%s %" PRId64 " @%" PRId64, names[f->type], f->revision, f->wall_us);
	for (size_t i = 0; i < f->n_events; i++)
		len = say_event(text, len, &f->events[i]);
	if (f->type == RECORD_LEASE)
		len = say(text, len, " %" PRIx64 " ttl %" PRId64, (uint64_t) f->lease, f->ttl_s);
	if (f->type == RECORD_HASH)
		len = say(text, len, " %" PRId64 " %08x of %" PRIx64, f->compact_revision, f->hash,
		          f->member_id);
	if (f->type == RECORD_GAP)
		len = say(text, len, "..%" PRId64 " %.*s", f->last_lost, (int) f->reason.len,
		          (const char *) f->reason.data);
	return say(text, len, "\n");
}

/* How many frames, and how it ended. */
static int read_all(char text[static TEXT_MAX], enum record_tail *ret_tail, size_t *ret_n,
                    char fault[static RECORD_FAULT_MAX])
{
	AUTO(record_reader_free) struct record_reader *reader = NULL;
	struct record_frame frame;
	size_t len = 0;
	int r;

	*ret_n = 0;
	*ret_tail = RECORD_TAIL_NONE;
	text[0] = fault[0] = '\0';
	r = record_reader_open(FILE_NAME, &reader, fault);
	if (r < 0)
		return r;
	while ((r = record_reader_next(reader, &frame)) > 0) {
		len = say_frame(text, len, &frame);
		++*ret_n;
	}
	/* Nothing comes behind the end. */
	CHECK_EQ_INT(record_reader_next(reader, &frame), r);
	*ret_tail = record_reader_tail(reader);
	(void) snprintf(fault, RECORD_FAULT_MAX, "%s", record_reader_fault(reader));
	return r;
}

static void expect(int line, const char *want, enum record_tail want_tail)
{
	char text[TEXT_MAX], fault[RECORD_FAULT_MAX];
	enum record_tail tail;
	size_t n;

	check_int(__FILE__, line, "read", read_all(text, &tail, &n, fault), 0);
	check_str(__FILE__, line, "frames", text, want);
	check_int(__FILE__, line, "tail", tail, want_tail);
}

/* That it fails with `r`, having read `n` frames, and says all of `words`. */
static void expect_fault(int line, int r, size_t n, const char *words)
{
	char text[TEXT_MAX], fault[RECORD_FAULT_MAX];
	enum record_tail tail;
	size_t got;

	check_int(__FILE__, line, "read", read_all(text, &tail, &got, fault), r);
	check_int(__FILE__, line, "frames", (long long) got, (long long) n);
	if (!check_true(__FILE__, line, words, strstr(fault, words) != NULL))
		(void) fprintf(stderr, "  fault: %s\n", fault);
}

#define EXPECT(want, tail) expect(__LINE__, want, tail)
#define EXPECT_FAULT(r, n, words) expect_fault(__LINE__, r, n, words)

/* --- tests --- */

static const char all_kinds[] =
    "events 7 @7000001 put(a=one 7 1 0) del(bb) put(=\x01 3 9 8000000000000001)\n"
    "lease 0 @7000002 8000000000000001 ttl 60\n"
    "progress 7 @8000000\n"
    "events 8 @9000000 put(k= 8 1 0)\n"
    "hash 8 @9500000 5 0badcafe of a1\n"
    "compacted 6 @9600000\n"
    "gap 9 @9700000..12 slow disk\n"
    "end 8 @8000001\n";

static void make_all_kinds(struct recordfile *file, uint8_t digest[static DIGEST_SHA256_BYTES])
{
	static const uint8_t previous[DIGEST_SHA256_BYTES] = {1, 2, 3};
	const struct record_event events[] = {
	    {.key = bytes_of_text("a"),
	     .create_revision = 7,
	     .version = 1,
	     .value = bytes_of_text("one")},
	    {.is_delete = true, .key = bytes_of_text("bb")},
	    {.create_revision = 3,
	     .version = 9,
	     .lease = INT64_MIN + 1,
	     .value = bytes_of_text("\x01")},
	};
	const struct record_event empty = {
	    .key = bytes_of_text("k"), .create_revision = 8, .version = 1};
	const struct record_frame frames[] = {
	    {.type = RECORD_EVENTS,
	     .revision = 7,
	     .wall_us = 7000001,
	     .events = events,
	     .n_events = ARRAY_SIZE(events)},
	    {.type = RECORD_LEASE, .lease = INT64_MIN + 1, .ttl_s = 60, .wall_us = 7000002},
	    {.type = RECORD_PROGRESS, .revision = 7, .wall_us = 8000000},
	    {.type = RECORD_EVENTS, .revision = 8, .wall_us = 9000000, .events = &empty, .n_events = 1},
	    {.type = RECORD_HASH,
	     .revision = 8,
	     .compact_revision = 5,
	     .wall_us = 9500000,
	     .hash = 0x0badcafe,
	     .member_id = 0xa1},
	    {.type = RECORD_COMPACTED, .revision = 6, .wall_us = 9600000},
	    {.type = RECORD_GAP,
	     .revision = 9,
	     .last_lost = 12,
	     .wall_us = 9700000,
	     .reason = bytes_of_text("slow disk")},
	};

	recordfile_begin(file, 7, 3, previous);
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
		recordfile_add(file, &frames[i]);
	recordfile_end(file, 8, digest);
}

static void test_all_kinds(void)
{
	char fault[RECORD_FAULT_MAX];
	uint8_t digest[DIGEST_SHA256_BYTES], of_bytes[DIGEST_SHA256_BYTES];
	AUTO(record_reader_free) struct record_reader *reader = NULL;
	const struct record_header *header;
	struct recordfile file;

	make_all_kinds(&file, digest);
	digest_sha256(file.bytes, file.ends[file.n_ends - 2], of_bytes);
	CHECK(memcmp(digest, of_bytes, sizeof(digest)) == 0);
	recordfile_close(&file, FILE_NAME);
	EXPECT(all_kinds, RECORD_TAIL_CLOSED);
	if (!CHECK_EQ_INT(record_reader_open(FILE_NAME, &reader, fault), 0))
		return;
	header = record_reader_header(reader);
	CHECK(header->sequence == 3 && header->cluster_id == 0xc1 && header->member_id == 0xa);
	CHECK_EQ_STR(header->member, "cp1");
	CHECK(header->first_revision == 7 && header->wall_us == 7000000);
	CHECK(header->previous[2] == 3 && !record_begins_chain(header));
	CHECK_EQ_INT(record_reader_revision(reader), 6);
	CHECK_EQ_INT(record_reader_offset(reader), file.ends[0]);
	CHECK_EQ_STR(record_reader_path(reader), FILE_NAME);
}

/* However many bytes got to the disk: the frames that are whole, and what is behind is said. */
static void test_cut_anywhere(void)
{
	char text[TEXT_MAX], fault[RECORD_FAULT_MAX];
	uint8_t digest[DIGEST_SHA256_BYTES];
	struct recordfile file;
	size_t whole = 0, n;

	make_all_kinds(&file, digest);
	for (size_t len = 0; len <= file.len; len++) {
		enum record_tail tail;
		int r;

		whole += len == file.ends[whole];
		recordfile_save(&file, len, FILE_NAME);
		r = read_all(text, &tail, &n, fault);
		if (whole == 0) {
			CHECK_EQ_INT(r, -ENODATA);
			continue;
		}
		CHECK_EQ_INT(r, 0);
		CHECK_EQ_INT(n, whole - 1);
		CHECK(strncmp(text, all_kinds, strlen(text)) == 0);
		if (len == file.len)
			CHECK_EQ_INT(tail, RECORD_TAIL_CLOSED);
		else
			CHECK_EQ_INT(tail, len == file.ends[whole - 1] ? RECORD_TAIL_OPEN : RECORD_TAIL_TORN);
	}
	record_writer_free(file.writer);
}

/* A byte changed anywhere: nothing wrong is read, and it is damage wherever something follows. */
static void test_change_anywhere(void)
{
	char text[TEXT_MAX], fault[RECORD_FAULT_MAX], where[64];
	uint8_t digest[DIGEST_SHA256_BYTES];
	struct recordfile file;
	size_t n_frames;

	make_all_kinds(&file, digest);
	n_frames = file.n_ends - 1;
	for (size_t at = 0; at < file.len; at++) {
		enum record_tail tail;
		size_t before = 0, n;
		int r;

		while (file.ends[before] <= at)
			before++;
		file.bytes[at] ^= 0x15;
		recordfile_save(&file, file.len, FILE_NAME);
		file.bytes[at] ^= 0x15;
		r = read_all(text, &tail, &n, fault);
		CHECK(strncmp(text, all_kinds, strlen(text)) == 0);
		if (before == 0) {
			CHECK(r == -EBADMSG || r == -ENODATA);
			continue;
		}
		CHECK_EQ_INT(n, before - 1);
		(void) snprintf(where, sizeof(where),
		                "'" FILE_NAME "', at byte %zu: ", file.ends[before - 1]);
		if (!CHECK(strstr(fault, where) != NULL))
			(void) fprintf(stderr, "  byte %zu: %s\n", at, fault);
		if (before < n_frames)
			CHECK_EQ_INT(r, -EBADMSG);
		else
			CHECK(r == 0 && tail == RECORD_TAIL_TORN);
	}
	record_writer_free(file.writer);
}

static size_t append(uint8_t *to, size_t len, const struct recordfile *file, size_t i)
{
	size_t bytes = file->ends[i] - (i > 0 ? file->ends[i - 1] : 0);

	memcpy(to + len, file->bytes + file->ends[i] - bytes, bytes);
	return len + bytes;
}

/* Frames that are right each for itself, and not where they were. */
static void test_out_of_place(void)
{
	static const struct {
		const char *what;
		size_t order[8]; /* 0 is the header */
		size_t n;
	} cases[] = {
	    {"missing", {0, 1, 3, 4, 5}, 5},
	    {"doubled", {0, 1, 2, 2, 3, 4, 5}, 7},
	    {"swapped", {0, 1, 3, 2, 4, 5}, 6},
	};
	struct recordfile file, other;

	recordfile_begin(&file, 5, 1, NULL);
	for (int64_t i = 0; i < 5; i++)
		recordfile_put(&file, 5 + i);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		other.len = 0;
		for (size_t k = 0; k < cases[i].n; k++)
			other.len = append(other.bytes, other.len, &file, cases[i].order[k]);
		recordfile_save(&other, other.len, FILE_NAME);
		EXPECT_FAULT(-EBADMSG, cases[i].order[2] == 2 ? 2 : 1, "a frame is damaged");
	}
	record_writer_free(file.writer);
}

/* Written with right checksums, and wrong all the same. */
static void test_wrong_order(void)
{
	uint8_t digest[DIGEST_SHA256_BYTES];
	struct recordfile file;

	recordfile_begin(&file, 5, 1, NULL);
	recordfile_put(&file, 6);
	recordfile_close(&file, FILE_NAME);
	EXPECT_FAULT(-EBADMSG, 0, "for revision 6 follows 4");

	recordfile_begin(&file, 5, 1, NULL);
	recordfile_put(&file, 5);
	recordfile_put(&file, 5);
	recordfile_close(&file, FILE_NAME);
	EXPECT_FAULT(-EBADMSG, 1, "for revision 5 follows 5");

	recordfile_begin(&file, 5, 1, NULL);
	recordfile_progress(&file, 5, 1);
	recordfile_close(&file, FILE_NAME);
	EXPECT_FAULT(-EBADMSG, 0, "for revision 5 follows 4");

	recordfile_begin(&file, 5, 1, NULL);
	recordfile_gap(&file, 5, 9);
	recordfile_put(&file, 5);
	recordfile_close(&file, FILE_NAME);
	EXPECT_FAULT(-EBADMSG, 1, "something follows a gap");

	recordfile_begin(&file, 5, 1, NULL);
	recordfile_end(&file, 4, digest);
	recordfile_put(&file, 5);
	recordfile_close(&file, FILE_NAME);
	EXPECT_FAULT(-EBADMSG, 0, "something follows its end");

	recordfile_begin(&file, 5, 1, NULL);
	recordfile_end(&file, 7, digest);
	recordfile_close(&file, FILE_NAME);
	EXPECT_FAULT(-EBADMSG, 0, "for revision 7 follows 4");
}

static void test_foreign(void)
{
	char fault[RECORD_FAULT_MAX], text[TEXT_MAX];
	enum record_tail tail;
	size_t n;

	(void) unlink(FILE_NAME);
	CHECK_EQ_INT(read_all(text, &tail, &n, fault), -ENOENT);
	CHECK(strstr(fault, FILE_NAME) != NULL);
	scratch_make(FILE_NAME, 5000, 1);
	EXPECT_FAULT(-EBADMSG, 0, "no segment of a record");
	CHECK_EQ_INT(truncate(FILE_NAME, 0), 0);
	EXPECT_FAULT(-ENODATA, 0, "ends before its header");
}

/* Its header has the layout of this one, and the checksum is right. */
static void test_later_version(void)
{
	struct recordfile file;
	uint32_t sum;

	recordfile_begin(&file, 5, 1, NULL);
	file.bytes[8] = 2;
	sum = crc32c_update(0, file.bytes, file.len - sizeof(sum));
	for (size_t i = 0; i < sizeof(sum); i++)
		file.bytes[file.len - sizeof(sum) + i] = (uint8_t) (sum >> 8 * i);
	recordfile_close(&file, FILE_NAME);
	EXPECT_FAULT(-EPROTONOSUPPORT, 0, "its format has the version 2");
}

/* After a crash: what counts is kept, and it goes on from there. */
static void test_resume(void)
{
	AUTO(record_reader_free) struct record_reader *reader = NULL;
	char fault[RECORD_FAULT_MAX];
	uint8_t digest[DIGEST_SHA256_BYTES];
	struct record_frame frame;
	struct recordfile file;

	recordfile_begin(&file, 5, 1, NULL);
	recordfile_put(&file, 5);
	recordfile_put(&file, 6);
	recordfile_save(&file, file.ends[1] + 9, FILE_NAME);
	record_writer_free(TAKE_PTR(file.writer));
	if (!CHECK_EQ_INT(record_reader_open(FILE_NAME, &reader, fault), 0))
		return;
	while (record_reader_next(reader, &frame) > 0)
		;
	CHECK_EQ_INT(record_reader_tail(reader), RECORD_TAIL_TORN);
	CHECK_EQ_INT(record_reader_offset(reader), file.ends[1]);
	file.len = (size_t) record_reader_offset(reader);
	file.n_ends = 2;
	file.writer = record_writer_resume(reader);
	recordfile_progress(&file, 5, 6000000);
	recordfile_end(&file, 5, digest);
	recordfile_close(&file, FILE_NAME);
	EXPECT("events 5 @5000000 put(k5=v 5 1 0)\nprogress 5 @6000000\nend 5 @5000001\n",
	       RECORD_TAIL_CLOSED);
}

static void test_too_large(void)
{
	AUTO(free) uint8_t *value = xcalloc(1, 1);
	struct record_event event = {.key = bytes_of_text("k"),
	                             .value = {.data = value, .len = RECORD_FRAME_BYTES_MAX}};
	struct record_buffer buffer = {0};

	CHECK_EQ_INT(record_encode(&buffer, &(struct record_frame){.type = RECORD_EVENTS,
	                                                           .revision = 1,
	                                                           .events = &event,
	                                                           .n_events = 1}),
	             -E2BIG);
	CHECK_EQ_INT(buffer.len, 0);
}

/* Neither written nor read, as an event takes more memory than bytes of the file: deletions of
 * the empty key, which take five bytes. */
static void test_too_many(void)
{
	const uint32_t n = (uint32_t) RECORD_FRAME_EVENTS_MAX;
	struct record_event *events = xcalloc(n + 1, sizeof(*events));
	struct record_frame frame = {.type = RECORD_EVENTS, .revision = 7, .events = events};
	struct record_frame got;

	for (size_t i = 0; i <= n; i++)
		events[i].is_delete = true;
	for (uint32_t more = 0; more <= 1; more++) {
		struct record_buffer buffer = {0};
		struct record_room room = {0};
		uint8_t *count;

		frame.n_events = n;
		CHECK_EQ_INT(record_encode(&buffer, &frame), 0);
		frame.n_events = n + 1;
		CHECK_EQ_INT(record_encode(&buffer, &frame), -E2BIG);
		/* Made by somebody else: one more, of five zeros but for its kind. */
		count = buffer.data + RECORD_BARE_HEAD_BYTES + 16;
		CHECK_EQ_INT(bytes_le32(count), n);
		buffer.data = xreallocarray(buffer.data, buffer.len + 5, 1);
		memcpy(buffer.data + buffer.len, (const uint8_t[5]){1}, 5);
		count = buffer.data + RECORD_BARE_HEAD_BYTES + 16;
		memcpy(count, (const uint32_t[]){htole32(n + more)}, 4);
		CHECK_EQ_INT(record_parse_payload(
		                 &room, RECORD_EVENTS,
		                 (struct bytes){.data = buffer.data + RECORD_BARE_HEAD_BYTES,
		                                .len = buffer.len - RECORD_BARE_HEAD_BYTES + more * 5},
		                 &got),
		             more == 0);
		CHECK(room.size <= n);
		free(room.events);
		record_buffer_fini(&buffer);
	}
	free(events);
}

static void test_names(void)
{
	static const char *const bad[] = {
	    "",
	    "x.rec",
	    "00000000000000c1-00000000000000000007-0000000003.rec",
	    "00000000000000c1-00000000000000000007-0000000003.rec.tmp",
	    "00000000000000C1-00000000000000000007-0000000003.rec",
	    "00000000000000c1-00000000000000000007-00000000030.rec",
	    "00000000000000c1-7-0000000003.rec",
	    "00000000000000c1-00000000000000000007-0000000003",
	};
	struct record_header header = {.cluster_id = 0xc1, .first_revision = 7, .sequence = 3}, got;
	char name[RECORD_NAME_MAX];

	CHECK_EQ_STR(record_name(&header, name), bad[2]);
	CHECK(record_name_parse(name, &got));
	CHECK(got.cluster_id == 0xc1 && got.first_revision == 7 && got.sequence == 3);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		if (i != 2)
			CHECK(!record_name_parse(bad[i], &got));
	}
	header = (struct record_header){
	    .cluster_id = UINT64_MAX, .first_revision = INT64_MAX, .sequence = 9999999999};
	CHECK(record_name_parse(record_name(&header, name), &got));
	CHECK(got.cluster_id == UINT64_MAX && got.first_revision == INT64_MAX);
}

int main(void)
{
	scratch_enter();
	test_all_kinds();
	test_cut_anywhere();
	test_change_anywhere();
	test_out_of_place();
	test_wrong_order();
	test_foreign();
	test_later_version();
	test_resume();
	test_too_large();
	test_too_many();
	test_names();
	scratch_leave();
	return check_result();
}
