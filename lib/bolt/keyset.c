/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table with open addressing and steps of one, at most three quarters full, of a power of
 * two of slots. A slot whose hash is 0 is free.
 */
#include "bolt/keyset.h"

#include <stdlib.h>
#include <sys/random.h>

#include "base/mem.h"

/* --- siphash --- */

/* Four words that are stirred twice for each eight bytes, and four times in the end. */

struct siphash siphash_draw(void)
{
	struct siphash hash = {0};

	(void) !getrandom(hash.secret, sizeof(hash.secret), GRND_NONBLOCK);
	return hash;
}

static inline uint64_t rotate(uint64_t v, unsigned bits)
{
	return v << bits | v >> (64 - bits);
}

static inline void sip_round(uint64_t v[static 4])
{
	v[0] += v[1];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[0] = rotate(v[0], 32);
	v[2] += v[3];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[2] = rotate(v[2], 32);
}

static inline void sip_word(uint64_t v[static 4], uint64_t word)
{
	v[3] ^= word;
	sip_round(v);
	sip_round(v);
	v[0] ^= word;
}

uint64_t siphash_of(const struct siphash *hash, struct bytes bytes)
{
	uint64_t v[4] = {
	    hash->secret[0] ^ 0x736f6d6570736575u,
	    hash->secret[1] ^ 0x646f72616e646f6du,
	    hash->secret[0] ^ 0x6c7967656e657261u,
	    hash->secret[1] ^ 0x7465646279746573u,
	};
	uint64_t last = (uint64_t) (bytes.len & 0xff) << 56;
	size_t i = 0;

	for (; bytes.len - i >= 8; i += 8)
		sip_word(v, bytes_le64(bytes.data + i));
	for (unsigned shift = 0; i < bytes.len; i++, shift += 8)
		last |= (uint64_t) bytes.data[i] << shift;
	sip_word(v, last);
	v[2] ^= 0xff;
	for (unsigned stir = 0; stir < 4; stir++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* --- keyset --- */

#define SLOTS_MIN 1024

struct slot {
	uint64_t hash;
	uint64_t number;
};

struct keyset {
	struct siphash siphash;
	struct slot *slots;
	size_t n_slots;
	size_t n_keys;
	size_t max_keys;
};

struct keyset *keyset_new(size_t max_keys)
{
	struct keyset *set = NEW0(struct keyset);

	set->siphash = siphash_draw();
	set->max_keys = max_keys;
	set->n_slots = SLOTS_MIN;
	set->slots = xcalloc(set->n_slots, sizeof(*set->slots));
	return set;
}

void keyset_free(struct keyset *set)
{
	if (set == NULL)
		return;
	free(set->slots);
	free(set);
}

void keyset_clear(struct keyset *set)
{
	memset(set->slots, 0, set->n_slots * sizeof(*set->slots));
	set->n_keys = 0;
}

uint64_t keyset_hash(const struct keyset *set, struct bytes key)
{
	uint64_t hash = siphash_of(&set->siphash, key);

	return hash != 0 ? hash : 1;
}

/* --- the table --- */

/* The slot of this hash, or the free one where it belongs. */
static struct slot *look_up(struct slot *slots, size_t n_slots, uint64_t hash)
{
	size_t i = hash & (n_slots - 1);

	while (slots[i].hash != 0 && slots[i].hash != hash)
		i = (i + 1) & (n_slots - 1);
	return &slots[i];
}

static void grow(struct keyset *set)
{
	size_t n_slots = set->n_slots * 2;
	struct slot *slots = xcalloc(n_slots, sizeof(*slots));

	for (size_t i = 0; i < set->n_slots; i++) {
		if (set->slots[i].hash != 0)
			*look_up(slots, n_slots, set->slots[i].hash) = set->slots[i];
	}
	free(set->slots);
	set->slots = slots;
	set->n_slots = n_slots;
}

bool keyset_put(struct keyset *set, uint64_t hash, uint64_t number)
{
	struct slot *slot = look_up(set->slots, set->n_slots, hash);

	if (slot->hash == 0) {
		if (set->n_keys >= set->max_keys)
			return false;
		if (set->n_keys >= set->n_slots / 4 * 3) {
			grow(set);
			slot = look_up(set->slots, set->n_slots, hash);
		}
		set->n_keys++;
	}
	*slot = (struct slot){.hash = hash, .number = number};
	return true;
}

bool keyset_find(const struct keyset *set, uint64_t hash, uint64_t *ret_number)
{
	const struct slot *slot = look_up(set->slots, set->n_slots, hash);

	if (slot->hash == 0)
		return false;
	*ret_number = slot->number;
	return true;
}
