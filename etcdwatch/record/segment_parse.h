/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the bytes of a segment say, for who reads the file; whether they are whole is known by then,
 * and whether they fit to those before them is asked afterwards. What is returned points into the
 * bytes and into the room.
 */

#include "etcdwatch/record/segment.h"

/* For the events of one frame, kept for those of the next. {0} is none; the owner frees `events`.
 */
struct record_room {
	struct record_event *events;
	size_t size;
};

/* False: it makes no sense, to its last byte, as a frame of this type, and *ret is of no use.
 */
bool record_parse_payload(struct record_room *room, uint8_t type, struct bytes payload,
                          struct record_frame *ret);
/* `bytes`: the header without its checksum, the name included, which fits. The header was zeros. */
void record_parse_header(struct bytes bytes, struct record_header *ret);
