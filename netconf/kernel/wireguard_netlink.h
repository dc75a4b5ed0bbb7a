/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * WireGuard devices of the kernel: read, and brought to what is wanted. Blocking calls. The socket
 * is opened with the first call, so that a node without WireGuard does without it. Source: linux/wireguard.h.
 */

#include "base/cleanup.h"
#include "net/attr.h"
#include "netconf/model/wireguard.h"

struct wireguard_netlink;

struct wireguard_netlink *wireguard_netlink_new(void);
void wireguard_netlink_free(struct wireguard_netlink *wg);
DEFINE_AUTO(struct wireguard_netlink, wireguard_netlink_free);

/* Normalised; the caller frees it. 0; -ENOENT: this kernel has no WireGuard; -ENODEV: no such link;
 * -EAGAIN: it changed meanwhile, read it again; or -errno. */
int wireguard_netlink_read(struct wireguard_netlink *wg, const char *link,
                           struct wireguard **ret_wireguard);

/* Reads, then writes only what differs. Normalised. 0 or -errno, as above. */
int wireguard_netlink_write(struct wireguard_netlink *wg, const char *link,
                            const struct wireguard *want);

/* What the kernel said about the last error, or "". */
const char *wireguard_netlink_error_text(const struct wireguard_netlink *wg);

/* --- messages, both ways; pure --- */

/* The way from `have` to `want`, one message after the other; the attributes of `want` that it has
 * not are left as they are. Both normalised, and borrowed until the last message. */
struct wireguard_writer {
	const char *link;
	const struct wireguard *want, *have;
	uint16_t family;
	/* Where it stands; begins as zero. */
	enum { WIREGUARD_DEVICE, WIREGUARD_OLD_PEERS, WIREGUARD_NEW_PEERS } part;
	size_t peer, allowed;
};

/* True and the next request, or false after the last. */
bool wireguard_writer_next(struct wireguard_writer *writer, struct message *ret_message);

/* A netlink_message_fn with a struct wireguard: a message of the dump of one device, in its order. What is cut is passed over. The result is not
 * normalised. */
void wireguard_decode(const struct nlmsghdr *nlh, void *wireguard);
