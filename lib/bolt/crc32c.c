/* SPDX-License-Identifier: Apache-2.0 */
/*
 * By tables: eight bytes go through eight tables at a time.
 *
 * In lanes: the instruction takes eight bytes in three cycles but could begin one every cycle, so
 * long runs are cut into blocks of three lanes that are worked on at once. The lanes' sums are
 * joined by linearity: the sum of A followed by B is that of A, carried over as many zero bytes as
 * B has, xor that of B. A table says what carrying over a lane does to each byte of a sum.
 *
 * By folding: a sum is the remainder of the bytes, taken as a polynomial, so 16 of them may be
 * multiplied by the remainder of x^n and added to those that are n bits further on, and nothing
 * changes. Sixteen such pieces are carried along at once, until 64 bytes are left, which the
 * instruction sums up. (Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
 * Instruction", Intel 2009.)
 */
#include "bolt/crc32c.h"

#include <pthread.h>

#include "bolt/bytes.h"

#define POLYNOMIAL 0x82f63b78u /* bits reversed */
#define N_SLICES 8
#define LANE_BYTES 256
#define BLOCK_BYTES 256

static uint32_t slices[N_SLICES][256];
static uint32_t over_a_lane[4][256]; /* what carrying byte b at place i over a lane gives */
static enum crc32c_way best_way;
/* By what the two halves of a piece are multiplied to fold it over a block, and over 64 bytes. */
static uint64_t over_a_block[2], over_64_bytes[2];

static uint32_t over_a_byte(uint32_t sum)
{
	return (sum >> 8) ^ slices[0][sum & 0xff];
}

/* The remainder of x^n, bits reversed, and shifted as the product of two reversed numbers is. */
static uint64_t power_of_x(unsigned n)
{
	uint32_t power = 1u << 31;

	for (unsigned i = 0; i < n; i++)
		power = (power >> 1) ^ ((power & 1) != 0 ? POLYNOMIAL : 0);
	return (uint64_t) power << 1;
}

static void prepare_folding(unsigned n_bytes, uint64_t factors[static 2])
{
	factors[0] = power_of_x(n_bytes * 8 + 32);
	factors[1] = power_of_x(n_bytes * 8 - 32);
}

static void find_best_way(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("sse4.2"))
		best_way = CRC32C_LANES;
	if (best_way == CRC32C_LANES && __builtin_cpu_supports("avx512f") &&
	    __builtin_cpu_supports("vpclmulqdq"))
		best_way = CRC32C_FOLDING;
#endif
}

static void prepare(void)
{
	for (unsigned b = 0; b < 256; b++) {
		uint32_t sum = b;

		for (unsigned bit = 0; bit < 8; bit++)
			sum = (sum >> 1) ^ ((sum & 1) != 0 ? POLYNOMIAL : 0);
		slices[0][b] = sum;
	}
	for (unsigned k = 1; k < N_SLICES; k++) {
		for (unsigned b = 0; b < 256; b++)
			slices[k][b] = over_a_byte(slices[k - 1][b]);
	}
	for (unsigned place = 0; place < 4; place++) {
		for (unsigned b = 0; b < 256; b++) {
			uint32_t sum = (uint32_t) b << (8 * place);

			for (unsigned i = 0; i < LANE_BYTES; i++)
				sum = over_a_byte(sum);
			over_a_lane[place][b] = sum;
		}
	}
	prepare_folding(BLOCK_BYTES, over_a_block);
	prepare_folding(64, over_64_bytes);
	find_best_way();
}

static void prepare_once(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void) pthread_once(&once, prepare);
}

/* --- by tables --- */

static uint32_t by_tables(uint32_t sum, const uint8_t *p, size_t len)
{
	for (; len >= 8; p += 8, len -= 8) {
		uint32_t low = bytes_le32(p) ^ sum, high = bytes_le32(p + 4);

		sum = slices[7][low & 0xff] ^ slices[6][(low >> 8) & 0xff] ^ slices[5][(low >> 16) & 0xff] ^
		      slices[4][low >> 24] ^ slices[3][high & 0xff] ^ slices[2][(high >> 8) & 0xff] ^
		      slices[1][(high >> 16) & 0xff] ^ slices[0][high >> 24];
	}
	for (; len > 0; p++, len--)
		sum = (sum >> 8) ^ slices[0][(sum ^ *p) & 0xff];
	return sum;
}

/* --- by instructions --- */

#if defined(__x86_64__)

#include <immintrin.h>

static inline uint32_t carry_over_lane(uint64_t sum)
{
	return over_a_lane[0][sum & 0xff] ^ over_a_lane[1][(sum >> 8) & 0xff] ^
	       over_a_lane[2][(sum >> 16) & 0xff] ^ over_a_lane[3][(sum >> 24) & 0xff];
}

__attribute__((target("sse4.2"))) static uint32_t in_lanes(uint32_t start, const uint8_t *p,
                                                           size_t len)
{
	uint64_t sum = start;

	for (; len >= 3 * LANE_BYTES; p += 3 * LANE_BYTES, len -= 3 * LANE_BYTES) {
		uint64_t second = 0, third = 0;

		for (size_t i = 0; i < LANE_BYTES; i += 8) {
			sum = _mm_crc32_u64(sum, bytes_le64(p + i));
			second = _mm_crc32_u64(second, bytes_le64(p + LANE_BYTES + i));
			third = _mm_crc32_u64(third, bytes_le64(p + 2 * LANE_BYTES + i));
		}
		sum = carry_over_lane(carry_over_lane(sum) ^ second) ^ third;
	}
	for (; len >= 8; p += 8, len -= 8)
		sum = _mm_crc32_u64(sum, bytes_le64(p));
	for (; len > 0; p++, len--)
		sum = _mm_crc32_u8((uint32_t) sum, *p);
	return (uint32_t) sum;
}

#define FOLDS __attribute__((target("avx512f,vpclmulqdq")))

FOLDS static inline __m512i factors_of(const uint64_t factors[static 2])
{
	return _mm512_broadcast_i32x4(_mm_set_epi64x((long long) factors[1], (long long) factors[0]));
}

#define XOR_OF_THREE 0x96

/* Four pieces, onto the four that are as far on as the factors say. */
FOLDS static inline __m512i fold(__m512i pieces, __m512i factors, __m512i onto)
{
	return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(pieces, factors, 0x00),
	                                 _mm512_clmulepi64_epi128(pieces, factors, 0x11), onto,
	                                 XOR_OF_THREE);
}

FOLDS static inline __m512i load(const uint8_t *p)
{
	return _mm512_loadu_si512(p);
}

/* At least a block. */
FOLDS static uint32_t by_folding(uint32_t start, const uint8_t *p, size_t len)
{
	const __m512i far = factors_of(over_a_block), near = factors_of(over_64_bytes);
	__m512i a = load(p), b = load(p + 64), c = load(p + 128), d = load(p + 192);
	uint8_t left[64];

	a = _mm512_xor_si512(a, _mm512_zextsi128_si512(_mm_cvtsi32_si128((int) start)));
	p += BLOCK_BYTES;
	for (len -= BLOCK_BYTES; len >= BLOCK_BYTES; p += BLOCK_BYTES, len -= BLOCK_BYTES) {
		a = fold(a, far, load(p));
		b = fold(b, far, load(p + 64));
		c = fold(c, far, load(p + 128));
		d = fold(d, far, load(p + 192));
	}
	d = fold(fold(fold(a, near, b), near, c), near, d);
	for (; len >= 64; p += 64, len -= 64)
		d = fold(d, near, load(p));
	_mm512_storeu_si512(left, d);
	/* Or what comes behind, which uses the lower halves, waits for all of this. */
	_mm256_zeroupper();
	return in_lanes(in_lanes(0, left, sizeof(left)), p, len);
}

#else

static uint32_t in_lanes(uint32_t start, const uint8_t *p, size_t len)
{
	return by_tables(start, p, len);
}

static uint32_t by_folding(uint32_t start, const uint8_t *p, size_t len)
{
	return by_tables(start, p, len);
}

#endif

/* --- whichever is there --- */

enum crc32c_way crc32c_best_way(void)
{
	prepare_once();
	return best_way;
}

uint32_t crc32c_update_by(enum crc32c_way way, uint32_t crc, const void *data, size_t len)
{
	prepare_once();
	if (way == CRC32C_FOLDING && len >= BLOCK_BYTES)
		return ~by_folding(~crc, data, len);
	return way != CRC32C_TABLES ? ~in_lanes(~crc, data, len) : ~by_tables(~crc, data, len);
}

uint32_t crc32c_update(uint32_t crc, const void *data, size_t len)
{
	return crc32c_update_by(crc32c_best_way(), crc, data, len);
}
