/* SPDX-License-Identifier: Apache-2.0 */

/* Compares the figures of a log with the limits of a story, and writes reports with the evidence.
 */

#include "figures.h"

#include <inttypes.h>

#define EVIDENCE_LINES 4
#define SEQUENCE_MAX 20 /* interleaved answers of two owners would fill pages */

static double in_ms(int64_t us)
{
	return us < 0 ? -1.0 : (double) us / 1e3;
}

/* The lines of a stretch: its first few and its last few. */
static void print_evidence(const struct journal *j, const struct figures *f,
                           const struct figures_stretch *s, FILE *out)
{
	for (size_t i = s->first; i <= s->last; i++) {
		const struct journal_line *line;

		if (i == s->first + EVIDENCE_LINES && s->last - i > EVIDENCE_LINES) {
			(void) fprintf(out, "    ...\n");
			i = s->last - EVIDENCE_LINES;
		}
		line = &j->lines[i];
		(void) fprintf(out, "    %+11.3f ms  %s  %s\n", (double) (line->at_us - f->from_us) / 1e3,
		               line->text, line->owner < 0 ? "" : journal_owner_name(j, line->owner));
	}
}

static bool judge_overlap(const struct journal *j, const struct figures *f,
                          const struct figures_limits *limits, FILE *out)
{
	if (limits->max_overlap_us == FIGURES_UNLIMITED || f->overlap.us <= limits->max_overlap_us)
		return true;
	(void) fprintf(out, "BROKEN: %s and %s overlap by %.3f ms, allowed %.3f ms\n",
	               journal_owner_name(j, f->overlap.a), journal_owner_name(j, f->overlap.b),
	               in_ms(f->overlap.us), in_ms(limits->max_overlap_us));
	print_evidence(j, f, &f->overlap, out);
	return false;
}

static bool judge_gap(const struct journal *j, const struct figures *f,
                      const struct figures_limits *limits, FILE *out)
{
	if (limits->max_gap_us == FIGURES_UNLIMITED || f->gap.us <= limits->max_gap_us)
		return true;
	(void) fprintf(out, "BROKEN: nobody answered for %.3f ms, allowed %.3f ms\n", in_ms(f->gap.us),
	               in_ms(limits->max_gap_us));
	print_evidence(j, f, &f->gap, out);
	return false;
}

static bool judge_owners(const struct journal *j, const struct figures *f,
                         const struct figures_limits *limits, FILE *out)
{
	if (limits->max_owners == FIGURES_UNLIMITED || f->owners <= limits->max_owners)
		return true;
	(void) fprintf(out, "BROKEN: %" PRId64 " owners, allowed %" PRId64 ":\n", f->owners,
	               limits->max_owners);
	for (int i = 0; i < j->n_owners; i++)
		if (f->claims_of[i] > 0)
			(void) fprintf(out, "    %s: %zu claims\n", j->owners[i].name, f->claims_of[i]);
	return false;
}

static bool judge_moves(const struct figures *f, const struct figures_limits *limits, FILE *out)
{
	if (limits->expect_moves == FIGURES_UNLIMITED || f->moves == limits->expect_moves)
		return true;
	(void) fprintf(out, "BROKEN: %" PRId64 " moves, expected %" PRId64 "\n", f->moves,
	               limits->expect_moves);
	return false;
}

enum figures_verdict figures_judge(const struct journal *j, const struct figures *f,
                                   const struct figures_limits *limits, FILE *out)
{
	bool kept = true;

	if (f->answers == 0 && !limits->allow_silence) {
		(void) fprintf(out, "NO PROOF: not one answer in the window\n");
		return FIGURES_NO_PROOF;
	}
	kept &= judge_overlap(j, f, limits, out);
	kept &= judge_gap(j, f, limits, out);
	kept &= judge_moves(f, limits, out);
	kept &= judge_owners(j, f, limits, out);
	return kept ? FIGURES_KEPT : FIGURES_BROKEN;
}

/* The owners in the order in which they answered. */
static void print_sequence(const struct journal *j, const struct figures *f, FILE *out)
{
	int owner = -1, shown = 0;

	for (size_t i = f->first; i <= f->last && shown <= SEQUENCE_MAX; i++) {
		const struct journal_line *line = &j->lines[i];

		if (line->kind != JOURNAL_ANSWER || line->owner == owner)
			continue;
		if (++shown > SEQUENCE_MAX)
			(void) fprintf(out, ", ...");
		else
			(void) fprintf(out, "%s%s from %+.3f s", owner < 0 ? "  " : ", ",
			               journal_owner_name(j, line->owner),
			               (double) (line->at_us - f->from_us) / 1e6);
		owner = line->owner;
	}
	(void) fprintf(out, "%s\n", owner < 0 ? "  nobody answered" : "");
}

void figures_print(const struct journal *j, const struct figures *f, FILE *out)
{
	(void) fprintf(out, "%.3f s, %zu answers, %" PRId64 " moves, longest gap %.1f ms (%s to %s), ",
	               (double) (f->until_us - f->from_us) / 1e6, f->answers, f->moves,
	               in_ms(f->gap.us), journal_owner_name(j, f->gap.a),
	               journal_owner_name(j, f->gap.b));
	if (f->overlap.us > 0)
		(void) fprintf(out, "overlap %.3f ms (%s and %s)\n", in_ms(f->overlap.us),
		               journal_owner_name(j, f->overlap.a), journal_owner_name(j, f->overlap.b));
	else
		(void) fprintf(out, "no overlap\n");
	print_sequence(j, f, out);
}

void figures_print_json(const struct figures *f, FILE *out)
{
	(void) fprintf(out,
	               "{\"answers\": %zu, \"owners\": %" PRId64 ", \"moves\": %" PRId64
	               ", \"gap_ms\": %.3f, \"overlap_ms\": %.3f, \"to_new_ms\": %.3f, "
	               "\"old_last_ms\": %.3f}\n",
	               f->answers, f->owners, f->moves, in_ms(f->gap.us), in_ms(f->overlap.us),
	               in_ms(f->to_new_us), in_ms(f->old_last_us));
}
