/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Watches who terminates TCP for an address. On each link that --link names, and for each port that
 * --path names, it opens a new connection every interval, and keeps another one established on
 * which it sends a byte every interval. Each link has its own route and neighbour entries
 * (SO_BINDTODEVICE), so a link with a permanent entry is a client that never hears of a new owner.
 * With --serve it is the other end: it sends back what it receives.
 *
 * The node that answers is the one whose MAC sent a TCP segment from the address. No server has to
 * say its name: a node that only forwards a client's packets to the owner sends no such segment,
 * and one that translates them to a pod elsewhere does. A reset is no answer (lib/net/nftgate.h
 * lets it pass).
 *
 * The log is that of tests/tools/observer.c, with
 *   T serve MAC PATH KIND LINK     KIND: new, held, or past (of a connection that is closed here)
 *   T asking N                     once a second: N connections so far
 * T is when the segment arrived, by the kernel's stamp, before it waits for this process. The
 * segment left the node before that; a virtual link adds microseconds, and what the receiving
 * processor's softirq was late. So no overlap is seen where there was none, unless a segment takes
 * longer on the wire than the next owner waits (docs/safety.md).
 */

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/mono.h"
#include "tests/tools/wirelog/scribe.h"

#define LINKS_MAX 8
#define PATHS_MAX 8
#define PROBES_MAX (2 * LINKS_MAX * PATHS_MAX)
#define CLIENTS_MAX 512
#define DEFAULT_INTERVAL_MS 20
#define CONNECT_US (200 * US_PER_MS)
#define SILENT_US (30 * US_PER_S) /* an established connection is given up after that */
#define FRAMES_A_TURN 256

/* linux/tcp.h has it since Linux 6.15, netinet/tcp.h does not. */
#ifndef TCP_RTO_MAX_MS
#define TCP_RTO_MAX_MS 44
#endif

struct link {
	const char *name;
	int ifindex;
};

struct path {
	char name[16];
	uint16_t port;
};

enum probe_state {
	PROBE_IDLE,
	PROBE_CONNECTING,
	PROBE_ESTABLISHED, /* held only: a new connection is closed at once */
};

struct probe {
	const struct link *link;
	const struct path *path;
	bool held;
	enum probe_state state;
	int fd;
	uint16_t local_port;
	int64_t next_us;  /* when it acts next */
	int64_t until_us; /* when it is given up, unless something arrives */
};

struct watch {
	struct scribe scribe;
	struct addr target;
	struct link links[LINKS_MAX];
	struct path paths[PATHS_MAX];
	struct probe probes[PROBES_MAX];
	struct pollfd fds[PROBES_MAX + 2];
	size_t n_links, n_paths, n_probes;
	int packet_fd;
	int64_t interval_us;
	int64_t connections;
};

/* --- the other end
 * -------------------------------------------------------------------------------*/

static int listen_on(uint16_t port)
{
	struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int on = 1, off = 0;

	if (fd < 0)
		scribe_die("socket");
	(void) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	(void) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (bind(fd, (struct sockaddr *) &any, sizeof(any)) < 0 || listen(fd, CLIENTS_MAX) < 0)
		scribe_die("bind");
	return fd;
}

/* False when the client has gone. */
static bool send_back(int fd)
{
	char bytes[512];
	ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n > 0)
		(void) send(fd, bytes, (size_t) n, MSG_DONTWAIT | MSG_NOSIGNAL);
	return n > 0 || (n < 0 && errno == EAGAIN);
}

/* Connections of clients that are cut off go as well: a reset of theirs may not arrive. */
static void keep_alive(int fd)
{
	int on = 1, seconds = 5, times = 3;

	(void) setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	(void) setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
	(void) setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof(seconds));
	(void) setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof(times));
}

static NORETURN void serve(uint16_t port)
{
	struct pollfd fds[CLIENTS_MAX] = {{.fd = listen_on(port), .events = POLLIN}};
	nfds_t n = 1;

	for (;;) {
		if (poll(fds, n, -1) < 0 && errno != EINTR)
			scribe_die("poll");
		for (nfds_t i = n; i-- > 1;) {
			if (fds[i].revents == 0 || send_back(fds[i].fd))
				continue;
			(void) close(fds[i].fd);
			fds[i] = fds[--n];
		}
		while ((fds[0].revents & POLLIN) != 0 && n < CLIENTS_MAX) {
			int fd = accept4(fds[0].fd, NULL, NULL, SOCK_CLOEXEC);

			if (fd < 0)
				break;
			keep_alive(fd);
			fds[n++] = (struct pollfd){.fd = fd, .events = POLLIN};
		}
	}
}

/* --- connections
 * ---------------------------------------------------------------------------------*/

static void probe_close(struct probe *p)
{
	if (p->state != PROBE_IDLE)
		(void) close(p->fd);
	p->state = PROBE_IDLE;
}

static void probe_set_options(const struct probe *p)
{
	/* Closed by a reset, which leaves nothing in TIME_WAIT. */
	struct linger linger = {.l_onoff = 1};
	const char *link = p->link->name;
	int on = 1, most_ms = 1000;

	if (setsockopt(p->fd, SOL_SOCKET, SO_BINDTODEVICE, link, (socklen_t) strlen(link)) < 0)
		scribe_die(link);
	(void) setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	(void) setsockopt(p->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	/* Keeps on asking an owner that is silent: by default the pauses double up to two minutes. */
	(void) setsockopt(p->fd, IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, &on, sizeof(on));
	(void) setsockopt(p->fd, IPPROTO_TCP, TCP_RTO_MAX_MS, &most_ms, sizeof(most_ms));
}

static socklen_t socket_address(const struct watch *w, uint16_t port, struct sockaddr_storage *ret)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 sin6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

	if (w->target.family == AF_INET) {
		memcpy(&sin.sin_addr, w->target.bytes, 4);
		memcpy(ret, &sin, sizeof(sin));
		return sizeof(sin);
	}
	memcpy(&sin6.sin6_addr, w->target.bytes, 16);
	memcpy(ret, &sin6, sizeof(sin6));
	return sizeof(sin6);
}

static uint16_t local_port(int fd)
{
	struct sockaddr_storage ss = {0};
	socklen_t len = sizeof(ss);
	struct sockaddr_in sin; /* the port of a sockaddr_in6 is in the same place */

	(void) getsockname(fd, (struct sockaddr *) &ss, &len);
	memcpy(&sin, &ss, sizeof(sin));
	return ntohs(sin.sin_port);
}

static void probe_connect(struct watch *w, struct probe *p, int64_t now_us)
{
	struct sockaddr_storage to;
	socklen_t len = socket_address(w, p->path->port, &to);

	p->fd = socket(w->target.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (p->fd < 0)
		scribe_die("socket");
	p->state = PROBE_CONNECTING;
	probe_set_options(p);
	w->connections++;
	p->until_us = now_us + CONNECT_US;
	if (connect(p->fd, (struct sockaddr *) &to, len) < 0 && errno != EINPROGRESS)
		probe_close(p);
	else
		p->local_port = local_port(p->fd);
}

/* Something may be read or written, or has failed. */
static void probe_on_event(struct probe *p, short events, int64_t now_us)
{
	char bytes[64];

	if ((events & (POLLERR | POLLHUP)) != 0) {
		probe_close(p);
	} else if (p->state == PROBE_CONNECTING && p->held) {
		p->state = PROBE_ESTABLISHED;
		p->until_us = now_us + SILENT_US;
	} else if (p->state == PROBE_CONNECTING) {
		probe_close(p);
	} else if (recv(p->fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0) {
		p->until_us = now_us + SILENT_US;
	} else {
		probe_close(p);
	}
}

static void probe_on_time(struct watch *w, struct probe *p, int64_t now_us)
{
	if (p->state != PROBE_IDLE && now_us >= p->until_us)
		probe_close(p);
	if (now_us < p->next_us)
		return;
	/* What was missed is not made up for. */
	p->next_us = now_us + w->interval_us;
	if (p->state == PROBE_IDLE)
		probe_connect(w, p, now_us);
	else if (p->state == PROBE_ESTABLISHED)
		(void) send(p->fd, ".", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* --- what arrives
 * --------------------------------------------------------------------------------*/

static bool find_tcp(const struct watch *w, const uint8_t *packet, size_t len, struct tcphdr *ret)
{
	struct ip6_hdr ip6;
	struct iphdr ip;
	size_t at;

	if (w->target.family == AF_INET) {
		if (len < sizeof(ip))
			return false;
		memcpy(&ip, packet, sizeof(ip));
		if (ip.protocol != IPPROTO_TCP || memcmp(&ip.saddr, w->target.bytes, 4) != 0)
			return false;
		at = ip.ihl * 4U;
	} else {
		if (len < sizeof(ip6))
			return false;
		memcpy(&ip6, packet, sizeof(ip6));
		if (ip6.ip6_nxt != IPPROTO_TCP || memcmp(&ip6.ip6_src, w->target.bytes, 16) != 0)
			return false;
		at = sizeof(ip6);
	}
	if (len < at + sizeof(*ret))
		return false;
	memcpy(ret, packet + at, sizeof(*ret));
	return true;
}

static void note_segment(struct watch *w, const struct sockaddr_ll *from, const struct tcphdr *tcp,
                         int64_t at_us)
{
	const char *link = "?", *path = "?", *kind = "past";
	char text[MAC_TEXT_MAX];
	struct mac mac;

	for (size_t i = 0; i < w->n_probes; i++) {
		const struct probe *p = &w->probes[i];

		if (p->link->ifindex == from->sll_ifindex)
			link = p->link->name;
		if (p->path->port == ntohs(tcp->source))
			path = p->path->name;
		if (p->local_port == ntohs(tcp->dest))
			kind = p->held ? "held" : "new";
	}
	memcpy(mac.bytes, from->sll_addr, sizeof(mac.bytes));
	scribe_note(&w->scribe, at_us, "serve %s %s %s %s", mac_format(&mac, text), path, kind, link);
}

/* Reads one packet; false when none waits. */
static bool hear_packet(struct watch *w)
{
	uint8_t packet[256]; /* only headers are looked at */
	char control[CMSG_SPACE(sizeof(struct timespec))];
	struct iovec iov = {.iov_base = packet, .iov_len = sizeof(packet)};
	struct sockaddr_ll from = {0};
	struct msghdr msg = {
	    .msg_name = &from,
	    .msg_namelen = sizeof(from),
	    .msg_iov = &iov,
	    .msg_iovlen = 1,
	    .msg_control = control,
	    .msg_controllen = sizeof(control),
	};
	struct tcphdr tcp;
	ssize_t n = recvmsg(w->packet_fd, &msg, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR || errno == ENETDOWN))
		return false;
	if (n < 0)
		scribe_die("recvmsg");
	if (find_tcp(w, packet, (size_t) n, &tcp) && !tcp.rst)
		note_segment(w, &from, &tcp, scribe_frame_time(&msg));
	return true;
}

/* --- the loop
 * ------------------------------------------------------------------------------------*/

static short wanted_events(const struct probe *p)
{
	return p->state == PROBE_CONNECTING ? POLLOUT : POLLIN;
}

/* Waits for something to happen, or for what is due next. */
static void wait_for_events(struct watch *w)
{
	int64_t now_us = mono_now_us(), due_us = now_us + w->interval_us;
	struct timespec wait;

	for (size_t i = 0; i < w->n_probes; i++) {
		const struct probe *p = &w->probes[i];

		w->fds[i] =
		    (struct pollfd){.fd = p->state == PROBE_IDLE ? -1 : p->fd, .events = wanted_events(p)};
		due_us = MIN(due_us, p->next_us);
	}
	w->fds[w->n_probes] = (struct pollfd){.fd = w->packet_fd, .events = POLLIN};
	w->fds[w->n_probes + 1] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
	due_us = MAX(due_us - now_us, 0);
	wait = (struct timespec){.tv_sec = due_us / US_PER_S, .tv_nsec = due_us % US_PER_S * 1000};
	if (ppoll(w->fds, w->n_probes + 2, &wait, NULL) < 0 && errno != EINTR)
		scribe_die("ppoll");
}

static void run(struct watch *w)
{
	int64_t beat_us = 0;

	while (!w->scribe.input_ended) {
		int64_t now_us;

		wait_for_events(w);
		/* Before the probes act: a segment of a held connection is told by its port. */
		for (int i = 0; i < FRAMES_A_TURN && hear_packet(w); i++)
			;
		now_us = mono_now_us();
		for (size_t i = 0; i < w->n_probes; i++) {
			if (w->fds[i].fd >= 0 && w->fds[i].revents != 0)
				probe_on_event(&w->probes[i], w->fds[i].revents, now_us);
			probe_on_time(w, &w->probes[i], now_us);
		}
		if (w->fds[w->n_probes + 1].revents != 0)
			scribe_read_marks(&w->scribe);
		if (now_us >= beat_us) {
			scribe_note(&w->scribe, now_us, "asking %" PRId64, w->connections);
			beat_us = now_us + US_PER_S;
		}
		(void) fflush(w->scribe.log);
	}
	while (hear_packet(w))
		;
	scribe_note(&w->scribe, mono_now_us(), "end %" PRId64, w->connections);
}

/* --- setting up
 * ----------------------------------------------------------------------------------*/

static void make_probes(struct watch *w)
{
	int64_t now_us = mono_now_us();
	size_t n = 2 * w->n_links * w->n_paths;

	for (size_t i = 0; i < n; i++)
		w->probes[i] = (struct probe){
		    .link = &w->links[i / 2 % w->n_links],
		    .path = &w->paths[i / 2 / w->n_links],
		    .held = i % 2 != 0,
		    .next_us = now_us + w->interval_us * (int64_t) i / (int64_t) n, /* spread evenly */
		};
	w->n_probes = n;
}

static NORETURN void usage(int code)
{
	(void) fprintf(
	    code == 0 ? stdout : stderr,
	    "usage: tcpwatch --address ADDRESS --log FILE --link LINK... --path NAME=PORT...\n"
	    "                [--interval MS]\n"
	    "       tcpwatch --serve PORT\n"
	    "Connects to ADDRESS until standard input ends; its lines become marks.\n");
	exit(code);
}

static uint16_t parse_port(const char *text)
{
	int port = atoi(text);

	if (port <= 0 || port > UINT16_MAX)
		usage(2);
	return (uint16_t) port;
}

static void add_link(struct watch *w, const char *name)
{
	struct link *link = &w->links[w->n_links];

	if (w->n_links++ == LINKS_MAX)
		usage(2);
	*link = (struct link){.name = name, .ifindex = (int) if_nametoindex(name)};
	if (link->ifindex == 0)
		scribe_die(name);
}

static void add_path(struct watch *w, const char *text)
{
	const char *port = strchr(text, '=');
	struct path *path = &w->paths[w->n_paths];

	if (w->n_paths++ == PATHS_MAX || port == NULL || port - text >= (int) sizeof(path->name))
		usage(2);
	memcpy(path->name, text, (size_t) (port - text));
	path->port = parse_port(port + 1);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
	    {"address", required_argument, NULL, 'a'},  {"log", required_argument, NULL, 'f'},
	    {"link", required_argument, NULL, 'l'},     {"path", required_argument, NULL, 'p'},
	    {"interval", required_argument, NULL, 'i'}, {"serve", required_argument, NULL, 's'},
	    {"help", no_argument, NULL, 'h'},           {NULL, 0, NULL, 0},
	};
	static struct watch w = {.interval_us = DEFAULT_INTERVAL_MS * US_PER_MS};
	char text[ADDR_TEXT_MAX];
	const char *log = NULL;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'a' && addr_parse(optarg, &w.target) < 0)
			usage(2);
		else if (c == 'f')
			log = optarg;
		else if (c == 'l')
			add_link(&w, optarg);
		else if (c == 'p')
			add_path(&w, optarg);
		else if (c == 'i')
			w.interval_us = atoi(optarg) * US_PER_MS;
		else if (c == 's')
			serve(parse_port(optarg));
		else if (c == 'h')
			usage(0);
		else if (c == '?')
			usage(2);
	}
	if (log == NULL || !addr_is_set(&w.target) || w.n_links == 0 || w.n_paths == 0 ||
	    w.interval_us <= 0)
		usage(2);

	/* Only what arrives: a socket for one protocol is not given what is sent. */
	w.packet_fd = scribe_packet_socket(
	    SOCK_DGRAM, w.target.family == AF_INET ? ETHERTYPE_IP : ETHERTYPE_IPV6, 0);
	scribe_open(&w.scribe, log);
	make_probes(&w);
	scribe_note(&w.scribe, mono_now_us(), "begin %s %" PRId64, addr_format(&w.target, text),
	            w.interval_us);
	run(&w);
	scribe_close(&w.scribe);
	return 0;
}
