/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The command line of `fairlead etcd restore`. */

#include "cli/cli.h"
#include "cli/restore/restoreplan.h"
#include "cli/common/texts.h"

extern const char restoreoptions_help[];

/* Texts are borrowed from argv, but for the lists. */
struct restoreoptions {
	const char *source;
	struct restoreplan_wish wish; /* without its source */
	bool yes;
	const char *tool;
	const char *manifests;
	const char *directory;
	const char *job;
	const char *config;
	const char *sha256;
	const char *s3_prefix;
	bool skip_hash_check;
	const char *to_revision; /* NULL: the snapshot as it is (restorerebuild.h) */
	const char *to_time;
	const char *record;
	const char *rebuilt; /* the file that is made then */
	struct texts identities;
	struct texts s3; /* options of the worker and their values, as they were given */
};

/* `argv[0]` is the command's last word. CLI_OK; or CLI_USAGE when it has said what is wrong. -h
 * sets *ret_help. */
int restoreoptions_parse(int argc, char **argv, struct cli *cli, struct restoreoptions *ret,
                         bool *ret_help);
void restoreoptions_fini(struct restoreoptions *options);
