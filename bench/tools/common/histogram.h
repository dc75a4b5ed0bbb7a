/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How often which time was measured: counted in buckets that are at most 1/64 of their value wide,
 * up to an hour. Of fixed size, whatever comes. Times are nanoseconds.
 */

#include <stdint.h>

#include "base/cleanup.h"

struct histogram;

struct histogram *histogram_new(void);
void histogram_free(struct histogram *h);
DEFINE_AUTO(struct histogram, histogram_free);

void histogram_add(struct histogram *h, int64_t ns); /* a negative one counts as 0 */
void histogram_clear(struct histogram *h);
uint64_t histogram_count(const struct histogram *h);

/* The upper edge of the bucket in which the share's nearest rank lies, never above the largest
 * value; share in (0, 1]. 0 when nothing was added. */
int64_t histogram_at(const struct histogram *h, double share);
int64_t histogram_max(const struct histogram *h); /* exact */
