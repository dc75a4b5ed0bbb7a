/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a log says, as figures. The words, exactly:
 * - A claim is an answer, an announcement, a question in the address's name, or a TCP segment from
 * it. A probe and a TCP reset are not.
 * - Gap: the time from one answer to the next, whoever gives them; also from the start of the
 * window to the first, and from the last to its end. Time in which the observer itself was late is
 * taken off, since nobody was asked then.
 * - Presence of a MAC: a run of its claims no two of which are further apart than presence_us.
 * - Overlap: where a claim of A falls within a presence of B, the time from B's last claim before
 * it to A's last claim within that presence. So a single late word of a former owner counts, and
 * one that speaks up twice counts from the first time to the last.
 * - Move: one answer is A's, the next B's.
 * Pure: no input, no output.
 */

#include "journal.h"

#define FIGURES_PRESENCE_US INT64_C(1000000)

/* A part of the log: its length, its first and last line, and the two owners it is about. */
struct figures_stretch {
	int64_t us;
	size_t first, last;
	int a, b;
};

struct figures {
	size_t first, last; /* the window, as line numbers */
	int64_t from_us, until_us;
	size_t answers;
	int64_t moves;
	int64_t owners; /* that claimed the address in the window */
	size_t claims_of[JOURNAL_OWNERS_MAX];
	int before;                          /* who answered last before the window, or -1 */
	struct figures_stretch gap, overlap; /* the longest; us is 0 where there was none */
	int64_t to_new_us;   /* from the window's start to an answer by another than `before`; or -1 */
	int64_t old_last_us; /* from there to the last claim of `before`; or -1 */
};

/* The window is the lines first..last. */
void figures_measure(const struct journal *j, size_t first, size_t last, int64_t presence_us,
                     struct figures *ret_figures);

/* The limits that a story sets. */
#define FIGURES_UNLIMITED (-1)

struct figures_limits {
	int64_t max_overlap_us, max_gap_us;
	int64_t expect_moves, max_owners;
	bool allow_silence; /* a window without one answer is no error */
};

enum figures_verdict {
	FIGURES_KEPT = 0,
	FIGURES_BROKEN = 1,   /* a limit is */
	FIGURES_NO_PROOF = 2, /* not one answer */
};

/* Writes the limits that are broken to out, each with the lines that prove it. */
enum figures_verdict figures_judge(const struct journal *j, const struct figures *f,
                                   const struct figures_limits *limits, FILE *out);

/* The whole as a paragraph for people, or as one line of JSON. */
void figures_print(const struct journal *j, const struct figures *f, FILE *out);
void figures_print_json(const struct figures *f, FILE *out);
