/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer's entry point for credentials files: two keys that are there, or an error about a line
 * that is there. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "etcdwatch/worker/store/awskeys.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t count_lines(const uint8_t *data, size_t size)
{
	size_t n = 1;

	for (size_t i = 0; i < size; i++)
		n += data[i] == '\n' ? 1 : 0;
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct awsfile keys = {0};
	const char *why = NULL;
	unsigned line = 0;

	if (awsfile_parse((const char *) data, size, &keys, &why, &line) < 0) {
		if (why == NULL || line > count_lines(data, size) || keys.access_key != NULL)
			abort();
		return 0;
	}
	if (strlen(keys.access_key) + strlen(keys.secret_key) > size || keys.access_key[0] == '\0' ||
	    keys.secret_key[0] == '\0')
		abort();
	awsfile_fini(&keys);
	return 0;
}
