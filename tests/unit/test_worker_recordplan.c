/* SPDX-License-Identifier: Apache-2.0 */
/* What is done with a segment in a target, what may be removed there, and what of several nodes'
 * segments belongs together. */
#include "etcdwatch/worker/record/recordpiece.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/worker/record/recordobjects.h"
#include "etcdwatch/worker/rebuild/rebuildpick.h"
#include "tests/unit/check.h"

#define SEGMENT "00000000000000c1-00000000000000000012-0000000003"

/* "0-10 10-20 whole", with "+" behind an object that has no manifest. */
static void list(struct recordlisting *listing, const char *text)
{
	AUTO(free) char *copy = xstrdup(text);
	char *save = NULL;

	for (char *word = strtok_r(copy, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save)) {
		struct recordkey key = {.segment = SEGMENT, .named.sequence = 3};
		unsigned long from = 0, to = 0;

		key.is_whole = strncmp(word, "whole", 5) == 0;
		if (!key.is_whole)
			CHECK(sscanf(word, "%lu-%lu", &from, &to) == 2);
		key.from = from;
		key.to = to;
		recordlisting_add(listing, &key);
		key.is_manifest = true;
		if (strchr(word, '+') == NULL)
			recordlisting_add(listing, &key);
	}
	recordlisting_finish(listing);
}

static void test_steps(void)
{
	static const struct {
		const char *there;
		uint64_t bytes;
		bool is_closed;
		uint64_t reach;
		enum recordplan_step first, tidy;
	} cases[] = {
	    {"", 10, false, 0, RECORDPLAN_PIECE, RECORDPLAN_PIECE},
	    {"0-10", 10, false, 10, RECORDPLAN_NOTHING, RECORDPLAN_NOTHING},
	    {"0-10", 25, false, 10, RECORDPLAN_PIECE, RECORDPLAN_PIECE},
	    {"10-20 0-10", 25, false, 20, RECORDPLAN_PIECE, RECORDPLAN_PIECE},
	    /* Cut off before its manifest; and a piece that another one reaches beyond. */
	    {"0-10 10-20+", 25, false, 10, RECORDPLAN_PIECE, RECORDPLAN_PIECE},
	    {"0-10 0-20 10-15", 20, false, 20, RECORDPLAN_NOTHING, RECORDPLAN_NOTHING},
	    /* One is missing. */
	    {"0-10 20-30", 30, false, 10, RECORDPLAN_PIECE, RECORDPLAN_PIECE},
	    {"", 30, true, 0, RECORDPLAN_WHOLE, RECORDPLAN_WHOLE},
	    {"10-30", 30, true, 0, RECORDPLAN_WHOLE, RECORDPLAN_WHOLE},
	    {"0-10", 30, true, 10, RECORDPLAN_PIECE, RECORDPLAN_PIECE},
	    {"0-10 10-30", 30, true, 30, RECORDPLAN_NOTHING, RECORDPLAN_WHOLE},
	    {"0-10 whole+", 30, true, 10, RECORDPLAN_PIECE, RECORDPLAN_PIECE},
	    {"0-10 whole", 30, true, 10, RECORDPLAN_NOTHING, RECORDPLAN_CLEAR},
	    {"10-20+ whole", 30, true, 0, RECORDPLAN_NOTHING, RECORDPLAN_CLEAR},
	    {"whole", 30, true, 0, RECORDPLAN_NOTHING, RECORDPLAN_NOTHING},
	    /* It was damaged here, and cut. */
	    {"0-10 10-30", 25, true, 30, RECORDPLAN_NOTHING, RECORDPLAN_NOTHING},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct recordplan_local local = {cases[i].bytes, cases[i].is_closed};
		struct recordlisting l = {0};
		const struct recordstored *stored;

		list(&l, cases[i].there);
		stored = recordlisting_find(&l, 3, SEGMENT);
		CHECK_EQ_INT(recordstored_reach(stored), cases[i].reach);
		CHECK_EQ_INT(recordplan_next(&local, stored, false), cases[i].first);
		if (!CHECK(recordplan_next(&local, stored, true) == cases[i].tidy))
			(void) fprintf(stderr, "  '%s'\n", cases[i].there);
		recordlisting_fini(&l);
	}
}

/* What a listing has is said by its keys, not by their order. */
static void test_any_order(void)
{
	struct recordlisting l = {0};

	for (unsigned i = 0; i < 12; i++) {
		struct recordkey key = {.named.sequence = i % 3, .is_manifest = i > 2, .is_whole = i == 5};

		(void) snprintf(key.segment, sizeof(key.segment), "s%u", i % 3);
		key.from = 10 * (11 - i) / 3 * 3;
		key.to = key.from + 10;
		recordlisting_add(&l, &key);
	}
	recordlisting_finish(&l);
	CHECK_EQ_INT(l.n, 3);
	for (unsigned i = 0; i < 3; i++) {
		const struct recordstored *s = &l.items[i];
		char name[8];

		(void) snprintf(name, sizeof(name), "s%u", i);
		CHECK(recordlisting_find(&l, i, name) == s && s->named.sequence == i);
		CHECK(s->is_whole == (i == 2) && s->n_objects == (i == 2 ? 3 : 4));
		CHECK(s->n_ranges == (i == 2 ? 2 : 3));
		for (size_t k = 1; k < s->n_ranges; k++)
			CHECK(s->ranges[k - 1].from < s->ranges[k].from);
	}
	CHECK(recordlisting_find(&l, 0, "s1") == NULL);
	recordlisting_fini(&l);
}

#define MANY 150000
#define SOON_US (5 * US_PER_S)

/* Of as many objects as are listed at most: minutes where each is compared with each. */
static void test_many(void)
{
	int64_t began_us = mono_now_us();
	struct recordlisting pieces = {0}, segments = {0};
	struct recordkey key = {.is_manifest = true, .segment = SEGMENT, .named.sequence = 3};

	for (uint64_t i = 0; i < MANY; i++) {
		key.from = i;
		key.to = i + 1;
		recordlisting_add(&pieces, &key);
	}
	recordlisting_finish(&pieces);
	CHECK_EQ_INT(recordstored_reach(recordlisting_find(&pieces, 3, SEGMENT)), MANY);
	for (unsigned i = 0; i < MANY; i++) {
		(void) snprintf(key.segment, sizeof(key.segment), "%u", i);
		key.named.sequence = i;
		recordlisting_add(&segments, &key);
	}
	recordlisting_finish(&segments);
	CHECK(segments.n == MANY && recordlisting_find(&segments, 17, "17") == &segments.items[17]);
	CHECK(mono_now_us() - began_us < SOON_US);
	recordlisting_fini(&pieces);
	recordlisting_fini(&segments);
}

/* --- what is removed --- */

static void test_prune(void)
{
	static const struct {
		uint64_t cluster_id;
		int64_t first, last, age_us;
		bool is_whole, goes;
	} cases[] = {
	    {0xc1, 1, 100, 0, true, true},
	    {0xc1, 1, 99, 0, true, true},
	    {0xc1, 90, 101, 0, true, false}, /* what follows the snapshot is in it */
	    {0xc1, 101, 150, 0, true, false},
	    {0xc1, 101, 100, 0, true, true}, /* nothing happened */
	    {0xc1, 1, 100, RECORDPRUNE_OPEN_US, false, false},
	    {0xc1, 1, 100, RECORDPRUNE_OPEN_US + 1, false, true},
	    {0xc2, 1, 100, 0, true, false},
	};
	const struct recordprune_rules rules = {
	    .cluster_id = 0xc1, .oldest_revision = 100, .now_us = 2 * RECORDPRUNE_OPEN_US};
	const struct recordprune_rules none = {.cluster_id = 0xc1};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct recordstored stored = {
		    .named = {.cluster_id = cases[i].cluster_id, .first_revision = cases[i].first},
		    .is_whole = cases[i].is_whole,
		};
		const struct recordpiece last = {.is_whole = cases[i].is_whole,
		                                 .last_revision = cases[i].last,
		                                 .until_us = rules.now_us - cases[i].age_us,
		                                 .signer = "ed25519:x"};

		if (!CHECK((recordprune_is_candidate(&rules, &stored) && recordprune_goes(&rules, &last)) ==
		           cases[i].goes))
			(void) fprintf(stderr, "  case %zu\n", i);
		CHECK(!recordprune_is_candidate(&none, &stored));
	}
}

/* What is not trusted is never a reason to remove anything. */
static void test_prune_trust(void)
{
	static const char *const keys[] = {"ed25519:a"};
	static const struct {
		const char *signer;
		bool is_configured, goes;
	} cases[] = {
	    {"ed25519:a", true, true},  {"ed25519:b", true, false}, {"", true, false},
	    {"ed25519:b", false, true}, {"", false, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct recordprune_rules rules = {
		    .cluster_id = 0xc1,
		    .oldest_revision = 100,
		    .trust = {.keys = keys, .n = 1, .is_configured = cases[i].is_configured}};
		struct recordpiece last = {.is_whole = true};

		(void) snprintf(last.signer, sizeof(last.signer), "%s", cases[i].signer);
		if (!CHECK(recordprune_goes(&rules, &last) == cases[i].goes))
			(void) fprintf(stderr, "  case %zu\n", i);
	}
}

/* --- what belongs together --- */

struct sample {
	const char *node;
	uint64_t sequence;
	int64_t first, last, begin_us, until_us;
	bool is_open;
};

/* "node:first-last ..." of the chains, in the order in which they ended. */
static char *describe(const struct recordreach *reach, const struct recordreach_segment *segments)
{
	char *text = xstrdup("");

	for (size_t i = 0; i < reach->n; i++) {
		const struct chain *c = &reach->chains[i];
		char *more =
		    xasprintf("%s%s:%lld-%lld@%zu*%zu ", text, segments[c->first_segment].last.node,
		              (long long) c->first, (long long) c->last, segments[c->first_segment].series,
		              c->n_segments);

		free(text);
		text = more;
	}
	return text;
}

static void reach_is(const struct sample *samples, size_t n, const char *want)
{
	struct recordreach_segment segments[8] = {0};
	struct recordreach reach;
	AUTO(free) char *text = NULL;

	for (size_t i = 0; i < n; i++) {
		struct recordreach_segment *s = &segments[i];

		s->named = (struct record_header){.cluster_id = 0xc1,
		                                  .sequence = samples[i].sequence,
		                                  .first_revision = samples[i].first};
		(void) snprintf(s->last.node, sizeof(s->last.node), "%s", samples[i].node);
		s->last.is_closed = !samples[i].is_open;
		s->last.last_revision = samples[i].last;
		s->last.begin_us = samples[i].begin_us;
		s->last.until_us = samples[i].until_us;
	}
	recordreach_find(segments, n, &reach);
	text = describe(&reach, segments);
	CHECK_EQ_STR(text, want);
	recordreach_fini(&reach);
}

static void test_reach(void)
{
	static const struct sample two_nodes[] = {
	    {"b", 8, 11, 20, 110, 200, false}, {"a", 1, 1, 15, 10, 150, false},
	    {"b", 7, 1, 10, 10, 110, false},   {"a", 2, 16, 19, 150, 190, true},
	    {"b", 9, 21, 22, 200, 210, true},
	};
	/* The disk was replaced: the second 1 comes later. */
	static const struct sample replaced[] = {
	    {"a", 1, 50, 60, 500, 600, false},
	    {"a", 1, 1, 10, 10, 100, false},
	    {"a", 2, 11, 20, 100, 200, false},
	    {"a", 2, 61, 70, 600, 700, true},
	};
	/* A revision is missing; a segment is missing; an end is missing. */
	static const struct sample torn[] = {
	    {"a", 1, 1, 10, 10, 100, false},   {"a", 2, 12, 20, 100, 200, false},
	    {"a", 4, 21, 30, 200, 300, false}, {"a", 5, 31, 40, 300, 400, true},
	    {"a", 6, 41, 50, 400, 500, true},
	};

	reach_is(two_nodes, ARRAY_SIZE(two_nodes), "a:1-19@0*2 b:1-22@1*3 ");
	reach_is(replaced, ARRAY_SIZE(replaced), "a:1-20@0*2 a:50-70@1*2 ");
	reach_is(torn, ARRAY_SIZE(torn), "a:1-10@0*1 a:12-20@0*1 a:21-40@0*2 a:41-50@0*1 ");
	reach_is(NULL, 0, "");
}

static void test_passed(void)
{
	const struct recordstored a = {.named = {.cluster_id = 1, .sequence = 4, .first_revision = 10}};
	struct recordstored b = {.named = {.cluster_id = 1, .sequence = 5, .first_revision = 20}};

	CHECK(recordreach_is_passed(&a, &b, 20));
	CHECK(!recordreach_is_passed(&a, &b, 19));
	CHECK(!recordreach_is_passed(&a, NULL, 20));
	b.named.sequence = 6;
	CHECK(!recordreach_is_passed(&a, &b, 20));
	b.named.sequence = 5;
	b.begins = true; /* another history */
	CHECK(!recordreach_is_passed(&a, &b, 20));
}

int main(void)
{
	test_steps();
	test_any_order();
	test_many();
	test_prune();
	test_prune_trust();
	test_reach();
	test_passed();
	return check_result();
}
