/* SPDX-License-Identifier: Apache-2.0 */
/* For bash: COMP_WORDS in, COMPREPLY out. It needs nothing of the package bash-completion. */
#include <string.h>

#include "cli/shells.h"

static const char head[] =
    "# bash completion of fairlead, as 'fairlead completion bash' prints it.\n"
    "\n"
    "# Sets `next` to the words that may follow these, `options` and `kind` to what the command "
    "takes.\n"
    "_fairlead_below() {\n"
    "\tnext= options='--help --version' kind=\n"
    "\tcase $1 in\n";

static const char tail[] =
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

static void print_beginning(FILE *out, const char *beginning)
{
	struct texts next = {0};

	shells_next(beginning, &next);
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

static void print_command(FILE *out, const struct cli_command *command)
{
	const char *before = "";

	(void) fprintf(out, "\t'%s') options='", command->name);
	for (const struct cli_option *o = command->own; o != NULL && o->name != NULL; o++) {
		(void) fprintf(out, "%s--%s", before, o->name);
		before = " ";
	}
	for (size_t i = 0; i < CLI_N_COMMON; i++) {
		if (!shells_has(command, i))
			continue;
		(void) fprintf(out, "%s--%s", before, cli_common_options[i].name);
		before = " ";
	}
	(void) fputc('\'', out);
	if (command->completes != NULL)
		(void) fprintf(out, " kind='%s'", command->completes);
	(void) fputs(" ;;\n", out);
}

void shells_bash(FILE *out)
{
	struct texts beginnings = {0};

	(void) fputs(head, out);
	shells_beginnings(&beginnings);
	for (size_t i = 0; i < beginnings.n; i++)
		print_beginning(out, beginnings.items[i]);
	texts_fini(&beginnings);
	for (size_t i = 0; i < cli_commands_n; i++)
		print_command(out, &cli_commands[i]);
	(void) fputs(shells_middle, out);
	shells_values(out);
	(void) fputs(tail, out);
}
