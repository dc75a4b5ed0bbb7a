/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the members' hashes mean, by tables: who differs, who cannot be blamed, who is asked, what
 * stays known, and when the next comparison is. test_etcdwatch_compare.c has the asking itself.
 */
#include "etcdwatch/health/hashes.h"

#include <stdio.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "tests/unit/check.h"
#include "tests/unit/threeseen.h"

#define HOUR_US (3600 * US_PER_S)

/* --- what they mean --- */

/* Of each voter, who is called a, b, c ... and has the ids 1, 2, 3: "a=5" its hash, "a=5@90" with
 * another revision than 100, "a=5/7" with that compacted instead of none, "a" without an answer;
 * the last that answers leads. */
static void parse(const char *text, struct hashes *h)
{
	*h = (struct hashes){.revision = 100};
	for (const char *p = text; *p != '\0'; p += strcspn(p, " "), p += *p == ' ' ? 1 : 0) {
		struct hashes_member *m = &h->members[h->n];
		long long revision = 100, compacted = -1;
		unsigned hash;

		m->id = (uint64_t) (p[0] - 'a') + 1;
		h->voters[h->n_voters++] = m->id;
		if (sscanf(p + 1, "=%u@%lld", &hash, &revision) < 1)
			continue;
		(void) sscanf(p + 1, "=%u/%lld", &hash, &compacted);
		m->answered = true;
		m->hash = hash;
		m->revision = revision;
		m->compact_revision = compacted;
		h->leader = m->id;
		h->n++;
	}
}

/* Of a, b, c ... and last the cluster: '+' the same, '-' differs, '.' not known. */
static void check_known(const struct hashes_memory *memory, size_t n, const char *want,
                        const char *what)
{
	AUTO(free) struct observation *o = NEW0(struct observation);
	char got[VIEW_MEMBERS_MAX + 2] = "";

	o->n_members = n;
	for (size_t i = 0; i < n; i++)
		o->members[i].id = i + 1;
	hashes_fill(memory, o);
	for (size_t i = 0; i < n; i++)
		got[i] = ".+-"[o->members[i].data];
	got[n] = ".+-"[o->data];
	if (!CHECK_EQ_STR(got, want))
		(void) fprintf(stderr, "  of '%s'\n", what);
}

static const struct {
	const char *said;
	enum hashes_result result;
	const char *once, *twice; /* what is known then */
} judged[] = {
    {"a=5 b=5 c=5", HASHES_SAME, "++++", "++++"},
    {"a=5 b=5 c", HASHES_SAME, "++.+", "++.+"},
    {"a=5 b=6 c=5", HASHES_DIFFER, "+.++", "+-++"},
    {"a=6 b=5 c=5", HASHES_DIFFER, ".+++", "-+++"},
    {"a=5 b=5 c=6", HASHES_DIFFER, "++.+", "++-+"},
    /* Two are left, or all three are different. */
    {"a=5 b=6 c", HASHES_DIFFER, "....", "...-"},
    {"a=5 b=6", HASHES_DIFFER, "...", "..-"},
    {"a=5 b=6 c=7", HASHES_DIFFER, "....", "...-"},
    {"a=5 b=5 c=6 d=6", HASHES_DIFFER, ".....", "....-"},
    {"a=5 b=5 c=6 d e", HASHES_DIFFER, "......", ".....-"},
    {"a=5 b=5 c=5 d=6 e", HASHES_DIFFER, "+++..+", "+++-.+"},
    {"a=5 b=5 c=5 d=6 e=7", HASHES_DIFFER, "+++..+", "+++--+"},
    /* What cannot be compared is no difference. */
    {"a=5 b=6@90 c=5", HASHES_SAME, "+.++", "+.++"},
    {"a=5 b=6/7 c=5", HASHES_SAME, "+.++", "+.++"},
    {"a=5/7 b=5/7 c=6", HASHES_SAME, "++.+", "++.+"},
    {"a=5/7 b=6/8 c=7/9", HASHES_NOTHING, "....", "...."},
    {"a=5 b c", HASHES_NOTHING, "....", "...."},
    {"a b c", HASHES_NOTHING, "....", "...."},
};

static void test_judged(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(judged); i++) {
		struct hashes_memory memory = {0};
		struct hashes h;

		parse(judged[i].said, &h);
		if (!CHECK_EQ_INT(hashes_judge(&h, &memory, 10), judged[i].result))
			(void) fprintf(stderr, "  of '%s'\n", judged[i].said);
		check_known(&memory, h.n_voters, judged[i].once, judged[i].said);
		(void) hashes_judge(&h, &memory, 20);
		check_known(&memory, h.n_voters, judged[i].twice, judged[i].said);
	}
}

/* One after the other, by the same memory. */
static void test_stays_known(void)
{
	static const struct {
		const char *said, *want;
	} steps[] = {
	    {"a=5 b=6 c=5", "+.++"},
	    /* It was nothing; and once more does not count from before. */
	    {"a=5 b=5 c=5", "++++"},
	    {"a=5 b=6 c=5", "+.++"},
	    /* One that gives no answer is as it was. */
	    {"a=5 b c=5", "+.++"},
	    {"a=5 b=6 c=5", "+-++"},
	    {"a=5 b c=5", "+-++"},
	    {"a b c", "+-++"},
	    /* Two that are left: who is right, is known from before. */
	    {"a=5 b=6 c", "+-+."},
	    {"a=5 b=6 c", "+-+-"},
	    {"a=5 b=6 c=5", "+-++"},
	    {"a=5 b=5 c=5", "++++"},
	    {"a=5 b=6 c=5", "+.++"},
	    {"a=5 b=6 c=5", "+-++"},
	    /* It is no member any more, and comes back. */
	    {"a=5 c=5", "+.++"},
	    {"a=5 b=6 c=5", "+.++"},
	};
	struct hashes_memory memory = {0};

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		struct hashes h;

		parse(steps[i].said, &h);
		(void) hashes_judge(&h, &memory, 10);
		check_known(&memory, 3, steps[i].want, steps[i].said);
	}
}

/* --- who is asked --- */

static void check_plan(const struct observation *o, const char *want)
{
	struct hashes h;
	bool may = hashes_plan(o, &h);
	char got[64] = "-";
	size_t len = 0;

	for (size_t i = 0; i < h.n && may; i++)
		len += (size_t) snprintf(got + len, sizeof(got) - len, "%s ", h.members[i].name);
	if (may)
		(void) snprintf(got + len, sizeof(got) - len, "of %zu at %lld", h.n_voters,
		                (long long) h.revision);
	CHECK_EQ_STR(got, want);
}

static void test_plan(void)
{
	AUTO(free) struct observation *o = threeseen_new();

	check_plan(o, "n1 n3 n2 of 3 at 90");
	o->members[0].answer = OBSERVED_BAD;
	check_plan(o, "n3 n2 of 3 at 91");
	o->members[2].learner = true;
	check_plan(o, "-");
	o->members[0].answer = OBSERVED_GOOD;
	check_plan(o, "n1 n2 of 2 at 90");
	(void) snprintf(o->members[0].version, sizeof(o->members[0].version), "3.5.17");
	check_plan(o, "-");
	(void) snprintf(o->members[1].version, sizeof(o->members[1].version), "3.5.17");
	check_plan(o, "n1 n2 of 2 at 90");
	o->members[2].no_space = true;
	check_plan(o, "-");
	o->members[2].no_space = false;
	o->other_no_space = true;
	check_plan(o, "-");
	o->other_no_space = false;
	o->list_known = false;
	check_plan(o, "-");
}

static bool needs_leader(const char *said, uint64_t leader, const struct hashes_memory *memory,
                         int64_t now_us)
{
	struct hashes h;

	parse(said, &h);
	h.leader = leader;
	return hashes_need_leader(&h, memory, now_us);
}

static void test_leader(void)
{
	struct hashes_memory memory = {0};
	struct hashes h;

	/* It was never compared. */
	CHECK(needs_leader("a=5 b=5 c", 3, &memory, 0));
	parse("a=5 b=5 c=5", &h);
	(void) hashes_judge(&h, &memory, HOUR_US);
	CHECK(!needs_leader("a=5 b=5 c", 3, &memory, 2 * HOUR_US));
	CHECK(!needs_leader("a=5 b=5 c", 3, &memory, 25 * HOUR_US - 1));
	CHECK(needs_leader("a=5 b=5 c", 3, &memory, 25 * HOUR_US));
	CHECK(needs_leader("a=5 b=6 c", 3, &memory, 2 * HOUR_US));
	CHECK(needs_leader("a=5 b c", 3, &memory, 2 * HOUR_US));
	CHECK(needs_leader("a=5 b=5/7 c", 3, &memory, 2 * HOUR_US));
	/* It is not among those that can be asked. */
	CHECK(!needs_leader("a=5 b=6 c", 0, &memory, 2 * HOUR_US));
	/* It is the one that differs, until it does not. */
	parse("a=5 b=5 c=6", &h);
	(void) hashes_judge(&h, &memory, 2 * HOUR_US);
	CHECK(needs_leader("a=5 b=5 c", 3, &memory, 2 * HOUR_US));
	(void) hashes_judge(&h, &memory, 3 * HOUR_US);
	CHECK(needs_leader("a=5 b=5 c", 3, &memory, 3 * HOUR_US));
	CHECK(!needs_leader("a=5 b=5 c", 2, &memory, 3 * HOUR_US));
	parse("a=5 b=5 c=5", &h);
	(void) hashes_judge(&h, &memory, 4 * HOUR_US);
	CHECK(!needs_leader("a=5 b=5 c", 3, &memory, 4 * HOUR_US));
	/* Of four, with it, half of the voters are against it. */
	parse("a=5 b=5 c=6 d", &h);
	(void) hashes_judge(&h, &memory, 5 * HOUR_US);
	CHECK(needs_leader("a=5 b=5 c d", 3, &memory, 5 * HOUR_US));
}

static void test_pause(void)
{
	struct hashes_memory memory = {.n = 1, .items = {{.id = 2}}};
	int64_t every_us = 4 * HOUR_US;

	CHECK_EQ_INT(hashes_pause_us(HASHES_SAME, &memory, every_us, 0, 0), 3 * HOUR_US);
	CHECK_EQ_INT(hashes_pause_us(HASHES_SAME, &memory, every_us, 0, 500), 4 * HOUR_US);
	CHECK(hashes_pause_us(HASHES_SAME, &memory, every_us, 0, 999) < 5 * HOUR_US);
	CHECK_EQ_INT(hashes_pause_us(HASHES_NOTHING, &memory, every_us, 0, 0), 600 * US_PER_S);
	memory.items[0].n_differs = 1;
	CHECK_EQ_INT(hashes_pause_us(HASHES_DIFFER, &memory, every_us, 0, 0), 60 * US_PER_S);
	memory.items[0].n_differs = 2;
	CHECK_EQ_INT(hashes_pause_us(HASHES_DIFFER, &memory, every_us, 0, 0), 600 * US_PER_S);
	/* The one that differs gave no answer. */
	CHECK_EQ_INT(hashes_pause_us(HASHES_SAME, &memory, every_us, 0, 0), 600 * US_PER_S);
	CHECK_EQ_INT(hashes_pause_us(HASHES_DIFFER, &memory, every_us, HOUR_US, 0), 10 * HOUR_US);
	CHECK_EQ_INT(hashes_pause_us(HASHES_DIFFER, &memory, US_PER_S, 0, 500), US_PER_S);
}

int main(void)
{
	test_judged();
	test_stays_known();
	test_plan();
	test_leader();
	test_pause();
	return check_result();
}
