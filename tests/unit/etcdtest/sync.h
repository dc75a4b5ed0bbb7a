/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Asks the client and runs the loop until the answer is there: so that tests read as stories. */

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "etcd/etcd.h"
#include "etcd/steer.h"

#define ANSWER_TEXT_MAX 512

/* A copy of everything that a callback was given, and how often it ran. */
struct answer {
	unsigned n_callbacks;
	int r;
	bool ambiguous;
	char text[ETCD_ERROR_TEXT_MAX];
	char endpoint[ANSWER_TEXT_MAX];
	int64_t asked_us;
	int64_t sent_us;
	int64_t received_us;
	int64_t done_us;   /* when the callback ran */
	int64_t stolen_us; /* of that time, at most: see stolen.h */
	int64_t revision;
	uint64_t member_id;
	/* range, txn */
	bool succeeded;
	size_t n_results;
	size_t n_kvs;
	int64_t count;
	int64_t deleted;
	char key[ANSWER_TEXT_MAX];   /* of the first */
	char value[ANSWER_TEXT_MAX]; /* of the first */
	int64_t mod_revision;
	int64_t version;
	int64_t kv_lease;
	/* lease */
	int64_t lease_id;
	int64_t ttl_s;
	int64_t granted_ttl_s;
	/* members, status */
	size_t n_members;
	uint64_t member_ids[4];
	uint64_t leader;
	char version_text[32];
	int64_t db_size_bytes;
	int64_t db_size_in_use_bytes;
	int64_t db_size_quota_bytes;
	char storage_version[32];
	uint64_t raft_index;
	uint64_t raft_applied_index;
	bool learner;
	size_t n_errors;
	char error[ANSWER_TEXT_MAX]; /* the last */
	/* hashkv, alarms */
	struct etcd_hashkv hashkv;
	size_t n_alarms;
	struct etcd_alarm alarms[4];
};

void answer_on_done(const struct etcd_outcome *outcome, void *userdata);
void answer_on_range(const struct etcd_outcome *outcome, const struct etcd_range_result *result,
                     void *userdata);
void answer_on_txn(const struct etcd_outcome *outcome, const struct etcd_txn_result *result,
                   void *userdata);
void answer_on_lease(const struct etcd_outcome *outcome, const struct etcd_lease_result *result,
                     void *userdata);
void answer_on_members(const struct etcd_outcome *outcome, const struct etcd_member *members,
                       size_t n_members, void *userdata);
void answer_on_status(const struct etcd_outcome *outcome, const struct etcd_status *status,
                      void *userdata);
void answer_on_hashkv(const struct etcd_outcome *outcome, const struct etcd_hashkv *hashkv,
                      void *userdata);
void answer_on_alarms(const struct etcd_outcome *outcome, const struct etcd_alarm *alarms,
                      size_t n_alarms, void *userdata);

/* Runs the loop for that long, or until *counter has reached at_least (NULL: all the time). */
bool sync_run(struct ev_loop *ev, int ms, const unsigned *counter, unsigned at_least);
/* Until it has; false after far longer than that takes on a machine that is slow. */
bool sync_until(struct ev_loop *ev, const unsigned *counter, unsigned at_least);

struct answer sync_put(struct ev_loop *ev, struct etcd *etcd, const char *key, const char *value,
                       int64_t lease);
struct answer sync_delete(struct ev_loop *ev, struct etcd *etcd, const char *key, bool prefix);
struct answer sync_get(struct ev_loop *ev, struct etcd *etcd, const char *key);
struct answer sync_txn(struct ev_loop *ev, struct etcd *etcd, const struct etcd_txn *txn);
/* If the key is at that revision (0: absent), put value. */
struct answer sync_swap(struct ev_loop *ev, struct etcd *etcd, const char *key, int64_t revision,
                        const char *value, bool hedge);
struct answer sync_grant(struct ev_loop *ev, struct etcd *etcd, int64_t id, int64_t ttl_s);
struct answer sync_keepalive(struct ev_loop *ev, struct etcd *etcd, int64_t id);
struct answer sync_ttl(struct ev_loop *ev, struct etcd *etcd, int64_t id);
struct answer sync_revoke(struct ev_loop *ev, struct etcd *etcd, int64_t id);
struct answer sync_members(struct ev_loop *ev, struct etcd *etcd);
struct answer sync_status(struct ev_loop *ev, struct etcd *etcd, const char *endpoint);
struct answer sync_hashkv(struct ev_loop *ev, struct etcd *etcd, const char *endpoint,
                          int64_t revision, unsigned timeout_ms);
struct answer sync_alarms(struct ev_loop *ev, struct etcd *etcd);

struct answer sync_endpoint_get(struct ev_loop *ev, struct etcd *etcd, const char *endpoint,
                                const char *key, bool serializable, unsigned timeout_ms);
struct answer sync_endpoint_members(struct ev_loop *ev, struct etcd *etcd, const char *endpoint,
                                    bool linearizable, unsigned timeout_ms);
struct answer sync_defragment(struct ev_loop *ev, struct etcd *etcd, const char *endpoint,
                              unsigned timeout_ms);
struct answer sync_move_leader(struct ev_loop *ev, struct etcd *etcd, const char *endpoint,
                               uint64_t target_id);
struct answer sync_member_remove(struct ev_loop *ev, struct etcd *etcd, const char *endpoint,
                                 uint64_t member_id);
struct answer sync_disarm(struct ev_loop *ev, struct etcd *etcd, const char *endpoint,
                          uint64_t member_id, enum etcd_alarm_type type);
struct answer sync_compact(struct ev_loop *ev, struct etcd *etcd, const char *endpoint,
                           int64_t revision, bool physical);

/* Everything that a watch said, as text: "+" live, "-" not live, "C<rev>" compacted, and per event
 * "P<rev>:key=value" or "D<rev>:key", each followed by a blank; "|" ends a batch. */
struct watched {
	unsigned n_calls;
	unsigned n_events;
	unsigned n_live;
	unsigned n_lost;
	unsigned n_compacted;
	int64_t last_revision;
	int64_t last_us;
	char log[8192];
};
extern const struct etcd_watch_callbacks watched_callbacks;
