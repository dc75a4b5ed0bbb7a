/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for shared files of /etc: whatever others wrote comes back as it was when
 * our part is put in and taken out again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "netconf/host/hosttext.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_block(const char *block, const char *foreign)
{
	AUTO(free) char *joined = hosttext_join(block, foreign);
	AUTO(free) char *again = NULL;
	AUTO(free) char *out = hosttext_block(joined);
	unsigned line;

	if (hosttext_foreign(joined, &again, &line) < 0 || strcmp(again, foreign) != 0 ||
	    strcmp(out, block) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const blocks[] = {
	    "",
	    "nameserver 10.0.0.1\n",
	    "search .\n",
	    "nameserver fd00::1\nsearch a b\n",
	    "10.0.0.5 a\n",
	};
	AUTO(free) char *text = malloc(size + 1);
	AUTO(free) char *foreign = NULL;
	unsigned line;

	memcpy(text, data, size);
	text[size] = '\0';
	free(hosttext_generator(text));
	free(hosttext_chrony_directory(text));
	free(hosttext_block(text));
	if (hosttext_foreign(text, &foreign, &line) < 0)
		return 0;
	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
		check_block(blocks[i], foreign);
	return 0;
}
