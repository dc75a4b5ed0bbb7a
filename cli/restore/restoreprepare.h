/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The first step of a restore of the whole cluster on a node: everything that can fail is done
 * while the old etcd runs. The new data directory is made next to the old one, and the state file
 * says which restore it is of.
 */

#include "cli/restore/restorestate.h"
#include "cli/restore/restoring.h"

/* What a restore is of: nodes with the same text and token belong together. To be freed. */
char *restoreprepare_plan(const char *sha256, uint64_t bump_revision, const char *initial_cluster);

/* The services of this node (restoreservice.h), to be freed; NULL: it was said why not. Looks at
 * the host first. */
json_t *restoreprepare_services(struct restoring *r);

/* Of a node that has not prepared. An exit code. `source` may be NULL: it comes on standard
 * input. */
int restoreprepare_run(struct restoring *r, struct restorestate *state, const char *source);

/* Where the snapshot is kept that comes on standard input; to be freed. */
char *restoreprepare_incoming(const char *data_dir);
