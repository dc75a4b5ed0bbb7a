/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What an earlier vipd of this boot has left in the kernel, and nobody goes on with: addresses of
 * VIPs that are configured otherwise by now, and links that were made for them.
 */

#include "net/rtnl.h"
#include "vipd/config.h"
#include "vipd/keep.h"

/* IFLA_GROUP of dummies that vipd makes, by which it knows them again; the same number as that of
 * its addresses (FENCE_ADDR_PROTO). */
#define LEFTOVERS_LINK_GROUP 0xf1

/* Removes them, at once, and logs each. To be called while the gates of before still stand: some of
 * the addresses are silent by these alone. Borrows all until it returns. */
void leftovers_sweep(struct rtnl *rtnl, const struct config *config, const struct keep *keep);
