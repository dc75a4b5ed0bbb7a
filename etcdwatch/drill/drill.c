/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	READING ──► CLEARING ──► IDLE ◄──► WAITING ──► [LOOKING] ──► RUNNING ──► IDLE
 *	    └───────────┴─────────┴───────────┴────────────┴────────────┴──► ENDED
 *
 * READING is for how earlier drills went, CLEARING for what one that was killed left, LOOKING for
 * what a target has, when the job's drills take their snapshots from one. A drill that is over has
 * been, whether that could be written down or not.
 */
#include "etcdwatch/drill/drill.h"

#include <errno.h>
#include <ev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fsm.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/drill/drillstate.h"
#include "etcdwatch/store/store.h"
#include "etcdwatch/target/look.h"
#include "etcdwatch/work/child.h"
#include "etcdwatch/work/keepfile.h"

/* The clock may be set: it is looked at so often. */
#define CLOCK_US (20 * US_PER_S)
/* So often is looked whether the job rests. */
#define JOB_US (1 * US_PER_S)
#define CLEAR_LIMIT_US (120 * US_PER_S)
#define LOOK_LIMIT_US (300 * US_PER_S)
/* The worker knows its time itself. */
#define LATE_US (30 * US_PER_S)
#define STOPPING "etcdwatch is being stopped"

enum drill_state {
	DRILL_READING,
	DRILL_CLEARING,
	DRILL_IDLE,
	DRILL_WAITING,
	DRILL_LOOKING,
	DRILL_RUNNING,
	DRILL_ENDED,
};

static const struct fsm_state states[] = {
    [DRILL_READING] = {"reading", FSM_TO(DRILL_CLEARING) | FSM_TO(DRILL_ENDED)},
    [DRILL_CLEARING] = {"clearing", FSM_TO(DRILL_IDLE) | FSM_TO(DRILL_ENDED)},
    [DRILL_IDLE] = {"idle", FSM_TO(DRILL_WAITING) | FSM_TO(DRILL_ENDED)},
    [DRILL_WAITING] = {"waiting", FSM_TO(DRILL_LOOKING) | FSM_TO(DRILL_RUNNING) |
                                      FSM_TO(DRILL_IDLE) | FSM_TO(DRILL_ENDED)},
    [DRILL_LOOKING] = {"looking", FSM_TO(DRILL_RUNNING) | FSM_TO(DRILL_IDLE) | FSM_TO(DRILL_ENDED)},
    [DRILL_RUNNING] = {"running", FSM_TO(DRILL_IDLE) | FSM_TO(DRILL_ENDED)},
    [DRILL_ENDED] = {"ended", 0},
};

struct drill {
	struct ev_loop *ev;
	const char *worker;
	struct job *job;
	const struct config_job *config;
	enum drill_state state;
	ev_timer timer;      /* IDLE, WAITING */
	struct look *look;   /* LOOKING */
	struct child *child; /* CLEARING, RUNNING */
	int64_t born_s;

	struct keepfile *file; /* `known`: read once, and written whenever it changes */
	char *path;
	struct drillstate known;
	struct drilldue due;
	bool told_overdue;
	uint64_t n_passed, n_failed;

	char id[CATALOG_ID_MAX + 1]; /* RUNNING */
	int64_t began_s, began_us;
	char phase[DRILLSTATE_CODE_MAX];
	struct doing doing;       /* in that phase */
	struct drill_asker asker; /* without `done`: nobody waits */

	void (*stopped)(void *userdata); /* it is to stop */
	void *stopped_userdata;
};

static void wait_for(struct drill *d, int64_t us)
{
	ev_timer_stop(d->ev, &d->timer);
	ev_timer_set(&d->timer, mono_to_ev(us), 0.);
	ev_timer_start(d->ev, &d->timer);
}

/* The one writer of the state. */
static void change_state(struct drill *d, enum drill_state state)
{
	fsm_check(states, ARRAY_SIZE(states), d->state, state);
	log_debug("drill_state", "job=%s old=%s new=%s", d->config->name, states[d->state].name,
	          states[state].name);
	ev_timer_stop(d->ev, &d->timer);
	d->state = state;
	d->phase[0] = '\0';
	d->doing = (struct doing){.bytes = 0};
}

static int64_t wall_now_s(void)
{
	return wall_now_us() / US_PER_S;
}

/* --- which snapshot --- */

/* Of this node; NULL: there is nothing to drill. A target has something as soon as we have stored
 * something there; what it has now, it is asked. */
static const struct catalog_entry *newest_here(const struct drill *d)
{
	const struct store *store = job_store(d->job);

	return drillpick_here(d->config, store_entries(store), store_n(store), d->config->drill.source);
}

/* --- the end of one --- */

static void begin_phase(struct drill *d, const char *phase)
{
	(void) snprintf(d->phase, sizeof(d->phase), "%s", phase);
	d->doing = (struct doing){.bytes = 0};
	if (d->asker.done != NULL)
		d->asker.phase(phase, d->asker.userdata);
}

/* Calls out. */
static void tell_done(struct drill *d, bool ok, const char *reason, const json_t *result)
{
	const struct drill_asker asker = d->asker;

	d->asker = (struct drill_asker){.done = NULL};
	if (asker.done != NULL)
		asker.done(ok, reason, result, asker.userdata);
}

/* What was under way is over. Calls out. */
static void go_on(struct drill *d)
{
	if (d->stopped != NULL) {
		change_state(d, DRILL_ENDED);
		d->stopped(d->stopped_userdata);
		return;
	}
	change_state(d, DRILL_IDLE);
	wait_for(d, 0);
}

static void note(struct drill *d, const char *code, const char *reason, const json_t *result)
{
	int64_t took_ms = (mono_now_us() - d->began_us) / US_PER_MS;

	drillstate_add(&d->known, d->began_s, d->id, took_ms, code, reason, result);
	keepfile_write(d->file, drillstate_print(&d->known));
	if (code[0] != '\0') {
		d->n_failed++;
		log_error("drill_failed", "job=%s id=%s error=%s reason=\"%s\" failures=%u dur_ms=%lld",
		          d->config->name, d->id, code, reason, d->known.failures, (long long) took_ms);
		return;
	}
	d->n_passed++;
	d->told_overdue = false;
	log_notice("drill_passed", "job=%s id=%s dur_ms=%lld", d->config->name, d->id,
	           (long long) took_ms);
}

/* `code` is "" if it went well. One that we ended ourselves proves nothing. */
static void finish(struct drill *d, const char *code, const char *reason, const json_t *result)
{
	if (d->stopped == NULL)
		note(d, code, reason, result);
	tell_done(d, code[0] == '\0', d->stopped == NULL ? reason : STOPPING, result);
	if (d->stopped == NULL)
		job_release(d->job);
	go_on(d);
}

static void done_cb(const struct child_result *result, void *userdata)
{
	struct drill *d = userdata;
	const char *code = child_error_code(result);

	d->child = NULL;
	if (result->r < 0 && code[0] == '\0')
		code = result->r == -ETIMEDOUT ? "TIMEOUT" : "SYSTEM";
	finish(d, code, result->reason, result->last);
}

/* --- running --- */

static void line_cb(const json_t *object, void *userdata)
{
	struct drill *d = userdata;
	const char *phase = json_string_value(json_object_get(object, "phase"));

	if (phase != NULL)
		begin_phase(d, phase);
}

static void run(struct drill *d, const struct catalog_entry *entry)
{
	struct drillwords words;
	int r;

	change_state(d, DRILL_RUNNING);
	(void) snprintf(d->id, sizeof(d->id), "%s", entry->id);
	log_info("drill_begins", "job=%s id=%s source=%s", d->config->name, d->id,
	         d->config->drill.source != NULL ? d->config->drill.source->name : "local");
	drillwords_init(&words, d->worker, d->config, entry);
	r = child_start(d->ev, words.words.argv, d->config->drill.timeout_us + LATE_US, done_cb, d,
	                &d->child);
	drillwords_fini(&words);
	if (r < 0) {
		finish(d, "SYSTEM", "the worker cannot be started", NULL);
		return;
	}
	child_each_line(d->child, line_cb);
	child_keep_doing(d->child, &d->doing);
}

static void looked_cb(struct inventory *inventory, const char *code, const char *reason,
                      void *userdata)
{
	AUTO(inventory_free) struct inventory *found = inventory;
	struct drill *d = userdata;
	const struct catalog_entry *entry = NULL, *known;

	d->look = NULL;
	if (found == NULL) {
		finish(d, code[0] != '\0' ? code : "SYSTEM", reason, NULL);
		return;
	}
	entry = drillpick_there(d->config, found);
	known = entry != NULL ? store_find(job_store(d->job), entry->id) : NULL;
	if (known != NULL && strcmp(known->file_sha256, entry->file_sha256) != 0) {
		(void) snprintf(d->id, sizeof(d->id), "%s", entry->id);
		finish(d, "MISMATCH", "the target has another snapshot of that id than this node", NULL);
	} else if (entry != NULL)
		run(d, entry);
	else
		finish(d, "NOT_FOUND",
		       "the target has no good snapshot of this cluster whose signature is trusted: see "
		       "'fairlead etcd snapshot list'",
		       NULL);
}

static void look(struct drill *d)
{
	const struct look_options options = {
	    .ev = d->ev,
	    .worker = d->worker,
	    .target = d->config->drill.source,
	    .job = d->config->name,
	    .cluster_id = newest_here(d)->cluster_id,
	    .limit_us = LOOK_LIMIT_US,
	};

	change_state(d, DRILL_LOOKING);
	if (look_start(&options, looked_cb, d, &d->look) < 0)
		finish(d, "SYSTEM", "the worker cannot be started", NULL);
}

static void try_to_run(struct drill *d)
{
	if (newest_here(d) == NULL) {
		tell_done(d, false, "there is no snapshot on this node any more", NULL);
		go_on(d);
	} else if (!job_hold(d->job)) {
		if (d->phase[0] == '\0')
			begin_phase(d, "waiting");
		wait_for(d, JOB_US);
	} else {
		d->began_s = wall_now_s();
		d->began_us = mono_now_us();
		d->id[0] = '\0';
		if (d->config->drill.source != NULL)
			look(d);
		else
			run(d, newest_here(d));
	}
}

/* --- what is due --- */

static void look_at_clock(struct drill *d)
{
	struct drilldue_history history = {
	    .last_s = d->known.last_s, .good_s = d->known.good_s, .failures = d->known.failures};
	int64_t now_s = wall_now_s();

	if (newest_here(d) != NULL && d->known.since_s == 0) {
		d->known.since_s = now_s;
		keepfile_write(d->file, drillstate_print(&d->known));
	}
	if (newest_here(d) != NULL)
		history.since_s = d->config->catch_up ? d->known.since_s : MAX(d->known.since_s, d->born_s);
	drilldue_look(d->config, &history, now_s, &d->due);
	if (d->due.is_overdue && !d->told_overdue) {
		d->told_overdue = true;
		log_error("drill_overdue", "job=%s last_good=%lld reason=\"%s\"", d->config->name,
		          (long long) d->known.good_s, d->known.reason);
	}
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct drill *d = CONTAINER_OF(w, struct drill, timer);
	int64_t left_us;

	look_at_clock(d);
	if (d->state == DRILL_IDLE && d->due.is_due)
		change_state(d, DRILL_WAITING);
	if (d->state == DRILL_WAITING) {
		try_to_run(d);
		return;
	}
	left_us = d->due.next_s * US_PER_S - wall_now_us();
	wait_for(d, d->due.next_s == 0 ? JOB_US : MIN(MAX(left_us, 0), CLOCK_US));
}

/* --- beginning --- */

static void cleared_cb(const struct child_result *result, void *userdata)
{
	struct drill *d = userdata;

	d->child = NULL;
	if (result->r < 0 && d->stopped == NULL)
		log_warning("drill_not_cleared", "job=%s dir=%s reason=\"%s\"", d->config->name,
		            d->config->drill.directory, result->reason);
	go_on(d);
}

static void clear(struct drill *d)
{
	const char *const argv[] = {
	    d->worker, "drill", "--clear", "--directory", d->config->drill.directory, NULL};
	int r;

	change_state(d, DRILL_CLEARING);
	r = child_start(d->ev, argv, CLEAR_LIMIT_US, cleared_cb, d, &d->child);
	if (r < 0)
		cleared_cb(&(struct child_result){.r = r, .reason = "the worker cannot be started"}, d);
}

static void read_cb(int r, const char *text, size_t len, void *userdata)
{
	struct drill *d = userdata;

	if (r == 0)
		r = drillstate_parse(text, len, &d->known);
	if (r < 0 && r != -ENOENT)
		(void) log_warning_errno(r, "drill_forgotten", "job=%s path=%s", d->config->name, d->path);
	if (d->state == DRILL_READING)
		clear(d);
}

static void failed_cb(int r, void *userdata)
{
	const struct drill *d = userdata;

	(void) log_warning_errno(r, "drill_not_remembered", "job=%s path=%s", d->config->name, d->path);
}

/* --- the whole --- */

int drill_new(struct ev_loop *ev, const char *worker, struct job *job, struct drill **ret_drill)
{
	static const struct keepfile_callbacks callbacks = {.read = read_cb, .failed = failed_cb};
	AUTO(drill_free) struct drill *d = NEW0(struct drill);
	int r;

	d->ev = ev;
	d->worker = worker;
	d->job = job;
	d->config = job_config(job);
	d->born_s = wall_now_s();
	ev_init(&d->timer, timer_cb);
	d->path = xasprintf("%s/" DRILLSTATE_FILE, d->config->directory);
	r = keepfile_new(ev, d->path, DRILLSTATE_BYTES_MAX, &callbacks, d, &d->file);
	if (r < 0)
		return r;
	*ret_drill = TAKE_PTR(d);
	return 0;
}

void drill_free(struct drill *d)
{
	if (d == NULL)
		return;
	keepfile_free(d->file);
	free(d->path);
	ev_timer_stop(d->ev, &d->timer);
	look_free(d->look);
	child_free(d->child);
	drillstate_fini(&d->known);
	free(d);
}

bool drill_stop(struct drill *d, void (*stopped)(void *userdata), void *userdata)
{
	if (d->child != NULL) {
		d->stopped = stopped;
		d->stopped_userdata = userdata;
		child_ask_to_end(d->child);
		return false;
	}
	look_free(TAKE_PTR(d->look));
	change_state(d, DRILL_ENDED);
	tell_done(d, false, STOPPING, NULL);
	return true;
}

int drill_ask(struct drill *d, const struct drill_asker *asker)
{
	if (d->state != DRILL_IDLE)
		return -EBUSY;
	if (newest_here(d) == NULL)
		return -ENOENT;
	d->asker = *asker;
	change_state(d, DRILL_WAITING);
	wait_for(d, 0);
	return 0;
}

void drill_forget_asker(struct drill *d)
{
	d->asker = (struct drill_asker){.done = NULL};
}

void drill_fill_info(const struct drill *d, struct drillinfo *ret)
{
	*ret = (struct drillinfo){
	    .job = d->config->name,
	    .state = states[d->state].name,
	    .phase = d->phase,
	    .doing = d->doing,
	    .known = &d->known,
	    .due = d->due,
	    .n_passed = d->n_passed,
	    .n_failed = d->n_failed,
	};
}
