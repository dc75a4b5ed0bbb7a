/* SPDX-License-Identifier: Apache-2.0 */

/* Makes figures of a log: gaps, overlaps, moves. figures.h says what each of these words means. */

#include "figures.h"

#include "base/macro.h"

static void end_gap(const struct journal *j, struct figures *f, size_t from, size_t to)
{
	int64_t us = j->lines[to].at_us - j->lines[from].at_us;

	for (size_t i = from + 1; i <= to; i++)
		if (j->lines[i].kind == JOURNAL_LATE)
			us -= j->lines[i].late_us;
	if (us > f->gap.us)
		f->gap = (struct figures_stretch){
		    .us = us,
		    .first = from,
		    .last = to,
		    .a = j->lines[from].owner,
		    .b = j->lines[to].owner,
		};
}

static void measure_answers(const struct journal *j, struct figures *f)
{
	size_t previous = f->first;
	int answering = f->before;

	for (size_t i = f->first; i <= f->last; i++) {
		const struct journal_line *line = &j->lines[i];

		if (line->kind != JOURNAL_ANSWER)
			continue;
		f->answers++;
		end_gap(j, f, previous, i);
		previous = i;
		if (answering >= 0 && line->owner != answering)
			f->moves++;
		answering = line->owner;
		if (f->to_new_us < 0 && f->before >= 0 && line->owner != f->before)
			f->to_new_us = line->at_us - f->from_us;
	}
	end_gap(j, f, previous, f->last);
}

static void measure_claims(const struct journal *j, struct figures *f)
{
	for (size_t i = f->first; i <= f->last; i++) {
		int owner = j->lines[i].owner;

		if (owner < 0)
			continue;
		if (f->claims_of[owner]++ == 0)
			f->owners++;
		if (owner == f->before)
			f->old_last_us = j->lines[i].at_us - f->from_us;
	}
}

/* The last claim of the presence of `owner` that begins with line `at`. */
static size_t presence_end(const struct journal *j, const struct figures *f, int owner, size_t at,
                           int64_t presence_us)
{
	size_t end = at;

	for (size_t i = at + 1; i <= f->last; i++) {
		if (j->lines[i].at_us - j->lines[end].at_us > presence_us)
			break;
		if (j->lines[i].owner == owner)
			end = i;
	}
	return end;
}

/* Looks at one presence of `owner`, lines first..last, for claims of others. */
static void measure_presence(const struct journal *j, struct figures *f, int owner, size_t first,
                             size_t last)
{
	size_t began[JOURNAL_OWNERS_MAX] = {0};
	bool seen[JOURNAL_OWNERS_MAX] = {false};
	size_t own = first;

	for (size_t i = first; i <= last; i++) {
		int other = j->lines[i].owner;
		int64_t us;

		if (other == owner)
			own = i;
		if (other < 0 || other == owner)
			continue;
		if (!seen[other]) {
			seen[other] = true;
			began[other] = own;
		}
		/* Two claims in the same microsecond are still two. */
		us = MAX(j->lines[i].at_us - j->lines[began[other]].at_us, (int64_t) 1);
		if (us > f->overlap.us)
			f->overlap = (struct figures_stretch){
			    .us = us,
			    .first = began[other],
			    .last = i,
			    .a = owner,
			    .b = other,
			};
	}
}

static void measure_overlaps(const struct journal *j, struct figures *f, int64_t presence_us)
{
	for (int owner = 0; owner < j->n_owners; owner++) {
		for (size_t i = f->first; i <= f->last; i++) {
			size_t end;

			if (j->lines[i].owner != owner)
				continue;
			end = presence_end(j, f, owner, i, presence_us);
			measure_presence(j, f, owner, i, end);
			i = end;
		}
	}
}

void figures_measure(const struct journal *j, size_t first, size_t last, int64_t presence_us,
                     struct figures *ret_figures)
{
	struct figures f = {
	    .first = first,
	    .last = last,
	    .from_us = j->lines[first].at_us,
	    .until_us = j->lines[last].at_us,
	    .before = -1,
	    .gap = {.a = -1, .b = -1},
	    .overlap = {.a = -1, .b = -1},
	    .to_new_us = -1,
	    .old_last_us = -1,
	};

	for (size_t i = 0; i < first; i++)
		if (j->lines[i].kind == JOURNAL_ANSWER)
			f.before = j->lines[i].owner;
	measure_claims(j, &f);
	measure_answers(j, &f);
	measure_overlaps(j, &f, presence_us);
	*ret_figures = f;
}
