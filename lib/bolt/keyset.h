/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A set of user keys with a number each, in bounded memory: a key is kept as a 64-bit hash, 16
 * bytes in all, and there is room for so many and no more. The hash is SipHash-2-4 under a key that
 * the kernel draws for each set, so nobody who writes keys can arrange for two of them to be taken
 * for one; by chance, a million keys meet once in thirty million sets.
 *
 * Not safe from several threads.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bolt/bytes.h"

/*
 * SipHash-2-4 (Aumasson and Bernstein, 2012) for tables of keys that others choose: without the
 * secret nobody can make two of them meet.
 */

struct siphash {
	uint64_t secret[2];
};

/* A secret of the kernel's; before its generator is ready, one that anybody could guess. */
struct siphash siphash_draw(void);

uint64_t siphash_of(const struct siphash *hash, struct bytes bytes);

struct keyset;

/* It begins small and grows to room for max_keys. */
struct keyset *keyset_new(size_t max_keys);
void keyset_free(struct keyset *set);
DEFINE_AUTO(struct keyset, keyset_free);

/* How this set knows a key. */
uint64_t keyset_hash(const struct keyset *set, struct bytes key);

/* Enters a key, or gives it another number; false: it is new, and there is no more room. */
bool keyset_put(struct keyset *set, uint64_t hash, uint64_t number);
bool keyset_find(const struct keyset *set, uint64_t hash, uint64_t *ret_number);

/* Empties it; the hashes stay what they are. */
void keyset_clear(struct keyset *set);
