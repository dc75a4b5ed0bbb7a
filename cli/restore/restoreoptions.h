/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The command line of `fairlead etcd restore`. */

#include "cli/cli.h"
#include "cli/common/snapshotoptions.h"
#include "cli/common/texts.h"
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
	const char *to_revision; /* NULL: the snapshot as it is (restorerebuild.h) */
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
	const char *claim;     /* of a step: JSON (restoreclaim.h) */
	struct texts replaces; /* of the step that claims: ids */
};

#define RESTOREOPTIONS_MANIFESTS "/etc/kubernetes/manifests"
#define RESTOREOPTIONS_UNIT "etcd.service"

/* argv are the words behind the command's name; 'status' and 'step' are left to the caller. CLI_OK;
 * or CLI_USAGE when it has said what is wrong. In either case *ret is to be ended. */
int restoreoptions_parse(const struct cli *cli, int argc, char **argv, struct restoreoptions *ret);
void restoreoptions_fini(struct restoreoptions *options);
