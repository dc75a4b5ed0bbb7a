/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for bundles: whatever the archive is, it is read in bounded memory to its
 * end or to an error with a sentence; and a snapshot is told to be whole only with its manifest.
 */
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "etcdwatch/worker/common/sink.h"
#include "etcdwatch/worker/pack/unbundle.h"

#define PIECE_BYTES 700

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct problem problem = {0};
	struct tap_result snapshot = {0};
	struct sink *sink = unbundle_new(tap_new(NULL, &snapshot), NULL, &problem);
	int r = 0;

	for (size_t at = 0; at < size && r == 0; at += PIECE_BYTES)
		r = sink_write(sink, data + at, MIN((size_t) PIECE_BYTES, size - at));
	if (r == 0)
		r = sink_finish(sink);
	sink_free(sink);
	if ((r < 0) != (problem.code[0] != '\0') || (r < 0) != (snapshot.sha256[0] == '\0'))
		abort();
	return 0;
}
