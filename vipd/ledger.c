/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests about one VIP's keys, each a struct ledger_call in a list so that all can be cancelled,
 * and the watch that feeds the facts. The watch begins behind the first quorum read, and again
 * behind the next one when etcd has compacted what it was to bring.
 */
#include "vipd/ledger.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

struct ledger_call {
	struct ledger *ledger;
	struct etcd_call *etcd_call;
	int64_t sent_us;
	bool for_election;          /* read: it was asked for, so it is answered */
	int64_t rev;                /* confirm, release: the guard */
	struct record_owner record; /* take, release: what is written */
	LIST_ENTRY(ledger_call) entry;
};

struct ledger {
	struct etcd *etcd;
	struct facts *facts;
	const struct ledger_callbacks *callbacks;
	void *userdata;
	char *prefix;
	char *owner_key;
	char *beat_key;
	int64_t beat_seq;
	struct etcd_watch *watch;
	char endpoint[256];
	LIST_HEAD(, ledger_call) calls;
};

static struct ledger_call *call_new(struct ledger *l)
{
	struct ledger_call *c = NEW0(struct ledger_call);

	c->ledger = l;
	c->sent_us = mono_now_us();
	LIST_INSERT_HEAD(&l->calls, c, entry);
	return c;
}

/* Takes the call off the list and out of memory, leaving a copy for the rest of the callback. */
static struct ledger_call call_finish(struct ledger_call *c, const struct etcd_outcome *outcome)
{
	struct ledger_call copy = *c;

	LIST_REMOVE(c, entry);
	free(c);
	if (outcome->r == 0)
		(void) snprintf(copy.ledger->endpoint, sizeof(copy.ledger->endpoint), "%s",
		                outcome->endpoint);
	return copy;
}

static struct facts_key to_facts_key(const struct ledger *l, const struct etcd_kv *kv, bool deleted)
{
	size_t skip = strlen(l->prefix);

	/* Everything asked for lies below the prefix. */
	return (struct facts_key){
	    .name = (const char *) kv->key.data + skip,
	    .name_len = kv->key.len - skip,
	    .value = deleted ? NULL : (kv->value.data != NULL ? kv->value.data : ""),
	    .value_len = deleted ? 0 : kv->value.len,
	    .mod_revision = kv->mod_revision,
	};
}

static void send_read(struct ledger *l, bool for_election);

static void watch_events_cb(const struct etcd_event *events, size_t n_events,
                            int64_t revision UNUSED, void *userdata)
{
	struct ledger *l = userdata;
	int64_t now_us = mono_now_us();

	for (size_t i = 0; i < n_events; i++) {
		struct facts_key k = to_facts_key(l, &events[i].kv, events[i].type == ETCD_EVENT_DELETE);

		facts_on_event(l->facts, &k, now_us);
	}
	l->callbacks->changed(l->userdata);
}

static void watch_compacted_cb(int64_t compact_revision, void *userdata)
{
	struct ledger *l = userdata;

	log_debug("watch_compacted", "prefix=%s rev=%lld", l->prefix, (long long) compact_revision);
	etcd_watch_free(TAKE_PTR(l->watch));
	/* The answer starts the next one. */
	send_read(l, false);
}

static const struct etcd_watch_callbacks watch_callbacks = {
    .events = watch_events_cb,
    .compacted = watch_compacted_cb,
};

static void start_watch(struct ledger *l, int64_t revision)
{
	int r;

	if (l->watch != NULL)
		return;
	r = etcd_watch_new(l->etcd, ETCD_STR(l->prefix), true, revision + 1, &watch_callbacks, l,
	                   &l->watch);
	if (r < 0)
		log_warning_errno(r, "watch_failed", "prefix=%s", l->prefix);
}

static void read_cb(const struct etcd_outcome *outcome, const struct etcd_range_result *result,
                    void *userdata)
{
	struct ledger_call c = call_finish(userdata, outcome);
	struct ledger *l = c.ledger;
	AUTO(free) struct facts_key *keys = NULL;

	if (outcome->r < 0) {
		facts_on_read_failed(l->facts, c.sent_us);
		if (c.for_election)
			l->callbacks->on_read(false, l->userdata);
		else
			send_read(l, false);
		return;
	}
	keys = xcalloc(result->n_kvs, sizeof(keys[0]));
	for (size_t i = 0; i < result->n_kvs; i++)
		keys[i] = to_facts_key(l, &result->kvs[i], false);
	if (l->facts->known && l->facts->cluster_id != outcome->cluster_id)
		etcd_watch_free(TAKE_PTR(l->watch));
	facts_on_read(l->facts, outcome->cluster_id, outcome->revision, keys, result->n_kvs, c.sent_us,
	              mono_now_us());
	start_watch(l, outcome->revision);
	if (c.for_election)
		l->callbacks->on_read(true, l->userdata);
	else
		l->callbacks->changed(l->userdata);
}

static void send_read(struct ledger *l, bool for_election)
{
	struct ledger_call *c = call_new(l);
	struct etcd_range range = {.key = ETCD_STR(l->prefix), .prefix = true};
	int r;

	c->for_election = for_election;
	r = etcd_range(l->etcd, &range, read_cb, c, &c->etcd_call);
	assert(r >= 0);
}

void ledger_read(struct ledger *l)
{
	send_read(l, true);
}

void ledger_follow(struct ledger *l)
{
	send_read(l, false);
}

static enum election_verdict verdict_of(const struct etcd_outcome *outcome,
                                        const struct etcd_txn_result *result)
{
	if (outcome->r < 0)
		return ELECTION_UNKNOWN;
	return result->succeeded ? ELECTION_DONE : ELECTION_LOST;
}

static struct etcd_compare mod_revision_is(const char *key, int64_t revision)
{
	return (struct etcd_compare){
	    .key = ETCD_STR(key),
	    .target = ETCD_COMPARE_MOD,
	    .result = ETCD_EQUAL,
	    .number = revision,
	};
}

static void send_txn(struct ledger *l, struct ledger_call *c, const struct etcd_compare *compares,
                     size_t n_compares, const char *key, const char *value, etcd_txn_fn fn)
{
	struct etcd_op put = {.kind = ETCD_OP_PUT, .key = ETCD_STR(key), .value = ETCD_STR(value)};
	struct etcd_txn txn = {
	    .compares = compares,
	    .n_compares = n_compares,
	    .success = &put,
	    .n_success = 1,
	    .hedge = true,
	};

	int r;

	r = etcd_txn(l->etcd, &txn, fn, c, &c->etcd_call);
	assert(r >= 0);
}

static void log_unknown(const struct ledger *l, const char *what,
                        const struct etcd_outcome *outcome)
{
	log_debug("txn_unknown", "prefix=%s txn=%s r=%d ambiguous=%d text=\"%s\"", l->prefix, what,
	          outcome->r, outcome->ambiguous, outcome->text);
}

static void confirm_cb(const struct etcd_outcome *outcome, const struct etcd_txn_result *result,
                       void *userdata)
{
	struct ledger_call c = call_finish(userdata, outcome);
	struct ledger *l = c.ledger;

	if (outcome->r < 0)
		log_unknown(l, "confirm", outcome);
	l->callbacks->on_confirm(verdict_of(outcome, result), c.rev,
	                         outcome->r < 0 ? c.sent_us : outcome->sent_us,
	                         outcome->received_us - outcome->sent_us, l->userdata);
}

void ledger_confirm(struct ledger *l, int64_t rev, int64_t epoch)
{
	struct ledger_call *c = call_new(l);
	struct etcd_compare guard = mod_revision_is(l->owner_key, rev);
	AUTO(free) char *value = record_beat_format(epoch, ++l->beat_seq);

	c->rev = rev;
	send_txn(l, c, &guard, 1, l->beat_key, value, confirm_cb);
}

static void take_cb(const struct etcd_outcome *outcome, const struct etcd_txn_result *result,
                    void *userdata)
{
	struct ledger_call c = call_finish(userdata, outcome);
	struct ledger *l = c.ledger;
	enum election_verdict verdict = verdict_of(outcome, result);

	if (verdict == ELECTION_UNKNOWN)
		log_unknown(l, "take", outcome);
	if (verdict == ELECTION_DONE)
		facts_on_owner_written(l->facts, &c.record, outcome->revision, mono_now_us());
	l->callbacks->on_take(verdict, outcome->revision, outcome->r < 0 ? c.sent_us : outcome->sent_us,
	                      l->userdata);
}

void ledger_take(struct ledger *l, const struct election_claim *claim)
{
	struct ledger_call *c = call_new(l);
	struct etcd_compare guards[] = {
	    mod_revision_is(l->owner_key, claim->owner_rev),
	    mod_revision_is(l->beat_key, claim->beat_rev),
	};
	AUTO(free) char *value = record_owner_format(&claim->record);

	c->record = claim->record;
	send_txn(l, c, guards, ARRAY_SIZE(guards), l->owner_key, value, take_cb);
}

static void release_cb(const struct etcd_outcome *outcome, const struct etcd_txn_result *result,
                       void *userdata)
{
	struct ledger_call c = call_finish(userdata, outcome);
	struct ledger *l = c.ledger;
	enum election_verdict verdict = verdict_of(outcome, result);

	if (verdict == ELECTION_UNKNOWN)
		log_unknown(l, "release", outcome);
	if (verdict == ELECTION_DONE)
		facts_on_owner_written(l->facts, &c.record, outcome->revision, mono_now_us());
	l->callbacks->on_release(verdict, c.rev, l->userdata);
}

void ledger_release(struct ledger *l, const struct record_owner *record, int64_t rev)
{
	struct ledger_call *c = call_new(l);
	struct etcd_compare guard = mod_revision_is(l->owner_key, rev);
	AUTO(free) char *value = record_owner_format(record);

	c->rev = rev;
	c->record = *record;
	send_txn(l, c, &guard, 1, l->owner_key, value, release_cb);
}

struct ledger *ledger_new(struct etcd *etcd, const char *prefix, const struct addr *vip,
                          struct facts *facts, const struct ledger_callbacks *callbacks,
                          void *userdata)
{
	struct ledger *l = NEW0(struct ledger);
	char text[ADDR_TEXT_MAX];

	l->etcd = etcd;
	l->facts = facts;
	l->callbacks = callbacks;
	l->userdata = userdata;
	l->prefix = xasprintf("%svip/%s/", prefix, addr_format(vip, text));
	l->owner_key = xasprintf("%sowner", l->prefix);
	l->beat_key = xasprintf("%sbeat", l->prefix);
	LIST_INIT(&l->calls);
	return l;
}

void ledger_free(struct ledger *l)
{
	if (l == NULL)
		return;
	while (!LIST_EMPTY(&l->calls)) {
		struct ledger_call *c = LIST_FIRST(&l->calls);

		LIST_REMOVE(c, entry);
		etcd_call_cancel(c->etcd_call);
		free(c);
	}
	etcd_watch_free(l->watch);
	free(l->prefix);
	free(l->owner_key);
	free(l->beat_key);
	free(l);
}

const char *ledger_prefix(const struct ledger *l)
{
	return l->prefix;
}

const char *ledger_endpoint(const struct ledger *l)
{
	return l->endpoint;
}
