/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Looks up etcd's members again and again: in another daemon's control socket, and if that gives
 * nothing, in a file. What it finds is read anew each time, so that a change needs no signal.
 */

#include <ev.h>

#include "base/cleanup.h"
#include "prism/probe/found.h"
#include "prism/probe/settings.h"

#define MEMBERS_INTERVAL_US (10 * 1000 * 1000)

struct members;

/* settings are borrowed until members_free(), and name a socket or a file. `found` is called after
 * each look, and never from inside members_new(). */
struct members *members_new(struct ev_loop *ev, const struct settings *settings,
                            int64_t interval_us, found_fn found, void *userdata);
void members_free(struct members *members);
DEFINE_AUTO(struct members, members_free);
