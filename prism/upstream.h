/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The upstreams: who they are, what is known of each, who carries how many connections. The one
 * writer of an upstream's state: evidence of probes and of clients comes in here, is folded by
 * judge.h, logged when the state changes, and decides when the next probe is due. One that no
 * source names any more takes no new connections and goes with its last one.
 *
 * Connections leave an upstream that is worse than another one. One that is dead loses all of them
 * at once: it is lost (judge.h), and another upstream answered meanwhile. When none answers, the
 * cause is on this node or shared, and nothing is closed. After one upstream's connections were
 * closed, those of the next one stay for UPSTREAM_CLOSING_US: a wrong finding must not take all of
 * them.
 */

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "prism/balance.h"
#include "prism/checker.h"
#include "prism/config.h"
#include "prism/endpoints.h"
#include "prism/handover.h"
#include "prism/judge.h"

/* Upper bounds of the connect-time histogram; one more bucket is for the rest. */
#define UPSTREAM_BUCKETS 10
extern const int64_t upstream_bucket_us[UPSTREAM_BUCKETS];

#define UPSTREAM_CLOSING_US (30 * US_PER_S)

struct upstream_counts {
	uint64_t connects;         /* made, losers of a race included */
	uint64_t connect_failures; /* refused, no route, no answer */
	uint64_t hedges;           /* another was tried as well, because this one did not answer */
	uint64_t retries;          /* another was tried, because this one had failed */
	uint64_t replays;          /* the first bytes went to another, because this one was silent */
	uint64_t drained;          /* connections closed because it was leaving, or dead */
	uint64_t probes;
	uint64_t probe_failures;
	uint64_t connect_us_sum;
	uint64_t connect_buckets[UPSTREAM_BUCKETS + 1];
};

/* Read by all, written by upstream.c. */
struct upstream {
	struct endpoint endpoint;
	char name[ENDPOINT_TEXT_MAX];
	unsigned from; /* ENDPOINTS_FROM(); 0: no source names it any more */
	bool local;
	bool drained; /* by the operator */
	struct judge judge;
	struct balance_rtt rtt;
	unsigned connections;     /* and attempts to make one */
	unsigned refs;            /* orders that name it */
	int64_t leaving_since_us; /* connections are to go elsewhere since then; MONO_NEVER: are not */
	bool dead;                /* they are to go at once */
	struct pulse pulse;
	struct upstream_counts counts;
};

struct upstreams;

struct upstreams_callbacks {
	/* Whether any upstream is worth dialling (some state better than DOWN, or unknown) changed. */
	void (*usable)(bool usable, void *userdata);
	/* A discovered upstream was verified: the list on disk may hold it. */
	void (*verified)(const struct endpoint *endpoint, void *userdata);
	/* An upstream is dead: its connections are to be closed, but not within this call. */
	void (*died)(void *userdata);
};

/* config and callbacks are borrowed until upstreams_free(). */
int upstreams_new(struct ev_loop *ev, const struct config *config,
                  const struct upstreams_callbacks *callbacks, void *userdata,
                  struct upstreams **ret_upstreams);
void upstreams_free(struct upstreams *set);
DEFINE_AUTO(struct upstreams, upstreams_free);

/* Whom to ask; probing begins. NULL: nobody, traffic alone tells. */
void upstreams_set_checker(struct upstreams *set, struct checker *checker);

void upstreams_set_list(struct upstreams *set, const struct endpoints_merged *list);

/* In which order to try them for a new connection. Each of them is held until upstreams_unref(). */
size_t upstreams_order(struct upstreams *set, struct upstream *ret_order[static BALANCE_MAX]);

void upstreams_unref(struct upstreams *set, struct upstream *upstream);

/* A connection is carried by it, or ended. It is held meanwhile. */
void upstreams_take(struct upstreams *set, struct upstream *upstream);
void upstreams_release(struct upstreams *set, struct upstream *upstream);

/* What a client's connection showed. */
void upstreams_tell(struct upstreams *set, struct upstream *upstream, enum judge_evidence evidence,
                    const char *reason);
/* A client has waited for it since then: it is suspected, and where another client that had asked was
 * answered meanwhile it is probed within rules.quick_us. */
void upstreams_doubt(struct upstreams *set, struct upstream *upstream, int64_t since_us);
/* took_us: until it was connected; rtt_us: of that, the time between the two machines. */
void upstreams_tell_connected(struct upstreams *set, struct upstream *upstream, int64_t took_us,
                              int64_t rtt_us);

/* From the checker's callbacks. */
void upstreams_on_verdict(struct upstreams *set, uint64_t id, enum judge_evidence evidence,
                          const char *reason, int64_t rtt_us);
void upstreams_on_checker_lost(struct upstreams *set);

/* Another program's word: `name`, or "local" for all of this node, is suspected. -ENOENT: no such
 * upstream. */
int upstreams_suspect(struct upstreams *set, const char *name, const char *reason);

/* The operator's word. -ENOENT: no such upstream. */
int upstreams_drain(struct upstreams *set, const char *name, bool drained);

/* What the process before this one knew of an upstream. One that the first list does not name goes
 * with its connections, as any other. */
void upstreams_restore(struct upstreams *set, const struct handover_upstream *from);

size_t upstreams_n(const struct upstreams *set);
struct upstream *upstreams_get(const struct upstreams *set, size_t i);
struct upstream *upstreams_find(const struct upstreams *set, const struct endpoint *endpoint);
bool upstreams_are_usable(const struct upstreams *set);
