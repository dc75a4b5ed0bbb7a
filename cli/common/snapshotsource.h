/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The options of a command that reads a snapshot: what finds it and decrypts it.
 *
 * From how the operator names a snapshot to how the worker finds it. "s3:TARGET/ID" is one that a
 * job of etcdwatch copies to that target; "s3:ID" one in the store that the options name; an id or
 * "latest" is looked for in --directory, or in the directory of the job; all else is a file.
 */

#include <stdbool.h>
#include <stddef.h>

#include "cli/common/cli.h"
#include "cli/common/texts.h"

/* Texts are borrowed from argv, but for the lists. */
struct snapshotoptions {
	const char *source; /* how it is named (snapshotsource.h) */
	const char *directory;
	const char *job;
	const char *config;
	const char *s3_prefix;
	bool skip_hash_check;
	bool plain;
	bool any_job; /* not an option: a rebuild may begin with a snapshot of any job */
	struct texts identities;
	struct texts trusted; /* public keys */
	struct texts s3;      /* options of the worker and their values, as they were given */
};

void snapshotoptions_fini(struct snapshotoptions *options);

/* Adds the value to the list at the option's offset; and to `s3`. */
int snapshotoptions_set_list(void *into, const struct cli_option *option, const char *value);
int snapshotoptions_set_s3(void *into, const struct cli_option *option, const char *value);

#define SNAPSHOTOPTIONS_AT(member) .offset = offsetof(struct snapshotoptions, member)
#define SNAPSHOTOPTIONS_TEXT(member) .set = cli_set_text, SNAPSHOTOPTIONS_AT(member)
#define SNAPSHOTOPTIONS_LIST(member) .set = snapshotoptions_set_list, SNAPSHOTOPTIONS_AT(member)
#define SNAPSHOTOPTIONS_S3 .set = snapshotoptions_set_s3
#define SNAPSHOTOPTIONS_FILE .value = "FILE", .completes = CLI_FILES

/* clang-format off */
#define SNAPSHOTOPTIONS_ROWS                                                                       \
	{"identity", SNAPSHOTOPTIONS_FILE, .help = "to decrypt it with (age); may be repeated",        \
	 SNAPSHOTOPTIONS_LIST(identities)},                                                            \
	{"plain", .help = "take the one that is named also where it is not encrypted and\nothers are", \
	 .set = cli_set_flag, SNAPSHOTOPTIONS_AT(plain)},                                              \
	{"trust", .value = "KEY",                                                                      \
	 .help = "a public key that may have signed it, besides trustedKeys; may\nbe repeated",        \
	 SNAPSHOTOPTIONS_LIST(trusted)},                                                               \
	{"directory", .value = "DIR", .completes = CLI_DIRECTORIES,                                    \
	 .help = "where the snapshots are; else as etcdwatch is configured",                           \
	 SNAPSHOTOPTIONS_TEXT(directory)},                                                             \
	{"job", .value = "NAME", .help = "which of the jobs, if there are several",                    \
	 SNAPSHOTOPTIONS_TEXT(job)},                                                                   \
	{"config", .value = "PATH", .help = "of etcdwatch; else the default places",                   \
	 .completes = CLI_FILES, SNAPSHOTOPTIONS_TEXT(config)},                                        \
	{"endpoint", .value = "URL", .help = "of an S3 store that etcdwatch is not configured for",    \
	 SNAPSHOTOPTIONS_S3},                                                                          \
	{"bucket", .value = "NAME", .help = "in it", SNAPSHOTOPTIONS_S3},                              \
	{"s3-prefix", .value = "TEXT", .help = "what the names of its objects begin with",             \
	 SNAPSHOTOPTIONS_TEXT(s3_prefix)},                                                             \
	{"region", .value = "NAME", .help = "of it", SNAPSHOTOPTIONS_S3},                              \
	{"virtual-host", .help = "the bucket is a part of the host's name", SNAPSHOTOPTIONS_S3},       \
	{"ca-file", SNAPSHOTOPTIONS_FILE, .help = "which signs its certificate", SNAPSHOTOPTIONS_S3},  \
	{"access-key-file", SNAPSHOTOPTIONS_FILE,                                                      \
	 .help = "its keys; else they are in $AWS_ACCESS_KEY_ID,", SNAPSHOTOPTIONS_S3},                \
	{"secret-key-file", SNAPSHOTOPTIONS_FILE,                                                      \
	 .help = "$AWS_SECRET_ACCESS_KEY and $AWS_SESSION_TOKEN", SNAPSHOTOPTIONS_S3},                 \
	{"session-token-file", SNAPSHOTOPTIONS_FILE, .help = "where they are lent for a while",        \
	 SNAPSHOTOPTIONS_S3},                                                                          \
	{"credentials", .value = "JSON", .help = "the source of temporary keys, as JSON",              \
	 SNAPSHOTOPTIONS_S3},                                                                          \
	{"proxy", .value = "URL", .help = "by which it is reached", SNAPSHOTOPTIONS_S3},               \
	{"customer-key-file", SNAPSHOTOPTIONS_FILE, .help = "that the store encrypts with",            \
	 SNAPSHOTOPTIONS_S3}
/* clang-format on */

/* Where else a job has snapshots. */
struct snapshotsource_place {
	char *name;         /* "s3:TARGET/"; "" is the directory */
	struct texts words; /* options for the worker */
};

struct snapshotsource {
	char *name;           /* for the worker: a path, an id, "latest" */
	char *target;         /* in S3, as it was named, with its slash; NULL: a local one; "": s3:ID */
	struct texts find;    /* options for the worker, to find it by */
	struct texts decrypt; /* and to read it by */
	char *job;            /* of the configuration; NULL: none */
	char *tool;           /* that the job's drills restore with; NULL: it names none */
	char *record;         /* the directory where changes are recorded; NULL: not known */
	struct texts everywhere; /* options for the worker in each of the other places */
	struct snapshotsource_place *places;
	size_t n_places;
	bool has_record; /* by the configuration, the target has the record as well */
};

/* Whether the name means one in S3. */
bool snapshotsource_is_s3(const char *name);

/* CLI_OK; or it has said what is wrong. */
int snapshotsource_find(const struct snapshotoptions *options, struct snapshotsource *ret);
void snapshotsource_fini(struct snapshotsource *source);

/* The words that mean the very snapshot that was found, on any node. `found` is the worker's. */
void snapshotsource_words(const struct snapshotsource *source,
                          const struct snapshotoptions *options, const json_t *found,
                          struct texts *ret_words);
