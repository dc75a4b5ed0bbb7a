/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options that several commands take. An option is a row: its name, what help says of it, and
 * the function that puts its value into its field.
 */
#include "cli/options.h"

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
