/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One table of random bytes, made once; a stream runs through it again and again from where its
 * seed says. Comparing is then as fast as memcmp(3), which bulk tests need.
 */

#include "stream.h"

#include <stdbool.h>
#include <string.h>

#include "base/macro.h"

#define PERIOD 1048583 /* a prime */
#define SEED_STRIDE 7919

static const uint8_t *table(void)
{
	static uint8_t bytes[PERIOD];
	static bool made;
	uint64_t x = UINT64_C(0x9e3779b97f4a7c15);

	for (size_t i = 0; i < PERIOD && !made; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		bytes[i] = (uint8_t) (x >> 32);
	}
	made = true;
	return bytes;
}

static size_t place(uint64_t seed, uint64_t offset)
{
	return (size_t) ((seed % PERIOD * SEED_STRIDE + offset % PERIOD) % PERIOD);
}

void stream_fill(uint64_t seed, uint64_t offset, void *bytes, size_t len)
{
	const uint8_t *from = table();
	uint8_t *to = bytes;

	for (size_t done = 0; done < len;) {
		size_t at = place(seed, offset + done);
		size_t n = MIN(len - done, PERIOD - at);

		memcpy(to + done, from + at, n);
		done += n;
	}
}

size_t stream_match(uint64_t seed, uint64_t offset, const void *bytes, size_t len)
{
	const uint8_t *want = table(), *got = bytes;

	for (size_t done = 0; done < len;) {
		size_t at = place(seed, offset + done);
		size_t n = MIN(len - done, PERIOD - at);

		if (memcmp(got + done, want + at, n) != 0) {
			while (got[done] == want[at]) {
				done++;
				at++;
			}
			return done;
		}
		done += n;
	}
	return len;
}
