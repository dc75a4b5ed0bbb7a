/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * An etcd in the test's memory, behind the functions of etcd.h: keys, revisions, leases that end,
 * and transactions that are carried out whole, in simulated time (simloop.h). A request takes a
 * while to get there and its answer a while to come back; either can be lost, and then the caller
 * hears that there was no answer in time. What was under way when a caller gave it up may still be
 * carried out.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "etcd/etcd.h"
#include "tests/unit/check.h"
#include "tests/unit/simloop.h"

#define FAKE_KEYS_MAX 256
#define FAKE_LEASES_MAX 64
#define FAKE_OPS_MAX 24
#define FAKE_CALL_US US_PER_S
#define FAKE_TRIP_US (2 * US_PER_MS)

enum fake_method {
	FAKE_TXN,
	FAKE_GRANT,
	FAKE_KEEPALIVE,
	FAKE_REVOKE,
	FAKE_METHODS,
};

/* How the next calls of a method go. */
struct fake_rule {
	bool lost_there; /* it never gets there */
	bool lost_back;  /* it is carried out, and nobody hears of it */
	int r;           /* refused with this */
	int64_t there_us, back_us;
	unsigned times; /* then as usual; 0: for ever */
};

/* A node's client. */
struct etcd {
	struct ev_loop *ev;
	bool cut; /* nothing comes through, either way */
	struct fake_rule rules[FAKE_METHODS];
	unsigned n_calls[FAKE_METHODS];
	unsigned n_open;
};

struct fake_key {
	char *key, *value;
	int64_t created, modified, lease;
};

struct fake_lease {
	int64_t id, ttl_us, until_us; /* id 0: free */
};

static struct {
	struct ev_loop ev; /* the server's own, which is never stopped */
	struct fake_key keys[FAKE_KEYS_MAX];
	size_t n_keys;
	struct fake_lease leases[FAKE_LEASES_MAX];
	int64_t revision, next_lease;
	bool no_space, corrupt; /* the alarms */
	int64_t trip_us;        /* one way */
} fake = {.revision = 100, .next_lease = 7000, .trip_us = FAKE_TRIP_US};

struct etcd_call {
	struct etcd *etcd;
	enum fake_method method;
	struct fake_rule rule;
	bool given_up; /* by the caller, or it is too late */
	ev_timer arrival, answer, limit;
	int64_t sent_us;

	int64_t lease, ttl_s; /* the request's */
	struct etcd_compare compares[FAKE_OPS_MAX];
	struct etcd_op ops[2][FAKE_OPS_MAX]; /* success, failure */
	size_t n_compares, n_ops[2];

	etcd_txn_fn txn_fn;
	etcd_lease_fn lease_fn;
	etcd_done_fn done_fn;
	void *userdata;

	struct etcd_outcome outcome; /* the answer's */
	struct etcd_txn_result txn;
	struct etcd_op_result results[FAKE_OPS_MAX];
	struct etcd_kv kvs[FAKE_OPS_MAX][FAKE_KEYS_MAX / 4];
	struct etcd_lease_result lease_result;
};

/* --- the server's data --- */

static struct etcd_bytes fake_copy(struct etcd_bytes b)
{
	return (struct etcd_bytes){.data = b.data != NULL ? xstrndup(b.data, b.len) : NULL,
	                           .len = b.len};
}

static void fake_free_bytes(struct etcd_bytes b)
{
	free((void *) (uintptr_t) b.data);
}

static bool fake_matches(const struct fake_key *k, struct etcd_bytes key, bool prefix)
{
	return strncmp(k->key, key.data, key.len) == 0 && (prefix || strlen(k->key) == key.len);
}

static struct fake_key *fake_find(struct etcd_bytes key)
{
	for (size_t i = 0; i < fake.n_keys; i++) {
		if (fake_matches(&fake.keys[i], key, false))
			return &fake.keys[i];
	}
	return NULL;
}

static void fake_drop(size_t i)
{
	free(fake.keys[i].key);
	free(fake.keys[i].value);
	memmove(&fake.keys[i], &fake.keys[i + 1], (fake.n_keys - i - 1) * sizeof(fake.keys[0]));
	fake.n_keys--;
}

static int64_t fake_delete(struct etcd_bytes key, bool prefix)
{
	int64_t n = 0;

	for (size_t i = 0; i < fake.n_keys; i++) {
		if (fake_matches(&fake.keys[i], key, prefix)) {
			fake_drop(i--);
			n++;
		}
	}
	return n;
}

/* In the order of their keys. */
static void fake_put(struct etcd_bytes key, struct etcd_bytes value, int64_t lease)
{
	struct fake_key *k = fake_find(key);
	size_t at = 0;

	if (k == NULL) {
		CHECK(fake.n_keys < FAKE_KEYS_MAX);
		while (at < fake.n_keys && strncmp(fake.keys[at].key, key.data, key.len) < 0)
			at++;
		k = &fake.keys[at];
		memmove(k + 1, k, (fake.n_keys - at) * sizeof(*k));
		fake.n_keys++;
		*k = (struct fake_key){.key = xstrndup(key.data, key.len), .created = fake.revision};
	}
	free(k->value);
	k->value = xstrndup(value.data, value.len);
	k->modified = fake.revision;
	k->lease = lease;
}

static struct fake_lease *fake_find_lease(int64_t id)
{
	for (size_t i = 0; i < FAKE_LEASES_MAX; i++) {
		if (fake.leases[i].id == id)
			return &fake.leases[i];
	}
	return NULL;
}

static void fake_end_lease(struct fake_lease *lease)
{
	for (size_t i = 0; i < fake.n_keys; i++) {
		if (fake.keys[i].lease == lease->id) {
			fake.revision++;
			fake_drop(i--);
		}
	}
	lease->id = 0;
}

static void fake_end_leases(void)
{
	for (size_t i = 0; i < FAKE_LEASES_MAX; i++) {
		if (fake.leases[i].id != 0 && fake.leases[i].until_us <= sim_now_us)
			fake_end_lease(&fake.leases[i]);
	}
}

/* For tests: as if somebody else had written or read it. The value is borrowed. */
static inline UNUSED void fake_set(const char *key, const char *value)
{
	fake.revision++;
	fake_put(ETCD_STR(key), ETCD_STR(value), 0);
}

static inline UNUSED const char *fake_get(const char *key)
{
	const struct fake_key *k;

	fake_end_leases();
	k = fake_find(ETCD_STR(key));
	return k != NULL ? k->value : NULL;
}

static inline UNUSED void fake_unset(const char *prefix)
{
	fake.revision++;
	(void) fake_delete(ETCD_STR(prefix), true);
}

static inline UNUSED size_t fake_count(const char *prefix)
{
	size_t n = 0;

	fake_end_leases();
	for (size_t i = 0; i < fake.n_keys; i++)
		n += fake_matches(&fake.keys[i], ETCD_STR(prefix), true);
	return n;
}

static inline UNUSED size_t fake_n_leases(void)
{
	size_t n = 0;

	fake_end_leases();
	for (size_t i = 0; i < FAKE_LEASES_MAX; i++)
		n += fake.leases[i].id != 0;
	return n;
}

/* --- what is done there --- */

static bool fake_holds(const struct etcd_compare *c)
{
	const struct fake_key *k = fake_find(c->key);

	CHECK_EQ_INT(c->result, ETCD_EQUAL);
	switch (c->target) {
	case ETCD_COMPARE_CREATE:
		return (k != NULL ? k->created : 0) == c->number;
	case ETCD_COMPARE_MOD:
		return (k != NULL ? k->modified : 0) == c->number;
	case ETCD_COMPARE_VALUE:
		return k != NULL && strlen(k->value) == c->value.len &&
		       memcmp(k->value, c->value.data, c->value.len) == 0;
	case ETCD_COMPARE_VERSION:
	case ETCD_COMPARE_LEASE:
		break;
	}
	abort();
}

static void fake_range(struct etcd_call *call, size_t n, const struct etcd_op *op)
{
	struct etcd_range_result *range = &call->results[n].range;

	for (size_t i = 0; i < fake.n_keys; i++) {
		const struct fake_key *k = &fake.keys[i];

		if (!fake_matches(k, op->key, op->prefix))
			continue;
		CHECK(range->n_kvs < ARRAY_SIZE(call->kvs[n]));
		call->kvs[n][range->n_kvs++] = (struct etcd_kv){
		    .key = fake_copy(ETCD_STR(k->key)),
		    .value = fake_copy(ETCD_STR(k->value)),
		    .create_revision = k->created,
		    .mod_revision = k->modified,
		    .lease = k->lease,
		};
	}
	range->kvs = call->kvs[n];
	range->count = (int64_t) range->n_kvs;
}

static int fake_refuses(const struct etcd_call *call, const struct etcd_op *ops, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (ops[i].kind == ETCD_OP_PUT && fake.corrupt)
			return -EUCLEAN;
		if (ops[i].kind == ETCD_OP_PUT && fake.no_space)
			return -ENOSPC;
		if (ops[i].kind == ETCD_OP_PUT && ops[i].lease != 0 &&
		    fake_find_lease(ops[i].lease) == NULL)
			return -ENOENT;
	}
	return call->rule.r;
}

static void fake_txn(struct etcd_call *call)
{
	bool holds = true;
	const struct etcd_op *ops;
	size_t n;

	for (size_t i = 0; i < call->n_compares; i++)
		holds &= fake_holds(&call->compares[i]);
	ops = call->ops[holds ? 0 : 1];
	n = call->n_ops[holds ? 0 : 1];
	call->outcome.r = fake_refuses(call, ops, n);
	if (call->outcome.r < 0)
		return;
	for (size_t i = 0; i < n; i++) {
		if (ops[i].kind != ETCD_OP_RANGE) {
			fake.revision++;
			break;
		}
	}
	call->txn = (struct etcd_txn_result){holds, call->results, n};
	for (size_t i = 0; i < n; i++) {
		call->results[i].kind = ops[i].kind;
		switch (ops[i].kind) {
		case ETCD_OP_PUT:
			fake_put(ops[i].key, ops[i].value, ops[i].lease);
			break;
		case ETCD_OP_DELETE:
			call->results[i].deleted = fake_delete(ops[i].key, ops[i].prefix);
			break;
		case ETCD_OP_RANGE:
			fake_range(call, i, &ops[i]);
			break;
		}
	}
}

static void fake_grant(struct etcd_call *call)
{
	struct fake_lease *lease = fake_find_lease(0);

	call->outcome.r = fake.corrupt ? -EUCLEAN : fake.no_space ? -ENOSPC : call->rule.r;
	if (!CHECK(lease != NULL) || call->outcome.r < 0)
		return;
	*lease = (struct fake_lease){fake.next_lease++, call->ttl_s * US_PER_S,
	                             sim_now_us + call->ttl_s * US_PER_S};
	call->lease_result = (struct etcd_lease_result){.id = lease->id, .ttl_s = call->ttl_s};
}

static void fake_keepalive(struct etcd_call *call)
{
	struct fake_lease *lease = fake_find_lease(call->lease);

	call->outcome.r = call->rule.r;
	call->lease_result.id = call->lease;
	if (lease == NULL || call->outcome.r < 0)
		return;
	lease->until_us = sim_now_us + lease->ttl_us;
	call->lease_result.ttl_s = lease->ttl_us / US_PER_S;
}

static void fake_revoke(struct etcd_call *call)
{
	struct fake_lease *lease = fake_find_lease(call->lease);

	call->outcome.r = lease != NULL ? call->rule.r : -ENOENT;
	if (call->outcome.r == 0)
		fake_end_lease(lease);
}

/* --- calls --- */

static void fake_free(struct etcd_call *call)
{
	for (size_t i = 0; i < call->n_compares; i++) {
		fake_free_bytes(call->compares[i].key);
		fake_free_bytes(call->compares[i].value);
	}
	for (size_t b = 0; b < 2; b++) {
		for (size_t i = 0; i < call->n_ops[b]; i++) {
			fake_free_bytes(call->ops[b][i].key);
			fake_free_bytes(call->ops[b][i].value);
		}
	}
	for (size_t n = 0; n < FAKE_OPS_MAX; n++) {
		for (size_t i = 0; i < call->results[n].range.n_kvs; i++) {
			fake_free_bytes(call->kvs[n][i].key);
			fake_free_bytes(call->kvs[n][i].value);
		}
	}
	free(call);
}

/* It may be on its way still. */
static void fake_give_up(struct etcd_call *call)
{
	ev_timer_stop(call->etcd->ev, &call->limit);
	call->given_up = true;
	call->etcd->n_open--;
	if (ev_is_active(&call->arrival))
		return;
	ev_timer_stop(call->etcd->ev, &call->answer);
	fake_free(call);
}

void etcd_call_cancel(struct etcd_call *call)
{
	if (call != NULL)
		fake_give_up(call);
}

static void fake_tell(struct etcd_call *call, const struct etcd_outcome *outcome)
{
	bool good = outcome->r == 0;

	if (call->txn_fn != NULL)
		call->txn_fn(outcome, good ? &call->txn : NULL, call->userdata);
	else if (call->lease_fn != NULL)
		call->lease_fn(outcome, good ? &call->lease_result : NULL, call->userdata);
	else
		call->done_fn(outcome, call->userdata);
}

static void fake_limit_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct etcd_call *call = CONTAINER_OF(w, struct etcd_call, limit);
	const struct etcd_outcome outcome = {.r = -ETIMEDOUT,
	                                     .ambiguous = true,
	                                     .text = "no answer in time",
	                                     .endpoint = "",
	                                     .sent_us = call->sent_us,
	                                     .received_us = sim_now_us};

	fake_tell(call, &outcome);
	fake_give_up(call);
}

static void fake_answer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct etcd_call *call = CONTAINER_OF(w, struct etcd_call, answer);

	if (call->etcd->cut)
		return;
	call->outcome.text = call->outcome.r < 0 ? strerror(-call->outcome.r) : "";
	call->outcome.endpoint = "fake";
	call->outcome.sent_us = call->sent_us;
	call->outcome.received_us = sim_now_us;
	ev_timer_stop(call->etcd->ev, &call->limit);
	fake_tell(call, &call->outcome);
	fake_give_up(call);
}

static void fake_arrival_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct etcd_call *call = CONTAINER_OF(w, struct etcd_call, arrival);
	static void (*const work[])(struct etcd_call *) = {
	    [FAKE_TXN] = fake_txn,
	    [FAKE_GRANT] = fake_grant,
	    [FAKE_KEEPALIVE] = fake_keepalive,
	    [FAKE_REVOKE] = fake_revoke,
	};

	fake_end_leases();
	if (!call->etcd->cut && !call->rule.lost_there) {
		work[call->method](call);
		call->outcome.revision = fake.revision;
		if (!call->given_up && !call->rule.lost_back) {
			ev_timer_set(&call->answer, mono_to_ev(call->rule.back_us), 0.);
			ev_timer_start(call->etcd->ev, &call->answer);
		}
	}
	if (call->given_up)
		fake_free(call);
}

static struct etcd_call *fake_call(struct etcd *etcd, enum fake_method method, void *userdata,
                                   struct etcd_call **ret_call)
{
	struct etcd_call *call = NEW0(struct etcd_call);
	struct fake_rule *rule = &etcd->rules[method];

	etcd->n_calls[method]++;
	etcd->n_open++;
	call->etcd = etcd;
	call->method = method;
	call->userdata = userdata;
	call->sent_us = sim_now_us;
	call->rule = *rule;
	if (rule->times > 0 && --rule->times == 0)
		*rule = (struct fake_rule){0};
	if (call->rule.there_us == 0)
		call->rule.there_us = fake.trip_us;
	if (call->rule.back_us == 0)
		call->rule.back_us = fake.trip_us;
	ev_init(&call->answer, fake_answer_cb);
	ev_timer_init(&call->arrival, fake_arrival_cb, mono_to_ev(call->rule.there_us), 0.);
	ev_timer_start(&fake.ev, &call->arrival);
	ev_timer_init(&call->limit, fake_limit_cb, mono_to_ev(FAKE_CALL_US), 0.);
	ev_timer_start(etcd->ev, &call->limit);
	*ret_call = call;
	return call;
}

static size_t fake_copy_ops(struct etcd_op *to, const struct etcd_op *from, size_t n)
{
	CHECK(n <= FAKE_OPS_MAX);
	for (size_t i = 0; i < n; i++) {
		to[i] = from[i];
		to[i].key = fake_copy(from[i].key);
		to[i].value = fake_copy(from[i].value);
	}
	return n;
}

int etcd_txn(struct etcd *etcd, const struct etcd_txn *txn, etcd_txn_fn fn, void *userdata,
             struct etcd_call **ret_call)
{
	struct etcd_call *call = fake_call(etcd, FAKE_TXN, userdata, ret_call);

	call->txn_fn = fn;
	for (size_t i = 0; i < txn->n_compares; i++) {
		struct etcd_compare c = txn->compares[i];

		c.key = fake_copy(c.key);
		c.value = fake_copy(c.value);
		call->compares[call->n_compares++] = c;
	}
	call->n_ops[0] = fake_copy_ops(call->ops[0], txn->success, txn->n_success);
	call->n_ops[1] = fake_copy_ops(call->ops[1], txn->failure, txn->n_failure);
	return 0;
}

int etcd_lease_grant(struct etcd *etcd, int64_t id, int64_t ttl_s, etcd_lease_fn fn, void *userdata,
                     struct etcd_call **ret_call)
{
	struct etcd_call *call = fake_call(etcd, FAKE_GRANT, userdata, ret_call);

	CHECK_EQ_INT(id, 0);
	call->ttl_s = ttl_s;
	call->lease_fn = fn;
	return 0;
}

int etcd_lease_keepalive(struct etcd *etcd, int64_t id, etcd_lease_fn fn, void *userdata,
                         struct etcd_call **ret_call)
{
	struct etcd_call *call = fake_call(etcd, FAKE_KEEPALIVE, userdata, ret_call);

	call->lease = id;
	call->lease_fn = fn;
	return 0;
}

int etcd_lease_revoke(struct etcd *etcd, int64_t id, etcd_done_fn fn, void *userdata,
                      struct etcd_call **ret_call)
{
	struct etcd_call *call = fake_call(etcd, FAKE_REVOKE, userdata, ret_call);

	call->lease = id;
	call->done_fn = fn;
	return 0;
}

/* --- for tests --- */

static inline UNUSED void fake_rule(struct etcd *etcd, enum fake_method method,
                                    struct fake_rule rule)
{
	etcd->rules[method] = rule;
}

/* Empty again; whatever is on its way is given time to end. */
static inline UNUSED void fake_reset(void)
{
	sim_for(60 * US_PER_S);
	while (fake.n_keys > 0)
		fake_drop(0);
	for (size_t i = 0; i < FAKE_LEASES_MAX; i++)
		fake.leases[i].id = 0;
	fake.no_space = fake.corrupt = false;
	fake.trip_us = FAKE_TRIP_US;
}
