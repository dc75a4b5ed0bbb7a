/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The health probers of a node: one for each different healthCheck among the VIPs, so that several
 * VIPs with the same gate cost one probe.
 */

#include <ev.h>

#include "base/cleanup.h"
#include "vipd/config.h"
#include "vipd/health.h"

struct probers;

/* Called for each VIP, by its index in config->vips, whose gate changed; see health_changed_fn. */
typedef void (*probers_changed_fn)(size_t vip, enum health_state state, bool is_unknown,
                                   const char *reason, void *userdata);

/* config is borrowed until probers_free(). 0 or -errno. */
int probers_new(struct ev_loop *ev, const struct config *config, probers_changed_fn changed,
                void *userdata, struct probers **ret_probers);
void probers_free(struct probers *probers);
DEFINE_AUTO(struct probers, probers_free);
