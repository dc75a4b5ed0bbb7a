/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	STARTING ──► IDLE ◄─ SHEDDING ◄─ nothing lacks ──┐
 *	              │                               ┌──┘
 *	              ▼                               │
 *	           LOOKING ──► TIDYING ──► what next? ┤
 *	              ▲                      ▲        ▼
 *	              │                      └── COPYING
 *	              └── RETRYING ◄── any of them failed
 *
 * A visit begins with a look at what is there of the cluster, and goes on until nothing lacks. When
 * what lacks is of another cluster, that is looked at first. SHEDDING is for the node whose turn it
 * is; the others only look what is there, once.
 */
#include "etcdwatch/target/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fsm.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/take/due.h"
#include "etcdwatch/target/inventory.h"
#include "etcdwatch/target/copy.h"
#include "etcdwatch/target/look.h"
#include "etcdwatch/target/shed.h"
#include "etcdwatch/target/tidy.h"
#include "etcdwatch/target/unfinished.h"

#define LOOK_LIMIT_US (900 * US_PER_S)

enum target_state {
	TARGET_STARTING,
	TARGET_IDLE,
	TARGET_LOOKING,
	TARGET_TIDYING,
	TARGET_COPYING,
	TARGET_SHEDDING,
	TARGET_RETRYING,
};

#define TO_NEXT                                                              \
	(FSM_TO(TARGET_IDLE) | FSM_TO(TARGET_LOOKING) | FSM_TO(TARGET_COPYING) | \
	 FSM_TO(TARGET_SHEDDING) | FSM_TO(TARGET_RETRYING))

static const struct fsm_state states[] = {
    [TARGET_STARTING] = {"starting", FSM_TO(TARGET_IDLE)},
    [TARGET_IDLE] = {"idle", FSM_TO(TARGET_LOOKING)},
    [TARGET_LOOKING] = {"looking", TO_NEXT | FSM_TO(TARGET_TIDYING)},
    [TARGET_TIDYING] = {"tidying", TO_NEXT},
    [TARGET_COPYING] = {"copying", TO_NEXT},
    [TARGET_SHEDDING] = {"shedding", FSM_TO(TARGET_IDLE) | FSM_TO(TARGET_RETRYING)},
    [TARGET_RETRYING] = {"retrying", FSM_TO(TARGET_IDLE) | FSM_TO(TARGET_LOOKING)},
};

struct target {
	struct target_options options;
	enum target_state state;
	ev_timer timer; /* RETRYING */
	bool again;     /* asked for while a visit is under way */

	/* Of this visit. */
	struct inventory *there; /* NULL: not known */
	uint64_t there_of;       /* the cluster that was looked for */
	bool is_blind;           /* the credentials may write and not list */
	struct names passed;     /* ids: copied, or not to be had */
	bool lacks_some;         /* one was not to be had */

	struct look *look;
	struct tidy *tidy;
	struct copy *copy;
	struct shed *shed;
	bool removes; /* the shed that is under way, or was last, is no mere look */
	struct unfinished *unfinished;

	unsigned n_failures; /* in a row */
	bool is_foreign;     /* another cluster's, by the last look */
	char error[TARGET_TEXT_MAX];
	int64_t error_s;
	char last_id[CATALOG_ID_MAX + 1];
	int64_t last_s;
	struct target_counts counts;
	struct target_found found; /* by the last look that was about all of it */
};

/* The one writer of the state. */
static void change_state(struct target *t, enum target_state state)
{
	fsm_check(states, ARRAY_SIZE(states), t->state, state);
	log_debug("target_state", "job=%s target=%s old=%s new=%s", t->options.job->name,
	          t->options.target->name, states[t->state].name, states[state].name);
	ev_timer_stop(t->options.ev, &t->timer);
	t->state = state;
}

/* Before it is known which cluster this is, nothing can be done in a store (worker/storeowner.h).
 */
static bool may_visit(const struct target *t)
{
	return t->options.target->owner == NULL || t->options.target->owner->id[0] != '\0';
}

/* --- the end of a visit --- */

static void begin_visit(struct target *t);
static void go_on(struct target *t);

static void end_visit(struct target *t)
{
	inventory_free(TAKE_PTR(t->there));
	names_fini(&t->passed);
	t->there_of = 0;
	t->is_blind = false;
	t->lacks_some = false;
}

static void set_error(struct target *t, const char *reason)
{
	(void) snprintf(t->error, sizeof(t->error), "%s", reason);
	t->error_s = wall_now_us() / US_PER_S;
	t->counts.failures++;
}

static void retry(struct target *t)
{
	change_state(t, TARGET_RETRYING);
	end_visit(t);
	ev_timer_set(&t->timer, mono_to_ev(due_retry_us(t->n_failures)), 0.);
	ev_timer_start(t->options.ev, &t->timer);
}

static void fail(struct target *t, const char *reason)
{
	t->n_failures++;
	set_error(t, reason);
	log_warning("target_failed",
	            "job=%s target=%s during=%s failures=%u reason=\"%s\" again_s=%lld",
	            t->options.job->name, t->options.target->name, states[t->state].name, t->n_failures,
	            reason, (long long) (due_retry_us(t->n_failures) / US_PER_S));
	retry(t);
}

static void fail_to_start(struct target *t, int r)
{
	AUTO(free) char *reason = xasprintf("cannot start the worker: %s", strerror(-r));

	fail(t, reason);
}

static void rest(struct target *t)
{
	change_state(t, TARGET_IDLE);
	end_visit(t);
	t->n_failures = 0;
	t->error[0] = '\0';
	if (t->again && may_visit(t))
		begin_visit(t);
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	begin_visit(CONTAINER_OF(w, struct target, timer));
}

/* --- copying --- */

/* The others go all the same. */
static void pass_over(struct target *t, const char *id, const char *reason, bool is_damaged)
{
	/* Retention has removed it. */
	if (store_find(t->options.store, id) == NULL)
		return;
	t->lacks_some = true;
	set_error(t, reason);
	log_error("snapshot_not_copied", "job=%s target=%s id=%s reason=\"%s\"", t->options.job->name,
	          t->options.target->name, id, reason);
	if (is_damaged)
		t->options.damaged(id, reason, t->options.userdata);
}

static void copied_cb(enum copy_end end, const char *id, const char *reason, void *userdata)
{
	struct target *t = userdata;

	t->copy = NULL;
	names_add(&t->passed, xstrdup(id));
	switch (end) {
	case COPY_MADE:
		t->counts.stored++;
		t->last_s = wall_now_us() / US_PER_S;
		(void) snprintf(t->last_id, sizeof(t->last_id), "%s", id);
		break;
	case COPY_NOT_READ:
		pass_over(t, id, reason, false);
		break;
	case COPY_DAMAGED:
		pass_over(t, id, reason, true);
		break;
	case COPY_FAILED:
		fail(t, reason);
		return;
	}
	go_on(t);
}

static void copy(struct target *t, const struct catalog_entry *entry)
{
	const struct copy_options options = {
	    .ev = t->options.ev,
	    .store = t->options.store,
	    .unfinished = t->unfinished,
	    .job = t->options.job,
	    .target = t->options.target,
	    .worker = t->options.worker,
	    .entry = entry,
	    .there = t->there,
	};

	change_state(t, TARGET_COPYING);
	t->copy = copy_start(&options, copied_cb, t);
}

/* --- looking --- */

static void tidied_cb(int r, const char *reason, void *userdata)
{
	struct target *t = userdata;

	t->tidy = NULL;
	if (r < 0)
		fail(t, reason);
	else
		go_on(t);
}

static void tidy(struct target *t)
{
	const struct tidy_options options = {
	    .ev = t->options.ev,
	    .store = t->options.store,
	    .unfinished = t->unfinished,
	    .job = t->options.job,
	    .target = t->options.target,
	    .worker = t->options.worker,
	    .there = t->there,
	    .cluster_id = t->there_of,
	};
	int r;

	change_state(t, TARGET_TIDYING);
	r = tidy_start(&options, tidied_cb, t, &t->tidy);
	if (r < 0)
		fail_to_start(t, r);
	else if (t->tidy == NULL)
		go_on(t);
}

/* Said once, and again when it has changed. */
static void take_ownership(struct target *t, bool is_foreign, const char *reason)
{
	if (is_foreign && !t->is_foreign)
		log_error("target_foreign", "job=%s target=%s reason=\"%s\"", t->options.job->name,
		          t->options.target->name, reason);
	t->is_foreign = is_foreign;
}

static void looked_cb(struct inventory *inventory, const char *code, const char *reason,
                      void *userdata)
{
	struct target *t = userdata;

	t->look = NULL;
	inventory_free(t->there);
	t->there = inventory;
	take_ownership(t, strcmp(code, "FOREIGN") == 0, reason);
	if (inventory != NULL) {
		tidy(t);
	} else if (strcmp(code, "S3_DENIED") == 0) {
		log_warning("target_not_listed", "job=%s target=%s reason=\"%s\"", t->options.job->name,
		            t->options.target->name, reason);
		t->is_blind = true;
		go_on(t);
	} else {
		fail(t, reason);
	}
}

static void look(struct target *t, uint64_t cluster_id)
{
	const struct look_options options = {
	    .ev = t->options.ev,
	    .worker = t->options.worker,
	    .target = t->options.target,
	    .job = t->options.job->name,
	    .cluster_id = cluster_id,
	    .limit_us = LOOK_LIMIT_US,
	};
	int r;

	change_state(t, TARGET_LOOKING);
	t->there_of = cluster_id;
	r = look_start(&options, looked_cb, t, &t->look);
	if (r < 0)
		fail_to_start(t, r);
}

/* --- shedding --- */

/* All that is kept is of one cluster here. */
static void find_oldest(struct target_found *found, const struct prune_plan *plan)
{
	for (size_t i = 0; i < plan->n; i++) {
		const struct catalog_entry *e = plan->items[i].entry;

		/* A snapshot that is not good, or not trusted, says nothing of what the record is for. */
		if (plan->items[i].kept == 0 || (plan->items[i].kept & RETAIN_NOT_GOOD) != 0 ||
		    (found->oldest_revision != 0 && found->oldest_revision <= e->revision))
			continue;
		found->oldest_cluster_id = e->cluster_id;
		found->oldest_revision = e->revision;
	}
}

static void take_found(struct target *t, const struct shed_result *result)
{
	struct target_found found = {
	    .is_known = true,
	    .n = inventory_n(result->there) - result->n_removed,
	    .n_strays = inventory_strays(result->there)->n,
	    .n_odd = inventory_odd(result->there)->n,
	    .shrank = result->plan->shrank,
	    .word = result->plan->word,
	};

	(void) snprintf(found.frozen, sizeof(found.frozen), "%s", result->plan->frozen);
	if (found.frozen[0] != '\0' && strcmp(found.frozen, t->found.frozen) != 0)
		log_error("retention_frozen", "job=%s target=%s reason=\"%s\"", t->options.job->name,
		          t->options.target->name, found.frozen);
	for (size_t i = 0; i < found.n_odd && found.n_odd != t->found.n_odd; i++)
		log_warning("target_odd", "job=%s target=%s reason=\"%s\"", t->options.job->name,
		            t->options.target->name, inventory_odd(result->there)->items[i]);
	if (result->r == 0 && t->removes && found.frozen[0] == '\0')
		find_oldest(&found, result->plan);
	t->found = found;
	t->counts.pruned += result->n_removed;
}

static void shed_cb(const struct shed_result *result, void *userdata)
{
	struct target *t = userdata;

	t->shed = NULL;
	if (result->there != NULL)
		take_found(t, result);
	if (result->r < 0)
		fail(t, result->reason);
	else
		rest(t);
}

static const struct catalog_entry *find_newest(const struct target *t);

static void shed(struct target *t, bool only_look)
{
	struct shed_options options = target_shed_options(t, only_look);
	int r;

	options.cluster_id = find_newest(t)->cluster_id;
	t->removes = !only_look;
	change_state(t, TARGET_SHEDDING);
	r = shed_start(&options, shed_cb, t, &t->shed);
	if (r < 0)
		fail_to_start(t, r);
}

/* Nothing lacks, save what was not to be had. */
static void finish(struct target *t)
{
	bool may_shed = t->options.may_shed(t->options.userdata);

	if (t->lacks_some) {
		t->n_failures++;
		retry(t);
	} else if (!t->is_blind && find_newest(t) != NULL && (may_shed || !t->found.is_known)) {
		shed(t, !may_shed);
	} else {
		rest(t);
	}
}

/* --- what is next --- */

static struct copies_question question(const struct target *t)
{
	return (struct copies_question){
	    .entries = store_entries(t->options.store),
	    .n = store_n(t->options.store),
	    .target = t->options.target->name,
	    .skipped = &t->passed,
	    .there = t->there,
	    .there_of = t->there_of,
	};
}

static void go_on(struct target *t)
{
	const struct copies_question q = question(t);
	const struct catalog_entry *next = copies_next(&q);

	if (next == NULL)
		finish(t);
	else if (!t->is_blind && t->there_of != next->cluster_id)
		look(t, next->cluster_id);
	else
		copy(t, next);
}

static const struct catalog_entry *find_newest(const struct target *t)
{
	for (size_t i = store_n(t->options.store); i-- > 0;) {
		if (catalog_is_good(store_get(t->options.store, i)))
			return store_get(t->options.store, i);
	}
	return NULL;
}

static void begin_visit(struct target *t)
{
	const struct copies_question q = question(t);
	const struct catalog_entry *e = copies_next(&q);

	t->again = false;
	/* Also when nothing lacks: it may have been lost. */
	if (e == NULL)
		e = find_newest(t);
	if (e != NULL)
		look(t, e->cluster_id);
	else if (t->state == TARGET_RETRYING)
		rest(t);
}

void target_visit(struct target *t)
{
	t->again = true;
	if (may_visit(t) && (t->state == TARGET_IDLE || t->state == TARGET_RETRYING))
		begin_visit(t);
}

/* --- the whole --- */

static void read_cb(int r, void *userdata)
{
	struct target *t = userdata;

	if (r < 0)
		(void) log_warning_errno(r, "unfinished_not_read", "job=%s target=%s", t->options.job->name,
		                         t->options.target->name);
	rest(t);
}

struct target *target_new(const struct target_options *options)
{
	AUTO(free)
	char *path = xasprintf("%s/.storing-%s", options->job->directory, options->target->name);
	struct target *t = NEW0(struct target);

	t->options = *options;
	ev_init(&t->timer, timer_cb);
	t->unfinished = unfinished_new(options->disk, path);
	unfinished_read(t->unfinished, read_cb, t);
	return t;
}

void target_free(struct target *t)
{
	if (t == NULL)
		return;
	ev_timer_stop(t->options.ev, &t->timer);
	look_free(t->look);
	tidy_free(t->tidy);
	copy_abandon(t->copy);
	shed_free(t->shed);
	unfinished_free(t->unfinished);
	end_visit(t);
	free(t);
}

void target_fill_report(const struct target *t, struct target_report *ret)
{
	const struct names none = {0};
	struct copies_question q = question(t);

	q.skipped = &none;
	q.there = NULL;
	*ret = (struct target_report){
	    .job = t->options.job->name,
	    .target = t->options.target->name,
	    .state = t->copy != NULL ? copy_state_name(t->copy) : states[t->state].name,
	    .n_pending = copies_count_lacking(&q),
	    .last_id = t->last_id,
	    .last_s = t->last_s,
	    .error = may_visit(t) ? t->error : "etcd has not said yet which cluster this is",
	    .is_foreign = t->is_foreign,
	    .error_s = t->error[0] != '\0' ? t->error_s : 0,
	    .counts = t->counts,
	    .found = &t->found,
	};
	if (t->copy != NULL)
		ret->sent = copy_sent(t->copy);
}

bool target_get_word(const struct target *t, struct retain_accepted *ret_word)
{
	if (t->found.shrank)
		*ret_word = t->found.word;
	return t->found.shrank;
}

void target_look_again(struct target *t)
{
	t->found.is_known = false;
	target_visit(t);
}

/* --- for others --- */

const struct target_options *target_options(const struct target *t)
{
	return &t->options;
}

struct unfinished *target_unfinished(struct target *t)
{
	return t->unfinished;
}

bool target_is_sending(const struct target *t, const char *id)
{
	return t->copy != NULL && strcmp(copy_id(t->copy), id) == 0;
}

struct shed_options target_shed_options(const struct target *t, bool only_look)
{
	return (struct shed_options){
	    .ev = t->options.ev,
	    .accepted = t->options.accepted,
	    .unfinished = t->unfinished,
	    .job = t->options.job,
	    .target = t->options.target,
	    .worker = t->options.worker,
	    .node = t->options.node,
	    .doubt = t->options.doubt,
	    .only_look = only_look,
	};
}
