/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for the first bytes of clients, whom nobody knows: what was said of them
 * holds when more come. max_len: 2048
 */
#include "prism/opening.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum hello before = HELLO_PART;

	for (size_t len = 0; len <= size; len += 1 + size / 32) {
		AUTO(free) char *first = xmemdup(data, len);
		enum hello now = hello_look(first, len);

		if (before != HELLO_PART && now != before)
			abort();
		before = now;
	}
	return 0;
}
