/* SPDX-License-Identifier: Apache-2.0 */
/* One table of options, and where the value of each goes. */
#include "cli/restore/restoreoptions.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/common/fields.h"
#include "cli/common/table.h"

#define DEFAULT_DATA_DIR "/var/lib/etcd"
#define BUMP_MAX UINT64_C(1000000000000000)

void restoreoptions_fini(struct restoreoptions *options)
{
	texts_fini(&options->without);
	texts_fini(&options->replaces);
	snapshotoptions_fini(&options->from);
}

static int set_bump(void *into, const struct cli_option *option UNUSED, const char *value)
{
	struct restoreoptions *o = into;
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(value, &end, 10);
	if (errno != 0 || value[0] < '0' || value[0] > '9' || *end != '\0' || number > BUMP_MAX) {
		(void) fprintf(stderr, "fairlead: --bump-revision: no number: '%s'\n", value);
		return CLI_USAGE;
	}
	o->wish.bump_is_given = true;
	o->wish.bump_revision = number;
	return CLI_OK;
}

/* Of their rows. */
_Static_assert(offsetof(struct restoreoptions, from) == 0,
               "where the rows of snapshotoptions.h are");

#define AT(member) .offset = offsetof(struct restoreoptions, member)
#define TEXT(member) .set = cli_set_text, AT(member)
#define FLAG(member) .set = cli_set_flag, AT(member)
#define FILE_VALUE .value = "FILE", .completes = CLI_FILES
#define DIR_VALUE .value = "DIR", .completes = CLI_DIRECTORIES

const struct cli_option cli_etcd_restore_options[] = {
    {"dry-run", .help = "only say what would be done (the default), even with --yes",
     FLAG(dry_run)},
    {"yes", .help = "do it", FLAG(yes)},
    {"without", .value = "MEMBER",
     .help = "with --nodes: it cannot be reached, and takes no part; may be\nrepeated",
     .set = snapshotoptions_set_list, AT(without)},
    {"resume", .help = "with --nodes: continue the restore that was interrupted", FLAG(resume)},
    {"back", .help = "with --nodes: put the old data back, and start the old etcd", FLAG(back)},
    {"take-over", .help = "with --nodes: from a command that was lost while it worked on it",
     FLAG(take_over)},
    {"unit", .value = "NAME", .help = "that runs etcd; else " RESTOREOPTIONS_UNIT, TEXT(unit)},
    {"data-dir", DIR_VALUE, .help = "etcd's data directory; else " DEFAULT_DATA_DIR,
     TEXT(wish.data_dir)},
    {"name", .value = "NAME", .help = "which member this node is; else by its address or host name",
     TEXT(wish.name)},
    {"initial-cluster", .value = "LIST",
     .help = "NAME=PEER-URL,...; else the members of the snapshot", TEXT(wish.initial_cluster)},
    {"alone", .help = "a cluster of this member only; others join it later", FLAG(wish.alone)},
    {"token", .value = "TEXT", .help = "the new cluster's, which all nodes need; else a random one",
     TEXT(wish.token)},
    {"bump-revision", .value = "N",
     .help = "raise the revision by N (0: do not); else by 1000000000", .set = set_bump},
    {"skip-hash-check", .help = "it is a database from a data directory, without a digest",
     FLAG(from.skip_hash_check)},
    {"to-revision", .value = "N",
     .help = "as it was at that revision; 'end': all that was recorded", TEXT(to_revision)},
    {"to-time", .value = "TIME", .help = "as it was at 2026-11-21T20:30:00Z", TEXT(to_time)},
    {"history", .value = "N", .help = "which of the histories that have that revision, or 'latest'",
     TEXT(history)},
    {"record", DIR_VALUE, .help = "where it is recorded; else as etcdwatch is configured",
     TEXT(record)},
    {"rebuilt", FILE_VALUE,
     .help = "the snapshot that is made of it, which stays; else\nDATA-DIR.rebuilt.db",
     TEXT(rebuilt)},
    {"sha256", .value = "HEX", .help = "the SHA-256 that it has to have, without the digest",
     TEXT(sha256)},
    {"tool", .value = "PATH",
     .help = "etcdutl or etcdctl; else the one of the job's drills, or in\nPATH",
     .completes = CLI_FILES, TEXT(tool)},
    {"wal-dir", DIR_VALUE, .help = "where etcd has its WAL, if not in the data directory",
     TEXT(wish.wal_dir)},
    {"manifests", DIR_VALUE, .help = "of static pods; else " RESTOREOPTIONS_MANIFESTS,
     TEXT(manifests)},
    SNAPSHOTOPTIONS_ROWS,
    {"from-stdin", .help = "the snapshot comes on standard input (a step of --nodes)",
     FLAG(from_stdin)},
    {"claim", .value = "JSON", .help = "of the command that takes it (a step of --nodes)",
     TEXT(claim)},
    {"replaces", .value = "ID", .help = "a claim that goes (a step of --nodes); may be repeated",
     .set = snapshotoptions_set_list, AT(replaces)},
    {0},
};

static int parse(const struct cli *cli, struct restoreoptions *ret)
{
	int code;

	*ret = (struct restoreoptions){
	    .wish = {.data_dir = DEFAULT_DATA_DIR},
	    .unit = RESTOREOPTIONS_UNIT,
	};
	code = cli_set_own(cli, ret);
	if (cli->nodes != NULL && cli->nodes[0] != '\0')
		ret->nodes = cli->nodes;
	ret->yes = ret->yes && !ret->dry_run;
	return code;
}

static int refuse_words(void)
{
	(void) fputs("fairlead: 'status' stands alone, and 'step' is followed by its name and is for "
	             "this node; a file of that name is ./status or ./step\n",
	             stderr);
	return CLI_USAGE;
}

/* What only means something with another option. */
static int check_together(const struct restoreoptions *o)
{
	const char *wrong = NULL;

	if (o->nodes == NULL && (o->resume || o->back || o->take_over || o->without.n > 0))
		wrong = "--resume, --back, --take-over and --without are for --nodes";
	else if (o->resume && o->back)
		wrong = "--resume goes on and --back goes back: which one?";
	else if (o->back && o->without.n > 0)
		wrong = "--back needs every node that took part, so it takes no --without";
	else if (o->nodes != NULL && o->wish.alone)
		wrong = "--alone is for one node, --nodes for all";
	else if (o->nodes != NULL && o->wish.name != NULL)
		wrong = "--name is for one node: with --nodes each finds which member it is";
	else if (o->nodes != NULL && o->wish.wal_dir != NULL)
		wrong = "--nodes does not restore members that have their WAL elsewhere: run the commands "
		        "of the plan on each node";
	if (wrong != NULL)
		(void) fprintf(stderr, "fairlead: %s\n", wrong);
	return wrong != NULL ? CLI_USAGE : CLI_OK;
}

int restoreoptions_parse(const struct cli *cli, int argc, char **argv, struct restoreoptions *ret)
{
	int code = parse(cli, ret);

	if (code == CLI_OK && argc > 0 && strcmp(argv[0], "status") == 0)
		return argc == 1 ? CLI_OK : refuse_words();
	if (code == CLI_OK && argc > 0 && strcmp(argv[0], "step") == 0)
		return argc > 1 && ret->nodes == NULL ? CLI_OK : refuse_words();
	if (code == CLI_OK)
		code = check_together(ret);
	if (code != CLI_OK)
		return code;
	/* The nodes know the rest. */
	if (argc == 0 && (ret->resume || ret->back))
		return CLI_OK;
	if (ret->history != NULL && ret->to_revision == NULL && ret->to_time == NULL) {
		(void) fputs("fairlead: --history is for --to-revision and --to-time\n", stderr);
		return CLI_USAGE;
	}
	/* Then the one that fits best is meant. */
	if (argc == 0 && (ret->to_revision != NULL || ret->to_time != NULL)) {
		ret->from.source = "latest";
		return CLI_OK;
	}
	if (argc != 1) {
		(void) fputs("fairlead: name one snapshot: a file, an id, 'latest', or s3:TARGET/ID\n",
		             stderr);
		return CLI_USAGE;
	}
	ret->from.source = argv[0];
	return CLI_OK;
}

/* --- restorerebuild --- */

/* The file stands beside the data directory: there is room for what is made of it, and only root
 * looks there. */

#define DEFAULT_RECORD "/var/lib/fairlead/etcdwatch/record"
#define SUFFIX ".rebuilt.db"
#define TO_END "end"

bool restorerebuild_is_wanted(const struct restoreoptions *o)
{
	return o->to_revision != NULL || o->to_time != NULL;
}

/* NULL: the one in the target. */
static const char *choose_record(const struct restoreoptions *o, const struct snapshotsource *base)
{
	const char *here = base->record != NULL ? base->record : DEFAULT_RECORD;

	if (o->record != NULL)
		return o->record;
	if (base->target != NULL && (base->has_record || access(here, F_OK) < 0))
		return NULL;
	return here;
}

/* To be freed. */
static char *choose_file(const struct restoreoptions *o)
{
	size_t len = strlen(o->wish.data_dir);

	if (o->rebuilt != NULL)
		return xstrdup(o->rebuilt);
	while (len > 1 && o->wish.data_dir[len - 1] == '/')
		len--;
	return xasprintf("%.*s" SUFFIX, (int) len, o->wish.data_dir);
}

int restorerebuild_run(const struct restoreoptions *o, const struct snapshotsource *base,
                       worker_line_fn line, void *userdata, json_t **ret_made)
{
	const char *record = choose_record(o, base);
	AUTO(free) char *file = choose_file(o);
	struct texts words = {0};
	int code;

	texts_add(&words, "rebuild");
	if (record != NULL)
		texts_add_option(&words, "--record", record);
	else
		texts_add(&words, "--record-stored");
	texts_add_option(&words, "--output", file);
	texts_add_option(&words, "--base", base->name);
	if (o->to_time != NULL)
		texts_add_option(&words, "--to-time", o->to_time);
	/* Also when both were given: the worker says what is wrong with that. */
	if (o->to_revision != NULL && strcmp(o->to_revision, TO_END) != 0)
		texts_add_option(&words, "--to-revision", o->to_revision);
	texts_add_option(&words, "--history", o->history);
	texts_add_all(&words, &base->find);
	texts_add_all(&words, &base->decrypt);
	code = worker_run(&words, line, userdata, ret_made);
	texts_fini(&words);
	return code;
}

/* --- for people --- */

static void print_fetched(FILE *out, const json_t *fetched)
{
	const json_t *keys = json_object_get(fetched, "keys");

	if (!json_is_object(fetched))
		return;
	table_line(out, "fetched   the record of %s: %lld segments, %lld bytes",
	           field_string(fetched, "node"), field_integer(fetched, "segments"),
	           field_integer(fetched, "bytes"));
	for (size_t i = 0; i < json_array_size(keys); i++) {
		const char *key = json_string_value(json_array_get(keys, i));

		table_line(out, "signed    by %s", key != NULL ? key : "?");
	}
	if (field_string(fetched, "passed")[0] != '\0')
		table_line(out, "passed    another record was passed over: %s",
		           field_string(fetched, "passed"));
}

static void print_record(FILE *out, const json_t *made)
{
	const json_t *record = json_object_get(made, "record");

	if (!json_is_object(record)) {
		(void) fputs("record    none was needed\n", out);
		return;
	}
	(void) fprintf(out, "record    %lld changes behind that; it reaches to revision %lld, %s\n",
	               field_integer(made, "events"), field_integer(record, "last"),
	               field_string(record, "until"));
	(void) fprintf(out, "agreed    with %lld of what is in both, %lld HashKV of members\n",
	               field_integer(made, "same_events"), field_integer(made, "hashes_agreed"));
}

/* "revisions 12 to 90, 2026-11-21T20:30:00Z to ..., recorded in FILE" */
static void print_history(FILE *out, const json_t *history)
{
	const char *segment = field_string(history, "segment"), *base = field_string(history, "base");

	(void) fprintf(out, "revisions %lld to %lld, %s to %s, ", field_integer(history, "first"),
	               field_integer(history, "last"), field_string(history, "from"),
	               field_string(history, "until"));
	if (segment[0] != '\0')
		(void) fprintf(out, "recorded from %s on", segment);
	else
		table_print_safe(out, base);
	if (json_is_null(json_object_get(history, "base")))
		(void) fputs("; there is no snapshot to begin with", out);
}

void restorerebuild_print_histories(FILE *out, const json_t *histories)
{
	const json_t *history;
	size_t i;

	json_array_foreach(histories, i, history)
	{
		(void) fprintf(out, "history   %lld: ", field_integer(history, "history"));
		print_history(out, history);
		(void) fputc('\n', out);
	}
}

void restorerebuild_print(FILE *out, const json_t *made)
{
	const json_t *base = json_object_get(made, "base");
	long long n_unknown = field_integer(made, "unknown_leases");

	(void) fprintf(out, "rebuilt   revision %lld", field_integer(made, "revision"));
	if (field_string(made, "time")[0] != '\0')
		(void) fprintf(out, ", of %s", field_string(made, "time"));
	table_line(out, ", in %s, which stays", field_string(made, "file"));
	table_line(out, "base      %s, revision %lld", field_string(base, "origin"),
	           field_integer(base, "revision"));
	print_fetched(out, json_object_get(made, "fetched"));
	print_record(out, made);
	(void) fprintf(out, "history   %lld of %lld that have it: ",
	               field_integer(json_object_get(made, "history"), "history"),
	               field_integer(made, "histories"));
	print_history(out, json_object_get(made, "history"));
	(void) fputc('\n', out);
	if (n_unknown > 0)
		(void) fprintf(out,
		               "leases    %lld are not known: keys on them stay until they are deleted\n",
		               n_unknown);
}
