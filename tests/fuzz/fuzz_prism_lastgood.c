/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for the file of upstreams that were found before: what is read from it
 * can be dialled, was named by somebody, and is what it prints as.
 */
#include "prism/lastgood.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(free) char *text = xstrndup((const char *) data, size);
	AUTO(free) char *printed = NULL;
	struct lastgood list, again;

	if (lastgood_parse(text, strlen(text), &list) < 0)
		return 0;
	for (size_t i = 0; i < list.n; i++) {
		if (!endpoints_can_dial(&list.items[i].endpoint) || list.items[i].from == 0 ||
		    (list.items[i].from & ~LASTGOOD_SOURCES) != 0)
			abort();
	}
	printed = lastgood_print(&list);
	if (lastgood_parse(printed, strlen(printed), &again) < 0 || !lastgood_equal(&list, &again))
		abort();
	return 0;
}
