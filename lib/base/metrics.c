/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text that grows, and the names of the families in it. A daemon's report makes one, walks its
 * state once, hands the text to whoever asked and frees it. The asserts here stand for rules of the
 * format that a scraper would otherwise answer with an error for the whole page: a family begins
 * once, a sample belongs to the family begun last, names are made of the legal letters.
 */
#include "base/metrics.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"

struct metrics {
	FILE *out;
	char *text; /* written by `out`: valid after a flush */
	size_t len;
	char **names;
	size_t n_names; /* the last one is the family that samples belong to */
};

struct metrics *metrics_new(void)
{
	struct metrics *m = NEW0(struct metrics);

	m->out = open_memstream(&m->text, &m->len);
	assert(m->out != NULL);
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

void metrics_family(struct metrics *m, const char *name, enum metrics_type type, const char *help)
{
	assert(is_legal_name(name, true));
	assert((type == METRICS_COUNTER) == ends_with(name, "_total"));
	assert(!is_known(m, name));

	m->names = xreallocarray(m->names, m->n_names + 1, sizeof(*m->names));
	m->names[m->n_names++] = xstrdup(name);
	(void) fprintf(m->out, "# HELP %s ", name);
	write_escaped(m->out, help, false);
	(void) fprintf(m->out, "\n# TYPE %s %s\n", name, type == METRICS_COUNTER ? "counter" : "gauge");
}

void metrics_sample(struct metrics *m, double value, const struct metrics_label *labels, size_t n)
{
	assert(m->n_names > 0);

	(void) fputs(m->names[m->n_names - 1], m->out);
	for (size_t i = 0; i < n; i++) {
		assert(is_legal_name(labels[i].name, false));
		(void) fprintf(m->out, "%c%s=\"", i == 0 ? '{' : ',', labels[i].name);
		write_escaped(m->out, labels[i].value, true);
		(void) fputc('"', m->out);
	}
	(void) fputs(n > 0 ? "} " : " ", m->out);
	write_value(m->out, value);
	(void) fputc('\n', m->out);
}

const char *metrics_text(const struct metrics *m, size_t *ret_len)
{
	/* A memory stream fails only for want of memory, which aborts here as everywhere. */
	if (fflush(m->out) != 0 || ferror(m->out))
		abort();
	if (ret_len != NULL)
		*ret_len = m->len;
	return m->text;
}
