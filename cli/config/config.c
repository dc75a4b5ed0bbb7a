/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `config print`: each program that has something in the configuration prints it as it reads it,
 * with its defaults. What several read is printed by each of them, and shown once.
 */
#include "cli/config/config.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/common/cli.h"
#include "cli/common/worker.h"

int config_ask(const char *program, const char *mode, int argc, char **argv, bool with_errors,
               char **ret_text, int *ret_exit)
{
	struct texts words = {0};
	int code;

	texts_add(&words, "%s", mode);
	for (int i = 0; i < argc; i++)
		texts_add(&words, "--config=%s", argv[i]);
	code = worker_text(program, &words, with_errors, ret_text, ret_exit);
	texts_fini(&words);
	return code;
}

/* --- documents --- */

#define SEPARATOR "---\n"

static const char *find_end(const char *document)
{
	const char *next = strstr(document, "\n" SEPARATOR);

	return next != NULL ? next + 1 : document + strlen(document);
}

static bool is_of_kind(const char *document, const char *kind)
{
	AUTO(free) char *line = xasprintf("\nkind: %s\n", kind);

	return strstr(document, line) != NULL;
}

static bool is_there(const struct texts *documents, const char *document)
{
	for (size_t i = 0; i < documents->n; i++) {
		if (strcmp(documents->items[i], document) == 0)
			return true;
	}
	return false;
}

void config_add_documents(struct texts *documents, const char *text, const char *kind)
{
	while (*text != '\0') {
		const char *end = find_end(text);
		AUTO(free) char *document = xstrndup(text, (size_t) (end - text));

		if ((kind == NULL || is_of_kind(document, kind)) && !is_there(documents, document))
			texts_add(documents, "%s", document);
		text = end;
	}
}

/* --- printing --- */

void config_say_others(const struct parts *parts)
{
	for (size_t i = 0; i < parts->others.n; i++)
		(void) fprintf(stderr, "fairlead: %s: nothing of fairlead reads this: left out\n",
		               parts->others.items[i]);
}

static int print_part(struct texts *documents, enum part part, int argc, char **argv)
{
	AUTO(free) char *text = NULL;
	int exit_code, code;

	/* It says itself what is wrong. */
	code = config_ask(part_names[part], "--print", argc, argv, false, &text, &exit_code);
	if (code != CLI_OK || exit_code != 0)
		return CLI_FAILED;
	config_add_documents(documents, text, NULL);
	return CLI_OK;
}

int cli_config_print(const struct cli *cli UNUSED, int argc, char **argv)
{
	struct texts documents = {0};
	struct parts parts;
	int code = CLI_OK;

	if (parts_read((const char *const *) argv, (size_t) argc, conf_message_print, NULL, &parts) < 0)
		code = CLI_FAILED;
	for (enum part part = 0; part < N_PARTS && code == CLI_OK; part++) {
		if (parts.first[part] != NULL)
			code = print_part(&documents, part, argc, argv);
	}
	for (size_t i = 0; i < documents.n && code == CLI_OK; i++)
		(void) fputs(documents.items[i], stdout);
	if (code == CLI_OK)
		config_say_others(&parts);
	texts_fini(&documents);
	parts_fini(&parts);
	return code;
}
