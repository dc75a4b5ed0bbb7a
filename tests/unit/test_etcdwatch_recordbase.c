/* SPDX-License-Identifier: Apache-2.0 */
/* When a snapshot is asked for that a chain of the record can be rolled forward from. */
#include "etcdwatch/record/recordbase.h"

#include "base/mono.h"
#include "tests/unit/check.h"

/* It asks at once, whatever there was before, and not again. */
static void test_begins(void)
{
	struct recordbase b = {0};

	CHECK(!recordbase_is_due(&b, 0, 0));
	recordbase_begin(&b, 10);
	CHECK(recordbase_is_due(&b, 500, 0));
	CHECK_EQ_INT(b.revision, 10);
	recordbase_asked(&b, true, 0);
	CHECK(!recordbase_is_due(&b, 0, 1000 * US_PER_S));
}

static void test_nobody_can(void)
{
	struct recordbase b;

	recordbase_begin(&b, 10);
	for (int64_t s = 100; s < 1000; s += 5) {
		CHECK(recordbase_is_due(&b, 0, s * US_PER_S));
		recordbase_asked(&b, false, s * US_PER_S);
		CHECK(!recordbase_is_due(&b, 0, (s + 5) * US_PER_S - 1));
	}
}

/* Ever later, up to five minutes; and a chain that begins anew does not wait. */
static void test_fails(void)
{
	static const int64_t pauses_s[] = {5, 10, 20, 40, 80, 160, 300, 300};
	struct recordbase b;
	int64_t s = 100;

	recordbase_begin(&b, 10);
	for (size_t i = 0; i < sizeof(pauses_s) / sizeof(pauses_s[0]); i++) {
		recordbase_asked(&b, true, s * US_PER_S);
		s += 50;
		recordbase_failed(&b, s * US_PER_S);
		s += pauses_s[i];
		CHECK(!recordbase_is_due(&b, 0, s * US_PER_S - 1));
		CHECK(recordbase_is_due(&b, 0, s * US_PER_S));
	}
	recordbase_asked(&b, true, s * US_PER_S);
	recordbase_begin(&b, 20);
	/* That was the other chain's. */
	recordbase_failed(&b, s * US_PER_S);
	CHECK(recordbase_is_due(&b, 0, s * US_PER_S));
	CHECK_EQ_INT(b.revision, 20);
}

static void test_goes_on(void)
{
	static const struct {
		int64_t newest;
		bool asks;
	} cases[] = {{0, true}, {9, true}, {10, false}, {500, false}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct recordbase b;

		recordbase_go_on(&b, 10);
		if (CHECK_EQ_INT(recordbase_is_due(&b, cases[i].newest, 0), cases[i].asks))
			continue;
		(void) fprintf(stderr, "  the newest is %lld\n", (long long) cases[i].newest);
	}
}

/* Once there is one, and not again for a while; the one that is asked for anyway will do. */
static void test_renews(void)
{
	struct recordbase b = {0};
	int64_t now_us = 100 * US_PER_S;

	recordbase_begin(&b, 10);
	recordbase_renew(&b, 20, 0, now_us);
	CHECK_EQ_INT(b.revision, 10);
	recordbase_asked(&b, true, now_us);
	recordbase_renew(&b, 20, 9, now_us);
	CHECK(!recordbase_is_due(&b, 9, now_us));
	recordbase_renew(&b, 20, 12, now_us);
	CHECK(recordbase_is_due(&b, 12, now_us));
	CHECK_EQ_INT(b.revision, 20);
	recordbase_asked(&b, true, now_us);
	/* Nor does another start change that. */
	recordbase_go_on(&b, 10);
	recordbase_renew(&b, 30, 25, now_us + RECORDBASE_PAUSE_MAX_US - 1);
	CHECK(!recordbase_is_due(&b, 25, now_us + RECORDBASE_PAUSE_MAX_US - 1));
	recordbase_renew(&b, 30, 25, now_us + RECORDBASE_PAUSE_MAX_US);
	CHECK(recordbase_is_due(&b, 25, now_us + RECORDBASE_PAUSE_MAX_US));
	CHECK_EQ_INT(b.revision, 30);
}

/* A chain that begins half a second behind 1000 with revision 501. */
static void test_fits(void)
{
	static const struct {
		int64_t started_s, revision;
		bool begins, want;
	} cases[] = {
	    {900, 499, true, true},
	    {900, 400, true, true},
	    /* The record goes on from it; where it begins there, nothing shows that. */
	    {900, 500, false, true},
	    {900, 500, true, false},
	    /* Of an etcd that went back since, or has another history there. */
	    {900, 501, false, false},
	    {999, 2000, true, false},
	    /* Asked for by the chain, in the second in which it began. */
	    {1000, 501, true, true},
	    {1000, 500, true, true},
	    {1001, 2000, true, true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct recordbase_chain chain = {.first_revision = 501,
		                                       .first_us = 1000 * US_PER_S + US_PER_S / 2,
		                                       .begins = cases[i].begins};

		CHECK_EQ_INT(recordbase_fits(cases[i].started_s, cases[i].revision, &chain), cases[i].want);
	}
	/* There is no chain. */
	CHECK(recordbase_fits(0, 5, &(struct recordbase_chain){0}));
}

int main(void)
{
	test_fits();
	test_begins();
	test_nobody_can();
	test_fails();
	test_goes_on();
	test_renews();
	return check_result();
}
