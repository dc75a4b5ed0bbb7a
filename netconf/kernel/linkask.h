/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Questions about one link, for kernel.c: its number, whether frames get through it as far as the
 * kernel knows, and which options its kind has. Blocking.
 */

#include <stdbool.h>
#include <stdint.h>

#include "net/netlink.h"

/* 0, -ENODEV or another -errno. */
int linkask_find(struct netlink *nl, const char *name, int *ret_ifindex, bool *ret_carrier);

/* 1 or 0, or -errno: its carrier, and where LACP has a say (an 802.3ad bond, a port of one), what
 * that has come to. */
int linkask_carries(struct netlink *nl, const char *name);

/*
 * Of these options of bonds (BOND_BIT()s), those that the running kernel does not know. As long as
 * bonds are a module that is not loaded, and for others than root, the kernel does not tell: 0.
 * *ret_is_known says which it is.
 *
 * The kernel passes over an option that it does not know without an error. But what it knows it
 * checks the length of, before it looks whether there is anything to be done. So it is asked to
 * make a link that is there already, with an option that is too short: ERANGE or EINVAL is for the
 * option, EEXIST for the link.
 */
uint64_t linkask_bond_lacks(struct netlink *nl, uint64_t options, bool *ret_is_known);

/* 1: it has that attribute of links of this kind; 0: it has not; -errno: it does not say. For
 * linkask_bond_lacks(), and for tests on kinds that every kernel has. */
int linkask_knows(struct netlink *nl, const char *kind, uint16_t attribute, bool is_nest);
