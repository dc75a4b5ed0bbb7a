/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One VIP's keys in real etcd, by a ledger that writes down what it was answered, and by somebody
 * else.
 */

#include "vipd/ledger.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "tests/unit/check.h"
#include "tests/unit/etcdtest/cluster.h"
#include "tests/unit/etcdtest/sync.h"
#include "tests/unit/patient.h"
#include "tests/unit/turn.h"

#define PREFIX "fairlead/v1/"
#define VIP "10.0.0.5"
#define UNDER PREFIX "vip/" VIP "/"
#define OWNER UNDER "owner"
#define BEAT UNDER "beat"
/* Within this a member answers, however slow the machine is. */
#define SURE_MS 20000

static struct ev_loop *ev;
static struct etcd *etcd;  /* the ledger's */
static struct etcd *other; /* somebody else's */

/* What was said of one kind of request: how often, and the last time. */
struct answers {
	unsigned n;
	enum election_verdict verdict;
	int64_t rev;
	int64_t sent_us;
	int64_t rtt_us;
};

struct said {
	unsigned n_changed;
	unsigned n_rewound;
	unsigned n_reads;
	bool read_ok;
	struct answers takes, confirms, releases;
};

struct desk {
	struct facts facts;
	struct ledger *ledger;
	struct said said;
};

static inline UNUSED void rewound_cb(void *userdata)
{
	((struct desk *) userdata)->said.n_rewound++;
}

static inline UNUSED void changed_cb(void *userdata)
{
	((struct desk *) userdata)->said.n_changed++;
}

static inline UNUSED void on_read_cb(bool ok, void *userdata)
{
	struct said *s = &((struct desk *) userdata)->said;

	s->n_reads++;
	s->read_ok = ok;
}

static inline UNUSED void on_take_cb(enum election_verdict verdict, int64_t rev, int64_t sent_us,
                                     void *userdata)
{
	struct answers *a = &((struct desk *) userdata)->said.takes;

	*a = (struct answers){.n = a->n + 1, .verdict = verdict, .rev = rev, .sent_us = sent_us};
}

static inline UNUSED void on_confirm_cb(enum election_verdict verdict, int64_t rev, int64_t sent_us,
                                        int64_t rtt_us, void *userdata)
{
	struct answers *a = &((struct desk *) userdata)->said.confirms;

	*a = (struct answers){
	    .n = a->n + 1, .verdict = verdict, .rev = rev, .sent_us = sent_us, .rtt_us = rtt_us};
}

static inline UNUSED void on_release_cb(enum election_verdict verdict, int64_t rev, void *userdata)
{
	struct answers *a = &((struct desk *) userdata)->said.releases;

	*a = (struct answers){.n = a->n + 1, .verdict = verdict, .rev = rev};
}

static const struct ledger_callbacks callbacks = {
    .changed = changed_cb,
    .on_read = on_read_cb,
    .on_take = on_take_cb,
    .on_confirm = on_confirm_cb,
    .on_release = on_release_cb,
    .rewound = rewound_cb,
};

static inline UNUSED void set_desk(struct desk *d)
{
	struct addr vip;

	memset(d, 0, sizeof(*d));
	facts_init(&d->facts);
	CHECK_EQ_INT(addr_parse(VIP, &vip), 0);
	d->ledger = ledger_new(ev, etcd, PREFIX, &vip, &d->facts, &callbacks, d);
}

static inline UNUSED void clean_up(struct desk *d)
{
	ledger_free(d->ledger);
	CHECK_EQ_INT(sync_delete(ev, other, UNDER, true).r, 0);
}

static inline UNUSED void read_keys(struct desk *d)
{
	unsigned before = d->said.n_reads;

	ledger_read(d->ledger, 0);
	CHECK_EQ_INT(d->said.n_reads, before);
	CHECK(sync_until(ev, &d->said.n_reads, before + 1));
}

/* Whoever was away may take a moment to be connected again. */
static inline UNUSED void read_surely(struct desk *d)
{
	const int64_t until_us = mono_now_us() + TURN_LIMIT_US;

	do
		read_keys(d);
	while (!d->said.read_ok && mono_now_us() < until_us);
	CHECK(d->said.read_ok);
}

static inline UNUSED struct record_owner record(const char *node, int64_t epoch)
{
	struct record_owner o = {
	    .epoch = epoch, .window_us = 3 * US_PER_S, .late_us = 100 * US_PER_MS, .reason = "test"};

	(void) snprintf(o.node, sizeof(o.node), "%s", node);
	(void) snprintf(o.instance, sizeof(o.instance), "i-%s", node);
	return o;
}

static inline UNUSED enum election_verdict take(struct desk *d, const char *node, int64_t epoch,
                                                int64_t owner_rev, int64_t beat_rev)
{
	const struct election_claim claim = {
	    .record = record(node, epoch), .owner_rev = owner_rev, .beat_rev = beat_rev};
	unsigned before = d->said.takes.n;

	ledger_take(d->ledger, &claim);
	CHECK_EQ_INT(d->said.takes.n, before);
	CHECK(sync_until(ev, &d->said.takes.n, before + 1));
	return d->said.takes.verdict;
}

static inline UNUSED enum election_verdict confirm(struct desk *d, int64_t rev, int64_t epoch)
{
	const struct record_owner ours = record("n1", epoch);
	unsigned before = d->said.confirms.n;

	ledger_confirm(d->ledger, &ours, rev);
	CHECK_EQ_INT(d->said.confirms.n, before);
	CHECK(sync_until(ev, &d->said.confirms.n, before + 1));
	CHECK_EQ_INT(d->said.confirms.rev, rev);
	return d->said.confirms.verdict;
}

static inline UNUSED enum election_verdict release(struct desk *d, const struct record_owner *o,
                                                   int64_t rev)
{
	unsigned before = d->said.releases.n;

	ledger_release(d->ledger, o, rev);
	CHECK_EQ_INT(d->said.releases.n, before);
	CHECK(sync_until(ev, &d->said.releases.n, before + 1));
	CHECK_EQ_INT(d->said.releases.rev, rev);
	return d->said.releases.verdict;
}

/* The facts come to show the owner's epoch, or the beat. */
static inline UNUSED bool sees(struct desk *d, int64_t owner_rev, int64_t beat_rev)
{
	return TURN_UNTIL(ev, d->facts.owner_rev == owner_rev && d->facts.beat_rev == beat_rev);
}

static inline UNUSED void prepare(void)
{
	ev = ev_default_loop(EVFLAG_AUTO);
}

/* Of which both clients wait for as long as a busy machine may take. */
static inline UNUSED struct cluster *one_member(unsigned flags)
{
	struct cluster *cluster = cluster_new(1, flags);
	struct etcd_options sure = {
	    .endpoints = cluster_urls(cluster), .n_endpoints = 1, .call_timeout_ms = SURE_MS};
	char error[ETCD_ERROR_TEXT_MAX];

	CHECK_EQ_INT(etcd_new(ev, &sure, error, &etcd), 0);
	CHECK_EQ_INT(etcd_new(ev, &sure, error, &other), 0);
	return cluster;
}
