/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * All clients of the daemon: one a link and family, as the configuration wants them on the links
 * that there are. A link that is not there, or not up, has its client as soon as it is. While a
 * change is under way, those of the configuration before it go on.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "netconf/config/resolve.h"
#include "netconf/dhcp/dhcpclient.h"
#include "netconf/dhcp/lease.h"
#include "netconf/kernel/kernel.h"
#include "netconf/owned/owned.h"
#include "netconf/plan/plan.h"

struct dhcpclients;

/* The settings are copied. `changed` is called when any lease is another, or ends
 * elsewhen; from the loop. */
struct dhcpclients *dhcpclients_new(struct loop *loop, const struct dhcpclient_settings *settings,
                                    dhcpclient_changed_fn changed, void *userdata);
/* The leases stay where they are: dhcpclient_free(). */
void dhcpclients_free(struct dhcpclients *clients);
DEFINE_AUTO(struct dhcpclients, dhcpclients_free);

/* From now on these are wanted, on the network `have`, but for those on links that are disputed,
 * which stay as they are; what an earlier process was leased there goes on, too. What has a client
 * already keeps it, unless it would be told something else now. What cannot be had is logged, and
 * tried again the next time. */
void dhcpclients_want(struct dhcpclients *clients, const struct resolution *resolution,
                      const struct model *have);
/* Whether all of these are wanted already, just so. */
bool dhcpclients_have(const struct dhcpclients *clients, const struct resolution *resolution,
                      const struct model *have);
/* None are. */
void dhcpclients_want_none(struct dhcpclients *clients);
/* Forgets those that are not wanted, also what an earlier process left behind of such. */
void dhcpclients_forget_others(struct dhcpclients *clients);

/*
 * Whether a first lease is still worth waiting for: of a wanted client that has had less than
 * DHCPCLIENTS_WAIT_US since it was first wanted, and whose link has a carrier or has had less than
 * DHCPCLIENTS_CARRIER_US to get one. Where both families are wanted, IPv4 counts.
 */
#define DHCPCLIENTS_WAIT_US INT64_C(30000000)
#define DHCPCLIENTS_CARRIER_US INT64_C(10000000)
bool dhcpclients_wait(const struct dhcpclients *clients, struct kernel *kernel);

struct dhcpclients_info {
	const char *link; /* borrowed, like the lease, until the next call from the loop */
	sa_family_t family;
	bool is_running;
	const struct lease *lease; /* NULL: none */
};
size_t dhcpclients_count(const struct dhcpclients *clients);
void dhcpclients_get(const struct dhcpclients *clients, size_t i, struct dhcpclients_info *ret);

/*
 * Until when addresses are leased, written to the kernel, which would let them end else. Whatever
 * else is the matter (a change that is half undone, a configuration that is ambiguous): nothing but
 * the time of an address that is ours, there, and of the lease is touched, so that there is nothing
 * to decide and nothing to undo.
 */

/* Adds what there is to do for the lease of this link at now_us (CLOCK_BOOTTIME). Pure. */
void renew_plan(struct plan *plan, const struct model *have, const char *link,
                const struct lease *lease, int64_t now_us);
/* For all leases that the clients have; what could not be done is logged. owned: what is ours
 * without a mark; or NULL. */
void renew(struct kernel *kernel, const struct owned *owned, const struct dhcpclients *clients);
