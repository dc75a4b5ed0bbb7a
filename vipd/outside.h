/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Can others reach the VIP at its owner? The owner's own check asks over loopback and does not see
 * a firewall in between. So each other node in the race connects to the VIP once a second
 * (vip_outside.c) and writes what it finds into its node key, when that changes; the owner counts
 * and hands over (policy.h). Pure.
 *
 * A verdict names the epoch that it is about: one about a former owner does not count. A node that
 * has never reached the VIP since it started says nothing: it may be its own way that is closed, or
 * the port may not be meant for it.
 */

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/cleanup.h"
#include "base/mono.h"
#include "vipd/config.h"
#include "vipd/facts.h"
#include "vipd/health.h"
#include "vipd/record.h"

/* So many attempts in a row make a verdict. The failover of a switch takes 3 to 4 s: it is over
 * before most nodes say that they do not reach the owner. */
#define OUTSIDE_RISE 2
#define OUTSIDE_FALL 5
/* The least time between two such moves, doubled while no owner is reached after one. */
#define OUTSIDE_REST_US (5 * 60 * US_PER_S)
#define OUTSIDE_DOUBLINGS_MAX 6
/* The owner's API server has been healthy for this long: else it is the cause. */
#define OUTSIDE_WELL_US (5 * US_PER_S)
/* A node that failed is not chosen again for this long. */
#define OUTSIDE_MARK_US (30 * 60 * US_PER_S)

/* What this node sees. Begins zeroed. */
struct outside_view {
	int64_t epoch;
	bool has_reached; /* some owner, once */
	struct health_fold fold;
};

/* Counts one attempt to reach the owner of this epoch, and sets what `me` tells of it; true when
 * that changed. */
bool outside_on_look(struct outside_view *view, struct record_node *me, int64_t epoch,
                     bool reached);

/* What the other nodes in the race say of the present owner. */
struct outside_count {
	unsigned others;
	unsigned reached;
	unsigned unreached;
};

struct outside_count outside_count(const struct facts *facts);

/* More than half of the others cannot reach the owner. */
bool outside_is_cut_off(const struct outside_count *count);
bool outside_is_reached(const struct outside_count *count);

/* The moves for this reason, from any owner. Begins zeroed. */
struct outside_moves {
	int64_t owner_rev;   /* that was looked at last */
	int64_t ended_epoch; /* the tenure that the last of them ended */
	int64_t last_us;
	unsigned in_row; /* since an owner was reached */
};

/* Call after every change of the facts. */
void outside_on_facts(struct outside_moves *moves, const struct facts *facts, int64_t now_us);

/* Until the next such move is due, 0 if it is. */
int64_t outside_rest_us(const struct outside_moves *moves, int64_t now_us);

/* The mark that this node failed. `marked_us`: since when it is known here, kept by the caller;
 * `owner`: `me` owns the VIP in this epoch. Removes the mark when it is old, or the others reach
 * the VIP here. */
void outside_review_mark(struct record_node *me, int64_t *marked_us, bool owner, int64_t epoch,
                         const struct outside_count *count, int64_t now_us);

/* Why an owner that is cut off keeps the VIP, for people; NULL: a move is due. well_for_us: since
 * when its API server is healthy; best: the successor, or NULL. */
const char *outside_stays(const struct outside_moves *moves, int64_t well_for_us,
                          const struct record_node *best, int64_t now_us);

/*
 * Connects to a VIP as a client does: TCP and the TLS handshake, on the port and with the CA and
 * the name of the health check; no request is sent. Each attempt takes a new connection, since a
 * firewall may let established ones pass. The VIP is reached once TCP is connected, whatever the
 * handshake gives, unless the connection is reset: a firewall shows there, and a busy API server
 * may take longer than an attempt lasts.
 */

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
