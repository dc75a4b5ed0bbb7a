/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The socket for WireGuard's part of the kernel. A device is read before it is written, since a
 * peer that stays must not be made anew, and one that goes must be named.
 *
 * One message sets the device, then each peer that goes or changes has one of its own, or several
 * if it may send from many prefixes: a message has a fixed size, and the kernel adds what comes in
 * a later one. In a dump it is the kernel that breaks a peer off and goes on in the next message.
 */
#include "netconf/kernel/wireguard_netlink.h"

#include <linux/genetlink.h>
#include <linux/wireguard.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "net/netlink.h"

/* Prefixes in one message: each takes 44 bytes, of 8 KiB. */
#define ALLOWED_PER_MESSAGE 128

/* --- requests --- */

static void begin(const struct wireguard_writer *w, struct message *m)
{
	message_begin_generic(m, w->family, 0, WG_CMD_SET_DEVICE, WG_GENL_VERSION);
	message_text(m, WGDEVICE_A_IFNAME, w->link);
}

static bool put_device(const struct wireguard_writer *w, struct message *m)
{
	unsigned differs = wireguard_differs(w->want, w->have) & ~(unsigned) WIREGUARD_PEERS;

	if (differs == 0)
		return false;
	begin(w, m);
	if ((differs & WIREGUARD_PRIVATE_KEY) != 0)
		message_bytes(m, WGDEVICE_A_PRIVATE_KEY, w->want->private_key.bytes, WG_KEY_LEN);
	if ((differs & WIREGUARD_LISTEN_PORT) != 0)
		message_u16(m, WGDEVICE_A_LISTEN_PORT, w->want->listen_port);
	if ((differs & WIREGUARD_FWMARK) != 0)
		message_u32(m, WGDEVICE_A_FWMARK, w->want->fwmark);
	return true;
}

static void put_endpoint(struct message *m, const struct endpoint *endpoint)
{
	struct sockaddr_storage address = {0};
	socklen_t len;

	if (!addr_is_set(&endpoint->addr))
		return;
	len = endpoint_to_sockaddr(endpoint, &address);
	message_bytes(m, WGPEER_A_ENDPOINT, &address, len);
}

static void put_allowed(struct message *m, const struct wireguard_peer *peer, size_t from, size_t n)
{
	struct nlattr *list = message_nest(m, WGPEER_A_ALLOWEDIPS);

	for (size_t i = from; i < from + n; i++) {
		const struct prefix *prefix = &peer->allowed[i];
		struct nlattr *item = message_nest(m, 0);

		message_u16(m, WGALLOWEDIP_A_FAMILY, prefix->addr.family);
		message_bytes(m, WGALLOWEDIP_A_IPADDR, prefix->addr.bytes, addr_len_bytes(&prefix->addr));
		message_u8(m, WGALLOWEDIP_A_CIDR_MASK, prefix->len);
		message_end(m, item);
	}
	message_end(m, list);
}

/* One peer, in a list of one. */
static void begin_peer(const struct wireguard_writer *w, const struct wireguard_peer *peer,
                       uint32_t flags, struct message *m, struct nlattr *ret_nests[2])
{
	begin(w, m);
	ret_nests[0] = message_nest(m, WGDEVICE_A_PEERS);
	ret_nests[1] = message_nest(m, 0);
	message_bytes(m, WGPEER_A_PUBLIC_KEY, peer->public_key.bytes, WG_KEY_LEN);
	message_u32(m, WGPEER_A_FLAGS, flags);
}

static void end_peer(struct message *m, struct nlattr *nests[2])
{
	message_end(m, nests[1]);
	message_end(m, nests[0]);
}

/* True if there is more of this peer. */
static bool put_peer(const struct wireguard_writer *w, const struct wireguard_peer *peer,
                     struct message *m)
{
	size_t left = peer->n_allowed - w->allowed;
	size_t n = left < ALLOWED_PER_MESSAGE ? left : ALLOWED_PER_MESSAGE;
	struct nlattr *nests[2];

	begin_peer(w, peer, w->allowed == 0 ? WGPEER_F_REPLACE_ALLOWEDIPS : 0, m, nests);
	if (w->allowed == 0) {
		/* All zero: none. */
		message_bytes(m, WGPEER_A_PRESHARED_KEY, peer->preshared_key.bytes, WG_KEY_LEN);
		put_endpoint(m, &peer->endpoint);
		message_u16(m, WGPEER_A_PERSISTENT_KEEPALIVE_INTERVAL, peer->keepalive_s);
	}
	put_allowed(m, peer, w->allowed, n);
	end_peer(m, nests);
	return n < left;
}

static bool next_old_peer(struct wireguard_writer *w, struct message *m)
{
	while (w->peer < w->have->n_peers) {
		const struct wireguard_peer *peer = &w->have->peers[w->peer++];
		struct nlattr *nests[2];

		if (wireguard_find_peer(w->want, &peer->public_key) != NULL)
			continue;
		begin_peer(w, peer, WGPEER_F_REMOVE_ME, m, nests);
		end_peer(m, nests);
		return true;
	}
	return false;
}

static bool next_new_peer(struct wireguard_writer *w, struct message *m)
{
	while (w->peer < w->want->n_peers) {
		const struct wireguard_peer *peer = &w->want->peers[w->peer];
		const struct wireguard_peer *old = wireguard_find_peer(w->have, &peer->public_key);

		if (old != NULL && wireguard_peer_equal(peer, old)) {
			w->peer++;
			continue;
		}
		if (put_peer(w, peer, m)) {
			w->allowed += ALLOWED_PER_MESSAGE;
		} else {
			w->allowed = 0;
			w->peer++;
		}
		return true;
	}
	return false;
}

bool wireguard_writer_next(struct wireguard_writer *w, struct message *m)
{
	bool has_peers = (w->want->has & WIREGUARD_PEERS) != 0;

	if (w->part == WIREGUARD_DEVICE) {
		w->part = WIREGUARD_OLD_PEERS;
		if (put_device(w, m))
			return true;
	}
	if (w->part == WIREGUARD_OLD_PEERS && has_peers) {
		if (next_old_peer(w, m))
			return true;
		w->part = WIREGUARD_NEW_PEERS;
		w->peer = 0;
	}
	return has_peers && next_new_peer(w, m);
}

/* --- answers --- */

static void take_allowed(const struct nlattr *attr, struct wireguard_peer *peer)
{
	const struct nlattr *table[WGALLOWEDIP_A_MAX + 1];
	struct prefix prefix = {0};
	sa_family_t family;

	attr_read_nested(attr, table, ARRAY_SIZE(table));
	family = attr_u16(table[WGALLOWEDIP_A_FAMILY], AF_UNSPEC);
	prefix.len = attr_u8(table[WGALLOWEDIP_A_CIDR_MASK], 0);
	if (table[WGALLOWEDIP_A_IPADDR] != NULL &&
	    addr_from_bytes(family, attr_data(table[WGALLOWEDIP_A_IPADDR]),
	                    attr_len(table[WGALLOWEDIP_A_IPADDR]), &prefix.addr) == 0)
		wireguard_peer_allow(peer, &prefix);
}

/* The last one, if it is continued. */
static struct wireguard_peer *peer_of_key(struct wireguard *wireguard,
                                          const struct wireguard_key *key)
{
	struct wireguard_peer *last =
	    wireguard->n_peers > 0 ? &wireguard->peers[wireguard->n_peers - 1] : NULL;

	if (last != NULL && memcmp(&last->public_key, key, sizeof(*key)) == 0)
		return last;
	last = wireguard_add_peer(wireguard);
	last->public_key = *key;
	return last;
}

static void take_peer(const struct nlattr *attr, struct wireguard *wireguard)
{
	static const struct wireguard_key none;
	const struct nlattr *table[WGPEER_A_MAX + 1], *allowed;
	struct sockaddr_storage address = {0};
	struct wireguard_peer *peer;
	struct wireguard_key key;

	attr_read_nested(attr, table, ARRAY_SIZE(table));
	if (!attr_bytes(table[WGPEER_A_PUBLIC_KEY], key.bytes, sizeof(key.bytes)))
		return;
	peer = peer_of_key(wireguard, &key);
	if (attr_bytes(table[WGPEER_A_PRESHARED_KEY], peer->preshared_key.bytes,
	               sizeof(peer->preshared_key.bytes)))
		peer->has_preshared_key = memcmp(&peer->preshared_key, &none, sizeof(none)) != 0;
	if (attr_len(table[WGPEER_A_ENDPOINT]) <= sizeof(address) &&
	    attr_bytes(table[WGPEER_A_ENDPOINT], &address, attr_len(table[WGPEER_A_ENDPOINT])))
		(void) endpoint_from_sockaddr((const struct sockaddr *) &address, &peer->endpoint);
	peer->keepalive_s = attr_u16(table[WGPEER_A_PERSISTENT_KEEPALIVE_INTERVAL], peer->keepalive_s);
	ATTR_FOR_EACH(allowed, table[WGPEER_A_ALLOWEDIPS])
	take_allowed(allowed, peer);
}

void wireguard_decode(const struct nlmsghdr *nlh, void *userdata)
{
	struct wireguard *wireguard = userdata;
	const struct nlattr *table[WGDEVICE_A_MAX + 1], *peer;

	if (!attr_read(nlh, NULL, sizeof(struct genlmsghdr), table, ARRAY_SIZE(table)))
		return;
	wireguard->has =
	    WIREGUARD_PRIVATE_KEY | WIREGUARD_LISTEN_PORT | WIREGUARD_FWMARK | WIREGUARD_PEERS;
	(void) attr_bytes(table[WGDEVICE_A_PRIVATE_KEY], wireguard->private_key.bytes,
	                  sizeof(wireguard->private_key.bytes));
	wireguard->listen_port = attr_u16(table[WGDEVICE_A_LISTEN_PORT], wireguard->listen_port);
	wireguard->fwmark = attr_u32(table[WGDEVICE_A_FWMARK], wireguard->fwmark);
	ATTR_FOR_EACH(peer, table[WGDEVICE_A_PEERS])
	take_peer(peer, wireguard);
}

/* --- the socket --- */

struct wireguard_netlink {
	struct netlink *nl;
	uint16_t family;
};

struct wireguard_netlink *wireguard_netlink_new(void)
{
	return NEW0(struct wireguard_netlink);
}

void wireguard_netlink_free(struct wireguard_netlink *wg)
{
	if (wg == NULL)
		return;
	netlink_free(wg->nl);
	free(wg);
}

const char *wireguard_netlink_error_text(const struct wireguard_netlink *wg)
{
	return wg->nl != NULL ? netlink_error_text(wg->nl) : "";
}

static int open_once(struct wireguard_netlink *wg)
{
	int r = 0;

	if (wg->nl == NULL)
		r = netlink_new(NULL, NETLINK_GENERIC, &wg->nl);
	if (r == 0 && wg->family == 0)
		r = netlink_find_family(wg->nl, WG_GENL_NAME, &wg->family);
	return r;
}

int wireguard_netlink_read(struct wireguard_netlink *wg, const char *link,
                           struct wireguard **ret_wireguard)
{
	AUTO(wireguard_free) struct wireguard *wireguard = wireguard_new();
	AUTO(message_free) struct message *m = message_new();
	int r = open_once(wg);

	if (r < 0)
		return r;
	message_begin_generic(m, wg->family, NLM_F_DUMP, WG_CMD_GET_DEVICE, WG_GENL_VERSION);
	message_text(m, WGDEVICE_A_IFNAME, link);
	r = netlink_ask(wg->nl, m, wireguard_decode, wireguard);
	if (r < 0)
		return r;
	wireguard_normalise(wireguard);
	*ret_wireguard = TAKE_PTR(wireguard);
	return 0;
}

int wireguard_netlink_write(struct wireguard_netlink *wg, const char *link,
                            const struct wireguard *want)
{
	AUTO(wireguard_free) struct wireguard *have = NULL;
	struct wireguard_writer writer = {.link = link, .want = want};
	AUTO(message_free) struct message *m = message_new();
	int r = wireguard_netlink_read(wg, link, &have);

	if (r < 0)
		return r;
	writer.have = have;
	writer.family = wg->family;
	while (r == 0 && wireguard_writer_next(&writer, m))
		r = netlink_ask(wg->nl, m, NULL, NULL);
	return r;
}
