/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RFC 5227 gives a host that has just been plugged in up to seven seconds. Here the link is up and
 * an operator waits: three probes in a second, so that two may be lost.
 *
 * Who only probes for the same address himself is not believed to have it: some switches ask so for
 * every host that they know.
 */
#include "netconf/probe/arpask.h"

#include <errno.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "net/arpnd_frame.h"

#define PROBES 3
#define PAUSE_US (300 * US_PER_MS)
#define LAST_PAUSE_US (400 * US_PER_MS)
/* Frames read in one turn of the loop. */
#define TURN_FRAMES_MAX 64

struct question {
	struct addr addr;
	char link[IFNAMSIZ];
	int ifindex;
	struct mac own;
	char *where;
};

struct arpask {
	struct ev_loop *ev;
	int fd;
	ev_io io;
	ev_timer next;
	struct question *questions;
	size_t n;
	struct mac *own; /* of all links of this host */
	size_t n_own;
	unsigned n_sent; /* probes for each */
	arpask_done_fn done;
	void *userdata;
};

void arpask_free(struct arpask *ask)
{
	if (ask == NULL)
		return;
	ev_timer_stop(ask->ev, &ask->next);
	ev_io_stop(ask->ev, &ask->io);
	if (ask->fd >= 0)
		(void) close(ask->fd);
	for (size_t i = 0; i < ask->n; i++)
		free(ask->questions[i].where);
	free(ask->questions);
	free(ask->own);
	free(ask);
}

static void finish(struct arpask *ask, const char *holder)
{
	arpask_done_fn done = ask->done;
	void *userdata = ask->userdata;

	arpask_free(ask);
	done(holder, userdata);
}

/* --- hearing --- */

static bool is_own(const struct arpask *ask, const struct mac *mac)
{
	for (size_t i = 0; i < ask->n_own; i++) {
		if (mac_equal(&ask->own[i], mac))
			return true;
	}
	return false;
}

static const struct question *find(const struct arpask *ask, int ifindex, const struct addr *addr)
{
	for (size_t i = 0; i < ask->n; i++) {
		if (ask->questions[i].ifindex == ifindex && addr_equal(&ask->questions[i].addr, addr))
			return &ask->questions[i];
	}
	return NULL;
}

/* True: it was the answer, and the handle is gone. */
static bool take_frame(struct arpask *ask, const uint8_t *data, size_t len,
                       const struct sockaddr_ll *from)
{
	char named[ADDR_TEXT_MAX], mac[MAC_TEXT_MAX];
	const struct question *question;
	AUTO(free) char *holder = NULL;
	struct arpnd_frame frame;

	if (from->sll_pkttype == PACKET_OTHERHOST || arpnd_frame_parse(data, len, &frame) < 0 ||
	    is_own(ask, &frame.link) || is_own(ask, &frame.eth_from))
		return false;
	question = find(ask, from->sll_ifindex, &frame.sender);
	if (question == NULL)
		return false;
	holder = xasprintf("%s%sanother host on %s has the address %s: %s answers for it",
	                   question->where, question->where[0] != '\0' ? ": " : "", question->link,
	                   addr_format(&question->addr, named), mac_format(&frame.link, mac));
	finish(ask, holder);
	return true;
}

static void io_cb(struct ev_loop *ev UNUSED, ev_io *io, int revents)
{
	struct arpask *ask = CONTAINER_OF(io, struct arpask, io);

	loop_expect_watched(revents);
	for (int i = 0; i < TURN_FRAMES_MAX; i++) {
		uint8_t data[ARPND_FRAME_PARSE_MAX];
		struct sockaddr_ll from = {0};
		socklen_t from_len = sizeof(from);
		ssize_t n = recvfrom(ask->fd, data, sizeof(data), MSG_DONTWAIT | MSG_TRUNC,
		                     (struct sockaddr *) &from, &from_len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return;
		if ((size_t) n <= sizeof(data) && take_frame(ask, data, (size_t) n, &from))
			return;
	}
}

/* --- asking --- */

static void send_probe(const struct arpask *ask, const struct question *question)
{
	static const struct addr nobody = {.family = AF_INET};
	struct sockaddr_ll to = {.sll_family = AF_PACKET,
	                         .sll_protocol = htons(ETH_P_ARP),
	                         .sll_ifindex = question->ifindex};
	uint8_t data[ARPND_FRAME_MAX];
	struct arpnd_frame frame;
	size_t len;

	arpnd_frame_question(&question->addr, &nobody, &question->own, &frame);
	len = arpnd_frame_build(&frame, data);
	/* What does not go out now is sent twice more. */
	(void) !sendto(ask->fd, data, len, MSG_DONTWAIT, (struct sockaddr *) &to, sizeof(to));
}

static void next_timer_cb(struct ev_loop *ev, ev_timer *timer, int revents UNUSED)
{
	struct arpask *ask = CONTAINER_OF(timer, struct arpask, next);

	if (ask->n == 0 || ask->n_sent == PROBES) {
		finish(ask, NULL);
		return;
	}
	for (size_t i = 0; i < ask->n; i++)
		send_probe(ask, &ask->questions[i]);
	ask->n_sent++;
	ev_timer_set(timer, mono_to_ev(ask->n_sent < PROBES ? PAUSE_US : LAST_PAUSE_US), 0.);
	ev_timer_start(ev, timer);
}

/* --- the object --- */

/* The kernel's own word, which the model does not keep: IFF_*, 0 where there are no neighbours. */
static short flags_of(int fd, const char *link, struct mac *ret_own)
{
	struct ifreq req = {0};
	short flags;

	(void) snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", link);
	if (ioctl(fd, SIOCGIFFLAGS, &req) < 0)
		return 0;
	flags = req.ifr_flags;
	if ((flags & IFF_BROADCAST) == 0 || (flags & (IFF_NOARP | IFF_LOOPBACK)) != 0 ||
	    ioctl(fd, SIOCGIFHWADDR, &req) < 0 || req.ifr_hwaddr.sa_family != ARPHRD_ETHER)
		return 0;
	memcpy(ret_own->bytes, req.ifr_hwaddr.sa_data, sizeof(ret_own->bytes));
	return flags;
}

bool arpask_has_to_wait(const struct arpask *ask, const char *link)
{
	struct mac own;

	return (flags_of(ask->fd, link, &own) & (IFF_UP | IFF_RUNNING)) == IFF_UP;
}

void arpask_add(struct arpask *ask, const char *link, const struct addr *addr, const char *where)
{
	struct question question = {.addr = *addr, .ifindex = (int) if_nametoindex(link)};

	if (question.ifindex == 0 ||
	    (flags_of(ask->fd, link, &question.own) & (IFF_UP | IFF_RUNNING)) != (IFF_UP | IFF_RUNNING))
		return;
	(void) snprintf(question.link, sizeof(question.link), "%s", link);
	question.where = xstrdup(where);
	ask->questions = xreallocarray(ask->questions, ask->n + 1, sizeof(*ask->questions));
	ask->questions[ask->n++] = question;
}

int arpask_new(struct ev_loop *ev, const struct model *have, struct arpask **ret_ask)
{
	AUTO(arpask_free) struct arpask *ask = NEW0(struct arpask);

	ask->ev = ev;
	ev_timer_init(&ask->next, next_timer_cb, 0., 0.);
	ask->fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(ETH_P_ARP));
	if (ask->fd < 0)
		return -errno;
	ev_io_init(&ask->io, io_cb, ask->fd, EV_READ);
	ask->own = xcalloc(have->n_links + 1, sizeof(*ask->own));
	for (size_t i = 0; i < have->n_links; i++) {
		if (link_has(&have->links[i], LINK_HAS_MAC))
			ask->own[ask->n_own++] = have->links[i].mac;
	}
	*ret_ask = TAKE_PTR(ask);
	return 0;
}

void arpask_start(struct arpask *ask, arpask_done_fn done, void *userdata)
{
	ask->done = done;
	ask->userdata = userdata;
	ev_io_start(ask->ev, &ask->io);
	ev_timer_start(ask->ev, &ask->next);
}
