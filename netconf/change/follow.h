/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Leases have changed: addresses and routes on the links that have DHCP become what the
 * configuration and the leases of this moment want, whatever that costs, since what a server has
 * given to another is not ours any more; then the host's name and resolvers, as far as the
 * configuration leaves them to leases. Nothing else is touched.
 */

#include <ev.h>

#include "base/cleanup.h"
#include "netconf/change/statedir.h"
#include "netconf/change/look.h"
#include "netconf/change/settle.h"

struct follow;

/* All borrowed as long as the handle lives. */
struct follow_host {
	struct ev_loop *ev;
	struct kernel *kernel;
	struct ledger *ledger;
	const char *runtime_dir;
	const struct config *config;
	/* These are the next steps, on what there is: the last moment to write them down. 0, or -errno
	 * to stop. */
	int (*will)(const struct plan *plan, const struct model *have, void *userdata);
	/* The network is so; now the host. 0, or -errno with a sentence that the caller frees. */
	int (*beside)(const struct look *look, char **ret_error, void *userdata);
	/* Once, never before follow_start() returns; the handle is gone then. */
	settle_done_fn done;
	void *userdata;
};

struct follow *follow_start(const struct follow_host *host);
/* For the log: what could not be done. What was done is told anyhow. */
void follow_tell(const struct settle_result *result);
void follow_free(struct follow *follow);
DEFINE_AUTO(struct follow, follow_free);
