/* SPDX-License-Identifier: Apache-2.0 */
/* Which segments make a chain, and which may go: tables. */
#include "etcdwatch/record/recordbase.h"

#include "base/macro.h"
#include "base/mono.h"
#include "tests/unit/check.h"

#define N_MAX 8
#define HOUR (INT64_C(3600) * US_PER_S)

/* So many closed segments of ten revisions and 100 bytes each, one an hour from 0 on, one behind
 * the other; the last is open. */
static void make(struct record_segment *segments, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		segments[i] = (struct record_segment){
		    .header = {.sequence = i + 1,
		               .cluster_id = 7,
		               .first_revision = 10 * (int64_t) i + 1,
		               .previous = {(uint8_t) i}},
		    .bytes = 100,
		    .closed = i + 1 < n,
		    .last_revision = 10 * (int64_t) i + 10,
		    .end_us = HOUR * ((int64_t) i + 1),
		    .digest = {(uint8_t) (i + 1)},
		};
	}
}

/* --- chains --- */

static void not_closed(struct record_segment *s)
{
	s->closed = false;
}

static void another_cluster(struct record_segment *s)
{
	s->header.cluster_id = 8;
}

static void one_is_missing(struct record_segment *s)
{
	s->header.sequence = 99;
}

static void revisions_are_missing(struct record_segment *s)
{
	s->header.first_revision++;
}

static void another_digest(struct record_segment *s)
{
	s->digest[31] = 1;
}

static void begins(struct record_segment *s)
{
	memset(s->header.previous, 0, sizeof(s->header.previous));
}

static void test_chains(void)
{
	static const struct {
		void (*change)(struct record_segment *s);
		size_t at; /* that one is changed */
		size_t newest, count;
	} cases[] = {
	    {NULL, 0, 0, 1},
	    {not_closed, 1, 2, 2},
	    {another_cluster, 1, 2, 3},
	    {another_cluster, 0, 1, 2},
	    {one_is_missing, 3, 3, 2},
	    {revisions_are_missing, 2, 2, 2},
	    {another_digest, 2, 3, 2},
	    {begins, 2, 2, 2},
	};
	struct record_segment segments[N_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		make(segments, 4);
		if (cases[i].change != NULL)
			cases[i].change(&segments[cases[i].at]);
		if (!CHECK_EQ_INT(recordchain_newest(segments, 4), cases[i].newest) ||
		    !CHECK_EQ_INT(recordchain_count(segments, 4), cases[i].count))
			(void) fprintf(stderr, "  case %zu\n", i);
	}
	CHECK_EQ_INT(recordchain_newest(segments, 0), 0);
	CHECK_EQ_INT(recordchain_count(segments, 0), 0);
	CHECK_EQ_INT(recordchain_count(segments, 1), 1);
}

/* --- what goes --- */

/* Of six, of which the last is open. */
static void test_drop(void)
{
	static const struct {
		int64_t now_h, keep_h;
		uint64_t max_bytes;
		int64_t base;
		uint64_t cluster;
		size_t n;
		bool is_too_much, is_held;
	} cases[] = {
	    {6, 24, 1000, 0, 0, 0, false, false},
	    /* The first ended at 1, the third at 3. */
	    {6, 3, 1000, 0, 0, 2, false, false},
	    {100, 3, 1000, 0, 0, 5, false, false}, /* the last always stays */
	    {6, 24, 600, 0, 0, 0, false, false},
	    {6, 24, 599, 0, 0, 1, false, false},
	    {6, 24, 350, 0, 0, 3, false, false},
	    {6, 24, 1, 0, 0, 5, true, false},
	    /* The snapshot at 25 needs the third, which has 21 to 30. */
	    {100, 3, 1000, 25, 7, 2, false, true},
	    {6, 24, 350, 25, 7, 2, true, true},
	    {6, 24, 400, 25, 7, 2, false, false},
	    {100, 3, 1000, 30, 7, 3, false, true}, /* and at 30 it does not */
	    {100, 3, 1000, 29, 7, 2, false, true},
	    {100, 3, 1000, 5, 7, 0, false, true},
	    /* One of another cluster needs nothing. */
	    {100, 3, 1000, 5, 8, 5, false, false},
	};
	struct record_segment segments[N_MAX];

	make(segments, 6);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct recordchain_rules rules = {
		    .now_us = cases[i].now_h * HOUR,
		    .keep_us = cases[i].keep_h * HOUR,
		    .max_bytes = cases[i].max_bytes,
		    .base_revision = cases[i].base,
		    .base_cluster_id = cases[i].cluster,
		};
		struct recordchain_drop drop = recordchain_drop(segments, 6, &rules);

		if (!CHECK_EQ_INT(drop.n, cases[i].n) ||
		    !CHECK_EQ_INT(drop.is_too_much, cases[i].is_too_much) ||
		    !CHECK_EQ_INT(drop.is_held, cases[i].is_held))
			(void) fprintf(stderr, "  case %zu\n", i);
	}
	CHECK_EQ_INT(recordchain_drop(segments, 0, &(struct recordchain_rules){0}).n, 0);
}

/* What a target lacks is not too old, but may be too much. */
static void test_unsent(void)
{
	static const struct {
		uint64_t max_bytes, unsent;
		int64_t base;
		size_t n, n_unsent;
	} cases[] = {
	    {1000, 1, 0, 0, 0}, {1000, 3, 0, 2, 0}, {350, 3, 0, 3, 1},
	    {350, 1, 0, 3, 3},  {350, 1, 25, 2, 2}, {1000, 0, 0, 5, 0},
	};
	struct record_segment segments[N_MAX];

	make(segments, 6);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct recordchain_rules rules = {
		    .now_us = 100 * HOUR,
		    .keep_us = 3 * HOUR,
		    .max_bytes = cases[i].max_bytes,
		    .base_revision = cases[i].base,
		    .base_cluster_id = 7,
		    .unsent_sequence = cases[i].unsent,
		};
		struct recordchain_drop drop = recordchain_drop(segments, 6, &rules);

		if (!CHECK_EQ_INT(drop.n, cases[i].n) || !CHECK_EQ_INT(drop.n_unsent, cases[i].n_unsent))
			(void) fprintf(stderr, "  case %zu\n", i);
	}
}

int main(void)
{
	test_chains();
	test_drop();
	test_unsent();
	return check_result();
}
