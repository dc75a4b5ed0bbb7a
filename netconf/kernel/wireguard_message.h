/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A WireGuard device in generic netlink messages, both ways. Pure. Peers that stay are never
 * removed and made anew, so that their sessions go on. Source: linux/wireguard.h.
 *
 * Messages hold keys: whoever has sent one wipes it.
 */

#include "net/attr.h"
#include "netconf/model/wireguard.h"

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

/* A dump of one device; an answer comes in several messages, each of which goes through
 * wireguard_decode() in its order. What is cut is passed over. The result is not normalised. */
void wireguard_encode_get(const char *link, uint16_t family, struct message *ret_message);
void wireguard_decode(const struct nlmsghdr *nlh, struct wireguard *wireguard);
