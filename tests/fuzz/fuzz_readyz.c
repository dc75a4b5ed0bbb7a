/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for what an API server says of itself: the first two bytes are how it
 * ended, the rest is its body, or what a library says of it. One sentence comes of it, which can be
 * shown.
 */
#include "web/readyz.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(free) char *text = NULL;
	char buf[READYZ_REASON_MAX];
	struct http_response response = {0};

	if (size < 2)
		return 0;
	text = xstrndup((const char *) data + 2, size - 2);
	response.failure = (enum http_failure)(data[0] % (HTTP_PROTOCOL + 1));
	response.status = response.failure == HTTP_OK ? 100 + 4 * data[1] : 0;
	response.body = text;
	response.body_len = strlen(text);
	response.failure_text = text;
	if (readyz_verdict(response.failure, response.status) >= READYZ_N_VERDICTS)
		abort();
	(void) readyz_describe(&response, buf);
	if (memchr(buf, '\0', sizeof(buf)) == NULL || buf[0] == '\0')
		abort();
	for (const char *p = buf; *p != '\0'; p++) {
		if (*p < ' ' || *p >= 0x7f)
			abort();
	}
	return 0;
}
