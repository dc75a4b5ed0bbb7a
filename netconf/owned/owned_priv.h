/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Between the list of what is ours and its file. */

#include "netconf/owned/owned.h"

struct owned {
	/* Of objects only what tells them apart, with their links' numbers. A link with the owner
	 * OWNER_OURS is ours; one with OWNER_UNKNOWN only numbers what is on it. Addresses are in the
	 * order of their keys and protocols. */
	struct model *list;
	char *saved; /* what the file has; NULL: not known */
};

/* Addresses can be found from then on. After any was added. */
void owned_sort(struct owned *owned);

/* The link's name with its number; a number is never overwritten by 0, which is any. */
struct link *owned_number(struct owned *owned, const char *name, int ifindex);
