/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three sockets in one object, so that answers can never be taken for each other:
 * - `call` is used inside netlink_call() alone, and is drained before that returns;
 * - `async` carries one request at a time; the others wait in a queue. The kernel runs one dump a
 *   socket anyway (EBUSY), and with one request in flight an answer belongs to it or to nobody;
 * - `monitor` has joined the multicast groups and is never written to.
 * The last two are opened when they are first needed. rtnl, nftgate and sockdestroy call this.
 *
 * Answers are matched by port and sequence number.
 *
 * A callback may do anything, netlink_free() included: whoever calls one looks at `freed` after it.
 */
#include "net/netlink.h"

#include <assert.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "base/loop.h"
#include "base/macro.h"
#include "base/mem.h"
#include "net/netlink_port.h"

/* Datagrams of one answer: 16384 of them hold a million addresses. */
#define CALL_DATAGRAMS_MAX 16384

/* Datagrams read in one turn of the loop, so that a storm of notifications starves nobody. */
#define TURN_DATAGRAMS_MAX 64

#define ERROR_TEXT_MAX 256
#define MONITOR_BUFFER_BYTES (1 << 20)

struct netlink_req {
	struct netlink *nl;
	struct nlmsghdr *nlh;
	netlink_message_fn message;
	netlink_done_fn done;
	void *userdata;
	bool sent;
	bool cancelled;
	bool interrupted; /* NLM_F_DUMP_INTR: the table changed while it was being read */
	TAILQ_ENTRY(netlink_req) entry;
};

struct netlink {
	struct ev_loop *ev;
	int protocol;
	uint32_t seq;

	struct netlink_port call;
	uint8_t *call_rx;
	bool in_call;

	struct netlink_port async;
	ev_io async_io;
	ev_timer kick; /* sends the head of the queue from the loop */
	TAILQ_HEAD(, netlink_req) queue;

	struct netlink_port monitor;
	ev_io monitor_io;
	netlink_message_fn monitor_message;
	netlink_resync_fn monitor_resync;
	void *monitor_userdata;

	uint8_t *loop_rx; /* for async and monitor: loop callbacks never nest */
	bool *freed;
	char error_text[ERROR_TEXT_MAX];
};

static bool is_dump(const struct nlmsghdr *nlh)
{
	return (nlh->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
}

/* --- calls --- */

struct answer {
	struct netlink *nl;
	uint32_t seq_first, seq_last;
	unsigned pending; /* acknowledgements and ends of dumps still to come */
	int error;        /* the first */
	bool interrupted;
	netlink_message_fn message;
	void *userdata;
};

static void answer_take_message(struct answer *a, const struct nlmsghdr *nlh)
{
	int r;

	if (nlh->nlmsg_pid != a->nl->call.id ||
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
	struct netlink *nl = a->nl;

	for (int i = 0; i < CALL_DATAGRAMS_MAX; i++) {
		ssize_t n = netlink_port_receive(&nl->call, nl->call_rx);
		const struct nlmsghdr *nlh = (const struct nlmsghdr *) (const void *) nl->call_rx;
		int left = (int) n;

		if (n == -EAGAIN)
			return 0;
		if (n < 0 && n != -ENOBUFS && n != -EMSGSIZE)
			return (int) n;
		/* Incomplete; what is left of it must not stay behind all the same. */
		if (n < 0 && a->error == 0)
			a->error = (int) n;
		for (; n > 0 && mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left))
			answer_take_message(a, nlh);
	}
	return -EOVERFLOW;
}

/* Gives every message of the copy its sequence number and counts the answers that it asks for. */
static int answer_prepare(struct answer *a, void *buf, size_t len)
{
	struct nlmsghdr *nlh = buf;
	int left = (int) len;

	if (len > INT32_MAX)
		return -EMSGSIZE;
	a->seq_first = a->nl->seq + 1;
	for (; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left)) {
		nlh->nlmsg_seq = ++a->nl->seq;
		nlh->nlmsg_pid = 0;
		if (is_dump(nlh) || (nlh->nlmsg_flags & NLM_F_ACK) != 0)
			a->pending++;
	}
	a->seq_last = a->nl->seq;
	return left == 0 && a->pending > 0 ? 0 : -EINVAL;
}

int netlink_call(struct netlink *nl, const void *buf, size_t len, netlink_message_fn message,
                 void *userdata)
{
	AUTO(free) void *copy = NULL;
	struct answer a = {.nl = nl, .message = message, .userdata = userdata};
	int r;

	assert(!nl->in_call);
	nl->error_text[0] = '\0';
	copy = xmemdup(buf, len);
	r = answer_prepare(&a, copy, len);
	if (r < 0)
		return r;
	r = netlink_port_send(&nl->call, copy, len);
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

/* --- requests on the loop --- */

static void req_free(struct netlink_req *req)
{
	free(req->nlh);
	free(req);
}

static void kick_queue(struct netlink *nl)
{
	if (!ev_is_active(&nl->kick) && !TAILQ_EMPTY(&nl->queue))
		ev_timer_start(nl->ev, &nl->kick);
}

/* Ends the request at the head. The caller touches nothing of nl after this unless !*nl->freed. */
static void finish_head(struct netlink *nl, int r)
{
	struct netlink_req *req = TAILQ_FIRST(&nl->queue);
	netlink_done_fn done = req->cancelled ? NULL : req->done;
	void *userdata = req->userdata;

	if (r == 0 && req->interrupted)
		r = -EAGAIN;
	TAILQ_REMOVE(&nl->queue, req, entry);
	req_free(req);
	kick_queue(nl);
	if (done != NULL)
		done(r, userdata);
}

static void async_take_message(struct netlink *nl, const struct nlmsghdr *nlh)
{
	struct netlink_req *req = TAILQ_FIRST(&nl->queue);
	int r;

	if (req == NULL || !req->sent || nlh->nlmsg_seq != req->nlh->nlmsg_seq ||
	    nlh->nlmsg_pid != nl->async.id)
		return;
	if ((nlh->nlmsg_flags & NLM_F_DUMP_INTR) != 0)
		req->interrupted = true;
	if (nlh->nlmsg_type == NLMSG_ERROR || nlh->nlmsg_type == NLMSG_DONE) {
		r = netlink_verdict(nlh);
		nl->error_text[0] = '\0';
		if (r < 0)
			netlink_verdict_text(nlh, nl->error_text, sizeof(nl->error_text));
		finish_head(nl, r);
	} else if (!req->cancelled && req->message != NULL && nlh->nlmsg_type >= NLMSG_MIN_TYPE) {
		req->message(nlh, req->userdata);
	}
}

static void async_close(struct netlink *nl)
{
	if (nl->async.sock == NULL)
		return;
	ev_io_stop(nl->ev, &nl->async_io);
	netlink_port_close(&nl->async);
}

static void async_io_cb(struct ev_loop *ev UNUSED, ev_io *w, int revents)
{
	struct netlink *nl = CONTAINER_OF(w, struct netlink, async_io);
	bool freed = false;

	loop_expect_watched(revents);
	nl->freed = &freed;
	for (int i = 0; i < TURN_DATAGRAMS_MAX && nl->async.sock != NULL; i++) {
		ssize_t n = netlink_port_receive(&nl->async, nl->loop_rx);
		const struct nlmsghdr *nlh = (const struct nlmsghdr *) (const void *) nl->loop_rx;
		int left = (int) n;

		if (n == -EAGAIN)
			break;
		if (n < 0) {
			/* Lost or cut: a new socket is the one that surely has nothing left over. */
			async_close(nl);
			nl->error_text[0] = '\0';
			if (!TAILQ_EMPTY(&nl->queue) && TAILQ_FIRST(&nl->queue)->sent)
				finish_head(nl, (int) n);
			break;
		}
		for (; !freed && mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left))
			async_take_message(nl, nlh);
		if (freed)
			return;
	}
	if (!freed)
		nl->freed = NULL;
}

static int async_open(struct netlink *nl)
{
	int r;

	if (nl->async.sock != NULL)
		return 0;
	r = netlink_port_open(&nl->async, nl->protocol);
	if (r < 0)
		return r;
	ev_io_init(&nl->async_io, async_io_cb, netlink_port_fd(&nl->async), EV_READ);
	ev_io_start(nl->ev, &nl->async_io);
	return 0;
}

static void kick_cb(struct ev_loop *ev, ev_timer *w, int revents UNUSED)
{
	struct netlink *nl = CONTAINER_OF(w, struct netlink, kick);
	struct netlink_req *req = TAILQ_FIRST(&nl->queue);
	int r;

	ev_timer_stop(ev, w);
	if (req == NULL || req->sent)
		return;
	req->sent = true;
	req->nlh->nlmsg_seq = ++nl->seq;
	r = async_open(nl);
	if (r >= 0)
		r = netlink_port_send(&nl->async, req->nlh, req->nlh->nlmsg_len);
	if (r < 0) {
		nl->error_text[0] = '\0';
		finish_head(nl, r);
	}
}

static int enqueue(struct netlink *nl, const struct nlmsghdr *nlh, uint16_t flags,
                   netlink_message_fn message, netlink_done_fn done, void *userdata,
                   struct netlink_req **ret_req)
{
	struct netlink_req *req;

	if (nlh->nlmsg_len < NLMSG_HDRLEN)
		return -EINVAL;
	assert(nl->ev != NULL);
	if (nl->loop_rx == NULL)
		nl->loop_rx = xcalloc(1, NETLINK_RX_BYTES);
	req = NEW0(struct netlink_req);
	req->nl = nl;
	req->nlh = xmemdup(nlh, nlh->nlmsg_len);
	req->nlh->nlmsg_flags |= flags;
	req->nlh->nlmsg_pid = 0;
	req->message = message;
	req->done = done;
	req->userdata = userdata;
	TAILQ_INSERT_TAIL(&nl->queue, req, entry);
	kick_queue(nl);
	if (ret_req != NULL)
		*ret_req = req;
	return 0;
}

int netlink_request(struct netlink *nl, const struct nlmsghdr *nlh, netlink_message_fn message,
                    netlink_done_fn done, void *userdata, struct netlink_req **ret_req)
{
	return enqueue(nl, nlh, NLM_F_REQUEST | NLM_F_ACK, message, done, userdata, ret_req);
}

int netlink_dump(struct netlink *nl, const struct nlmsghdr *nlh, netlink_message_fn message,
                 netlink_done_fn done, void *userdata, struct netlink_req **ret_req)
{
	return enqueue(nl, nlh, NLM_F_REQUEST | NLM_F_DUMP, message, done, userdata, ret_req);
}

void netlink_req_cancel(struct netlink_req *req)
{
	if (req == NULL)
		return;
	if (req->sent) {
		/* Its answers come all the same; it stays at the head until they have. */
		req->cancelled = true;
		return;
	}
	TAILQ_REMOVE(&req->nl->queue, req, entry);
	req_free(req);
}

/* --- monitor --- */

static void monitor_io_cb(struct ev_loop *ev UNUSED, ev_io *w, int revents)
{
	struct netlink *nl = CONTAINER_OF(w, struct netlink, monitor_io);
	bool freed = false;

	loop_expect_watched(revents);
	nl->freed = &freed;
	for (int i = 0; i < TURN_DATAGRAMS_MAX; i++) {
		ssize_t n = netlink_port_receive(&nl->monitor, nl->loop_rx);
		const struct nlmsghdr *nlh = (const struct nlmsghdr *) (const void *) nl->loop_rx;
		int left = (int) n;

		if (n == -EAGAIN)
			break;
		if (n < 0 && nl->monitor_resync != NULL)
			nl->monitor_resync(nl->monitor_userdata);
		for (; !freed && n > 0 && mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left)) {
			if (nlh->nlmsg_type >= NLMSG_MIN_TYPE)
				nl->monitor_message(nlh, nl->monitor_userdata);
		}
		if (freed)
			return;
	}
	nl->freed = NULL;
}

int netlink_monitor(struct netlink *nl, const unsigned *groups, size_t n_groups,
                    netlink_message_fn message, netlink_resync_fn resync, void *userdata)
{
	int bytes = MONITOR_BUFFER_BYTES;
	int r;

	assert(nl->ev != NULL);
	if (nl->monitor.sock != NULL)
		return -EALREADY;
	r = netlink_port_open(&nl->monitor, nl->protocol);
	if (r < 0)
		return r;
	/* Without the privilege the default size stays, and overruns lead to a resync. */
	(void) setsockopt(netlink_port_fd(&nl->monitor), SOL_SOCKET, SO_RCVBUFFORCE, &bytes,
	                  sizeof(bytes));
	for (size_t i = 0; i < n_groups; i++) {
		unsigned group = groups[i];

		if (mnl_socket_setsockopt(nl->monitor.sock, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) <
		    0) {
			r = -errno;
			netlink_port_close(&nl->monitor);
			return r;
		}
	}
	if (nl->loop_rx == NULL)
		nl->loop_rx = xcalloc(1, NETLINK_RX_BYTES);
	nl->monitor_message = message;
	nl->monitor_resync = resync;
	nl->monitor_userdata = userdata;
	ev_io_init(&nl->monitor_io, monitor_io_cb, netlink_port_fd(&nl->monitor), EV_READ);
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
	TAILQ_INIT(&nl->queue);
	ev_timer_init(&nl->kick, kick_cb, 0., 0.);
	nl->call_rx = xcalloc(1, NETLINK_RX_BYTES);
	r = netlink_port_open(&nl->call, protocol);
	if (r < 0)
		return r;
	*ret_netlink = TAKE_PTR(nl);
	return 0;
}

void netlink_free(struct netlink *nl)
{
	struct netlink_req *req;

	if (nl == NULL)
		return;
	assert(!nl->in_call);
	if (nl->freed != NULL)
		*nl->freed = true;
	while ((req = TAILQ_FIRST(&nl->queue)) != NULL) {
		TAILQ_REMOVE(&nl->queue, req, entry);
		req_free(req);
	}
	if (nl->ev != NULL)
		ev_timer_stop(nl->ev, &nl->kick);
	async_close(nl);
	if (nl->monitor.sock != NULL)
		ev_io_stop(nl->ev, &nl->monitor_io);
	netlink_port_close(&nl->monitor);
	netlink_port_close(&nl->call);
	free(nl->call_rx);
	free(nl->loop_rx);
	free(nl);
}

const char *netlink_error_text(const struct netlink *nl)
{
	return nl->error_text;
}
