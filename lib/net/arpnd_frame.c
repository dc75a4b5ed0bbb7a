/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames as bytes at fixed offsets, for arpnd.c and for the tests' observer. Everything that comes
 * from the wire is checked here: the lengths against each other and against what was received, and
 * for IPv6 what RFC 4861 section 7.1 demands before a message may be believed.
 */
#include "net/arpnd_frame.h"

#include <assert.h>
#include <errno.h>
#include <net/ethernet.h>
#include <netinet/icmp6.h>
#include <string.h>

#define ETH_BYTES 14
#define ARP_BYTES 28
#define IP6_BYTES 40
/* Both messages: type, code, checksum, four bytes of flags, target. */
#define ND_BYTES 24
#define LINK_OPTION_BYTES 8
#define OPTION_SOURCE_LINK 1
#define OPTION_TARGET_LINK 2

#define ARP_OP_REQUEST 1
#define ARP_OP_REPLY 2

#define FLAG_SOLICITED 0x40
#define FLAG_OVERRIDE 0x20

const struct mac arpnd_frame_broadcast = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
const struct mac arpnd_frame_all_nodes_mac = {{0x33, 0x33, 0, 0, 0, 1}};
const struct addr arpnd_frame_all_nodes = {AF_INET6, {0xff, 0x02, [15] = 1}};

/* Ethernet, hardware type 1, protocol type IPv4, lengths 6 and 4. */
static const uint8_t arp_head[6] = {0, 1, 0x08, 0, 6, 4};

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t) (p[0] << 8 | p[1]);
}

static void put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t) (v >> 8);
	p[1] = (uint8_t) v;
}

void arpnd_frame_solicited_node(const struct addr *addr, struct addr *ret_group,
                                struct mac *ret_mac)
{
	const uint8_t *low = addr->bytes + 13;

	*ret_group =
	    (struct addr){AF_INET6, {0xff, 0x02, [11] = 1, [12] = 0xff, low[0], low[1], low[2]}};
	*ret_mac = (struct mac){{0x33, 0x33, 0xff, low[0], low[1], low[2]}};
}

/* ICMPv6 over the pseudo-header (RFC 8200 section 8.1): 0 when the sum that is in place is right.
 */
static uint16_t icmp6_checksum(const uint8_t *ip6, size_t payload_len)
{
	uint32_t sum = IPPROTO_ICMPV6 + (uint32_t) payload_len;

	/* Both addresses stand before the payload without a gap. */
	for (size_t i = 8; i + 1 < IP6_BYTES + payload_len; i += 2)
		sum += get16(ip6 + i);
	if (payload_len % 2 != 0)
		sum += (uint32_t) ip6[IP6_BYTES + payload_len - 1] << 8;
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t) ~sum;
}

/* --- building --- */

static size_t build_arp(const struct arpnd_frame *f, uint8_t *buf)
{
	uint8_t *arp = buf + ETH_BYTES;

	assert(f->sender.family == AF_INET && f->target.family == AF_INET);
	put16(buf + 12, ETHERTYPE_ARP);
	memcpy(arp, arp_head, sizeof(arp_head));
	put16(arp + 6, f->kind == ARPND_FRAME_ARP_REQUEST ? ARP_OP_REQUEST : ARP_OP_REPLY);
	memcpy(arp + 8, f->link.bytes, 6);
	memcpy(arp + 14, f->sender.bytes, 4);
	memcpy(arp + 18, f->target_link.bytes, 6);
	memcpy(arp + 24, f->target.bytes, 4);
	return ETH_BYTES + ARP_BYTES;
}

static size_t build_nd(const struct arpnd_frame *f, uint8_t *buf)
{
	const bool advertise = f->kind == ARPND_FRAME_ADVERTISE;
	const size_t payload_len = ND_BYTES + (f->has_link ? LINK_OPTION_BYTES : 0);
	uint8_t *ip6 = buf + ETH_BYTES;
	uint8_t *nd = ip6 + IP6_BYTES;

	assert(f->sender.family == AF_INET6 && f->target.family == AF_INET6 &&
	       f->to.family == AF_INET6);
	put16(buf + 12, ETHERTYPE_IPV6);
	ip6[0] = 0x60;
	put16(ip6 + 4, (uint16_t) payload_len);
	ip6[6] = IPPROTO_ICMPV6;
	ip6[7] = 255;
	memcpy(ip6 + 8, f->sender.bytes, 16);
	memcpy(ip6 + 24, f->to.bytes, 16);
	nd[0] = advertise ? ND_NEIGHBOR_ADVERT : ND_NEIGHBOR_SOLICIT;
	if (advertise)
		nd[4] = (uint8_t) ((f->solicited ? FLAG_SOLICITED : 0) | (f->override ? FLAG_OVERRIDE : 0));
	memcpy(nd + 8, f->target.bytes, 16);
	if (f->has_link) {
		nd[ND_BYTES] = advertise ? OPTION_TARGET_LINK : OPTION_SOURCE_LINK;
		nd[ND_BYTES + 1] = 1; /* in units of 8 bytes */
		memcpy(nd + ND_BYTES + 2, f->link.bytes, 6);
	}
	put16(nd + 2, icmp6_checksum(ip6, payload_len));
	return ETH_BYTES + IP6_BYTES + payload_len;
}

size_t arpnd_frame_build(const struct arpnd_frame *f, uint8_t buf[static ARPND_FRAME_MAX])
{
	memset(buf, 0, ARPND_FRAME_MAX);
	memcpy(buf, f->eth_to.bytes, 6);
	memcpy(buf + 6, f->eth_from.bytes, 6);
	switch (f->kind) {
	case ARPND_FRAME_ARP_REQUEST:
	case ARPND_FRAME_ARP_REPLY:
		return build_arp(f, buf);
	case ARPND_FRAME_SOLICIT:
	case ARPND_FRAME_ADVERTISE:
		return build_nd(f, buf);
	}
	return 0;
}

void arpnd_frame_announcement(const struct addr *addr, const struct mac *mac,
                              enum arpnd_frame_kind kind, struct arpnd_frame *ret_frame)
{
	struct arpnd_frame f = {.kind = kind,
	                        .eth_from = *mac,
	                        .eth_to = arpnd_frame_broadcast,
	                        .sender = *addr,
	                        .target = *addr,
	                        .link = *mac,
	                        .has_link = true};

	if (addr->family == AF_INET6) {
		f.kind = ARPND_FRAME_ADVERTISE;
		f.eth_to = arpnd_frame_all_nodes_mac;
		f.to = arpnd_frame_all_nodes;
		f.override = true;
	} else if (kind == ARPND_FRAME_ARP_REPLY) {
		/* RFC 5944 section 4.6: both hardware addresses are the announced one in the reply form. */
		f.target_link = *mac;
	}
	*ret_frame = f;
}

void arpnd_frame_question(const struct addr *target, const struct addr *sender,
                          const struct mac *mac, struct arpnd_frame *ret_frame)
{
	struct arpnd_frame f = {.kind = ARPND_FRAME_ARP_REQUEST,
	                        .eth_from = *mac,
	                        .eth_to = arpnd_frame_broadcast,
	                        .sender = *sender,
	                        .target = *target,
	                        .link = *mac,
	                        .has_link = true};

	if (target->family == AF_INET6) {
		f.kind = ARPND_FRAME_SOLICIT;
		arpnd_frame_solicited_node(target, &f.to, &f.eth_to);
		/* RFC 4861 section 4.3: no option when the source is the unspecified address. */
		f.has_link = !addr_is_unspecified(sender);
		if (!f.has_link)
			memset(&f.link, 0, sizeof(f.link));
	}
	*ret_frame = f;
}

/* --- parsing --- */

static int parse_arp(const uint8_t *arp, size_t len, struct arpnd_frame *f)
{
	/* Ethernet pads short frames, so more is fine. */
	if (len < ARP_BYTES || memcmp(arp, arp_head, sizeof(arp_head)) != 0)
		return -EBADMSG;
	switch (get16(arp + 6)) {
	case ARP_OP_REQUEST:
		f->kind = ARPND_FRAME_ARP_REQUEST;
		break;
	case ARP_OP_REPLY:
		f->kind = ARPND_FRAME_ARP_REPLY;
		break;
	default:
		return -EPROTO;
	}
	memcpy(f->link.bytes, arp + 8, 6);
	f->has_link = true;
	memcpy(f->target_link.bytes, arp + 18, 6);
	(void) addr_from_bytes(AF_INET, arp + 14, 4, &f->sender);
	(void) addr_from_bytes(AF_INET, arp + 24, 4, &f->target);
	return 0;
}

/* Options are {type, length in 8 bytes, ...}; a length of 0 would never end. Unknown ones are
 * passed over (RFC 4861 section 4.6). */
static int parse_options(const uint8_t *p, size_t len, struct arpnd_frame *f)
{
	const uint8_t wanted =
	    f->kind == ARPND_FRAME_ADVERTISE ? OPTION_TARGET_LINK : OPTION_SOURCE_LINK;

	while (len > 0) {
		size_t option_len;

		if (len < 2 || p[1] == 0)
			return -EBADMSG;
		option_len = (size_t) p[1] * 8;
		if (option_len > len)
			return -EBADMSG;
		if (p[0] == wanted) {
			if (option_len != LINK_OPTION_BYTES)
				return -EBADMSG;
			memcpy(f->link.bytes, p + 2, 6);
			f->has_link = true;
		}
		p += option_len;
		len -= option_len;
	}
	return 0;
}

/* RFC 4861 sections 7.1.1 and 7.1.2. */
static int check_nd(const struct arpnd_frame *f)
{
	const bool to_group = addr_is_multicast(&f->to);

	if (addr_is_multicast(&f->target) || addr_is_multicast(&f->sender))
		return -EBADMSG;
	if (f->kind == ARPND_FRAME_ADVERTISE)
		return to_group && f->solicited ? -EBADMSG : 0;
	/* Duplicate detection goes to the solicited-node group and has no link-layer option. */
	if (addr_is_unspecified(&f->sender) && (f->has_link || !to_group))
		return -EBADMSG;
	return 0;
}

static int parse_nd(const uint8_t *ip6, size_t len, struct arpnd_frame *f)
{
	const uint8_t *nd = ip6 + IP6_BYTES;
	size_t payload_len;
	int r;

	if (len < IP6_BYTES || ip6[0] >> 4 != 6)
		return -EBADMSG;
	/* Nobody has a reason to put an extension header before these. */
	if (ip6[6] != IPPROTO_ICMPV6)
		return -EPROTO;
	payload_len = get16(ip6 + 4);
	if (payload_len == 0 || payload_len > len - IP6_BYTES)
		return -EBADMSG;
	switch (nd[0]) {
	case ND_NEIGHBOR_SOLICIT:
		f->kind = ARPND_FRAME_SOLICIT;
		break;
	case ND_NEIGHBOR_ADVERT:
		f->kind = ARPND_FRAME_ADVERTISE;
		break;
	default:
		return -EPROTO;
	}
	/* Hop limit 255: it has not passed a router. */
	if (payload_len < ND_BYTES || ip6[7] != 255 || nd[1] != 0 ||
	    icmp6_checksum(ip6, payload_len) != 0)
		return -EBADMSG;
	(void) addr_from_bytes(AF_INET6, ip6 + 8, 16, &f->sender);
	(void) addr_from_bytes(AF_INET6, ip6 + 24, 16, &f->to);
	(void) addr_from_bytes(AF_INET6, nd + 8, 16, &f->target);
	if (f->kind == ARPND_FRAME_ADVERTISE) {
		f->solicited = (nd[4] & FLAG_SOLICITED) != 0;
		f->override = (nd[4] & FLAG_OVERRIDE) != 0;
	}
	r = parse_options(nd + ND_BYTES, payload_len - ND_BYTES, f);
	return r < 0 ? r : check_nd(f);
}

int arpnd_frame_parse(const void *data, size_t len, struct arpnd_frame *ret_frame)
{
	const uint8_t *p = data;
	struct arpnd_frame f = {0};
	int r;

	if (len < ETH_BYTES || len > ARPND_FRAME_PARSE_MAX)
		return -EBADMSG;
	memcpy(f.eth_to.bytes, p, 6);
	memcpy(f.eth_from.bytes, p + 6, 6);
	switch (get16(p + 12)) {
	case ETHERTYPE_ARP:
		r = parse_arp(p + ETH_BYTES, len - ETH_BYTES, &f);
		break;
	case ETHERTYPE_IPV6:
		r = parse_nd(p + ETH_BYTES, len - ETH_BYTES, &f);
		break;
	default:
		return -EPROTO;
	}
	if (r < 0)
		return r;
	*ret_frame = f;
	return 0;
}
