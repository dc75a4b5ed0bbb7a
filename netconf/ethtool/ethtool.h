/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The drivers' side of links: observe one, carry a step out. Blocking calls in the network
 * namespace in which it was made; needs CAP_NET_ADMIN.
 *
 *	ethtool_observe(link, state) -> ethplan_add(plan) -> ethtool_carry_out(step) -> observe again
 */

#include "base/cleanup.h"
#include "netconf/ethtool/ethplan.h"

struct ethtool;

/* 0 or -errno; -ENOENT: the kernel has no ethtool over netlink (before 5.6). */
int ethtool_new(struct ethtool **ret_ethtool);
void ethtool_free(struct ethtool *ethtool);
DEFINE_AUTO(struct ethtool, ethtool_free);

/* What a driver does not have is left out. 0; -ENODEV: there is no such link; or another -errno. */
int ethtool_observe(struct ethtool *ethtool, const char *link, struct ethstate *ret_state);

/* 0 or -errno, and ethtool_error_text() has the kernel's own sentence. 0 does not prove that it is
 * so: a driver rounds, and features depend on each other; observe again. */
int ethtool_carry_out(struct ethtool *ethtool, const struct ethstep *step);
const char *ethtool_error_text(const struct ethtool *ethtool);
