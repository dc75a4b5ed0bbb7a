/* SPDX-License-Identifier: Apache-2.0 */
/* For zsh: the same, with what help says beside each word. */
#include <string.h>

#include "cli/shells.h"

static const char head[] = "#compdef fairlead\n"
                           "# zsh completion of fairlead, as 'fairlead completion zsh' prints it.\n"
                           "\n"
                           "# Sets `next` to the words that may follow these, `options` and `kind` "
                           "to what the command takes.\n"
                           "_fairlead_below() {\n"
                           "\tnext=() options=('--help:help') kind=\n"
                           "\tcase $1 in\n";

static const char tail[] =
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
	shells_quote(out, pair);
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
		if (command == NULL || shells_has(command, i))
			print_pair(out, "--", cli_common_options[i].name, cli_common_options[i].help);
	}
	(void) fputs(" )", out);
}

static void print_beginning(FILE *out, const char *beginning)
{
	struct texts next = {0};

	shells_next(beginning, &next);
	(void) fprintf(out, "\t'%s') next=(", beginning);
	for (size_t i = 0; i < next.n; i++)
		print_pair(out, "", next.items[i], help_of(beginning, next.items[i]));
	(void) fputs(" )", out);
	if (beginning[0] == '\0')
		print_options(out, NULL);
	(void) fputs(" ;;\n", out);
	texts_fini(&next);
}

void shells_zsh(FILE *out)
{
	struct texts beginnings = {0};

	(void) fputs(head, out);
	shells_beginnings(&beginnings);
	for (size_t i = 0; i < beginnings.n; i++)
		print_beginning(out, beginnings.items[i]);
	texts_fini(&beginnings);
	for (size_t i = 0; i < cli_commands_n; i++) {
		(void) fprintf(out, "\t'%s')", cli_commands[i].name);
		print_options(out, &cli_commands[i]);
		if (cli_commands[i].completes != NULL)
			(void) fprintf(out, " kind='%s'", cli_commands[i].completes);
		(void) fputs(" ;;\n", out);
	}
	(void) fputs(shells_middle, out);
	shells_values(out);
	(void) fputs(tail, out);
}
