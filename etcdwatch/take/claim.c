/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	READING ── nobody ──► GRANTING ──► CLAIMING ── created ──► HELD ──► RECORDING
 *	   │                      │            │                    │           │
 *	   └──────────────────────┴────────────┴────────────────────┴───────────┴──► OVER
 *
 * The lease is renewed by keepalives in HELD and RECORDING. What etcd answers to them is no proof
 * that it lives; the transaction that records is.
 */
#include "etcdwatch/take/claim.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fsm.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/cluster/doubt.h"
#include "etcdwatch/cluster/view.h"

#define RETRY_US US_PER_S
/* Of the periods that are done, so many stay to be seen. */
#define KEEP_DONE 8
#define FORGET_MAX 16 /* a transaction */

enum claim_state {
	CLAIM_READING,
	CLAIM_GRANTING,
	CLAIM_CLAIMING,
	CLAIM_HELD,
	CLAIM_RECORDING,
	CLAIM_OVER,
};

static const struct fsm_state states[] = {
    [CLAIM_READING] = {"reading", FSM_TO(CLAIM_GRANTING) | FSM_TO(CLAIM_OVER)},
    [CLAIM_GRANTING] = {"granting", FSM_TO(CLAIM_CLAIMING) | FSM_TO(CLAIM_OVER)},
    [CLAIM_CLAIMING] = {"claiming", FSM_TO(CLAIM_HELD) | FSM_TO(CLAIM_OVER)},
    [CLAIM_HELD] = {"held", FSM_TO(CLAIM_RECORDING) | FSM_TO(CLAIM_OVER)},
    [CLAIM_RECORDING] = {"recording", FSM_TO(CLAIM_OVER)},
    [CLAIM_OVER] = {"over", 0},
};

struct claim {
	struct ev_loop *ev;
	struct etcd *etcd;
	const struct claim_callbacks *callbacks;
	void *userdata;
	enum claim_state state;
	char *claim_key, *done_key, *done_prefix;
	char *claim_value, *done_value;
	char done_id[CLAIM_ID_MAX]; /* that somebody has recorded */
	char *forget[FORGET_MAX];   /* keys of periods long done */
	size_t n_forget;
	int64_t lease;
	int64_t ttl_us;
	int64_t good_until_us; /* the lease, as far as we know */
	int64_t create_revision;
	struct etcd_call *call;    /* reading, granting, claiming, recording */
	struct etcd_call *renewal; /* while the lease is ours */
	ev_timer renew;
	ev_timer again; /* RECORDING, after a failure */
};

static void change_state(struct claim *c, enum claim_state state)
{
	fsm_check(states, ARRAY_SIZE(states), c->state, state);
	log_debug("claim_state", "key=%s old=%s new=%s", c->claim_key, states[c->state].name,
	          states[state].name);
	c->state = state;
	if (state == CLAIM_OVER) {
		ev_timer_stop(c->ev, &c->renew);
		ev_timer_stop(c->ev, &c->again);
		etcd_call_cancel(TAKE_PTR(c->renewal));
	}
}

/* These call out: last act. */
static void answer(struct claim *c, enum claim_answer a, const char *text)
{
	if (a != CLAIM_OURS)
		change_state(c, CLAIM_OVER);
	c->callbacks->answered(a, text, c->userdata);
}

static void finish(struct claim *c, enum claim_end e, const char *text)
{
	change_state(c, CLAIM_OVER);
	c->callbacks->ended(e, text, c->userdata);
}

/* What is under way may land all the same; nobody listens to it any more. */
static void lose(struct claim *c)
{
	etcd_call_cancel(TAKE_PTR(c->call));
	switch (c->state) {
	case CLAIM_CLAIMING:
		answer(c, CLAIM_FAILED, "the lease ran out before the claim was answered");
		return;
	case CLAIM_RECORDING:
		finish(c, CLAIM_UNRECORDED, "the lease of the claim ran out");
		return;
	case CLAIM_HELD:
		change_state(c, CLAIM_OVER);
		c->callbacks->lost(c->userdata);
		return;
	case CLAIM_READING:
	case CLAIM_GRANTING:
	case CLAIM_OVER:
		/* There is no lease. */
		break;
	}
	assert(false);
}

/* --- the lease --- */

static void renewed_cb(const struct etcd_outcome *outcome, const struct etcd_lease_result *result,
                       void *userdata)
{
	struct claim *c = userdata;

	c->renewal = NULL;
	if (outcome->r == -ENOENT || (outcome->r == 0 && result->ttl_s <= 0))
		lose(c);
	else if (outcome->r == 0)
		c->good_until_us = outcome->sent_us + result->ttl_s * US_PER_S;
}

static void renew_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct claim *c = CONTAINER_OF(w, struct claim, renew);

	if (mono_now_us() >= c->good_until_us)
		lose(c);
	else if (c->renewal == NULL)
		(void) etcd_lease_keepalive(c->etcd, c->lease, renewed_cb, c, &c->renewal);
}

/* --- recording --- */

static void record(struct claim *c);

/* A text in the object that a key holds, or "". */
static void text_in(const struct etcd_kv *kv, const char *name, char *buf, size_t size)
{
	json_t *value = json_loadb(kv->value.data, kv->value.len, 0, NULL);
	const char *text = json_string_value(json_object_get(value, name));

	(void) snprintf(buf, size, "%s", text != NULL ? text : "");
	json_decref(value);
}

static void again_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	record(CONTAINER_OF(w, struct claim, again));
}

/* The claim is not ours any more. An attempt of which we have heard nothing may have landed while
 * it was. */
static void refused(struct claim *c, const struct etcd_range_result *done)
{
	char node[CLAIM_NODE_MAX], text[CLAIM_NODE_MAX + 32];

	if (done->n_kvs == 0) {
		finish(c, CLAIM_UNRECORDED, "the claim is not ours any more");
		return;
	}
	if (done->kvs[0].value.len == strlen(c->done_value) &&
	    memcmp(done->kvs[0].value.data, c->done_value, done->kvs[0].value.len) == 0) {
		finish(c, CLAIM_RECORDED, "");
		return;
	}
	text_in(&done->kvs[0], "node", node, sizeof(node));
	(void) snprintf(text, sizeof(text), "'%s' has taken it over", node);
	finish(c, CLAIM_FENCED, text);
}

static void recorded_cb(const struct etcd_outcome *outcome, const struct etcd_txn_result *result,
                        void *userdata)
{
	struct claim *c = userdata;

	c->call = NULL;
	/* No waiting helps, while the lease, which takes no room, would be renewed for ever. */
	if (outcome->r == -ENOSPC || outcome->r == -EUCLEAN) {
		finish(c, CLAIM_UNRECORDED, outcome->text);
		return;
	}
	if (outcome->r < 0) {
		log_debug("claim_not_recorded", "key=%s err=\"%s\"", c->done_key, outcome->text);
		ev_timer_set(&c->again, mono_to_ev(RETRY_US), 0.);
		ev_timer_start(c->ev, &c->again);
		return;
	}
	if (result->succeeded)
		finish(c, CLAIM_RECORDED, "");
	else
		refused(c, &result->results[0].range);
}

static void record(struct claim *c)
{
	/* The value as well: in a cluster that was restored, revisions come again. */
	const struct etcd_compare ours[] = {
	    {
	        .key = ETCD_STR(c->claim_key),
	        .target = ETCD_COMPARE_CREATE,
	        .result = ETCD_EQUAL,
	        .number = c->create_revision,
	    },
	    {
	        .key = ETCD_STR(c->claim_key),
	        .target = ETCD_COMPARE_VALUE,
	        .result = ETCD_EQUAL,
	        .value = ETCD_STR(c->claim_value),
	    },
	};
	const struct etcd_op look = {.kind = ETCD_OP_RANGE, .key = ETCD_STR(c->done_key)};
	struct etcd_op ops[1 + FORGET_MAX] = {
	    {.kind = ETCD_OP_PUT, .key = ETCD_STR(c->done_key), .value = ETCD_STR(c->done_value)},
	};
	struct etcd_txn txn = {
	    .compares = ours,
	    .n_compares = ARRAY_SIZE(ours),
	    .success = ops,
	    .n_success = 1 + c->n_forget,
	    .failure = &look,
	    .n_failure = 1,
	    /* The claim stays as it is, so this may land twice. */
	    .hedge = true,
	};

	for (size_t i = 0; i < c->n_forget; i++)
		ops[1 + i] = (struct etcd_op){.kind = ETCD_OP_DELETE, .key = ETCD_STR(c->forget[i])};
	(void) etcd_txn(c->etcd, &txn, recorded_cb, c, &c->call);
}

void claim_record(struct claim *c, json_t *done)
{
	c->done_value = json_dumps(done, JSON_COMPACT);
	json_decref(done);
	change_state(c, CLAIM_RECORDING);
	record(c);
}

/* --- claiming --- */

/* The node that a key's value names. */
static void answer_for(struct claim *c, enum claim_answer a, const struct etcd_kv *kv)
{
	char node[CLAIM_NODE_MAX];

	text_in(kv, "node", node, sizeof(node));
	if (a == CLAIM_DONE)
		text_in(kv, "id", c->done_id, sizeof(c->done_id));
	answer(c, a, node[0] != '\0' ? node : "?");
}

static void answer_failure(struct claim *c, const struct etcd_outcome *outcome)
{
	AUTO(free) char *denied = outcome->r == -EACCES ? denied_text(outcome->text) : NULL;
	AUTO(free) char *text = denied != NULL ? xasprintf("etcd %s", denied) : xstrdup(outcome->text);
	enum claim_answer a = CLAIM_FAILED;

	if (outcome->r == -ENOSPC)
		a = CLAIM_NO_SPACE;
	else if (outcome->r == -EUCLEAN)
		a = CLAIM_CORRUPT;
	answer(c, a, text);
}

static void claimed_cb(const struct etcd_outcome *outcome, const struct etcd_txn_result *result,
                       void *userdata)
{
	struct claim *c = userdata;

	c->call = NULL;
	/* If it was done all the same: the lease is given back. */
	if (outcome->r < 0) {
		answer_failure(c, outcome);
		return;
	}
	if (!result->succeeded) {
		const struct etcd_range_result *range = &result->results[0].range;

		if (range->n_kvs > 0)
			answer_for(c, CLAIM_OTHERS, &range->kvs[0]);
		else
			answer(c, CLAIM_OTHERS, "?");
		return;
	}
	c->create_revision = outcome->revision;
	change_state(c, CLAIM_HELD);
	answer(c, CLAIM_OURS, "");
}

static void granted_cb(const struct etcd_outcome *outcome, const struct etcd_lease_result *result,
                       void *userdata)
{
	struct claim *c = userdata;
	const struct etcd_compare nobody[] = {
	    {.key = ETCD_STR(c->claim_key), .target = ETCD_COMPARE_CREATE, .result = ETCD_EQUAL},
	    {.key = ETCD_STR(c->done_key), .target = ETCD_COMPARE_CREATE, .result = ETCD_EQUAL},
	};
	struct etcd_op put = {
	    .kind = ETCD_OP_PUT,
	    .key = ETCD_STR(c->claim_key),
	    .value = ETCD_STR(c->claim_value),
	};
	const struct etcd_op look = {.kind = ETCD_OP_RANGE, .key = ETCD_STR(c->claim_key)};
	const struct etcd_txn txn = {
	    .compares = nobody,
	    .n_compares = ARRAY_SIZE(nobody),
	    .success = &put,
	    .n_success = 1,
	    .failure = &look,
	    .n_failure = 1,
	};

	c->call = NULL;
	if (outcome->r < 0) {
		answer_failure(c, outcome);
		return;
	}
	c->lease = result->id;
	c->ttl_us = result->ttl_s * US_PER_S;
	c->good_until_us = outcome->sent_us + c->ttl_us;
	put.lease = c->lease;
	ev_timer_set(&c->renew, mono_to_ev(c->ttl_us / 4), mono_to_ev(c->ttl_us / 4));
	ev_timer_start(c->ev, &c->renew);
	change_state(c, CLAIM_CLAIMING);
	(void) etcd_txn(c->etcd, &txn, claimed_cb, c, &c->call);
}

static void forget(struct claim *c, const struct etcd_kv *kv)
{
	if (c->n_forget < FORGET_MAX)
		c->forget[c->n_forget++] = xstrndup(kv->key.data, kv->key.len);
}

/* The keys come in their order, and all periods have as many digits until the year 2286. */
static bool is_later(const struct claim *c, const struct etcd_kv *kv)
{
	size_t len = strlen(c->done_key);

	return kv->key.len == len && memcmp(kv->key.data, c->done_key, len) > 0;
}

/* All that is later, for some clock was ahead then, and nobody would take those periods when they
 * come (if it is ours that is behind, one may be taken twice); then all but the newest. */
static void plan_to_forget(struct claim *c, const struct etcd_range_result *done)
{
	size_t n = done->n_kvs;

	for (; n > 0 && is_later(c, &done->kvs[n - 1]); n--)
		forget(c, &done->kvs[n - 1]);
	for (size_t i = 0; i + KEEP_DONE < n; i++)
		forget(c, &done->kvs[i]);
}

static void read_cb(const struct etcd_outcome *outcome, const struct etcd_txn_result *result,
                    void *userdata)
{
	struct claim *c = userdata;
	const struct etcd_range_result *claims, *done;

	c->call = NULL;
	if (outcome->r < 0) {
		/* Up to 3.5.6 a full etcd refuses transactions that only read, too. */
		answer_failure(c, outcome);
		return;
	}
	claims = &result->results[0].range;
	done = &result->results[1].range;
	if (c->callbacks->read != NULL)
		c->callbacks->read(done, c->userdata);
	for (size_t i = 0; i < done->n_kvs; i++) {
		const struct etcd_kv *kv = &done->kvs[i];

		if (kv->key.len == strlen(c->done_key) &&
		    memcmp(kv->key.data, c->done_key, kv->key.len) == 0) {
			answer_for(c, CLAIM_DONE, kv);
			return;
		}
	}
	if (claims->n_kvs > 0) {
		answer_for(c, CLAIM_OTHERS, &claims->kvs[0]);
		return;
	}
	plan_to_forget(c, done);
	change_state(c, CLAIM_GRANTING);
	(void) etcd_lease_grant(c->etcd, 0, CLAIM_TTL_S, granted_cb, c, &c->call);
}

const char *claim_done_id(const struct claim *c)
{
	return c->done_id;
}

/* --- the whole --- */

struct claim *claim_new(struct ev_loop *ev, struct etcd *etcd, const struct claim_options *options,
                        const struct claim_callbacks *callbacks, void *userdata)
{
	struct claim *c = NEW0(struct claim);
	json_t *value =
	    json_pack("{s:s, s:s, s:I}", "node", options->node, "instance", options->instance,
	              "started", (json_int_t) (wall_now_us() / US_PER_S));
	struct etcd_op looks[2];
	const struct etcd_txn txn = {.success = looks, .n_success = 2, .hedge = true};

	c->ev = ev;
	c->etcd = etcd;
	c->callbacks = callbacks;
	c->userdata = userdata;
	c->claim_key = xasprintf("%setcdwatch/%s/claim/%lld", options->prefix, options->job,
	                         (long long) options->period_s);
	c->done_prefix = xasprintf("%setcdwatch/%s/done/", options->prefix, options->job);
	c->done_key = xasprintf("%s%lld", c->done_prefix, (long long) options->period_s);
	c->claim_value = json_dumps(value, JSON_COMPACT);
	json_decref(value);
	ev_init(&c->renew, renew_cb);
	ev_init(&c->again, again_cb);
	looks[0] = (struct etcd_op){.kind = ETCD_OP_RANGE, .key = ETCD_STR(c->claim_key)};
	looks[1] =
	    (struct etcd_op){.kind = ETCD_OP_RANGE, .key = ETCD_STR(c->done_prefix), .prefix = true};
	(void) etcd_txn(etcd, &txn, read_cb, c, &c->call);
	return c;
}

static void released_cb(const struct etcd_outcome *outcome, void *userdata UNUSED)
{
	log_debug("claim_released", "r=%d", outcome->r);
}

void claim_free(struct claim *c)
{
	struct etcd_call *release;

	if (c == NULL)
		return;
	ev_timer_stop(c->ev, &c->renew);
	ev_timer_stop(c->ev, &c->again);
	etcd_call_cancel(c->renewal);
	etcd_call_cancel(c->call);
	/* Nobody waits for it; without it the lease ends by itself. */
	if (c->lease != 0)
		(void) etcd_lease_revoke(c->etcd, c->lease, released_cb, NULL, &release);
	for (size_t i = 0; i < c->n_forget; i++)
		free(c->forget[i]);
	free(c->claim_key);
	free(c->done_key);
	free(c->done_prefix);
	free(c->claim_value);
	free(c->done_value);
	free(c);
}
