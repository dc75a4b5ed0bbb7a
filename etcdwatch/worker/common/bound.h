/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A stage that changes nothing, and lets no more through than is known to come: what some
 * kilobytes unpack to may be more than any disk has room for.
 */

#include <stdint.h>

#include "etcdwatch/worker/common/problem.h"
#include "etcdwatch/worker/common/sink.h"

/* Takes `next`; borrows `name`, of the file that it comes from, and `problem`. One byte more than
 * the maximum is -EBADMSG and MISMATCH, before any of it is passed on. */
struct sink *bound_new(uint64_t max_bytes, const char *name, struct sink *next,
                       struct problem *problem);
