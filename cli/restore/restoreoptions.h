/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The command line of `fairlead etcd restore`. */

#include <stdbool.h>
#include <stdio.h>

#include "cli/common/cli.h"
#include "cli/common/snapshotsource.h"
#include "cli/common/texts.h"
#include "cli/common/worker.h"
#include "cli/restore/restoreplan.h"

/* Texts are borrowed from argv, but for the lists. */
struct restoreoptions {
	struct snapshotoptions from;  /* first, as its rows are of this struct too */
	struct restoreplan_wish wish; /* without its source */
	bool yes;                     /* and not dry_run */
	bool dry_run;
	const char *tool;
	const char *manifests;
	const char *sha256;
	const char *to_revision; /* NULL: the snapshot as it is (restoreoptions.h) */
	const char *to_time;
	const char *history; /* NULL: not named */
	const char *record;
	const char *rebuilt; /* the file that is made then */
	const char *nodes;   /* NULL: this node alone */
	const char *via;     /* how they are reached; NULL: by ssh */
	struct texts without;
	bool resume;
	bool back;
	const char *unit;      /* that runs etcd, where it is no static pod */
	bool take_over;        /* from a command that works on it, or did */
	bool from_stdin;       /* of a step: the snapshot comes so */
	const char *claim;     /* of a step: JSON (restorestate.h) */
	struct texts replaces; /* of the step that claims: ids */
};

#define RESTOREOPTIONS_MANIFESTS "/etc/kubernetes/manifests"
#define RESTOREOPTIONS_UNIT "etcd.service"

/* argv are the words behind the command's name; 'status' and 'step' are left to the caller. CLI_OK;
 * or CLI_USAGE when it has said what is wrong. In either case *ret is to be ended. */
int restoreoptions_parse(const struct cli *cli, int argc, char **argv, struct restoreoptions *ret);
void restoreoptions_fini(struct restoreoptions *options);

/*
 * The step before a restore to a revision or a time: the worker makes a snapshot of that moment,
 * from one that was taken before and from what was recorded behind it. It is a file from then on,
 * which stays: the other nodes need the same one.
 */

bool restorerebuild_is_wanted(const struct restoreoptions *options);

/* CLI_OK with the worker's last line, whose "file" is the snapshot; or it was said what is wrong.
 */
int restorerebuild_run(const struct restoreoptions *options, const struct snapshotsource *base,
                       worker_line_fn line, void *userdata, json_t **ret_made);

/* For people: the histories of which one must be named. */
void restorerebuild_print_histories(FILE *out, const json_t *histories);

/* For people: what it was made from, and how far the record reaches. */
void restorerebuild_print(FILE *out, const json_t *made);
