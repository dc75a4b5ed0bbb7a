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
 * or the clock is set, needs no case of its own: the one under way either has a snapshot or is due.
 * In DUE the node that should take it goes first, the others wait, each a little longer. Where
 * every node takes its own, and when somebody asks for one out of schedule, nothing is claimed and
 * nothing recorded.
 */
#include "etcdwatch/job/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fsm.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/job/job_priv.h"
#include "etcdwatch/take/place.h"

/* --- notes --- */

/* Counting, and saying it once. */

void notes_error(struct notes *n, const char *text)
{
	(void) snprintf(n->error, sizeof(n->error), "%s", text);
	n->error_s = wall_now_us() / US_PER_S;
}

static void note_not_compared(struct notes *n, const char *job, const struct run_result *result)
{
	char text[NOTES_TEXT_MAX];

	n->counts.not_compared++;
	(void) snprintf(text, sizeof(text), "%s was not compared with another member: %s", result->id,
	                result->not_compared);
	notes_error(n, text);
	log_warning("snapshot_not_compared", "job=%s id=%s reason=\"%s\"", job, result->id,
	            result->not_compared);
}

static void note_disagreed(struct notes *n, const char *job, const struct run_result *result)
{
	char text[NOTES_TEXT_MAX];

	(void) snprintf(text, sizeof(text),
	                "member '%s' holds other data than '%s' and the snapshot: it may be corrupt",
	                result->disagreed, result->agreed);
	notes_error(n, text);
	log_error("member_differs", "job=%s id=%s reason=\"%s\"", job, result->id, text);
}

void notes_kept(struct notes *n, const char *job, const struct run_result *result)
{
	n->counts.kept++;
	n->last_took_us = result->took_us;
	n->error[0] = '\0';
	if (result->agreed[0] == '\0')
		note_not_compared(n, job, result);
	else if (result->disagreed[0] != '\0')
		note_disagreed(n, job, result);
	log_notice("snapshot_kept", "job=%s id=%s agreed=%s dur_ms=%lld", job, result->id,
	           result->agreed[0] != '\0' ? result->agreed : "-",
	           (long long) (result->took_us / US_PER_MS));
}

/* The clock may be set: it is looked at so often. */
#define CLOCK_US (20 * US_PER_S)

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

void job_wait_for(struct job *j, int64_t us)
{
	ev_timer_stop(j->env->ev, &j->timer);
	ev_timer_set(&j->timer, mono_to_ev(us), 0.);
	ev_timer_start(j->env->ev, &j->timer);
}

void job_change_state(struct job *j, enum job_state state, const char *reason)
{
	fsm_check(states, ARRAY_SIZE(states), j->state, state);
	log_debug("job_state", "job=%s old=%s new=%s reason=\"%s\"", j->config->name,
	          states[j->state].name, states[state].name, reason);
	ev_timer_stop(j->env->ev, &j->timer);
	j->state = state;
}

const char *job_state_name(const struct job *j)
{
	return states[j->state].name;
}

int64_t job_wall_now_s(void)
{
	return wall_now_us() / US_PER_S;
}

/* --- resting --- */

void job_tell_saved(struct job *j, const struct job_saved *saved)
{
	job_saved_fn tell = TAKE_PTR(j->saved);

	j->is_manual = false;
	j->step = NULL;
	if (tell != NULL)
		tell(saved, j->saved_userdata);
}

static void tell_not_saved(struct job *j, const char *reason)
{
	job_tell_saved(j, &(struct job_saved){.reason = reason});
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

void job_rest(struct job *j, const char *reason)
{
	job_change_state(j, JOB_IDLE, reason);
	if (!stops(j))
		job_wait_for(j, 0);
}

/* However long it has failed: half of what is left of the period may be slept through, and the
 * beginning of the next may not. */
static int64_t retry_us(const struct job *j)
{
	int64_t now_s = job_wall_now_s();
	int64_t left_us = (due_next_s(j->config, now_s) - now_s) * US_PER_S;
	int64_t half_us = MAX(left_us / 2, due_retry_us(1));

	return MIN(MIN(due_retry_us(j->n_failures), half_us), left_us);
}

void job_fail(struct job *j, const char *reason)
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
	job_change_state(j, JOB_RETRYING, reason);
	if (!stops(j))
		job_wait_for(j, again_us);
}

/* --- what is due --- */

static void view_cb(const struct view *view, void *userdata)
{
	struct job *j = userdata;
	struct place place;

	j->asking = NULL;
	j->view = *view;
	if (j->is_manual || j->config->taker == CONFIG_TAKER_EVERY_NODE) {
		job_run(j);
		return;
	}
	place_find(view, j->config->name, j->due.period_s, &place);
	log_debug("place", "job=%s verdict=\"%s\" delay_ms=%lld", j->config->name, place.verdict,
	          (long long) (place.delay_us / US_PER_MS));
	job_wait_for(j, place.delay_us);
}

static void look(struct job *j, const char *reason)
{
	job_change_state(j, JOB_DUE, reason);
	j->asking = view_start(j->env->etcd, view_cb, j);
}

/* --- starting --- */

static void scanned_cb(int r, const char *reason, void *userdata)
{
	struct job *j = userdata;
	size_t n = store_n(j->store);

	if (r < 0) {
		job_fail(j, reason);
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
		due_done_at(&j->due, j->config, job_wall_now_s());
	storing_visit(j->storing);
	job_look_at_frozen(j);
	if (j->is_manual)
		look(j, "asked for");
	else
		job_rest(j, "ready");
}

/* Before anything is taken: without the catalogue nobody can tell which timeline it belongs to, nor
 * what has been done. */
static void scan(struct job *j)
{
	if (j->state != JOB_STARTING)
		job_change_state(j, JOB_STARTING, "the directory has not been read yet");
	store_scan(j->store, scanned_cb, j);
}

/* --- the clock --- */

static void look_at_clock(struct job *j)
{
	int64_t before_s = j->due.period_s;
	enum due_news news = due_look(&j->due, j->config, job_wall_now_s());

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
			job_run(j);
		else
			job_claim(j);
		return;
	}
	if (j->state == JOB_RUNNING) {
		job_watch(j);
		return;
	}
	if (!store_is_read(j->store)) {
		scan(j);
		return;
	}
	look_at_clock(j);
	left_us = j->due.next_s * US_PER_S - wall_now_us();
	if (j->is_held)
		job_wait_for(j, CLOCK_US);
	else if (left_us <= 0)
		look(j, "due");
	else if (j->state != JOB_IDLE)
		job_rest(j, "nothing is due any more");
	else
		job_wait_for(j, MIN(left_us, CLOCK_US));
}

/* --- the whole --- */

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
	j->store = store_new(j->disk, config->directory, config->name, env->key);
	j->storing = storing_new(&(struct storing_options){
	    .ev = env->ev,
	    .accepted = job_accepted_of(j),
	    .disk = j->disk,
	    .store = j->store,
	    .job = config,
	    .worker = env->worker,
	    .node = env->node_name,
	    .doubt = env->doubt,
	    .may_shed = job_may_shed,
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
		if (j->asking != NULL) {
			view_cancel(TAKE_PTR(j->asking));
			return true;
		}
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

int job_save(struct job *j, run_step_fn step, job_saved_fn done, void *userdata)
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
			job_wait_for(j, 0);
		break;
	case JOB_CLAIMING:
		/* Nothing is ours yet, and without a quorum it will not be. */
		claim_free(TAKE_PTR(j->claim));
		job_change_state(j, JOB_IDLE, "asked for");
		look(j, "asked for");
		break;
	case JOB_STARTING:
	case JOB_RUNNING:
	case JOB_RECORDING:
	case JOB_PRUNING:
		return -EBUSY;
	}
	j->is_manual = true;
	j->step = step;
	j->saved = done;
	j->saved_userdata = userdata;
	return 0;
}

void job_forget_save(struct job *j)
{
	j->saved = NULL;
	j->step = NULL;
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
	if (j->stopped == NULL)
		job_wait_for(j, 0);
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

struct others *job_others(struct job *j)
{
	return &j->others;
}

struct store *job_store(const struct job *j)
{
	return j->store;
}

/* --- jobreport --- */

/* What a job tells of itself. */

static const char *state_name(const struct job *j)
{
	return j->run != NULL ? run_state_name(j->run) : job_state_name(j);
}

/* The plan is of the last clearing; copies may have been made since. */
static uint64_t count_waiting(const struct job *j, const struct job_report *report)
{
	uint64_t n_pending = 0;

	for (size_t i = 0; i < report->n_targets; i++)
		n_pending = MAX(n_pending, report->targets[i].n_pending);
	return MIN(j->n_waiting, n_pending);
}

void job_fill_report(const struct job *j, struct job_report *ret)
{
	size_t n = store_n(j->store);

	*ret = (struct job_report){
	    .job = j->config->name,
	    .state = state_name(j),
	    .elected = j->config->taker == CONFIG_TAKER_ELECTED,
	    .compares = j->config->verify_hashkv,
	    .next_due_s = j->due.next_s,
	    .period_s = j->due.period_s,
	    .period_done = due_is_done(&j->due),
	    .done_by = j->done_by,
	    .n_snapshots = n,
	    .n_rejected = store_n_rejected(j->store),
	    .error = j->notes.error,
	    .error_s = j->notes.error[0] != '\0' ? j->notes.error_s : 0,
	    .frozen = doubt_was_found(j->env->doubt) ? RETAIN_CORRUPT_TEXT : j->shrunk,
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
	ret->n_waiting = count_waiting(j, ret);
	if (j->run == NULL)
		return;
	run_progress(j->run, &ret->bytes, &ret->of_bytes);
	ret->doing = *run_doing(j->run);
}
