/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whether another host has an IPv4 address that this one is about to have, asked by ARP probes
 * (RFC 5227, 2.1.1): these name no sender's address, so that whoever hears one learns nothing
 * wrong. All addresses on all links at once, by one packet socket, within a second.
 */

#include <ev.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "netconf/model/model.h"

struct arpask;

/* have: the network as it is; what its own links answer is no other host's. Needs CAP_NET_RAW. 0 or
 * -errno. */
int arpask_new(struct ev_loop *ev, const struct model *have, struct arpask **ret_ask);
void arpask_free(struct arpask *ask);
DEFINE_AUTO(struct arpask, arpask_free);

/* The link is up and nobody can be asked on it yet: it has no carrier. False also of those that
 * have no neighbours by their kind (a dummy, WireGuard). */
bool arpask_has_to_wait(const struct arpask *ask, const char *link);
/* Nothing where there is nobody to ask. where: what stands before the sentence, "FILE:LINE" or "";
 * copied. */
void arpask_add(struct arpask *ask, const char *link, const struct addr *addr, const char *where);

/* holder says in a sentence who has which of them; NULL: nobody has answered. Borrowed. */
typedef void (*arpask_done_fn)(const char *holder, void *userdata);
/* `done` is called once, never before this returns, and the handle is gone then. */
void arpask_start(struct arpask *ask, arpask_done_fn done, void *userdata);
