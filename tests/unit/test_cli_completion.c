/* SPDX-License-Identifier: Apache-2.0 */
/* The scripts for shells, in the shells: every command, option and value is offered where it fits.
 */
#include "cli/commands.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/clirun.h"

/* A line that is asked, and a word that has to be among what is offered; NULL: nothing is. */
struct question {
	char *words;
	char *want;
};

static struct question *questions;
static size_t n_questions;

static void ask(const char *want, char *words)
{
	questions = xreallocarray(questions, n_questions + 1, sizeof(*questions));
	questions[n_questions++] =
	    (struct question){.words = words, .want = want != NULL ? xstrdup(want) : NULL};
}

/* "fairlead etcd snapshot list", with tabs. */
static char *typed(const char *name)
{
	char *words = xasprintf("fairlead %s", name);

	for (char *p = words; *p != '\0'; p++)
		*p = *p == ' ' ? '\t' : *p;
	return words;
}

/* Each word of its name, behind those before it. */
static void ask_name(const char *name)
{
	AUTO(free) char *words = typed(name);

	for (char *tab = strchr(words, '\t'); tab != NULL; tab = strchr(tab + 1, '\t')) {
		size_t len = strcspn(tab + 1, "\t");
		AUTO(free) char *word = xstrndup(tab + 1, len);

		ask(word, xasprintf("%.*s\t^", (int) (tab - words), words));
		ask(word, xasprintf("%.*s\t-o\tjson\t^%.2s", (int) (tab - words), words, word));
	}
}

static void ask_option(const struct cli_command *c, const struct cli_option *option)
{
	AUTO(free) char *words = typed(c->name);
	AUTO(free) char *name = xasprintf("--%s", option->name);

	ask(name, xasprintf("%s\t^--", words));
	ask(name, xasprintf("%s\t^%s", words, name));
	if (option->value == NULL)
		return;
	if (option->completes == NULL)
		ask(NULL, xasprintf("%s\t%s\t^", words, name));
	else if (strcmp(option->completes, CLI_FILES) == 0)
		ask("file", xasprintf("%s\t%s\t^f", words, name));
	else if (strcmp(option->completes, CLI_DIRECTORIES) == 0)
		ask("folder", xasprintf("%s\t%s\t^f", words, name));
	else {
		AUTO(free) char *first = xstrndup(option->completes, strcspn(option->completes, " "));

		ask(first, xasprintf("%s\t%s\t^", words, name));
	}
	/* Its value is no word of the command's. */
	if (c->completes != NULL && strcmp(c->completes, CLI_FILES) == 0)
		ask("file", xasprintf("%s\t%s\tx\t^fi", words, name));
}

static void ask_words(const struct cli_command *c)
{
	AUTO(free) char *words = typed(c->name);

	if (c->completes == NULL)
		ask(NULL, xasprintf("%s\t^", words));
	else if (strcmp(c->completes, CLI_FILES) == 0)
		ask("folder", xasprintf("%s\t^fo", words));
	else if (strcmp(c->completes, CLI_DIRECTORIES) == 0)
		ask("folder", xasprintf("%s\t^", words));
	else {
		AUTO(free) char *first = xstrndup(c->completes, strcspn(c->completes, " "));

		ask(first, xasprintf("%s\t^", words));
	}
}

static void ask_all(void)
{
	for (size_t i = 0; i < cli_commands_n; i++) {
		const struct cli_command *c = &cli_commands[i];

		ask_name(c->name);
		ask_words(c);
		for (const struct cli_option *o = c->own; o != NULL && o->name != NULL; o++)
			ask_option(c, o);
		for (size_t k = 0; k < CLI_N_COMMON; k++) {
			if (k != CLI_OPTION_VERSION && cli_command_takes(c, k))
				ask_option(c, &cli_common_options[k]);
		}
	}
	ask("--version", xstrdup("fairlead\t^--v"));
	ask(NULL, xstrdup("fairlead\tnonsense\tvip\t^x"));
}

/* --- answers --- */

static bool has_word(const char *line, const char *word)
{
	AUTO(free) char *padded = xasprintf(" %s ", line);
	AUTO(free) char *wanted = xasprintf(" %s ", word);

	return strstr(padded, wanted) != NULL;
}

static void write_text(const char *name, void (*print)(FILE *out))
{
	AUTO(free) char *path = xasprintf("%s/%s", clirun_dir, name);
	AUTO(fclose) FILE *f = fopen(path, "w");

	if (CHECK(f != NULL))
		print(f);
}

/* The script of a shell, into a file. */
static void write_script(const char *line, const char *name)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		clirun_become(line, name, "err");
	(void) waitpid(pid, &status, 0);
	CHECK_EQ_INT(status, 0);
}

static void print_questions(FILE *out)
{
	for (size_t i = 0; i < n_questions; i++)
		(void) fprintf(out, "%s\n", questions[i].words);
}

static void check_shell(const char *shell)
{
	AUTO(free)
	char *command =
	    xasprintf("s=$PWD/tests/tools/complete.%s && cd %s/there && exec %s \"$s\" %s <%s/asked",
	              shell, clirun_dir, shell, clirun_dir, clirun_dir);
	AUTO(free) char *line = NULL;
	FILE *f = popen(command, "r");
	size_t size = 0, n = 0;
	ssize_t len;

	if (!CHECK(f != NULL))
		return;
	for (; (len = getline(&line, &size, f)) > 0 && n < n_questions; n++) {
		const struct question *q = &questions[n];

		line[len - 1] = '\0';
		if (!CHECK(q->want != NULL ? has_word(line, q->want) : line[0] == '\0'))
			(void) fprintf(stderr, "  %s: '%s': '%s' and not '%s'\n", shell, q->words, line,
			               q->want != NULL ? q->want : "");
	}
	CHECK_EQ_INT(n, n_questions);
	CHECK_EQ_INT(pclose(f), 0);
}

/* bash alone splits this. */
static void print_split(FILE *out)
{
	(void) fputs("fairlead\tvip\tstatus\t--output\t^=\n"
	             "fairlead\tvip\tstatus\t--output\t=\t^j\n"
	             "fairlead\t--output\t=\tjson\tvip\t^st\n",
	             out);
}

static void print_whole(FILE *out)
{
	(void) fputs("fairlead\tvip\tstatus\t^--output=\n"
	             "fairlead\tvip\tstatus\t^--output=j\n"
	             "fairlead\t--output=json\tvip\t^st\n",
	             out);
}

static void check_equals(const char *shell, void (*print)(FILE *out))
{
	for (size_t i = 0; i < n_questions; i++) {
		free(questions[i].words);
		free(questions[i].want);
	}
	n_questions = 0;
	ask("yaml", xstrdup("--output="));
	ask("json", xstrdup("--output=j"));
	ask("status", xstrdup("--output=json vip st"));
	write_text("asked", print);
	check_shell(shell);
}

int main(void)
{
	AUTO(free) char *make = NULL;

	clirun_begin();
	make = xasprintf("mkdir -p %s/completions %s/there/folder && : >%s/there/file", clirun_dir,
	                 clirun_dir, clirun_dir);
	CHECK_EQ_INT(system(make), 0);
	write_script("completion bash", "completions/fairlead");
	write_script("completion zsh", "_fairlead");
	ask_all();
	write_text("asked", print_questions);
	check_shell("bash");
	check_shell("zsh");
	check_equals("bash", print_split);
	check_equals("zsh", print_whole);
	clirun_check("completion bash", CLI_OK, "# bash completion", "");
	clirun_check("completion zsh", CLI_OK, "#compdef fairlead\n", "");
	clirun_check("completion fish", CLI_USAGE, "", "fairlead: no script for the shell 'fish': ");
	clirun_end();
	for (size_t i = 0; i < n_questions; i++) {
		free(questions[i].words);
		free(questions[i].want);
	}
	free(questions);
	return check_result();
}
