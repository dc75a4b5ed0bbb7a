/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The largest beginnings are found among any number of others, whatever the order; what is told of
 * one is never too much, and too little by no more than is said, which is a 512th at most.
 */
#include "bolt/usage.h"

#include <stdlib.h>

#include "base/mem.h"
#include "tests/unit/check.h"

#define FLOOD 20000

static void add(struct usagetop *top, const char *key, uint64_t n_bytes)
{
	usagetop_add(top, bytes_of_text(key), n_bytes);
}

static void check_part(const struct usagetop_part *part, const char *prefix, uint64_t bytes)
{
	AUTO(free) char *text = xstrndup((const char *) part->prefix.data, part->prefix.len);

	CHECK_EQ_STR(text, prefix);
	CHECK_EQ_INT(part->bytes, bytes);
}

static void test_few(void)
{
	AUTO(usagetop_free) struct usagetop *top = usagetop_new(2);
	struct usagetop_part parts[3];
	char longer[USAGETOP_PREFIX_MAX + 2];

	CHECK_EQ_INT(usagetop_largest(top, parts, 3), 0);
	memset(longer, 'x', sizeof(longer));
	longer[USAGETOP_PREFIX_MAX + 1] = '\0';
	add(top, "/registry/pods/a/1", 10);
	add(top, "/registry/events/a/1", 30);
	add(top, "/registry/pods/b/2", 11);
	add(top, "/registry/leases/a", 21);
	add(top, longer, 40);
	longer[USAGETOP_PREFIX_MAX] = '\0';
	add(top, longer, 1);
	CHECK_EQ_INT(usagetop_all(top), 113);
	CHECK_EQ_INT(usagetop_missing(top), 0);
	CHECK_EQ_INT(usagetop_largest(top, parts, 3), 3);
	check_part(&parts[0], longer, 41);
	check_part(&parts[1], "/registry/events", 30);
	/* As large, in their order. */
	check_part(&parts[2], "/registry/leases", 21);
	CHECK_EQ_INT(usagetop_largest(top, parts, 0), 0);
}

/* Where the large ones stand among the others. */
enum order {
	ORDER_FIRST,
	ORDER_LAST,
	ORDER_BETWEEN,
	ORDERS_N,
};

static void add_large(struct usagetop *top, unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		add(top, "/registry/events/a", 40);
		add(top, "/registry/leases/b", 20);
	}
}

static void test_flood(enum order order)
{
	static struct usagetop_part parts[USAGETOP_PARTS_MAX + 1];
	AUTO(usagetop_free) struct usagetop *top = usagetop_new(2);
	uint64_t missing;

	if (order == ORDER_FIRST)
		add_large(top, FLOOD);
	for (unsigned i = 0; i < FLOOD; i++) {
		AUTO(free) char *key = xasprintf("flood%05u", i);

		add(top, key, 1 + i % 7);
		if (order == ORDER_BETWEEN)
			add_large(top, 1);
	}
	if (order == ORDER_LAST)
		add_large(top, FLOOD);
	missing = usagetop_missing(top);
	CHECK(missing > 0);
	CHECK(missing <= usagetop_all(top) / 512);
	CHECK(usagetop_largest(top, parts, ARRAY_SIZE(parts)) <= USAGETOP_PARTS_MAX);
	CHECK(bytes_equal_text(parts[0].prefix, "/registry/events"));
	CHECK(parts[0].bytes <= 40 * FLOOD && parts[0].bytes + missing >= 40 * FLOOD);
	CHECK(bytes_equal_text(parts[1].prefix, "/registry/leases"));
	CHECK(parts[1].bytes <= 20 * FLOOD && parts[1].bytes + missing >= 20 * FLOOD);
	/* It came once. */
	CHECK(parts[2].bytes <= 7);
}

/* The worst there is: the median is always that of the large ones, and the small ones pay. */
static void test_median(void)
{
	AUTO(usagetop_free) struct usagetop *top = usagetop_new(2);
	const unsigned half = USAGETOP_PARTS_MAX / 2, n = half + 100;

	for (unsigned i = 0; i < n; i++) {
		AUTO(free) char *large = xasprintf("large%05u", i);

		add(top, large, 1000 + i);
		for (unsigned k = 0; i + 1 >= half && k < half; k++) {
			AUTO(free) char *small = xasprintf("small%05u-%05u", i, k);

			add(top, small, 1);
		}
	}
	CHECK(usagetop_missing(top) > 0);
	CHECK(usagetop_missing(top) <= usagetop_all(top) / 512);
}

int main(void)
{
	test_few();
	for (unsigned i = 0; i < ORDERS_N; i++)
		test_flood((enum order) i);
	test_median();
	return check_result();
}
