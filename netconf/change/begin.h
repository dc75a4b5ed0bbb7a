/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * All that comes before a change: the configuration is read, what it wants is planned and may be
 * refused, and what works now is tried. Nothing is written to the kernel, nor to the state
 * directory.
 */

#include <ev.h>

#include <stdbool.h>

#include "base/cleanup.h"
#include "netconf/change/transaction.h"

struct begin;

struct begin_request {
	const char *const *paths; /* of the configuration; none: the default places */
	size_t n_paths;
	int64_t confirm_us;        /* how long the operator has; 0: what the configuration says */
	const struct owned *owned; /* what is ours without a mark */
	const char *runtime_dir;   /* where leases are */
	const struct dhcpclients *clients;
	const char *probe_program; /* netconf-probe; absolute */
	struct addr operator_addr; /* the address of ours that the operator's connection uses */
	bool even_without_quorum;  /* nobody asks whether etcd can do without this node */
};

struct begin_result {
	int r; /* 0, or why not: `reason` */
	const char *reason;
	/* What is to be done. To be taken; what is left is freed. */
	struct transaction_parts *parts;
	bool is_nothing; /* no step, and no lease to ask for: it is so already */
	json_t *lines;   /* steps and what waits, for whoever asked; borrowed */
};

typedef void (*begin_done_fn)(const struct begin_result *result, void *userdata);

/* `done` is called once, never before this returns, and the handle is gone then. */
struct begin *begin_start(struct ev_loop *ev, struct kernel *kernel,
                          const struct begin_request *request, begin_done_fn done, void *userdata);
void begin_free(struct begin *begin);
DEFINE_AUTO(struct begin, begin_free);
