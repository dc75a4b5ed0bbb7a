/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * nftables as before kernel 6.9, where a table that outlives its owner was unknown: libnl's call
 * in this program instead of the library's, which gives the kernel a flag that no kernel knows in
 * place of NFT_TABLE_F_PERSIST (4).
 */

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static bool oldnft; /* whether it is so; of this process and its children */

#define OLDNFT_ALIGN(len) (((size_t) (len) + 3) / 4 * 4)

static inline void oldnft_change_flags(struct nlmsghdr *nlh)
{
	char *at = (char *) nlh + NLMSG_HDRLEN + sizeof(struct nfgenmsg);
	const char *end = (char *) nlh + nlh->nlmsg_len;

	while (at < end) {
		const struct nlattr *attr = (const struct nlattr *) (const void *) at;
		uint32_t *flags = (uint32_t *) (void *) (at + sizeof(*attr));

		if (attr->nla_type == NFTA_TABLE_FLAGS && (ntohl(*flags) & 4) != 0)
			*flags = htonl(8);
		at += OLDNFT_ALIGN(attr->nla_len);
	}
}

int nl_sendto(struct nl_sock *sock, void *buf, size_t len)
{
	struct nlmsghdr *nlh = malloc(len);
	static const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	void *copy = nlh;
	int left = (int) len, error;
	ssize_t n;

	if (nlh == NULL)
		abort();
	(void) memcpy(copy, buf, len);
	for (; oldnft && nlmsg_ok(nlh, left); nlh = nlmsg_next(nlh, &left)) {
		if (nlh->nlmsg_type == (NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWTABLE))
			oldnft_change_flags(nlh);
	}
	n = sendto(nl_socket_get_fd(sock), copy, len, 0, (const struct sockaddr *) &kernel,
	           sizeof(kernel));
	error = errno;
	free(copy);
	errno = error;
	return n < 0 ? -NLE_FAILURE : (int) n;
}
