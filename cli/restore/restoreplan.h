/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a restore of etcd would do, from what is wanted and what was found: which member this node
 * becomes, of which cluster, with which ids; what is said against it, what has to be minded, what
 * has to be done on the other nodes and afterwards. Pure.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bolt/newcluster.h"
#include "cli/common/texts.h"

/* By default all that was seen before lies behind the new revision: 10,000 writes a second for a
 * day. */
#define RESTOREPLAN_BUMP 1000000000

/* All borrowed. */
struct restoreplan_wish {
	const char *data_dir;
	const char *name;            /* NULL: found out */
	const char *initial_cluster; /* NULL: the members of the snapshot */
	bool alone;                  /* of them, this one only */
	bool while_running;          /* it is only prepared: etcd may run on */
	bool of_cluster;             /* for all nodes: which member this one is does not matter */
	const char *token;
	bool token_is_new; /* none was given */
	bool bump_is_given;
	uint64_t bump_revision; /* 0: the revision stays */
	const char *wal_dir;    /* where etcd has its WAL; NULL: in the data directory */
	/* The words that name the snapshot, as every node understands them, and how to read it. */
	const struct texts *source;
	bool source_is_local; /* a file, which the other nodes do not have yet */
};

struct restoreplan_node {
	const struct newcluster_member *member; /* the plan's */
	char *command;
};

struct restoreplan {
	json_t *members;                      /* that the snapshot names, see restoreplan.h */
	struct texts differ;                  /* why it is not certain that these were all */
	struct newcluster *cluster;           /* NULL: none could be made, see `against` */
	char *initial_cluster;                /* its text */
	const struct newcluster_member *self; /* NULL: not known */
	char *peer_urls;                      /* of this one */
	uint64_t bump_revision;               /* 0: none */
	struct texts words;                   /* for `etcdwatch-worker restore run`, behind FILE */
	char *command;                        /* that carries out this plan here */
	struct restoreplan_node *others;
	size_t n_others;
	struct texts against; /* any of them: it cannot be done */
	struct texts mind;
	struct texts then;
};

/*
 * A token that says which plan it is of: "restore-RANDOM-SUM", where SUM is of the snapshot's
 * SHA-256, the bump and the members; to be freed. So a node that is given another snapshot or
 * other members under the same token refuses, though it knows nothing of the other nodes.
 */
char *restoreplan_token(uint64_t random, const char *sha256, const struct restoreplan *plan);

/* Which member this node is, by its addresses, else by its name. NULL: not known, or several. */
const struct newcluster_member *restoreplan_find_self(const struct newcluster *cluster,
                                                      const json_t *host);

/* Adds the worker's options for etcd's tool as `host` found it, so that it is asked for its version
 * once. Nothing where there is no tool. */
void restoreplan_add_tool(const json_t *tool, struct texts *words);

/* `host` and `source` are the last lines of the worker's commands of these names. */
struct restoreplan *restoreplan_make(const struct restoreplan_wish *wish, const json_t *host,
                                     const json_t *source);
void restoreplan_free(struct restoreplan *plan);
DEFINE_AUTO(struct restoreplan, restoreplan_free);
