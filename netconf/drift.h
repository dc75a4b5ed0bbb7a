/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The network stays as it was confirmed. Whenever anything in the kernel has changed, it is
 * compared with the confirmed configuration; what is ours, and costs nobody a frame, is set right
 * (so does what waited for a link that has come), and the rest is only told. What another process
 * sets back again and again is left alone for a while, and tried again (fight.h); all else is
 * repaired meanwhile. It has the DHCP clients that the confirmed configuration wants, and no others, and
 * follows their leases.
 */

#include <ev.h>
#include <jansson.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "netconf/config/config.h"
#include "netconf/fight.h"
#include "netconf/kernel/kernel.h"
#include "netconf/change/statedir.h"
#include "netconf/dhcp/dhcpclients.h"

struct drift;

/* All borrowed. The kernel is monitored by nobody else. runtime_dir: where leases are. 0 or -errno.
 */
int drift_new(struct ev_loop *ev, struct kernel *kernel, struct dhcpclients *clients,
              const char *runtime_dir, struct drift **ret_drift);
void drift_free(struct drift *drift);
DEFINE_AUTO(struct drift, drift_free);

/* What is ours without a mark, and what is confirmed; NULL: nothing is, or a change is under way,
 * and drift is nobody's business. Borrowed until the next call. */
void drift_watch(struct drift *drift, struct ledger *ledger, const struct config *config);
/* From now until the next drift_watch() nothing is set right: a change could not be undone as a
 * whole, and a part of it would make it worse. */
void drift_only_tell(struct drift *drift);

/* A lease is another: what it gave comes and goes with it, whatever the policy says of drift. */
void drift_follow(struct drift *drift);
/* Leases may not have been followed yet, and nothing is known that keeps them from it. */
bool drift_is_following(const struct drift *drift);

enum drift_state {
	DRIFT_OFF,     /* nobody knows what to compare with, or nobody has looked yet */
	DRIFT_NONE,    /* it is as it was confirmed */
	DRIFT_DIFFERS, /* it is not, and that is only told */
	DRIFT_FIGHT,   /* another process sets a part of it back, which is left alone for a while */
};

struct drift_report {
	enum drift_state state;
	const struct fight *fight; /* what is left alone. Borrowed */
	size_t n_steps;            /* that would set it right */
	const char *first;         /* of them; "" */
	const char *duplicate;     /* an IPv6 address that another host has, with its link; "" */
	uint64_t n_repairs;        /* steps that were carried out so far */
	size_t n_waiting;          /* what waits for a link */
};
void drift_report(const struct drift *drift, struct drift_report *ret_report);
const char *drift_state_name(enum drift_state state);
