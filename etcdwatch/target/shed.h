/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Removes from a target what need not be kept there, as the target's retention says over the
 * snapshots of all nodes; or only finds out what would go. It goes by a fresh look at the entries
 * there, the alarms of etcd at that moment, and what the operator has accepted.
 *
 * Of each snapshot the entry goes first and then the snapshot itself, so that no entry ever stands
 * for what is not there. What is to go is written down before (unfinished.h).
 */

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "etcdwatch/store/accepted.h"
#include "etcdwatch/catalog/retain.h"
#include "etcdwatch/cluster/doubt.h"
#include "etcdwatch/cluster/view.h"
#include "etcdwatch/config/config.h"
#include "etcdwatch/target/inventory.h"
#include "etcdwatch/target/unfinished.h"

struct shed;

struct shed_options {
	struct ev_loop *ev;
	struct accepted_of accepted;
	struct unfinished *unfinished;
	const struct config_job *job;
	const struct config_target *target;
	const char *worker;
	const char *node;    /* all of these are borrowed until the end */
	uint64_t cluster_id; /* whose snapshots; 0: those of all clusters */
	const struct doubt *doubt;
	bool only_look;
};

struct shed_result {
	int r; /* 0, or -errno */
	const char *reason;
	const struct inventory *there; /* as it was before; NULL: it could not be looked at */
	const struct prune_plan *plan; /* with it */
	size_t n_removed;
};

/* The handle is gone when this returns; the result is borrowed. */
typedef void (*shed_done_fn)(const struct shed_result *result, void *userdata);

/* 0 or -errno: the worker cannot be started. */
int shed_start(const struct shed_options *options, shed_done_fn done, void *userdata,
               struct shed **ret_shed);
void shed_free(struct shed *shed); /* done is not called; NULL is fine */
DEFINE_AUTO(struct shed, shed_free);
