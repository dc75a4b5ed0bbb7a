/* SPDX-License-Identifier: Apache-2.0 */

/* The judge of the observer's log, on logs made up here: what must pass, what must not, and figures
 * to the microsecond. Every story rests on it. */

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "tests/tools/wirelog/figures.h"
#include "tests/unit/check.h"

#define A "02:00:00:00:00:0a"
#define B "02:00:00:00:00:0b"
#define C "02:00:00:00:00:0c"
#define S *1000000LL
#define MS *1000LL
#define ANY FIGURES_UNLIMITED

/* One speaker of a made-up log: says `word` each step_us from from_us to until_us inclusive. */
struct speech {
	const char *word, *mac;
	long long from_us, until_us, step_us;
};

struct scene {
	const char *name;
	struct speech speeches[6];
	const char *extra; /* further lines */
	struct figures_limits limits;
	enum figures_verdict verdict;
	long long gap_us, overlap_us;
	int moves, owners;
};

#define LIMITS(overlap, gap, moves, owners)                                        \
	{                                                                              \
		.max_overlap_us = (overlap), .max_gap_us = (gap), .expect_moves = (moves), \
		.max_owners = (owners)                                                     \
	}

static const struct scene scenes[] = {
    {
        .name = "one owner all the time",
        .speeches = {{"answer", A, 0, 2 S, 5 MS}},
        .limits = LIMITS(0, 10 MS, 0, 1),
        .verdict = FIGURES_KEPT,
        .gap_us = 5 MS,
        .owners = 1,
    },
    {
        .name = "a clean handover of 40 ms",
        .speeches = {{"answer", A, 0, 1 S, 5 MS},
                     {"announce", B, 1 S + 35 MS, 1 S + 35 MS, 1},
                     {"answer", B, 1 S + 40 MS, 2 S, 5 MS}},
        .limits = LIMITS(0, 100 MS, 1, 2),
        .verdict = FIGURES_KEPT,
        .gap_us = 40 MS,
        .moves = 1,
        .owners = 2,
    },
    {
        .name = "nobody for three seconds",
        .speeches = {{"answer", A, 0, 1 S, 5 MS}, {"answer", B, 4 S, 5 S, 5 MS}},
        .limits = LIMITS(0, 2999 MS, ANY, ANY),
        .verdict = FIGURES_BROKEN,
        .gap_us = 3 S,
        .moves = 1,
        .owners = 2,
    },
    {
        .name = "the observer itself slept through most of a gap",
        .speeches = {{"answer", A, 0, 1 S, 5 MS}, {"answer", A, 4 S, 5 S, 5 MS}},
        .extra = "3999000 late 2950000\n",
        .limits = LIMITS(0, 100 MS, 0, 1),
        .verdict = FIGURES_KEPT,
        .gap_us = 50 MS,
        .owners = 1,
    },
    {
        .name = "silent from the start",
        .speeches = {{"answer", A, 1 S, 2 S, 5 MS}},
        .extra = "0 asking 0\n",
        .limits = LIMITS(0, 999 MS, ANY, ANY),
        .verdict = FIGURES_BROKEN,
        .gap_us = 1 S,
        .owners = 1,
    },
    {
        .name = "silent to the end",
        .speeches = {{"answer", A, 0, 1 S, 5 MS}},
        .extra = "3000000 asking 600\n",
        .limits = LIMITS(0, 1999 MS, ANY, ANY),
        .verdict = FIGURES_BROKEN,
        .gap_us = 2 S,
        .owners = 1,
    },
    {
        /* B's last word before A's first one is 1 ms away. */
        .name = "two at once for a second",
        .speeches = {{"answer", A, 0, 2 S, 5 MS}, {"answer", B, 1 S + 1 MS, 3 S, 5 MS}},
        .limits = LIMITS(998 MS, ANY, ANY, ANY),
        .verdict = FIGURES_BROKEN,
        .gap_us = 5 MS,
        .overlap_us = 999 MS,
        .moves = 401,
        .owners = 2,
    },
    {
        .name = "two at once, within what is allowed",
        .speeches = {{"answer", A, 0, 2 S, 5 MS}, {"answer", B, 1 S + 1 MS, 3 S, 5 MS}},
        .limits = LIMITS(999 MS, ANY, ANY, ANY),
        .verdict = FIGURES_KEPT,
        .gap_us = 5 MS,
        .overlap_us = 999 MS,
        .moves = 401,
        .owners = 2,
    },
    {
        .name = "a former owner says one word",
        .speeches = {{"answer", A, 0, 1 S, 5 MS},
                     {"answer", B, 1500 MS, 9 S, 5 MS},
                     {"answer", A, 5002 MS, 5002 MS, 1}},
        .limits = LIMITS(0, ANY, ANY, ANY),
        .verdict = FIGURES_BROKEN,
        .gap_us = 500 MS,
        .overlap_us = 2 MS,
        .moves = 3,
        .owners = 2,
    },
    {
        .name = "a former owner announces itself once, answering nobody",
        .speeches = {{"answer", A, 0, 1 S, 5 MS},
                     {"answer", B, 1500 MS, 9 S, 5 MS},
                     {"announce", A, 5002 MS, 5002 MS, 1}},
        .limits = LIMITS(0, ANY, ANY, ANY),
        .verdict = FIGURES_BROKEN,
        .gap_us = 500 MS,
        .overlap_us = 2 MS,
        .moves = 1,
        .owners = 2,
    },
    {
        .name = "a former owner asks for somebody in the address's name",
        .speeches = {{"answer", A, 0, 1 S, 5 MS},
                     {"answer", B, 1500 MS, 9 S, 5 MS},
                     {"speak", A, 5002 MS, 5002 MS, 1}},
        .limits = LIMITS(0, ANY, ANY, ANY),
        .verdict = FIGURES_BROKEN,
        .gap_us = 500 MS,
        .overlap_us = 2 MS,
        .moves = 1,
        .owners = 2,
    },
    {
        .name = "a former owner sends a TCP segment and answers no request for a MAC",
        .speeches = {{"answer", A, 0, 1 S, 5 MS},
                     {"answer", B, 1500 MS, 9 S, 5 MS},
                     {"serve", A, 5002 MS, 5002 MS, 1}},
        .limits = LIMITS(0, ANY, ANY, ANY),
        .verdict = FIGURES_BROKEN,
        .gap_us = 500 MS,
        .overlap_us = 2 MS,
        .moves = 1,
        .owners = 2,
    },
    {
        .name = "TCP fills no gap",
        .speeches = {{"answer", A, 0, 1 S, 5 MS},
                     {"serve", A, 0, 1100 MS, 5 MS},
                     {"answer", B, 1500 MS, 9 S, 5 MS}},
        .limits = LIMITS(0, 499 MS, ANY, ANY),
        .verdict = FIGURES_BROKEN,
        .gap_us = 500 MS,
        .moves = 1,
        .owners = 2,
    },
    {
        .name = "two late words count from the first to the last",
        .speeches = {{"answer", B, 0, 9 S, 5 MS},
                     {"answer", A, 2001 MS, 2001 MS, 1},
                     {"answer", A, 7001 MS, 7001 MS, 1}},
        .limits = LIMITS(5000 MS, ANY, ANY, ANY),
        .verdict = FIGURES_BROKEN,
        .gap_us = 5 MS,
        .overlap_us = 5001 MS,
        .moves = 4,
        .owners = 2,
    },
    {
        .name = "going and coming back is no overlap",
        .speeches = {{"answer", A, 0, 1 S, 5 MS},
                     {"answer", B, 1010 MS, 3 S, 5 MS},
                     {"answer", A, 3010 MS, 5 S, 5 MS}},
        .limits = LIMITS(0, 100 MS, 2, 2),
        .verdict = FIGURES_KEPT,
        .gap_us = 10 MS,
        .moves = 2,
        .owners = 2,
    },
    {
        .name = "a probe is no claim",
        .speeches = {{"answer", A, 0, 2 S, 5 MS}, {"probe", B, 1 S, 1 S, 1}},
        .limits = LIMITS(0, 100 MS, 0, 1),
        .verdict = FIGURES_KEPT,
        .gap_us = 5 MS,
        .owners = 1,
    },
    {
        .name = "three owners",
        .speeches = {{"answer", A, 0, 1 S, 5 MS},
                     {"answer", B, 1010 MS, 2 S, 5 MS},
                     {"answer", C, 2010 MS, 3 S, 5 MS}},
        .limits = LIMITS(0, 100 MS, 2, 2),
        .verdict = FIGURES_BROKEN,
        .gap_us = 10 MS,
        .moves = 2,
        .owners = 3,
    },
    {
        .name = "a move too many",
        .speeches = {{"answer", A, 0, 1 S, 5 MS}, {"answer", B, 1010 MS, 2 S, 5 MS}},
        .limits = LIMITS(0, 100 MS, 0, 2),
        .verdict = FIGURES_BROKEN,
        .gap_us = 10 MS,
        .moves = 1,
        .owners = 2,
    },
    {
        .name = "an announcement without an answer proves nothing",
        .speeches = {{"announce", A, 0, 1 S, 5 MS}},
        .limits = LIMITS(ANY, ANY, ANY, ANY),
        .verdict = FIGURES_NO_PROOF,
        .gap_us = 1 S,
        .owners = 1,
    },
};

static void read_text(struct journal *j, char *text, int expect, size_t expect_line)
{
	AUTO(fclose) FILE *f = fmemopen(text, strlen(text), "r");
	size_t line = 0;

	CHECK(f != NULL);
	CHECK_EQ_INT(journal_read(j, f, &line), expect);
	CHECK_EQ_INT((long long) line, (long long) expect_line);
}

static char *perform(const struct scene *scene)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	for (size_t i = 0; i < ARRAY_SIZE(scene->speeches); i++) {
		const struct speech *s = &scene->speeches[i];

		for (long long at = s->from_us; s->word != NULL && at <= s->until_us; at += s->step_us)
			(void) fprintf(f, "%lld %s %s\n", at, s->word, s->mac);
	}
	(void) fputs(scene->extra == NULL ? "" : scene->extra, f);
	(void) fclose(f);
	return text;
}

static void test_scenes(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(scenes); i++) {
		const struct scene *scene = &scenes[i];
		AUTO(free) char *text = perform(scene), *report = NULL;
		struct journal j = {0};
		struct figures f;
		size_t len = 0;
		FILE *out = open_memstream(&report, &len);

		read_text(&j, text, 0, 0);
		figures_measure(&j, 0, j.n_lines - 1, FIGURES_PRESENCE_US, &f);
		(void) printf("%s\n", scene->name);
		CHECK_EQ_INT(f.gap.us, scene->gap_us);
		CHECK_EQ_INT(f.overlap.us, scene->overlap_us);
		CHECK_EQ_INT(f.moves, scene->moves);
		CHECK_EQ_INT(f.owners, scene->owners);
		CHECK_EQ_INT((int) figures_judge(&j, &f, &scene->limits, out), (int) scene->verdict);
		figures_print(&j, &f, out);
		(void) fclose(out);
		CHECK((strstr(report, "BROKEN") != NULL) == (scene->verdict == FIGURES_BROKEN));
		journal_fini(&j);
	}
}

/* The windows between marks, and what is counted from their start. */
static void test_window(void)
{
	char text[] = "1000 answer " A "\n"
	              "2000 answer " A "\n"
	              "2500 mark loss of power\n"
	              "3000 answer " A "\n"
	              "9000 answer " B "\n"
	              "9500 mark settled\n"
	              "9600 answer " C "\n";
	struct journal j = {0};
	struct figures f;
	int64_t first, last;

	read_text(&j, text, 0, 0);
	first = journal_find_mark(&j, "loss of power");
	last = journal_find_mark(&j, "settled");
	CHECK_EQ_INT(journal_find_mark(&j, "loss"), -ENOENT);
	CHECK_EQ_INT(first, 2);
	figures_measure(&j, (size_t) first, (size_t) last, FIGURES_PRESENCE_US, &f);
	CHECK_EQ_INT(f.to_new_us, 6500);
	CHECK_EQ_INT(f.old_last_us, 500);
	CHECK_EQ_INT(f.gap.us, 6000);
	CHECK_EQ_INT(f.moves, 1);
	CHECK_EQ_INT(f.owners, 2);
	CHECK_EQ_INT((long long) f.answers, 2);
	journal_fini(&j);
}

/* The last mark of a name counts; lines are put in the order of their times. */
static void test_order(void)
{
	char text[] = "100 mark again\n5000 answer " B "\n4000 answer " A "\n4500 mark again\n";
	struct journal j = {0};

	read_text(&j, text, 0, 0);
	CHECK_EQ_INT(journal_find_mark(&j, "again"), 2);
	CHECK_EQ_INT(j.lines[1].at_us, 4000);
	journal_fini(&j);
}

/* Two logs are one: what each has alone is no overlap. */
static void test_merge(void)
{
	char arp[] = "1000 mark move\n2000 answer " A "\n9000 answer " B "\n";
	char tcp[] = "1000 mark move\n9500 serve " A " redirect held n1\n";
	struct journal j = {0};
	struct figures f;

	read_text(&j, arp, 0, 0);
	figures_measure(&j, 0, j.n_lines - 1, FIGURES_PRESENCE_US, &f);
	CHECK_EQ_INT(f.overlap.us, 0);
	read_text(&j, tcp, 0, 0);
	CHECK_EQ_INT((long long) j.n_lines, 5);
	CHECK_EQ_INT(journal_find_mark(&j, "move"), 1);
	figures_measure(&j, 0, j.n_lines - 1, FIGURES_PRESENCE_US, &f);
	CHECK_EQ_INT(f.overlap.us, 7000);
	CHECK_EQ_INT(f.moves, 1);
	journal_fini(&j);
}

static void test_ignored_and_named(void)
{
	char text[] = "1 answer " A "\n2 answer " B "\n3 answer " A "\n";
	struct journal j = {0};
	struct figures f;
	struct mac mac;

	CHECK(mac_parse(B, &mac) == 0);
	journal_owner(&j, &mac)->ignored = true;
	read_text(&j, text, 0, 0);
	figures_measure(&j, 0, j.n_lines - 1, FIGURES_PRESENCE_US, &f);
	CHECK_EQ_INT(f.owners, 1);
	CHECK_EQ_INT(f.overlap.us, 0);
	CHECK_EQ_STR(journal_owner_name(&j, j.lines[0].owner), A);
	CHECK_EQ_STR(journal_owner_name(&j, -1), "nobody");
	journal_fini(&j);
}

static void test_bad_logs(void)
{
	static const struct {
		const char *text;
		int error;
		size_t line;
	} cases[] = {
	    {"1 answer " A "\n2 answer nobody\n", -EBADMSG, 2},
	    {"1 answer " A "\nx\n", -EBADMSG, 2},
	    {"1 shout " A "\n", -EBADMSG, 1},
	    {"1 answer " A, -ENODATA, 0}, /* the observer is still writing it */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) char *text = xstrdup(cases[i].text);
		struct journal j = {0};

		read_text(&j, text, cases[i].error, cases[i].line);
		journal_fini(&j);
	}
}

int main(void)
{
	test_scenes();
	test_window();
	test_order();
	test_merge();
	test_ignored_and_named();
	test_bad_logs();
	return check_result();
}
