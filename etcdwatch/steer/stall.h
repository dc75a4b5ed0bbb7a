/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How long clients of one member wait at most: linearizable reads, one after the other, from the
 * beginning to the end. Not read: how many. */

#include <stdint.h>

#include "etcdwatch/steer/env.h"

struct stall;

/* NULL: there is no such endpoint. */
struct stall *stall_start(const struct cluster_env *env, const char *endpoint);
/* The longest, in microseconds; the one that is under way counts too. -1 for NULL. Frees it. */
int64_t stall_stop(struct stall *stall);
