/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two sockets in one object, so that a notification is never taken for an answer:
 * - `call` is used inside netlink_call() alone, and is drained before that returns;
 * - `monitor` has joined the multicast groups and is never written to. It is opened when it is
 *   needed.
 * rtnl, nftgate, sockdestroy, bypass and netconf call this.
 *
 * libnl-3 opens, writes and reads the sockets. Its nl_recvmsgs() is not used: it copies each
 * message, touches the socket after a callback that may have freed it, and hands out an error
 * without the attributes in which the kernel's sentence is. What is read is matched by port and
 * sequence number here. libnl's own error numbers (NLE_*) say less than errno, which it leaves as
 * the system call set it. Sources: netlink(7), net/netlink/af_netlink.c.
 *
 * A callback of the monitor may do anything, netlink_free() included: the caller looks at `freed`
 * after it.
 */
#include "net/netlink.h"

#include <assert.h>
#include <errno.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "base/loop.h"
#include "base/macro.h"
#include "base/mem.h"

/* Datagrams of one answer: 16384 of them hold a million addresses. */
#define CALL_DATAGRAMS_MAX 16384

/* Datagrams read in one turn of the loop, so that a storm of notifications starves nobody. */
#define TURN_DATAGRAMS_MAX 64

/* The kernel fills a dump's datagrams up to 32 KiB, and single messages are far below that. */
#define DATAGRAM_BYTES_MAX 65536

#define SEND_ATTEMPTS_MAX 8
#define ERROR_TEXT_MAX 256
/* libnl's own default of 32 KiB is less than the kernel's, and less than one transaction. */
#define CALL_BUFFER_BYTES (1 << 18)
#define MONITOR_BUFFER_BYTES (1 << 20)

struct netlink {
	struct ev_loop *ev;
	int protocol;
	uint32_t seq;

	struct nl_sock *call;
	bool in_call;

	struct nl_sock *monitor;
	ev_io monitor_io;
	netlink_message_fn monitor_message;
	netlink_resync_fn monitor_resync;
	void *monitor_userdata;

	bool *freed;
	char error_text[ERROR_TEXT_MAX];
};

/* --- a socket --- */

DEFINE_AUTO(struct nl_sock, nl_socket_free);

static int open_socket(int protocol, struct nl_sock **ret_sock)
{
	AUTO(nl_socket_free) struct nl_sock *sock = mem_expect(nl_socket_alloc());
	/* All three are niceties that old kernels lack: sentences with errors, no echo of the request
	 * in its acknowledgement, and dumps that honour their filters. */
	static const int options[] = {NETLINK_EXT_ACK, NETLINK_CAP_ACK, NETLINK_GET_STRICT_CHK};
	const int on = 1;

	if (nl_connect(sock, protocol) < 0 || nl_socket_set_nonblocking(sock) < 0 ||
	    nl_socket_set_buffer_size(sock, CALL_BUFFER_BYTES, CALL_BUFFER_BYTES) < 0)
		return -errno;
	(void) nl_socket_set_msg_buf_size(sock, DATAGRAM_BYTES_MAX);
	nl_socket_disable_msg_peek(sock);
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		(void) setsockopt(nl_socket_get_fd(sock), SOL_NETLINK, options[i], &on, sizeof(on));
	*ret_sock = TAKE_PTR(sock);
	return 0;
}

/* 0 or -errno. */
static int send_all(struct nl_sock *sock, void *buf, size_t len)
{
	for (int i = 0; i < SEND_ATTEMPTS_MAX; i++) {
		int n = nl_sendto(sock, buf, len);

		if (n >= 0)
			return (size_t) n == len ? 0 : -EMSGSIZE;
		/* Nothing has reached the kernel when a signal came first. */
		if (errno != EINTR)
			return -errno;
	}
	return -EINTR;
}

/* Bytes of one datagram of the kernel, to be freed; 0 for one of another process, which may send
 * too; -EAGAIN when there is no more; -ENOBUFS when some were lost; -EMSGSIZE when it was cut. */
static int receive(struct nl_sock *sock, struct nlmsghdr **ret_nlh)
{
	struct sockaddr_nl from = {0};
	unsigned char *buf = NULL;
	int n = nl_recv(sock, &from, &buf, NULL);

	if (n == -NLE_MSG_TRUNC)
		return from.nl_pid == 0 ? -EMSGSIZE : 0;
	if (n < 0) {
		/* No system call gives this one here. */
		if (errno == ENOMEM)
			(void) mem_expect(NULL);
		return -errno;
	}
	*ret_nlh = (struct nlmsghdr *) (void *) buf;
	return from.nl_pid == 0 ? n : 0;
}

/* --- verdicts --- */

int netlink_verdict(const struct nlmsghdr *nlh)
{
	int len = nlmsg_datalen(nlh), error;

	if (nlh->nlmsg_type == NLMSG_ERROR && len < (int) sizeof(struct nlmsgerr))
		return -EBADMSG;
	if (len < (int) sizeof(error))
		return 0;
	memcpy(&error, nlmsg_data(nlh), sizeof(error));
	return error > 0 ? -EBADMSG : error;
}

/* Behind the number of an NLMSG_DONE; in an NLMSG_ERROR behind the echo of the request, which is
 * its header alone when capped. 0 when there are none. */
static size_t attributes_offset(const struct nlmsghdr *nlh)
{
	const struct nlmsgerr *e = nlmsg_data(nlh);

	if ((nlh->nlmsg_flags & NLM_F_ACK_TLVS) == 0)
		return 0;
	if (nlh->nlmsg_type == NLMSG_DONE)
		return sizeof(int);
	if (nlmsg_datalen(nlh) < (int) sizeof(*e))
		return 0;
	if ((nlh->nlmsg_flags & NLM_F_CAPPED) != 0 || e->msg.nlmsg_len < NLMSG_HDRLEN)
		return sizeof(*e);
	return sizeof(*e) + NLMSG_ALIGN(e->msg.nlmsg_len - NLMSG_HDRLEN);
}

void netlink_verdict_text(struct nlmsghdr *nlh, char *text, size_t room)
{
	size_t offset = attributes_offset(nlh);
	const struct nlattr *attr = NULL;

	if (offset > 0 && offset <= (size_t) nlmsg_datalen(nlh))
		attr = nlmsg_find_attr(nlh, (int) offset, NLMSGERR_ATTR_MSG);
	if (attr != NULL)
		(void) nla_strlcpy(text, attr, room);
}

/* --- calls --- */

struct answer {
	struct netlink *nl;
	uint32_t seq_first, seq_last;
	unsigned pending; /* acknowledgements and ends of dumps still to come */
	int error;        /* the first */
	bool interrupted; /* NLM_F_DUMP_INTR: the table changed while it was being read */
	netlink_message_fn message;
	void *userdata;
};

static void answer_take_message(struct answer *a, struct nlmsghdr *nlh)
{
	int r;

	if (nlh->nlmsg_pid != nl_socket_get_local_port(a->nl->call) ||
	    nlh->nlmsg_seq - a->seq_first > a->seq_last - a->seq_first)
		return;
	if ((nlh->nlmsg_flags & NLM_F_DUMP_INTR) != 0)
		a->interrupted = true;
	if (nlh->nlmsg_type != NLMSG_ERROR && nlh->nlmsg_type != NLMSG_DONE) {
		if (a->message != NULL && nlh->nlmsg_type >= NLMSG_MIN_TYPE)
			a->message(nlh, a->userdata);
		return;
	}
	r = netlink_verdict(nlh);
	if (r < 0 && a->error == 0) {
		a->error = r;
		netlink_verdict_text(nlh, a->nl->error_text, sizeof(a->nl->error_text));
	}
	if (a->pending > 0)
		a->pending--;
}

/*
 * Reads until the socket is empty, not until the last acknowledgement: a message that asked for
 * none may fail, and so may the commit of a batch whose every message was acknowledged (nfnetlink
 * reports that with the sequence number of the batch's beginning). All of it is queued when
 * sendmsg(2) returns, and each read of a dump makes the kernel queue its next part.
 */
static int answer_collect(struct answer *a)
{
	for (int i = 0; i < CALL_DATAGRAMS_MAX; i++) {
		AUTO(free) struct nlmsghdr *datagram = NULL;
		int left = receive(a->nl->call, &datagram);

		if (left == -EAGAIN)
			return 0;
		if (left < 0 && left != -ENOBUFS && left != -EMSGSIZE)
			return left;
		/* Incomplete; what is left of it must not stay behind all the same. */
		if (left < 0 && a->error == 0)
			a->error = left;
		for (struct nlmsghdr *nlh = datagram; nlmsg_ok(nlh, left); nlh = nlmsg_next(nlh, &left))
			answer_take_message(a, nlh);
	}
	return -EOVERFLOW;
}

/* Gives every message its sequence number and counts the answers that it asks for. */
static int answer_prepare(struct answer *a, void *buf, size_t len)
{
	struct nlmsghdr *nlh = buf;
	int left = (int) len;

	if (len > INT32_MAX)
		return -EMSGSIZE;
	a->seq_first = a->nl->seq + 1;
	for (; nlmsg_ok(nlh, left); nlh = nlmsg_next(nlh, &left)) {
		nlh->nlmsg_seq = ++a->nl->seq;
		nlh->nlmsg_pid = 0;
		if ((nlh->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP || (nlh->nlmsg_flags & NLM_F_ACK) != 0)
			a->pending++;
	}
	a->seq_last = a->nl->seq;
	return left == 0 && a->pending > 0 ? 0 : -EINVAL;
}

int netlink_call(struct netlink *nl, void *buf, size_t len, netlink_message_fn message,
                 void *userdata)
{
	struct answer a = {.nl = nl, .message = message, .userdata = userdata};
	int r;

	assert(!nl->in_call);
	nl->error_text[0] = '\0';
	r = answer_prepare(&a, buf, len);
	if (r < 0)
		return r;
	r = send_all(nl->call, buf, len);
	if (r < 0)
		return r;
	nl->in_call = true;
	r = answer_collect(&a);
	nl->in_call = false;
	if (a.error < 0)
		return a.error;
	if (r < 0)
		return r;
	if (a.pending > 0)
		return -EIO;
	return a.interrupted ? -EAGAIN : 0;
}

int netlink_ask(struct netlink *nl, struct message *m, netlink_message_fn message, void *userdata)
{
	struct nlmsghdr *nlh = message_header(m);
	int r = message_check(m);

	return r < 0 ? r : netlink_call(nl, nlh, nlh->nlmsg_len, message, userdata);
}

int netlink_do(struct netlink *nl, struct message *m)
{
	AUTO(message_free) struct message *own = m;

	return netlink_ask(nl, own, NULL, NULL);
}

const char *netlink_error_text(const struct netlink *nl)
{
	return nl->error_text;
}

int netlink_find_family(struct netlink *nl, const char *name, uint16_t *ret_family)
{
	int family;

	errno = 0;
	family = genl_ctrl_resolve(nl->call, name);
	/* It says no more than that it has not found one; a system call that failed says why. */
	if (family < 0 && errno == ENOMEM)
		(void) mem_expect(NULL);
	if (family < 0)
		return errno != 0 ? -errno : -ENOENT;
	*ret_family = (uint16_t) family;
	return 0;
}

/* --- the monitor --- */

void netlink_monitor_read(struct netlink *nl)
{
	bool freed = false;

	nl->freed = &freed;
	for (int i = 0; i < TURN_DATAGRAMS_MAX; i++) {
		AUTO(free) struct nlmsghdr *datagram = NULL;
		int left = receive(nl->monitor, &datagram);
		struct nlmsghdr *nlh = datagram;

		if (left == -EAGAIN)
			break;
		if (left < 0 && nl->monitor_resync != NULL)
			nl->monitor_resync(nl->monitor_userdata);
		for (; !freed && nlmsg_ok(nlh, left); nlh = nlmsg_next(nlh, &left)) {
			if (nlh->nlmsg_type >= NLMSG_MIN_TYPE)
				nl->monitor_message(nlh, nl->monitor_userdata);
		}
		if (freed)
			return;
	}
	nl->freed = NULL;
}

static void monitor_io_cb(struct ev_loop *ev UNUSED, ev_io *w, int revents)
{
	loop_expect_watched(revents);
	netlink_monitor_read(CONTAINER_OF(w, struct netlink, monitor_io));
}

uint32_t netlink_port(const struct netlink *nl)
{
	return nl_socket_get_local_port(nl->call);
}

int netlink_monitor(struct netlink *nl, const unsigned *groups, size_t n_groups,
                    netlink_message_fn message, netlink_resync_fn resync, void *userdata)
{
	AUTO(nl_socket_free) struct nl_sock *sock = NULL;
	const int bytes = MONITOR_BUFFER_BYTES;
	int r;

	assert(nl->ev != NULL);
	if (nl->monitor != NULL)
		return -EALREADY;
	r = open_socket(nl->protocol, &sock);
	if (r < 0)
		return r;
	/* Without the privilege the size stays, and overruns lead to a resync. */
	(void) setsockopt(nl_socket_get_fd(sock), SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
	for (size_t i = 0; i < n_groups; i++) {
		if (nl_socket_add_membership(sock, (int) groups[i]) < 0)
			return -errno;
	}
	nl->monitor = TAKE_PTR(sock);
	nl->monitor_message = message;
	nl->monitor_resync = resync;
	nl->monitor_userdata = userdata;
	ev_io_init(&nl->monitor_io, monitor_io_cb, nl_socket_get_fd(nl->monitor), EV_READ);
	ev_io_start(nl->ev, &nl->monitor_io);
	return 0;
}

/* --- the object --- */

int netlink_new(struct ev_loop *ev, int protocol, struct netlink **ret_netlink)
{
	AUTO(netlink_free) struct netlink *nl = NEW0(struct netlink);
	int r;

	nl->ev = ev;
	nl->protocol = protocol;
	r = open_socket(protocol, &nl->call);
	if (r < 0)
		return r;
	*ret_netlink = TAKE_PTR(nl);
	return 0;
}

void netlink_free(struct netlink *nl)
{
	if (nl == NULL)
		return;
	assert(!nl->in_call);
	if (nl->freed != NULL)
		*nl->freed = true;
	if (nl->monitor != NULL)
		ev_io_stop(nl->ev, &nl->monitor_io);
	nl_socket_free(nl->monitor);
	nl_socket_free(nl->call);
	free(nl);
}
