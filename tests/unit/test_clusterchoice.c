/* SPDX-License-Identifier: Apache-2.0 */
/* Which cluster is chosen, by what answers. An answer is a letter for the cluster and a digit for
 * the member, "-" where none came. */
#include "vipd/clusterid.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "tests/unit/check.h"

#define FENCE 2900
#define A 'a'
#define B 'b'

#define NOW (1000 * FENCE)

static const struct {
	const char *name;
	const char *answers;
	bool is_complete;
	uint64_t mine;
	int64_t silent_us; /* for so long, others have answered and mine has not */
	uint64_t want;
} cases[] = {
    {"nothing known yet", "- - -", false, 0, 0, 0},
    {"no answers", "- - -", true, 0, 0, 0},
    {"one of three, others to come", "a1 - -", false, 0, 0, 0},
    {"most, others to come", "a1 a2 -", false, 0, 0, A},
    {"the only endpoint", "a1", false, 0, 0, A},
    {"one of three, and no more come", "- a2 -", true, 0, 0, A},
    {"most of them", "b1 a2 a3", true, 0, 0, A},
    {"most, in any order", "a1 b2 b3", false, 0, 0, B},
    {"torn", "b1 a2", true, 0, 0, 0},
    {"torn, with one silent", "b1 a2 -", true, 0, 0, 0},
    {"three of five", "b1 a2 a3 b4 a5", true, 0, 0, A},
    {"two of five", "b1 a2 a3 - -", true, 0, 0, 0},
    {"a member with two endpoints counts once", "b1 b1 a2", true, 0, 0, 0},
    {"and so it makes no majority", "b1 b1 a2 a3", true, 0, 0, A},
    {"one number in two clusters is two members", "b1 a1 a2", true, 0, 0, A},

    {"kept", "a1 a2 a3", true, A, 0, A},
    {"kept against one", "b1 a2 a3", true, A, 0, A},
    {"kept against most, with quorum or without", "b1 b2 a3", true, A, 0, A},
    {"kept while there is silence", "- - -", true, A, 100 * FENCE, A},
    {"kept for an answer of before", "b1 b2 A3", true, A, FENCE, A},
    {"not for one of long ago", "b1 b2 !3", true, A, FENCE, B},
    {"kept for as long as a fence", "b1 b2 b3", true, A, FENCE - 1, A},
    {"gone along with", "b1 b2 b3", true, A, FENCE, B},
    {"not before all were asked", "b1 b2 -", false, A, FENCE, A},
    {"a restore that begins with one", "b1 - -", true, A, FENCE, B},
    {"restored twice by mistake", "b1 c2 -", true, A, FENCE, A},
    {"restored twice, once for most", "b1 c2 c3", true, A, FENCE, 'c'},
};

/* As a capital letter it is nearly as old as a fence; "!" is an A that is older. */
static size_t parse(const char *text, struct etcd_heard *heard)
{
	size_t n = 0;

	for (; *text != '\0'; text += strcspn(text, " "), text += strspn(text, " ")) {
		int64_t age_us = *text == '!' ? FENCE : *text >= 'A' && *text <= 'Z' ? FENCE - 1 : 0;

		heard[n] = (struct etcd_heard){0};
		if (*text != '-')
			heard[n] = (struct etcd_heard){.cluster_id = *text == '!' ? A : (uint64_t) *text | 0x20,
			                               .member_id = (uint64_t) text[1],
			                               .heard_us = NOW - age_us};
		n++;
	}
	return n;
}

static void test_choices(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct etcd_heard heard[8];
		struct clusterchoice c = {.id = cases[i].mine};
		size_t n = parse(cases[i].answers, heard);
		bool changed;

		if (cases[i].silent_us != 0)
			c.others_since_us = NOW - cases[i].silent_us;
		changed = clusterchoice_weigh(&c, heard, n, cases[i].is_complete, NOW, FENCE);
		if (!CHECK_EQ_INT(c.id, cases[i].want) ||
		    !CHECK_EQ_INT(changed, cases[i].want != cases[i].mine))
			(void) fprintf(stderr, "case: %s\n", cases[i].name);
	}
}

/* Only an unbroken time in which others answer counts. */
static void test_time(void)
{
	static const struct {
		const char *answers;
		bool is_complete;
		int64_t others_since_us;
	} rounds[] = {
	    {"a1 b2", true, 0}, {"b1 b2", false, 0}, {"b1 b2", true, NOW}, {"b1 -", true, NOW},
	    {"- -", true, 0},   {"b1 -", true, NOW}, {"a1 -", false, 0},
	};
	struct clusterchoice c = {.id = A};

	for (size_t i = 0; i < ARRAY_SIZE(rounds); i++) {
		struct etcd_heard heard[8];
		size_t n = parse(rounds[i].answers, heard);

		CHECK(!clusterchoice_weigh(&c, heard, n, rounds[i].is_complete, NOW, FENCE));
		if (!CHECK_EQ_INT(c.others_since_us, rounds[i].others_since_us))
			(void) fprintf(stderr, "round %zu\n", i);
	}
}

int main(void)
{
	test_choices();
	test_time();
	return check_result();
}
