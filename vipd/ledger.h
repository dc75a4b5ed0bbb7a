/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One VIP's keys in etcd: reads them, watches them, and writes them by the protocol's transactions.
 * It folds all that it learns into `struct facts` and translates etcd's answers into the election's
 * verdicts; it decides nothing.
 *
 *   confirm   if ModRevision(owner) = r                            then put beat, get owner
 *   take      if ModRevision(owner) = r and ModRevision(beat) = k  then put owner
 *   release   if ModRevision(owner) = r                            then put owner (released)
 *   beat      if ModRevision(owner) = r and there is no beat       then put beat
 *
 * Under its alarm NOSPACE etcd refuses puts and takes deletes. A confirmation that it refuses is
 * sent again in another form, which confirms as long as no standby takes where there is no beat:
 *
 *   confirm   if ModRevision(owner) = r                            then delete beat, get owner
 *
 * After a restore from a backup revisions are used again. So take and release also compare the
 * values that stood at these revisions, and a confirmation counts only if the record that it read
 * is our own. An answer of another cluster, or from a store that was rewound, reads as UNKNOWN.
 *
 * All three may be sent to several endpoints. A `confirm` that lands late or twice only makes a
 * standby wait longer. Of a `take` or `release` that lands twice the second fails its guard; when
 * that answer comes first it reads as LOST, and the quorum read that follows finds the record to be
 * our own.
 */

#include <ev.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/cleanup.h"
#include "etcd/etcd.h"
#include "vipd/election.h"
#include "vipd/facts.h"

struct ledger;

struct ledger_callbacks {
	/* The facts may have changed. */
	void (*changed)(void *userdata);
	void (*on_read)(bool ok, void *userdata);
	void (*on_take)(enum election_verdict verdict, int64_t rev, int64_t sent_us, void *userdata);
	void (*on_confirm)(enum election_verdict verdict, int64_t rev, int64_t sent_us, int64_t rtt_us,
	                   void *userdata);
	void (*on_release)(enum election_verdict verdict, int64_t rev, void *userdata);
	/* The facts begin anew (election_on_rewind()). */
	void (*rewound)(void *userdata);
};

/* Why etcd's last answer was none, or was a refusal. */
struct ledger_trouble {
	int r; /* as in struct etcd_outcome */
	int64_t since_us;
	char text[ETCD_ERROR_TEXT_MAX]; /* printable ASCII without double quotes */
};

/* prefix is "fairlead/v1/"; facts, callbacks and userdata are borrowed until ledger_free(). */
struct ledger *ledger_new(struct ev_loop *ev, struct etcd *etcd, const char *prefix,
                          const struct addr *vip, struct facts *facts,
                          const struct ledger_callbacks *callbacks, void *userdata);
void ledger_free(struct ledger *ledger);
DEFINE_AUTO(struct ledger, ledger_free);

/* Given up after useful_us at the latest. */
void ledger_read(struct ledger *ledger, int64_t useful_us);

/* Reads and watches, without answering the election; tries until it is answered. Afterwards it
 * reads by itself when etcd was not heard of for some seconds: a watch does not show a rewound
 * store. */
void ledger_follow(struct ledger *ledger);

void ledger_take(struct ledger *ledger, const struct election_claim *claim);
void ledger_beat(struct ledger *ledger);
/* Done if the record at rev is `ours`: by its instance, epoch and window, which is what the others
 * wait for. Given up after its window, when it grants nothing any more. */
void ledger_confirm(struct ledger *ledger, const struct record_owner *ours, int64_t rev);
void ledger_release(struct ledger *ledger, const struct record_owner *record, int64_t rev);

/* Asks the nodes in the race for a sign of life. Each that sees it writes its key, which the watch
 * brings (struct record_node's answered); the request itself is not answered. */
void ledger_ask(struct ledger *ledger);

/* "fairlead/v1/vip/10.0.0.5/" */
const char *ledger_prefix(const struct ledger *ledger);

/* The endpoint that answered last, "" before. */
const char *ledger_endpoint(const struct ledger *ledger);

/* NULL while all is well. */
const struct ledger_trouble *ledger_trouble(const struct ledger *ledger);
