/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	STARTING ──► IDLE ──► DUE ──► CLAIMING ──► RUNNING ──► RECORDING ──► PRUNING ──► IDLE
 *	              ▲        ▲       │   │          │
 *	              ├─ done ─┼───────┘   │ others   │ failed, rejected
 *	              │        ├── WAITING ◄          │
 *	              │        └── RETRYING ◄─────────┘
 *	              └─ not due any more ──┘
 *
 * The period is looked for anew before each step to DUE, so what happens while the daemon is down,
 *or the clock is set, needs no case of its own: the one under way either has a snapshot or is due.
 *In DUE the node that should take it goes first, the others wait, each a little longer. Where every
 *node takes its own, and when somebody asks for one out of schedule, nothing is claimed and nothing
 *recorded.
 */
#include "etcdwatch/job.h"

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
#include "etcdwatch/claim.h"
#include "etcdwatch/clearing.h"
#include "etcdwatch/disk.h"
#include "etcdwatch/due.h"
#include "etcdwatch/notes.h"
#include "etcdwatch/place.h"
#include "etcdwatch/run.h"
#include "etcdwatch/store.h"
#include "etcdwatch/storing.h"
#include "etcdwatch/view.h"

/* The clock may be set: it is looked at so often. */
#define CLOCK_US (20 * US_PER_S)
/* Another node is at it: so often is looked whether it still is. */
#define OTHERS_US (5 * US_PER_S)

enum job_state {
	JOB_STARTING,
	JOB_IDLE,
	JOB_DUE,
	JOB_CLAIMING,
	JOB_RUNNING,
	JOB_RECORDING,
	JOB_PRUNING,
	JOB_WAITING,
	JOB_RETRYING,
};

static const struct fsm_state states[] = {
    [JOB_STARTING] = {"starting", FSM_TO(JOB_IDLE) | FSM_TO(JOB_DUE) | FSM_TO(JOB_RETRYING)},
    [JOB_IDLE] = {"idle", FSM_TO(JOB_DUE)},
    [JOB_DUE] = {"due", FSM_TO(JOB_CLAIMING) | FSM_TO(JOB_RUNNING) | FSM_TO(JOB_RETRYING)},
    [JOB_CLAIMING] = {"claiming", FSM_TO(JOB_IDLE) | FSM_TO(JOB_RUNNING) | FSM_TO(JOB_RECORDING) |
                                      FSM_TO(JOB_WAITING) | FSM_TO(JOB_RETRYING)},
    [JOB_RUNNING] = {"running", FSM_TO(JOB_RECORDING) | FSM_TO(JOB_PRUNING) | FSM_TO(JOB_RETRYING)},
    [JOB_RECORDING] = {"recording", FSM_TO(JOB_PRUNING)},
    [JOB_PRUNING] = {"pruning", FSM_TO(JOB_IDLE)},
    [JOB_WAITING] = {"waiting", FSM_TO(JOB_IDLE) | FSM_TO(JOB_DUE)},
    [JOB_RETRYING] = {"retrying", FSM_TO(JOB_STARTING) | FSM_TO(JOB_IDLE) | FSM_TO(JOB_DUE)},
};

struct job {
	const struct job_env *env;
	const struct config_job *config;
	struct disk *disk;
	struct store *store;
	struct storing *storing;
	enum job_state state;
	ev_timer timer; /* IDLE, DUE, WAITING, RETRYING */

	struct due due;
	char done_by[CLAIM_NODE_MAX];
	unsigned n_failures; /* in this period */

	struct view_request *asking;
	struct view view; /* as of the last look */
	struct claim *claim;
	struct run *run;
	bool is_held; /* somebody else works on its snapshots: none is begun */
	bool is_manual;
	bool is_unclaimed;              /* etcd takes no keys: what is being taken cannot be recorded */
	char kept_id[STORE_REASON_MAX]; /* RECORDING */
	/* Taken under a claim of this period that was lost: it is recorded under another one, or goes
	 * if another node's is recorded. */
	char unrecorded_id[STORE_REASON_MAX];

	bool wants_plain;
	job_saved_fn saved; /* of who asked for it; NULL: nobody waits */
	void *saved_userdata;
	void (*stopped)(void *userdata); /* it is to stop */
	void *stopped_userdata;

	struct notes notes;
	struct clearing *clearing;    /* PRUNING; or at the start, a look at what is frozen */
	char frozen[RETAIN_TEXT_MAX]; /* why nothing is removed */
	bool shrank;                  /* that is why, and the word that would thaw it: */
	struct retain_accepted word;
};

static void wait_for(struct job *j, int64_t us)
{
	ev_timer_stop(j->env->ev, &j->timer);
	ev_timer_set(&j->timer, mono_to_ev(us), 0.);
	ev_timer_start(j->env->ev, &j->timer);
}

/* The one writer of the state. */
static void change_state(struct job *j, enum job_state state, const char *reason)
{
	fsm_check(states, ARRAY_SIZE(states), j->state, state);
	log_debug("job_state", "job=%s old=%s new=%s reason=\"%s\"", j->config->name,
	          states[j->state].name, states[state].name, reason);
	ev_timer_stop(j->env->ev, &j->timer);
	j->state = state;
}

static int64_t wall_now_s(void)
{
	return wall_now_us() / US_PER_S;
}

/* --- resting ------------------------------------------------------------------------------------
 */

/* Whoever asked for a snapshot hears of it once. Calls out. */
static void tell_saved(struct job *j, const struct job_saved *saved)
{
	job_saved_fn tell = TAKE_PTR(j->saved);

	j->is_manual = false;
	if (tell != NULL)
		tell(saved, j->saved_userdata);
}

static void tell_not_saved(struct job *j, const char *reason)
{
	tell_saved(j, &(struct job_saved){.reason = reason, .plain_fd = -1});
}

static bool stops(struct job *j)
{
	if (j->stopped == NULL)
		return false;
	claim_free(TAKE_PTR(j->claim));
	tell_not_saved(j, "etcdwatch is being stopped");
	j->stopped(j->stopped_userdata);
	return true;
}

static void rest(struct job *j, const char *reason)
{
	change_state(j, JOB_IDLE, reason);
	if (!stops(j))
		wait_for(j, 0);
}

/* A period that begins meanwhile is not slept through. */
static int64_t retry_us(const struct job *j)
{
	int64_t now_s = wall_now_s();
	int64_t left_s = due_next_s(j->config, now_s) - now_s;

	return MIN(due_retry_us(j->n_failures), left_s * US_PER_S);
}

static void fail(struct job *j, const char *reason)
{
	bool was_manual = j->is_manual;
	int64_t again_us;

	claim_free(TAKE_PTR(j->claim));
	j->is_unclaimed = false;
	notes_error(&j->notes, reason);
	j->notes.counts.failures++;
	j->n_failures++;
	again_us = was_manual ? 0 : retry_us(j);
	log_error("snapshot_failed", "job=%s period=%lld failures=%u reason=\"%s\" again_s=%lld",
	          j->config->name, (long long) j->due.period_s, j->n_failures, reason,
	          (long long) (again_us / US_PER_S));
	tell_not_saved(j, reason);
	change_state(j, JOB_RETRYING, reason);
	if (!stops(j))
		wait_for(j, again_us);
}

/* --- clearing out ------------------------------------------------------------------------------
 */

struct accepted_of job_accepted_of(const struct job *j)
{
	return (struct accepted_of){
	    .etcd = j->env->etcd, .prefix = j->env->prefix, .job = j->config->name};
}

static void take_plan(struct job *j, const struct prune_plan *plan)
{
	if (plan->frozen[0] != '\0' && strcmp(plan->frozen, j->frozen) != 0)
		log_error("retention_frozen", "job=%s reason=\"%s\"", j->config->name, plan->frozen);
	(void) snprintf(j->frozen, sizeof(j->frozen), "%s", plan->frozen);
	j->shrank = plan->shrank;
	j->word = plan->word;
}

static void cleared_cb(const struct clearing_result *result, void *userdata)
{
	struct job *j = userdata;

	j->clearing = NULL;
	take_plan(j, result->plan);
	if (result->r < 0) {
		log_warning("prune_failed", "job=%s reason=\"%s\"", j->config->name, result->reason);
		notes_error(&j->notes, result->reason);
	} else {
		j->notes.counts.pruned += result->plan->n_going;
	}
	rest(j, "pruned");
}

static void clear(struct job *j, bool only_look, clearing_done_fn done)
{
	const struct clearing_options options = {
	    .accepted = job_accepted_of(j),
	    .store = j->store,
	    .job = j->config,
	    /* Who only looks has not asked for alarms yet. */
	    .corrupt = !only_look && (j->view.corrupt || !j->view.alarms_known),
	    .only_look = only_look,
	};

	clearing_abandon(j->clearing);
	j->clearing = clearing_start(&options, done, j);
}

static void prune(struct job *j)
{
	change_state(j, JOB_PRUNING, "kept");
	claim_free(TAKE_PTR(j->claim));
	storing_visit(j->storing);
	clear(j, false, cleared_cb);
}

/* --- recording ----------------------------------------------------------------------------------
 */

static void removed_cb(int r, const char *reason, void *userdata)
{
	struct job *j = userdata;

	if (r < 0)
		log_warning("snapshot_not_removed", "job=%s id=%s reason=\"%s\"", j->config->name,
		            j->unrecorded_id, reason);
	j->unrecorded_id[0] = '\0';
	prune(j);
}

/* RECORDING. Another node has taken over and is recorded: one a period is enough. What somebody
 * asked for, or what an earlier process has left, is not ours to remove. */
static void remove_double(struct job *j, const char *reason)
{
	const char *id = j->unrecorded_id;

	if (id[0] == '\0') {
		prune(j);
		return;
	}
	log_notice("snapshot_fenced", "job=%s id=%s reason=\"%s; it is removed\"", j->config->name, id,
	           reason);
	store_remove(j->store, &id, 1, removed_cb, j);
}

static void warn_unrecorded(struct job *j, const char *id, const char *reason)
{
	log_warning("snapshot_not_recorded",
	            "job=%s id=%s reason=\"%s; another node may take one as well\"", j->config->name,
	            id, reason);
}

static void record_ended_cb(enum claim_end end, const char *text, void *userdata)
{
	struct job *j = userdata;

	switch (end) {
	case CLAIM_RECORDED:
		due_done(&j->due);
		(void) snprintf(j->done_by, sizeof(j->done_by), "%s", j->env->node_name);
		j->unrecorded_id[0] = '\0';
		prune(j);
		return;
	case CLAIM_UNRECORDED:
		warn_unrecorded(j, j->kept_id, text);
		prune(j);
		return;
	case CLAIM_FENCED:
		remove_double(j, text);
		return;
	}
}

static void record(struct job *j, const char *id)
{
	change_state(j, JOB_RECORDING, "kept");
	(void) snprintf(j->kept_id, sizeof(j->kept_id), "%s", id);
	claim_record(j->claim, json_pack("{s:s, s:s, s:I}", "node", j->env->node_name, "id", id,
	                                 "finished", (json_int_t) wall_now_s()));
}

/* --- running ------------------------------------------------------------------------------------
 */

static void done_unclaimed(struct job *j)
{
	j->is_unclaimed = false;
	due_done(&j->due);
	(void) snprintf(j->done_by, sizeof(j->done_by), "%s", j->env->node_name);
}

static void kept(struct job *j, const struct run_result *result)
{
	bool was_manual = j->is_manual;

	j->n_failures = 0;
	notes_kept(&j->notes, j->config->name, result);
	tell_saved(j,
	           &(struct job_saved){.id = result->id, .reason = "", .plain_fd = result->plain_fd});
	if (was_manual) {
		prune(j);
	} else if (j->config->taker == CONFIG_TAKER_EVERY_NODE) {
		due_done(&j->due);
		prune(j);
	} else if (j->is_unclaimed) {
		done_unclaimed(j);
		prune(j);
	} else {
		(void) snprintf(j->unrecorded_id, sizeof(j->unrecorded_id), "%s", result->id);
		if (j->claim != NULL) {
			record(j, result->id);
			return;
		}
		warn_unrecorded(j, result->id, "the claim was lost while it was being kept");
		prune(j);
	}
}

static void run_done_cb(const struct run_result *result, void *userdata)
{
	struct job *j = userdata;
	char reason[NOTES_TEXT_MAX];

	j->run = NULL;
	switch (result->end) {
	case RUN_KEPT:
		kept(j, result);
		return;
	case RUN_REJECTED:
		j->notes.counts.rejected++;
		log_error("snapshot_rejected", "job=%s id=%s reason=\"%s\"", j->config->name, result->id,
		          result->reason);
		(void) snprintf(reason, sizeof(reason), "rejected: %s", result->reason);
		fail(j, reason);
		return;
	case RUN_FAILED:
		fail(j, result->reason);
		return;
	}
}

static void run(struct job *j)
{
	const struct view_member *source;
	struct place place;

	place_find(&j->view, j->config->name, j->due.period_s, &place);
	source = place.source;
	if (source == NULL) {
		fail(j, "no member of etcd that a snapshot could be taken from answers");
		return;
	}
	change_state(j, JOB_RUNNING, source->endpoint);
	log_info("snapshot_begins", "job=%s period=%lld member=%s endpoint=%s", j->config->name,
	         (long long) j->due.period_s, source->name, source->endpoint);
	j->run = run_start(
	    &(struct run_options){
	        .ev = j->env->ev,
	        .etcd = j->env->etcd,
	        .disk = j->disk,
	        .store = j->store,
	        .job = j->config,
	        .worker = j->env->worker,
	        .node = j->env->node_name,
	        .wants_plain = j->is_manual && j->wants_plain,
	        .period_s = j->claim != NULL || j->is_unclaimed ? j->due.period_s : 0,
	        .view = &j->view,
	        .source = source->id,
	    },
	    run_done_cb, j);
}

/* --- claiming -----------------------------------------------------------------------------------
 */

/* A snapshot of ours that was taken for this period, which a crash or a lost claim has kept from
 * being recorded. One of another cluster is not what this one needs; and one that is older than
 * that of another period is of a clock that was ahead. */
static const char *find_unrecorded(const struct job *j)
{
	const struct catalog_entry *newest = NULL;

	for (size_t i = 0; i < store_n(j->store); i++) {
		const struct catalog_entry *e = store_get(j->store, i);

		if (e->period_s != 0 && e->cluster_id == j->view.cluster_id && catalog_is_good(e) &&
		    (newest == NULL || e->revision >= newest->revision))
			newest = e;
	}
	return newest != NULL && newest->period_s == j->due.period_s ? newest->id : NULL;
}

/* Somebody has done it; perhaps we did, and have not heard of it. */
static void period_done(struct job *j, const char *node)
{
	bool is_double = strcmp(claim_done_id(j->claim), j->unrecorded_id) != 0;

	claim_free(TAKE_PTR(j->claim));
	due_done(&j->due);
	j->n_failures = 0;
	(void) snprintf(j->done_by, sizeof(j->done_by), "%s", node);
	log_info("period_done", "job=%s period=%lld node=%s", j->config->name,
	         (long long) j->due.period_s, node);
	if (is_double && j->unrecorded_id[0] != '\0') {
		change_state(j, JOB_RECORDING, "done by another");
		remove_double(j, "another one is recorded");
		return;
	}
	j->unrecorded_id[0] = '\0';
	rest(j, "done");
}

/* Nobody can claim anything, and somebody will soon compact and defragment that database: better
 * that each node has one than none. */
static void take_unclaimed(struct job *j, const char *reason)
{
	claim_free(TAKE_PTR(j->claim));
	if (find_unrecorded(j) != NULL) {
		done_unclaimed(j);
		rest(j, "taken already");
		return;
	}
	log_warning("period_not_claimed",
	            "job=%s period=%lld reason=\"%s: each node takes one of its own\"", j->config->name,
	            (long long) j->due.period_s, reason);
	j->is_unclaimed = true;
	run(j);
}

static void answered_cb(enum claim_answer answer, const char *text, void *userdata)
{
	struct job *j = userdata;

	switch (answer) {
	case CLAIM_OURS:
		log_notice("period_claimed", "job=%s period=%lld", j->config->name,
		           (long long) j->due.period_s);
		if (find_unrecorded(j) != NULL)
			record(j, find_unrecorded(j));
		else
			run(j);
		return;
	case CLAIM_OTHERS:
		claim_free(TAKE_PTR(j->claim));
		change_state(j, JOB_WAITING, text);
		wait_for(j, OTHERS_US);
		return;
	case CLAIM_DONE:
		period_done(j, text);
		return;
	case CLAIM_NO_SPACE:
		take_unclaimed(j, text);
		return;
	case CLAIM_FAILED: {
		AUTO(free) char *reason = xasprintf("cannot agree through etcd who takes it: %s", text);

		fail(j, reason);
		return;
	}
	}
}

static void lost_cb(void *userdata)
{
	struct job *j = userdata;

	log_warning("claim_lost", "job=%s period=%lld", j->config->name, (long long) j->due.period_s);
	claim_free(TAKE_PTR(j->claim));
	/* What is being kept is kept all the same. */
	if (j->run != NULL)
		run_cancel(j->run);
}

static void claim(struct job *j)
{
	static const struct claim_callbacks callbacks = {
	    .answered = answered_cb,
	    .lost = lost_cb,
	    .ended = record_ended_cb,
	};

	change_state(j, JOB_CLAIMING, "due");
	j->claim = claim_new(j->env->ev, j->env->etcd,
	                     &(struct claim_options){
	                         .prefix = j->env->prefix,
	                         .job = j->config->name,
	                         .period_s = j->due.period_s,
	                         .node = j->env->node_name,
	                         .instance = j->env->instance,
	                     },
	                     &callbacks, j);
}

/* --- what is due --------------------------------------------------------------------------------
 */

static void view_cb(const struct view *view, void *userdata)
{
	struct job *j = userdata;
	struct place place;

	j->asking = NULL;
	j->view = *view;
	if (j->is_manual || j->config->taker == CONFIG_TAKER_EVERY_NODE) {
		run(j);
		return;
	}
	place_find(view, j->config->name, j->due.period_s, &place);
	log_debug("place", "job=%s verdict=\"%s\" delay_ms=%lld", j->config->name, place.verdict,
	          (long long) (place.delay_us / US_PER_MS));
	wait_for(j, place.delay_us);
}

static void look(struct job *j, const char *reason)
{
	change_state(j, JOB_DUE, reason);
	j->asking = view_start(j->env->etcd, view_cb, j);
}

/* --- starting -----------------------------------------------------------------------------------
 */

static void looked_cb(const struct clearing_result *result, void *userdata)
{
	struct job *j = userdata;

	j->clearing = NULL;
	take_plan(j, result->plan);
}

static void scanned_cb(int r, const char *reason, void *userdata)
{
	struct job *j = userdata;
	size_t n = store_n(j->store);

	if (r < 0) {
		fail(j, reason);
		return;
	}
	log_info("job_ready", "job=%s dir=%s snapshots=%zu odd=%zu", j->config->name,
	         j->config->directory, n, store_n_odd(j->store));
	for (size_t i = 0; i < store_n_adopted(j->store); i++)
		log_notice("snapshot_adopted", "job=%s id=%s reason=\"its entry was missing\"",
		           j->config->name, store_adopted(j->store, i));
	for (size_t i = 0; i < store_n_odd(j->store); i++)
		log_warning("directory_odd", "job=%s reason=\"%s\"", j->config->name,
		            store_odd(j->store, i));
	/* Elected, it is recorded in etcd what has been done. */
	if (n > 0 && j->config->taker == CONFIG_TAKER_EVERY_NODE)
		due_done_at(&j->due, j->config, store_get(j->store, n - 1)->started_s);
	if (!j->config->catch_up)
		due_done_at(&j->due, j->config, wall_now_s());
	storing_visit(j->storing);
	clear(j, true, looked_cb);
	if (j->is_manual)
		look(j, "asked for");
	else
		rest(j, "ready");
}

/* Before anything is taken: without the catalogue nobody can tell which timeline it belongs to, nor
 * what has been done. */
static void scan(struct job *j)
{
	if (j->state != JOB_STARTING)
		change_state(j, JOB_STARTING, "the directory has not been read yet");
	store_scan(j->store, scanned_cb, j);
}

/* --- the clock ----------------------------------------------------------------------------------
 */

static void look_at_clock(struct job *j)
{
	int64_t before_s = j->due.period_s;
	enum due_news news = due_look(&j->due, j->config, wall_now_s());

	if (news == DUE_NEW_MISSED) {
		j->notes.counts.missed++;
		log_error("period_missed", "job=%s period=%lld reason=\"%s\"", j->config->name,
		          (long long) before_s, j->notes.error);
	}
	if (news == DUE_SAME)
		return;
	j->n_failures = 0;
	j->unrecorded_id[0] = '\0';
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct job *j = CONTAINER_OF(w, struct job, timer);
	int64_t left_us;

	if (j->state == JOB_DUE) {
		if (j->is_manual)
			run(j);
		else
			claim(j);
		return;
	}
	if (!store_is_read(j->store)) {
		scan(j);
		return;
	}
	look_at_clock(j);
	left_us = j->due.next_s * US_PER_S - wall_now_us();
	if (j->is_held)
		wait_for(j, CLOCK_US);
	else if (left_us <= 0)
		look(j, "due");
	else if (j->state != JOB_IDLE)
		rest(j, "nothing is due any more");
	else
		wait_for(j, MIN(left_us, CLOCK_US));
}

/* --- the whole ----------------------------------------------------------------------------------
 */

/* Elected, the node whose snapshot is the one of the period; else each clears away its own. */
static bool may_shed_cb(void *userdata)
{
	const struct job *j = userdata;

	return j->config->taker == CONFIG_TAKER_EVERY_NODE ||
	       (due_is_done(&j->due) && strcmp(j->done_by, j->env->node_name) == 0);
}

int job_new(const struct job_env *env, const struct config_job *config, struct job **ret_job)
{
	AUTO(job_free) struct job *j = NEW0(struct job);
	int r;

	j->env = env;
	j->config = config;
	ev_init(&j->timer, timer_cb);
	r = disk_new(env->ev, &j->disk);
	if (r < 0)
		return r;
	j->store = store_new(j->disk, config->directory, config->name);
	j->storing = storing_new(&(struct storing_options){
	    .ev = env->ev,
	    .accepted = job_accepted_of(j),
	    .disk = j->disk,
	    .store = j->store,
	    .job = config,
	    .worker = env->worker,
	    .node = env->node_name,
	    .may_shed = may_shed_cb,
	    .userdata = j,
	});
	scan(j);
	*ret_job = TAKE_PTR(j);
	return 0;
}

void job_free(struct job *j)
{
	if (j == NULL)
		return;
	disk_free(j->disk);
	ev_timer_stop(j->env->ev, &j->timer);
	view_cancel(j->asking);
	claim_free(j->claim);
	clearing_abandon(j->clearing);
	run_abandon(j->run);
	storing_free(j->storing);
	store_free(j->store);
	free(j);
}

bool job_stop(struct job *j, void (*stopped)(void *userdata), void *userdata)
{
	j->stopped = stopped;
	j->stopped_userdata = userdata;
	switch (j->state) {
	case JOB_IDLE:
	case JOB_DUE:
	case JOB_CLAIMING:
	case JOB_WAITING:
	case JOB_RETRYING:
		ev_timer_stop(j->env->ev, &j->timer);
		view_cancel(TAKE_PTR(j->asking));
		claim_free(TAKE_PTR(j->claim));
		return true;
	case JOB_PRUNING:
		if (clearing_stop(j->clearing)) {
			j->clearing = NULL;
			return true;
		}
		break;
	case JOB_STARTING:
	case JOB_RUNNING:
	case JOB_RECORDING:
		break;
	}
	if (j->run != NULL)
		run_cancel(j->run);
	return false;
}

int job_save(struct job *j, bool wants_plain, job_saved_fn done, void *userdata)
{
	if (j->stopped != NULL || j->is_manual || j->is_held)
		return -EBUSY;
	switch (j->state) {
	case JOB_IDLE:
	case JOB_WAITING:
	case JOB_RETRYING:
		if (store_is_read(j->store))
			look(j, "asked for");
		else
			scan(j);
		break;
	case JOB_DUE:
		/* The period's own comes after it. */
		if (j->asking == NULL)
			wait_for(j, 0);
		break;
	case JOB_CLAIMING:
		/* Nothing is ours yet, and without a quorum it will not be. */
		claim_free(TAKE_PTR(j->claim));
		change_state(j, JOB_IDLE, "asked for");
		look(j, "asked for");
		break;
	case JOB_STARTING:
	case JOB_RUNNING:
	case JOB_RECORDING:
	case JOB_PRUNING:
		return -EBUSY;
	}
	j->is_manual = true;
	j->wants_plain = wants_plain;
	j->saved = done;
	j->saved_userdata = userdata;
	return 0;
}

void job_forget_save(struct job *j)
{
	j->saved = NULL;
}

static bool is_resting(const struct job *j)
{
	switch (j->state) {
	case JOB_IDLE:
		return j->due.next_s * US_PER_S > wall_now_us();
	case JOB_WAITING:
	case JOB_RETRYING:
		return store_is_read(j->store);
	case JOB_STARTING:
	case JOB_DUE:
	case JOB_CLAIMING:
	case JOB_RUNNING:
	case JOB_RECORDING:
	case JOB_PRUNING:
		return false;
	}
	return false;
}

bool job_hold(struct job *j)
{
	if (j->stopped != NULL || j->is_held || !is_resting(j))
		return false;
	j->is_held = true;
	return true;
}

void job_release(struct job *j)
{
	j->is_held = false;
	wait_for(j, 0);
}

bool job_get_word(const struct job *j, struct retain_accepted *ret_word)
{
	if (!j->shrank)
		return storing_get_word(j->storing, ret_word);
	*ret_word = j->word;
	return true;
}

void job_look_again(struct job *j)
{
	if (j->state != JOB_PRUNING)
		clear(j, true, looked_cb);
	storing_look_again(j->storing);
}

const struct job_env *job_env(const struct job *j)
{
	return j->env;
}

struct storing *job_storing(const struct job *j)
{
	return j->storing;
}

const struct config_job *job_config(const struct job *j)
{
	return j->config;
}

struct store *job_store(const struct job *j)
{
	return j->store;
}

static const char *state_name(const struct job *j)
{
	return j->run != NULL ? run_state_name(j->run) : states[j->state].name;
}

void job_fill_report(const struct job *j, struct job_report *ret)
{
	size_t n = store_n(j->store);

	*ret = (struct job_report){
	    .job = j->config->name,
	    .state = state_name(j),
	    .elected = j->config->taker == CONFIG_TAKER_ELECTED,
	    .next_due_s = j->due.next_s,
	    .period_s = j->due.period_s,
	    .period_done = due_is_done(&j->due),
	    .done_by = j->done_by,
	    .n_snapshots = n,
	    .n_rejected = store_n_rejected(j->store),
	    .error = j->notes.error,
	    .error_s = j->notes.error_s,
	    .frozen = j->frozen,
	    .last_took_us = j->notes.last_took_us,
	    .n_odd = store_n_odd(j->store),
	    .counts = j->notes.counts,
	};
	for (size_t i = 0; i < n; i++)
		ret->total_bytes += (uint64_t) store_get(j->store, i)->file_bytes;
	for (size_t i = n; i-- > 0 && ret->last_good == NULL;) {
		if (catalog_is_good(store_get(j->store, i)))
			ret->last_good = store_get(j->store, i);
	}
	if (ret->n_odd > 0)
		ret->odd = store_odd(j->store, 0);
	storing_fill_reports(j->storing, ret->targets, &ret->n_targets);
	if (j->run != NULL)
		run_progress(j->run, &ret->bytes, &ret->of_bytes);
}
