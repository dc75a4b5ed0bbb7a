/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Files that are read from beginning to end, into a sink. */

#include <sys/types.h>

#include "etcdwatch/worker/common/problem.h"
#include "etcdwatch/worker/common/sink.h"

/* Opens a regular file. */
int infile_open(const char *path, struct problem *problem, int *ret_fd, mode_t *ret_mode,
                uint64_t *ret_bytes);

/* All of it from where the descriptor stands; the sink is not finished. `path` is for sentences. It
 * tells how far it is, as `step` (pace.h; static). */
int infile_feed(int fd, const char *path, const char *step, struct sink *sink,
                struct problem *problem);
