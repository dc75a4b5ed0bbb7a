/* SPDX-License-Identifier: Apache-2.0 */
/* The time that is left is the rest by the rate of the last seconds, and not said before there is
 * one. While the line is seen the end has not come: what comes behind the last byte may take its
 * time, and it does not say 100 %. What is drawn is ASCII, so that it is right on any terminal. */
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
#include "cli/common/table.h"

#define SAMPLE_US (450 * US_PER_MS)
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

/* --- the text --- */

static const char *amount(int64_t n, bool is_bytes, char text[static SIZE_TEXT_MAX])
{
	if (is_bytes)
		return size_text(n, text);
	(void) snprintf(text, SIZE_TEXT_MAX, "%lld", (long long) n);
	return text;
}

/* Of what turns out to be more than was thought nobody knows how much it is. */
static bool is_of_known(const struct progress_state *s)
{
	return s->of > 0 && s->done >= 0 && s->done <= s->of;
}

static char *bar_text(const struct progress_state *s)
{
	double part = (double) s->done / (double) s->of;
	int filled = MIN((int) (part * BAR_WIDTH), BAR_WIDTH - 1);
	char bar[BAR_WIDTH + 1];

	for (int i = 0; i < BAR_WIDTH; i++)
		bar[i] = i < filled ? '#' : '.';
	bar[BAR_WIDTH] = '\0';
	return xasprintf(" [%s] %3d%%", bar, MIN((int) (part * 100), 99));
}

static char *amounts_text(const struct progress_state *s)
{
	char done[SIZE_TEXT_MAX], of[SIZE_TEXT_MAX], rate[SIZE_TEXT_MAX];
	AUTO(free) char *so_far = NULL;

	if (s->done < 0)
		return xstrdup("");
	so_far = is_of_known(s) ? xasprintf(" %s of %s", amount(s->done, s->is_bytes, done),
	                                    amount(s->of, s->is_bytes, of))
	                        : xasprintf(" %s", amount(s->done, s->is_bytes, done));
	if (s->rate <= 0 || s->done == s->of)
		return TAKE_PTR(so_far);
	return xasprintf("%s, %s/s", so_far, amount((int64_t) s->rate, s->is_bytes, rate));
}

/* An estimate that was passed is none. */
static char *expected_text(const struct progress_state *s)
{
	char left[FIELD_AGE_MAX];

	if (s->expected_us <= s->elapsed_us)
		return xstrdup("");
	return xasprintf(", about %s left by %s", field_span(s->expected_us - s->elapsed_us, left),
	                 s->expected_by);
}

/* What is left, if that can be told; else how long it has taken: what is whole may still have to be
 * synced. */
static char *time_text(const struct progress_state *s)
{
	AUTO(free) char *expected = expected_text(s);
	char age[FIELD_AGE_MAX];

	if (is_of_known(s) && s->rate > 0 && s->done < s->of)
		return xasprintf(
		    ", %s left",
		    field_span((int64_t) ((double) (s->of - s->done) / s->rate * (double) US_PER_S), age));
	return xasprintf("%s %s%s", s->done >= 0 ? "," : "", field_span(s->elapsed_us, age), expected);
}

char *progress_text(const struct progress_state *s, size_t width)
{
	AUTO(free) char *bar = is_of_known(s) ? bar_text(s) : xstrdup("");
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

/* --- the line --- */

struct progress {
	bool is_seen;
	char what[WORDS_MAX];
	int64_t since_us; /* what is shown next began then; 0: as it is shown */
	int64_t began_us, drawn_us;
	int64_t done; /* the most so far */
	struct progress_meter meter;
};

static bool is_shown;

struct progress *progress_new(bool is_wanted)
{
	struct progress *p = NEW0(struct progress);
	const char *term = getenv("TERM");

	p->since_us = mono_now_us();
	p->is_seen = is_wanted && isatty(STDOUT_FILENO) != 0 && isatty(STDERR_FILENO) != 0 &&
	             (term == NULL || strcmp(term, "dumb") != 0);
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

void progress_anew(struct progress *p)
{
	p->since_us = mono_now_us();
	p->what[0] = '\0';
}

static void begin(struct progress *p, const char *what, int64_t now_us)
{
	(void) snprintf(p->what, sizeof(p->what), "%s", what);
	p->began_us = p->since_us != 0 ? p->since_us : now_us;
	p->since_us = 0;
	p->drawn_us = 0;
	p->done = -1;
	p->meter = (struct progress_meter){0};
}

/* Fills in the rest. */
static void show(struct progress *p, struct progress_state state)
{
	int64_t now_us = mono_now_us();
	AUTO(free) char *text = NULL;

	if (!p->is_seen)
		return;
	if (strncmp(p->what, state.what, sizeof(p->what) - 1) != 0)
		begin(p, state.what, now_us);
	p->done = MAX(p->done, state.done);
	if (state.done >= 0)
		progress_measure(&p->meter, now_us, p->done);
	if (is_shown && now_us - p->drawn_us < DRAW_US)
		return;
	p->drawn_us = now_us;
	state.what = p->what;
	state.done = p->done;
	state.rate = progress_rate(&p->meter);
	state.elapsed_us = now_us - p->began_us;
	text = progress_text(&state, terminal_width());
	(void) fputs(ANEW, stderr);
	table_print_safe(stderr, text);
	(void) fflush(stderr);
	is_shown = true;
}

void progress_show(struct progress *p, const char *what, int64_t done, int64_t of, bool is_bytes)
{
	show(p, (struct progress_state){.what = what, .done = done, .of = of, .is_bytes = is_bytes});
}

bool progress_show_told(struct progress *p, const json_t *object)
{
	const char *progress = field_text(object, "progress"), *doing = field_text(object, "doing");
	bool is_step = progress != NULL && doing != NULL && strcmp(progress, doing) != 0;
	const char *what = progress != NULL ? progress : doing;
	AUTO(free) char *both = is_step ? xasprintf("%s: %s", progress, doing) : NULL;
	bool is_bytes = json_is_integer(json_object_get(object, "bytes"));
	int64_t done = field_integer(object, is_bytes ? "bytes" : "revision");
	int64_t of = field_integer(object, is_bytes ? "of_bytes" : "of");

	if (what == NULL)
		return false;
	/* 0 of 0: nothing is known of it but that it is under way. */
	progress_show(p, both != NULL ? both : what, done > 0 || of > 0 ? done : -1, of, is_bytes);
	return true;
}

void progress_show_time(struct progress *p, const char *what, int64_t expected_us,
                        const char *expected_by)
{
	show(p, (struct progress_state){
	            .what = what, .done = -1, .expected_us = expected_us, .expected_by = expected_by});
}
