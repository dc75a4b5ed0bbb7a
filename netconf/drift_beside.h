/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Drift of what is beside the network: names, resolvers, time, and drivers' settings. The kernel
 * tells of none of it: files are watched, and all of it is looked at now and then. Blocking.
 */

#include <ev.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "netconf/change/beside.h"
#include "netconf/change/look.h"

struct drift_beside;

/* On the loop, when it may be otherwise than it was: then look. */
typedef void (*drift_beside_changed_fn)(void *userdata);
struct drift_beside *drift_beside_new(struct ev_loop *ev, drift_beside_changed_fn changed,
                                      void *userdata);
void drift_beside_free(struct drift_beside *beside);
DEFINE_AUTO(struct drift_beside, drift_beside_free);

/* The next look is due: something else is wanted. */
void drift_beside_forget(struct drift_beside *beside);
/* True if it was due; else what was seen last still counts. */
bool drift_beside_look(struct drift_beside *beside, const struct look *look);
/* The steps that would set it right, of the last look; NULL: none. Borrowed until the next one. */
const struct beside *drift_beside_seen(const struct drift_beside *beside);

/* Sets the host's half right, which costs nobody a frame, if `may` lets it do every step (in its
 * words, as beside_format() has them), and looks again. How many steps that took; what fails is
 * told. */
typedef bool (*drift_beside_may_fn)(const char *step, void *userdata);
size_t drift_beside_repair(struct drift_beside *beside, const struct look *look,
                           drift_beside_may_fn may, void *userdata);
