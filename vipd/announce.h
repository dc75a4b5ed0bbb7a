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
DEFINE_AUTO(struct announcer, announcer_free);

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
