/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer's entry point for the answers of those that give temporary keys: keys that can stand in
 * a header, or a phrase and no keys. The first byte says which form it is. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "etcdwatch/worker/store/awskeys.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_visible(const char *text)
{
	if (text == NULL || text[0] == '\0')
		abort();
	for (const char *p = text; *p != '\0'; p++) {
		if (*p <= ' ' || *p >= 0x7f)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *) data + 1, *why = NULL;
	struct awsfile keys = {0};
	int r;

	if (size == 0)
		return 0;
	if (data[0] == 'x')
		r = awsanswer_parse_sts(text, size - 1, &keys, &why);
	else
		r = awsanswer_parse_json(data[0] == 'p' ? AWSANSWER_PROCESS : AWSANSWER_METADATA, text,
		                         size - 1, &keys, &why);
	if (r < 0) {
		if (why == NULL || keys.access_key != NULL || keys.secret_key != NULL)
			abort();
		return 0;
	}
	check_visible(keys.access_key);
	check_visible(keys.secret_key);
	if (keys.session_token != NULL)
		check_visible(keys.session_token);
	awsfile_fini(&keys);
	return 0;
}
