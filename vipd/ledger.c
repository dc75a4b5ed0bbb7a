/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests about one VIP's keys, each a struct ledger_call in a list so that all can be cancelled,
 * and the watch that feeds the facts. The watch begins behind the first quorum read, and again
 * behind the next one when etcd has compacted what it was to bring, or was rewound.
 *
 * Each request carries a mark of what was known when it was sent; its answer is weighed against
 * that (facts_judge()) before anything else is made of it.
 */
#include "vipd/ledger.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

#define FOLLOW_RETRY_US (250 * US_PER_MS)
/* Without any answer for so long, ask. */
#define AUDIT_US (10 * US_PER_S)

struct ledger_call {
	struct ledger *ledger;
	struct etcd_call *etcd_call;
	int64_t sent_us;
	struct facts_mark mark;
	bool for_election;          /* read: it was asked for, so it is answered */
	bool deletes;               /* confirm: the beat, as etcd refuses puts */
	int64_t rev;                /* confirm, release: the guard */
	struct record_owner record; /* take, release: what is written; confirm: what must stand there */
	LIST_ENTRY(ledger_call) entry;
};

struct ledger {
	struct ev_loop *ev;
	struct etcd *etcd;
	struct facts *facts;
	const struct ledger_callbacks *callbacks;
	void *userdata;
	char *prefix;
	char *owner_key;
	char *beat_key;
	int64_t beat_seq;
	struct etcd_watch *watch;
	ev_timer again; /* the follow-up read, without answering the election */
	bool following; /* such a read is under way, */
	bool retrying;  /* or has failed and will be repeated */
	char endpoint[256];
	struct ledger_trouble trouble;
	int64_t full_us; /* when etcd last refused a confirmation for want of room */
	struct log_ratelimit trouble_limit;
	LIST_HEAD(, ledger_call) calls;
};

static struct ledger_call *call_new(struct ledger *l)
{
	struct ledger_call *c = NEW0(struct ledger_call);

	c->ledger = l;
	c->sent_us = mono_now_us();
	c->mark = facts_mark(l->facts);
	LIST_INSERT_HEAD(&l->calls, c, entry);
	return c;
}

static void call_free(struct ledger_call *c)
{
	LIST_REMOVE(c, entry);
	free(c);
}

/* --- trouble --- */

static void note_failure(struct ledger *l, const struct etcd_outcome *outcome)
{
	struct ledger_trouble *t = &l->trouble;
	bool news = t->r != outcome->r;
	unsigned suppressed;

	(void) snprintf(t->text, sizeof(t->text), "%s", outcome->text);
	for (char *p = t->text; *p != '\0'; p++) {
		if (*p < 0x20 || *p > 0x7e || *p == '"')
			*p = '\'';
	}
	if (!news)
		return;
	t->r = outcome->r;
	t->since_us = mono_now_us();
	if (log_ratelimit_allow(&l->trouble_limit, t->since_us, &suppressed))
		log_warning_errno(t->r, "etcd_trouble", "prefix=%s text=\"%s\" suppressed=%u", l->prefix,
		                  t->text, suppressed);
}

static void note_answer(struct ledger *l, bool wrote)
{
	bool others_wrote = l->facts->beat_rev != 0 && l->facts->life.us > l->trouble.since_us;

	/* A full etcd answers reads and takes deletions: what ends that is a put, ours or another's. */
	if (l->trouble.r != -ENOSPC || wrote || others_wrote)
		l->trouble.r = 0;
}

static void note_outcome(struct ledger *l, const struct etcd_outcome *outcome, bool is_write)
{
	if (outcome->r < 0) {
		note_failure(l, outcome);
		return;
	}
	(void) snprintf(l->endpoint, sizeof(l->endpoint), "%s", outcome->endpoint);
	note_answer(l, is_write);
	if (!l->retrying)
		loop_timer_in(l->ev, &l->again, AUDIT_US);
}

/* --- reads and the watch --- */

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

static void watch_events_cb(const struct etcd_event *events, size_t n_events,
                            int64_t revision UNUSED, void *userdata)
{
	struct ledger *l = userdata;
	struct mono_moment now = mono_moment_now();

	for (size_t i = 0; i < n_events; i++) {
		struct facts_key k = to_facts_key(l, &events[i].kv, events[i].type == ETCD_EVENT_DELETE);

		facts_on_event(l->facts, &k, now);
	}
	l->callbacks->changed(l->userdata);
}

static void watch_compacted_cb(int64_t compact_revision, void *userdata)
{
	struct ledger *l = userdata;

	log_debug("watch_compacted", "prefix=%s rev=%lld", l->prefix, (long long) compact_revision);
	etcd_watch_free(TAKE_PTR(l->watch));
	/* The answer starts the next one. */
	ledger_follow(l);
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

/* The facts have begun anew, with the answer that proved it or without any. */
static void begin_timeline(struct ledger *l, const char *why, int64_t known_rev, int64_t rev)
{
	log_error("etcd_rewound", "prefix=%s known_rev=%lld rev=%lld reason=\"%s\"", l->prefix,
	          (long long) known_rev, (long long) rev, why);
	/* It waits for revisions of the former timeline. */
	etcd_watch_free(TAKE_PTR(l->watch));
	l->callbacks->rewound(l->userdata);
}

static const char *why_rewound(const struct facts *f, uint64_t cluster_id)
{
	return f->cluster_id != 0 && f->cluster_id != cluster_id
	           ? "etcd was replaced: another cluster id"
	           : "etcd was rewound: restored from a backup without a raised revision";
}

static void fold_read(struct ledger *l, const struct ledger_call *c,
                      const struct etcd_outcome *outcome, const struct etcd_range_result *result)
{
	AUTO(free) struct facts_key *keys = xcalloc(result->n_kvs, sizeof(keys[0]));
	const char *why = why_rewound(l->facts, outcome->cluster_id);
	int64_t known_rev = l->facts->revision;
	enum facts_answer answer;

	for (size_t i = 0; i < result->n_kvs; i++)
		keys[i] = to_facts_key(l, &result->kvs[i], false);
	answer = facts_on_read(l->facts, c->mark, outcome->cluster_id, outcome->revision, keys,
	                       result->n_kvs, c->sent_us, mono_moment_now());
	if (answer == FACTS_REWOUND)
		begin_timeline(l, why, known_rev, outcome->revision);
	start_watch(l, outcome->revision);
}

/* Of a read that no election waits for. */
static void follow_done(struct ledger *l, bool ok)
{
	l->following = false;
	l->retrying = !ok;
	loop_timer_in(l->ev, &l->again, ok ? AUDIT_US : FOLLOW_RETRY_US);
	if (ok)
		l->callbacks->changed(l->userdata);
}

static void read_cb(const struct etcd_outcome *outcome, const struct etcd_range_result *result,
                    void *userdata)
{
	struct ledger_call *c = userdata;
	struct ledger *l = c->ledger;
	/* One of a former timeline would be believed of nothing; the next one will be. */
	bool ok = outcome->r == 0 && c->mark.timeline == l->facts->timeline;
	bool for_election = c->for_election;

	note_outcome(l, outcome, false);
	if (ok)
		fold_read(l, c, outcome, result);
	else
		facts_on_read_failed(l->facts, c->sent_us);
	call_free(c);
	if (for_election)
		l->callbacks->on_read(ok, l->userdata);
	else
		follow_done(l, ok);
}

static void send_read(struct ledger *l, bool for_election, int64_t useful_us)
{
	struct ledger_call *c = call_new(l);
	struct etcd_range range = {.key = ETCD_STR(l->prefix), .prefix = true, .useful_us = useful_us};
	int r;

	c->for_election = for_election;
	r = etcd_range(l->etcd, &range, read_cb, c, &c->etcd_call);
	assert(r >= 0);
}

static void again_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	ledger_follow(CONTAINER_OF(w, struct ledger, again));
}

void ledger_read(struct ledger *l, int64_t useful_us)
{
	send_read(l, true, useful_us);
}

void ledger_follow(struct ledger *l)
{
	if (l->following)
		return;
	l->following = true;
	l->retrying = false;
	ev_timer_stop(l->ev, &l->again);
	send_read(l, false, 0);
}

/* --- transactions --- */

/* Adds what a key must be: the revision, and its value where it is the one that we know. */
static size_t add_guards(struct etcd_compare *compares, const char *key, int64_t rev,
                         int64_t known_rev, const struct facts_text *text)
{
	compares[0] = (struct etcd_compare){
	    .key = ETCD_STR(key),
	    .target = ETCD_COMPARE_MOD,
	    .result = ETCD_EQUAL,
	    .number = rev,
	};
	if (rev == 0 || rev != known_rev || text->len == 0)
		return 1;
	compares[1] = (struct etcd_compare){
	    .key = ETCD_STR(key),
	    .target = ETCD_COMPARE_VALUE,
	    .result = ETCD_EQUAL,
	    .value = {text->data, text->len},
	};
	return 2;
}

static void send_txn(struct ledger_call *c, const struct etcd_compare *compares, size_t n_compares,
                     const struct etcd_op *ops, size_t n_ops, int64_t useful_us, etcd_txn_fn fn)
{
	struct etcd_txn txn = {
	    .compares = compares,
	    .n_compares = n_compares,
	    .success = ops,
	    .n_success = n_ops,
	    .hedge = true,
	    .useful_us = useful_us,
	};
	int r;

	r = etcd_txn(c->ledger->etcd, &txn, fn, c, &c->etcd_call);
	assert(r >= 0);
}

static enum election_verdict verdict_of(struct ledger *l, const struct ledger_call *c,
                                        const struct etcd_outcome *outcome,
                                        const struct etcd_txn_result *result)
{
	const char *why = why_rewound(l->facts, outcome->cluster_id);
	int64_t known_rev = l->facts->revision;

	note_outcome(l, outcome, !c->deletes);
	if (outcome->r < 0) {
		log_debug("txn_unknown", "prefix=%s r=%d ambiguous=%d text=\"%s\"", l->prefix, outcome->r,
		          outcome->ambiguous, outcome->text);
		return ELECTION_UNKNOWN;
	}
	switch (facts_judge(l->facts, c->mark, outcome->cluster_id, outcome->revision)) {
	case FACTS_CURRENT:
		return result->succeeded ? ELECTION_DONE : ELECTION_LOST;
	case FACTS_STALE:
		return ELECTION_UNKNOWN;
	case FACTS_REWOUND:
		break;
	}
	facts_rewind(l->facts, mono_moment_now());
	begin_timeline(l, why, known_rev, outcome->revision);
	ledger_follow(l);
	return ELECTION_UNKNOWN;
}

/* Its revision alone does not say that the record is ours. */
static bool is_our_record(const struct record_owner *ours, const struct etcd_txn_result *result)
{
	const struct etcd_range_result *range;
	struct record_owner found;

	if (result->n_results != 2 || result->results[1].kind != ETCD_OP_RANGE)
		return false;
	range = &result->results[1].range;
	return range->n_kvs == 1 &&
	       record_owner_parse(range->kvs[0].value.data, range->kvs[0].value.len, &found) >= 0 &&
	       strcmp(found.instance, ours->instance) == 0 && found.epoch == ours->epoch &&
	       found.window_us / US_PER_MS == ours->window_us / US_PER_MS && !found.released;
}

/* A standby of an older version takes where there is no beat. */
static bool may_confirm_by_deletion(const struct facts *f)
{
	return f->known && !f->older_seen;
}

static void confirm_cb(const struct etcd_outcome *outcome, const struct etcd_txn_result *result,
                       void *userdata);

static void send_confirm(struct ledger_call *c, struct etcd_op beat)
{
	struct ledger *l = c->ledger;
	struct etcd_compare guards[2];
	struct etcd_op ops[] = {beat, {.kind = ETCD_OP_RANGE, .key = ETCD_STR(l->owner_key)}};
	size_t n = add_guards(guards, l->owner_key, c->rev, l->facts->owner_rev, &l->facts->owner_text);

	ops[0].key = ETCD_STR(l->beat_key);
	c->deletes = beat.kind == ETCD_OP_DELETE;
	send_txn(c, guards, n, ops, ARRAY_SIZE(ops), c->record.window_us, confirm_cb);
}

static void confirm_cb(const struct etcd_outcome *outcome, const struct etcd_txn_result *result,
                       void *userdata)
{
	struct ledger_call *c = userdata;
	struct ledger *l = c->ledger;
	enum election_verdict verdict = verdict_of(l, c, outcome, result);
	int64_t sent_us = outcome->r < 0 ? c->sent_us : outcome->sent_us;
	int64_t rev = c->rev;

	if (outcome->r == -ENOSPC && !c->deletes && may_confirm_by_deletion(l->facts)) {
		l->full_us = mono_now_us();
		send_confirm(c, (struct etcd_op){.kind = ETCD_OP_DELETE});
		return;
	}
	if (verdict == ELECTION_DONE && !is_our_record(&c->record, result))
		verdict = ELECTION_LOST;
	call_free(c);
	l->callbacks->on_confirm(verdict, rev, sent_us, outcome->received_us - outcome->sent_us,
	                         l->userdata);
}

void ledger_confirm(struct ledger *l, const struct record_owner *ours, int64_t rev)
{
	struct ledger_call *c = call_new(l);
	AUTO(free) char *value = record_beat_format(ours->epoch, ++l->beat_seq);

	c->rev = rev;
	c->record = *ours;
	/* A put is tried often enough for standbys to hear of the owner once etcd takes it. */
	if (l->full_us != 0 && c->sent_us - l->full_us < ours->window_us / 4 &&
	    may_confirm_by_deletion(l->facts))
		send_confirm(c, (struct etcd_op){.kind = ETCD_OP_DELETE});
	else
		send_confirm(c, (struct etcd_op){.kind = ETCD_OP_PUT, .value = ETCD_STR(value)});
}

static void beat_cb(const struct etcd_outcome *outcome, const struct etcd_txn_result *result UNUSED,
                    void *userdata)
{
	struct ledger_call *c = userdata;

	note_outcome(c->ledger, outcome, true);
	call_free(c);
}

void ledger_beat(struct ledger *l)
{
	const struct facts *f = l->facts;
	/* Epochs of owners begin at 1. */
	AUTO(free) char *value = record_beat_format(0, ++l->beat_seq);
	struct etcd_op put = {
	    .kind = ETCD_OP_PUT, .key = ETCD_STR(l->beat_key), .value = ETCD_STR(value)};
	struct etcd_compare guards[3];
	size_t n;

	n = add_guards(guards, l->owner_key, f->owner_rev, f->owner_rev, &f->owner_text);
	n += add_guards(guards + n, l->beat_key, 0, 0, &f->beat_text);
	send_txn(call_new(l), guards, n, &put, 1, 0, beat_cb);
}

static void take_cb(const struct etcd_outcome *outcome, const struct etcd_txn_result *result,
                    void *userdata)
{
	struct ledger_call *c = userdata;
	struct ledger *l = c->ledger;
	enum election_verdict verdict = verdict_of(l, c, outcome, result);
	int64_t sent_us = outcome->r < 0 ? c->sent_us : outcome->sent_us;

	if (verdict == ELECTION_DONE)
		facts_on_owner_written(l->facts, &c->record, outcome->revision, mono_moment_now());
	call_free(c);
	l->callbacks->on_take(verdict, outcome->revision, sent_us, l->userdata);
}

/* Puts the record of the call where the guards hold. */
static void write_owner(struct ledger_call *c, const struct etcd_compare *guards, size_t n_guards,
                        const struct record_owner *record, etcd_txn_fn fn)
{
	AUTO(free) char *value = record_owner_format(record);
	struct etcd_op put = {.kind = ETCD_OP_PUT, .key = ETCD_STR(c->ledger->owner_key)};

	c->record = *record;
	put.value = ETCD_STR(value);
	send_txn(c, guards, n_guards, &put, 1, 0, fn);
}

void ledger_take(struct ledger *l, const struct election_claim *claim)
{
	const struct facts *f = l->facts;
	struct etcd_compare guards[4];
	size_t n;

	n = add_guards(guards, l->owner_key, claim->owner_rev, f->owner_rev, &f->owner_text);
	n += add_guards(guards + n, l->beat_key, claim->beat_rev, f->beat_rev, &f->beat_text);
	write_owner(call_new(l), guards, n, &claim->record, take_cb);
}

static void release_cb(const struct etcd_outcome *outcome, const struct etcd_txn_result *result,
                       void *userdata)
{
	struct ledger_call *c = userdata;
	struct ledger *l = c->ledger;
	enum election_verdict verdict = verdict_of(l, c, outcome, result);
	int64_t rev = c->rev;

	if (verdict == ELECTION_DONE)
		facts_on_owner_written(l->facts, &c->record, outcome->revision, mono_moment_now());
	call_free(c);
	l->callbacks->on_release(verdict, rev, l->userdata);
}

void ledger_release(struct ledger *l, const struct record_owner *record, int64_t rev)
{
	struct ledger_call *c = call_new(l);
	struct etcd_compare guards[2];
	size_t n;

	c->rev = rev;
	n = add_guards(guards, l->owner_key, rev, l->facts->owner_rev, &l->facts->owner_text);
	write_owner(c, guards, n, record, release_cb);
}

static void ask_cb(const struct etcd_outcome *outcome UNUSED,
                   const struct etcd_txn_result *result UNUSED, void *userdata)
{
	call_free(userdata);
}

void ledger_ask(struct ledger *l)
{
	AUTO(free) char *key = xasprintf("%sask", l->prefix);
	struct etcd_op put = {.kind = ETCD_OP_PUT, .key = ETCD_STR(key), .value = ETCD_STR("{}")};

	send_txn(call_new(l), NULL, 0, &put, 1, US_PER_S, ask_cb);
}

/* --- life --- */

struct ledger *ledger_new(struct ev_loop *ev, struct etcd *etcd, const char *prefix,
                          const struct addr *vip, struct facts *facts,
                          const struct ledger_callbacks *callbacks, void *userdata)
{
	struct ledger *l = NEW0(struct ledger);
	char text[ADDR_TEXT_MAX];

	l->ev = ev;
	l->etcd = etcd;
	l->facts = facts;
	l->callbacks = callbacks;
	l->userdata = userdata;
	l->prefix = xasprintf("%svip/%s/", prefix, addr_format(vip, text));
	l->owner_key = xasprintf("%sowner", l->prefix);
	l->beat_key = xasprintf("%sbeat", l->prefix);
	/* From where one that was restarted in between has not been. */
	l->beat_seq = mono_now_us();
	l->trouble_limit = (struct log_ratelimit){.interval_us = 60 * US_PER_S, .burst = 3};
	ev_timer_init(&l->again, again_cb, 0., 0.);
	LIST_INIT(&l->calls);
	return l;
}

void ledger_free(struct ledger *l)
{
	if (l == NULL)
		return;
	while (!LIST_EMPTY(&l->calls)) {
		struct ledger_call *c = LIST_FIRST(&l->calls);

		etcd_call_cancel(c->etcd_call);
		call_free(c);
	}
	ev_timer_stop(l->ev, &l->again);
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

const struct ledger_trouble *ledger_trouble(const struct ledger *l)
{
	return l->trouble.r < 0 ? &l->trouble : NULL;
}
