/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From how the operator names a snapshot to how the worker finds it. "s3:TARGET/ID" is one that a
 * job of etcdwatch copies to that target; "s3:ID" one in the store that the options name; an id or
 * "latest" is looked for in --directory, or in the directory of the job; all else is a file.
 */

#include "cli/common/snapshotoptions.h"

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
