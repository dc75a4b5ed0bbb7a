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

/* As those of a prober, for each VIP that it checks, by its index in config->vips. */
struct probers_callbacks {
	void (*changed)(size_t vip, const struct health_view *view, void *userdata);
	bool (*others_are_ready)(size_t vip, void *userdata);
	/* Once for each prober. */
	void (*failed)(const char *reason, void *userdata);
};

/* config is borrowed until probers_free(). 0 or -errno. */
int probers_new(struct ev_loop *ev, const struct config *config,
                const struct probers_callbacks *callbacks, void *userdata,
                struct probers **ret_probers);
void probers_free(struct probers *probers);
DEFINE_AUTO(struct probers, probers_free);
