/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Asks the API for the EndpointSlices of default/kubernetes again and again, through a listener of
 * prism itself: whoever lives answers. The kubeconfig and the files that it names are read anew
 * each time.
 */

#include <ev.h>

#include "base/cleanup.h"
#include "prism/probe/found.h"
#include "prism/probe/settings.h"

struct slices;

/* settings are borrowed until slices_free(), and have a kubeconfig and a listener. `found` is
 * called after each look, and never from inside slices_new(). 0 or -errno. */
int slices_new(struct ev_loop *ev, const struct settings *settings, found_fn found, void *userdata,
               struct slices **ret_slices);
void slices_free(struct slices *slices);
DEFINE_AUTO(struct slices, slices_free);
