/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C: the values of RFC 3720, and the instruction against the tables. */
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
	CHECK_EQ_INT(crc32c_update_tables(0, "123456789", 9), 0xe3069283);
	CHECK_EQ_INT(crc32c_update(0xe3069283, "", 0), 0xe3069283);
}

/* Every length up to several blocks of lanes, from every alignment, and in two pieces. */
static void test_both_ways(void)
{
	static uint8_t bytes[BYTES_MAX + 8];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t) rand();
	for (size_t len = 0; len <= BYTES_MAX; len += len < 1600 ? 1 : 97) {
		const uint8_t *p = bytes + len % 8;
		uint32_t whole = crc32c_update_tables(0x1234, p, len);
		size_t cut = len > 0 ? (size_t) rand() % len : 0;

		if (!CHECK_EQ_INT(crc32c_update(0x1234, p, len), whole) ||
		    !CHECK_EQ_INT(crc32c_update(crc32c_update(0x1234, p, cut), p + cut, len - cut), whole))
			return;
	}
}

int main(void)
{
	if (!crc32c_has_instruction())
		(void) puts("this processor has no CRC-32C instruction: only the tables are tested");
	test_known_values();
	test_both_ways();
	return check_result();
}
