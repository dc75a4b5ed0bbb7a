/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for lists of addresses: whatever the text is, what is read from it can be
 * dialled, is there once, and reads back from what it prints as.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "prism/endpoints.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(free) char *text = xstrndup((const char *) data, size);
	char printed[ENDPOINTS_MAX * (ENDPOINT_TEXT_MAX + 1) + 1] = "";
	struct endpoints_list list, again;
	unsigned bad_line;
	size_t len = 0;

	endpoints_parse_text(text, 6443, &list, &bad_line);
	if (list.n > ENDPOINTS_MAX || bad_line > strlen(text) + 1)
		abort();
	for (size_t i = 0; i < list.n; i++) {
		char buf[ENDPOINT_TEXT_MAX];

		if (!endpoints_can_dial(&list.items[i]))
			abort();
		len += (size_t) snprintf(printed + len, sizeof(printed) - len, "%s\n",
		                         endpoint_format(&list.items[i], buf));
	}
	endpoints_parse_text(printed, 0, &again, &bad_line);
	if (bad_line != 0 || again.n != list.n)
		abort();
	for (size_t i = 0; i < list.n; i++) {
		if (!endpoint_equal(&list.items[i], &again.items[i]))
			abort();
	}
	return 0;
}
