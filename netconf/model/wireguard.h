/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a WireGuard link is besides a link: its key, its port and its peers. Pure values.
 *
 * Keys are wiped when they are freed. Nothing here formats a private or preshared key, and nobody
 * else may: what is printed instead is the public key, or that there is one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/endpoint.h"

#define WIREGUARD_KEY_BYTES 32
#define WIREGUARD_KEY_TEXT_MAX 45 /* base64 */
#define WIREGUARD_PEERS_MAX 1024
#define WIREGUARD_ALLOWED_MAX 1024 /* of one peer */

struct wireguard_key {
	uint8_t bytes[WIREGUARD_KEY_BYTES];
};

struct wireguard_peer {
	struct wireguard_key public_key;
	bool has_preshared_key;
	struct wireguard_key preshared_key;
	char *preshared_key_file; /* where it is read from before applying; NULL: no file */
	struct endpoint endpoint; /* family AF_UNSPEC: none, the peer calls us */
	uint16_t keepalive_s;     /* 0: off */
	struct prefix *allowed;   /* sorted, host bits masked */
	size_t n_allowed;
};

enum wireguard_attr {
	WIREGUARD_PRIVATE_KEY = 1 << 0,
	WIREGUARD_LISTEN_PORT = 1 << 1,
	WIREGUARD_FWMARK = 1 << 2,
	WIREGUARD_PEERS = 1 << 3,
};

struct wireguard {
	unsigned has; /* enum wireguard_attr */
	struct wireguard_key private_key;
	char *private_key_file;       /* where it is read from before applying; NULL: no file */
	uint16_t listen_port;         /* 0: any */
	uint32_t fwmark;              /* 0: off */
	struct wireguard_peer *peers; /* sorted by public key */
	size_t n_peers;
};

struct wireguard *wireguard_new(void);
struct wireguard *wireguard_copy(const struct wireguard *wireguard);
void wireguard_free(struct wireguard *wireguard);
DEFINE_AUTO(struct wireguard, wireguard_free);

/* Appended; borrowed until the next one. */
struct wireguard_peer *wireguard_add_peer(struct wireguard *wireguard);
void wireguard_remove_peer(struct wireguard *wireguard, size_t i); /* the order stays */
void wireguard_peer_allow(struct wireguard_peer *peer, const struct prefix *prefix);

/* Sorts peers and prefixes, masks host bits, drops what is there twice, and clamps the private key
 * as the kernel does. */
void wireguard_normalise(struct wireguard *wireguard);

/* enum wireguard_attr: what `want` has and `have` has otherwise. Both normalised. */
unsigned wireguard_differs(const struct wireguard *want, const struct wireguard *have);
bool wireguard_peer_equal(const struct wireguard_peer *a, const struct wireguard_peer *b);
/* NULL: there is none. */
const struct wireguard_peer *wireguard_find_peer(const struct wireguard *wireguard,
                                                 const struct wireguard_key *public_key);

/* Base64 of 32 bytes. 0, or -EINVAL. */
int wireguard_key_parse(const char *text, struct wireguard_key *ret_key);
/* For public keys only. */
const char *wireguard_key_format(const struct wireguard_key *public_key,
                                 char buf[static WIREGUARD_KEY_TEXT_MAX]);
