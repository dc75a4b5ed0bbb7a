/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands: that it makes sense, and that help says what stands in it. */
#include "cli/commands.h"

#include <string.h>

#include "base/words.h"
#include "base/mem.h"
#include "tests/unit/clirun.h"

static bool has_text(const char *text)
{
	return text != NULL && text[0] != '\0';
}

/* --- the table --- */

/* Options are read before it is known which command is meant. */
static void check_option(const struct cli_option *option)
{
	CHECK(has_text(option->help));
	CHECK(option->set != NULL || option == &cli_common_options[CLI_OPTION_HELP] ||
	      option == &cli_common_options[CLI_OPTION_VERSION]);
	CHECK(option->completes == NULL || option->value != NULL);
	for (size_t i = 0; i < cli_commands_n; i++) {
		for (const struct cli_option *o = cli_commands[i].own; o != NULL && o->name != NULL; o++) {
			if (strcmp(o->name, option->name) == 0 &&
			    !CHECK_EQ_INT(o->value != NULL, option->value != NULL))
				(void) fprintf(stderr, "  --%s of %s\n", o->name, cli_commands[i].name);
			if (o != option && o->letter != 0 && o->letter == option->letter)
				CHECK_EQ_STR(o->name, option->name);
		}
	}
}

static void check_group(const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < cli_groups_n; i++)
		n += strcmp(cli_groups[i].name, name) == 0 ? 1 : 0;
	if (!CHECK_EQ_INT(n, 1))
		(void) fprintf(stderr, "  %s\n", name);
}

static void test_table(void)
{
	for (size_t i = 0; i < CLI_N_COMMON; i++)
		check_option(&cli_common_options[i]);
	for (size_t i = 0; i < cli_commands_n; i++) {
		const struct cli_command *c = &cli_commands[i];
		AUTO(free) char *group = xstrdup(c->name);
		int n_words = 1;

		for (const struct cli_option *o = c->own; o != NULL && o->name != NULL; o++)
			check_option(o);
		for (size_t j = 0; j < i; j++)
			CHECK(strcmp(cli_commands[j].name, c->name) != 0);
		CHECK(has_text(c->help) && strchr(c->help, '\n') == NULL &&
		      (c->fn != NULL) == (c->daemon == NULL && c->render == NULL));
		CHECK(c->arguments != NULL && c->min_words <= c->max_words);
		/* A command says something of what it is given. */
		CHECK(c->max_words == 0 || has_text(c->arguments));
		for (char *space; (space = strrchr(group, ' ')) != NULL; n_words++) {
			*space = '\0';
			check_group(group);
		}
		CHECK(n_words <= CMDNAME_WORDS_MAX);
	}
}

/* --- help --- */

static void check_says(const char *out, const char *line, const char *what)
{
	if (!CHECK(strstr(out, what) != NULL))
		(void) fprintf(stderr, "  fairlead %s: not a word of %s\n", line, what);
}

static void check_names(const char *out, const char *line, const struct cli_option *option)
{
	AUTO(free)
	char *text = xasprintf("--%s%s%s", option->name, option->value != NULL ? " " : "",
	                       option->value != NULL ? option->value : "");

	check_says(out, line, text);
}

static void check_help(const struct cli_command *c, const char *line)
{
	AUTO(free)
	char *usage = xasprintf("Usage: fairlead %s%s%s\n%s\n", c->name,
	                        c->arguments[0] != '\0' ? " " : "", c->arguments, c->help);
	AUTO(free) char *out = NULL;
	AUTO(free) char *err = NULL;

	CHECK_EQ_INT(clirun(line, &out, &err), CLI_OK);
	CHECK_EQ_STR(err, "");
	CHECK(strncmp(out, usage, strlen(usage)) == 0);
	for (const struct cli_option *o = c->own; o != NULL && o->name != NULL; o++)
		check_names(out, line, o);
	for (size_t i = CLI_N_GLOBAL; i < CLI_N_COMMON; i++) {
		AUTO(free) char *name = xasprintf("--%s", cli_common_options[i].name);

		if ((c->takes & (UINT64_C(1) << i)) != 0)
			check_says(out, line, name);
	}
	if (c->more != NULL)
		check_says(out, line, c->more);
	if (c->exits != NULL)
		check_says(out, line, c->exits);
}

static void test_help(void)
{
	for (size_t i = 0; i < cli_commands_n; i++) {
		AUTO(free) char *before = xasprintf("--help %s", cli_commands[i].name);
		AUTO(free) char *behind = xasprintf("%s --help", cli_commands[i].name);

		check_help(&cli_commands[i], before);
		check_help(&cli_commands[i], behind);
	}
}

static void test_help_of_several(void)
{
	AUTO(free) char *out = NULL;
	AUTO(free) char *err = NULL;

	for (size_t i = 0; i < cli_groups_n; i++) {
		AUTO(free) char *line = xasprintf("%s --help", cli_groups[i].name);
		AUTO(free)
		char *want = xasprintf("Usage: fairlead %s COMMAND\n%s\n\nCommands:\n  %s ",
		                       cli_groups[i].name, cli_groups[i].help, cli_groups[i].name);

		clirun_check(line, CLI_OK, want, "");
		/* Alone it is none. */
		clirun_check(cli_groups[i].name, CLI_USAGE, "", "fairlead: '");
	}
	CHECK_EQ_INT(clirun("--help", &out, &err), CLI_OK);
	for (size_t i = 0; i < cli_commands_n; i++)
		check_says(out, "--help", cli_commands[i].name);
}

/* --- what a command does not take --- */

static void test_refused(void)
{
	for (size_t i = 0; i < cli_commands_n; i++) {
		const struct cli_command *c = &cli_commands[i];
		AUTO(free)
		char *line = xasprintf("%s%s --revision 5", c->name,
		                       c->min_words == 0   ? ""
		                       : c->min_words == 1 ? " x"
		                                           : " x y");
		AUTO(free)
		char *want = xasprintf("fairlead: '%s' has no option --revision\nUsage: ", c->name);

		if ((c->takes & CLI_TAKES(REVISION)) == 0)
			clirun_check(line, CLI_USAGE, "", want);
	}
}

/* --- exit codes --- */

/* Scripts know them by these numbers. */
static void test_codes(void)
{
	static const int codes[] = {CLI_OK,          CLI_FAILED, CLI_USAGE,
	                            CLI_UNREACHABLE, CLI_DENIED, CLI_WARNED};

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		CHECK_EQ_INT(codes[i], i);
}

/* What shows a state says so when there is nobody to tell it, and what to do, and shows nothing. */
static void test_nobody(void)
{
	for (size_t i = 0; i < cli_commands_n; i++) {
		const struct cli_command *c = &cli_commands[i];
		AUTO(free) char *line = xasprintf("-r %s -o json %s", clirun_dir, c->name);
		AUTO(free) char *out = NULL;
		AUTO(free) char *err = NULL;

		if ((c->takes & CLI_TAKES(WATCH)) == 0)
			continue;
		if (!CHECK_EQ_INT(clirun(line, &out, &err), CLI_UNREACHABLE) ||
		    !CHECK(strncmp(err, "fairlead: ", 10) == 0) ||
		    !CHECK(strstr(err, "systemctl status") != NULL))
			(void) fprintf(stderr, "  fairlead %s: %s\n", line, err);
	}
}

int main(void)
{
	test_table();
	clirun_begin();
	test_help();
	test_help_of_several();
	test_refused();
	test_codes();
	test_nobody();
	clirun_end();
	return check_result();
}
