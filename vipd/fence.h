/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The kernel's side of one VIP: the address on its link, and the two things that take it away by
 * themselves when a confirmation is not followed by another: the nftables gate and the address
 * lifetime (timing.h says which carries the promise). The third fence, the process's own timer, is
 * election.c's.
 *
 * Every call returns when the kernel has done it. Rules that hold a resumed process back:
 * - the address is added with CREATE | EXCL, and while the gate is shut;
 * - the gate is opened until a deadline, and by a transaction that the kernel refuses when this
 * process was held up between reading the clock and sending it (nftgate_open_until());
 * - the clock is read again after the kernel's ack; when the deadline has passed, the address is
 * taken off at once;
 * - nothing is queued and nothing is tried again later.
 */

#include <stdint.h>

#include "base/addr.h"
#include "base/cleanup.h"
#include "net/nftgate.h"
#include "net/rtnl.h"
#include "vipd/timing.h"

/* IFA_PROTO of our addresses, so that leftovers are recognised. Numbers below 4 are the kernel's
 * own (linux/if_addr.h); this one is used by nobody known. */
#define FENCE_ADDR_PROTO 0xf1

struct fence;

/* gate may be NULL: the lifetime alone. rtnl and gate are borrowed until fence_free(), which leaves
 * the address and the gate as they are. */
struct fence *fence_new(struct rtnl *rtnl, struct nftgate *gate, const struct addr *vip);
void fence_free(struct fence *fence);
DEFINE_AUTO(struct fence, fence_free);

/* A gate that could not be made when this was. Only while the address is off. */
void fence_set_gate(struct fence *fence, struct nftgate *gate);

enum fence_kind fence_kind(const struct fence *fence);

/* For an address that a routing daemon shall find and export. Only before the first fence_hold().
 */
void fence_set_routed(struct fence *fence);

/* Which link the address belongs on; 0 while there is none. An address that is held on another one
 * is dropped; if the kernel refuses that, the next fence_drop() tries again and says so. */
void fence_set_link(struct fence *fence, int ifindex);

/* Puts the address under the gate's guard: silent on every link of this node unless it is held.
 * Nothing to do without a gate. 0 or -errno. */
int fence_arm(struct fence *fence);

/* fence_hold(): it could not be renewed, and nothing was changed: it is held until the deadline of
 * the call before. */
#define FENCE_KEPT 1

/* Adds the address or renews it. 0; FENCE_KEPT; -ETIME when too little time is left; -ENODEV
 * without a link; else what the kernel said. On any error the address is taken off again
 * (fence_is_off() knows whether that worked). */
int fence_hold(struct fence *fence, int64_t deadline_us);

/* Shuts the gate and leaves the address: what must still be sent from it (resets) can go. */
int fence_silence(struct fence *fence);

/* Shuts the gate and deletes the address, wherever it is. 0 also if it was not there; on an error
 * it may still be. */
int fence_drop(struct fence *fence);

/* Does the kernel show our address on the link? */
bool fence_is_held(struct fence *fence);

/* The same for a restarted process, which goes on with the deadline that the one before had set.
 * False also where the one before was configured otherwise (fence_set_routed()). */
bool fence_adopt(struct fence *fence, int64_t deadline_us);

/* Is the address certainly off? False where the kernel refused to remove it and still shows it:
 * then the gate must stay. */
bool fence_is_off(struct fence *fence);

/* The kernel's sentence about the last error. */
const char *fence_error_text(const struct fence *fence);
