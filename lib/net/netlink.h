/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One conversation with the kernel over netlink (libnl-3 inside), for NETLINK_ROUTE,
 * NETLINK_NETFILTER, NETLINK_GENERIC or NETLINK_SOCK_DIAG. Calls and notifications have a socket
 * each, so that a notification is never taken for an answer.
 *
 * netlink_call() sends requests and returns their answers at once. The kernel carries a request out
 * inside sendmsg(2) and queues the acknowledgement before that returns, so a call waits for the
 * kernel's own lock only. Fences depend on it: nothing runs between the reading of the clock, the
 * change and the check of the clock after it.
 *
 * Errors are -errno as the kernel gave it; the kernel's own sentence (extended ack, netlink(7)
 * NETLINK_EXT_ACK) is in netlink_error_text().
 *
 * Threads: loop thread only. Ownership: messages given to a callback are borrowed until it returns.
 */

#include <ev.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "net/attr.h"

struct netlink;

/* One message of an answer or a notification. */
typedef void (*netlink_message_fn)(const struct nlmsghdr *nlh, void *userdata);

/* The monitor lost messages (ENOBUFS): what was learned so far may be stale, dump again. */
typedef void (*netlink_resync_fn)(void *userdata);

/* ev may be NULL for one that only makes calls. 0 or -errno. */
int netlink_new(struct ev_loop *ev, int protocol, struct netlink **ret_netlink);

/* May be called from a notification, but not from a message of netlink_call(). */
void netlink_free(struct netlink *nl);
DEFINE_AUTO(struct netlink, netlink_free);

/*
 * Sends buf[0..len) (one message, or a batch that the kernel treats as one) and collects every
 * acknowledgement that was asked for: at least one message has NLM_F_ACK or NLM_F_DUMP, else
 * -EINVAL. Writes the sequence numbers into buf. 0, or the first error; -EAGAIN when a dump was
 * disturbed by a change and is to be made again (what `message` was given may be incomplete).
 * message may be NULL, and must not make a call itself.
 */
int netlink_call(struct netlink *nl, void *buf, size_t len, netlink_message_fn message,
                 void *userdata);

/* The same with one message; -EMSGSIZE: it is too long. */
int netlink_ask(struct netlink *nl, struct message *m, netlink_message_fn message, void *userdata);
/* The same where the answer is an acknowledgement only. Takes m. */
int netlink_do(struct netlink *nl, struct message *m);

/* The number of a family of generic netlink by its name; nl is of NETLINK_GENERIC. -ENOENT: the
 * kernel has none; or another -errno. */
int netlink_find_family(struct netlink *nl, const char *name, uint16_t *ret_family);

/* Joins multicast groups (RTNLGRP_..., NFNLGRP_...); notifications go to `message`, which may make
 * calls. Once an object: -EALREADY. */
int netlink_monitor(struct netlink *nl, const unsigned *groups, size_t n_groups,
                    netlink_message_fn message, netlink_resync_fn resync, void *userdata);
/* Takes what the kernel has told so far, without waiting for the loop's turn. */
void netlink_monitor_read(struct netlink *nl);
/* Notifications of what netlink_call() changed have this nlmsg_pid. */
uint32_t netlink_port(const struct netlink *nl);

/* What the kernel said about the last error, or "". Valid until the next call. */
const char *netlink_error_text(const struct netlink *nl);

/* What an NLMSG_ERROR (0: an acknowledgement) or NLMSG_DONE (the end of a dump) says: 0 or -errno.
 * Pure; for netlink.c and its tests. */
int netlink_verdict(const struct nlmsghdr *nlh);
/* Copies the kernel's sentence in such a message to text, or leaves text as it is. */
void netlink_verdict_text(struct nlmsghdr *nlh, char *text, size_t room);
