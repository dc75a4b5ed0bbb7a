/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table with open addressing and steps of one, at most three quarters full, of a power of
 * two of slots. A slot whose hash is 0 is free.
 */
#include "bolt/keyset.h"

#include <stdlib.h>
#include <sys/random.h>

#include "base/mem.h"

#define SLOTS_MIN 1024

struct slot {
	uint64_t hash;
	uint64_t number;
};

struct keyset {
	uint64_t secret[2];
	struct slot *slots;
	size_t n_slots;
	size_t n_keys;
	size_t max_keys;
};

struct keyset *keyset_new(size_t max_keys)
{
	struct keyset *set = NEW0(struct keyset);

	/* Before the kernel's generator is ready it fails; then all that is lost is the protection from
	 * keys made up for the purpose. */
	(void) !getrandom(set->secret, sizeof(set->secret), GRND_NONBLOCK);
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

/* --- SipHash-2-4 (Aumasson and Bernstein, 2012) ----------------------------------------------- */

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

uint64_t keyset_hash(const struct keyset *set, struct bytes key)
{
	uint64_t v[4] = {
	    set->secret[0] ^ 0x736f6d6570736575u,
	    set->secret[1] ^ 0x646f72616e646f6du,
	    set->secret[0] ^ 0x6c7967656e657261u,
	    set->secret[1] ^ 0x7465646279746573u,
	};
	uint64_t last = (uint64_t) (key.len & 0xff) << 56;
	size_t i = 0;

	for (; key.len - i >= 8; i += 8)
		sip_word(v, bytes_le64(key.data + i));
	for (unsigned shift = 0; i < key.len; i++, shift += 8)
		last |= (uint64_t) key.data[i] << shift;
	sip_word(v, last);
	v[2] ^= 0xff;
	for (unsigned i_round = 0; i_round < 4; i_round++)
		sip_round(v);
	last = v[0] ^ v[1] ^ v[2] ^ v[3];
	return last != 0 ? last : 1;
}

/* --- the table -------------------------------------------------------------------------------- */

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
