/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C: the values of RFC 3720, in each way that this processor has, and pieces in a run. */
#include "bolt/crc32c.h"

#include <stdint.h>
#include <stdlib.h>

#include "tests/unit/check.h"

#define BYTES_MAX 4096

static void test_known_values(void)
{
	uint8_t zeros[32] = {0}, ones[32], up[32], down[32];

	memset(ones, 0xff, sizeof(ones));
	for (unsigned i = 0; i < 32; i++) {
		up[i] = (uint8_t) i;
		down[i] = (uint8_t) (31 - i);
	}
	CHECK_EQ_INT(crc32c_update(0, zeros, sizeof(zeros)), 0x8a9136aa);
	CHECK_EQ_INT(crc32c_update(0, ones, sizeof(ones)), 0x62a8ab43);
	CHECK_EQ_INT(crc32c_update(0, up, sizeof(up)), 0x46dd794e);
	CHECK_EQ_INT(crc32c_update(0, down, sizeof(down)), 0x113fdb5c);
	CHECK_EQ_INT(crc32c_update(0, "123456789", 9), 0xe3069283);
	CHECK_EQ_INT(crc32c_update_by(CRC32C_TABLES, 0, "123456789", 9), 0xe3069283);
	CHECK_EQ_INT(crc32c_update(0xe3069283, "", 0), 0xe3069283);
}

static uint8_t bytes[BYTES_MAX + 64];

/* Every length up to several blocks, from every alignment, and in two pieces. */
static void test_ways(void)
{
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t) rand();
	for (size_t len = 0; len <= BYTES_MAX; len += len < 1600 ? 1 : 97) {
		const uint8_t *p = bytes + len % 64;
		uint32_t whole = crc32c_update_by(CRC32C_TABLES, 0x1234, p, len);
		size_t cut = len > 0 ? (size_t) rand() % len : 0;

		for (enum crc32c_way way = CRC32C_TABLES; way <= crc32c_best_way(); way++) {
			uint32_t begun = crc32c_update_by(way, 0x1234, p, cut);

			if (!CHECK_EQ_INT(crc32c_update_by(way, 0x1234, p, len), whole) ||
			    !CHECK_EQ_INT(crc32c_update_by(way, begun, p + cut, len - cut), whole))
				return;
		}
	}
}

/* Pieces behind each other, apart, twice the same, and empty ones. */
static void test_run(void)
{
	static const struct {
		size_t at, len;
	} pieces[] = {{0, 17},   {17, 200}, {217, 0},  {217, 1000}, {9, 0},
	              {2000, 5}, {2005, 7}, {2005, 7}, {0, 3}};
	struct crc32c_run run = {0};
	uint32_t crc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		crc = crc32c_update(crc, bytes + pieces[i].at, pieces[i].len);
		crc32c_run_add(&run, (struct bytes){bytes + pieces[i].at, pieces[i].len});
		if (i % 4 == 3)
			CHECK_EQ_INT(crc32c_run_end(&run), crc);
	}
	CHECK_EQ_INT(crc32c_run_end(&run), crc);
	CHECK_EQ_INT(crc32c_run_end(&run), crc);
}

int main(void)
{
	static const char *const names[] = {"by tables", "in lanes"};

	(void) printf("the fastest way of this processor: %s\n", names[crc32c_best_way()]);
	test_known_values();
	test_ways();
	test_run();
	return check_result();
}
