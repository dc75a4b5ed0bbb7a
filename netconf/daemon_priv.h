/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the daemon*.c files share: daemon_keep.c is about what is confirmed, daemon_change.c about
 * the one change, and daemon.c puts both beside what was found. Nobody else includes this.
 */

#include "netconf/change/transaction.h"
#include "netconf/commands.h"
#include "netconf/daemon.h"

struct daemon {
	struct loop *loop;
	const struct daemon_start *start;
	struct kernel *kernel;
	struct commands *commands;
	struct left *left;
	bool will_ask_for_leases;
	struct begin *begin;
	struct transaction *transaction;
	struct config *config; /* that is confirmed; NULL: none */
	bool only_leases;      /* of it: something is in the way */
	struct dhcpclients *clients;
	struct drift *drift;
	ev_timer ready; /* what is still waited for */
	int64_t started_us;
	struct ledger *ledger; /* NULL: nothing was kept yet */
	struct statedir_outcome last;
	/* Whoever asked for the change that begins. */
	daemon_told_fn told;
	void *told_userdata;
	json_t *lines; /* of its answer */
};

/* --- daemon.c --- */

struct ev_loop *daemon_ev(const struct daemon *daemon);

/* --- daemon_keep.c --- */

/* Into `config`, which is NULL; what cannot be read is logged, and it stays so. */
void daemon_load_confirmed(struct daemon *daemon);
/* From now on the network is to stay as it was confirmed. */
void daemon_keep(struct daemon *daemon);
/* Something is in the way, and nobody else is at work: of what was confirmed only the leases. */
void daemon_keep_leases(struct daemon *daemon);
/* No longer any of it, and the configuration is forgotten. */
void daemon_stop_keeping(struct daemon *daemon);
/* While a change that another began is under way: what was confirmed before it. */
void daemon_renew_leases(struct daemon *daemon);
/* What has just been confirmed, in the ledger. */
void daemon_adopt(struct daemon *daemon);

/* --- daemon_change.c --- */

/* A change that another process has left; none is under way. */
void daemon_resume(struct daemon *daemon, const struct checkpoint_state *state);
