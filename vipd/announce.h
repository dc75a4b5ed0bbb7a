/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tells the LAN that a VIP is at our MAC: at once, after 100 ms and 300 ms (a switch port or a
 * bridge may still be learning), then once a second for as many times as configured (at least as
 * long as an old owner's fence may last), then at every refresh interval; all over again when the
 * carrier comes back and when somebody else has claimed the address. And hears such claims.
 *
 * Announcements pass no netfilter hook, so before each one the announcer asks `entitled`. Probes
 * claim nothing, and need no right.
 */

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/cleanup.h"
#include "base/mono.h"
#include "net/arpnd.h"

struct announcer;

struct announcer_callbacks {
	/* May we speak for the address at this instant? */
	bool (*entitled)(void *userdata);
	/* A frame from another MAC claims the VIP, or an address that is probed. */
	void (*claimed)(const struct addr *addr, const struct mac *from, void *userdata);
};

/* callbacks and userdata are borrowed until announcer_free(). */
struct announcer *announcer_new(struct ev_loop *ev, const struct addr *vip,
                                const struct announcer_callbacks *callbacks, void *userdata);
void announcer_free(struct announcer *announcer);

/* How often, behind the first three: `repeats` at one second each, then every refresh_us (0:
 * never). */
void announcer_configure(struct announcer *announcer, unsigned repeats, int64_t refresh_us);

/* Opens the packet socket on the link; ifindex 0 closes it. 0 or -errno, and then it tries again by
 * itself every second; a sequence that was begun meanwhile begins when it has succeeded. */
int announcer_set_link(struct announcer *announcer, int ifindex, const struct mac *mac);

/* Why it cannot speak on its link at present: -errno, else 0. */
int announcer_error(const struct announcer *announcer);

/* Begins the sequence, with the first frame now. */
void announcer_start(struct announcer *announcer);
void announcer_stop(struct announcer *announcer);

/* Sends a probe for the VIP, or for another address, whose claims are heard from then on until
 * announcer_forget(). One that cannot be sent is lost, as on the wire. */
void announcer_probe(struct announcer *announcer, const struct addr *addr);
void announcer_forget(struct announcer *announcer, const struct addr *addr);

/*
 * Asks the LAN whether another host has a VIP: probes (RFC 5227 section 2.1.1, RFC 4862 section
 * 5.4) in a fast sequence, then at an interval. RFC 5227 takes 4 to 9 s for the sequence; here the
 * link has been up for longer than the question is asked, and ASKER_ROUND_US is enough for a LAN.
 *
 * Proxy ARP answers for every address of a subnet. So a MAC that claims the VIP is checked before
 * it is reported: two other addresses of the subnet are chosen at random and probed, and a MAC that
 * claims both is a proxy. Which MACs are our own nodes', the caller knows.
 */

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
