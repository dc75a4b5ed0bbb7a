/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A change of the network from its begin to its end, in the daemon: the one place that writes its
 * phase (phase.h), to memory and to the disk. What is needed before the first write to the kernel
 * is begin.h's.
 */

#include <ev.h>
#include <jansson.h>

#include "base/cleanup.h"
#include "netconf/change/beside.h"
#include "netconf/change/checkpoint.h"
#include "netconf/config/config.h"
#include "netconf/dhcp/dhcpclients.h"
#include "netconf/kernel/kernel.h"
#include "netconf/change/statedir.h"
#include "netconf/probe/probe.h"

struct transaction;

struct transaction_host {
	struct ev_loop *ev;
	struct kernel *kernel;
	struct ledger *ledger;
	struct dhcpclients *clients;
	const char *program;     /* netconf itself */
	const char *runtime_dir; /* where leases are */
	const char *state_dir;
	/* The guard watches a new change: now is the last moment to answer whoever asked for it. The
	 * first write to the kernel comes a moment after this returns. */
	void (*ready)(void *userdata);
	/* It is over, its files are gone, and the handle is gone. config: the one that is confirmed
	 * now, which is the host's to free; NULL: it is as it was. */
	void (*over)(struct config *config, void *userdata);
	void *userdata;
};

/* What begins a change. All is the transaction's from then on. */
struct transaction_parts {
	struct config *config;
	char *text; /* of the configuration */
	struct model *before;
	struct plan *plan;
	struct beside *beside;
	struct probes *probes; /* that have learnt; of that configuration */
	int64_t confirm_us;
	const char *management; /* link, or "" */
};

/* Writes the checkpoint, then starts a guard. 0 or -errno, and nothing was begun; the parts are
 * freed in either case. */
int transaction_begin(const struct transaction_host *host, struct transaction_parts *parts,
                      struct transaction **ret_transaction);
/* One that another process has left: it may still be confirmed, or is undone from here on. */
struct transaction *transaction_resume(const struct transaction_host *host,
                                       const struct checkpoint_state *state);
/* Leaves it as it is, to its guard. */
void transaction_free(struct transaction *transaction);
DEFINE_AUTO(struct transaction, transaction_free);

/* -EINVAL: not in this phase; or -errno: it could not be written down, and it goes on waiting. */
int transaction_confirm(struct transaction *transaction);
int transaction_abandon(struct transaction *transaction, const char *reason);
/* Of one that is half undone: the network stays as it is, and the way back goes. */
int transaction_discard(struct transaction *transaction);

/* A lease is another. */
void transaction_follow(struct transaction *transaction);

const struct checkpoint_state *transaction_state(const struct transaction *transaction);
