/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Ethernet frames of ARP (RFC 826) and of neighbour discovery (RFC 4861 sections 4.3 and 4.4),
 * built and parsed. Pure: no socket, no state. arpnd.c uses it, and so do programs that watch the
 * wire.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

enum arpnd_frame_kind {
	ARPND_FRAME_ARP_REQUEST,
	ARPND_FRAME_ARP_REPLY,
	ARPND_FRAME_SOLICIT,   /* neighbour solicitation */
	ARPND_FRAME_ADVERTISE, /* neighbour advertisement */
};

struct arpnd_frame {
	enum arpnd_frame_kind kind;
	struct mac eth_from, eth_to;
	/* ARP: sender protocol address. IPv6: source of the packet; "::" for duplicate detection. */
	struct addr sender;
	/* ARP: target protocol address. IPv6: target of the message. */
	struct addr target;
	/* IPv6 only: destination of the packet. */
	struct addr to;
	/* ARP: sender hardware address, always there. IPv6: source or target link-layer option. */
	struct mac link;
	bool has_link;
	/* ARP only: target hardware address. */
	struct mac target_link;
	/* Advertisements only. */
	bool override, solicited;
};

/* Ethernet 14 + IPv6 40 + message 24 + one option 8. */
#define ARPND_FRAME_MAX 86
/* Longer ones are not looked at; any real one is far below. */
#define ARPND_FRAME_PARSE_MAX 1514

extern const struct mac arpnd_frame_broadcast;     /* ff:ff:ff:ff:ff:ff */
extern const struct mac arpnd_frame_all_nodes_mac; /* 33:33:00:00:00:01 */
extern const struct addr arpnd_frame_all_nodes;    /* ff02::1 */

/* The solicited-node group of an IPv6 address (RFC 4291 section 2.7.1), and its Ethernet address.
 */
void arpnd_frame_solicited_node(const struct addr *addr, struct addr *ret_group,
                                struct mac *ret_mac);

/* Writes the frame and returns its length. Addresses are of the family that the kind needs. */
size_t arpnd_frame_build(const struct arpnd_frame *f, uint8_t buf[static ARPND_FRAME_MAX]);

/* 0, -EPROTO for a frame of another protocol or kind, or -EBADMSG for one of ours that is
 * malformed: too short, a wrong length, hop limit, checksum or option. */
int arpnd_frame_parse(const void *data, size_t len, struct arpnd_frame *ret_frame);

/* The announcements of addr by a link with this MAC: gratuitous ARP, or an unsolicited NA. */
void arpnd_frame_announcement(const struct addr *addr, const struct mac *mac,
                              enum arpnd_frame_kind kind, struct arpnd_frame *ret_frame);

/* "Who has target?", asked by sender from this MAC: ARP request or neighbour solicitation. */
void arpnd_frame_question(const struct addr *target, const struct addr *sender,
                          const struct mac *mac, struct arpnd_frame *ret_frame);
