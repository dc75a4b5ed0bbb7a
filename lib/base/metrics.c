/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text that grows, and the names of the families in it. A daemon's report makes one, walks its
 * state once, hands the text to whoever asked and frees it. The asserts here stand for rules of the
 * format that a scraper would otherwise answer with an error for the whole page: a family begins
 * once, a sample belongs to the family begun last, names are made of the legal letters.
 */
#include "base/metrics.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

struct metrics {
	FILE *out;
	char *text; /* written by `out`: valid after a flush */
	size_t len;
	char **names;
	size_t n_names;         /* the last one is the family that samples belong to */
	enum metrics_type type; /* its */
};

static const char *const type_names[] = {
    [METRICS_GAUGE] = "gauge",
    [METRICS_COUNTER] = "counter",
    [METRICS_HISTOGRAM] = "histogram",
};

struct metrics *metrics_new(void)
{
	struct metrics *m = NEW0(struct metrics);

	m->out = xmemstream_open(&m->text, &m->len);
	return m;
}

void metrics_free(struct metrics *m)
{
	if (m == NULL)
		return;
	(void) fclose(m->out);
	free(m->text);
	for (size_t i = 0; i < m->n_names; i++)
		free(m->names[i]);
	free(m->names);
	free(m);
}

/* [a-zA-Z_:][a-zA-Z0-9_:]*; a label's name has no colon. */
static bool is_legal_name(const char *name, bool colon)
{
	if (name[0] == '\0' || (name[0] >= '0' && name[0] <= '9'))
		return false;
	for (const char *p = name; *p != '\0'; p++) {
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
		      *p == '_' || (colon && *p == ':')))
			return false;
	}
	return true;
}

static bool ends_with(const char *s, const char *end)
{
	size_t len = strlen(s), end_len = strlen(end);

	return len >= end_len && strcmp(s + len - end_len, end) == 0;
}

static bool is_known(const struct metrics *m, const char *name)
{
	for (size_t i = 0; i < m->n_names; i++) {
		if (strcmp(m->names[i], name) == 0)
			return true;
	}
	return false;
}

/* A help text escapes backslash and newline, a label's value the double quote as well. */
static void write_escaped(FILE *out, const char *s, bool quote)
{
	for (; *s != '\0'; s++) {
		if (*s == '\n')
			(void) fputs("\\n", out);
		else if (*s == '\\')
			(void) fputs("\\\\", out);
		else if (*s == '"' && quote)
			(void) fputs("\\\"", out);
		else
			(void) fputc(*s, out);
	}
}

/* Fifteen digits say it exactly for most values and look like what was meant; seventeen for all. */
static void write_value(FILE *out, double value)
{
	char text[32];

	if (isnan(value)) {
		(void) fputs("NaN", out);
		return;
	}
	if (isinf(value)) {
		(void) fputs(value > 0 ? "+Inf" : "-Inf", out);
		return;
	}
	(void) snprintf(text, sizeof(text), "%.15g", value);
	if (strtod(text, NULL) < value || strtod(text, NULL) > value)
		(void) snprintf(text, sizeof(text), "%.17g", value);
	(void) fputs(text, out);
}

void metrics_family(struct metrics *m, const char *declared, enum metrics_type type,
                    const char *help)
{
	char *name = xstrndup(declared, strcspn(declared, "{"));

	assert(is_legal_name(name, true));
	assert((type == METRICS_COUNTER) == ends_with(name, "_total"));
	assert(!is_known(m, name));

	m->names = xreallocarray(m->names, m->n_names + 1, sizeof(*m->names));
	m->names[m->n_names++] = name;
	m->type = type;
	(void) fprintf(m->out, "# HELP %s ", name);
	write_escaped(m->out, help, false);
	(void) fprintf(m->out, "\n# TYPE %s %s\n", name, type_names[type]);
}

/* The family's name with `suffix`, and the labels in braces. `bound` is one more label, a bucket's
 * upper bound; NULL: none. */
static void write_name(struct metrics *m, const char *suffix, const struct metrics_label *labels,
                       size_t n, const double *bound)
{
	char separator = '{';

	(void) fprintf(m->out, "%s%s", m->names[m->n_names - 1], suffix);
	for (size_t i = 0; i < n; i++) {
		assert(is_legal_name(labels[i].name, false));
		(void) fprintf(m->out, "%c%s=\"", separator, labels[i].name);
		write_escaped(m->out, labels[i].value, true);
		(void) fputc('"', m->out);
		separator = ',';
	}
	if (bound != NULL) {
		(void) fprintf(m->out, "%cle=\"", separator);
		write_value(m->out, *bound);
		(void) fputc('"', m->out);
		separator = ',';
	}
	(void) fputs(separator == ',' ? "} " : " ", m->out);
}

void metrics_sample(struct metrics *m, double value, const struct metrics_label *labels, size_t n)
{
	assert(m->n_names > 0 && m->type != METRICS_HISTOGRAM);

	write_name(m, "", labels, n, NULL);
	write_value(m->out, value);
	(void) fputc('\n', m->out);
}

/* --- tables --- */

static double value_of(const struct metrics_row *row, const void *from)
{
	const void *at = (const char *) from + row->offset;
	int64_t us;

	switch (row->member) {
	case METRICS_BOOL:
		return *(const bool *) at;
	case METRICS_INT:
		return *(const int *) at;
	case METRICS_UNSIGNED:
		return *(const unsigned *) at;
	case METRICS_U64:
		return (double) *(const uint64_t *) at;
	case METRICS_I64:
		return (double) *(const int64_t *) at;
	case METRICS_SIZE:
		return (double) *(const size_t *) at;
	case METRICS_US:
		us = *(const int64_t *) at;
		return us == INT64_MIN ? (double) NAN : (double) us / (double) US_PER_S;
	case METRICS_CODE:
		return row->value(from);
	}
	return (double) NAN;
}

void metrics_table(struct metrics *m, const struct metrics_row *rows,
                   const struct metrics_subject *subjects, size_t n)
{
	for (const struct metrics_row *row = rows; row->name != NULL; row++) {
		bool is_counter = strstr(row->name, "_total") != NULL;

		metrics_family(m, row->name, is_counter ? METRICS_COUNTER : METRICS_GAUGE, row->help);
		for (size_t i = 0; i < n; i++) {
			double value = value_of(row, subjects[i].from);
			const struct metrics_label labels[] = {subjects[i].is, subjects[i].of};
			size_t n_labels = labels[0].name == NULL ? 0 : labels[1].name == NULL ? 1 : 2;

			if (!isnan(value))
				metrics_sample(m, value, labels, n_labels);
		}
	}
}

void metrics_histogram(struct metrics *m, const double *bounds, const uint64_t *counts, size_t n,
                       double sum, const struct metrics_label *labels, size_t n_labels)
{
	const double infinity = (double) INFINITY;
	uint64_t total = 0;

	assert(m->n_names > 0 && m->type == METRICS_HISTOGRAM);
	for (size_t i = 0; i < n_labels; i++)
		assert(strcmp(labels[i].name, "le") != 0);

	for (size_t i = 0; i <= n; i++) {
		const double *bound = i < n ? &bounds[i] : &infinity;

		assert(i == 0 || *bound > bounds[i - 1]);
		total += counts[i];
		write_name(m, "_bucket", labels, n_labels, bound);
		(void) fprintf(m->out, "%" PRIu64 "\n", total);
	}
	write_name(m, "_sum", labels, n_labels, NULL);
	write_value(m->out, sum);
	(void) fputc('\n', m->out);
	write_name(m, "_count", labels, n_labels, NULL);
	(void) fprintf(m->out, "%" PRIu64 "\n", total);
}

const char *metrics_text(const struct metrics *m, size_t *ret_len)
{
	xmemstream_flush(m->out);
	if (ret_len != NULL)
		*ret_len = m->len;
	return m->text;
}
