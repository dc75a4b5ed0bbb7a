/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What takes packets of a link before the hooks that a gate (nftgate.h) stands in, so that it may
 * answer for an address that the gate silences: XDP programs, eBPF programs of tc at ingress
 * (cls_bpf and, from kernel 6.6, tcx), and flowtables, which forward established connections by
 * themselves. Looked for on the link, on its ports (bond, bridge) and on the links below it (VLAN).
 *
 * Sources: rtnetlink(7), linux/pkt_cls.h, bpf(2), linux/netfilter/nf_tables.h. Programs at tcx are
 * told by bpf(2) alone, which wants CAP_NET_ADMIN; what cannot be asked is left out, as are links
 * beyond the 32nd.
 */

#include <stddef.h>

/* "XDP program 5 on eth0, flowtable ft of table nat on eth0" into buf, or "". What does not fit is
 * left out. Blocks as netlink_call() does. */
void bypass_describe(int ifindex, char *buf, size_t size);
