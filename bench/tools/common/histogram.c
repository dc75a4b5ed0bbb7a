/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See histogram.h. A value below 128 is its own bucket. Above, each doubling has 64 buckets: the
 * value's highest bit names the doubling, the six bits behind it the bucket.
 */

#include "histogram.h"

#include <math.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"

#define STEP_BITS 6
#define STEPS (1U << STEP_BITS)
#define EXACT (2U * STEPS)
#define HIGHEST_BIT 42 /* 2^42 ns is over an hour */
#define BUCKETS (EXACT + (HIGHEST_BIT - STEP_BITS - 1) * STEPS)

struct histogram {
	uint64_t count;
	int64_t max;
	uint64_t buckets[BUCKETS];
};

static unsigned bucket_of(uint64_t value)
{
	unsigned bit;

	if (value < EXACT)
		return (unsigned) value;
	if (value >> HIGHEST_BIT != 0)
		return BUCKETS - 1;
	bit = 63U - (unsigned) __builtin_clzll(value);
	return EXACT + (bit - STEP_BITS - 1) * STEPS +
	       ((unsigned) (value >> (bit - STEP_BITS)) - STEPS);
}

static int64_t upper_edge(unsigned bucket)
{
	unsigned doubling, step;

	if (bucket < EXACT)
		return bucket;
	doubling = (bucket - EXACT) / STEPS;
	step = (bucket - EXACT) % STEPS;
	return ((int64_t) (STEPS + step + 1) << (doubling + 1)) - 1;
}

struct histogram *histogram_new(void)
{
	return NEW0(struct histogram);
}

void histogram_free(struct histogram *h)
{
	free(h);
}

void histogram_add(struct histogram *h, int64_t ns)
{
	ns = MAX(ns, 0);
	h->count++;
	h->max = MAX(h->max, ns);
	h->buckets[bucket_of((uint64_t) ns)]++;
}

void histogram_clear(struct histogram *h)
{
	memset(h, 0, sizeof(*h));
}

uint64_t histogram_count(const struct histogram *h)
{
	return h->count;
}

int64_t histogram_at(const struct histogram *h, double share)
{
	uint64_t rank = (uint64_t) ceil(share * (double) h->count);
	uint64_t seen = 0;

	for (unsigned i = 0; i < BUCKETS; i++) {
		seen += h->buckets[i];
		if (seen >= rank && seen > 0)
			return MIN(upper_edge(i), h->max);
	}
	return 0;
}

int64_t histogram_max(const struct histogram *h)
{
	return h->max;
}
