/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer's entry point for the log of an etcd that has ended: whatever it is, there are words,
 * and they end where they must. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "etcdwatch/worker/drill/etcdrun.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char words[ETCDLOG_WORDS_MAX];

	if (etcdlog_last_words((const char *) data, size, words) != words ||
	    memchr(words, '\0', sizeof(words)) == NULL || words[0] == '\0')
		abort();
	return 0;
}
