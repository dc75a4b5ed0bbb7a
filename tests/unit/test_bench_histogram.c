/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The histogram of the measuring tools: what comes out is what went in, to 1/64, over the whole
 * range and at every edge of a bucket.
 */

#include "bench/tools/common/histogram.h"

#include "tests/unit/check.h"

#define HOUR_NS INT64_C(3600000000000)

static void test_empty(void)
{
	AUTO(histogram_free) struct histogram *h = histogram_new();

	CHECK(histogram_count(h) == 0);
	CHECK(histogram_at(h, 0.5) == 0);
	CHECK(histogram_max(h) == 0);
}

/* Alone with a larger one, so that its bucket's edge is not cut by the largest value. */
static void check_one(int64_t value)
{
	AUTO(histogram_free) struct histogram *h = histogram_new();
	int64_t edge;

	histogram_add(h, value);
	histogram_add(h, 2 * HOUR_NS);
	edge = histogram_at(h, 0.5);
	CHECK(edge >= value);
	CHECK(edge <= value + value / 64);
	CHECK(histogram_max(h) == 2 * HOUR_NS);
}

static void test_every_edge(void)
{
	for (int64_t power = 1; 2 * power <= HOUR_NS; power *= 2)
		for (int64_t step = 0; step <= 64; step++) {
			int64_t value = power + power * step / 64;

			check_one(value - 1);
			check_one(value);
			check_one(value + 1);
		}
	check_one(HOUR_NS);
}

static void test_ranks(void)
{
	AUTO(histogram_free) struct histogram *h = histogram_new();

	for (int64_t i = 1; i <= 100; i++)
		histogram_add(h, i);
	CHECK(histogram_at(h, 0.5) == 50);
	CHECK(histogram_at(h, 0.99) == 99);
	CHECK(histogram_at(h, 0.999) == 100);
	CHECK(histogram_at(h, 1) == 100);
	histogram_clear(h);
	CHECK(histogram_count(h) == 0);
}

static void test_outside(void)
{
	AUTO(histogram_free) struct histogram *h = histogram_new();

	histogram_add(h, -5);
	CHECK(histogram_at(h, 1) == 0);
	histogram_add(h, INT64_MAX);
	CHECK(histogram_max(h) == INT64_MAX);
	CHECK(histogram_at(h, 1) > HOUR_NS);
}

int main(void)
{
	test_empty();
	test_every_edge();
	test_ranks();
	test_outside();
	return check_result();
}
