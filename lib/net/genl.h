/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Generic netlink: families of messages that the kernel numbers as they come. Blocking, by
 * netlink_call() over a socket of NETLINK_GENERIC. Source: linux/genetlink.h.
 */

#include <linux/genetlink.h>
#include <stdint.h>

#include "net/attr.h"
#include "net/netlink.h"

/* The number of a family by its name. -ENOENT: the kernel has none; or another -errno. */
int genl_find_family(struct netlink *nl, const char *name, uint16_t *ret_family);

/* A request with an acknowledgement. */
void genl_begin(struct message *m, uint16_t family, uint8_t command, uint8_t version);
