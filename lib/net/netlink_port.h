/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One netlink socket and what its messages say; private to lib/net. netlink.c builds calls,
 * requests and the monitor from three of these. Sources: netlink(7), net/netlink/af_netlink.c.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mnl_socket;
struct nlmsghdr;

/* The kernel fills a dump's datagrams up to 32 KiB, and single messages are far below that. */
#define NETLINK_RX_BYTES 65536

struct netlink_port {
	struct mnl_socket *sock; /* NULL: closed */
	uint32_t id;
};

/* Non-blocking. 0 or -errno. */
int netlink_port_open(struct netlink_port *port, int protocol);
void netlink_port_close(struct netlink_port *port);
int netlink_port_fd(const struct netlink_port *port);

/* 0 or -errno. */
int netlink_port_send(const struct netlink_port *port, const void *buf, size_t len);

/* Into buf[0..NETLINK_RX_BYTES). Bytes of one datagram of the kernel; 0 for one that somebody else
 * sent; -EAGAIN when there is no more; -ENOBUFS when some were lost; -EMSGSIZE when it was cut. */
ssize_t netlink_port_receive(const struct netlink_port *port, uint8_t *buf);

/* What an NLMSG_ERROR (0: an acknowledgement) or NLMSG_DONE (the end of a dump) says: 0 or -errno.
 */
int netlink_verdict(const struct nlmsghdr *nlh);

/* Copies the kernel's sentence in such a message to text, or leaves text as it is. */
void netlink_verdict_text(const struct nlmsghdr *nlh, char *text, size_t room);
