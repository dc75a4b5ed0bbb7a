/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims and updates one node key. The transaction puts it if it is absent and else reads it; one
 * that is ours (we crashed and came back under the same instance id) is then written over, guarded
 * by the revision that was read. One request at a time; what changes meanwhile is written behind
 * it.
 *
 * The key of another instance is this node's own of before, or that of a machine with its name. The
 * lease tells: one that is renewed has a process behind it, any other ends, however long it was
 * granted. vipd never puts a key without a lease: one on no lease was copied, and never goes.
 */
#include "vipd/nodekey.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fsm.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

#define RETRY_US (500 * US_PER_MS)
/* A clock of etcd's leader that stood still looks like one. */
#define RENEWALS_MIN 2
/* A key that vanishes again and again is not put back more often. */
#define PUT_BACK_US US_PER_S

static const struct fsm_state states[NODEKEY_STATES] = {
    [NODEKEY_ABSENT] = {"absent", FSM_TO(NODEKEY_CLAIMING)},
    [NODEKEY_CLAIMING] = {"claiming",
                          FSM_TO(NODEKEY_PRESENT) | FSM_TO(NODEKEY_TAKEN) | FSM_TO(NODEKEY_ABSENT)},
    [NODEKEY_PRESENT] = {"present", FSM_TO(NODEKEY_ABSENT) | FSM_TO(NODEKEY_TAKEN)},
    [NODEKEY_TAKEN] = {"taken", FSM_TO(NODEKEY_PRESENT) | FSM_TO(NODEKEY_ABSENT)},
};

struct nodekey {
	struct ev_loop *ev;
	struct etcd *etcd;
	struct record_node *me;
	nodekey_changed_fn changed;
	void *userdata;
	char *key;
	enum nodekey_state state;
	int64_t lease;
	int64_t rev; /* of our key as last written or read; 0: absent */
	bool has_written;
	char *written;   /* its value */
	char *in_flight; /* being written */
	char other[RECORD_INSTANCE_LEN + 1];
	int64_t other_lease;
	uint64_t other_term;  /* a new leader gives every lease its whole time again */
	int64_t other_end_us; /* the lease ends by then if it is not renewed; 0: not known */
	unsigned n_renewals;
	int64_t put_back_us; /* when it was last, or will be */
	ev_timer timer;      /* tries again */
	struct etcd_call *call;
};

static void set_state(struct nodekey *k, enum nodekey_state to)
{
	if (k->state == to)
		return;
	fsm_check(states, ARRAY_SIZE(states), k->state, to);
	log_debug("node_key", "key=%s old=%s new=%s", k->key, states[k->state].name, states[to].name);
	if (to == NODEKEY_PRESENT || to == NODEKEY_ABSENT) {
		k->other_end_us = 0;
		k->n_renewals = 0;
	}
	k->state = to;
	k->changed(to, k->userdata);
}

static void write_key(struct nodekey *k);

/* Seconds left are told rounded down, as they were between sending and receiving. */
static void note_lease(struct nodekey *k, const struct etcd_outcome *outcome, int64_t left_s)
{
	if (k->other_end_us != 0 && outcome->raft_term == k->other_term &&
	    outcome->sent_us + left_s * US_PER_S > k->other_end_us)
		k->n_renewals++;
	k->other_term = outcome->raft_term;
	k->other_end_us = outcome->received_us + (left_s + 1) * US_PER_S;
}

static void lease_cb(const struct etcd_outcome *outcome, const struct etcd_lease_result *result,
                     void *userdata)
{
	struct nodekey *k = userdata;

	k->call = NULL;
	/* A member that is leader no more may tell more than was granted. */
	if (outcome->r == 0 && result->ttl_s <= result->granted_ttl_s)
		note_lease(k, outcome, result->ttl_s);
	/* First the timer: the callback may ask for an update at once. */
	loop_timer_in(k->ev, &k->timer, RETRY_US);
	set_state(k, NODEKEY_TAKEN);
}

/* The key exists, and not as we last wrote it. */
static void found(struct nodekey *k, const struct etcd_kv *kv)
{
	struct record_node n = {0};
	int r;

	if (record_node_parse(kv->value.data, kv->value.len, &n) < 0)
		(void) strcpy(n.instance, "?");
	if (strcmp(n.instance, k->me->instance) == 0 || kv->lease == 0) {
		/* This process has written nothing: the one before a restart has. */
		if (!k->has_written && strcmp(n.instance, k->me->instance) == 0)
			k->me->failed_epoch = n.failed_epoch;
		k->rev = kv->mod_revision;
		write_key(k);
		return;
	}
	(void) strcpy(k->other, n.instance);
	if (kv->lease != k->other_lease)
		k->other_end_us = 0;
	k->other_lease = kv->lease;
	r = etcd_lease_ttl(k->etcd, kv->lease, lease_cb, k, &k->call);
	assert(r >= 0);
}

/* The guard failed. */
static void not_written(struct nodekey *k, const struct etcd_txn_result *result)
{
	const struct etcd_range_result *range;

	if (result->n_results != 1 || result->results[0].kind != ETCD_OP_RANGE) {
		loop_timer_in(k->ev, &k->timer, RETRY_US);
		return;
	}
	range = &result->results[0].range;
	k->rev = 0;
	if (range->n_kvs > 0)
		found(k, &range->kvs[0]);
	else
		write_key(k);
}

static void written_cb(const struct etcd_outcome *outcome, const struct etcd_txn_result *result,
                       void *userdata)
{
	struct nodekey *k = userdata;
	AUTO(free) char *value = TAKE_PTR(k->in_flight);

	k->call = NULL;
	if (outcome->r < 0) {
		/* It may have been written; the next try finds out by its guard. */
		loop_timer_in(k->ev, &k->timer, RETRY_US);
		return;
	}
	if (!result->succeeded) {
		not_written(k, result);
		return;
	}
	k->rev = outcome->revision;
	k->has_written = true;
	free(k->written);
	k->written = TAKE_PTR(value);
	set_state(k, NODEKEY_PRESENT);
	nodekey_update(k);
}

static void write_key(struct nodekey *k)
{
	struct etcd_compare guard = {
	    .key = ETCD_STR(k->key),
	    .target = ETCD_COMPARE_MOD,
	    .result = ETCD_EQUAL,
	    .number = k->rev,
	};
	struct etcd_op put = {.kind = ETCD_OP_PUT, .key = ETCD_STR(k->key), .lease = k->lease};
	struct etcd_op get = {.kind = ETCD_OP_RANGE, .key = ETCD_STR(k->key)};
	struct etcd_txn txn = {
	    .compares = &guard,
	    .n_compares = 1,
	    .success = &put,
	    .n_success = 1,
	    .failure = &get,
	    .n_failure = 1,
	    .hedge = true,
	};
	int r;

	ev_timer_stop(k->ev, &k->timer);
	k->in_flight = record_node_format(k->me);
	put.value = ETCD_STR(k->in_flight);
	r = etcd_txn(k->etcd, &txn, written_cb, k, &k->call);
	assert(r >= 0);
	/* Last, for whoever hears of it may ask for an update. One that is taken stays so while it is
	 * tried again, else the trouble would be news each time. */
	if (k->state == NODEKEY_ABSENT)
		set_state(k, NODEKEY_CLAIMING);
}

void nodekey_update(struct nodekey *k)
{
	AUTO(free) char *value = NULL;

	if (k->lease == 0 || k->call != NULL || ev_is_active(&k->timer))
		return;
	value = record_node_format(k->me);
	if (k->state == NODEKEY_PRESENT && k->written != NULL && strcmp(value, k->written) == 0)
		return;
	write_key(k);
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	nodekey_update(CONTAINER_OF(w, struct nodekey, timer));
}

static void forget(struct nodekey *k)
{
	ev_timer_stop(k->ev, &k->timer);
	etcd_call_cancel(TAKE_PTR(k->call));
	free(TAKE_PTR(k->in_flight));
	free(TAKE_PTR(k->written));
	k->rev = 0;
}

void nodekey_set_lease(struct nodekey *k, int64_t lease)
{
	if (k->lease == lease)
		return;
	forget(k);
	k->lease = lease;
	set_state(k, NODEKEY_ABSENT);
	nodekey_update(k);
}

void nodekey_on_gone(struct nodekey *k)
{
	int64_t now_us = mono_now_us();

	if (k->state != NODEKEY_PRESENT || k->call != NULL)
		return;
	forget(k);
	/* As above: first the timer. */
	if (now_us < k->put_back_us + PUT_BACK_US) {
		k->put_back_us += PUT_BACK_US;
		loop_timer_in(k->ev, &k->timer, k->put_back_us - now_us);
	} else {
		k->put_back_us = now_us;
	}
	set_state(k, NODEKEY_ABSENT);
	nodekey_update(k);
}

struct nodekey *nodekey_new(struct ev_loop *ev, struct etcd *etcd, const char *vip_prefix,
                            struct record_node *me, nodekey_changed_fn changed, void *userdata)
{
	struct nodekey *k = NEW0(struct nodekey);

	k->ev = ev;
	k->etcd = etcd;
	k->me = me;
	k->changed = changed;
	k->userdata = userdata;
	k->key = xasprintf("%snode/%s", vip_prefix, me->node);
	ev_timer_init(&k->timer, timer_cb, 0., 0.);
	return k;
}

void nodekey_free(struct nodekey *k)
{
	if (k == NULL)
		return;
	forget(k);
	free(k->key);
	free(k);
}

enum nodekey_state nodekey_state(const struct nodekey *k)
{
	return k->state;
}

const char *nodekey_other_instance(const struct nodekey *k)
{
	return k->other;
}

int64_t nodekey_other_left_us(const struct nodekey *k)
{
	return k->other_end_us == 0 ? 0 : MAX(k->other_end_us - mono_now_us(), 0);
}

bool nodekey_other_lives(const struct nodekey *k)
{
	return k->n_renewals >= RENEWALS_MIN;
}

/* --- the lease --- */

/*
 * Keeps one lease alive. A cycle of three steps, each tried again a second after it failed:
 * probe the minimum TTL (once) -> grant -> renew for ever; a renewal that says the lease is gone
 * leads back to grant. When the daemon stops, the lease is revoked.
 */

#define LEASE_RETRY_US US_PER_S
#define PROBE_TTL_S 1

enum lease_state {
	LEASE_PROBING,
	LEASE_GRANTING,
	LEASE_ALIVE,
	LEASE_ENDING,
	LEASE_STATES,
};

static const struct fsm_state lease_states[LEASE_STATES] = {
    [LEASE_PROBING] = {"probing",
                       FSM_TO(LEASE_GRANTING) | FSM_TO(LEASE_ALIVE) | FSM_TO(LEASE_ENDING)},
    [LEASE_GRANTING] = {"granting", FSM_TO(LEASE_ALIVE) | FSM_TO(LEASE_ENDING)},
    [LEASE_ALIVE] = {"alive", FSM_TO(LEASE_GRANTING) | FSM_TO(LEASE_ENDING)},
    [LEASE_ENDING] = {"ending", 0},
};

struct nodelease {
	struct ev_loop *ev;
	struct etcd *etcd;
	const struct nodelease_callbacks *callbacks;
	void *userdata;
	enum lease_state state;
	int64_t ttl_s;
	int64_t granted_s;
	int64_t id; /* alive: the lease; probing: the one to be adopted, or 0 */
	ev_timer timer;
	struct etcd_call *call;
	nodelease_done_fn ended;
	void *ended_userdata;
};

static void lease_set_state(struct nodelease *l, enum lease_state to)
{
	fsm_check(lease_states, ARRAY_SIZE(lease_states), l->state, to);
	l->state = to;
	log_debug("node_lease", "state=%s lease=%llx", lease_states[to].name,
	          (unsigned long long) l->id);
	/* Renew soon when it is alive, grant at once when it is not. */
	loop_timer_in(l->ev, &l->timer,
	              to == LEASE_ALIVE && l->granted_s > 0 ? l->granted_s * US_PER_S / 3 : 0);
	l->callbacks->changed(to == LEASE_ALIVE ? l->id : 0, l->userdata);
}

static void revoked_cb(const struct etcd_outcome *outcome, void *userdata)
{
	struct nodelease *l = userdata;

	/* It ends by itself soon if this failed. */
	(void) outcome;
	l->call = NULL;
	if (l->id != 0)
		lease_set_state(l, LEASE_ALIVE);
	else
		lease_set_state(l, LEASE_GRANTING);
}

static void probed_cb(const struct etcd_outcome *outcome, const struct etcd_lease_result *result,
                      void *userdata)
{
	struct nodelease *l = userdata;
	int r;

	l->call = NULL;
	l->callbacks->granted(outcome->r, l->userdata);
	if (outcome->r < 0) {
		loop_timer_in(l->ev, &l->timer, LEASE_RETRY_US);
		return;
	}
	l->callbacks->min_ttl(result->ttl_s, l->userdata);
	r = etcd_lease_revoke(l->etcd, result->id, revoked_cb, l, &l->call);
	assert(r >= 0);
}

static void granted_cb(const struct etcd_outcome *outcome, const struct etcd_lease_result *result,
                       void *userdata)
{
	struct nodelease *l = userdata;

	l->call = NULL;
	l->callbacks->granted(outcome->r, l->userdata);
	if (outcome->r < 0) {
		/* If it was granted all the same, it hangs on nothing and ends by itself. */
		loop_timer_in(l->ev, &l->timer, LEASE_RETRY_US);
		return;
	}
	l->id = result->id;
	l->granted_s = result->ttl_s;
	if (l->granted_s > l->ttl_s)
		log_info("node_lease_raised", "asked_s=%lld granted_s=%lld", (long long) l->ttl_s,
		         (long long) l->granted_s);
	lease_set_state(l, LEASE_ALIVE);
}

static void renewed_cb(const struct etcd_outcome *outcome, const struct etcd_lease_result *result,
                       void *userdata)
{
	struct nodelease *l = userdata;

	l->call = NULL;
	if (outcome->r == -ENOENT || (outcome->r == 0 && result->ttl_s <= 0)) {
		log_info("node_lease_lost", "lease=%llx", (unsigned long long) l->id);
		l->id = 0;
		lease_set_state(l, LEASE_GRANTING);
		return;
	}
	if (outcome->r < 0) {
		loop_timer_in(l->ev, &l->timer, LEASE_RETRY_US);
		return;
	}
	l->granted_s = result->ttl_s;
	loop_timer_in(l->ev, &l->timer, l->granted_s * US_PER_S / 3);
}

static void ended_cb(const struct etcd_outcome *outcome UNUSED, void *userdata)
{
	struct nodelease *l = userdata;

	l->call = NULL;
	l->ended(l->ended_userdata);
}

static void lease_timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct nodelease *l = CONTAINER_OF(w, struct nodelease, timer);
	int r = 0;

	switch (l->state) {
	case LEASE_PROBING:
		r = etcd_lease_grant(l->etcd, 0, PROBE_TTL_S, probed_cb, l, &l->call);
		break;
	case LEASE_GRANTING:
		r = etcd_lease_grant(l->etcd, 0, l->ttl_s, granted_cb, l, &l->call);
		break;
	case LEASE_ALIVE:
		r = etcd_lease_keepalive(l->etcd, l->id, renewed_cb, l, &l->call);
		break;
	case LEASE_ENDING:
		if (l->id == 0)
			l->ended(l->ended_userdata);
		else
			r = etcd_lease_revoke(l->etcd, l->id, ended_cb, l, &l->call);
		break;
	case LEASE_STATES:
		break;
	}
	assert(r >= 0);
}

void nodelease_end(struct nodelease *l, nodelease_done_fn done, void *userdata)
{
	etcd_call_cancel(TAKE_PTR(l->call));
	l->ended = done;
	l->ended_userdata = userdata;
	lease_set_state(l, LEASE_ENDING);
}

struct nodelease *nodelease_new(struct ev_loop *ev, struct etcd *etcd, int64_t ttl_us,
                                int64_t adopt, const struct nodelease_callbacks *callbacks,
                                void *userdata)
{
	struct nodelease *l = NEW0(struct nodelease);

	l->ev = ev;
	l->etcd = etcd;
	l->callbacks = callbacks;
	l->userdata = userdata;
	l->ttl_s = (ttl_us + US_PER_S - 1) / US_PER_S;
	l->id = adopt;
	ev_timer_init(&l->timer, lease_timer_cb, 0., 0.);
	loop_timer_in(l->ev, &l->timer, 0);
	return l;
}

void nodelease_free(struct nodelease *l)
{
	if (l == NULL)
		return;
	ev_timer_stop(l->ev, &l->timer);
	etcd_call_cancel(l->call);
	free(l);
}

int64_t nodelease_id(const struct nodelease *l)
{
	return l->state == LEASE_ALIVE ? l->id : 0;
}

int64_t nodelease_granted_s(const struct nodelease *l)
{
	return l->granted_s;
}
