/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dump of the TCP sockets of both families, filtered by local address inside the kernel
 * (inet_diag's byte code: the table of a busy node is long), and then one SOCK_DESTROY for each.
 * An IPv4 address is looked for among the IPv6 sockets too: a dual-stack listener's connections are
 * there, with the address mapped. vipd calls this when it has lost an address.
 */
#include "net/sockdestroy.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "net/netlink.h"

#define DUMP_ATTEMPTS_MAX 3
/* So many connections to one address are destroyed; beyond that the clients' own timeouts do. */
#define SOCKETS_MAX 262144

/* What has a peer that waits. Listeners stay for when the address comes back. */
#define CONNECTED_STATES                                                                     \
	(1U << TCP_ESTABLISHED | 1U << TCP_SYN_SENT | 1U << TCP_SYN_RECV | 1U << TCP_FIN_WAIT1 | \
	 1U << TCP_FIN_WAIT2 | 1U << TCP_CLOSE_WAIT | 1U << TCP_LAST_ACK | 1U << TCP_CLOSING)

struct found {
	struct inet_diag_req_v2 *reqs;
	size_t n, room;
	const struct addr *addr;
};

#define CODE_MAX (sizeof(struct inet_diag_bc_op) + sizeof(struct inet_diag_hostcond) + 16)

/* One condition: the local address is this one. It goes on at the end (accept) or beyond (reject).
 */
static size_t build_code(const struct addr *addr, uint8_t code[static CODE_MAX])
{
	const size_t addr_len = addr_len_bytes(addr);
	const size_t len =
	    sizeof(struct inet_diag_bc_op) + sizeof(struct inet_diag_hostcond) + addr_len;
	const struct inet_diag_bc_op op = {
	    .code = INET_DIAG_BC_S_COND, .yes = (uint8_t) len, .no = (uint16_t) (len + 4)};
	struct inet_diag_hostcond cond;

	/* Also what is between its fields: the kernel is told nothing of our stack. */
	memset(&cond, 0, sizeof(cond));
	cond.family = (uint8_t) addr->family;
	cond.prefix_len = (uint8_t) (addr_len * 8);
	cond.port = -1;
	memcpy(code, &op, sizeof(op));
	memcpy(code + sizeof(op), &cond, sizeof(cond));
	memcpy(code + len - addr_len, addr->bytes, addr_len);
	return len;
}

static bool is_local_addr(const struct inet_diag_msg *msg, const struct addr *addr)
{
	const struct in6_addr *in6 = (const struct in6_addr *) (const void *) msg->id.idiag_src;

	if (msg->idiag_family == addr->family)
		return memcmp(msg->id.idiag_src, addr->bytes, addr_len_bytes(addr)) == 0;
	return msg->idiag_family == AF_INET6 && addr->family == AF_INET && IN6_IS_ADDR_V4MAPPED(in6) &&
	       memcmp(&in6->s6_addr[12], addr->bytes, 4) == 0;
}

static void collect_cb(const struct nlmsghdr *nlh, void *userdata)
{
	struct found *f = userdata;
	struct inet_diag_msg msg;

	if (!attr_header(nlh, &msg, sizeof(msg)) || f->n == SOCKETS_MAX || msg.idiag_state >= 32 ||
	    (CONNECTED_STATES & 1U << msg.idiag_state) == 0 || !is_local_addr(&msg, f->addr))
		return;
	if (f->n == f->room) {
		f->room = MAX(2 * f->room, (size_t) 64);
		f->reqs = xreallocarray(f->reqs, f->room, sizeof(*f->reqs));
	}
	/* The cookie in the id makes sure that it is this very socket. */
	f->reqs[f->n++] = (struct inet_diag_req_v2){.sdiag_family = msg.idiag_family,
	                                            .sdiag_protocol = IPPROTO_TCP,
	                                            .idiag_states = CONNECTED_STATES,
	                                            .id = msg.id};
}

static int collect(struct netlink *nl, sa_family_t family, struct found *f)
{
	const struct inet_diag_req_v2 req = {.sdiag_family = (uint8_t) family,
	                                     .sdiag_protocol = IPPROTO_TCP,
	                                     .idiag_states = CONNECTED_STATES};
	AUTO(message_free) struct message *m = message_new();
	uint8_t code[CODE_MAX] = {0};
	const size_t n_before = f->n;
	int r = -EAGAIN;

	message_begin(m, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, &req, sizeof(req));
	message_bytes(m, INET_DIAG_REQ_BYTECODE, code, build_code(f->addr, code));
	for (int i = 0; r == -EAGAIN && i < DUMP_ATTEMPTS_MAX; i++) {
		f->n = n_before;
		r = netlink_ask(nl, m, collect_cb, f);
	}
	return r;
}

static int destroy_one(struct netlink *nl, const struct inet_diag_req_v2 *req)
{
	struct message *m = message_new();

	message_begin(m, SOCK_DESTROY, 0, req, sizeof(*req));
	return netlink_do(nl, m);
}

int sockdestroy_by_local_addr(const struct addr *addr)
{
	AUTO(netlink_free) struct netlink *nl = NULL;
	struct found f = {.addr = addr};
	int n_destroyed = 0;
	int r;

	r = netlink_new(NULL, NETLINK_SOCK_DIAG, &nl);
	if (r < 0)
		return r == -EPROTONOSUPPORT ? -EOPNOTSUPP : r;
	r = collect(nl, AF_INET6, &f);
	/* Without IPv6 in the kernel there are no such sockets. */
	if (r == -ENOENT && addr->family == AF_INET)
		r = 0;
	if (r >= 0 && addr->family == AF_INET)
		r = collect(nl, AF_INET, &f);
	/* Nobody answers for TCP: inet_diag is not there. */
	if (r == -ENOENT)
		r = -EOPNOTSUPP;
	for (size_t i = 0; r >= 0 && i < f.n; i++) {
		r = destroy_one(nl, &f.reqs[i]);
		if (r >= 0)
			n_destroyed++;
		else if (r == -ENOENT || r == -ESTALE)
			/* It ended by itself meanwhile. */
			r = 0;
	}
	free(f.reqs);
	return r < 0 ? r : n_destroyed;
}
