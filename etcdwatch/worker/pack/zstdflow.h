/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Compressing and decompressing with zstd, as stages. The frames carry a checksum, which is checked
 * on the way back, and can be read by the `zstd` program.
 */

#include "etcdwatch/worker/common/problem.h"
#include "etcdwatch/worker/common/sink.h"

/* Above these, zstd takes hundreds of megabytes of memory. */
#define ZSTDFLOW_LEVEL_MIN 1
#define ZSTDFLOW_LEVEL_MAX 19
/* What a frame says that a decompressor has to keep, as a power of two: 128 MiB. Ours say 8 MiB at
 * most; the `zstd` program takes as much as this without being told to take more. */
#define ZSTDFLOW_WINDOW_LOG_MAX 27

/* Each takes `next` and borrows `problem`. A stream that ends in the middle is an error when the
 * decompressor is finished. */
struct sink *zstdflow_compress_new(int level, struct sink *next, struct problem *problem);
struct sink *zstdflow_decompress_new(struct sink *next, struct problem *problem);
