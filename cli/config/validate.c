/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `config validate`: each program judges the files, and their findings are shown once, in the order of
 * their places; those without a place come last.
 */
#include "cli/config/findings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonval.h"
#include "base/mem.h"
#include "cli/common/cli.h"
#include "cli/common/table.h"
#include "cli/common/worker.h"
#include "cli/config/config.h"

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

/* --- the command --- */

/*
 * `config validate`: every program reads all files, as it would when it is started, and what they
 * have to say is told once. What is wrong at some place is wrong whoever finds it. What a program
 * misses without naming a place counts only if something in the files is that program's.
 */

#define OURSELVES "fairlead"
#define NOTE "note: "
#define GOOD "ok: "
#define NO_FILE                                             \
	"there is no configuration: neither " CONF_DEFAULT_FILE \
	" nor a *.yaml in " CONF_DEFAULT_DIRECTORY "; `fairlead init` writes one"

struct validating {
	const struct cli *cli;
	struct parts parts;
	struct findings *findings;
	struct texts summaries; /* "vipd: 2 VIPs" */
};

static void on_error(const char *message, void *userdata)
{
	struct validating *v = userdata;

	findings_add(v->findings, FINDING_ERROR, OURSELVES, message);
}

static void take_line(struct validating *v, enum part part, const char *line, bool is_good)
{
	const char *program = part_names[part];
	bool is_its = v->parts.first[part] != NULL;

	if (!is_good) {
		if (is_its || findings_has_place(line))
			findings_add(v->findings, FINDING_ERROR, program, line);
	} else if (strncmp(line, NOTE, strlen(NOTE)) == 0) {
		if (is_its || findings_has_place(line))
			findings_add(v->findings, FINDING_NOTE, program, line + strlen(NOTE));
	} else if (is_its && strncmp(line, GOOD, strlen(GOOD)) == 0) {
		texts_add(&v->summaries, "%s: %s", program, line + strlen(GOOD));
	}
}

static void say_not_installed(struct validating *v, enum part part)
{
	AUTO(free)
	char *message = xasprintf("%s: %s, which is not installed beside this program, reads it: not "
	                          "checked",
	                          v->parts.first[part], part_names[part]);

	findings_add(v->findings, FINDING_WARNING, OURSELVES, message);
}

static int ask_program(struct validating *v, enum part part, int argc, char **argv)
{
	AUTO(free) char *text = NULL;
	char *rest, *line;
	int exit_code = 0, code;

	if (!worker_is_installed(part_names[part])) {
		if (v->parts.first[part] != NULL)
			say_not_installed(v, part);
		return CLI_OK;
	}
	code = config_ask(part_names[part], "--check", argc, argv, true, &text, &exit_code);
	if (code != CLI_OK)
		return code;
	for (line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
		take_line(v, part, line, exit_code == 0);
	if (exit_code >= 0)
		return CLI_OK;
	(void) fprintf(stderr, "fairlead: %s was killed\n", part_names[part]);
	return CLI_FAILED;
}

static void print(struct validating *v)
{
	if (v->cli->output != CLI_TABLE) {
		json_t *array = findings_json(v->findings);
		const json_t *object;
		size_t i;

		json_array_foreach(array, i, object) cli_print(v->cli, object);
		json_decref(array);
		return;
	}
	findings_print(v->findings, stdout, stderr);
	if (findings_count(v->findings, FINDING_ERROR) > 0)
		return;
	for (size_t i = 0; i < v->summaries.n; i++) {
		table_print_safe(stdout, v->summaries.items[i]);
		(void) fputc('\n', stdout);
	}
	if (v->summaries.n == 0)
		(void) puts("there is nothing in it for a program that is installed");
}

static void note_others(struct validating *v)
{
	for (size_t i = 0; i < v->parts.others.n; i++) {
		AUTO(free)
		char *message = xasprintf("%s: nothing of fairlead reads this", v->parts.others.items[i]);

		findings_add(v->findings, FINDING_NOTE, OURSELVES, message);
	}
}

static int validate(struct validating *v, int argc, char **argv)
{
	bool is_none = false;
	int code = CLI_OK;

	/* Of a kind that is misspelt it is an error that nobody reads it, and no note. */
	if (parts_read((const char *const *) argv, (size_t) argc, on_error, v, &v->parts) == 0) {
		is_none = argc == 0 && v->parts.n_files == 0;
		note_others(v);
	}
	if (is_none)
		findings_add(v->findings, FINDING_ERROR, OURSELVES, NO_FILE);
	for (enum part part = 0; part < N_PARTS && code == CLI_OK && !is_none; part++)
		code = ask_program(v, part, argc, argv);
	if (code != CLI_OK)
		return code;
	print(v);
	if (findings_count(v->findings, FINDING_ERROR) > 0)
		return CLI_FAILED;
	return findings_count(v->findings, FINDING_WARNING) > 0 ? CLI_WARNED : CLI_OK;
}

int cli_config_validate(const struct cli *cli, int argc, char **argv)
{
	struct validating v = {.cli = cli, .findings = findings_new()};
	int code = validate(&v, argc, argv);

	findings_free(v.findings);
	parts_fini(&v.parts);
	texts_fini(&v.summaries);
	return code;
}
