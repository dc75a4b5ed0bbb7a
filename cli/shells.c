/* SPDX-License-Identifier: Apache-2.0 */
/* What the scripts of all shells are made of. */
#include "cli/shells.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"

const char shells_middle[] =
    "\tesac\n"
    "}\n"
    "\n"
    "# Sets `kind` to what the value of the option of this command may be; 1: it takes none.\n"
    "_fairlead_value() {\n"
    "\tkind=\n"
    "\tcase $1/$2 in\n";

static void add_once(struct texts *texts, const char *text, size_t len)
{
	for (size_t i = 0; i < texts->n; i++) {
		if (strlen(texts->items[i]) == len && strncmp(texts->items[i], text, len) == 0)
			return;
	}
	texts_add(texts, "%.*s", (int) len, text);
}

void shells_beginnings(struct texts *ret)
{
	texts_add(ret, "%s", "");
	for (size_t i = 0; i < cli_commands_n; i++) {
		const char *name = cli_commands[i].name;

		for (const char *space = strchr(name, ' '); space != NULL; space = strchr(space + 1, ' '))
			add_once(ret, name, (size_t) (space - name));
	}
}

void shells_next(const char *beginning, struct texts *ret)
{
	size_t len = strlen(beginning);

	for (size_t i = 0; i < cli_commands_n; i++) {
		const char *name = cli_commands[i].name;

		if (strncmp(name, beginning, len) != 0 || (len > 0 && name[len] != ' '))
			continue;
		name += len > 0 ? len + 1 : 0;
		add_once(ret, name, strcspn(name, " "));
	}
}

static bool is_own(const struct cli_command *command, const char *name)
{
	for (const struct cli_option *o = command->own; o != NULL && o->name != NULL; o++) {
		if (strcmp(o->name, name) == 0)
			return true;
	}
	return false;
}

bool shells_has(const struct cli_command *command, size_t common)
{
	if (is_own(command, cli_common_options[common].name))
		return false;
	return common != CLI_OPTION_VERSION && cli_command_takes(command, common);
}

/* command: "*" for any. */
static void print_value(FILE *out, const char *command, const struct cli_option *option)
{
	if (option->value == NULL)
		return;
	(void) fputc('\t', out);
	if (option->letter != 0)
		(void) fprintf(out, "%s/-%c | ", command, option->letter);
	(void) fprintf(out, "%s/--%s) kind='%s' ;;\n", command, option->name,
	               option->completes != NULL ? option->completes : "");
}

/* A command's own come first: one may be called like a common one. */
void shells_values(FILE *out)
{
	for (size_t i = 0; i < cli_commands_n; i++) {
		AUTO(free) char *command = xasprintf("'%s'", cli_commands[i].name);

		for (const struct cli_option *o = cli_commands[i].own; o != NULL && o->name != NULL; o++)
			print_value(out, command, o);
	}
	for (size_t i = 0; i < CLI_N_COMMON; i++)
		print_value(out, "*", &cli_common_options[i]);
}

void shells_quote(FILE *out, const char *text)
{
	(void) fputc('\'', out);
	for (; *text != '\0' && *text != '\n'; text++) {
		if (*text == '\'')
			(void) fputs("'\\''", out);
		else
			(void) fputc(*text, out);
	}
	(void) fputc('\'', out);
}
