/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes into values. Whatever a length says is held against what is left before it is believed.
 * Pure.
 */
#include "etcdwatch/record/segment_parse.h"

#include <assert.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/record/segment_priv.h"

#define EVENT_BYTES_MIN 5

static_assert(RECORD_FRAME_EVENTS_MAX * sizeof(struct record_event) <= RECORD_FRAME_BYTES_MAX,
              "events take no more memory than the longest payload");

/* What is left of a payload; once something was missing, nothing is right any more. */
struct rest {
	const uint8_t *p;
	size_t len;
	bool is_short;
};

static const uint8_t *take(struct rest *rest, size_t len)
{
	static const uint8_t zeros[8];
	const uint8_t *p = rest->p;

	if (rest->is_short || len > rest->len) {
		rest->is_short = true;
		return zeros;
	}
	rest->p += len;
	rest->len -= len;
	return p;
}

static uint32_t take_word(struct rest *rest)
{
	return bytes_le32(take(rest, 4));
}

static uint64_t take_number(struct rest *rest)
{
	return bytes_le64(take(rest, 8));
}

static int64_t take_signed(struct rest *rest)
{
	return (int64_t) take_number(rest);
}

static struct bytes take_run(struct rest *rest)
{
	size_t len = take_word(rest);
	const uint8_t *data = take(rest, len);

	return (struct bytes){.data = data, .len = rest->is_short ? 0 : len};
}

static bool take_event(struct rest *rest, struct record_event *ret)
{
	uint8_t kind = *take(rest, 1);

	*ret = (struct record_event){.is_delete = kind == 1};
	ret->key = take_run(rest);
	if (kind == 0) {
		ret->create_revision = take_signed(rest);
		ret->version = take_signed(rest);
		ret->lease = take_signed(rest);
		ret->value = take_run(rest);
	}
	return kind <= 1 && !rest->is_short;
}

static bool parse_events(struct record_room *room, struct rest *rest, struct record_frame *ret)
{
	size_t n;

	ret->revision = take_signed(rest);
	ret->wall_us = take_signed(rest);
	n = take_word(rest);
	if (n == 0 || n > RECORD_FRAME_EVENTS_MAX || n > rest->len / EVENT_BYTES_MIN)
		return false;
	if (n > room->size) {
		room->size = MAX(n, (size_t) 64);
		room->events = xreallocarray(room->events, room->size, sizeof(*room->events));
	}
	for (size_t i = 0; i < n; i++) {
		if (!take_event(rest, &room->events[i]))
			return false;
	}
	ret->events = room->events;
	ret->n_events = n;
	return true;
}

static void parse_hash(struct rest *rest, struct record_frame *ret)
{
	ret->revision = take_signed(rest);
	ret->compact_revision = take_signed(rest);
	ret->wall_us = take_signed(rest);
	ret->member_id = take_number(rest);
	ret->hash = take_word(rest);
}

static void parse_gap(struct rest *rest, struct record_frame *ret)
{
	ret->revision = take_signed(rest);
	ret->last_lost = take_signed(rest);
	ret->wall_us = take_signed(rest);
	ret->reason.len = rest->is_short ? 0 : rest->len;
	ret->reason.data = take(rest, ret->reason.len);
}

static void parse_end(struct rest *rest, struct record_frame *ret)
{
	const uint8_t *digest;

	ret->revision = take_signed(rest);
	ret->wall_us = take_signed(rest);
	digest = take(rest, sizeof(ret->digest));
	if (!rest->is_short)
		memcpy(ret->digest, digest, sizeof(ret->digest));
}

bool record_parse_payload(struct record_room *room, uint8_t type, struct bytes payload,
                          struct record_frame *ret)
{
	struct rest rest = {.p = payload.data, .len = payload.len};

	*ret = (struct record_frame){.type = (enum record_type) type};
	switch (ret->type) {
	case RECORD_EVENTS:
		if (!parse_events(room, &rest, ret))
			return false;
		break;
	case RECORD_PROGRESS:
	case RECORD_COMPACTED:
		ret->revision = take_signed(&rest);
		ret->wall_us = take_signed(&rest);
		break;
	case RECORD_LEASE:
		ret->lease = take_signed(&rest);
		ret->ttl_s = take_signed(&rest);
		ret->wall_us = take_signed(&rest);
		break;
	case RECORD_HASH:
		parse_hash(&rest, ret);
		break;
	case RECORD_GAP:
		parse_gap(&rest, ret);
		break;
	case RECORD_END:
		parse_end(&rest, ret);
		break;
	}
	return !rest.is_short && rest.len == 0;
}

void record_parse_header(struct bytes bytes, struct record_header *ret)
{
	const uint8_t *previous, *member;
	size_t name_len = bytes.len - HEADER_BYTES;
	struct rest rest = {.p = bytes.data, .len = bytes.len};

	(void) take(&rest, MAGIC_BYTES + 4 + 2);
	ret->sequence = take_number(&rest);
	ret->cluster_id = take_number(&rest);
	ret->member_id = take_number(&rest);
	ret->first_revision = take_signed(&rest);
	ret->wall_us = take_signed(&rest);
	previous = take(&rest, sizeof(ret->previous));
	member = take(&rest, name_len);
	if (rest.is_short)
		return;
	memcpy(ret->previous, previous, sizeof(ret->previous));
	memcpy(ret->member, member, name_len);
}
