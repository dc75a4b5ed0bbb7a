/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens, writes and reads a netlink socket for netlink.c. Only what the kernel itself sent is let
 * through: any process may send a datagram to a netlink socket.
 */
#include "net/netlink_port.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "base/macro.h"

#define SEND_ATTEMPTS_MAX 8

int netlink_port_open(struct netlink_port *port, int protocol)
{
	struct mnl_socket *sock;
	int on = 1;

	sock = mnl_socket_open2(protocol, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (sock == NULL)
		return -errno;
	if (mnl_socket_bind(sock, 0, MNL_SOCKET_AUTOPID) < 0) {
		int r = -errno;

		(void) mnl_socket_close(sock);
		return r;
	}
	/* All three are niceties that old kernels lack: sentences with errors, no echo of the request
	 * in its acknowledgement, and dumps that honour their filters. */
	(void) mnl_socket_setsockopt(sock, NETLINK_EXT_ACK, &on, sizeof(on));
	(void) mnl_socket_setsockopt(sock, NETLINK_CAP_ACK, &on, sizeof(on));
	(void) mnl_socket_setsockopt(sock, NETLINK_GET_STRICT_CHK, &on, sizeof(on));
	port->sock = sock;
	port->id = mnl_socket_get_portid(sock);
	return 0;
}

void netlink_port_close(struct netlink_port *port)
{
	if (port->sock != NULL)
		(void) mnl_socket_close(port->sock);
	port->sock = NULL;
}

int netlink_port_fd(const struct netlink_port *port)
{
	return mnl_socket_get_fd(port->sock);
}

int netlink_port_send(const struct netlink_port *port, const void *buf, size_t len)
{
	for (int i = 0; i < SEND_ATTEMPTS_MAX; i++) {
		ssize_t n = mnl_socket_sendto(port->sock, buf, len);

		if (n >= 0)
			return (size_t) n == len ? 0 : -EMSGSIZE;
		/* Nothing has reached the kernel when a signal came first. */
		if (errno != EINTR)
			return -errno;
	}
	return -EINTR;
}

ssize_t netlink_port_receive(const struct netlink_port *port, uint8_t *buf)
{
	struct sockaddr_nl from = {0};
	struct iovec iov = {.iov_base = buf, .iov_len = NETLINK_RX_BYTES};
	struct msghdr msg = {
	    .msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	do
		n = recvmsg(netlink_port_fd(port), &msg, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (from.nl_pid != 0)
		return 0;
	return (msg.msg_flags & MSG_TRUNC) != 0 ? -EMSGSIZE : n;
}

int netlink_verdict(const struct nlmsghdr *nlh)
{
	size_t len = mnl_nlmsg_get_payload_len(nlh);
	int error;

	if (nlh->nlmsg_type == NLMSG_ERROR && len < sizeof(struct nlmsgerr))
		return -EBADMSG;
	if (len < sizeof(error))
		return 0;
	memcpy(&error, mnl_nlmsg_get_payload(nlh), sizeof(error));
	return error > 0 ? -EBADMSG : error;
}

static int find_text(const struct nlattr *attr, void *data)
{
	const struct nlattr **ret = data;

	if (mnl_attr_get_type(attr) != NLMSGERR_ATTR_MSG)
		return MNL_CB_OK;
	*ret = attr;
	return MNL_CB_STOP;
}

/* Behind the number of an NLMSG_DONE; in an NLMSG_ERROR behind the echo of the request, which is
 * its header alone when capped. 0 when there are none. */
static size_t attributes_offset(const struct nlmsghdr *nlh)
{
	const struct nlmsgerr *e = mnl_nlmsg_get_payload(nlh);

	if ((nlh->nlmsg_flags & NLM_F_ACK_TLVS) == 0)
		return 0;
	if (nlh->nlmsg_type == NLMSG_DONE)
		return sizeof(int);
	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*e))
		return 0;
	if ((nlh->nlmsg_flags & NLM_F_CAPPED) != 0 || e->msg.nlmsg_len < NLMSG_HDRLEN)
		return sizeof(*e);
	return sizeof(*e) + (e->msg.nlmsg_len - NLMSG_HDRLEN + 3) / 4 * 4;
}

void netlink_verdict_text(const struct nlmsghdr *nlh, char *text, size_t room)
{
	const struct nlattr *attr = NULL;
	size_t offset = attributes_offset(nlh), len;

	if (offset == 0 || offset > mnl_nlmsg_get_payload_len(nlh))
		return;
	(void) mnl_attr_parse(nlh, (unsigned) offset, find_text, &attr);
	if (attr == NULL)
		return;
	len = MIN((size_t) mnl_attr_get_payload_len(attr), room - 1);
	memcpy(text, mnl_attr_get_payload(attr), len);
	text[len] = '\0';
}
