/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Connects to a VIP as a client does: TCP and the TLS handshake, on the port and with the CA and
 * the name of the health check; no request is sent. Each attempt takes a new connection, since a
 * firewall may let established ones pass. The VIP is reached once TCP is connected, whatever the
 * handshake gives, unless the connection is reset: a firewall shows there, and a busy API server
 * may take longer than an attempt lasts.
 */

#include <ev.h>
#include <stdbool.h>

#include "base/addr.h"
#include "base/cleanup.h"
#include "vipd/config.h"

struct outside_probe;

/* After each attempt. reason is valid until it returns. */
typedef void (*outside_probe_fn)(bool reached, const char *reason, void *userdata);

/* vip and config are borrowed until outside_probe_free(). */
struct outside_probe *outside_probe_new(struct ev_loop *ev, const struct addr *vip,
                                        const struct config_health *config, outside_probe_fn fn,
                                        void *userdata);
void outside_probe_free(struct outside_probe *probe);
DEFINE_AUTO(struct outside_probe, outside_probe_free);

/* Starts or stops; no effect if that is what it does already. An attempt under way is given up. */
void outside_probe_run(struct outside_probe *probe, bool on);
