/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The messages of the generic netlink family "ethtool", both ways. Pure. Sources:
 * linux/ethtool_netlink.h and the kernel's Documentation/networking/ethtool-netlink.rst.
 */

#include "net/attr.h"
#include "netconf/ethtool/ethplan.h"

/* Asks for one section of a link. */
void ethcode_get(uint16_t family, enum ethstep_section section, const char *link,
                 struct message *ret_message);
/* Takes the answer into the state. */
void ethcode_take(const struct nlmsghdr *nlh, enum ethstep_section section, struct ethstate *state);
/* One step; -EMSGSIZE: it is too long. */
int ethcode_set(uint16_t family, const struct ethstep *step, struct message *ret_message);
