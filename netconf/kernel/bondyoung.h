/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which options of bonds the running kernel does not know. It says so nowhere: one that it does not
 * know it passes over without an error, so that only reading back would tell. But what it knows it
 * checks the length of, before it looks whether there is anything to be done. So it is asked to
 * make a link that is there already, with an option that is too short: ERANGE or EINVAL is for the
 * option, EEXIST for the link. Nothing is ever written (__rtnl_newlink() in net/core/rtnetlink.c,
 * tried on 6.18).
 */

#include <stdbool.h>
#include <stdint.h>

#include "net/netlink.h"

/* Of these options (BOND_BIT()s), those that it does not have. As long as bonds are a module that
 * is not loaded, and for others than root, nobody knows: 0. *ret_is_known says which it is. */
uint64_t bondyoung_lacking(struct netlink *nl, uint64_t options, bool *ret_is_known);

/* 1: it has that attribute of links of this kind; 0: it has not; -errno: it does not say. For
 * bondyoung_lacking(), and for tests on kinds that every kernel has. */
int bondyoung_ask(struct netlink *nl, const char *kind, uint16_t attribute, bool is_nest);
