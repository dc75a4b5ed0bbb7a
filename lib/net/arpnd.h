/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Says on a link that an address is at our MAC, and hears when somebody else says so.
 * IPv4: gratuitous ARP in both forms, request and reply (RFC 5227 section 3, RFC 5944 section 4.6:
 * implementations differ in which one they honour). IPv6: unsolicited neighbour advertisement to
 * ff02::1 with the override flag set (RFC 4861 section 7.2.6), source and target the address.
 *
 * Packet sockets on the link (AF_PACKET, CAP_NET_RAW) with kernel filters that pass ARP and
 * neighbour discovery of watched addresses only. These frames pass no netfilter hook, so the caller
 * announces only while it is entitled to the address. Loop thread only.
 */

#include <ev.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/cleanup.h"

struct arpnd;

enum arpnd_kind {
	ARPND_CLAIM, /* a frame that names the address as its sender, or advertises it */
	ARPND_PROBE, /* somebody checks before taking it: ARP probe (RFC 5227), or DAD solicitation */
};

/* A frame from another MAC than `own` claims or probes a watched address. May free the arpnd. */
typedef void (*arpnd_heard_fn)(enum arpnd_kind kind, const struct addr *addr,
                               const struct mac *from, void *userdata);

/* own is the link's MAC at present. The link may be down. 0 or -errno (-ENODEV, -EPERM). */
int arpnd_new(struct ev_loop *ev, int ifindex, const struct mac *own, arpnd_heard_fn heard,
              void *userdata, struct arpnd **ret_arpnd);
void arpnd_free(struct arpnd *arpnd);
DEFINE_AUTO(struct arpnd, arpnd_free);

/* The link's MAC changed (bonds do that). */
void arpnd_set_mac(struct arpnd *arpnd, const struct mac *own);

/* Report claims of this address. At most ARPND_WATCH_MAX at a time: -ENOSPC beyond. */
#define ARPND_WATCH_MAX 64
int arpnd_watch(struct arpnd *arpnd, const struct addr *addr);
void arpnd_unwatch(struct arpnd *arpnd, const struct addr *addr);

/* Sends one announcement now (two frames for IPv4). 0 or -errno; never blocks (-EAGAIN, -ENOBUFS);
 * -ENETDOWN while the link is down. */
int arpnd_announce(struct arpnd *arpnd, const struct addr *addr);

/* Sends one probe for addr now: an ARP request from 0.0.0.0 (RFC 5227 section 2.1.1), or a
 * solicitation from :: (RFC 4862 section 5.4.2). It changes no neighbour's cache, so it needs no
 * right to the address. The answer of a host that has it is a claim. Errors as above. */
int arpnd_probe(struct arpnd *arpnd, const struct addr *addr);
