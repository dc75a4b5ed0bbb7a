/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `config validate`: every program reads all files, as it would when it is started, and what they
 * have to say is told once. What is wrong at some place is wrong whoever finds it. What a program
 * misses without naming a place counts only if something in the files is that program's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/common/cli.h"
#include "cli/common/table.h"
#include "cli/common/worker.h"
#include "cli/config/config.h"
#include "cli/config/findings.h"

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
