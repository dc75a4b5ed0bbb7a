/* SPDX-License-Identifier: Apache-2.0 */
/*
 * By tables: eight bytes go through eight tables at a time.
 *
 * In lanes: the instruction takes eight bytes in three cycles but could begin one every cycle, so
 * long runs are cut into blocks of three lanes that are worked on at once. The lanes' sums are
 * joined by linearity: the sum of A followed by B is that of A, carried over as many zero bytes as
 * B has, xor that of B. A table says what carrying over a lane does to each byte of a sum.
 */
#include "bolt/crc32c.h"

#include <pthread.h>

#include "bolt/bytes.h"

#define POLYNOMIAL 0x82f63b78u /* bits reversed */
#define N_SLICES 8
#define LANE_BYTES 256

static uint32_t slices[N_SLICES][256];
static uint32_t over_a_lane[4][256]; /* what carrying byte b at place i over a lane gives */
static enum crc32c_way best_way;

static uint32_t over_a_byte(uint32_t sum)
{
	return (sum >> 8) ^ slices[0][sum & 0xff];
}

static void find_best_way(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("sse4.2"))
		best_way = CRC32C_LANES;
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

#else

static uint32_t in_lanes(uint32_t start, const uint8_t *p, size_t len)
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
	return way != CRC32C_TABLES ? ~in_lanes(~crc, data, len) : ~by_tables(~crc, data, len);
}

uint32_t crc32c_update(uint32_t crc, const void *data, size_t len)
{
	return crc32c_update_by(crc32c_best_way(), crc, data, len);
}
