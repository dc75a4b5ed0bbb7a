/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames into bytes, in two steps: record_encode() makes all of a frame but its checksum, which
 * needs nothing but the frame; a writer then copies it behind what it has, with the checksum, and
 * carries the digest of the segment along. Pure.
 */
#include "etcdwatch/record/segment.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "bolt/crc32c.h"
#include "etcdwatch/record/segment_priv.h"

/* --- bytes --- */

void record_buffer_fini(struct record_buffer *buffer)
{
	free(buffer->data);
	*buffer = (struct record_buffer){0};
}

static void put(struct record_buffer *b, const void *data, size_t len)
{
	if (b->size - b->len < len) {
		b->size = MAX(b->size * 2, b->len + len);
		b->data = xreallocarray(b->data, b->size, 1);
	}
	if (len > 0)
		memcpy(b->data + b->len, data, len);
	b->len += len;
}

static void put_byte(struct record_buffer *b, uint8_t v)
{
	put(b, &v, 1);
}

static void put_short(struct record_buffer *b, size_t v)
{
	uint16_t le = htole16((uint16_t) v);

	put(b, &le, sizeof(le));
}

static void put_word(struct record_buffer *b, uint32_t v)
{
	uint32_t le = htole32(v);

	put(b, &le, sizeof(le));
}

static void put_number(struct record_buffer *b, uint64_t v)
{
	uint64_t le = htole64(v);

	put(b, &le, sizeof(le));
}

static void put_signed(struct record_buffer *b, int64_t v)
{
	put_number(b, (uint64_t) v);
}

static void put_run(struct record_buffer *b, struct bytes run)
{
	put_word(b, (uint32_t) run.len);
	put(b, run.data, run.len);
}

/* --- payloads --- */

static size_t event_bytes(const struct record_event *event)
{
	return 1 + 4 + event->key.len + (event->is_delete ? 0 : 3 * 8 + 4 + event->value.len);
}

static size_t payload_bytes(const struct record_frame *frame)
{
	size_t bytes = 8 + 8 + 4;

	switch (frame->type) {
	case RECORD_EVENTS:
		for (size_t i = 0; i < frame->n_events; i++)
			bytes += event_bytes(&frame->events[i]);
		return bytes;
	case RECORD_PROGRESS:
	case RECORD_COMPACTED:
		return 8 + 8;
	case RECORD_LEASE:
		return 3 * 8;
	case RECORD_HASH:
		return 4 * 8 + 4;
	case RECORD_GAP:
		return 3 * 8 + frame->reason.len;
	case RECORD_END:
		return 2 * 8 + DIGEST_SHA256_BYTES;
	}
	abort();
}

static void put_event(struct record_buffer *b, const struct record_event *event)
{
	put_byte(b, event->is_delete ? 1 : 0);
	put_run(b, event->key);
	if (event->is_delete)
		return;
	put_signed(b, event->create_revision);
	put_signed(b, event->version);
	put_signed(b, event->lease);
	put_run(b, event->value);
}

static void put_payload(struct record_buffer *b, const struct record_frame *frame)
{
	switch (frame->type) {
	case RECORD_EVENTS:
		put_signed(b, frame->revision);
		put_signed(b, frame->wall_us);
		put_word(b, (uint32_t) frame->n_events);
		for (size_t i = 0; i < frame->n_events; i++)
			put_event(b, &frame->events[i]);
		return;
	case RECORD_PROGRESS:
	case RECORD_COMPACTED:
		put_signed(b, frame->revision);
		put_signed(b, frame->wall_us);
		return;
	case RECORD_LEASE:
		put_signed(b, frame->lease);
		put_signed(b, frame->ttl_s);
		put_signed(b, frame->wall_us);
		return;
	case RECORD_HASH:
		put_signed(b, frame->revision);
		put_signed(b, frame->compact_revision);
		put_signed(b, frame->wall_us);
		put_number(b, frame->member_id);
		put_word(b, frame->hash);
		return;
	case RECORD_GAP:
		put_signed(b, frame->revision);
		put_signed(b, frame->last_lost);
		put_signed(b, frame->wall_us);
		put(b, frame->reason.data, frame->reason.len);
		return;
	case RECORD_END:
		put_signed(b, frame->revision);
		put_signed(b, frame->wall_us);
		put(b, frame->digest, sizeof(frame->digest));
		return;
	}
}

static void put_frame(struct record_buffer *b, const struct record_frame *frame, size_t bytes)
{
	size_t before;

	put_word(b, (uint32_t) bytes);
	put_byte(b, (uint8_t) frame->type);
	before = b->len;
	put_payload(b, frame);
	assert(b->len - before == bytes);
}

int record_encode(struct record_buffer *buffer, const struct record_frame *frame)
{
	size_t bytes = payload_bytes(frame);

	assert(frame->type != RECORD_END);
	if (bytes > RECORD_FRAME_BYTES_MAX || frame->n_events > RECORD_FRAME_EVENTS_MAX)
		return -E2BIG;
	put_frame(buffer, frame, bytes);
	return 0;
}

struct record_sum record_event_sum(const struct record_event *events, size_t n_events)
{
	struct record_buffer b = {0};
	struct record_sum sum = {0};

	for (size_t i = 0; i < n_events; i++) {
		uint32_t *part = events[i].is_delete ? &sum.deletes : &sum.puts;

		b.len = 0;
		put_event(&b, &events[i]);
		*part = MAX(crc32c_update(*part, b.data, b.len), UINT32_C(1));
	}
	record_buffer_fini(&b);
	return sum;
}

bool record_sum_fits(struct record_sum recorded, struct record_sum seen)
{
	return recorded.puts == seen.puts && (seen.deletes == 0 || recorded.deletes == seen.deletes);
}

/* --- a segment --- */

struct record_writer {
	uint32_t sum;
	struct digest *digest;
	struct record_buffer pending;
};

static void seal(struct record_writer *w, struct bytes bytes)
{
	size_t before = w->pending.len;

	put(&w->pending, bytes.data, bytes.len);
	w->sum = crc32c_update(w->sum, bytes.data, bytes.len);
	put_word(&w->pending, w->sum);
	digest_update(w->digest, w->pending.data + before, w->pending.len - before);
}

struct record_writer *record_writer_new(const struct record_header *header)
{
	struct record_writer *w = NEW0(struct record_writer);
	struct record_buffer b = {0};
	size_t name_len = strlen(header->member);

	put(&b, MAGIC, MAGIC_BYTES);
	put_word(&b, FORMAT_VERSION);
	put_short(&b, name_len);
	put_number(&b, header->sequence);
	put_number(&b, header->cluster_id);
	put_number(&b, header->member_id);
	put_signed(&b, header->first_revision);
	put_signed(&b, header->wall_us);
	put(&b, header->previous, sizeof(header->previous));
	assert(b.len == HEADER_BYTES);
	put(&b, header->member, name_len);
	w->digest = digest_new(DIGEST_SHA256);
	seal(w, (struct bytes){.data = b.data, .len = b.len});
	record_buffer_fini(&b);
	return w;
}

struct record_writer *record_writer_resume(struct record_reader *reader)
{
	struct record_writer *w = NEW0(struct record_writer);

	assert(record_reader_tail(reader) != RECORD_TAIL_CLOSED);
	w->sum = record_reader_sum(reader);
	w->digest = record_reader_take_digest(reader);
	return w;
}

void record_writer_free(struct record_writer *w)
{
	if (w == NULL)
		return;
	digest_free(w->digest);
	record_buffer_fini(&w->pending);
	free(w);
}

void record_writer_add(struct record_writer *w, struct bytes frames)
{
	while (frames.len > 0) {
		size_t bytes = FRAME_HEAD_BYTES + bytes_le32(frames.data);

		assert(bytes <= frames.len);
		seal(w, (struct bytes){.data = frames.data, .len = bytes});
		frames.data += bytes;
		frames.len -= bytes;
	}
}

void record_writer_end(struct record_writer *w, int64_t revision, int64_t wall_us,
                       uint8_t ret_digest[static DIGEST_SHA256_BYTES])
{
	struct record_frame end = {.type = RECORD_END, .revision = revision, .wall_us = wall_us};
	struct record_buffer b = {0};

	digest_peek(w->digest, end.digest);
	put_frame(&b, &end, payload_bytes(&end));
	seal(w, (struct bytes){.data = b.data, .len = b.len});
	record_buffer_fini(&b);
	memcpy(ret_digest, end.digest, sizeof(end.digest));
}

struct bytes record_writer_pending(const struct record_writer *w)
{
	return (struct bytes){.data = w->pending.data, .len = w->pending.len};
}

void record_writer_written(struct record_writer *w)
{
	w->pending.len = 0;
}

/* --- names --- */

bool record_begins_chain(const struct record_header *header)
{
	static const uint8_t zeros[DIGEST_SHA256_BYTES];

	return memcmp(header->previous, zeros, sizeof(zeros)) == 0;
}

const char *record_name(const struct record_header *header, char buf[static RECORD_NAME_MAX])
{
	(void) snprintf(buf, RECORD_NAME_MAX, "%016" PRIx64 "-%020" PRId64 "-%010" PRIu64 RECORD_SUFFIX,
	                header->cluster_id, header->first_revision, header->sequence);
	return buf;
}

bool record_name_parse(const char *name, struct record_header *ret_header)
{
	struct record_header header = {0};
	char again[RECORD_NAME_MAX];

	/* Only what we would write ourselves. */
	if (sscanf(name, "%16" SCNx64 "-%20" SCNd64 "-%10" SCNu64, &header.cluster_id,
	           &header.first_revision, &header.sequence) != 3 ||
	    strcmp(record_name(&header, again), name) != 0)
		return false;
	*ret_header = header;
	return true;
}
