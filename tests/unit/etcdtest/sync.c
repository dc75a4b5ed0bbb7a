/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks that copy what they are given, and calls that wait for them; see sync.h. */
#include "sync.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mono.h"
#include "tests/unit/stolen.h"
#include "tests/unit/turn.h"

static void copy_bytes(char *to, size_t size, struct etcd_bytes bytes)
{
	size_t len = MIN(bytes.len, size - 1);

	if (len > 0)
		memcpy(to, bytes.data, len);
	to[len] = '\0';
}

void answer_on_done(const struct etcd_outcome *outcome, void *userdata)
{
	struct answer *a = userdata;

	a->n_callbacks++;
	a->done_us = mono_now_us();
	a->r = outcome->r;
	a->ambiguous = outcome->ambiguous;
	(void) snprintf(a->text, sizeof(a->text), "%s", outcome->text);
	(void) snprintf(a->endpoint, sizeof(a->endpoint), "%s", outcome->endpoint);
	a->sent_us = outcome->sent_us;
	a->received_us = outcome->received_us;
	a->revision = outcome->revision;
	a->member_id = outcome->member_id;
}

static void copy_range(struct answer *a, const struct etcd_range_result *result)
{
	a->n_kvs = result->n_kvs;
	a->count = result->count;
	if (result->n_kvs == 0)
		return;
	copy_bytes(a->key, sizeof(a->key), result->kvs[0].key);
	copy_bytes(a->value, sizeof(a->value), result->kvs[0].value);
	a->mod_revision = result->kvs[0].mod_revision;
	a->version = result->kvs[0].version;
	a->kv_lease = result->kvs[0].lease;
}

void answer_on_range(const struct etcd_outcome *outcome, const struct etcd_range_result *result,
                     void *userdata)
{
	answer_on_done(outcome, userdata);
	if (result != NULL)
		copy_range(userdata, result);
}

void answer_on_txn(const struct etcd_outcome *outcome, const struct etcd_txn_result *result,
                   void *userdata)
{
	struct answer *a = userdata;

	answer_on_done(outcome, userdata);
	if (result == NULL)
		return;
	a->succeeded = result->succeeded;
	a->n_results = result->n_results;
	for (size_t i = 0; i < result->n_results; i++) {
		if (result->results[i].kind == ETCD_OP_RANGE)
			copy_range(a, &result->results[i].range);
		a->deleted += result->results[i].deleted;
	}
}

void answer_on_lease(const struct etcd_outcome *outcome, const struct etcd_lease_result *result,
                     void *userdata)
{
	struct answer *a = userdata;

	answer_on_done(outcome, userdata);
	if (result == NULL)
		return;
	a->lease_id = result->id;
	a->ttl_s = result->ttl_s;
	a->granted_ttl_s = result->granted_ttl_s;
}

void answer_on_members(const struct etcd_outcome *outcome, const struct etcd_member *members,
                       size_t n_members, void *userdata)
{
	struct answer *a = userdata;

	answer_on_done(outcome, userdata);
	a->n_members = n_members;
	for (size_t i = 0; i < MIN(n_members, ARRAY_SIZE(a->member_ids)); i++)
		a->member_ids[i] = members[i].id;
}

void answer_on_status(const struct etcd_outcome *outcome, const struct etcd_status *status,
                      void *userdata)
{
	struct answer *a = userdata;

	answer_on_done(outcome, userdata);
	if (status == NULL)
		return;
	a->leader = status->leader;
	(void) snprintf(a->version_text, sizeof(a->version_text), "%s", status->version);
	a->db_size_bytes = status->db_size_bytes;
	a->db_size_in_use_bytes = status->db_size_in_use_bytes;
	a->db_size_quota_bytes = status->db_size_quota_bytes;
	(void) snprintf(a->storage_version, sizeof(a->storage_version), "%s", status->storage_version);
	a->raft_index = status->raft_index;
	a->raft_applied_index = status->raft_applied_index;
	a->learner = status->learner;
	a->n_errors = status->n_errors;
	if (status->n_errors > 0)
		(void) snprintf(a->error, sizeof(a->error), "%s", status->errors[status->n_errors - 1]);
}

void answer_on_hashkv(const struct etcd_outcome *outcome, const struct etcd_hashkv *hashkv,
                      void *userdata)
{
	struct answer *a = userdata;

	answer_on_done(outcome, userdata);
	if (hashkv != NULL)
		a->hashkv = *hashkv;
}

void answer_on_alarms(const struct etcd_outcome *outcome, const struct etcd_alarm *alarms,
                      size_t n_alarms, void *userdata)
{
	struct answer *a = userdata;

	answer_on_done(outcome, userdata);
	a->n_alarms = n_alarms;
	for (size_t i = 0; i < MIN(n_alarms, ARRAY_SIZE(a->alarms)); i++)
		a->alarms[i] = alarms[i];
}

static void stop_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	*(bool *) w->data = true;
}

bool sync_run(struct ev_loop *ev, int ms, const unsigned *counter, unsigned at_least)
{
	bool late = false;
	ev_timer timer;

	ev_now_update(ev);
	ev_timer_init(&timer, stop_cb, ms / 1000., 0.);
	timer.data = &late;
	ev_timer_start(ev, &timer);
	while (!late && (counter == NULL || *counter < at_least))
		ev_run(ev, EVRUN_ONCE);
	ev_timer_stop(ev, &timer);
	return counter == NULL || *counter >= at_least;
}

bool sync_until(struct ev_loop *ev, const unsigned *counter, unsigned at_least)
{
	return sync_run(ev, (int) (TURN_LIMIT_US / US_PER_MS), counter, at_least);
}

/* r is what the call returned. */
static struct answer wait_for(struct ev_loop *ev, int r, struct answer *a)
{
	if (r < 0 || a->n_callbacks != 0 || !sync_until(ev, &a->n_callbacks, 1)) {
		(void) fprintf(stderr, "sync: the call returned %d, callbacks: %u\n", r, a->n_callbacks);
		exit(1);
	}
	a->stolen_us = stolen_since_us(a->stolen_us);
	return *a;
}

#define ANSWER_NEW(name) struct answer name = {.asked_us = mono_now_us(), .stolen_us = stolen_us()}

struct answer sync_put(struct ev_loop *ev, struct etcd *etcd, const char *key, const char *value,
                       int64_t lease)
{
	ANSWER_NEW(a);

	return wait_for(
	    ev, etcd_put(etcd, ETCD_STR(key), ETCD_STR(value), lease, answer_on_done, &a, NULL), &a);
}

struct answer sync_delete(struct ev_loop *ev, struct etcd *etcd, const char *key, bool prefix)
{
	struct etcd_op op = {.kind = ETCD_OP_DELETE, .key = ETCD_STR(key), .prefix = prefix};
	struct etcd_txn txn = {.success = &op, .n_success = 1};

	return sync_txn(ev, etcd, &txn);
}

struct answer sync_get(struct ev_loop *ev, struct etcd *etcd, const char *key)
{
	struct etcd_range range = {.key = ETCD_STR(key)};
	ANSWER_NEW(a);

	return wait_for(ev, etcd_range(etcd, &range, answer_on_range, &a, NULL), &a);
}

struct answer sync_txn(struct ev_loop *ev, struct etcd *etcd, const struct etcd_txn *txn)
{
	ANSWER_NEW(a);

	return wait_for(ev, etcd_txn(etcd, txn, answer_on_txn, &a, NULL), &a);
}

struct answer sync_swap(struct ev_loop *ev, struct etcd *etcd, const char *key, int64_t revision,
                        const char *value, bool hedge)
{
	struct etcd_compare compare = {
	    .key = ETCD_STR(key), .target = ETCD_COMPARE_MOD, .result = ETCD_EQUAL, .number = revision};
	struct etcd_op put = {.kind = ETCD_OP_PUT, .key = ETCD_STR(key), .value = ETCD_STR(value)};
	struct etcd_txn txn = {
	    .compares = &compare, .n_compares = 1, .success = &put, .n_success = 1, .hedge = hedge};

	return sync_txn(ev, etcd, &txn);
}

struct answer sync_grant(struct ev_loop *ev, struct etcd *etcd, int64_t id, int64_t ttl_s)
{
	ANSWER_NEW(a);

	return wait_for(ev, etcd_lease_grant(etcd, id, ttl_s, answer_on_lease, &a, NULL), &a);
}

struct answer sync_keepalive(struct ev_loop *ev, struct etcd *etcd, int64_t id)
{
	ANSWER_NEW(a);

	return wait_for(ev, etcd_lease_keepalive(etcd, id, answer_on_lease, &a, NULL), &a);
}

struct answer sync_ttl(struct ev_loop *ev, struct etcd *etcd, int64_t id)
{
	ANSWER_NEW(a);

	return wait_for(ev, etcd_lease_ttl(etcd, id, answer_on_lease, &a, NULL), &a);
}

struct answer sync_revoke(struct ev_loop *ev, struct etcd *etcd, int64_t id)
{
	ANSWER_NEW(a);

	return wait_for(ev, etcd_lease_revoke(etcd, id, answer_on_done, &a, NULL), &a);
}

struct answer sync_members(struct ev_loop *ev, struct etcd *etcd)
{
	ANSWER_NEW(a);

	return wait_for(ev, etcd_member_list(etcd, answer_on_members, &a, NULL), &a);
}

struct answer sync_status(struct ev_loop *ev, struct etcd *etcd, const char *endpoint)
{
	ANSWER_NEW(a);

	return wait_for(ev, etcd_endpoint_status(etcd, endpoint, answer_on_status, &a, NULL), &a);
}

struct answer sync_hashkv(struct ev_loop *ev, struct etcd *etcd, const char *endpoint,
                          int64_t revision, unsigned timeout_ms)
{
	ANSWER_NEW(a);

	return wait_for(
	    ev, etcd_endpoint_hashkv(etcd, endpoint, revision, timeout_ms, answer_on_hashkv, &a, NULL),
	    &a);
}

struct answer sync_alarms(struct ev_loop *ev, struct etcd *etcd)
{
	ANSWER_NEW(a);

	return wait_for(ev, etcd_alarm_list(etcd, answer_on_alarms, &a, NULL), &a);
}

struct answer sync_endpoint_get(struct ev_loop *ev, struct etcd *etcd, const char *endpoint,
                                const char *key, bool serializable, unsigned timeout_ms)
{
	struct etcd_range range = {.key = ETCD_STR(key), .serializable = serializable};
	ANSWER_NEW(a);

	return wait_for(
	    ev, etcd_endpoint_range(etcd, endpoint, &range, timeout_ms, answer_on_range, &a, NULL), &a);
}

struct answer sync_endpoint_members(struct ev_loop *ev, struct etcd *etcd, const char *endpoint,
                                    bool linearizable, unsigned timeout_ms)
{
	ANSWER_NEW(a);

	return wait_for(ev,
	                etcd_endpoint_member_list(etcd, endpoint, linearizable, timeout_ms,
	                                          answer_on_members, &a, NULL),
	                &a);
}

/* --- what changes the cluster --- */

#define STEER_MS 10000

struct answer sync_defragment(struct ev_loop *ev, struct etcd *etcd, const char *endpoint,
                              unsigned timeout_ms)
{
	ANSWER_NEW(a);

	return wait_for(
	    ev, etcd_endpoint_defragment(etcd, endpoint, timeout_ms, answer_on_done, &a, NULL), &a);
}

struct answer sync_move_leader(struct ev_loop *ev, struct etcd *etcd, const char *endpoint,
                               uint64_t target_id)
{
	ANSWER_NEW(a);

	return wait_for(
	    ev,
	    etcd_endpoint_move_leader(etcd, endpoint, target_id, STEER_MS, answer_on_done, &a, NULL),
	    &a);
}

struct answer sync_member_remove(struct ev_loop *ev, struct etcd *etcd, const char *endpoint,
                                 uint64_t member_id)
{
	ANSWER_NEW(a);

	return wait_for(
	    ev,
	    etcd_endpoint_member_remove(etcd, endpoint, member_id, STEER_MS, answer_on_done, &a, NULL),
	    &a);
}

struct answer sync_disarm(struct ev_loop *ev, struct etcd *etcd, const char *endpoint,
                          uint64_t member_id, enum etcd_alarm_type type)
{
	ANSWER_NEW(a);

	return wait_for(ev,
	                etcd_endpoint_alarm_disarm(etcd, endpoint, member_id, type, STEER_MS,
	                                           answer_on_done, &a, NULL),
	                &a);
}

struct answer sync_compact(struct ev_loop *ev, struct etcd *etcd, const char *endpoint,
                           int64_t revision, bool physical)
{
	ANSWER_NEW(a);

	return wait_for(ev,
	                etcd_endpoint_compact(etcd, endpoint, revision, physical, STEER_MS,
	                                      answer_on_done, &a, NULL),
	                &a);
}

/* --- watches --- */

static void append(struct watched *w, const char *text)
{
	size_t used = strlen(w->log);

	w->n_calls++;
	w->last_us = mono_now_us();
	(void) snprintf(w->log + used, sizeof(w->log) - used, "%s", text);
}

static void on_events(const struct etcd_event *events, size_t n_events, int64_t revision,
                      void *userdata)
{
	struct watched *w = userdata;

	for (size_t i = 0; i < n_events; i++) {
		const struct etcd_kv *kv = &events[i].kv;
		char key[64];
		char value[64];
		char line[256];

		copy_bytes(key, sizeof(key), kv->key);
		copy_bytes(value, sizeof(value), kv->value);
		if (events[i].type == ETCD_EVENT_PUT)
			(void) snprintf(line, sizeof(line), "P%lld:%s=%s ", (long long) kv->mod_revision, key,
			                value);
		else
			(void) snprintf(line, sizeof(line), "D%lld:%s ", (long long) kv->mod_revision, key);
		append(w, line);
		w->n_events++;
	}
	append(w, "|");
	w->last_revision = revision;
}

static void on_compacted(int64_t compact_revision, void *userdata)
{
	struct watched *w = userdata;
	char line[32];

	(void) snprintf(line, sizeof(line), "C%lld ", (long long) compact_revision);
	append(w, line);
	w->n_compacted++;
}

static void on_live(bool live, void *userdata)
{
	struct watched *w = userdata;

	append(w, live ? "+" : "-");
	if (live)
		w->n_live++;
	else
		w->n_lost++;
}

const struct etcd_watch_callbacks watched_callbacks = {
    .events = on_events, .compacted = on_compacted, .live = on_live};
