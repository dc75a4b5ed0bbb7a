/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a change does to the network, for its transaction: all of it once, and then, as long as it
 * is not confirmed, what leases change. Every step stands in the checkpoint before it is carried
 * out.
 *
 *	clients on links that are up -> first leases -> all steps -> what is beside -> clients on the
 *	links that were made -> first leases -> what leases change
 *
 * So a lease is there, where it can be, before the address that it replaces goes. A lease that does
 * not come (dhcpclients_wait()) is no failure: whether it is missed the probes tell.
 */

#include <ev.h>

#include "base/cleanup.h"
#include "netconf/change/beside.h"
#include "netconf/change/explain.h"
#include "netconf/change/statedir.h"
#include "netconf/change/settle.h"
#include "netconf/dhcp/dhcpclients.h"

struct apply;

/* All borrowed as long as the handle lives. */
struct apply_host {
	struct ev_loop *ev;
	struct kernel *kernel;
	struct ledger *ledger;
	struct dhcpclients *clients;
	const char *runtime_dir;
	const char *dir; /* the checkpoint */
	const struct config *config;
	const char *management;
	struct plan *plan;     /* all steps so far: more are added */
	struct beside *beside; /* what is beside, planned */
	/* Once, never before the start returns; the handle is gone then. */
	settle_done_fn done;
	void *userdata;
};

/* The first step that is refused ends it. */
struct apply *apply_start(const struct apply_host *host);
/* Only what leases have changed since. */
struct apply *apply_follow(const struct apply_host *host);
/* Stops between two steps. */
void apply_free(struct apply *apply);
DEFINE_AUTO(struct apply, apply_free);
