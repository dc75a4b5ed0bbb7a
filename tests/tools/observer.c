/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Watches who answers for an address on a LAN. Asks for it again and again, by ARP request or
 * neighbour solicitation, always to everybody (broadcast, solicited-node multicast) so that every
 * claimant hears it, and writes each frame in which somebody claims the address to a log. An
 * address that is routed (IPv4) is asked for by pings instead, one through each of the next hops
 * that --via names, so that it is seen who would serve whom some router sends there. The stories of
 * tests/netns run it in a namespace of its own; observer_check reads the log.
 *
 * The log, one line each, times in microseconds of CLOCK_BOOTTIME:
 *   T begin ADDRESS INTERVAL_US
 *   T answer MAC      an ARP reply to us, a solicited neighbour advertisement, or an echo reply
 *   T announce MAC    gratuitous: an ARP request or reply for itself, an unsolicited advertisement
 *   T speak MAC       asks for somebody else in the address's name
 *   T serve MAC PATH  a TCP segment from the address, no reset; written by tcpwatch
 *   T probe MAC       asks before taking it: an ARP probe, a solicitation from ::
 *   T mark TEXT       a line that the story wrote to standard input
 *   T late US         we asked so much too late: silence in it proves nothing
 *   T ask             a question (with --questions)
 *   T asking N        once a second: still here, N questions so far
 *   T end N
 * Frames carry the kernel's time of arrival, marks the writer's, so neither depends on when this
 * process was scheduled. It ends with standard input, hence with the story.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/if_ether.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/macro.h"
#include "base/mono.h"
#include "tests/tools/wirelog/scribe.h"

#define FRAME_MAX 2048
#define FRAMES_A_TURN 256
#define LATE_US (10 * US_PER_MS)
#define DEFAULT_INTERVAL_MS 5
#define NEXT_HOPS_MAX 8

struct observer {
	struct addr target;
	struct addr source; /* ours, on that link */
	struct mac mac;
	struct mac via[NEXT_HOPS_MAX];
	size_t n_via; /* 0: by ARP or neighbour discovery */
	int ifindex;
	int fd;
	struct scribe scribe;
	int64_t interval_us;
	int64_t asked;
	bool tells_questions;
};

struct arp_frame {
	struct ether_header eth;
	struct ether_arp arp;
} __attribute__((packed));

struct echo_frame {
	struct ether_header eth;
	struct iphdr ip;
	struct icmphdr icmp;
} __attribute__((packed));

struct nd_frame {
	struct ether_header eth;
	struct ip6_hdr ip;
	struct nd_neighbor_solicit ns; /* an advertisement has the same shape */
	uint8_t option_type;
	uint8_t option_len; /* in units of 8 bytes */
	struct mac option_mac;
} __attribute__((packed));

/* --- asking
 * --------------------------------------------------------------------------------------*/

static void send_frame(struct observer *o, const void *frame, size_t len)
{
	ssize_t n = send(o->fd, frame, len, MSG_DONTWAIT);

	/* A link that is down or a full queue is part of some stories: the question is lost. */
	if (n < 0 && errno != ENETDOWN && errno != ENOBUFS && errno != EAGAIN && errno != ENXIO)
		scribe_die("send");
}

static void ask_arp(struct observer *o)
{
	struct arp_frame f = {
	    .eth.ether_type = htons(ETHERTYPE_ARP),
	    .arp.arp_hrd = htons(ARPHRD_ETHER),
	    .arp.arp_pro = htons(ETHERTYPE_IP),
	    .arp.arp_hln = ETH_ALEN,
	    .arp.arp_pln = 4,
	    .arp.arp_op = htons(ARPOP_REQUEST),
	};

	memset(f.eth.ether_dhost, 0xff, ETH_ALEN);
	memcpy(f.eth.ether_shost, o->mac.bytes, ETH_ALEN);
	memcpy(f.arp.arp_sha, o->mac.bytes, ETH_ALEN);
	memcpy(f.arp.arp_spa, o->source.bytes, 4);
	memcpy(f.arp.arp_tpa, o->target.bytes, 4);
	send_frame(o, &f, sizeof(f));
}

/* RFC 1071. */
static uint16_t checksum(const void *data, size_t len)
{
	const uint8_t *bytes = data;
	uint32_t sum = 0;

	for (size_t i = 0; i < len; i += 2)
		sum += (uint32_t) (bytes[i] << 8 | bytes[i + 1]);
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t) ~sum);
}

static void ask_by_echo(struct observer *o)
{
	struct echo_frame f = {
	    .eth.ether_type = htons(ETHERTYPE_IP),
	    .ip.version = 4,
	    .ip.ihl = sizeof(f.ip) / 4,
	    .ip.tot_len = htons(sizeof(f.ip) + sizeof(f.icmp)),
	    .ip.ttl = 1, /* one who has not got it must not pass it on to one who has */
	    .ip.protocol = IPPROTO_ICMP,
	    .icmp.type = ICMP_ECHO,
	};

	memcpy(f.eth.ether_shost, o->mac.bytes, ETH_ALEN);
	memcpy(&f.ip.saddr, o->source.bytes, 4);
	memcpy(&f.ip.daddr, o->target.bytes, 4);
	f.ip.check = checksum(&f.ip, sizeof(f.ip));
	f.icmp.checksum = checksum(&f.icmp, sizeof(f.icmp));
	for (size_t i = 0; i < o->n_via; i++) {
		memcpy(f.eth.ether_dhost, o->via[i].bytes, ETH_ALEN);
		send_frame(o, &f, sizeof(f));
	}
}

/* RFC 4443 section 2.3: the one's complement sum over the pseudo header and the message. */
static uint16_t icmp6_checksum(const struct nd_frame *f, size_t message_len)
{
	const uint8_t *parts[] = {(const uint8_t *) &f->ip.ip6_src, (const uint8_t *) &f->ns};
	size_t lens[] = {2 * sizeof(struct in6_addr), message_len};
	uint32_t sum = (uint32_t) message_len + IPPROTO_ICMPV6;

	for (size_t p = 0; p < ARRAY_SIZE(parts); p++)
		for (size_t i = 0; i < lens[p]; i += 2)
			sum += (uint32_t) (parts[p][i] << 8 | parts[p][i + 1]);
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t) ~sum);
}

static void ask_nd(struct observer *o)
{
	const size_t message_len = sizeof(struct nd_frame) - offsetof(struct nd_frame, ns);
	static const uint8_t solicited_node[13] = {0xff, 0x02, [11] = 0x01, [12] = 0xff};
	struct nd_frame f = {
	    .eth.ether_type = htons(ETHERTYPE_IPV6),
	    .ip.ip6_flow = htonl(6U << 28),
	    .ip.ip6_plen = htons((uint16_t) message_len),
	    .ip.ip6_nxt = IPPROTO_ICMPV6,
	    .ip.ip6_hlim = 255,
	    .ns.nd_ns_type = ND_NEIGHBOR_SOLICIT,
	    .option_type = ND_OPT_SOURCE_LINKADDR,
	    .option_len = 1,
	    .option_mac = o->mac,
	};
	uint8_t *group = f.ip.ip6_dst.s6_addr;

	memcpy(group, solicited_node, sizeof(solicited_node));
	memcpy(group + 13, o->target.bytes + 13, 3);
	memcpy(f.eth.ether_dhost, (uint8_t[]){0x33, 0x33}, 2);
	memcpy(f.eth.ether_dhost + 2, group + 12, 4);
	memcpy(f.eth.ether_shost, o->mac.bytes, ETH_ALEN);
	memcpy(f.ip.ip6_src.s6_addr, o->source.bytes, 16);
	memcpy(f.ns.nd_ns_target.s6_addr, o->target.bytes, 16);
	f.ns.nd_ns_cksum = icmp6_checksum(&f, message_len);
	send_frame(o, &f, sizeof(f));
}

/* --- listening
 * -----------------------------------------------------------------------------------*/

/* What a frame says about the address, or NULL. */
static const char *arp_kind(const struct observer *o, const uint8_t *frame, size_t len)
{
	struct arp_frame f;
	bool target_is_it;

	if (len < sizeof(f))
		return NULL;
	memcpy(&f, frame, sizeof(f));
	if (f.arp.arp_pro != htons(ETHERTYPE_IP) || f.arp.arp_pln != 4)
		return NULL;

	target_is_it = memcmp(f.arp.arp_tpa, o->target.bytes, 4) == 0;
	if (memcmp(f.arp.arp_spa, o->target.bytes, 4) != 0) {
		static const uint8_t nobody[4];

		return target_is_it && memcmp(f.arp.arp_spa, nobody, 4) == 0 ? "probe" : NULL;
	}
	if (target_is_it)
		return "announce";
	return f.arp.arp_op == htons(ARPOP_REPLY) ? "answer" : "speak";
}

static const char *nd_kind(const struct observer *o, const uint8_t *frame, size_t len)
{
	static const struct in6_addr nobody;
	struct nd_frame f = {0};
	bool target_is_it;

	if (len < offsetof(struct nd_frame, option_type))
		return NULL;
	memcpy(&f, frame, offsetof(struct nd_frame, option_type));
	if (f.ip.ip6_nxt != IPPROTO_ICMPV6)
		return NULL;

	target_is_it = memcmp(&f.ns.nd_ns_target, o->target.bytes, 16) == 0;
	if (f.ns.nd_ns_type == ND_NEIGHBOR_ADVERT && target_is_it)
		return (f.ns.nd_ns_reserved & ND_NA_FLAG_SOLICITED) != 0 ? "answer" : "announce";
	if (f.ns.nd_ns_type != ND_NEIGHBOR_SOLICIT)
		return NULL;
	if (target_is_it && memcmp(&f.ip.ip6_src, &nobody, 16) == 0)
		return "probe";
	return memcmp(&f.ip.ip6_src, o->target.bytes, 16) == 0 ? "speak" : NULL;
}

static const char *echo_kind(const struct observer *o, const uint8_t *frame, size_t len)
{
	struct echo_frame f;

	if (len < sizeof(f))
		return NULL;
	memcpy(&f, frame, sizeof(f));
	if (f.ip.protocol != IPPROTO_ICMP || f.icmp.type != ICMP_ECHOREPLY ||
	    memcmp(&f.ip.saddr, o->target.bytes, 4) != 0)
		return NULL;
	return "answer";
}

static const char *frame_kind(const struct observer *o, const uint8_t *frame, size_t len)
{
	if (o->n_via > 0)
		return echo_kind(o, frame, len);
	return o->target.family == AF_INET ? arp_kind(o, frame, len) : nd_kind(o, frame, len);
}

/* One frame off the socket; false when there is none. */
static bool hear_frame(struct observer *o)
{
	uint8_t frame[FRAME_MAX];
	char control[CMSG_SPACE(sizeof(struct timespec))];
	struct iovec iov = {.iov_base = frame, .iov_len = sizeof(frame)};
	struct msghdr msg = {
	    .msg_iov = &iov,
	    .msg_iovlen = 1,
	    .msg_control = control,
	    .msg_controllen = sizeof(control),
	};
	const char *kind;
	char text[MAC_TEXT_MAX];
	struct mac from;
	ssize_t n;

	n = recvmsg(o->fd, &msg, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR || errno == ENETDOWN))
		return false;
	if (n < 0)
		scribe_die("recvmsg");
	if ((size_t) n < sizeof(struct ether_header))
		return true;
	memcpy(from.bytes, frame + ETH_ALEN, ETH_ALEN);
	if (mac_equal(&from, &o->mac))
		return true;

	kind = frame_kind(o, frame, (size_t) n);
	if (kind != NULL)
		scribe_note(&o->scribe, scribe_frame_time(&msg), "%s %s", kind, mac_format(&from, text));
	return true;
}

/* --- setting up
 * ----------------------------------------------------------------------------------*/

static void find_source(struct observer *o, const char *link)
{
	struct ifaddrs *all;

	if (getifaddrs(&all) < 0)
		scribe_die("getifaddrs");
	for (struct ifaddrs *a = all; a != NULL && !addr_is_set(&o->source); a = a->ifa_next) {
		if (a->ifa_addr == NULL || strcmp(a->ifa_name, link) != 0)
			continue;
		if (a->ifa_addr->sa_family != o->target.family)
			continue;
		if (o->target.family == AF_INET) {
			struct sockaddr_in sin;

			memcpy(&sin, a->ifa_addr, sizeof(sin));
			(void) addr_from_bytes(AF_INET, &sin.sin_addr, 4, &o->source);
		} else {
			struct sockaddr_in6 sin6;

			memcpy(&sin6, a->ifa_addr, sizeof(sin6));
			(void) addr_from_bytes(AF_INET6, &sin6.sin6_addr, 16, &o->source);
		}
	}
	freeifaddrs(all);
	if (!addr_is_set(&o->source)) {
		errno = EADDRNOTAVAIL;
		scribe_die(link);
	}
}

static void open_link(struct observer *o, const char *link)
{
	uint16_t ipv4 = o->n_via > 0 ? ETH_P_IP : ETH_P_ARP;
	uint16_t protocol = o->target.family == AF_INET ? ipv4 : ETH_P_IPV6;
	struct ifreq ifr = {0};

	o->fd = scribe_packet_socket(SOCK_RAW, protocol, (int) if_nametoindex(link));
	(void) snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", link);
	if (ioctl(o->fd, SIOCGIFHWADDR, &ifr) < 0)
		scribe_die(link);
	memcpy(o->mac.bytes, ifr.ifr_hwaddr.sa_data, ETH_ALEN);
	find_source(o, link);
}

/* --- the loop
 * ------------------------------------------------------------------------------------*/

static void run(struct observer *o)
{
	struct pollfd fds[] = {
	    {.fd = o->fd, .events = POLLIN},
	    {.fd = STDIN_FILENO, .events = POLLIN},
	};
	int64_t next_us = mono_now_us();
	int64_t beat_us = next_us;

	while (!o->scribe.input_ended) {
		int64_t now_us = mono_now_us();
		int64_t wait_us;
		struct timespec wait;

		if (now_us >= next_us) {
			if (now_us - next_us > LATE_US)
				scribe_note(&o->scribe, now_us, "late %" PRId64, now_us - next_us);
			if (o->tells_questions)
				scribe_note(&o->scribe, now_us, "ask");
			if (o->n_via > 0)
				ask_by_echo(o);
			else if (o->target.family == AF_INET)
				ask_arp(o);
			else
				ask_nd(o);
			o->asked++;
			/* Missed questions are not made up for: a burst would prove nothing. */
			next_us = MAX(next_us + o->interval_us, now_us);
		}
		if (now_us >= beat_us) {
			scribe_note(&o->scribe, now_us, "asking %" PRId64, o->asked);
			beat_us = now_us + US_PER_S;
		}
		/* Never longer than an interval: where the clock of a machine went back, nothing is waited
		 * for that is far ahead of it by now. The clock is read once: MAX() evaluates twice. */
		now_us = mono_now_us();
		next_us = MIN(next_us, now_us + o->interval_us);
		wait_us = MAX(next_us - now_us, 0);
		wait =
		    (struct timespec){.tv_sec = wait_us / US_PER_S, .tv_nsec = wait_us % US_PER_S * 1000};
		if (ppoll(fds, ARRAY_SIZE(fds), &wait, NULL) < 0 && errno != EINTR)
			scribe_die("ppoll");
		if (fds[0].revents != 0)
			for (int i = 0; i < FRAMES_A_TURN && hear_frame(o); i++)
				;
		if (fds[1].revents != 0)
			scribe_read_marks(&o->scribe);
		(void) fflush(o->scribe.log);
	}
	while (hear_frame(o))
		;
	scribe_note(&o->scribe, mono_now_us(), "end %" PRId64, o->asked);
}

static NORETURN void usage(int code)
{
	(void) fprintf(code == 0 ? stdout : stderr,
	               "usage: observer --link LINK --address ADDRESS --log FILE [--interval MS]\n"
	               "                [--via MAC]... [--questions]\n"
	               "Asks for ADDRESS until standard input ends; its lines become marks.\n");
	exit(code);
}

static bool add_next_hop(struct observer *o, const char *text)
{
	if (o->n_via == NEXT_HOPS_MAX || mac_parse(text, &o->via[o->n_via]) < 0)
		return false;
	o->n_via++;
	return true;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
	    {"link", required_argument, NULL, 'l'}, {"address", required_argument, NULL, 'a'},
	    {"log", required_argument, NULL, 'f'},  {"interval", required_argument, NULL, 'i'},
	    {"via", required_argument, NULL, 'v'},  {"questions", no_argument, NULL, 'q'},
	    {"help", no_argument, NULL, 'h'},       {NULL, 0, NULL, 0},
	};
	const char *link = NULL, *log_path = NULL;
	struct observer o = {.interval_us = DEFAULT_INTERVAL_MS * US_PER_MS};
	char text[ADDR_TEXT_MAX];
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'l')
			link = optarg;
		else if (c == 'a' && addr_parse(optarg, &o.target) < 0)
			usage(2);
		else if (c == 'f')
			log_path = optarg;
		else if (c == 'i')
			o.interval_us = atoi(optarg) * US_PER_MS;
		else if (c == 'v' && !add_next_hop(&o, optarg))
			usage(2);
		else if (c == 'q')
			o.tells_questions = true;
		else if (c == 'h')
			usage(0);
		else if (c == '?')
			usage(2);
	}
	if (link == NULL || log_path == NULL || !addr_is_set(&o.target) || o.interval_us <= 0 ||
	    o.interval_us >= US_PER_S || (o.n_via > 0 && o.target.family != AF_INET))
		usage(2);

	open_link(&o, link);
	scribe_open(&o.scribe, log_path);
	/* Being late costs evidence; not being allowed this is no reason to stop. */
	(void) setpriority(PRIO_PROCESS, 0, -15);
	scribe_note(&o.scribe, mono_now_us(), "begin %s %" PRId64, addr_format(&o.target, text),
	            o.interval_us);
	run(&o);
	scribe_close(&o.scribe);
	return 0;
}
