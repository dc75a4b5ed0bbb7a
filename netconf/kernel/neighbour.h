/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whether a neighbour answers on a link, by ARP or neighbour discovery, which the kernel does
 * itself when it is asked to (RTM_NEWNEIGH, rtnetlink(7)): no raw socket, and what it knows is
 * asked anew, not believed.
 */

#include "base/addr.h"
#include "base/cleanup.h"

struct neighbours;

enum neighbour_state {
	NEIGHBOUR_ASKING,
	NEIGHBOUR_ANSWERS,
	NEIGHBOUR_SILENT,
};

int neighbours_new(struct neighbours **ret_neighbours);
void neighbours_free(struct neighbours *neighbours);
DEFINE_AUTO(struct neighbours, neighbours_free);

/* Has the kernel ask. 0 or -errno. */
int neighbours_ask(struct neighbours *neighbours, const char *link, const struct addr *addr);
/* How it stands with that. An error is silence. */
enum neighbour_state neighbours_state(struct neighbours *neighbours, const char *link,
                                      const struct addr *addr);
