/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options that several commands have in common; and the table of commands, in the order in which
 * help lists them.
 */
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hint.h"
#include "base/macro.h"
#include "bolt/usage.h"

static void *field(void *into, const struct cli_option *option)
{
	return (char *) into + option->offset;
}

int cli_set_flag(void *into, const struct cli_option *option, const char *value UNUSED)
{
	*(bool *) field(into, option) = true;
	return CLI_OK;
}

int cli_set_text(void *into, const struct cli_option *option, const char *value)
{
	*(const char **) field(into, option) = value;
	return CLI_OK;
}

int cli_set_own(const struct cli *cli, void *into)
{
	int code = CLI_OK;

	for (size_t i = 0; i < cli->n_given && code == CLI_OK; i++)
		code = cli->given[i].option->set(into, cli->given[i].option, cli->given[i].value);
	return code;
}

/* Which of the words it is; -1: none, and it is said. */
static int find_choice(const char *what, const char *value, const char *const *choices, size_t n,
                       const char *all)
{
	const char *nearest = hint_nearest(value, choices, n);

	for (size_t i = 0; i < n; i++) {
		if (strcmp(value, choices[i]) == 0)
			return (int) i;
	}
	if (nearest != NULL)
		(void) fprintf(stderr, "fairlead: no %s '%s': did you mean '%s'?\n", what, value, nearest);
	else
		(void) fprintf(stderr, "fairlead: no %s '%s': there are %s\n", what, value, all);
	return -1;
}

static int set_format(void *into, const struct cli_option *option UNUSED, const char *value)
{
	static const char *const formats[] = {
	    [CLI_TABLE] = "table", [CLI_JSON] = "json", [CLI_YAML] = "yaml"};
	int i = find_choice("output format", value, formats, ARRAY_SIZE(formats),
	                    "'table', 'json' and 'yaml'");

	if (i < 0)
		return CLI_USAGE;
	((struct cli *) into)->output = (enum cli_output) i;
	return CLI_OK;
}

static int set_color(void *into, const struct cli_option *option UNUSED, const char *value)
{
	static const char *const whens[] = {
	    [COLOR_AUTO] = "auto", [COLOR_ALWAYS] = "always", [COLOR_NEVER] = "never"};
	int i = find_choice("time for colours", value, whens, ARRAY_SIZE(whens),
	                    "'auto', 'always' and 'never'");

	if (i < 0)
		return CLI_USAGE;
	((struct cli *) into)->color = (enum color_when) i;
	return CLI_OK;
}

static int set_revision(void *into, const struct cli_option *option UNUSED, const char *value)
{
	long long revision;
	char *end;

	errno = 0;
	revision = strtoll(value, &end, 10);
	if (errno != 0 || end == value || *end != '\0' || revision < 1) {
		(void) fprintf(stderr, "fairlead: no revision: '%s': they are counted from 1\n", value);
		return CLI_USAGE;
	}
	((struct cli *) into)->revision = revision;
	return CLI_OK;
}

static int set_depth(void *into, const struct cli_option *option UNUSED, const char *value)
{
	unsigned long depth =
	    strspn(value, "0123456789") == strlen(value) ? strtoul(value, NULL, 10) : 0;

	if (depth < 1 || depth > USAGE_DEPTH_MAX) {
		(void) fprintf(stderr, "fairlead: no depth: '%s': 1 to %d\n", value, USAGE_DEPTH_MAX);
		return CLI_USAGE;
	}
	((struct cli *) into)->depth = (unsigned) depth;
	return CLI_OK;
}

#define AT(member) .offset = offsetof(struct cli, member)
#define FLAG(member) .set = cli_set_flag, AT(member)
#define TEXT(member) .set = cli_set_text, AT(member)

/* Help and version are not set but done. */
const struct cli_option cli_common_options[CLI_N_COMMON] = {
    [CLI_OPTION_OUTPUT] = {"output", 'o', "FORMAT",
                           "table (the default), json: an object a line, or yaml",
                           "table json yaml", .set = set_format},
    [CLI_OPTION_RUNTIME_DIR] = {"runtime-dir", 'r', "DIR",
                                "where the control sockets are; $FAIRLEAD_RUNTIME_DIR,\n"
                                "else /run/fairlead",
                                CLI_DIRECTORIES, TEXT(runtime_dir)},
    [CLI_OPTION_COLOR] = {"color", .value = "WHEN",
                          .help = "auto: on a terminal, unless $NO_COLOR is set (the default);\n"
                                  "always, or never",
                          .completes = "auto always never", .set = set_color},
    [CLI_OPTION_NODES] = {"nodes", .value = "LIST",
                          .help = "on these nodes, by ssh: names and groups with commas between,\n"
                                  "or all; $FAIRLEAD_NODES",
                          TEXT(nodes)},
    [CLI_OPTION_VIA] = {"via", .value = "TEMPLATE",
                        .help = "with this program instead of ssh; {} is the node;\n$FAIRLEAD_VIA",
                        TEXT(via)},
    [CLI_OPTION_HELP] = {"help", 'h', .help = "help; behind a command, on that command"},
    [CLI_OPTION_VERSION] = {"version", 'V', .help = "the version"},
    [CLI_OPTION_WATCH] = {"watch", 'w', .help = "show it again every second", FLAG(watch)},
    [CLI_OPTION_NO_DIGEST] = {"no-digest",
                              .help = "the file need not end with the digest of a snapshot",
                              FLAG(no_digest)},
    [CLI_OPTION_REVISION] = {"revision", .value = "N",
                             .help = "as it was at this revision, and not the last",
                             .set = set_revision},
    [CLI_OPTION_PREFIX] = {"prefix", .help = "all keys that begin with KEY", FLAG(prefix)},
    [CLI_OPTION_DEPTH] = {"depth", .value = "N",
                          .help = "by the first N components of the keys, else by two",
                          .set = set_depth},
    [CLI_OPTION_LOCAL] = {"local", .help = "only this node, and no target", FLAG(local)},
    [CLI_OPTION_TARGET] = {"target", .value = "NAME", .help = "only this target", TEXT(target)},
    [CLI_OPTION_CONFIRM_WITHIN] = {"confirm-within", .value = "TIME",
                                   .help = "undo it unless it is confirmed by then: 90s, 5m",
                                   TEXT(confirm_within)},
    [CLI_OPTION_EVEN_WITHOUT_QUORUM] = {"even-without-quorum",
                                        .help = "also if etcd cannot do without this node now",
                                        FLAG(even_without_quorum)},
    [CLI_OPTION_FORCE] = {"force", .help = "also the last good one", FLAG(force)},
    [CLI_OPTION_DRY_RUN] = {"dry-run", .help = "only say what would be done", FLAG(dry_run)},
    [CLI_OPTION_YES] = {"yes", .help = "do it without a question", FLAG(yes)},
    [CLI_OPTION_ALL] = {"all", .help = "all members for whom it is worth it", FLAG(all)},
    [CLI_OPTION_CORRUPT_TOO] = {"corrupt-too", .help = "also the alarm CORRUPT", FLAG(corrupt_too)},
    [CLI_OPTION_UNCHECKED] = {"unchecked", .help = "also where nobody knows whether there is room",
                              FLAG(unchecked)},
};

/* --- the table --- */

#define T(common) CLI_TAKES(common)
#define STEERS (T(YES) | T(DRY_RUN))
/* The words of the command go to a daemon, and the answer is printed. */
#define ASKS(name, function) .daemon = name, .render = function
#define MANY 16 /* files that a command is given */

#define NET_FILES "Without a FILE it is the configuration in /etc/fairlead. No daemon is needed."
#define CONFIG_FILES                                                       \
	"Without a FILE it is /etc/fairlead/config.yaml and the *.yaml files " \
	"in\n/etc/fairlead/conf.d."
/* The designators of what reads any snapshot. */
#define READS                                                                                      \
	.more = "SNAPSHOT is a file, packed or not, an id, 'latest' or s3:TARGET/ID. What has to be\n" \
	        "unpacked goes into a file without a name in $TMPDIR, else /var/tmp.",                 \
	.own = cli_etcd_snapshot_options, .completes = CLI_FILES
#define STEERED                                                                          \
	"It shows what would be done and asks; where nobody can be asked, it takes --yes.\n" \
	"For root. What would leave etcd without a majority is refused."

const struct cli_command cli_commands[] = {
    {"init", "[--vip ADDRESS[,ADDRESS]...] [OPTION]...",
     "Look at this node, and write a configuration with comments.",
     .more = "It only reads: what of Kubernetes and etcd is here, links, addresses, certificates,\n"
             "and what else does the same. What nobody can know stays a comment that says what to\n"
             "fill in; what to do besides is told on standard error.",
     .exits = "  1  it cannot be done like this, or another file is there", .takes = CLI_OWN_FORMAT,
     .own = cli_init_options, .fn = cli_init},
    {"status", "[-w]", "The whole node on one screen, and what wants attention.",
     .more = "All daemons are asked at the same time. The worst stands first.",
     .exits = "  0  all is well\n  1  something has failed\n  3  no daemon runs here\n"
              "  4  none may be asked by this user\n  5  something wants attention",
     .takes = CLI_READS | T(WATCH), .fn = cli_status},
    {"top", "", "The whole node, live, on the whole terminal.",
     .more = "q quits, ? tells the keys. A daemon that does not answer leaves its panel as it\n"
             "was, with its age.",
     .takes = CLI_OWN_FORMAT, .fn = cli_top},
    {"health", "[--wait-timeout TIME]",
     "Check etcd, API servers, VIPs and the network, and wait until all is well.",
     .more = "A daemon that has no control socket does not run here, and is passed over; if its\n"
             "unit is enabled, its checks fail until it runs.",
     .exits = "  0  all is well\n  1  not in time\n  3  no daemon runs here\n"
              "  4  this user may not ask",
     .takes = CLI_READS, .own = cli_health_options, .fn = cli_health, .waits = cli_health_waits},

    {"support", "[OPTION]...",
     "One archive of what somebody needs who is to say from afar what is wrong here.",
     .more =
         "Status and metrics of the daemons, configurations, logs, the network, versions; at the\n"
         "top SUMMARY.md, with what is wrong first. Secrets are blanked. Whoever hangs costs a\n"
         "few seconds and is named there. Best as root: others see less.",
     .takes = CLI_OWN_FORMAT, .own = cli_support_options, .fn = cli_support},

    {"vip status", "[-w] [ADDRESS]", "Who owns the VIPs, and how things stand with them.",
     .max_words = 1, .takes = CLI_READS | T(WATCH), ASKS("vipd", vip_render_status)},
    {"vip move", "ADDRESS [to NODE]", "Hand a VIP of this node over, and wait until it is done.",
     .more = "It goes to NODE, or to the best other candidate. For root.",
     .exits = "  1  refused, or another node than NODE owns it in the end", .min_words = 1,
     .max_words = 3, .fn = cli_vip_move},
    {"vip hold", "", "Keep this node from owning VIPs, for maintenance.",
     .more = "Until 'fairlead vip unhold', or the next boot. For root.", .fn = cli_vip_hold},
    {"vip unhold", "", "Let this node own VIPs again.", .more = "For root.", .fn = cli_vip_unhold},

    {"vip ungate", "[--yes]",
     "Remove the gate of a dead vipd, to set a VIP by hand; without --yes, say what that gives up.",
     .more = "Two nodes may answer for the address then. Refused while vipd runs. For root.",
     .exits = "  1  refused, or --yes was not given", .takes = T(YES) | CLI_OWN_FORMAT,
     .fn = cli_vip_ungate},

    {"prism status", "[-w]", "The API servers behind prism, and how they are.",
     .takes = CLI_READS | T(WATCH), ASKS("prism", prism_render_status)},
    {"prism drain", "UPSTREAM", "Keep an API server free of connections, for maintenance.",
     .more = "New connections go elsewhere while another can take them. Until\n"
             "'fairlead prism undrain', or a restart of prism. For root.",
     .min_words = 1, .max_words = 1, .fn = cli_prism_drain},
    {"prism undrain", "UPSTREAM", "Give an API server connections again.", .more = "For root.",
     .min_words = 1, .max_words = 1, .fn = cli_prism_undrain},

    {"net status", "[-w]",
     "The change of the network that is under way, and how the last one ended.",
     .takes = CLI_READS | T(WATCH), ASKS("netconf", net_render_status)},
    {"net diff", "", "The steps that would make the network what was confirmed.",
     .takes = CLI_READS, ASKS("netconf", net_render_diff)},
    {"net apply", "[--confirm-within TIME] [--even-without-quorum] [FILE]...",
     "Change the network, and back again unless it is confirmed.",
     .more = "Without a FILE it is the configuration in /etc/fairlead. The plan is shown before\n"
             "the first step. For root.",
     .exits = "  0  'fairlead net confirm' is awaited, or nothing had to be done\n"
              "  1  refused, or undone",
     .max_words = MANY, .takes = T(CONFIRM_WITHIN) | T(EVEN_WITHOUT_QUORUM), .completes = CLI_FILES,
     .fn = cli_net_apply},
    {"net confirm", "[ID]", "Say that all is well with the change.",
     .more = "It stays then, and every boot applies it. Best said over a new connection to this\n"
             "machine. For root.",
     .max_words = 1, .fn = cli_net_confirm},
    {"net rollback", "[ID]", "Undo the change that is under way.", .more = "For root.",
     .exits = "  1  not all could be undone: the way back is kept, and this tries again",
     .max_words = 1, .fn = cli_net_rollback},
    {"net discard", "ID", "Give up what could not be undone; the network stays as it is.",
     .more = "For root.", .min_words = 1, .max_words = 1, .fn = cli_net_discard},
    {"net validate", "[FILE]...", "Whether a configuration of the network is right: every error.",
     .more = NET_FILES, .max_words = MANY, .completes = CLI_FILES, .takes = CLI_READS,
     .fn = cli_net_validate},
    {"net plan", "[FILE]...",
     "What a configuration of the network would do, step by step, and what each step costs.",
     .more = NET_FILES, .exits = "  1  something is refused", .max_words = MANY,
     .completes = CLI_FILES, .takes = CLI_READS, .fn = cli_net_plan},
    {"net convert", "[FILE]...",
     "Print a configuration of the network in the style of many documents.", .more = NET_FILES,
     .takes = CLI_OWN_FORMAT, .max_words = MANY, .completes = CLI_FILES, .fn = cli_net_convert},

    {"config validate", "[FILE|DIRECTORY]...",
     "Whether the configuration is right: every error of every kind, once.",
     .more =
         CONFIG_FILES "\n"
                      "Each daemon reads it as it would when it is started. No daemon need run.",
     .exits = "  0  it is right\n  1  it has errors\n"
              "  5  some of it is a program's that is not installed here",
     .max_words = MANY, .completes = CLI_FILES, .takes = CLI_READS, .fn = cli_config_validate},
    {"config print", "[FILE|DIRECTORY]...",
     "Print the configuration as the daemons read it, with their defaults.",
     .more = CONFIG_FILES
     "\n"
     "What is printed can be read, and prints the same. Secrets are not in it; those that\n"
     "are in files are named.",
     .max_words = MANY, .takes = CLI_READS | CLI_OWN_FORMAT, .completes = CLI_FILES,
     .fn = cli_config_print},

    {"config convert", "[FILE|DIRECTORY]...",
     "Print a machine configuration in the older style as documents of their kinds.",
     .more = CONFIG_FILES
     "\n"
     "The network, VIPs, and KubePrism with the API servers are taken over; it is said\n"
     "what is not. Documents that have a kind stay as they are.",
     .max_words = MANY, .takes = CLI_OWN_FORMAT, .completes = CLI_FILES, .fn = cli_config_convert},

    {"completion", "bash|zsh", "Print the script by which a shell completes this command line.",
     .more = "It is installed with fairlead. Elsewhere: source <(fairlead completion bash).",
     .min_words = 1, .max_words = 1, .takes = CLI_OWN_FORMAT, .completes = "bash zsh",
     .fn = cli_completion},
    {"version", "", "Print the version of fairlead.", .takes = CLI_READS, .fn = cli_version},
    {"metrics", "DAEMON", "The metrics of a daemon, as Prometheus reads them.",
     .more = "The daemons are vipd, prism, etcdwatch and netconf.", .min_words = 1, .max_words = 1,
     .completes = CLI_DAEMONS, .takes = CLI_READS, .fn = cli_metrics},

    {"etcd members", "[-w]", "The members of etcd, as each of them knows them.",
     .takes = CLI_READS | T(WATCH), ASKS("etcdwatch", cluster_render_members)},
    {"etcd status", "[-w]", "What each member of etcd says of itself.",
     .takes = CLI_READS | T(WATCH), ASKS("etcdwatch", cluster_render_status)},
    {"etcd health", "[-w]", "What is wrong with etcd, since when, and what to do.",
     .exits = "  0  nothing is wrong\n  1  something is critical, or nobody has been asked yet\n"
              "  5  there are only warnings",
     .takes = CLI_READS | T(WATCH), ASKS("etcdwatch", health_render), .code = health_code},
    {"etcd alarms", "[-w]", "The alarms of etcd that stand.", .takes = CLI_READS | T(WATCH),
     ASKS("etcdwatch", cluster_render_alarms)},
    {"etcd notify status", "[-w]", "How telling the webhook of findings goes.",
     .takes = CLI_READS | T(WATCH), ASKS("etcdwatch", notify_render_status)},
    {"etcd notify test", "", "Send the webhook a message, and wait until it has answered.",
     .more = "For root.", .fn = cli_etcd_notify_test},
    {"etcd forfeit-leadership", "[--yes] [--dry-run]",
     "This node's member of etcd hands the leadership to another.", .more = STEERED,
     .takes = STEERS, .fn = cli_etcd_forfeit_leadership},
    {"etcd leave", "[--yes] [--dry-run]", "This node's member leaves the cluster.",
     .more = STEERED "\nIts etcd ends, and its data directory stays.", .takes = STEERS,
     .fn = cli_etcd_leave},
    {"etcd remove-member", "[--yes] [--dry-run] MEMBER",
     "Remove a member from the cluster, by its name or id.", .more = STEERED, .min_words = 1,
     .max_words = 1, .takes = STEERS, .fn = cli_etcd_remove_member},
    {"etcd alarm disarm", "[--yes] [--dry-run] [--corrupt-too] [--unchecked]",
     "Take back the alarms whose reason is gone.", .more = STEERED,
     .takes = STEERS | T(CORRUPT_TOO) | T(UNCHECKED), .fn = cli_etcd_alarm_disarm},
    {"etcd defrag", "[--yes] [--dry-run] --all | MEMBER",
     "Write the databases of members anew, one at a time, without their free pages.",
     .more = STEERED, .max_words = 1, .takes = STEERS | T(ALL), .fn = cli_etcd_defrag},
    {"etcd recover-space", "[--yes] [--dry-run]",
     "From the alarm NOSPACE back: compact, defragment all, disarm.", .more = STEERED,
     .takes = STEERS, .fn = cli_etcd_recover_space},
    {"etcd snapshot jobs", "[-w]", "The jobs that take snapshots of etcd, and how they are.",
     .takes = CLI_READS | T(WATCH), ASKS("etcdwatch", etcdwatch_render_jobs)},
    {"etcd snapshot key", "", "The public key by which this node signs its snapshots.",
     .more = "Ends with the lines for the configuration of all nodes, with the keys that are\n"
             "trusted already.",
     .takes = CLI_READS, ASKS("etcdwatch", etcdwatch_render_key)},
    {"etcd drill", "[JOB] | --file FILE [OPTION]...",
     "Rehearse coming back with the newest snapshot of etcd, or with a file.",
     .more = "A snapshot is restored, a real etcd started on it where nobody can reach it, and\n"
             "what that answers is compared. JOB is one of etcdwatch's; a FILE needs no daemon,\n"
             "and the options below are for it.",
     .exits = "  1  something differs, or did not work", .max_words = 1,
     .own = cli_etcd_drill_options, .fn = cli_etcd_drill},
    {"etcd record status", "[-w]",
     "How far what happens in etcd is recorded on this node, and what of it is lost.",
     .exits = "  1  nothing is recorded", .takes = CLI_READS | T(WATCH),
     ASKS("etcdwatch", record_render), .code = record_code},
    {"etcd snapshot list", "[--local] [JOB]",
     "The snapshots of etcd on this node and in the targets, oldest first.", .max_words = 1,
     .takes = CLI_READS | T(LOCAL), .fn = cli_etcd_snapshot_list},
    {"etcd snapshot save", "[JOB] [FILE]",
     "Take a snapshot of etcd now, wait until it is proven, and copy it to a file.",
     .more = "FILE has a '/' or a '.' in its name. Works without a quorum too. For root.",
     .max_words = 2, .completes = CLI_FILES, .fn = cli_etcd_snapshot_save},
    {"etcd snapshot delete", "[--local | --target NAME] [--force] ID",
     "Delete a snapshot of etcd, everywhere or in one place.", .more = "For root.", .min_words = 1,
     .max_words = 1, .takes = T(LOCAL) | T(TARGET) | T(FORCE), .fn = cli_etcd_snapshot_delete},
    {"etcd snapshot prune", "[--dry-run] [JOB]",
     "Remove snapshots that need not be kept, here and in the targets.", .more = "For root.",
     .max_words = 1, .takes = T(DRY_RUN), .fn = cli_etcd_snapshot_prune},
    {"etcd snapshot take-over", "TARGET [JOB]",
     "Make the prefix of a target this cluster's, though another one has used it.",
     .more = "For root. For a new cluster that replaces the other one for good.", .min_words = 1,
     .max_words = 2, .fn = cli_etcd_snapshot_take_over},
    {"etcd snapshot accept", "[JOB]",
     "Say that the data may be as small as it has become, so that retention goes on.",
     .more = "For root.", .max_words = 1, .fn = cli_etcd_snapshot_accept},
    {"etcd snapshot verify", "[--no-digest] [--revision N] [OPTION]... SNAPSHOT",
     "Whether a snapshot of etcd is sound: digest, tree, keys; and its HashKV.", READS,
     .exits = "  1  it is damaged", .min_words = 1, .max_words = 1,
     .takes = T(NO_DIGEST) | T(REVISION), .fn = cli_etcd_snapshot_verify},
    {"etcd snapshot status", "[OPTION]... SNAPSHOT",
     "The hash, revision, keys and size of a snapshot, as etcdctl prints them.", READS,
     .min_words = 1, .max_words = 1, .fn = cli_etcd_snapshot_status},
    {"etcd snapshot get", "[--revision N] [--prefix] [OPTION]... KEY SNAPSHOT",
     "Read keys from a snapshot of etcd.", READS,
     .exits = "  1  there is no such key, or the file is damaged", .min_words = 2, .max_words = 2,
     .takes = T(REVISION) | T(PREFIX), .fn = cli_etcd_snapshot_get},
    {"etcd snapshot usage", "[--depth N] [OPTION]... SNAPSHOT | [--local] latest",
     "What fills a snapshot of etcd: keys by their beginning, the largest first.", READS,
     .min_words = 1, .max_words = 1, .takes = T(DEPTH) | T(LOCAL), .fn = cli_etcd_snapshot_usage},
    {"etcd snapshot diff", "[OPTION]... SNAPSHOT SNAPSHOT",
     "The keys that two snapshots have different.", READS,
     .exits = "  1  they are different, or one is damaged", .min_words = 2, .max_words = 2,
     .fn = cli_etcd_snapshot_diff},
    {"etcd restore", "[--yes] [OPTION]... [SNAPSHOT] | status | step NAME [SNAPSHOT]",
     "Make this node's etcd anew from a snapshot, or that of all nodes; without --yes, say how.",
     .more =
         "SNAPSHOT is a file, an id, 'latest' or s3:TARGET/ID; with --to-revision or --to-time\n"
         "it may be left out, and is then the one that fits best. The old data is set aside\n"
         "and never deleted.\n"
         "'status' says how far a restore with --nodes has come, on this node or those of\n"
         "--nodes; 'step' is what --nodes runs on each: survey, prepare, stop, exchange, start,\n"
         "health, finish, return or revive.",
     .exits = "  1  it cannot be restored, and it is said why\n  3  a node was not reached",
     .max_words = 3, .takes = CLI_OWN_NODES, .own = cli_etcd_restore_options,
     .completes = CLI_FILES, .fn = cli_etcd_restore},
    {"etcd rescue", "DIRECTORY|FILE...",
     "Which of the databases that members of etcd left is the best.",
     .more = "For when the quorum is lost for good. Nothing is changed.",
     .exits = "  1  none of them is sound", .min_words = 1, .max_words = MANY,
     .completes = CLI_FILES, .fn = cli_etcd_rescue},
};
const size_t cli_commands_n = ARRAY_SIZE(cli_commands);

bool cli_command_takes(const struct cli_command *command, size_t common)
{
	for (const struct cli_option *o = command->own; o != NULL && o->name != NULL; o++) {
		if (strcmp(o->name, cli_common_options[common].name) == 0)
			return false;
	}
	if (common >= CLI_N_GLOBAL)
		return (command->takes & (UINT64_C(1) << common)) != 0;
	if (common == CLI_OPTION_OUTPUT)
		return (command->takes & CLI_OWN_FORMAT) == 0;
	if (common == CLI_OPTION_NODES || common == CLI_OPTION_VIA)
		return (command->takes & (CLI_READS | CLI_OWN_NODES)) != 0;
	return true;
}

const struct cli_group cli_groups[] = {
    {"vip", "The addresses that vipd shares among nodes."},
    {"prism", "The local balancer of API servers."},
    {"net", "The network of this node, changed as a transaction by netconf."},
    {"config", "The configuration of all daemons."},
    {"etcd", "etcd: its members, their health, what is saved of it and how it comes back."},
    {"etcd notify", "The webhook that is told of findings."},
    {"etcd alarm", "The alarms of etcd."},
    {"etcd record", "What happens in etcd, recorded on this node."},
    {"etcd snapshot", "Snapshots of etcd: etcdwatch's, and files."},
};
const size_t cli_groups_n = ARRAY_SIZE(cli_groups);
