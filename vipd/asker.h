/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Asks the LAN whether another host has a VIP: probes (RFC 5227 section 2.1.1, RFC 4862 section
 * 5.4) in a fast sequence, then at an interval. RFC 5227 takes 4 to 9 s for the sequence; here the
 * link has been up for longer than the question is asked, and ASKER_ROUND_US is enough for a LAN.
 *
 * Proxy ARP answers for every address of a subnet. So a MAC that claims the VIP is checked before
 * it is reported: two other addresses of the subnet are chosen at random and probed, and a MAC that
 * claims both is a proxy. Which MACs are our own nodes', the caller knows.
 */

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/cleanup.h"
#include "base/mono.h"

#define ASKER_ROUNDS 3
#define ASKER_PAUSE_US (200 * US_PER_MS)
#define ASKER_ROUND_US (ASKER_ROUNDS * ASKER_PAUSE_US)
#define ASKER_CHECK_US (200 * US_PER_MS)

struct asker;

struct asker_callbacks {
	void (*probe)(const struct addr *addr, void *userdata);
	void (*forget)(const struct addr *addr, void *userdata); /* a control address */
	/* This MAC claims the VIP, and is no proxy. */
	void (*claimed)(const struct mac *from, void *userdata);
};

/* callbacks and userdata are borrowed until asker_free(). */
struct asker *asker_new(struct ev_loop *ev, const struct addr *vip,
                        const struct asker_callbacks *callbacks, void *userdata);
void asker_free(struct asker *asker);
DEFINE_AUTO(struct asker, asker_free);

/* The length of the VIP's subnet on its link, for the control addresses; /24 or /120 until then. */
void asker_set_subnet(struct asker *asker, uint8_t len);

/* Asks ASKER_ROUNDS times at once, and then every interval_us; 0: not at all. No effect if that is
 * what it does already. */
void asker_set_interval(struct asker *asker, int64_t interval_us);

/* A frame from this MAC claims the VIP, or a control address. */
void asker_on_claim(struct asker *asker, const struct addr *addr, const struct mac *from);

/* When the present sequence has been asked and every answer so far is checked; in the past once
 * that is so. */
int64_t asker_done_us(const struct asker *asker);
