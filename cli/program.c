/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operator's program behind its main(): one table of commands. This file finds the one that was
 * meant, checks its words and options, explains what is wrong, and prints all help. Commands ask
 * daemons over their control sockets, or read a file, and print.
 */
#include "cli/cli.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cmdname.h"
#include "base/hint.h"
#include "base/macro.h"
#include "base/mem.h"
#include "bolt/usage.h"

#define DEFAULT_RUNTIME_DIR "/run/fairlead"
#define RESCUE_MAX 16
#define NET_FILES_MAX 16
#define USAGE_WIDTH 28 /* two spaces included; a wider one has a line of its own */

/* Options that not every command has. */
enum takes {
	TAKES_NOTHING = 0,
	TAKES_WATCH = 1 << 0,
	TAKES_NO_DIGEST = 1 << 1,
	TAKES_REVISION = 1 << 2,
	TAKES_PREFIX = 1 << 3,
	TAKES_LOCAL = 1 << 4,
	TAKES_TARGET = 1 << 5,
	TAKES_FORCE = 1 << 6,
	TAKES_DRY_RUN = 1 << 7,
	TAKES_CONFIRM = 1 << 8,
	TAKES_YAML = 1 << 9,
	TAKES_YES = 1 << 10,
	TAKES_ALARMS = 1 << 11, /* which alarms are meant */
	TAKES_QUORUM = 1 << 12,
	TAKES_ALL = 1 << 13,
	TAKES_DEPTH = 1 << 14,
	TAKES_OWN = 1 << 30, /* it reads its words and options itself; argv[0] is its own name */
};

struct command {
	const char *name;
	const char *arguments;
	const char *help; /* one line */
	int min_words, max_words;
	unsigned takes; /* enum takes, or'ed */
	cli_command_fn fn;
};

static const struct command commands[] = {
    {"health", "[--wait-timeout TIME]",
     "Check etcd, API servers, VIPs and the network, and wait until all is well.", 0, 0,
     TAKES_OWN | TAKES_YAML, cli_health},
    {"vip status", "[-w] [ADDRESS]", "Who owns the VIPs, and how things stand with them.", 0, 1,
     TAKES_WATCH, cli_vip_status},
    {"vip move", "ADDRESS [to NODE]", "Hand a VIP of this node over, and wait until it is done.", 1,
     3, TAKES_NOTHING, cli_vip_move},
    {"vip hold", "", "Keep this node from owning VIPs, for maintenance.", 0, 0, TAKES_NOTHING,
     cli_vip_hold},
    {"vip unhold", "", "Let this node own VIPs again.", 0, 0, TAKES_NOTHING, cli_vip_unhold},
    {"prism status", "[-w]", "The API servers behind prism, and how they are.", 0, 0, TAKES_WATCH,
     cli_prism_status},
    {"prism drain", "UPSTREAM", "Keep an API server free of connections, for maintenance.", 1, 1,
     TAKES_NOTHING, cli_prism_drain},
    {"prism undrain", "UPSTREAM", "Use it again.", 1, 1, TAKES_NOTHING, cli_prism_undrain},
    {"net status", "[-w]",
     "The change of the network that is under way, and how the last one ended.", 0, 0, TAKES_WATCH,
     cli_net_status},
    {"net diff", "", "The steps that would make the network what was confirmed.", 0, 0,
     TAKES_NOTHING, cli_net_diff},
    {"net apply", "[--confirm-within TIME] [--even-without-quorum] [FILE]...",
     "Change the network, and back again unless it is confirmed.", 0, NET_FILES_MAX,
     TAKES_CONFIRM | TAKES_QUORUM, cli_net_apply},
    {"net confirm", "[ID]", "Say that all is well with the change.", 0, 1, TAKES_NOTHING,
     cli_net_confirm},
    {"net rollback", "[ID]", "Undo the change that is under way.", 0, 1, TAKES_NOTHING,
     cli_net_rollback},
    {"net discard", "ID", "Give up what could not be undone; the network stays as it is.", 1, 1,
     TAKES_NOTHING, cli_net_discard},
    {"net validate", "[FILE]...", "Whether a configuration of the network is right: every error.",
     0, NET_FILES_MAX, TAKES_NOTHING, cli_net_validate},
    {"net plan", "[FILE]...", "What applying it would do, step by step, and what each step costs.",
     0, NET_FILES_MAX, TAKES_NOTHING, cli_net_plan},
    {"net convert", "[FILE]...", "Print it in the style of many documents.", 0, NET_FILES_MAX,
     TAKES_NOTHING, cli_net_convert},
    {"metrics", "DAEMON", "The metrics of a daemon, as Prometheus reads them.", 1, 1, TAKES_NOTHING,
     cli_metrics},
    {"etcd members", "[-w]", "The members of etcd, as each of them knows them.", 0, 0,
     TAKES_WATCH | TAKES_YAML, cli_etcd_members},
    {"etcd status", "[-w]", "What each member of etcd says of itself.", 0, 0,
     TAKES_WATCH | TAKES_YAML, cli_etcd_status},
    {"etcd health", "[-w]", "What is wrong with etcd, since when, and what to do.", 0, 0,
     TAKES_WATCH | TAKES_YAML, cli_etcd_health},
    {"etcd alarms", "[-w]", "The alarms of etcd that stand.", 0, 0, TAKES_WATCH | TAKES_YAML,
     cli_etcd_alarms},
    {"etcd notify status", "[-w]", "How telling the webhook of findings goes.", 0, 0,
     TAKES_WATCH | TAKES_YAML, cli_etcd_notify_status},
    {"etcd notify test", "", "Send the webhook a message, and wait until it has answered.", 0, 0,
     TAKES_NOTHING, cli_etcd_notify_test},
    {"etcd forfeit-leadership", "[--yes] [--dry-run]",
     "This node's member of etcd hands the leadership to another.", 0, 0,
     TAKES_YES | TAKES_DRY_RUN | TAKES_YAML, cli_etcd_forfeit_leadership},
    {"etcd leave", "[--yes] [--dry-run]", "This node's member leaves the cluster.", 0, 0,
     TAKES_YES | TAKES_DRY_RUN | TAKES_YAML, cli_etcd_leave},
    {"etcd remove-member", "[--yes] [--dry-run] MEMBER",
     "Remove a member from the cluster, by its name or id.", 1, 1,
     TAKES_YES | TAKES_DRY_RUN | TAKES_YAML, cli_etcd_remove_member},
    {"etcd alarm disarm", "[--yes] [--dry-run] [--corrupt-too] [--unchecked]",
     "Take back the alarms whose reason is gone.", 0, 0,
     TAKES_YES | TAKES_DRY_RUN | TAKES_ALARMS | TAKES_YAML, cli_etcd_alarm_disarm},
    {"etcd defrag", "[--yes] [--dry-run] --all | MEMBER",
     "Write the databases of members anew, one at a time, without their free pages.", 0, 1,
     TAKES_YES | TAKES_DRY_RUN | TAKES_ALL | TAKES_YAML, cli_etcd_defrag},
    {"etcd recover-space", "[--yes] [--dry-run]",
     "From the alarm NOSPACE back: compact, defragment all, disarm.", 0, 0,
     TAKES_YES | TAKES_DRY_RUN | TAKES_YAML, cli_etcd_recover_space},
    {"etcd snapshot jobs", "[-w]", "The jobs that take snapshots of etcd, and how they are.", 0, 0,
     TAKES_WATCH | TAKES_YAML, cli_etcd_snapshot_jobs},
    {"etcd drill", "[JOB] [OPTION]...",
     "Rehearse coming back with the newest snapshot of etcd, or with a file.", 0, 0, TAKES_OWN,
     cli_etcd_drill},
    {"etcd record status", "[-w]",
     "How far what happens in etcd is recorded on this node, and what of it is lost.", 0, 0,
     TAKES_WATCH | TAKES_YAML, cli_etcd_record_status},
    {"etcd snapshot list", "[--local] [JOB]",
     "The snapshots of etcd on this node and in the targets, oldest first.", 0, 1,
     TAKES_LOCAL | TAKES_YAML, cli_etcd_snapshot_list},
    {"etcd snapshot save", "[JOB] [FILE]",
     "Take a snapshot of etcd now, wait until it is proven, and copy it to a file.", 0, 2,
     TAKES_NOTHING, cli_etcd_snapshot_save},
    {"etcd snapshot delete", "[--local | --target NAME] [--force] ID",
     "Delete one, everywhere or in one place.", 1, 1, TAKES_LOCAL | TAKES_TARGET | TAKES_FORCE,
     cli_etcd_snapshot_delete},
    {"etcd snapshot prune", "[--dry-run] [JOB]",
     "Remove what need not be kept, here and in the targets.", 0, 1, TAKES_DRY_RUN,
     cli_etcd_snapshot_prune},
    {"etcd snapshot accept", "[JOB]",
     "Say that the data may be as small as it has become, so that retention goes on.", 0, 1,
     TAKES_NOTHING, cli_etcd_snapshot_accept},
    {"etcd snapshot verify", "[--no-digest] [--revision N] FILE",
     "Whether a snapshot of etcd is sound: digest, tree, keys; and its HashKV.", 1, 1,
     TAKES_NO_DIGEST | TAKES_REVISION, cli_etcd_snapshot_verify},
    {"etcd snapshot status", "FILE", "Its hash, revision, keys and size, as etcdctl prints them.",
     1, 1, TAKES_NOTHING, cli_etcd_snapshot_status},
    {"etcd snapshot get", "[--revision N] [--prefix] KEY FILE", "Read keys from it.", 2, 2,
     TAKES_REVISION | TAKES_PREFIX, cli_etcd_snapshot_get},
    {"etcd snapshot usage", "[--depth N] FILE | [--local] latest",
     "What fills it: keys by their beginning, the largest first.", 1, 1, TAKES_DEPTH | TAKES_LOCAL,
     cli_etcd_snapshot_usage},
    {"etcd snapshot diff", "FILE FILE", "The keys that two snapshots have different.", 2, 2,
     TAKES_NOTHING, cli_etcd_snapshot_diff},
    {"etcd restore", "[--yes] [OPTION]... SNAPSHOT",
     "Make this node's etcd anew from a snapshot; without --yes, say how.", 0, 0, TAKES_OWN,
     cli_etcd_restore},
    {"etcd rescue", "DIRECTORY|FILE...",
     "Which of the databases that members of etcd left is the best.", 1, RESCUE_MAX, TAKES_NOTHING,
     cli_etcd_rescue},
};

static const char options_help[] =
    "Options:\n"
    "  -o, --output FORMAT         table (the default), json: an object a line, or yaml\n"
    "  -r, --runtime-dir DIR       where the control sockets are; $FAIRLEAD_RUNTIME_DIR,\n"
    "                              else " DEFAULT_RUNTIME_DIR "\n"
    "  -w, --watch                 show it again every second\n"
    "      --no-digest             the file need not end with the digest of a snapshot\n"
    "      --revision N            as it was at this revision, and not the last\n"
    "      --prefix                all keys that begin with KEY\n"
    "      --depth N               by the first N components of the keys, else by two\n"
    "      --local                 only this node, and no target\n"
    "      --confirm-within TIME   undo it unless it is confirmed by then: 90s, 5m\n"
    "      --even-without-quorum   also if etcd cannot do without this node now\n"
    "      --target NAME           only this target\n"
    "      --force                 also the last good one\n"
    "      --dry-run               only say what would be done\n"
    "      --yes                   do it without a question\n"
    "      --all                   all members for whom it is worth it\n"
    "      --corrupt-too           also the alarm CORRUPT\n"
    "      --unchecked             also where nobody knows whether there is room\n"
    "  -h, --help                  help; behind a command, on that command\n"
    "  -V, --version\n";

enum long_option {
	OPTION_NO_DIGEST = 256, /* no letter has this number */
	OPTION_REVISION,
	OPTION_PREFIX,
	OPTION_LOCAL,
	OPTION_TARGET,
	OPTION_CONFIRM_WITHIN,
	OPTION_EVEN_WITHOUT_QUORUM,
	OPTION_FORCE,
	OPTION_DRY_RUN,
	OPTION_YES,
	OPTION_CORRUPT_TOO,
	OPTION_UNCHECKED,
	OPTION_ALL,
	OPTION_DEPTH,
};

static const struct option options[] = {
    {"output", required_argument, NULL, 'o'},
    {"runtime-dir", required_argument, NULL, 'r'},
    {"watch", no_argument, NULL, 'w'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {"no-digest", no_argument, NULL, OPTION_NO_DIGEST},
    {"revision", required_argument, NULL, OPTION_REVISION},
    {"prefix", no_argument, NULL, OPTION_PREFIX},
    {"local", no_argument, NULL, OPTION_LOCAL},
    {"confirm-within", required_argument, NULL, OPTION_CONFIRM_WITHIN},
    {"even-without-quorum", no_argument, NULL, OPTION_EVEN_WITHOUT_QUORUM},
    {"target", required_argument, NULL, OPTION_TARGET},
    {"force", no_argument, NULL, OPTION_FORCE},
    {"dry-run", no_argument, NULL, OPTION_DRY_RUN},
    {"yes", no_argument, NULL, OPTION_YES},
    {"corrupt-too", no_argument, NULL, OPTION_CORRUPT_TOO},
    {"unchecked", no_argument, NULL, OPTION_UNCHECKED},
    {"all", no_argument, NULL, OPTION_ALL},
    {"depth", required_argument, NULL, OPTION_DEPTH},
    {0},
};

/* --- help ------------------------------------------------------------------------------------- */

static void print_usage(FILE *out, const struct command *command)
{
	(void) fprintf(out, "Usage: fairlead %s%s%s\n%s\n", command->name,
	               command->arguments[0] != '\0' ? " " : "", command->arguments, command->help);
}

/* Whether its name goes on behind these words. */
static bool is_below(const struct command *command, const char *words)
{
	size_t len = strlen(words);

	return strncmp(command->name, words, len) == 0 && command->name[len] == ' ';
}

/* The commands whose name begins with `word`; NULL: all. How many there are. */
static size_t print_commands(FILE *out, const char *word)
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		const struct command *c = &commands[i];
		AUTO(free) char *usage = xasprintf("%s %s", c->name, c->arguments);

		if (word != NULL && !is_below(c, word))
			continue;
		if (n++ == 0)
			(void) fputs("Commands:\n", out);
		(void) fprintf(out, "  %-*s", USAGE_WIDTH, usage);
		if (strlen(usage) > USAGE_WIDTH - 2)
			(void) fprintf(out, "\n  %-*s", USAGE_WIDTH, "");
		(void) fprintf(out, "%s\n", c->help);
	}
	return n;
}

static void print_help(FILE *out)
{
	(void) fputs(
	    "Usage: fairlead [OPTION]... COMMAND\n"
	    "Shows and steers the fairlead daemons of this node, and reads snapshots of etcd.\n\n",
	    out);
	(void) print_commands(out, NULL);
	(void) fprintf(out, "\n%s\nSee fairlead(1) for the exit codes and the rest.\n", options_help);
}

/* --- which command ---------------------------------------------------------------------------- */

static const struct command *find_command(int argc, char **argv, int *ret_n_words)
{
	const struct command *found = NULL;
	int most = 0;

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		int n = cmdname_match(commands[i].name, argc, argv);

		if (n > most) {
			most = n;
			found = &commands[i];
		}
	}
	*ret_n_words = most;
	return found;
}

static int refuse_unknown(int argc, char **argv)
{
	const char *names[ARRAY_SIZE(commands)];
	char typed[CMDNAME_TEXT_MAX];
	const char *nearest;

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		names[i] = commands[i].name;
	nearest = cmdname_nearest(argc, argv, names, ARRAY_SIZE(commands));
	(void) cmdname_typed(argc, argv, typed);
	/* The beginning of several is no misspelling of one. */
	for (size_t i = 0; i < ARRAY_SIZE(commands) && nearest != NULL; i++) {
		if (is_below(&commands[i], typed))
			nearest = NULL;
	}
	if (nearest != NULL) {
		(void) fprintf(stderr, "fairlead: unknown command '%s': did you mean 'fairlead %s'?\n",
		               typed, nearest);
		return CLI_USAGE;
	}
	(void) fprintf(stderr, "fairlead: unknown command '%s'\n", typed);
	if (print_commands(stderr, typed) == 0 && print_commands(stderr, argv[0]) == 0)
		(void) fputs("fairlead --help lists them all.\n", stderr);
	return CLI_USAGE;
}

/* Those that are given must be options of the command. */
static int check_options(const struct cli *cli, const struct command *command)
{
	const struct {
		const char *name;
		unsigned takes;
		bool given;
	} limited[] = {
	    {"--watch", TAKES_WATCH, cli->watch},
	    {"--no-digest", TAKES_NO_DIGEST, cli->no_digest},
	    {"--revision", TAKES_REVISION, cli->revision != 0},
	    {"--prefix", TAKES_PREFIX, cli->prefix},
	    {"--local", TAKES_LOCAL, cli->local},
	    {"--target", TAKES_TARGET, cli->target != NULL},
	    {"--confirm-within", TAKES_CONFIRM, cli->confirm_within != NULL},
	    {"--even-without-quorum", TAKES_QUORUM, cli->even_without_quorum},
	    {"--depth", TAKES_DEPTH, cli->depth != 0},
	    {"--force", TAKES_FORCE, cli->force},
	    {"--dry-run", TAKES_DRY_RUN, cli->dry_run},
	    {"--yes", TAKES_YES, cli->yes},
	    {"--corrupt-too", TAKES_ALARMS, cli->corrupt_too},
	    {"--unchecked", TAKES_ALARMS, cli->unchecked},
	    {"--all", TAKES_ALL, cli->all},
	    {"-o yaml", TAKES_YAML, cli->output == CLI_YAML},
	};

	for (size_t i = 0; i < ARRAY_SIZE(limited); i++) {
		if (limited[i].given && (command->takes & limited[i].takes) == 0) {
			(void) fprintf(stderr, "fairlead: '%s' has no option %s\n", command->name,
			               limited[i].name);
			print_usage(stderr, command);
			return CLI_USAGE;
		}
	}
	return CLI_OK;
}

static int run(const struct cli *cli, bool help, int argc, char **argv)
{
	char typed[CMDNAME_TEXT_MAX];
	const struct command *command;
	int n_words;

	if (argc == 0) {
		print_help(help ? stdout : stderr);
		return help ? CLI_OK : CLI_USAGE;
	}
	command = find_command(argc, argv, &n_words);
	if (help && (command == NULL || n_words < argc) &&
	    print_commands(stdout, cmdname_typed(argc, argv, typed)) > 0)
		return CLI_OK;
	if (command == NULL)
		return refuse_unknown(argc, argv);
	if (help && (command->takes & TAKES_OWN) != 0) {
		char word[] = "--help";
		char *words[] = {argv[n_words - 1], word, NULL};

		return command->fn(cli, 2, words);
	}
	if (help) {
		print_usage(stdout, command);
		return CLI_OK;
	}
	argc -= n_words;
	if (argc < command->min_words || argc > command->max_words) {
		(void) fprintf(stderr, "fairlead: too %s arguments for '%s'\n",
		               argc < command->min_words ? "few" : "many", command->name);
		print_usage(stderr, command);
		return CLI_USAGE;
	}
	if (check_options(cli, command) != CLI_OK)
		return CLI_USAGE;
	return command->fn(cli, argc, argv + n_words);
}

/* --- options ---------------------------------------------------------------------------------- */

/* One of the first n formats. */
static int set_format(struct cli *cli, const char *word, size_t n)
{
	static const char *const formats[] = {
	    [CLI_TABLE] = "table", [CLI_JSON] = "json", [CLI_YAML] = "yaml"};
	const char *nearest = hint_nearest(word, formats, n);

	for (size_t i = 0; i < n; i++) {
		if (strcmp(word, formats[i]) == 0) {
			cli->output = (enum cli_output) i;
			return CLI_OK;
		}
	}
	if (nearest != NULL)
		(void) fprintf(stderr, "fairlead: no output format '%s': did you mean '%s'?\n", word,
		               nearest);
	else
		(void) fprintf(stderr, "fairlead: no output format '%s': there are 'table' and 'json'%s\n",
		               word, n > CLI_YAML ? ", for some commands 'yaml'" : "");
	return CLI_USAGE;
}

int cli_set_output(struct cli *cli, const char *word, bool may_be_yaml)
{
	return set_format(cli, word, (may_be_yaml ? CLI_YAML : CLI_JSON) + 1);
}

static int set_revision(struct cli *cli, const char *word)
{
	long long revision;
	char *end;

	errno = 0;
	revision = strtoll(word, &end, 10);
	if (errno != 0 || end == word || *end != '\0' || revision < 1) {
		(void) fprintf(stderr, "fairlead: no revision: '%s': they are counted from 1\n", word);
		return CLI_USAGE;
	}
	cli->revision = revision;
	return CLI_OK;
}

static int set_depth(struct cli *cli, const char *word)
{
	unsigned long depth = strspn(word, "0123456789") == strlen(word) ? strtoul(word, NULL, 10) : 0;

	if (depth < 1 || depth > USAGE_DEPTH_MAX) {
		(void) fprintf(stderr, "fairlead: no depth: '%s': 1 to %d\n", word, USAGE_DEPTH_MAX);
		return CLI_USAGE;
	}
	cli->depth = (unsigned) depth;
	return CLI_OK;
}

/* Returns CLI_OK to go on. */
static int set_option(struct cli *cli, int option)
{
	switch (option) {
	case 'o':
		return set_format(cli, optarg, CLI_YAML + 1);
	case 'r':
		cli->runtime_dir = optarg;
		return CLI_OK;
	case 'w':
		cli->watch = true;
		return CLI_OK;
	case OPTION_NO_DIGEST:
		cli->no_digest = true;
		return CLI_OK;
	case OPTION_REVISION:
		return set_revision(cli, optarg);
	case OPTION_DEPTH:
		return set_depth(cli, optarg);
	case OPTION_PREFIX:
		cli->prefix = true;
		return CLI_OK;
	case OPTION_LOCAL:
		cli->local = true;
		return CLI_OK;
	case OPTION_TARGET:
		cli->target = optarg;
		return CLI_OK;
	case OPTION_CONFIRM_WITHIN:
		cli->confirm_within = optarg;
		return CLI_OK;
	case OPTION_EVEN_WITHOUT_QUORUM:
		cli->even_without_quorum = true;
		return CLI_OK;
	case OPTION_FORCE:
		cli->force = true;
		return CLI_OK;
	case OPTION_DRY_RUN:
		cli->dry_run = true;
		return CLI_OK;
	case OPTION_YES:
		cli->yes = true;
		return CLI_OK;
	case OPTION_CORRUPT_TOO:
		cli->corrupt_too = true;
		return CLI_OK;
	case OPTION_UNCHECKED:
		cli->unchecked = true;
		return CLI_OK;
	case OPTION_ALL:
		cli->all = true;
		return CLI_OK;
	default:
		(void) fputs("fairlead --help lists the options.\n", stderr);
		return CLI_USAGE;
	}
}

#define LETTERS "o:r:whV"

/* The command, if it is one that reads what is behind its name itself, and where that name ends. */
static const struct command *find_own(int argc, char **argv, int *ret_first)
{
	const struct command *command = NULL;
	int n_words, option;

	opterr = 0;
	do
		option = getopt_long(argc, argv, "+" LETTERS, options, NULL);
	while (option != -1 && option != '?');
	if (option == -1 && optind < argc)
		command = find_command(argc - optind, argv + optind, &n_words);
	if (command != NULL)
		*ret_first = optind + n_words - 1;
	opterr = 1;
	optind = 0; /* anew */
	return command != NULL && (command->takes & TAKES_OWN) != 0 ? command : NULL;
}

int cli_main(int argc, char **argv)
{
	const char *from_environment = getenv("FAIRLEAD_RUNTIME_DIR");
	struct cli cli = {.runtime_dir = DEFAULT_RUNTIME_DIR};
	int option, first = 0;
	const struct command *own = find_own(argc, argv, &first);
	bool help = false;

	if (from_environment != NULL && from_environment[0] != '\0')
		cli.runtime_dir = from_environment;
	while ((option = getopt_long(argc, argv, own != NULL ? "+" LETTERS : LETTERS, options, NULL)) !=
	       -1) {
		if (option == 'V') {
			(void) puts("fairlead " FAIRLEAD_VERSION);
			return CLI_OK;
		}
		if (option == 'h')
			help = true;
		else if (set_option(&cli, option) != CLI_OK)
			return CLI_USAGE;
	}
	if (own != NULL && !help)
		return own->fn(&cli, argc - first, argv + first);
	return run(&cli, help, argc - optind, argv + optind);
}
