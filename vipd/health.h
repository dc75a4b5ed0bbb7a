/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Is the API server of this node fit to receive what the VIP attracts? Probes /readyz and turns the
 * answers into a state with rise and fall. Several VIPs share one prober. The table of verdicts
 * (health_verdict()) is pure and has its own tests:
 *   200 -> ready; 401, 403, 404 -> alive, readiness unknown, counts as good; 429 -> alive;
 *   5xx -> not ready; refused, timeout, wrong certificate, not HTTP -> not ready.
 */

#include <ev.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "vipd/config.h"
#include "web/http.h"

struct health;

enum health_state {
	HEALTH_UNKNOWN,   /* no verdict yet */
	HEALTH_GOOD,      /* `rise` good answers in a row */
	HEALTH_BAD,       /* `fall` bad ones in a row */
	HEALTH_UNCHECKED, /* the gate is off */
};

enum health_verdict {
	HEALTH_VERDICT_READY,
	HEALTH_VERDICT_ALIVE,
	HEALTH_VERDICT_NOT_READY,
};

enum health_verdict health_verdict(enum http_failure failure, int status);

/* The state changed. Never from inside health_new(). */
typedef void (*health_changed_fn)(enum health_state state, const char *reason, void *userdata);

/* config is borrowed until health_free(). */
int health_new(struct ev_loop *ev, const struct config_health *config, health_changed_fn changed,
               void *userdata, struct health **ret_health);
void health_free(struct health *health);
DEFINE_AUTO(struct health, health_free);

enum health_state health_state(const struct health *health);
const char *health_state_name(enum health_state state); /* "unknown", "good", "bad", "unchecked" */

/* Why it is in this state: "readyz 500: etcd failed", "connection refused", ... */
const char *health_reason(const struct health *health);
int64_t health_since_us(const struct health *health);
