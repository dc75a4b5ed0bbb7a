/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * SipHash-2-4 (Aumasson and Bernstein, 2012) for tables of keys that others choose: without the
 * secret nobody can make two of them meet.
 */

#include <stdint.h>

#include "bolt/bytes.h"

struct siphash {
	uint64_t secret[2];
};

/* A secret of the kernel's; before its generator is ready, one that anybody could guess. */
struct siphash siphash_draw(void);

uint64_t siphash_of(const struct siphash *hash, struct bytes bytes);
