/* SPDX-License-Identifier: Apache-2.0 */
/* Messages out of a stream of bytes, however it is cut, and what is refused. */
#include "etcd/pull.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "check.h"

#define KIB ((size_t) 1024)

/* Any byte of the messages, counted over all of them. */
static uint8_t byte_at(size_t offset)
{
	return (uint8_t) (offset * 31 + offset / 251);
}

/* A stream of messages of these lengths, and how far both ends of it are. */
struct stream {
	uint8_t *bytes;
	size_t len;
	size_t added;
	const size_t *lens;
	size_t n;
	size_t n_taken;
	size_t taken; /* bytes of messages */
};

static struct stream stream_new(const size_t *lens, size_t n)
{
	struct stream s = {.lens = lens, .n = n};
	size_t offset = 0;

	for (size_t i = 0; i < n; i++)
		s.len += INBOX_HEAD_BYTES + lens[i];
	s.bytes = xcalloc(1, s.len);
	s.len = 0;
	for (size_t i = 0; i < n; i++) {
		s.bytes[s.len++] = 0;
		for (int shift = 24; shift >= 0; shift -= 8)
			s.bytes[s.len++] = (uint8_t) (lens[i] >> shift);
		for (size_t k = 0; k < lens[i]; k++)
			s.bytes[s.len++] = byte_at(offset++);
	}
	return s;
}

/* From a copy that is not there any more when this returns. */
static bool stream_add(struct stream *s, struct inbox *inbox, size_t len)
{
	AUTO(free) uint8_t *copy = xmemdup(s->bytes + s->added, len);

	if (!inbox_add(inbox, copy, len))
		return false;
	s->added += len;
	return true;
}

/* The next one, which must be the right one. */
static bool stream_take(struct stream *s, struct inbox *inbox)
{
	struct inbox_message message = {0};
	enum inbox_found found = inbox_take(inbox, &message);
	bool right = s->n_taken < s->n;

	if (found != INBOX_MESSAGE) {
		CHECK_EQ_INT(found, INBOX_NONE);
		return false;
	}
	right = right && message.len == s->lens[s->n_taken] &&
	        message.taken_bytes == message.len + INBOX_HEAD_BYTES;
	for (size_t i = 0; right && i < message.len; i++)
		right = message.data[i] == byte_at(s->taken + i);
	s->n_taken++;
	s->taken += message.len;
	return CHECK(right);
}

static void stream_end(struct stream *s, struct inbox *inbox)
{
	CHECK_EQ_INT(s->added, s->len);
	CHECK_EQ_INT(s->n_taken, s->n);
	CHECK(inbox_is_empty(inbox));
	free(s->bytes);
}

/* In two pieces, cut at every byte, and in pieces of each length. */
static void test_cuts(void)
{
	static const size_t lens[] = {0, 1, 5, 0, 0, 17, 4, 20, 2};
	size_t len = 0;

	for (size_t i = 0; i < ARRAY_SIZE(lens); i++)
		len += INBOX_HEAD_BYTES + lens[i];
	for (size_t cut = 0; cut <= len; cut++) {
		struct stream two = stream_new(lens, ARRAY_SIZE(lens));
		struct stream many = stream_new(lens, ARRAY_SIZE(lens));
		struct inbox inbox;

		CHECK_EQ_INT(two.len, len);
		inbox_init(&inbox, len, 20);
		CHECK(inbox_is_empty(&inbox));
		CHECK(stream_add(&two, &inbox, cut));
		while (stream_take(&two, &inbox))
			;
		/* What is whole has been taken, and no more. */
		CHECK(two.added - two.taken - INBOX_HEAD_BYTES * two.n_taken <
		      (two.n_taken < two.n ? lens[two.n_taken] : 0) + INBOX_HEAD_BYTES);
		CHECK(stream_add(&two, &inbox, len - cut));
		while (stream_take(&two, &inbox))
			;
		stream_end(&two, &inbox);
		while (many.added < len) {
			CHECK(stream_add(&many, &inbox, MIN(cut + 1, len - many.added)));
			while (stream_take(&many, &inbox))
				;
		}
		stream_end(&many, &inbox);
		inbox_fini(&inbox);
	}
}

/* As full as it can be all the time, so that it is moved with much in it and with little, and with
 * part of a message. */
static void test_moves(void)
{
	static const struct {
		size_t max;
		size_t message_max;
		size_t piece;
	} cases[] = {
	    {5, 0, 1},
	    {6, 1, 1},
	    {64, 59, 7},
	    {64, 20, 64},
	    {1000, 333, 999},
	    {64 * KIB, 32 * KIB, 16384},
	    {64 * KIB + 1, 32 * KIB, 16383},
	    {512 * KIB, 256 * KIB - INBOX_HEAD_BYTES, 16384},
	    {512 * KIB, 32 * KIB, 61},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t n = 4 + 20 * cases[i].max / (cases[i].message_max + INBOX_HEAD_BYTES);
		AUTO(free) size_t *lens = xcalloc(n, sizeof(*lens));
		struct stream s;
		struct inbox inbox;

		for (size_t k = 0; k < n; k++)
			lens[k] = k % 3 == 0 ? cases[i].message_max : k * 7919 % (cases[i].message_max + 1);
		s = stream_new(lens, n);
		inbox_init(&inbox, cases[i].max, cases[i].message_max);
		for (size_t before = SIZE_MAX; s.n_taken < n && before != s.n_taken + s.added;) {
			before = s.n_taken + s.added;
			while (s.added < s.len && stream_add(&s, &inbox, MIN(cases[i].piece, s.len - s.added)))
				;
			/* A short rest fits, too. */
			while (s.added < s.len && stream_add(&s, &inbox, 1))
				;
			(void) stream_take(&s, &inbox);
		}
		stream_end(&s, &inbox);
		inbox_fini(&inbox);
	}
}

/* What has been taken out stays where it is until something is added. */
static void test_taken_stays(void)
{
	static const size_t lens[] = {3, 0, 4};
	struct stream s = stream_new(lens, ARRAY_SIZE(lens));
	struct inbox_message messages[ARRAY_SIZE(lens)];
	struct inbox inbox;
	size_t offset = 0;

	inbox_init(&inbox, s.len, 4);
	CHECK(stream_add(&s, &inbox, s.len));
	for (size_t i = 0; i < s.n; i++)
		CHECK_EQ_INT(inbox_take(&inbox, &messages[i]), INBOX_MESSAGE);
	for (size_t i = 0; i < s.n; i++) {
		CHECK_EQ_INT(messages[i].len, lens[i]);
		for (size_t k = 0; k < lens[i]; k++)
			CHECK_EQ_INT(messages[i].data[k], byte_at(offset++));
	}
	CHECK(inbox_is_empty(&inbox));
	free(s.bytes);
	inbox_fini(&inbox);
}

/* Up to its last byte, before and behind what was taken, and not one more. */
static void test_full(void)
{
	static const uint8_t head[] = {0, 0, 0, 0, 3};
	const size_t max = 16;
	struct inbox_message message;
	struct inbox inbox;

	inbox_init(&inbox, max, 11);
	CHECK(!inbox_add(&inbox, "", SIZE_MAX));
	CHECK(!inbox_add(&inbox, "01234567890123456", max + 1));
	CHECK(inbox_is_empty(&inbox));
	for (int round = 0; round < 20; round++) {
		CHECK(inbox_add(&inbox, head, sizeof(head)));
		CHECK(inbox_add(&inbox, "abc", 3));
		CHECK(inbox_add(&inbox, head, sizeof(head)));
		CHECK(inbox_add(&inbox, "def", 3));
		CHECK(inbox_add(&inbox, "", 0));
		CHECK(!inbox_add(&inbox, "x", 1));
		CHECK(!inbox_add(&inbox, "", SIZE_MAX));
		CHECK_EQ_INT(inbox_take(&inbox, &message), INBOX_MESSAGE);
		CHECK(memcmp(message.data, "abc", 3) == 0);
		CHECK(!inbox_add(&inbox, "123456789", 9));
		CHECK_EQ_INT(inbox_take(&inbox, &message), INBOX_MESSAGE);
		CHECK(memcmp(message.data, "def", 3) == 0);
		CHECK(inbox_is_empty(&inbox));
	}
	inbox_fini(&inbox);
}

/* As soon as its head is there, and as often as it is asked; it is not taken out. */
static void test_refused(void)
{
	static const struct {
		uint8_t head[INBOX_HEAD_BYTES];
		enum inbox_found found;
		size_t len;
	} cases[] = {
	    {{0, 0, 0, 1, 0}, INBOX_NONE, 0},
	    {{0, 0, 0, 1, 1}, INBOX_TOO_LONG, 257},
	    {{0, 0, 1, 0, 0}, INBOX_TOO_LONG, 65536},
	    {{0, 1, 0, 0, 0}, INBOX_TOO_LONG, 16777216},
	    {{0, 0x80, 0, 0, 0}, INBOX_TOO_LONG, 2147483648},
	    {{0, 0xff, 0xff, 0xff, 0xff}, INBOX_TOO_LONG, 4294967295},
	    {{1, 0, 0, 0, 0}, INBOX_COMPRESSED, 0},
	    {{1, 0xff, 0xff, 0xff, 0xff}, INBOX_COMPRESSED, 0},
	    {{0x80, 0, 0, 0, 1}, INBOX_COMPRESSED, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct inbox_message message = {0};
		struct inbox inbox;

		inbox_init(&inbox, 256 + INBOX_HEAD_BYTES, 256);
		for (size_t k = 0; k < INBOX_HEAD_BYTES; k++) {
			CHECK_EQ_INT(inbox_take(&inbox, &message), INBOX_NONE);
			CHECK(inbox_add(&inbox, &cases[i].head[k], 1));
		}
		for (int again = 0; again < 2; again++) {
			if (!CHECK_EQ_INT(inbox_take(&inbox, &message), cases[i].found) ||
			    (cases[i].found == INBOX_TOO_LONG && !CHECK_EQ_INT(message.len, cases[i].len)))
				(void) fprintf(stderr, "case %zu\n", i);
			CHECK(!inbox_is_empty(&inbox));
		}
		inbox_fini(&inbox);
	}
}

int main(void)
{
	test_cuts();
	test_moves();
	test_taken_stays();
	test_full();
	test_refused();
	return check_result();
}
