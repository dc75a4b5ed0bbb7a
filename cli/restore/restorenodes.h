/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The nodes of a restore of the whole cluster: how each is reached, which member it is, and its
 * state as it said last. Functions that return int return an exit code, and have said what is
 * wrong.
 */

#include <jansson.h>
#include <stdbool.h>

#include "bolt/newcluster.h"
#include "cli/common/cli.h"
#include "cli/common/texts.h"
#include "cli/nodes/remote.h"
#include "cli/restore/restoredecide.h"

struct restorenode {
	char *name;    /* as it is reached */
	size_t member; /* of the cluster; SIZE_MAX: not known yet */
	bool reached;
	enum restore_phase phase; /* in this restore */
	bool did_another;         /* its state is of another restore, which is done */
	json_t *survey;           /* the last answer; NULL: none */
	char *why;                /* it was not reached; NULL */
};

/* Borrowed, but for the nodes. */
struct restorenodes {
	const struct remote *remote;
	const struct newcluster *cluster;
	const char *initial_cluster;
	const char *token;
	const char *plan; /* of this command, as the states have it; NULL: any */
	bool go_back;
	const struct texts *options; /* for each step: where etcd is on a node */
	struct restorenode *nodes;
	size_t n;
	bool excused[RESTORE_NODES_MAX]; /* by member */
};

/*
 * The nodes of --nodes. "all" are the hosts of the members' peer URLs, but for the members of
 * `without`. A name in `without` that is no member is refused.
 */
int restorenodes_init(struct restorenodes *nodes, const struct cli *cli,
                      const struct texts *without);
void restorenodes_fini(struct restorenodes *nodes);

/* Asks all. Refused where two are the same member, one is of another restore or was prepared by
 * another plan, or a member has no node and is not excused. One that is not reached is no error. */
int restorenodes_survey(struct restorenodes *nodes);

struct restoredecide restorenodes_next(const struct restorenodes *nodes, bool go_back);

/* The one that is this member of the plan; NULL: none was named for it. */
const struct restorenode *restorenodes_of(const struct restorenodes *nodes, size_t member);

/* All members that take part. */
uint64_t restorenodes_all(const struct restorenodes *nodes);

/* "cp-1, cp-2", to be freed. */
char *restorenodes_names(const struct restorenodes *nodes, uint64_t who);

/*
 * Runs `fairlead -o json etcd restore step WORDS` on the members of `who`, and says of each that
 * failed why. CLI_OK if all succeeded. `each` may be NULL.
 */
int restorenodes_step(const struct restorenodes *nodes, uint64_t who, const struct texts *words,
                      const char *input, size_t input_len, int64_t timeout_us,
                      remote_answer_fn each, void *userdata);

/* The same, before it is known which members they are. */
int restorenodes_name_all(struct restorenodes *nodes, const struct cli *cli);

/* Runs `restore status` on all. */
void restorenodes_ask_state(const struct restorenodes *nodes, int64_t timeout_us,
                            remote_answer_fn each, void *userdata);

/* Runs any command on those that were reached. */
void restorenodes_ask(const struct restorenodes *nodes, const struct texts *words,
                      int64_t timeout_us, remote_answer_fn each, void *userdata);

/*
 * Waits until the restored members are one cluster: each healthy, of the cluster id of the plan,
 * and at the revision that the furthest of them had when all were first healthy.
 */

struct restorehealth {
	json_t *said; /* by node: what its member answered last */
	int64_t revision;
};

/* An exit code; on failure it has named the node and the reason. */
int restorehealth_wait(const struct restorenodes *nodes, struct restorehealth *health);

/* --- pure --- */

/*
 * One round of answers, NULL where there is none. The first of the members that is not as above,
 * and why (to be freed); `n`: there is none. *revision is 0 until all are healthy, then what each
 * must have.
 */
size_t restorehealth_judge(uint64_t cluster_id, const json_t *const *said, size_t n,
                           int64_t *revision, char **ret_why);
