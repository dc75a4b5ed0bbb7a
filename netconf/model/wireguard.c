/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WireGuard's settings as a value. A peer is known by its public key, so peers are kept sorted by
 * it and two sets are compared in one pass.
 */
#include "netconf/model/wireguard.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"

/* --- life --- */

struct wireguard *wireguard_new(void)
{
	return NEW0(struct wireguard);
}

static void peer_fini(struct wireguard_peer *peer)
{
	explicit_bzero(&peer->preshared_key, sizeof(peer->preshared_key));
	free(peer->preshared_key_file);
	free(peer->allowed);
}

void wireguard_free(struct wireguard *wireguard)
{
	if (wireguard == NULL)
		return;
	for (size_t i = 0; i < wireguard->n_peers; i++)
		peer_fini(&wireguard->peers[i]);
	free(wireguard->peers);
	free(wireguard->private_key_file);
	explicit_bzero(wireguard, sizeof(*wireguard));
	free(wireguard);
}

static char *copy_text(const char *text)
{
	return text != NULL ? xstrdup(text) : NULL;
}

struct wireguard *wireguard_copy(const struct wireguard *wireguard)
{
	struct wireguard *copy = xmemdup(wireguard, sizeof(*wireguard));

	copy->private_key_file = copy_text(wireguard->private_key_file);
	copy->peers = xcalloc(wireguard->n_peers, sizeof(*copy->peers));
	for (size_t i = 0; i < wireguard->n_peers; i++) {
		const struct wireguard_peer *from = &wireguard->peers[i];
		struct wireguard_peer *to = &copy->peers[i];

		*to = *from;
		to->preshared_key_file = copy_text(from->preshared_key_file);
		to->allowed = xmemdup(from->allowed, from->n_allowed * sizeof(*from->allowed));
	}
	return copy;
}

/* The old array held keys, so it is wiped and not left to realloc(). */
struct wireguard_peer *wireguard_add_peer(struct wireguard *wireguard)
{
	size_t bytes = wireguard->n_peers * sizeof(*wireguard->peers);
	struct wireguard_peer *peers = xcalloc(wireguard->n_peers + 1, sizeof(*peers));

	if (wireguard->peers != NULL) {
		memcpy(peers, wireguard->peers, bytes);
		explicit_bzero(wireguard->peers, bytes);
	}
	free(wireguard->peers);
	wireguard->peers = peers;
	return &peers[wireguard->n_peers++];
}

void wireguard_remove_peer(struct wireguard *wireguard, size_t i)
{
	peer_fini(&wireguard->peers[i]);
	wireguard->n_peers--;
	memmove(&wireguard->peers[i], &wireguard->peers[i + 1],
	        (wireguard->n_peers - i) * sizeof(*wireguard->peers));
}

void wireguard_peer_allow(struct wireguard_peer *peer, const struct prefix *prefix)
{
	peer->allowed = xreallocarray(peer->allowed, peer->n_allowed + 1, sizeof(*peer->allowed));
	peer->allowed[peer->n_allowed++] = *prefix;
}

/* --- normal form --- */

static int compare_keys(const struct wireguard_key *a, const struct wireguard_key *b)
{
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

static int compare_peers(const void *a, const void *b)
{
	return compare_keys(&((const struct wireguard_peer *) a)->public_key,
	                    &((const struct wireguard_peer *) b)->public_key);
}

static int compare_allowed(const void *a, const void *b)
{
	return prefix_compare(a, b);
}

static void normalise_allowed(struct wireguard_peer *peer)
{
	size_t n = 0;

	for (size_t i = 0; i < peer->n_allowed; i++)
		prefix_mask(&peer->allowed[i]);
	if (peer->n_allowed > 0)
		qsort(peer->allowed, peer->n_allowed, sizeof(*peer->allowed), compare_allowed);
	for (size_t i = 0; i < peer->n_allowed; i++) {
		if (n == 0 || prefix_compare(&peer->allowed[n - 1], &peer->allowed[i]) != 0)
			peer->allowed[n++] = peer->allowed[i];
	}
	peer->n_allowed = n;
}

/* The bits that Curve25519 fixes (RFC 7748, section 5): the kernel reads back a key with them. */
static void clamp(struct wireguard_key *key)
{
	key->bytes[0] &= 248;
	key->bytes[WIREGUARD_KEY_BYTES - 1] &= 127;
	key->bytes[WIREGUARD_KEY_BYTES - 1] |= 64;
}

void wireguard_normalise(struct wireguard *wireguard)
{
	static const struct wireguard_key none;

	if (compare_keys(&wireguard->private_key, &none) != 0)
		clamp(&wireguard->private_key);
	for (size_t i = 0; i < wireguard->n_peers; i++)
		normalise_allowed(&wireguard->peers[i]);
	if (wireguard->n_peers > 0)
		qsort(wireguard->peers, wireguard->n_peers, sizeof(*wireguard->peers), compare_peers);
}

/* --- comparing --- */

const struct wireguard_peer *wireguard_find_peer(const struct wireguard *wireguard,
                                                 const struct wireguard_key *public_key)
{
	for (size_t i = 0; i < wireguard->n_peers; i++) {
		if (compare_keys(&wireguard->peers[i].public_key, public_key) == 0)
			return &wireguard->peers[i];
	}
	return NULL;
}

bool wireguard_peer_equal(const struct wireguard_peer *a, const struct wireguard_peer *b)
{
	if (compare_keys(&a->public_key, &b->public_key) != 0 ||
	    a->has_preshared_key != b->has_preshared_key ||
	    compare_keys(&a->preshared_key, &b->preshared_key) != 0 ||
	    a->keepalive_s != b->keepalive_s || a->n_allowed != b->n_allowed)
		return false;
	/* Without an endpoint of its own a peer has that from which it called last. */
	if (addr_is_set(&a->endpoint.addr) && !endpoint_equal(&a->endpoint, &b->endpoint))
		return false;
	for (size_t i = 0; i < a->n_allowed; i++) {
		if (prefix_compare(&a->allowed[i], &b->allowed[i]) != 0)
			return false;
	}
	return true;
}

static bool peers_equal(const struct wireguard *want, const struct wireguard *have)
{
	if (want->n_peers != have->n_peers)
		return false;
	for (size_t i = 0; i < want->n_peers; i++) {
		if (!wireguard_peer_equal(&want->peers[i], &have->peers[i]))
			return false;
	}
	return true;
}

unsigned wireguard_differs(const struct wireguard *want, const struct wireguard *have)
{
	unsigned differs = want->has & ~have->has;

	if (compare_keys(&want->private_key, &have->private_key) != 0)
		differs |= WIREGUARD_PRIVATE_KEY;
	/* Any port is the one that the kernel has taken. */
	if (want->listen_port != 0 && want->listen_port != have->listen_port)
		differs |= WIREGUARD_LISTEN_PORT;
	if (want->fwmark != have->fwmark)
		differs |= WIREGUARD_FWMARK;
	if (!peers_equal(want, have))
		differs |= WIREGUARD_PEERS;
	return differs & want->has;
}

/* --- keys --- */

int wireguard_key_parse(const char *text, struct wireguard_key *ret_key)
{
	char *data = NULL;
	size_t len = 0;
	int r;

	if (strlen(text) != WIREGUARD_KEY_TEXT_MAX - 1)
		return -EINVAL;
	r = base64_decode(text, &data, &len);
	if (r < 0)
		return -EINVAL;
	if (len == sizeof(ret_key->bytes))
		memcpy(ret_key->bytes, data, len);
	else
		r = -EINVAL;
	explicit_bzero(data, len);
	free(data);
	return r < 0 ? r : 0;
}

const char *wireguard_key_format(const struct wireguard_key *public_key,
                                 char buf[static WIREGUARD_KEY_TEXT_MAX])
{
	AUTO(free) char *text = base64_encode(public_key->bytes, sizeof(public_key->bytes));

	(void) snprintf(buf, WIREGUARD_KEY_TEXT_MAX, "%s", text);
	return buf;
}
