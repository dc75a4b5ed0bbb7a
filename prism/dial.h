/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A race for one client: connects to upstreams in their order until one completes. The next one
 * starts when one fails, or has not answered within the hedge delay; the first to complete wins and
 * the others are closed. Every upstream is tried within the budget. What is seen of an upstream is
 * told to upstream.h.
 *
 * Afterwards it keeps its place in the order: when the winner turns out to be silent, the race goes
 * on with those that have not won yet.
 */

#include <ev.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "prism/config.h"
#include "prism/upstream.h"

/* TCP_USER_TIMEOUT of what comes out of a race: a peer that does not acknowledge for so long is
 * gone. */
#define DIAL_USER_TIMEOUT_MS 10000

struct dial;

/*
 * The race is over. fd: connected, taken by the callee, with a count in upstream->connections that
 * the callee gives back by upstreams_release(); or -errno of the last failure: -ENETUNREACH when
 * there is no upstream at all, -ETIMEDOUT when the budget is used up, -EMFILE and such when it is
 * our own fault. Exactly once for each start, never before that returns, never after dial_free().
 */
typedef void (*dial_done_fn)(int fd, struct upstream *upstream, void *userdata);

/* NULL: no memory. What is passed is borrowed until dial_free(). */
struct dial *dial_new(struct ev_loop *ev, struct upstreams *upstreams,
                      const struct config_connect *config, dial_done_fn done, void *userdata);
void dial_free(struct dial *dial);
DEFINE_AUTO(struct dial, dial_free);

/* Starts the race, or starts it again with those that are left: then `done` is called. False: none
 * is left, and nothing was started. Not while one is under way. */
bool dial_start(struct dial *dial);
bool dial_has_more(const struct dial *dial);
