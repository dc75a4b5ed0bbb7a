/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whether a TCP connection can be made: all that is known of an upstream when health checks are
 * off. The connection is closed at once.
 */

#include <ev.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/endpoint.h"

struct tcpcheck;

/* Once, and never before tcpcheck_new() returned; not after tcpcheck_free(). r: 0, or the -errno of
 * connect(2), -ETIMEDOUT. The callback may free the check. */
typedef void (*tcpcheck_done_fn)(int r, int64_t took_us, void *userdata);

struct tcpcheck *tcpcheck_new(struct ev_loop *ev, const struct endpoint *endpoint,
                              int64_t timeout_us, tcpcheck_done_fn done, void *userdata);
void tcpcheck_free(struct tcpcheck *check);
DEFINE_AUTO(struct tcpcheck, tcpcheck_free);
