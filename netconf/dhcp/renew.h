/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Until when addresses are leased, written to the kernel, which would let them end else. Whatever
 * else is the matter (a change that is half undone, a configuration that is ambiguous): nothing but
 * the time of an address that is ours, there, and of the lease is touched, so that there is nothing
 * to decide and nothing to undo.
 */

#include "netconf/dhcp/dhcpclients.h"
#include "netconf/dhcp/lease.h"
#include "netconf/kernel/kernel.h"
#include "netconf/owned/owned.h"
#include "netconf/plan/plan.h"

/* Adds what there is to do for the lease of this link at now_us (CLOCK_BOOTTIME). Pure. */
void renew_plan(struct plan *plan, const struct model *have, const char *link,
                const struct lease *lease, int64_t now_us);
/* For all leases that the clients have; what could not be done is logged. owned: what is ours
 * without a mark; or NULL. */
void renew(struct kernel *kernel, const struct owned *owned, const struct dhcpclients *clients);
