/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The first step of a restore of the whole cluster on a node: everything that can fail is done
 * while the old etcd runs. The new data directory is made next to the old one, and the state file
 * says which restore it is of.
 */

#include <jansson.h>

#include "bolt/newcluster.h"
#include "cli/common/texts.h"
#include "cli/restore/restorestate.h"
#include "cli/restore/restoring.h"

/*
 * Whether a restore of the whole cluster stops the present cluster. The plan is of the snapshot's
 * members, and members may have joined since: those that are not stopped would go on as a second
 * cluster. Pure.
 */

/*
 * `present` are the members that etcd lists now, or those of the node's data directory, as `health
 * --list` and `restore host` have them; null: neither could be read, and nothing is checked.
 * Members are compared by peer URLs; `without` are names of the plan's members. Adds a text to
 * ret_against for each member that is not in the plan, and one where the members that take part are
 * not more than half of the present ones. Learners count, as the database may not know of a
 * promotion (restoreplan.h).
 */
void restorepresent_check(const json_t *present, const struct newcluster *cluster,
                          const struct texts *without, struct texts *ret_against);

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
