/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Signatures of entries: which node vouches for a snapshot, and whether that node is trusted. The
 * signature is over catalog_signed_text(), which has the digests of the stored file and of the
 * database, so without the key of a node an attacker can neither make an entry nor pass a file off
 * as the one of an entry. What it cannot show is that an entry is missing. Pure.
 *
 * In an entry: "signature": "v1:<base64>", "key": "ed25519:<base64>".
 */

#include "etcdwatch/catalog/catalog.h"
#include "web/signature.h"

/* Whom this node trusts. All borrowed. */
struct trust {
	const char *const *keys; /* public keys */
	size_t n;
	bool is_configured; /* else the only one is this node's own, and others are let pass */
};

enum trust_verdict {
	TRUST_GOOD,    /* signed by a key that is trusted */
	TRUST_NONE,    /* not signed, as by older versions */
	TRUST_UNKNOWN, /* signed by another key */
	TRUST_WRONG,   /* signed, but not this */
	TRUST_NEWER,   /* in a format of a newer version: it cannot be checked, so it proves nothing */
};

/* "trusted", "none", "unknown-key", "wrong", "newer-format". */
extern const char *const trust_verdict_words[];

/* Replaces the signature that is there. */
void trust_sign(struct catalog_entry *entry, const struct signature_key *key);
/* Where `trust` is NULL no key is trusted. */
enum trust_verdict trust_judge(const struct catalog_entry *entry, const struct trust *trust);

/* Of what has a right signature by that key; "": it has none. */
enum trust_verdict trust_judge_key(const char *key, const struct trust *trust);

/* It may be taken when it was named; and when it was chosen by a program, out of a store. */
bool trust_allows_named(const struct trust *trust, enum trust_verdict verdict);
bool trust_allows_chosen(const struct trust *trust, enum trust_verdict verdict);
