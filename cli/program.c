/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operator's program behind its main(): finds the command that was meant in the table
 * (commands.h), checks its words and options, explains what is wrong, and runs it. Options may stand
 * anywhere, so all there are of any command are read first, and then those are refused that the
 * command does not take. Help comes from the same table.
 */
#include "cli/commands.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/texts.h"
#include "cli/nodes/fanout.h"

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

static void help_usage(FILE *out, const struct cli_command *command)
{
	(void) fprintf(out, "Usage: fairlead %s%s%s\n%s\n", command->name,
	               command->arguments[0] != '\0' ? " " : "", command->arguments, command->help);
}

static void help_command(FILE *out, const struct cli_command *command)
{
	help_usage(out, command);
	if (command->more != NULL)
		(void) fprintf(out, "\n%s\n", command->more);
	(void) fputs("\nOptions:\n", out);
	for (const struct cli_option *o = command->own; o != NULL && o->name != NULL; o++)
		print_option(out, o);
	for (size_t i = CLI_N_GLOBAL; i < CLI_N_COMMON; i++) {
		if (cli_command_takes(command, i))
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

static bool help_is_group(const char *words)
{
	for (size_t i = 0; i < cli_commands_n; i++) {
		if (is_below(&cli_commands[i], words))
			return true;
	}
	return false;
}

static void help_group(FILE *out, const char *words)
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

static void help_program(FILE *out)
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

#define DEFAULT_RUNTIME_DIR "/run/fairlead"
#define FIRST_OPTION 256 /* no letter has this number */
/* For a node: to connect, and for daemons that take their time. */
#define NODE_TIMEOUT_US (30 * US_PER_S)

/* --- options --- */

/* All options of all commands, each name once, for getopt_long(3), and the command line. */
struct parsing {
	struct option *options; /* ended by zeros */
	size_t n_options;
	char *letters;
	struct cli_given *given; /* the rows are of any table that has the name */
	size_t n_given;
	const struct cli_option **rows; /* of options[i] */
	struct cli_given *own;          /* those that go to the command */
};

static void parsing_fini(struct parsing *p)
{
	free(p->options);
	free(p->letters);
	free(p->given);
	free(p->rows);
	free(p->own);
}

static void add_option(struct parsing *p, const struct cli_option *row)
{
	for (size_t i = 0; i < p->n_options; i++) {
		if (strcmp(p->rows[i]->name, row->name) == 0)
			return;
	}
	p->options = xreallocarray(p->options, p->n_options + 2, sizeof(*p->options));
	p->rows = xreallocarray(p->rows, p->n_options + 1, sizeof(*p->rows));
	p->options[p->n_options] =
	    (struct option){.name = row->name,
	                    .has_arg = row->value != NULL ? required_argument : no_argument,
	                    .val = FIRST_OPTION + (int) p->n_options};
	p->rows[p->n_options] = row;
	p->n_options++;
	p->options[p->n_options] = (struct option){0};
	if (row->letter != 0) {
		AUTO(free) char *before = p->letters;

		p->letters = xasprintf("%s%c%s", before != NULL ? before : "", row->letter,
		                       row->value != NULL ? ":" : "");
	}
}

static void add_all_options(struct parsing *p)
{
	for (size_t i = 0; i < CLI_N_COMMON; i++)
		add_option(p, &cli_common_options[i]);
	for (size_t i = 0; i < cli_commands_n; i++) {
		for (const struct cli_option *o = cli_commands[i].own; o != NULL && o->name != NULL; o++)
			add_option(p, o);
	}
}

/* `c` is what getopt_long() returned. */
static const struct cli_option *row_of(const struct parsing *p, int c)
{
	if (c >= FIRST_OPTION)
		return p->rows[c - FIRST_OPTION];
	for (size_t i = 0; i < p->n_options; i++) {
		if (p->rows[i]->letter == c)
			return p->rows[i];
	}
	return NULL;
}

/* False: it has been said what is wrong. The words are behind optind then. */
static bool read_options(struct parsing *p, int argc, char **argv)
{
	static char name[] = "fairlead"; /* begins what getopt says */
	int c;

	add_all_options(p);
	argv[0] = name;
	while ((c = getopt_long(argc, argv, p->letters, p->options, NULL)) != -1) {
		const struct cli_option *row = row_of(p, c);

		if (row == NULL)
			return false;
		p->given = xreallocarray(p->given, p->n_given + 1, sizeof(*p->given));
		p->given[p->n_given++] = (struct cli_given){row, row->value != NULL ? optarg : NULL};
	}
	return true;
}

static bool is_given(const struct parsing *p, enum cli_common common)
{
	for (size_t i = 0; i < p->n_given; i++) {
		if (p->given[i].option == &cli_common_options[common])
			return true;
	}
	return false;
}

/* Of the command's own table, else of the common one if it takes that; NULL: it has none. */
static const struct cli_option *option_of(const struct cli_command *command, const char *name)
{
	for (const struct cli_option *o = command->own; o != NULL && o->name != NULL; o++) {
		if (strcmp(o->name, name) == 0)
			return o;
	}
	for (size_t i = 0; i < CLI_N_COMMON; i++) {
		if (strcmp(cli_common_options[i].name, name) == 0 &&
		    (i < CLI_N_GLOBAL || (command->takes & (UINT64_C(1) << i)) != 0))
			return &cli_common_options[i];
	}
	return NULL;
}

static bool is_common(const struct cli_option *option)
{
	return option >= cli_common_options && option < cli_common_options + CLI_N_COMMON;
}

static int refuse_option(const struct cli_command *command, const char *name)
{
	(void) fprintf(stderr, "fairlead: '%s' has no option %s\n", command->name, name);
	help_usage(stderr, command);
	return CLI_USAGE;
}

/* Common ones are set, others are kept for the command. */
static int set_options(struct parsing *p, const struct cli_command *command, struct cli *cli)
{
	p->own = xcalloc(p->n_given + 1, sizeof(*p->own));
	cli->given = p->own;
	for (size_t i = 0; i < p->n_given; i++) {
		const struct cli_given *given = &p->given[i];
		const struct cli_option *option = option_of(command, given->option->name);
		int code = CLI_OK;

		if (option == NULL) {
			AUTO(free) char *name = xasprintf("--%s", given->option->name);

			return refuse_option(command, name);
		}
		if (!is_common(option))
			p->own[cli->n_given++] = (struct cli_given){option, given->value};
		else if (option->set != NULL)
			code = option->set(cli, option, given->value);
		if (code != CLI_OK) {
			/* What -o means to many other programs. */
			if (option == &cli_common_options[CLI_OPTION_OUTPUT] &&
			    option_of(command, "file") != NULL)
				(void) fprintf(stderr, "fairlead: '%s' names the file that it writes by --file\n",
				               command->name);
			return code;
		}
	}
	if (cli->output != CLI_TABLE && (command->takes & CLI_OWN_FORMAT) != 0)
		return refuse_option(command, "--output");
	color_setup(cli->color);
	return CLI_OK;
}

/* --- which command --- */

static const struct cli_command *find_command(int argc, char **argv, int *ret_n_words)
{
	const struct cli_command *found = NULL;
	int most = 0;

	for (size_t i = 0; i < cli_commands_n; i++) {
		int n = cmdname_match(cli_commands[i].name, argc, argv);

		if (n > most) {
			most = n;
			found = &cli_commands[i];
		}
	}
	*ret_n_words = most;
	return found;
}

static const char *find_nearest(int argc, char **argv)
{
	AUTO(free) const char **names = xcalloc(cli_commands_n, sizeof(*names));

	for (size_t i = 0; i < cli_commands_n; i++)
		names[i] = cli_commands[i].name;
	return cmdname_nearest(argc, argv, names, cli_commands_n);
}

static int refuse_unknown(int argc, char **argv)
{
	const char *nearest = find_nearest(argc, argv);
	char typed[CMDNAME_TEXT_MAX];

	(void) cmdname_typed(argc, argv, typed);
	/* The beginning of several is no misspelling of one. */
	if (nearest != NULL && !help_is_group(typed)) {
		(void) fprintf(stderr, "fairlead: unknown command '%s': did you mean 'fairlead %s'?\n",
		               typed, nearest);
		return CLI_USAGE;
	}
	if (help_is_group(typed)) {
		(void) fprintf(stderr, "fairlead: '%s' is not all of a command: which one?\n", typed);
		help_group(stderr, typed);
		return CLI_USAGE;
	}
	(void) fprintf(stderr, "fairlead: unknown command '%s'\n", typed);
	if (help_is_group(argv[0]))
		help_group(stderr, argv[0]);
	else
		(void) fputs("fairlead --help lists them all.\n", stderr);
	return CLI_USAGE;
}

/* The words of a command and what is given to it, as its daemon takes them. */
static int show(const struct cli *cli, const struct cli_command *command, int argc, char **argv)
{
	struct texts words = {0};
	AUTO(free) char *name = xstrdup(command->name);
	char *rest = name, *word;
	int code;

	while ((word = strsep(&rest, " ")) != NULL)
		texts_add(&words, "%s", word);
	for (int i = 0; i < argc; i++)
		texts_add(&words, "%s", argv[i]);
	code = cli_show(cli, command->daemon, (const char *const *) words.items, words.n,
	                command->render, command->code);
	texts_fini(&words);
	return code;
}

/* --- on several nodes --- */

/* The command line again, without what is done here: the format, the colours, and the nodes. */
static void command_words(const struct parsing *p, const struct cli_command *command, int argc,
                          char **argv, struct texts *ret)
{
	static const enum cli_common ours[] = {CLI_OPTION_OUTPUT, CLI_OPTION_COLOR, CLI_OPTION_NODES,
	                                       CLI_OPTION_VIA};
	AUTO(free) char *name = xstrdup(command->name);
	char *rest = name, *word;

	while ((word = strsep(&rest, " ")) != NULL)
		texts_add(ret, "%s", word);
	for (size_t i = 0; i < p->n_given; i++) {
		bool is_ours = false;

		for (size_t k = 0; k < ARRAY_SIZE(ours); k++)
			is_ours = is_ours || p->given[i].option == &cli_common_options[ours[k]];
		if (is_ours)
			continue;
		texts_add(ret, "--%s", p->given[i].option->name);
		if (p->given[i].value != NULL)
			texts_add(ret, "%s", p->given[i].value);
	}
	if (argc > 0)
		texts_add(ret, "--");
	for (int i = 0; i < argc; i++)
		texts_add(ret, "%s", argv[i]);
}

static int run_on_nodes(const struct parsing *p, const struct cli_command *command,
                        const struct cli *cli, int argc, char **argv)
{
	struct texts words = {0};
	int64_t wait_us;
	int code;

	if ((command->takes & CLI_OWN_NODES) != 0)
		return command->fn(cli, argc, argv);
	if ((command->takes & CLI_READS) == 0) {
		(void) fprintf(
		    stderr,
		    "fairlead: '%s' runs on this node only, and not with %s: fairlead --nodes '' "
		    "%s runs it here\n",
		    command->name, is_given(p, CLI_OPTION_NODES) ? "--nodes" : "$FAIRLEAD_NODES",
		    command->name);
		return CLI_USAGE;
	}
	if (cli->watch) {
		(void) fprintf(stderr, "fairlead: --watch shows one node: leave it out, or --nodes\n");
		return CLI_USAGE;
	}
	wait_us = command->waits != NULL ? command->waits(cli) : 0;
	if (wait_us < 0)
		return CLI_USAGE;
	command_words(p, command, argc, argv, &words);
	code = fanout_run(cli, &words, wait_us + NODE_TIMEOUT_US);
	texts_fini(&words);
	return code;
}

/* --- all together --- */

static int show_help(const struct cli_command *command, bool is_whole, int argc, char **argv)
{
	char typed[CMDNAME_TEXT_MAX];

	if (argc == 0) {
		help_program(stdout);
		return CLI_OK;
	}
	(void) cmdname_typed(argc, argv, typed);
	if ((command == NULL || !is_whole) && help_is_group(typed)) {
		help_group(stdout, typed);
		return CLI_OK;
	}
	if (command == NULL)
		return refuse_unknown(argc, argv);
	help_command(stdout, command);
	return CLI_OK;
}

static int run(struct parsing *p, struct cli *cli, int argc, char **argv)
{
	const struct cli_command *command;
	int n_words, code;

	command = find_command(argc, argv, &n_words);
	if (is_given(p, CLI_OPTION_HELP))
		return show_help(command, n_words == argc, argc, argv);
	if (argc == 0) {
		help_program(stderr);
		return CLI_USAGE;
	}
	if (command == NULL)
		return refuse_unknown(argc, argv);
	argc -= n_words;
	if (argc < command->min_words || argc > command->max_words) {
		(void) fprintf(stderr, "fairlead: too %s arguments for '%s'\n",
		               argc < command->min_words ? "few" : "many", command->name);
		help_usage(stderr, command);
		return CLI_USAGE;
	}
	code = set_options(p, command, cli);
	if (code != CLI_OK)
		return code;
	if (cli->nodes != NULL && cli->nodes[0] != '\0')
		return run_on_nodes(p, command, cli, argc, argv + n_words);
	if (is_given(p, CLI_OPTION_VIA)) {
		(void) fprintf(stderr, "fairlead: --via says how nodes are reached: it needs --nodes\n");
		return CLI_USAGE;
	}
	return command->fn != NULL ? command->fn(cli, argc, argv + n_words)
	                           : show(cli, command, argc, argv + n_words);
}

/* To be freed; NULL: not set. Programs that this one starts are not to see it. */
static char *take_environment(const char *name)
{
	const char *value = getenv(name);
	char *copy = value != NULL ? xstrdup(value) : NULL;

	(void) unsetenv(name);
	return copy;
}

int cli_main(int argc, char **argv)
{
	const char *from_environment = getenv("FAIRLEAD_RUNTIME_DIR");
	AUTO(free) char *nodes = take_environment("FAIRLEAD_NODES");
	AUTO(free) char *via = take_environment("FAIRLEAD_VIA");
	struct cli cli = {.runtime_dir = DEFAULT_RUNTIME_DIR, .nodes = nodes, .via = via};
	struct parsing p = {0};
	int code = CLI_OK;

	if (from_environment != NULL && from_environment[0] != '\0')
		cli.runtime_dir = from_environment;
	if (!read_options(&p, argc, argv)) {
		(void) fputs("fairlead --help lists the commands, and COMMAND --help its options.\n",
		             stderr);
		code = CLI_USAGE;
	} else if (is_given(&p, CLI_OPTION_VERSION)) {
		(void) puts("fairlead " FAIRLEAD_VERSION);
	} else {
		code = run(&p, &cli, argc - optind, argv + optind);
	}
	parsing_fini(&p);
	return code;
}
