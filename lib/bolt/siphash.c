/* SPDX-License-Identifier: Apache-2.0 */
/* Four words that are stirred twice for each eight bytes, and four times in the end. */
#include "bolt/siphash.h"

#include <sys/random.h>

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
