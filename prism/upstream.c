/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of upstreams, in the order of the merged list. What the evidence means is judge.c's
 * business, what to do about it balance.c's, when to ask for more probing.c's; here they are
 * brought together, and every change is said once.
 */
#include "prism/upstream.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "prism/probing.h"

const int64_t upstream_bucket_us[UPSTREAM_BUCKETS] = {
    100, 250, 500, 1000, 2500, 5000, 25000, 100000, 250000, 1000000,
};

#define LOG_INTERVAL_US (60 * US_PER_S)
#define LOG_BURST 10

struct entry {
	struct upstream upstream; /* first: a pointer to it is a pointer to the entry */
	struct probing_slot slot;
	bool probed;   /* the slot is in use */
	bool listed;   /* as it was said last */
	bool restored; /* waits for the first list, which may name it */
	struct log_ratelimit log_limit;
};

struct upstreams {
	const struct upstreams_callbacks *callbacks;
	void *userdata;
	struct probing *probing;
	struct entry *entries[BALANCE_MAX];
	size_t n;
	struct judge_rules rules;
	struct balance_random random;
	uint64_t node; /* for balance_home() */
	bool usable;
	bool served; /* one of them did, when it was reviewed last */
	int64_t timeout_us;
	int64_t next_closing_us; /* before then no further upstream is found to be dead */
};

static struct entry *entry_of(struct upstream *upstream)
{
	return (struct entry *) (void *) upstream;
}

/* --- leaving --- */

static bool is_good(const struct upstream *u)
{
	return u->from != 0 && !u->drained &&
	       (u->judge.state == JUDGE_READY || u->judge.state == JUDGE_ALIVE);
}

static bool is_bad(enum judge_state state)
{
	return state == JUDGE_NOT_READY || state == JUDGE_DOWN || state == JUDGE_HUNG ||
	       state == JUDGE_UNTRUSTED;
}

static bool is_dead(const struct upstreams *set, const struct entry *e, int64_t now)
{
	const struct upstream *u = &e->upstream;

	return u->pulse.is_proven && is_bad(u->judge.state) && (u->dead || now >= set->next_closing_us);
}

static void review_dead(struct upstreams *set, struct entry *e, bool better, int64_t now)
{
	struct upstream *u = &e->upstream;
	bool was = u->dead;

	u->dead = better && is_dead(set, e, now);
	if (!u->dead || was)
		return;
	/* Also where nothing is closed: other nodes close theirs, and what follows hits the next one.
	 */
	set->next_closing_us = now + UPSTREAM_CLOSING_US;
	if (u->connections == 0)
		return;
	log_warning("upstream_dead", "upstream=%s state=%s reason=\"%s\" connections=%u", u->name,
	            judge_state_name(u->judge.state), u->judge.reason, u->connections);
	set->callbacks->died(set->userdata);
}

/* Connections leave an upstream when there is a better one to go to. One that became silent may go
 * on: it is left when it is found to be dead. */
static void review_leaving(struct upstreams *set)
{
	int64_t now = mono_now_us();
	bool better = false;

	for (size_t i = 0; i < set->n; i++)
		better = better || is_good(&set->entries[i]->upstream);
	for (size_t i = 0; i < set->n; i++) {
		struct upstream *u = &set->entries[i]->upstream;
		bool waits = u->judge.state == JUDGE_HUNG && u->leaving_since_us == MONO_NEVER;
		bool leave;

		review_dead(set, set->entries[i], better, now);
		leave =
		    better && (u->from == 0 || u->drained || u->dead || (is_bad(u->judge.state) && !waits));
		if (leave && u->leaving_since_us == MONO_NEVER)
			u->leaving_since_us = now;
		else if (!leave)
			u->leaving_since_us = MONO_NEVER;
	}
}

/* NULL: any does. */
static bool others_serve(const struct upstreams *set, const struct entry *e)
{
	for (size_t i = 0; i < set->n; i++) {
		if (set->entries[i] != e && is_good(&set->entries[i]->upstream))
			return true;
	}
	return false;
}

static struct judge_pause pause_of(const struct upstreams *set, const struct entry *e)
{
	const struct pulse *pulse = &e->upstream.pulse;
	bool carries = e->upstream.connections > 0;
	int64_t now = mono_now_us();

	return judge_pause(
	    &e->upstream.judge, &set->rules,
	    (struct judge_place){
	        .others_serve = others_serve(set, e),
	        .carries = carries,
	        .suspected = carries ? pulse_is_suspected(pulse, now) : pulse_is_told(pulse, now),
	        .failing = carries && pulse_is_failing(pulse),
	        .urgent = carries && pulse_is_urgent(pulse, now),
	    });
}

/* Those that were asked seldom because others served: nobody does now. */
static void review_pauses(struct upstreams *set)
{
	bool served = set->served;

	set->served = others_serve(set, NULL);
	if (set->served)
		return;
	for (size_t i = 0; i < set->n; i++) {
		struct entry *e = set->entries[i];

		if (served)
			judge_miss(&e->upstream.judge);
		if (e->probed && e->slot.sent_us != MONO_NEVER)
			probing_hasten(set->probing, &e->slot, pause_of(set, e));
	}
}

static void review_serving(struct upstreams *set)
{
	review_leaving(set);
	review_pauses(set);
}

static void review_usable(struct upstreams *set)
{
	bool usable = upstreams_are_usable(set);

	if (usable == set->usable)
		return;
	set->usable = usable;
	set->callbacks->usable(usable, set->userdata);
}

/* --- evidence --- */

static void log_transition(struct entry *e, enum judge_state old)
{
	const struct upstream *u = &e->upstream;
	unsigned suppressed;

	if (!log_ratelimit_allow(&e->log_limit, mono_now_us(), &suppressed))
		return;
	log_line(is_bad(u->judge.state) ? LOG_LEVEL_WARNING : LOG_LEVEL_NOTICE, "upstream_state",
	         "upstream=%s old=%s new=%s reason=\"%s\" connections=%u suppressed=%u", u->name,
	         judge_state_name(old), judge_state_name(u->judge.state), u->judge.reason,
	         u->connections, suppressed);
}

static void fold(struct upstreams *set, struct entry *e, enum judge_evidence evidence,
                 const char *reason)
{
	struct upstream *u = &e->upstream;
	enum judge_state old = u->judge.state;

	if (!judge_fold(&u->judge, &set->rules, evidence, reason, mono_now_us()))
		return;
	log_transition(e, old);
	review_serving(set);
	review_usable(set);
	if (judge_is_usable(u->judge.state) && endpoints_is_discovered(u->from))
		set->callbacks->verified(&u->endpoint, set->userdata);
}

void upstreams_tell(struct upstreams *set, struct upstream *u, enum judge_evidence evidence,
                    const char *reason)
{
	struct entry *e = entry_of(u);

	if (evidence == JUDGE_CONNECT_FAILED || evidence == JUDGE_CONNECT_SLOW)
		u->counts.connect_failures++;
	fold(set, e, evidence, reason);
	if (u->from == 0)
		return;
	if (evidence != JUDGE_ANSWERED)
		probing_begin_anew(set->probing, &e->slot);
	probing_hasten(set->probing, &e->slot, pause_of(set, e));
}

static void suspect(struct upstreams *set, struct entry *e)
{
	pulse_suspect(&e->upstream.pulse, mono_now_us());
	if (e->probed)
		probing_hasten(set->probing, &e->slot, pause_of(set, e));
}

void upstreams_doubt(struct upstreams *set, struct upstream *u, int64_t since_us)
{
	struct entry *e = entry_of(u);

	if (u->pulse.replied_us <= since_us)
		suspect(set, e);
	/* It answers others: that puts its probe off no further. */
	else if (e->probed)
		probing_hasten(set->probing, &e->slot,
		               (struct judge_pause){.least_us = set->rules.quick_us});
}

int upstreams_suspect(struct upstreams *set, const char *name, const char *reason)
{
	bool is_local = strcmp(name, "local") == 0, found = false;
	int64_t now = mono_now_us();

	for (size_t i = 0; i < set->n; i++) {
		struct upstream *u = &set->entries[i]->upstream;

		if (u->from == 0 || (is_local ? !u->local : strcmp(u->name, name) != 0))
			continue;
		if (!pulse_is_suspected(&u->pulse, now))
			log_notice("upstream_suspected", "upstream=%s state=%s reason=\"%s\"", u->name,
			           judge_state_name(u->judge.state), reason);
		pulse_tell(&u->pulse, now);
		suspect(set, set->entries[i]);
		found = true;
	}
	return found ? 0 : -ENOENT;
}

void upstreams_tell_connected(struct upstreams *set UNUSED, struct upstream *u, int64_t took_us,
                              int64_t rtt_us)
{
	size_t i = 0;

	u->counts.connects++;
	u->counts.connect_us_sum += (uint64_t) MAX(took_us, 0);
	while (i < UPSTREAM_BUCKETS && took_us > upstream_bucket_us[i])
		i++;
	u->counts.connect_buckets[i]++;
	balance_rtt_add(&u->rtt, rtt_us);
}

/* What another one answers while this one does not shows that the fault is not on this node. */
static void ask_another(struct upstreams *set, const struct entry *e)
{
	struct entry *best = NULL;

	for (size_t i = 0; i < set->n; i++) {
		struct entry *other = set->entries[i];

		if (other == e || !other->probed || !is_good(&other->upstream))
			continue;
		if (best == NULL ||
		    pulse_sign_us(&other->upstream.pulse) > pulse_sign_us(&best->upstream.pulse))
			best = other;
	}
	if (best != NULL)
		probing_hasten(set->probing, &best->slot, (struct judge_pause){.least_us = 0});
}

/* A probe has waited for so long that its second request is sent. */
static void probe_late_cb(struct probing_slot *slot, void *userdata)
{
	struct entry *e = CONTAINER_OF(slot, struct entry, slot);

	if (e->upstream.connections > 0)
		ask_another(userdata, e);
}

static void prove(struct upstreams *set, struct entry *e)
{
	for (size_t i = 0; i < set->n; i++) {
		const struct entry *other = set->entries[i];

		if (other != e && is_good(&other->upstream))
			pulse_prove(&e->upstream.pulse, &other->upstream.pulse);
	}
}

void upstreams_on_verdict(struct upstreams *set, uint64_t id, enum judge_evidence evidence,
                          const char *reason, int64_t rtt_us)
{
	struct probing_slot *slot = probing_answer(set->probing, id);
	struct entry *e;
	struct upstream *u;

	if (slot == NULL)
		return;
	e = CONTAINER_OF(slot, struct entry, slot);
	u = &e->upstream;
	if (evidence != JUDGE_PROBE_READY && evidence != JUDGE_PROBE_ALIVE &&
	    evidence != JUDGE_PROBE_CONNECTED)
		u->counts.probe_failures++;
	if (!pulse_weigh(&u->pulse, &evidence, &reason, slot->sent_us, set->timeout_us,
	                 mono_now_us())) {
		probing_schedule(set->probing, slot, (struct judge_pause){.least_us = 0});
		return;
	}
	if (rtt_us > 0)
		balance_rtt_bound(&u->rtt, rtt_us);
	/* What follows from it may change the list. */
	u->refs++;
	prove(set, e);
	fold(set, e, evidence, reason);
	if (u->connections > 0 && pulse_is_failing(&u->pulse))
		ask_another(set, e);
	review_leaving(set);
	if (u->from != 0)
		probing_schedule(set->probing, slot, pause_of(set, e));
	upstreams_unref(set, u);
}

void upstreams_on_checker_lost(struct upstreams *set)
{
	probing_lose(set->probing);
}

static void probe_sent_cb(struct probing_slot *slot, void *userdata UNUSED)
{
	CONTAINER_OF(slot, struct entry, slot)->upstream.counts.probes++;
}

static const struct probing_callbacks probing_callbacks = {
    .sent = probe_sent_cb,
    .late = probe_late_cb,
};

/* --- the table --- */

struct upstream *upstreams_find(const struct upstreams *set, const struct endpoint *endpoint)
{
	for (size_t i = 0; i < set->n; i++) {
		if (endpoint_equal(&set->entries[i]->upstream.endpoint, endpoint))
			return &set->entries[i]->upstream;
	}
	return NULL;
}

static struct upstream *add(struct upstreams *set, const struct endpoints_entry *entry)
{
	struct entry *e;

	if (set->n == BALANCE_MAX) {
		log_warning("upstream_refused", "reason=\"more than %d, those that are draining included\"",
		            BALANCE_MAX);
		return NULL;
	}
	e = NEW0(struct entry);
	e->upstream.endpoint = entry->endpoint;
	(void) endpoint_format(&entry->endpoint, e->upstream.name);
	e->upstream.leaving_since_us = MONO_NEVER;
	pulse_init(&e->upstream.pulse);
	e->log_limit = (struct log_ratelimit){.interval_us = LOG_INTERVAL_US, .burst = LOG_BURST};
	judge_init(&e->upstream.judge, endpoints_is_discovered(entry->from), mono_now_us());
	set->entries[set->n++] = e;
	return &e->upstream;
}

/* Those that no source names and nobody holds. */
static void remove_unheld(struct upstreams *set)
{
	size_t kept = 0;

	for (size_t i = 0; i < set->n; i++) {
		struct entry *e = set->entries[i];

		if (e->upstream.from != 0 || e->upstream.connections > 0 || e->upstream.refs > 0 ||
		    e->restored)
			set->entries[kept++] = e;
		else
			free(e);
	}
	set->n = kept;
}

/* What the new list adds and removes. */
static void review_listed(struct upstreams *set)
{
	for (size_t i = 0; i < set->n; i++) {
		struct entry *e = set->entries[i];
		bool listed = e->upstream.from != 0;

		if (listed && !e->probed)
			probing_add(set->probing, &e->slot, &e->upstream.endpoint, &e->upstream.pulse.heard_us);
		if (!listed && e->probed)
			probing_remove(set->probing, &e->slot);
		e->probed = listed;
		e->restored = false;
		if (listed != e->listed)
			log_info(listed ? "upstream_added" : "upstream_removed",
			         "upstream=%s local=%d state=%s connections=%u", e->upstream.name,
			         e->upstream.local, judge_state_name(e->upstream.judge.state),
			         e->upstream.connections);
		e->listed = listed;
	}
}

void upstreams_set_list(struct upstreams *set, const struct endpoints_merged *list)
{
	for (size_t i = 0; i < set->n; i++)
		set->entries[i]->upstream.from = 0;
	for (size_t i = 0; i < list->n; i++) {
		struct upstream *u = upstreams_find(set, &list->items[i].endpoint);

		if (u == NULL)
			u = add(set, &list->items[i]);
		if (u == NULL)
			continue;
		/* What the operator wrote down needs no proof before it is used. */
		if (u->judge.state == JUDGE_UNVERIFIED && !endpoints_is_discovered(list->items[i].from))
			judge_init(&u->judge, false, mono_now_us());
		u->from = list->items[i].from;
		u->local = list->items[i].local;
	}
	review_listed(set);
	review_serving(set);
	remove_unheld(set);
	review_usable(set);
}

size_t upstreams_order(struct upstreams *set, struct upstream *ret_order[static BALANCE_MAX])
{
	struct balance_candidate candidates[BALANCE_MAX];
	size_t order[BALANCE_MAX];
	int64_t now = mono_now_us();
	size_t n;

	for (size_t i = 0; i < set->n; i++) {
		const struct upstream *u = &set->entries[i]->upstream;

		candidates[i] = (struct balance_candidate){
		    .state = u->judge.state,
		    .rtt_class = u->rtt.class,
		    .local = u->local,
		    .drained = u->drained || u->from == 0,
		    .suspected = pulse_is_suspected(&u->pulse, now),
		    .home = balance_home(set->node, &u->endpoint),
		    .connections = u->connections,
		};
	}
	n = balance_order(candidates, set->n, &set->random, order);
	for (size_t i = 0; i < n; i++) {
		ret_order[i] = &set->entries[order[i]]->upstream;
		ret_order[i]->refs++;
	}
	return n;
}

void upstreams_unref(struct upstreams *set, struct upstream *u)
{
	assert(u->refs > 0);
	u->refs--;
	if (u->from == 0)
		remove_unheld(set);
}

void upstreams_take(struct upstreams *set, struct upstream *u)
{
	struct entry *e = entry_of(u);

	u->connections++;
	if (u->connections == 1 && e->probed && e->slot.sent_us != MONO_NEVER)
		probing_hasten(set->probing, &e->slot, pause_of(set, e));
}

void upstreams_release(struct upstreams *set, struct upstream *u)
{
	assert(u->connections > 0);
	u->connections--;
	if (u->from == 0)
		remove_unheld(set);
}

int upstreams_drain(struct upstreams *set, const char *name, bool drained)
{
	for (size_t i = 0; i < set->n; i++) {
		struct upstream *u = &set->entries[i]->upstream;

		if (strcmp(u->name, name) != 0 || u->from == 0)
			continue;
		if (u->drained != drained)
			log_notice("upstream_drain", "upstream=%s drained=%d connections=%u", u->name, drained,
			           u->connections);
		u->drained = drained;
		review_serving(set);
		return 0;
	}
	return -ENOENT;
}

size_t upstreams_n(const struct upstreams *set)
{
	return set->n;
}

struct upstream *upstreams_get(const struct upstreams *set, size_t i)
{
	return &set->entries[i]->upstream;
}

bool upstreams_are_usable(const struct upstreams *set)
{
	for (size_t i = 0; i < set->n; i++) {
		const struct upstream *u = &set->entries[i]->upstream;

		if (u->from != 0 && judge_is_usable(u->judge.state) && u->judge.state != JUDGE_DOWN &&
		    u->judge.state != JUDGE_HUNG)
			return true;
	}
	return false;
}

void upstreams_restore(struct upstreams *set, const struct handover_upstream *from)
{
	struct upstream *u = upstreams_find(set, &from->endpoint);

	if (u == NULL)
		u = add(set, &(struct endpoints_entry){.endpoint = from->endpoint});
	if (u == NULL)
		return;
	judge_restore(&u->judge, from->state, from->since_us, from->reason);
	entry_of(u)->listed = true;
	entry_of(u)->restored = true;
	if (from->rtt_us > 0)
		balance_rtt_add(&u->rtt, from->rtt_us);
	u->drained = from->drained;
}

/* --- beginning and end --- */

/* The same after each start: its name, and where it listens, if several run on a machine. */
static uint64_t node_number(const struct config *config)
{
	static const struct endpoint nowhere;
	char name[HOST_NAME_MAX + 1] = "";
	struct balance_random random = {.state = 1};

	(void) gethostname(name, sizeof(name) - 1);
	for (const char *p = name; *p != '\0'; p++) {
		random.state ^= (uint64_t) (unsigned char) *p << 8;
		random.state = balance_next(&random) | 1;
	}
	return balance_home(random.state, config->n_listen > 0 ? &config->listen[0] : &nowhere);
}

int upstreams_new(struct ev_loop *ev, const struct config *config,
                  const struct upstreams_callbacks *callbacks, void *userdata,
                  struct upstreams **ret_upstreams)
{
	struct upstreams *set;
	uint64_t seed = 0;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t) sizeof(seed) || seed == 0)
		seed = (uint64_t) mono_now_us() | 1;
	set = NEW0(struct upstreams);
	set->callbacks = callbacks;
	set->userdata = userdata;
	set->rules = (struct judge_rules){
	    .rise = config->health.rise,
	    .interval_us = config->health.interval_us,
	    .quick_us = config->health.quick_us,
	    .suspect_us = config->health.suspect_us,
	};
	set->random.state = seed;
	set->node = node_number(config);
	set->timeout_us = config->health.timeout_us;
	set->probing =
	    probing_new(ev, &config->health, balance_next(&set->random), &probing_callbacks, set);
	*ret_upstreams = set;
	return 0;
}

void upstreams_free(struct upstreams *set)
{
	if (set == NULL)
		return;
	probing_free(set->probing);
	for (size_t i = 0; i < set->n; i++)
		free(set->entries[i]);
	free(set);
}

void upstreams_set_checker(struct upstreams *set, struct checker *checker)
{
	probing_set_checker(set->probing, checker);
}
