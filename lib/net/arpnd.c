/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two packet sockets on one link, for ARP and for IPv6: bound to their protocol they cost nothing
 * for any other frame and never see what this machine sends, as one for all protocols would. A
 * filter in the kernel, made anew from the list of watched addresses whenever that changes, passes
 * only frames that have one of them (of IPv6 addresses the last four bytes) in a place that counts;
 * arpnd_frame.c then decides. vipd's announcer calls this.
 *
 * The filter is in place before the socket is bound, so nothing else is ever queued. It refuses
 * PACKET_OTHERHOST: such are, without their tags, the frames of VLANs that are not configured here
 * (__netif_receive_skb_core() in net/core/dev.c), and they say nothing about this link.
 */
#include "net/arpnd.h"

#include <assert.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/macro.h"
#include "base/mem.h"
#include "net/arpnd_frame.h"

/* Frames read in one turn of the loop; a flood is the kernel's to drop. */
#define TURN_FRAMES_MAX 32

/* Offsets in the frame, Ethernet header included. */
#define AT_ARP_SENDER 28
#define AT_ARP_TARGET 38
#define AT_IP6_NEXT_HEADER 20
#define AT_IP6_SOURCE_LOW 34
#define AT_ND_TYPE 54
#define AT_ND_TARGET_LOW 74

#define FILTER_MAX (16 + 2 * ARPND_WATCH_MAX)

enum channel_kind { CHANNEL_ARP, CHANNEL_ND };

struct channel {
	struct arpnd *arpnd;
	int fd;
	ev_io io;
};

struct arpnd {
	struct ev_loop *ev;
	int ifindex;
	struct mac own;
	struct channel channels[2]; /* by enum channel_kind */
	struct addr watched[ARPND_WATCH_MAX];
	size_t n_watched;
	arpnd_heard_fn heard;
	void *userdata;
	bool *freed; /* set while frames are read: the listener may free us */
};

static enum channel_kind channel_of(const struct addr *addr)
{
	return addr->family == AF_INET6 ? CHANNEL_ND : CHANNEL_ARP;
}

/* --- the filter --- */

/* Jumps to one of the two ends, until it is known where they are: farther than any is. */
#define TO_DROP UINT8_MAX
#define TO_ACCEPT (UINT8_MAX - 1)
static_assert(FILTER_MAX < TO_ACCEPT, "jumps must fit");

struct filter {
	struct sock_filter insns[FILTER_MAX];
	unsigned short n;
};

static void emit(struct filter *f, uint16_t code, uint32_t k)
{
	f->insns[f->n++] = (struct sock_filter) BPF_STMT(code, k);
}

/* Whether the accumulator is k or not: 0 goes on. */
static void emit_jump(struct filter *f, uint32_t k, uint8_t if_equal, uint8_t if_not)
{
	f->insns[f->n++] =
	    (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, k, if_equal, if_not);
}

static void emit_accept_watched(struct filter *f, const struct arpnd *a, enum channel_kind kind,
                                uint32_t at)
{
	emit(f, BPF_LD | BPF_W | BPF_ABS, at);
	for (size_t i = 0; i < a->n_watched; i++) {
		const struct addr *w = &a->watched[i];
		const uint8_t *low = w->bytes + addr_len_bytes(w) - 4;

		if (channel_of(w) != kind)
			continue;
		emit_jump(
		    f, (uint32_t) low[0] << 24 | (uint32_t) low[1] << 16 | (uint32_t) low[2] << 8 | low[3],
		    TO_ACCEPT, 0);
	}
}

/* A jump counts from the next instruction. */
static uint8_t distance(uint8_t jump, unsigned at, unsigned drop)
{
	return jump == TO_DROP     ? (uint8_t) (drop - at - 1)
	       : jump == TO_ACCEPT ? (uint8_t) (drop - at)
	                           : jump;
}

static void emit_ends(struct filter *f)
{
	const unsigned drop = f->n;

	emit(f, BPF_RET | BPF_K, 0);
	emit(f, BPF_RET | BPF_K, ARPND_FRAME_PARSE_MAX);
	for (unsigned i = 0; i < drop; i++) {
		f->insns[i].jt = distance(f->insns[i].jt, i, drop);
		f->insns[i].jf = distance(f->insns[i].jf, i, drop);
	}
}

static int attach_filter(struct arpnd *a, enum channel_kind kind)
{
	struct filter f = {.n = 0};
	struct sock_fprog prog;

	emit(&f, BPF_LD | BPF_W | BPF_ABS, (uint32_t) (SKF_AD_OFF + SKF_AD_PKTTYPE));
	emit_jump(&f, PACKET_OTHERHOST, TO_DROP, 0);
	if (kind == CHANNEL_ARP) {
		emit_accept_watched(&f, a, kind, AT_ARP_SENDER);
		emit_accept_watched(&f, a, kind, AT_ARP_TARGET);
	} else {
		emit(&f, BPF_LD | BPF_B | BPF_ABS, AT_IP6_NEXT_HEADER);
		emit_jump(&f, IPPROTO_ICMPV6, 0, TO_DROP);
		/* 135 and 136, solicitation and advertisement, differ in the bits of 7 and 8. */
		emit(&f, BPF_LD | BPF_B | BPF_ABS, AT_ND_TYPE);
		emit(&f, BPF_ALU | BPF_SUB | BPF_K, 135);
		emit(&f, BPF_ALU | BPF_RSH | BPF_K, 1);
		emit_jump(&f, 0, 0, TO_DROP);
		emit_accept_watched(&f, a, kind, AT_ND_TARGET_LOW);
		emit_accept_watched(&f, a, kind, AT_IP6_SOURCE_LOW);
	}
	emit_ends(&f);
	prog = (struct sock_fprog){.len = f.n, .filter = f.insns};
	if (setsockopt(a->channels[kind].fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)) < 0)
		return -errno;
	return 0;
}

/* --- hearing --- */

static bool is_watched(const struct arpnd *a, const struct addr *addr)
{
	for (size_t i = 0; i < a->n_watched; i++) {
		if (addr_equal(&a->watched[i], addr))
			return true;
	}
	return false;
}

/* Which watched address does the frame speak about, and how? NULL for none. */
static const struct addr *meaning_of(const struct arpnd *a, const struct arpnd_frame *f,
                                     enum arpnd_kind *ret_kind)
{
	const bool asks = f->kind == ARPND_FRAME_ARP_REQUEST || f->kind == ARPND_FRAME_SOLICIT;

	*ret_kind = ARPND_CLAIM;
	if (f->kind == ARPND_FRAME_ADVERTISE && is_watched(a, &f->target))
		return &f->target;
	if (is_watched(a, &f->sender))
		return &f->sender;
	if (asks && addr_is_unspecified(&f->sender) && is_watched(a, &f->target)) {
		*ret_kind = ARPND_PROBE;
		return &f->target;
	}
	return NULL;
}

/* The caller touches nothing of a after this unless !*a->freed. */
static void take_frame(struct arpnd *a, const uint8_t *data, size_t len)
{
	struct arpnd_frame f;
	const struct addr *addr;
	const struct mac *from;
	enum arpnd_kind kind;

	if (arpnd_frame_parse(data, len, &f) < 0)
		return;
	from = f.has_link ? &f.link : &f.eth_from;
	/* A switch or a bond's other port may hand us our own back. */
	if (mac_equal(&f.eth_from, &a->own) || mac_equal(from, &a->own))
		return;
	addr = meaning_of(a, &f, &kind);
	if (addr != NULL)
		a->heard(kind, addr, from, a->userdata);
}

static void io_cb(struct ev_loop *ev UNUSED, ev_io *w, int revents)
{
	struct arpnd *a = CONTAINER_OF(w, struct channel, io)->arpnd;
	const int fd = w->fd;
	bool freed = false;

	loop_expect_watched(revents);
	a->freed = &freed;
	for (int i = 0; !freed && i < TURN_FRAMES_MAX; i++) {
		uint8_t data[ARPND_FRAME_PARSE_MAX];
		ssize_t n = recv(fd, data, sizeof(data), MSG_DONTWAIT | MSG_TRUNC);

		if (n < 0 && errno == EINTR)
			continue;
		/* ENETDOWN is said once when the link goes down; the socket works again when it is up. */
		if (n < 0)
			break;
		if ((size_t) n <= sizeof(data))
			take_frame(a, data, (size_t) n);
	}
	if (!freed)
		a->freed = NULL;
}

/* --- the object --- */

static int set_membership(const struct arpnd *a, int option, const struct mac *group)
{
	struct packet_mreq mreq = {.mr_ifindex = a->ifindex, .mr_type = PACKET_MR_MULTICAST};

	mreq.mr_alen = sizeof(group->bytes);
	memcpy(mreq.mr_address, group->bytes, sizeof(group->bytes));
	if (setsockopt(a->channels[CHANNEL_ND].fd, SOL_PACKET, option, &mreq, sizeof(mreq)) < 0)
		return -errno;
	return 0;
}

static int open_channel(struct arpnd *a, enum channel_kind kind)
{
	struct channel *c = &a->channels[kind];
	const uint16_t protocol = kind == CHANNEL_ARP ? ETH_P_ARP : ETH_P_IPV6;
	struct sockaddr_ll at = {
	    .sll_family = AF_PACKET, .sll_protocol = htons(protocol), .sll_ifindex = a->ifindex};
	int pending;
	socklen_t len = sizeof(pending);
	int r;

	/* Of protocol 0, so that it hears nothing until it is bound. */
	c->fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		return -errno;
	r = attach_filter(a, kind);
	if (r < 0)
		return r;
	if (bind(c->fd, (struct sockaddr *) &at, sizeof(at)) < 0)
		return -errno;
	/* A link that is down is noted as a pending error, and would fail the first announcement even
	 * if it came up meanwhile. */
	(void) getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &pending, &len);
	ev_io_init(&c->io, io_cb, c->fd, EV_READ);
	ev_io_start(a->ev, &c->io);
	return 0;
}

int arpnd_new(struct ev_loop *ev, int ifindex, const struct mac *own, arpnd_heard_fn heard,
              void *userdata, struct arpnd **ret_arpnd)
{
	AUTO(arpnd_free) struct arpnd *a = NEW0(struct arpnd);
	int r;

	a->ev = ev;
	a->ifindex = ifindex;
	a->own = *own;
	a->heard = heard;
	a->userdata = userdata;
	for (size_t i = 0; i < ARRAY_SIZE(a->channels); i++) {
		a->channels[i].arpnd = a;
		a->channels[i].fd = -1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(a->channels); i++) {
		r = open_channel(a, (enum channel_kind) i);
		if (r < 0)
			return r;
	}
	/* Where IPv6 is switched off on the link, nobody else has joined. */
	r = set_membership(a, PACKET_ADD_MEMBERSHIP, &arpnd_frame_all_nodes_mac);
	if (r < 0)
		return r;
	*ret_arpnd = TAKE_PTR(a);
	return 0;
}

void arpnd_free(struct arpnd *arpnd)
{
	if (arpnd == NULL)
		return;
	if (arpnd->freed != NULL)
		*arpnd->freed = true;
	for (size_t i = 0; i < ARRAY_SIZE(arpnd->channels); i++) {
		struct channel *c = &arpnd->channels[i];

		if (c->fd < 0)
			continue;
		ev_io_stop(arpnd->ev, &c->io);
		(void) close(c->fd);
	}
	free(arpnd);
}

void arpnd_set_mac(struct arpnd *arpnd, const struct mac *own)
{
	arpnd->own = *own;
}

int arpnd_watch(struct arpnd *arpnd, const struct addr *addr)
{
	struct addr group;
	struct mac group_mac;
	int r = 0;

	if (is_watched(arpnd, addr))
		return 0;
	if (arpnd->n_watched == ARPND_WATCH_MAX)
		return -ENOSPC;
	/* Duplicate detection by others is sent to this group; the one who holds the address has joined
	 * it, and others may want to hear as well. */
	if (addr->family == AF_INET6) {
		arpnd_frame_solicited_node(addr, &group, &group_mac);
		r = set_membership(arpnd, PACKET_ADD_MEMBERSHIP, &group_mac);
		if (r < 0)
			return r;
	}
	arpnd->watched[arpnd->n_watched++] = *addr;
	r = attach_filter(arpnd, channel_of(addr));
	if (r < 0)
		arpnd_unwatch(arpnd, addr);
	return r;
}

void arpnd_unwatch(struct arpnd *arpnd, const struct addr *addr)
{
	struct addr group;
	struct mac group_mac;
	size_t i = 0;

	while (i < arpnd->n_watched && !addr_equal(&arpnd->watched[i], addr))
		i++;
	if (i == arpnd->n_watched)
		return;
	arpnd->watched[i] = arpnd->watched[--arpnd->n_watched];
	if (addr->family == AF_INET6) {
		arpnd_frame_solicited_node(addr, &group, &group_mac);
		(void) set_membership(arpnd, PACKET_DROP_MEMBERSHIP, &group_mac);
	}
	/* Should it fail, more is let through than is looked at. */
	(void) attach_filter(arpnd, channel_of(addr));
}

static int send_frame(const struct arpnd *a, const struct arpnd_frame *f)
{
	uint8_t buf[ARPND_FRAME_MAX];
	size_t len = arpnd_frame_build(f, buf);

	if (send(a->channels[channel_of(&f->target)].fd, buf, len, MSG_DONTWAIT) < 0)
		return -errno;
	return 0;
}

static int send_announcement(const struct arpnd *a, const struct addr *addr,
                             enum arpnd_frame_kind kind)
{
	struct arpnd_frame f;

	arpnd_frame_announcement(addr, &a->own, kind, &f);
	return send_frame(a, &f);
}

int arpnd_announce(struct arpnd *arpnd, const struct addr *addr)
{
	int r;

	if (addr->family == AF_INET6)
		return send_announcement(arpnd, addr, ARPND_FRAME_ADVERTISE);
	r = send_announcement(arpnd, addr, ARPND_FRAME_ARP_REQUEST);
	if (r < 0)
		return r;
	return send_announcement(arpnd, addr, ARPND_FRAME_ARP_REPLY);
}

int arpnd_probe(struct arpnd *arpnd, const struct addr *addr)
{
	const struct addr unspecified = {.family = addr->family};
	struct arpnd_frame f;

	arpnd_frame_question(addr, &unspecified, &arpnd->own, &f);
	return send_frame(arpnd, &f);
}
