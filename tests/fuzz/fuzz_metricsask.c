/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for a scraper's request: whatever it is, an answer once given holds when
 * more comes, and only one that begins with GET or HEAD is answered with the page.
 * max_len: 4096
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/metricsask.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *) data;
	bool head = false, head_then = false;
	size_t step = 1 + size / 32;
	int status = 0, then;

	if (size > METRICSASK_BYTES_MAX)
		return 0;
	for (size_t len = 0;; len = MIN(len + step, size)) {
		then = metricsask_read(text, len, &head_then);
		if (status != 0 && (then != status || head_then != head))
			abort();
		status = then;
		head = head_then;
		if (status == 200 && memcmp(text, head ? "HEAD " : "GET ", head ? 5 : 4) != 0)
			abort();
		if (status == 0 && len == METRICSASK_BYTES_MAX)
			abort();
		if (len == size)
			break;
	}
	return 0;
}
