/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Between the list of what is ours and its file. */

#include "netconf/owned/owned.h"

struct owned {
	/* Of objects only what tells them apart, with their links' numbers. A link with the owner
	 * OWNER_OURS is ours; one with OWNER_UNKNOWN only numbers what is on it. */
	struct model *list;
};

/* The link's name with its number; a number is never overwritten by 0, which is any. */
struct link *owned_number(struct owned *owned, const char *name, int ifindex);
