/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The options of a command that reads a snapshot: what finds it and decrypts it. */

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
