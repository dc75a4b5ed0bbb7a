/* SPDX-License-Identifier: Apache-2.0 */
/* An array that is sorted when it is shown; those without a place come last. */
#include "cli/config/findings.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonval.h"
#include "base/mem.h"
#include "cli/common/color.h"
#include "cli/common/table.h"

struct finding {
	enum severity severity;
	const char *program;
	char *message;
	size_t file_len; /* 0: it has no place */
	unsigned long line, col;
	const char *text; /* of the message, behind the place */
	size_t seq;
};

struct findings {
	struct finding *items;
	size_t n;
};

struct findings *findings_new(void)
{
	return NEW0(struct findings);
}

void findings_free(struct findings *findings)
{
	if (findings == NULL)
		return;
	for (size_t i = 0; i < findings->n; i++)
		free(findings->items[i].message);
	free(findings->items);
	free(findings);
}

/* --- places --- */

/* ":12" at p; NULL: something else. */
static const char *read_number(const char *p, unsigned long *ret)
{
	char *end;

	if (p[0] != ':' || p[1] < '0' || p[1] > '9')
		return NULL;
	*ret = strtoul(p + 1, &end, 10);
	return end;
}

/* "file:12:3: text", or "file:12: text". A name may have colons itself. */
static void find_place(struct finding *f)
{
	f->text = f->message;
	for (const char *p = strchr(f->message, ':'); p != NULL; p = strchr(p + 1, ':')) {
		unsigned long line, col = 0;
		const char *behind = read_number(p, &line), *behind_col;

		if (behind == NULL || p == f->message)
			continue;
		behind_col = read_number(behind, &col);
		if (behind_col != NULL)
			behind = behind_col;
		if (strncmp(behind, ": ", 2) != 0)
			continue;
		f->file_len = (size_t) (p - f->message);
		f->line = line;
		f->col = col;
		f->text = behind + 2;
		return;
	}
}

bool findings_has_place(const char *message)
{
	struct finding f = {.message = (char *) (uintptr_t) message};

	find_place(&f);
	return f.file_len > 0;
}

/* --- gathering --- */

void findings_add(struct findings *findings, enum severity severity, const char *program,
                  const char *message)
{
	struct finding *f;

	for (size_t i = 0; i < findings->n; i++) {
		if (strcmp(findings->items[i].message, message) == 0)
			return;
	}
	findings->items = xreallocarray(findings->items, findings->n + 1, sizeof(*findings->items));
	f = &findings->items[findings->n];
	*f = (struct finding){.severity = severity,
	                      .program = program,
	                      .message = xstrdup(message),
	                      .seq = findings->n++};
	find_place(f);
}

size_t findings_count(const struct findings *findings, enum severity severity)
{
	size_t n = 0;

	for (size_t i = 0; i < findings->n; i++)
		n += findings->items[i].severity == severity ? 1 : 0;
	return n;
}

static int compare_number(unsigned long a, unsigned long b)
{
	return (a > b) - (a < b);
}

static int compare(const void *left, const void *right)
{
	const struct finding *a = left, *b = right;
	int order = (a->file_len == 0) - (b->file_len == 0);

	if (order == 0 && a->file_len > 0) {
		order = strncmp(a->message, b->message, MIN(a->file_len, b->file_len));
		if (order == 0)
			order = compare_number(a->file_len, b->file_len);
		if (order == 0)
			order = compare_number(a->line, b->line);
		if (order == 0)
			order = compare_number(a->col, b->col);
	}
	return order != 0 ? order : compare_number(a->seq, b->seq);
}

static void sort(struct findings *findings)
{
	if (findings->n > 0)
		qsort(findings->items, findings->n, sizeof(*findings->items), compare);
}

/* --- showing --- */

static const char *severity_name(enum severity severity)
{
	switch (severity) {
	case FINDING_ERROR:
		return "error";
	case FINDING_WARNING:
		return "warning";
	case FINDING_NOTE:
		return "note";
	}
	return "unknown";
}

void findings_print(struct findings *findings, FILE *out, FILE *err)
{
	sort(findings);
	for (size_t i = 0; i < findings->n; i++) {
		const struct finding *f = &findings->items[i];
		FILE *to = f->severity == FINDING_NOTE ? out : err;

		/* An error stands there as compilers have it, which editors can go to. */
		if (f->severity != FINDING_ERROR) {
			color_print_state(to, severity_name(f->severity));
			(void) fputs(": ", to);
		}
		table_print_safe(to, f->message);
		(void) fputc('\n', to);
	}
}

json_t *findings_json(struct findings *findings)
{
	json_t *array = json_array();

	sort(findings);
	for (size_t i = 0; i < findings->n; i++) {
		const struct finding *f = &findings->items[i];
		AUTO(free) char *file = xstrndup(f->message, f->file_len);
		json_t *object =
		    json_pack("{s:s, s:s}", "severity", severity_name(f->severity), "program", f->program);

		if (f->file_len > 0)
			(void) json_object_set_new(object, "file", jsonval_text(file));
		if (f->file_len > 0)
			(void) json_object_set_new(object, "line", json_integer((json_int_t) f->line));
		if (f->col > 0)
			(void) json_object_set_new(object, "column", json_integer((json_int_t) f->col));
		(void) json_object_set_new(object, "message", jsonval_text(f->text));
		(void) json_array_append_new(array, object);
	}
	return array;
}
