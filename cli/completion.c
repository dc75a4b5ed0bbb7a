/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scripts by which shells complete the command line: made of the table of commands. A script knows
 * three things of what has been typed: which words may follow, which options there are, and what the
 * value of an option or a word may be.
 */
#include "cli/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "cli/common/texts.h"

/* --- for both shells --- */

/* Between what follows a beginning and the values of options. */

static const char script_middle[] =
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

static void script_beginnings(struct texts *ret)
{
	texts_add(ret, "%s", "");
	for (size_t i = 0; i < cli_commands_n; i++) {
		const char *name = cli_commands[i].name;

		for (const char *space = strchr(name, ' '); space != NULL; space = strchr(space + 1, ' '))
			add_once(ret, name, (size_t) (space - name));
	}
}

static void script_next(const char *beginning, struct texts *ret)
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

static bool has_common(const struct cli_command *command, size_t common)
{
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
static void script_values(FILE *out)
{
	for (size_t i = 0; i < cli_commands_n; i++) {
		AUTO(free) char *command = xasprintf("'%s'", cli_commands[i].name);

		for (const struct cli_option *o = cli_commands[i].own; o != NULL && o->name != NULL; o++)
			print_value(out, command, o);
	}
	for (size_t i = 0; i < CLI_N_COMMON; i++)
		print_value(out, "*", &cli_common_options[i]);
}

static void script_quote(FILE *out, const char *text)
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

/* --- bash --- */

/* For bash: COMP_WORDS in, COMPREPLY out. It needs nothing of the package bash-completion. */

static const char bash_head[] =
    "# bash completion of fairlead, as 'fairlead completion bash' prints it.\n"
    "\n"
    "# Sets `next` to the words that may follow these, `options` and `kind` to what the command "
    "takes.\n"
    "_fairlead_below() {\n"
    "\tnext= options='--help --version' kind=\n"
    "\tcase $1 in\n";

static const char bash_tail[] =
    "\t*) return 1 ;;\n"
    "\tesac\n"
    "}\n"
    "\n"
    "_fairlead() {\n"
    "\tlocal cur=${COMP_WORDS[COMP_CWORD]} command= option= next options kind word i\n"
    "\tCOMPREPLY=()\n"
    "\t_fairlead_below ''\n"
    "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
    "\t\tword=${COMP_WORDS[i]}\n"
    "\t\tif [[ -n $option ]]; then\n"
    "\t\t\t# --option=value comes as three words.\n"
    "\t\t\t[[ $word == = ]] || option=\n"
    "\t\telif [[ $word == -* ]]; then\n"
    "\t\t\t! _fairlead_value \"$command\" \"$word\" || option=$word\n"
    "\t\t\t_fairlead_below \"$command\"\n"
    "\t\telif [[ \" $next \" == *\" $word \"* ]]; then\n"
    "\t\t\tcommand+=${command:+ }$word\n"
    "\t\t\t_fairlead_below \"$command\"\n"
    "\t\tfi\n"
    "\tdone\n"
    "\t[[ $cur != = ]] || cur=\n"
    "\tif [[ -n $option ]]; then\n"
    "\t\t_fairlead_value \"$command\" \"$option\"\n"
    "\telif [[ $cur == -* ]]; then\n"
    "\t\tkind=$options\n"
    "\telif [[ -n $next ]]; then\n"
    "\t\tkind=$next\n"
    "\tfi\n"
    "\tcase $kind in\n"
    "\t" CLI_FILES ")\n"
    "\t\tcompopt -o filenames 2>/dev/null\n"
    "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
    "\t\t;;\n"
    "\t" CLI_DIRECTORIES ")\n"
    "\t\tcompopt -o filenames 2>/dev/null\n"
    "\t\tmapfile -t COMPREPLY < <(compgen -d -- \"$cur\")\n"
    "\t\t;;\n"
    "\t*) mapfile -t COMPREPLY < <(compgen -W \"$kind\" -- \"$cur\") ;;\n"
    "\tesac\n"
    "}\n"
    "\n"
    "complete -F _fairlead fairlead\n";

static void bash_beginning(FILE *out, const char *beginning)
{
	struct texts next = {0};

	script_next(beginning, &next);
	(void) fprintf(out, "\t'%s') next='", beginning);
	for (size_t i = 0; i < next.n; i++)
		(void) fprintf(out, "%s%s", i > 0 ? " " : "", next.items[i]);
	if (beginning[0] == '\0') {
		(void) fputs("' options='", out);
		for (size_t i = 0; i < CLI_N_GLOBAL; i++)
			(void) fprintf(out, "%s--%s", i > 0 ? " " : "", cli_common_options[i].name);
	}
	(void) fputs("' ;;\n", out);
	texts_fini(&next);
}

static void bash_command(FILE *out, const struct cli_command *command)
{
	const char *before = "";

	(void) fprintf(out, "\t'%s') options='", command->name);
	for (const struct cli_option *o = command->own; o != NULL && o->name != NULL; o++) {
		(void) fprintf(out, "%s--%s", before, o->name);
		before = " ";
	}
	for (size_t i = 0; i < CLI_N_COMMON; i++) {
		if (!has_common(command, i))
			continue;
		(void) fprintf(out, "%s--%s", before, cli_common_options[i].name);
		before = " ";
	}
	(void) fputc('\'', out);
	if (command->completes != NULL)
		(void) fprintf(out, " kind='%s'", command->completes);
	(void) fputs(" ;;\n", out);
}

/* --- zsh --- */

/* For zsh: the same, with what help says beside each word. */

static const char zsh_head[] =
    "#compdef fairlead\n"
    "# zsh completion of fairlead, as 'fairlead completion zsh' prints it.\n"
    "\n"
    "# Sets `next` to the words that may follow these, `options` and `kind` "
    "to what the command takes.\n"
    "_fairlead_below() {\n"
    "\tnext=() options=('--help:help') kind=\n"
    "\tcase $1 in\n";

static const char zsh_tail[] =
    "\t*) return 1 ;;\n"
    "\tesac\n"
    "}\n"
    "\n"
    "_fairlead() {\n"
    "\tlocal command= option= kind word\n"
    "\tlocal -a next options\n"
    "\tlocal -i i\n"
    "\t_fairlead_below ''\n"
    "\tfor ((i = 2; i < CURRENT; i++)); do\n"
    "\t\tword=${words[i]}\n"
    "\t\tif [[ -n $option ]]; then\n"
    "\t\t\toption=\n"
    "\t\telif [[ $word == --*=* ]]; then\n"
    "\t\t\tcontinue\n"
    "\t\telif [[ $word == -* ]]; then\n"
    "\t\t\tif _fairlead_value \"$command\" \"$word\"; then option=$word; fi\n"
    "\t\t\t_fairlead_below \"$command\"\n"
    "\t\telif ((${next[(I)$word:*]})); then\n"
    "\t\t\tcommand+=${command:+ }$word\n"
    "\t\t\t_fairlead_below \"$command\"\n"
    "\t\tfi\n"
    "\tdone\n"
    "\tif [[ -z $option && $PREFIX == --*=* ]]; then\n"
    "\t\toption=${PREFIX%%=*}\n"
    "\t\tcompset -P '*='\n"
    "\tfi\n"
    "\tif [[ -n $option ]]; then\n"
    "\t\t_fairlead_value \"$command\" \"$option\"\n"
    "\telif [[ $PREFIX == -* ]]; then\n"
    "\t\t_describe -o option options\n"
    "\t\treturn\n"
    "\telif ((${#next})); then\n"
    "\t\t_describe command next\n"
    "\t\treturn\n"
    "\tfi\n"
    "\tcase $kind in\n"
    "\t'') _message 'nothing is known of this' ;;\n"
    "\t" CLI_FILES ") _files ;;\n"
    "\t" CLI_DIRECTORIES ") _files -/ ;;\n"
    "\t*) compadd -- ${=kind} ;;\n"
    "\tesac\n"
    "}\n"
    "\n"
    "if [[ ${funcstack[1]} == _fairlead ]]; then\n"
    "\t_fairlead \"$@\"\n"
    "else\n"
    "\tcompdef _fairlead fairlead\n"
    "fi\n";

/* 'word:what it is' */
static void print_pair(FILE *out, const char *before, const char *word, const char *help)
{
	char pair[256];

	(void) snprintf(pair, sizeof(pair), "%s%s:%s", before, word, help);
	(void) fputc(' ', out);
	script_quote(out, pair);
}

/* Of a command or of what several have in common; "": there is nothing. */
static const char *help_of(const char *beginning, const char *word)
{
	char name[128];

	(void) snprintf(name, sizeof(name), "%s%s%s", beginning, beginning[0] != '\0' ? " " : "", word);
	for (size_t i = 0; i < cli_commands_n; i++) {
		if (strcmp(cli_commands[i].name, name) == 0)
			return cli_commands[i].help;
	}
	for (size_t i = 0; i < cli_groups_n; i++) {
		if (strcmp(cli_groups[i].name, name) == 0)
			return cli_groups[i].help;
	}
	return "";
}

static void print_options(FILE *out, const struct cli_command *command)
{
	(void) fputs(" options=(", out);
	for (const struct cli_option *o = command != NULL ? command->own : NULL;
	     o != NULL && o->name != NULL; o++)
		print_pair(out, "--", o->name, o->help);
	for (size_t i = 0; i < (command != NULL ? CLI_N_COMMON : CLI_N_GLOBAL); i++) {
		if (command == NULL || has_common(command, i))
			print_pair(out, "--", cli_common_options[i].name, cli_common_options[i].help);
	}
	(void) fputs(" )", out);
}

static void zsh_beginning(FILE *out, const char *beginning)
{
	struct texts next = {0};

	script_next(beginning, &next);
	(void) fprintf(out, "\t'%s') next=(", beginning);
	for (size_t i = 0; i < next.n; i++)
		print_pair(out, "", next.items[i], help_of(beginning, next.items[i]));
	(void) fputs(" )", out);
	if (beginning[0] == '\0')
		print_options(out, NULL);
	(void) fputs(" ;;\n", out);
	texts_fini(&next);
}

static void zsh_command(FILE *out, const struct cli_command *command)
{
	(void) fprintf(out, "\t'%s')", command->name);
	print_options(out, command);
	if (command->completes != NULL)
		(void) fprintf(out, " kind='%s'", command->completes);
	(void) fputs(" ;;\n", out);
}

/* --- the command --- */

static const struct shell {
	const char *name, *head, *tail;
	void (*beginning)(FILE *out, const char *beginning);
	void (*command)(FILE *out, const struct cli_command *command);
} shells[] = {
    {"bash", bash_head, bash_tail, bash_beginning, bash_command},
    {"zsh", zsh_head, zsh_tail, zsh_beginning, zsh_command},
};

static void print_script(FILE *out, const struct shell *shell)
{
	struct texts beginnings = {0};

	(void) fputs(shell->head, out);
	script_beginnings(&beginnings);
	for (size_t i = 0; i < beginnings.n; i++)
		shell->beginning(out, beginnings.items[i]);
	texts_fini(&beginnings);
	for (size_t i = 0; i < cli_commands_n; i++)
		shell->command(out, &cli_commands[i]);
	(void) fputs(script_middle, out);
	script_values(out);
	(void) fputs(shell->tail, out);
}

int cli_completion(const struct cli *cli UNUSED, int argc UNUSED, char **argv)
{
	for (size_t i = 0; i < ARRAY_SIZE(shells); i++) {
		if (strcmp(argv[0], shells[i].name) != 0)
			continue;
		print_script(stdout, &shells[i]);
		return fflush(stdout) == 0 ? CLI_OK : CLI_FAILED;
	}
	(void) fprintf(stderr, "fairlead: no script for the shell '%s': there are 'bash' and 'zsh'\n",
	               argv[0]);
	return CLI_USAGE;
}
