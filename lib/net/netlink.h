/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One conversation with the kernel over netlink (libmnl inside), for NETLINK_ROUTE,
 * NETLINK_NETFILTER or NETLINK_SOCK_DIAG. Calls, requests and notifications have a socket each, so
 * that the answer to one is never taken for another's.
 *
 * Two ways to speak to the kernel:
 * - netlink_call() sends one request and returns its answer at once. The kernel carries such a
 *   request out inside sendmsg(2) and queues the acknowledgement before that returns, so this never
 *   waits for anybody but the kernel's own lock. Fences use it: nothing can come between the
 * reading of the clock, the change and the check of the clock after it.
 * - netlink_request() and netlink_dump() answer through callbacks on the loop, for anything large.
 *   They are carried out one after the other.
 *
 * Errors are -errno as the kernel gave it; the kernel's own sentence (extended ack, netlink(7)
 * NETLINK_EXT_ACK) is in netlink_error_text().
 *
 * Threads: loop thread only. Ownership: requests are copied; messages given to a callback are
 * borrowed until it returns.
 */

#include <ev.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct nlmsghdr;
struct netlink;
struct netlink_req;

/* One message of an answer or a notification. */
typedef void (*netlink_message_fn)(const struct nlmsghdr *nlh, void *userdata);

/* The end of a request: r is 0 or -errno. Runs exactly once, never before the call that asked
 * returned, and never after netlink_req_cancel(). */
typedef void (*netlink_done_fn)(int r, void *userdata);

/* The monitor lost messages (ENOBUFS): what was learned so far may be stale, dump again. */
typedef void (*netlink_resync_fn)(void *userdata);

/* ev may be NULL for one that only makes calls. 0 or -errno. */
int netlink_new(struct ev_loop *ev, int protocol, struct netlink **ret_netlink);

/* Requests that are still waiting are cancelled. May be called from any callback but a message of
 * netlink_call(). */
void netlink_free(struct netlink *nl);
DEFINE_AUTO(struct netlink, netlink_free);

/*
 * Sends buf[0..len) (one message, or a batch that the kernel treats as one) and collects every
 * acknowledgement that was asked for: at least one message has NLM_F_ACK or NLM_F_DUMP, else
 * -EINVAL. Sequence numbers are given here. 0, or the first error; -EAGAIN when a dump was
 * disturbed by a change and is to be made again (what `message` was given may be incomplete).
 * message may be NULL, and must not make a call itself.
 */
int netlink_call(struct netlink *nl, const void *buf, size_t len, netlink_message_fn message,
                 void *userdata);

/* NLM_F_REQUEST with NLM_F_ACK or NLM_F_DUMP is added. -EAGAIN as above. ret_req may be NULL. */
int netlink_request(struct netlink *nl, const struct nlmsghdr *nlh, netlink_message_fn message,
                    netlink_done_fn done, void *userdata, struct netlink_req **ret_req);
int netlink_dump(struct netlink *nl, const struct nlmsghdr *nlh, netlink_message_fn message,
                 netlink_done_fn done, void *userdata, struct netlink_req **ret_req);
void netlink_req_cancel(struct netlink_req *req);

/* Joins multicast groups (RTNLGRP_..., NFNLGRP_...); notifications go to `message`, which may make
 * calls. Once an object: -EALREADY. */
int netlink_monitor(struct netlink *nl, const unsigned *groups, size_t n_groups,
                    netlink_message_fn message, netlink_resync_fn resync, void *userdata);

/* What the kernel said about the last error, or "". Valid until the next call. */
const char *netlink_error_text(const struct netlink *nl);
