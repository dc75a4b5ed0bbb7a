/* SPDX-License-Identifier: Apache-2.0 */
/* Which cluster is chosen, by what answers. An answer is a letter for the cluster and a digit for
 * the member, "-" where none came. */
#include "vipd/clusterchoice.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "tests/unit/check.h"

#define FENCE 2900
#define A 'a'
#define B 'b'

static const struct {
	const char *name;
	const char *answers;
	bool is_complete;
	uint64_t mine;
	int64_t silent_us;
	uint64_t want;
} cases[] = {
    {"nothing known yet", "- - -", false, 0, 0, 0},
    {"nobody answers", "- - -", true, 0, 0, 0},
    {"one of three, others to come", "a1 - -", false, 0, 0, 0},
    {"most, others to come", "a1 a2 -", false, 0, 0, A},
    {"the only endpoint", "a1", false, 0, 0, A},
    {"one of three, and no more come", "- a2 -", true, 0, 0, A},
    {"most of them", "b1 a2 a3", true, 0, 0, A},
    {"most, whoever is first", "a1 b2 b3", false, 0, 0, B},
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
    {"kept for as long as a fence", "b1 b2 b3", true, A, FENCE - 1, A},
    {"gone along with", "b1 b2 b3", true, A, FENCE, B},
    {"not before all were asked", "b1 b2 -", false, A, FENCE, A},
    {"a restore that begins with one", "b1 - -", true, A, FENCE, B},
    {"restored twice by mistake", "b1 c2 -", true, A, FENCE, A},
    {"restored twice, once for most", "b1 c2 c3", true, A, FENCE, 'c'},
};

static struct clusterchoice_input parse(const char *text, struct clusterchoice_answer *answers)
{
	struct clusterchoice_input in = {.answers = answers};

	for (; *text != '\0'; text += strcspn(text, " "), text += strspn(text, " ")) {
		struct clusterchoice_answer *a = &answers[in.n_answers++];

		*a = (struct clusterchoice_answer){0};
		if (*text != '-')
			*a = (struct clusterchoice_answer){(uint64_t) text[0], (uint64_t) text[1]};
	}
	return in;
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct clusterchoice_answer answers[8];
		struct clusterchoice_input in = parse(cases[i].answers, answers);

		in.is_complete = cases[i].is_complete;
		in.mine = cases[i].mine;
		in.silent_us = cases[i].silent_us;
		in.fence_us = FENCE;
		if (!CHECK_EQ_INT(clusterchoice(&in), cases[i].want))
			(void) fprintf(stderr, "case: %s\n", cases[i].name);
	}
	return check_result();
}
