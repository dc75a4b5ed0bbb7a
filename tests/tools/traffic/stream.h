/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The known stream: bytes that both ends of a connection can compute, so that each byte which
 * arrives is compared with what it must be. A stream has a seed; streams of different seeds differ.
 * Its period is a prime, so that a block which is lost, doubled or out of place is noticed whatever
 * its size.
 */

#include <stddef.h>
#include <stdint.h>

/* The bytes at offset, offset + 1, ... */
void stream_fill(uint64_t seed, uint64_t offset, void *bytes, size_t len);

/* How many bytes are right from the start on: len when all are. */
size_t stream_match(uint64_t seed, uint64_t offset, const void *bytes, size_t len);

/* The stream that a server sends of its own accord. Clients use their connection's number. */
#define STREAM_SEED_SERVER 500000
