/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The state machine of one VIP. It owns the state, the fencing token, the fence deadline and the
 * counts of requests under way; nothing else writes them. It decides by decide.h, and acts on the
 * world only through struct election_ops, behind which stand etcd and the kernel, or a simulation
 * in the tests.
 *
 *        fit                  swap / own record found          old fence over, confirmed
 *   down ----> standby ----------------------------> taking -----------------------------> owner
 *     ^          |  ^  ^                             |  |  ^                               |  |
 *     +----------+  |  +--------- record lost -------+  |  +------- fence ran out ---------+  |
 *       not fit     |                                   | hand over                           |
 *                   +---------- released, or lost -- yielding <----------- hand over ---------+
 *
 * owner to standby directly when the record is lost. The address is on the link in `owner` only: it
 * is added on the way in and removed, with the kernel's ack, on the way out.
 *
 * Re-entrancy: ops may call back into election_on_*() only later, never from inside themselves,
 * except that `hold` and `drop` return their result at once.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "vipd/decide.h"
#include "vipd/facts.h"
#include "vipd/policy.h"
#include "vipd/record.h"
#include "vipd/timing.h"

struct election;

/* What came of a transaction. */
enum election_verdict {
	ELECTION_DONE,    /* carried out */
	ELECTION_LOST,    /* its guard failed: the keys are not what we thought */
	ELECTION_UNKNOWN, /* no answer, or an ambiguous one */
};

struct election_claim {
	struct record_owner record; /* to be written */
	int64_t owner_rev;          /* guards */
	int64_t beat_rev;
};

struct election_ops {
	struct mono_moment (*now)(void *ctx);
	/* Call election_run() when now().us is this; replaces what was asked before. MONO_NEVER: not at
	 * all. */
	void (*wake_at)(int64_t us, void *ctx);

	/* Puts the beat if there is no such key and the record is the one that is known. */
	void (*beat)(void *ctx);

	/* Each is answered by exactly one election_on_...() later. */
	void (*read)(void *ctx);
	void (*take)(const struct election_claim *claim, void *ctx);
	void (*confirm)(int64_t rev, int64_t epoch, void *ctx);
	void (*release)(const struct record_owner *record, int64_t rev, void *ctx);

	/* Adds the address, or renews it, so that the kernel silences it at deadline_us at the latest.
	 * 0; or 1: it was not renewed, and is held until the deadline of the call before; or -errno: it
	 * is not on the link, or if the kernel refuses even that, not for longer than before. */
	int (*hold)(int64_t deadline_us, void *ctx);
	/* Removes it and waits for the kernel's ack. `lost`: it will not be back soon. 0, or -errno: it
	 * may be on the link until the kernel's fence ends it. */
	int (*drop)(bool lost, void *ctx);

	/* After every change of state. reason is valid until the call returns. */
	void (*changed)(enum election_state from, enum election_state to, const char *reason,
	                void *ctx);
	/* One step led to the next too many times, `next` would be another. For the log: the election
	 * goes on in a moment. */
	void (*unsettled)(enum election_action next, void *ctx);
};

/* facts, me and ops are borrowed until election_free(); facts and me change under it, followed by
 * election_run(). */
struct election *election_new(const struct facts *facts, const struct record_node *me,
                              const struct election_ops *ops, void *ctx);
void election_free(struct election *election);

/* For the next swap; a record that is held keeps the window that it promises. avoid_etcd_leader as
 * in policy.h. */
void election_configure(struct election *election, int64_t window_us, enum fence_kind fence,
                        bool avoid_etcd_leader);

/* Looks at everything again and acts. Call it after any change of facts, me, or fitness. */
void election_run(struct election *election);

/* Can this node take part? If not, why. Both take effect at once. */
void election_set_fit(struct election *election, bool fit, const char *reason);

/* Takes nothing before us, but from an owner that names this node its successor. */
void election_not_before(struct election *election, int64_t us);

/* Hand over to successor ("" for whoever is best); no effect unless taking or owner. */
void election_yield(struct election *election, const char *successor, const char *reason);

/* The record at this revision is ours, and its address is on the link until deadline_us: the
 * process before us left it to us. Makes the node fit; only before the first election_run(). */
void election_adopt(struct election *election, int64_t epoch, int64_t rev, int64_t window_us,
                    int64_t deadline_us);

/* Answers. sent_us is the clock before the sending of the very request that was answered. */
void election_on_read(struct election *election, bool ok);
void election_on_take(struct election *election, enum election_verdict verdict, int64_t rev,
                      int64_t sent_us);
void election_on_confirm(struct election *election, enum election_verdict verdict, int64_t rev,
                         int64_t sent_us);
void election_on_release(struct election *election, enum election_verdict verdict, int64_t rev);

/* etcd was restored from a backup, or replaced: the facts begin anew, and what our own requests
 * came to is not known. Steps down. Requests under way are still to be answered, as unknown. */
void election_on_rewind(struct election *election);

/* Somebody else on the wire claims the address, or the address was taken off the link by others. */
void election_check_now(struct election *election);  /* confirm at once */
void election_renew_hold(struct election *election); /* add the address again if still entitled */

enum election_state election_state(const struct election *election);
const char *election_state_name(enum election_state state);
const char *election_reason(const struct election *election);
enum policy_cause election_cause(const struct election *election); /* of the same */
int64_t election_since_us(const struct election *election);
int64_t election_rev(const struct election *election); /* of our own record, from taking on */
int64_t election_epoch(const struct election *election);
/* Of our own record, else the one that the next will have. */
int64_t election_window_us(const struct election *election);
int64_t election_late_us(const struct election *election);

/* F; 0 where there is none. Of an owner: the one that the kernel has. */
int64_t election_deadline_us(const struct election *election);
