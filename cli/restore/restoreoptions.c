/* SPDX-License-Identifier: Apache-2.0 */
/* One table: an option's name, and where its value goes. */
#include "cli/restore/restoreoptions.h"

#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_DATA_DIR "/var/lib/etcd"
#define BUMP_MAX UINT64_C(1000000000000000)
#define FIRST_OPTION 256 /* no letter has this number */

const char restoreoptions_help[] =
    "Usage: fairlead etcd restore [--yes] [OPTION]... SNAPSHOT\n"
    "       fairlead etcd restore --to-revision N | --to-time TIME [OPTION]... [SNAPSHOT]\n"
    "Make this node's etcd anew from a snapshot: a file, an id, 'latest' or s3:TARGET/ID; or as "
    "it\n"
    "was at a revision or a time, by what was recorded behind one.\n\n"
    "Options:\n"
    "      --dry-run               only say what would be done (the default)\n"
    "      --yes                   do it\n"
    "      --data-dir DIR          etcd's data directory; else " DEFAULT_DATA_DIR "\n"
    "      --name NAME             which member this node is; else by its address or host name\n"
    "      --initial-cluster LIST  NAME=PEER-URL,...; else the members of the snapshot\n"
    "      --alone                 a cluster of this member only; others join it later\n"
    "      --token TEXT            the new cluster's, which all nodes need; else a random one\n"
    "      --bump-revision N       raise the revision by N (0: do not); else by 1000000000\n"
    "      --skip-hash-check       it is a database from a data directory, without a digest\n"
    "      --to-revision N         as it was at that revision; 'end': all that was recorded\n"
    "      --to-time TIME          as it was at 2026-11-21T20:30:00Z\n"
    "      --record DIR            where it is recorded; else as etcdwatch is configured\n"
    "      --rebuilt FILE          the snapshot that is made of it, which stays; else\n"
    "                              DATA-DIR.rebuilt.db\n"
    "      --identity FILE         to decrypt it with (age); may be repeated\n"
    "      --sha256 HEX            the SHA-256 that it has to have, without the digest\n"
    "      --tool PATH             etcdutl or etcdctl; else the one of the job's drills, or in\n"
    "                              PATH\n"
    "      --wal-dir DIR           where etcd has its WAL, if not in the data directory\n"
    "      --manifests DIR         of static pods; else /etc/kubernetes/manifests\n"
    "      --directory DIR         where the snapshots are; else as etcdwatch is configured\n"
    "      --job NAME              which of the jobs, if there are several\n"
    "      --config PATH           of etcdwatch; else the default places\n"
    "      --endpoint URL, --bucket NAME, --s3-prefix TEXT, --region NAME, --virtual-host,\n"
    "      --ca-file FILE, --access-key-file FILE, --secret-key-file FILE,\n"
    "      --session-token-file FILE\n"
    "                              an S3 store that etcdwatch is not configured for\n"
    "  -o, --output FORMAT         table (the default) or json\n";

enum kind {
	KIND_TEXT, /* const char * */
	KIND_FLAG, /* bool */
	KIND_LIST, /* struct texts */
	KIND_S3,   /* to the worker as it is */
	KIND_S3_FLAG,
	KIND_BUMP,
	KIND_NOTHING,
};

#define AT(member) offsetof(struct restoreoptions, member)
static const struct {
	const char *name;
	enum kind kind;
	size_t offset;
} table[] = {
    {"dry-run", KIND_NOTHING, 0},
    {"yes", KIND_FLAG, AT(yes)},
    {"data-dir", KIND_TEXT, AT(wish.data_dir)},
    {"name", KIND_TEXT, AT(wish.name)},
    {"initial-cluster", KIND_TEXT, AT(wish.initial_cluster)},
    {"alone", KIND_FLAG, AT(wish.alone)},
    {"token", KIND_TEXT, AT(wish.token)},
    {"bump-revision", KIND_BUMP, 0},
    {"skip-hash-check", KIND_FLAG, AT(skip_hash_check)},
    {"to-revision", KIND_TEXT, AT(to_revision)},
    {"to-time", KIND_TEXT, AT(to_time)},
    {"record", KIND_TEXT, AT(record)},
    {"rebuilt", KIND_TEXT, AT(rebuilt)},
    {"identity", KIND_LIST, AT(identities)},
    {"sha256", KIND_TEXT, AT(sha256)},
    {"tool", KIND_TEXT, AT(tool)},
    {"wal-dir", KIND_TEXT, AT(wish.wal_dir)},
    {"manifests", KIND_TEXT, AT(manifests)},
    {"directory", KIND_TEXT, AT(directory)},
    {"job", KIND_TEXT, AT(job)},
    {"config", KIND_TEXT, AT(config)},
    {"s3-prefix", KIND_TEXT, AT(s3_prefix)},
    {"endpoint", KIND_S3, 0},
    {"bucket", KIND_S3, 0},
    {"region", KIND_S3, 0},
    {"virtual-host", KIND_S3_FLAG, 0},
    {"ca-file", KIND_S3, 0},
    {"access-key-file", KIND_S3, 0},
    {"secret-key-file", KIND_S3, 0},
    {"session-token-file", KIND_S3, 0},
};

void restoreoptions_fini(struct restoreoptions *options)
{
	texts_fini(&options->identities);
	texts_fini(&options->s3);
}

static bool takes_value(enum kind kind)
{
	return kind != KIND_FLAG && kind != KIND_S3_FLAG && kind != KIND_NOTHING;
}

static int set_bump(struct restoreoptions *o, const char *word)
{
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(word, &end, 10);
	if (errno != 0 || word[0] < '0' || word[0] > '9' || *end != '\0' || number > BUMP_MAX) {
		(void) fprintf(stderr, "fairlead: --bump-revision: no number: '%s'\n", word);
		return CLI_USAGE;
	}
	o->wish.bump_is_given = true;
	o->wish.bump_revision = number;
	return CLI_OK;
}

static int set(struct restoreoptions *o, size_t i, const char *value)
{
	char *slot = (char *) o + table[i].offset;

	switch (table[i].kind) {
	case KIND_TEXT:
		*(const char **) (void *) slot = value;
		break;
	case KIND_FLAG:
		*(bool *) slot = true;
		break;
	case KIND_LIST:
		texts_add((struct texts *) (void *) slot, "%s", value);
		break;
	case KIND_S3:
	case KIND_S3_FLAG:
		texts_add(&o->s3, "--%s", table[i].name);
		if (table[i].kind == KIND_S3)
			texts_add(&o->s3, "%s", value);
		break;
	case KIND_BUMP:
		return set_bump(o, value);
	case KIND_NOTHING:
		break;
	}
	return CLI_OK;
}

static void make_table(struct option *options)
{
	size_t n = ARRAY_SIZE(table);

	for (size_t i = 0; i < n; i++)
		options[i] =
		    (struct option){.name = table[i].name,
		                    .has_arg = takes_value(table[i].kind) ? required_argument : no_argument,
		                    .val = FIRST_OPTION + (int) i};
	options[n] = (struct option){"output", required_argument, NULL, 'o'};
	options[n + 1] = (struct option){"help", no_argument, NULL, 'h'};
	options[n + 2] = (struct option){0};
}

static int parse_options(int argc, char **argv, struct cli *cli, struct restoreoptions *o,
                         bool *ret_help)
{
	static char name[] = "fairlead"; /* begins what getopt says */
	struct option options[ARRAY_SIZE(table) + 3];
	int c, code = CLI_OK;

	make_table(options);
	argv[0] = name;
	optind = 0; /* anew */
	while (code == CLI_OK && (c = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
		if (c == 'h')
			*ret_help = true;
		else if (c == 'o')
			code = cli_set_output(cli, optarg, false);
		else if (c >= FIRST_OPTION)
			code = set(o, (size_t) (c - FIRST_OPTION), optarg);
		else
			code = CLI_USAGE;
	}
	return code;
}

int restoreoptions_parse(int argc, char **argv, struct cli *cli, struct restoreoptions *ret,
                         bool *ret_help)
{
	struct restoreoptions o = {.wish = {.data_dir = DEFAULT_DATA_DIR}};
	int code = parse_options(argc, argv, cli, &o, ret_help);

	*ret = o;
	if (code != CLI_OK || *ret_help)
		return code;
	/* Then the one that fits best is meant. */
	if (optind == argc && (o.to_revision != NULL || o.to_time != NULL)) {
		ret->source = "latest";
		return CLI_OK;
	}
	if (optind + 1 != argc) {
		(void) fputs("fairlead: name one snapshot: a file, an id, 'latest', or s3:TARGET/ID\n",
		             stderr);
		return CLI_USAGE;
	}
	ret->source = argv[optind];
	return CLI_OK;
}
