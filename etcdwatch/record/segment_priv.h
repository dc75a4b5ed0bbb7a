/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What those who write and those who read segments must agree on. */

#include <stdint.h>

#include "bolt/bytes.h"
#include "etcdwatch/record/segment.h"

#define MAGIC "FLRECORD"
#define MAGIC_BYTES 8
#define FORMAT_VERSION 1
#define HEADER_BYTES (MAGIC_BYTES + 4 + 2 + 8 + 8 + 8 + 8 + 8 + DIGEST_SHA256_BYTES) /* no name */
#define FRAME_HEAD_BYTES RECORD_BARE_HEAD_BYTES
#define SUM_BYTES 4

/* For a writer that goes on: the checksum of all bytes so far, and their digest, which is the
 * caller's then. */
uint32_t record_reader_sum(const struct record_reader *reader);
struct digest *record_reader_take_digest(struct record_reader *reader);
