/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * CRC-32C (Castagnoli, RFC 3720 appendix B.4): what etcd hashes with. In the fastest way that the
 * processor has. Pure, and safe from several threads.
 */

#include <stddef.h>
#include <stdint.h>

#include "bolt/bytes.h"

/* Goes on from `crc`, which is 0 in the beginning and else what the call before returned. */
uint32_t crc32c_update(uint32_t crc, const void *data, size_t len);

/* --- many small pieces --- */

/* Pieces that stand one behind the other in memory, as keys and values do in a page, are summed in
 * one go. What is added must stay as it is until crc32c_run_end(). */
struct crc32c_run {
	uint32_t crc;
	struct bytes pending;
};

static inline uint32_t crc32c_run_end(struct crc32c_run *run)
{
	if (run->pending.len > 0)
		run->crc = crc32c_update(run->crc, run->pending.data, run->pending.len);
	run->pending = (struct bytes){0};
	return run->crc;
}

static inline void crc32c_run_add(struct crc32c_run *run, struct bytes piece)
{
	if (run->pending.len > 0 && piece.data == run->pending.data + run->pending.len) {
		run->pending.len += piece.len;
		return;
	}
	(void) crc32c_run_end(run);
	run->pending = piece;
}

/* --- for tests, that hold one way against the other --- */

enum crc32c_way {
	CRC32C_TABLES, /* anywhere */
	CRC32C_LANES,  /* x86-64 with SSE 4.2 */
};

/* The fastest here; those before it are there too. */
enum crc32c_way crc32c_best_way(void);
uint32_t crc32c_update_by(enum crc32c_way way, uint32_t crc, const void *data, size_t len);
