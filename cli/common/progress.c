/* SPDX-License-Identifier: Apache-2.0 */
/* The time that is left is the rest by the rate of the last seconds, and not said before there is
 * one. What is drawn is ASCII, so that it is right on any terminal. */
#include "cli/common/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/fields.h"
#include "cli/common/size.h"
#include "cli/common/table.h"

#define SAMPLE_US US_PER_S
#define DRAW_US (100 * US_PER_MS)
#define BAR_WIDTH 20
#define WIDTH 80
#define WORDS_MAX 64
/* Cursor to the first column, and clear from there to the end of the line (ECMA-48). */
#define ANEW "\r\033[K"

void progress_measure(struct progress_meter *meter, int64_t now_us, int64_t done)
{
	if (meter->n > 0 && now_us - meter->samples[meter->n - 1].at_us < SAMPLE_US)
		return;
	if (meter->n == PROGRESS_SAMPLES) {
		memmove(meter->samples, meter->samples + 1,
		        (PROGRESS_SAMPLES - 1) * sizeof(meter->samples[0]));
		meter->n--;
	}
	meter->samples[meter->n].at_us = now_us;
	meter->samples[meter->n++].done = done;
}

double progress_rate(const struct progress_meter *meter)
{
	int64_t took_us, done;

	if (meter->n < 2)
		return 0;
	took_us = meter->samples[meter->n - 1].at_us - meter->samples[0].at_us;
	done = meter->samples[meter->n - 1].done - meter->samples[0].done;
	return done > 0 ? (double) done * (double) US_PER_S / (double) took_us : 0;
}

/* --- the text -----------------------------------------------------------------------------------
 */

static const char *amount(int64_t n, bool is_bytes, char text[static SIZE_TEXT_MAX])
{
	if (is_bytes)
		return size_text(n, text);
	(void) snprintf(text, SIZE_TEXT_MAX, "%lld", (long long) n);
	return text;
}

static char *bar_text(const struct progress_state *s)
{
	double part = s->of > 0 ? (double) s->done / (double) s->of : 0;
	double bounded = part < 0 ? 0 : part > 1 ? 1 : part;
	int filled = (int) (bounded * BAR_WIDTH);
	char bar[BAR_WIDTH + 1];

	for (int i = 0; i < BAR_WIDTH; i++)
		bar[i] = i < filled ? '#' : '.';
	bar[BAR_WIDTH] = '\0';
	return xasprintf(" [%s] %3d%%", bar, (int) (bounded * 100));
}

static char *amounts_text(const struct progress_state *s)
{
	char done[SIZE_TEXT_MAX], of[SIZE_TEXT_MAX], rate[SIZE_TEXT_MAX];
	AUTO(free) char *so_far = NULL;

	if (s->done < 0)
		return xstrdup("");
	so_far = s->of > 0 ? xasprintf(" %s of %s", amount(s->done, s->is_bytes, done),
	                               amount(s->of, s->is_bytes, of))
	                   : xasprintf(" %s", amount(s->done, s->is_bytes, done));
	if (s->rate <= 0)
		return TAKE_PTR(so_far);
	return xasprintf("%s, %s/s", so_far, amount((int64_t) s->rate, s->is_bytes, rate));
}

/* What is left, if that can be told; else how long it has taken: what is whole may still have to be
 * synced. */
static char *time_text(const struct progress_state *s)
{
	char age[FIELD_AGE_MAX];

	if (s->of > 0 && s->rate > 0 && s->done < s->of)
		return xasprintf(
		    ", %s left",
		    field_age((int64_t) ((double) (s->of - s->done) / s->rate * (double) US_PER_S), age));
	return xasprintf("%s %s", s->done >= 0 ? "," : "", field_age(s->elapsed_us, age));
}

char *progress_text(const struct progress_state *s, size_t width)
{
	AUTO(free) char *bar = s->of > 0 && s->done >= 0 ? bar_text(s) : xstrdup("");
	AUTO(free) char *amounts = amounts_text(s);
	AUTO(free) char *time = time_text(s);
	char *text = xasprintf("%s%s%s%s", s->what, bar, amounts, time);

	/* The bar says it again in another way. */
	if (table_width(text) > width) {
		free(text);
		text = xasprintf("%s%s%s", s->what, amounts, time);
	}
	for (size_t end = strlen(text); table_width(text) > width; end--)
		text[end - 1] = '\0';
	return text;
}

/* --- the line -----------------------------------------------------------------------------------
 */

struct progress {
	bool is_seen;
	char what[WORDS_MAX];
	int64_t began_us, drawn_us;
	struct progress_meter meter;
};

static bool is_shown;

struct progress *progress_new(bool is_wanted)
{
	struct progress *p = NEW0(struct progress);
	const char *term = getenv("TERM");

	p->is_seen =
	    is_wanted && isatty(STDERR_FILENO) != 0 && (term == NULL || strcmp(term, "dumb") != 0);
	return p;
}

void progress_free(struct progress *p)
{
	if (p == NULL)
		return;
	progress_clear();
	free(p);
}

bool progress_is_seen(const struct progress *p)
{
	return p->is_seen;
}

void progress_clear(void)
{
	if (is_shown)
		(void) fputs(ANEW, stderr);
	is_shown = false;
}

static size_t terminal_width(void)
{
	struct winsize size = {0};

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < 2)
		return WIDTH - 1;
	return size.ws_col - 1U; /* the last column may take the next line along */
}

void progress_show(struct progress *p, const char *what, int64_t done, int64_t of, bool is_bytes)
{
	int64_t now_us = mono_now_us();
	AUTO(free) char *text = NULL;

	if (!p->is_seen)
		return;
	if (strcmp(p->what, what) != 0) {
		(void) snprintf(p->what, sizeof(p->what), "%s", what);
		p->began_us = now_us;
		p->drawn_us = 0;
		p->meter = (struct progress_meter){0};
	}
	if (done >= 0)
		progress_measure(&p->meter, now_us, done);
	if (is_shown && now_us - p->drawn_us < DRAW_US)
		return;
	p->drawn_us = now_us;
	text = progress_text(&(struct progress_state){.what = p->what,
	                                              .done = done,
	                                              .of = of,
	                                              .is_bytes = is_bytes,
	                                              .rate = progress_rate(&p->meter),
	                                              .elapsed_us = now_us - p->began_us},
	                     terminal_width());
	(void) fputs(ANEW, stderr);
	table_print_safe(stderr, text);
	(void) fflush(stderr);
	is_shown = true;
}
