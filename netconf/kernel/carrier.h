/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whether frames get through a link, as far as the kernel knows; for kernel.c. Blocking.
 */

#include "net/netlink.h"

/* 1 or 0, or -errno: its carrier, and where LACP has a say (an 802.3ad bond, a port of one), what
 * that has come to. */
int carrier_is_of_use(struct netlink *nl, const char *link);
