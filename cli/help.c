/* SPDX-License-Identifier: Apache-2.0 */
/* Prints help: of a command, of a group of them, of the program. */
#include "cli/help.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"

#define USAGE_WIDTH 28 /* two spaces included; a wider one has a line of its own */

/* `left`, and in a column beside it the lines of `right`. */
static void print_beside(FILE *out, const char *left, const char *right)
{
	(void) fprintf(out, "  %-*s", USAGE_WIDTH, left);
	if (strlen(left) > USAGE_WIDTH - 2)
		(void) fprintf(out, "\n  %-*s", USAGE_WIDTH, "");
	for (;;) {
		size_t len = strcspn(right, "\n");

		(void) fprintf(out, "%.*s\n", (int) len, right);
		if (right[len] == '\0')
			return;
		right += len + 1;
		(void) fprintf(out, "  %-*s", USAGE_WIDTH, "");
	}
}

static void print_option(FILE *out, const struct cli_option *option)
{
	char letter[] = {'-', option->letter, ',', ' ', '\0'};
	AUTO(free)
	char *left =
	    xasprintf("%s--%s%s%s", option->letter != 0 ? letter : "    ", option->name,
	              option->value != NULL ? " " : "", option->value != NULL ? option->value : "");

	print_beside(out, left, option->help);
}

/* --- of a command --- */

void help_usage(FILE *out, const struct cli_command *command)
{
	(void) fprintf(out, "Usage: fairlead %s%s%s\n%s\n", command->name,
	               command->arguments[0] != '\0' ? " " : "", command->arguments, command->help);
}

static bool is_own(const struct cli_command *command, const char *name)
{
	for (const struct cli_option *o = command->own; o != NULL && o->name != NULL; o++) {
		if (strcmp(o->name, name) == 0)
			return true;
	}
	return false;
}

void help_command(FILE *out, const struct cli_command *command)
{
	help_usage(out, command);
	if (command->more != NULL)
		(void) fprintf(out, "\n%s\n", command->more);
	(void) fputs("\nOptions:\n", out);
	for (const struct cli_option *o = command->own; o != NULL && o->name != NULL; o++)
		print_option(out, o);
	for (size_t i = CLI_N_GLOBAL; i < CLI_N_COMMON; i++) {
		if (cli_command_takes(command, i) && !is_own(command, cli_common_options[i].name))
			print_option(out, &cli_common_options[i]);
	}
	if (cli_command_takes(command, CLI_OPTION_OUTPUT))
		print_option(out, &cli_common_options[CLI_OPTION_OUTPUT]);
	for (size_t i = CLI_OPTION_RUNTIME_DIR; i < CLI_OPTION_HELP; i++) {
		if (cli_command_takes(command, i))
			print_option(out, &cli_common_options[i]);
	}
	if (command->exits != NULL)
		(void) fprintf(out, "\nExit codes:\n%s\n", command->exits);
}

/* --- of several --- */

static bool is_below(const struct cli_command *command, const char *words)
{
	size_t len = strlen(words);

	return strncmp(command->name, words, len) == 0 && command->name[len] == ' ';
}

/* words: NULL for all. */
static void print_commands(FILE *out, const char *words)
{
	(void) fputs("Commands:\n", out);
	for (size_t i = 0; i < cli_commands_n; i++) {
		const struct cli_command *c = &cli_commands[i];
		AUTO(free)
		char *usage =
		    xasprintf("%s%s%s", c->name, c->arguments[0] != '\0' ? " " : "", c->arguments);

		if (words == NULL || is_below(c, words))
			print_beside(out, usage, c->help);
	}
}

bool help_is_group(const char *words)
{
	for (size_t i = 0; i < cli_commands_n; i++) {
		if (is_below(&cli_commands[i], words))
			return true;
	}
	return false;
}

void help_group(FILE *out, const char *words)
{
	(void) fprintf(out, "Usage: fairlead %s COMMAND\n", words);
	for (size_t i = 0; i < cli_groups_n; i++) {
		if (strcmp(cli_groups[i].name, words) == 0)
			(void) fprintf(out, "%s\n", cli_groups[i].help);
	}
	(void) fputc('\n', out);
	print_commands(out, words);
	(void) fputs("\nWith --help behind it, each says more.\n", out);
}

void help_program(FILE *out)
{
	(void) fputs(
	    "Usage: fairlead [OPTION]... COMMAND\n"
	    "Shows and steers the fairlead daemons of this node, and reads snapshots of etcd.\n\n",
	    out);
	print_commands(out, NULL);
	(void) fputs("\nOptions:\n", out);
	for (size_t i = 0; i < CLI_N_GLOBAL; i++)
		print_option(out, &cli_common_options[i]);
	(void) fputs("\nEach command has options of its own: with --help behind it, it lists them.\n"
	             "\nExit codes:\n"
	             "  0  it worked\n"
	             "  1  refused, failed, damaged, different, or there is no such thing\n"
	             "  2  the command line is wrong\n"
	             "  3  the daemon does not answer\n"
	             "  4  not for this user\n"
	             "  5  it works, and something wants attention\n"
	             "\nfairlead(1) has the rest.\n",
	             out);
}
