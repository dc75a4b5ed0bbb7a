/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Resolves the DNS names among the configured upstreams, again and again, in a thread of its own: a
 * resolver may block for as long as it likes.
 */

#include <ev.h>

#include "base/cleanup.h"
#include "prism/probe/found.h"
#include "prism/probe/wire.h"

#define NAMES_INTERVAL_US (60 * 1000 * 1000)

struct names;

/* settings are borrowed until names_free(), and have a name. `found` is called after each look, and
 * never from inside names_new(). */
struct names *names_new(struct ev_loop *ev, const struct settings *settings, int64_t interval_us,
                        found_fn found, void *userdata);
/* Does not wait for the thread: what it still finds is dropped. */
void names_free(struct names *names);
DEFINE_AUTO(struct names, names_free);
