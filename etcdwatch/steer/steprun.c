/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	LOCKING ── ours ──► CHECKING, or OVER
 *
 *	CHECKING ── it may begin ──► ACTING ── answered ──► SETTLING ── it is so ──► CHECKING ...
 *	   │                           │                       │ ▲  (the next one)
 *	   │                           │                       └─┘ a look each LOOK_US
 *	   └───────────────────────────┴───────────────────────┴──► OVER
 *
 * An answer that did not come says nothing: what the cluster has become does. The lock is a claim
 * like those on snapshots: one run in the whole cluster at a time, and gone with its node. While
 * etcd has no room it takes no keys, and what removes nobody goes on without.
 */
#include "etcdwatch/steer/steprun.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fsm.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcd/steer.h"
#include "etcdwatch/cluster/survey.h"
#include "etcdwatch/steer/tally.h"
#include "etcdwatch/take/claim.h"

/* --- stall --- */

/* How long clients of one member wait at most: linearizable reads, one after the other, from the
 * beginning to the end. Not read: how many. */

struct stall;

#define PAUSE_US (10 * US_PER_MS)
#define READ_TIMEOUT_MS 600000 /* what is measured must not be cut off */

struct stall {
	struct ev_loop *ev;
	struct etcd *etcd;
	char *endpoint;
	struct etcd_call *call;
	int64_t asked_us;
	int64_t longest_us;
	ev_timer timer;
};

static void read_cb(const struct etcd_outcome *outcome UNUSED,
                    const struct etcd_range_result *result UNUSED, void *userdata)
{
	struct stall *s = userdata;

	s->call = NULL;
	s->longest_us = MAX(s->longest_us, mono_now_us() - s->asked_us);
	ev_timer_set(&s->timer, mono_to_ev(PAUSE_US), 0.);
	ev_timer_start(s->ev, &s->timer);
}

static int ask(struct stall *s)
{
	const struct etcd_range range = {.key = ETCD_STR(SURVEY_KEY), .count_only = true};

	s->asked_us = mono_now_us();
	return etcd_endpoint_range(s->etcd, s->endpoint, &range, READ_TIMEOUT_MS, read_cb, s, &s->call);
}

static void stall_timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	(void) ask(CONTAINER_OF(w, struct stall, timer));
}

/* The longest, in microseconds; the one that is under way counts too. -1 for NULL. Frees it. */
static int64_t stall_stop(struct stall *s)
{
	int64_t longest_us;

	if (s == NULL)
		return -1;
	longest_us = s->longest_us;
	if (s->call != NULL)
		longest_us = MAX(longest_us, mono_now_us() - s->asked_us);
	ev_timer_stop(s->ev, &s->timer);
	etcd_call_cancel(s->call);
	free(s->endpoint);
	free(s);
	return longest_us;
}

/* NULL: there is no such endpoint. */
static struct stall *stall_start(const struct cluster_env *env, const char *endpoint)
{
	struct stall *s = NEW0(struct stall);

	s->ev = env->ev;
	s->etcd = env->etcd;
	s->endpoint = xstrdup(endpoint);
	ev_init(&s->timer, stall_timer_cb);
	if (ask(s) < 0) {
		(void) stall_stop(s);
		return NULL;
	}
	return s;
}

#define ACT_TIMEOUT_MS 15000
#define LONG_TIMEOUT_MS 1200000 /* a large database, on a slow disk */
#define LOOK_US (300 * US_PER_MS)
#define SETTLE_LIMIT_US (60 * US_PER_S)

/* In place of a job's name, which does not begin so. */
#define LOCK_NAME ".cluster"

enum run_state {
	RUN_LOCKING,
	RUN_CHECKING,
	RUN_ACTING,
	RUN_SETTLING,
	RUN_OVER,
};

static const struct fsm_state states[] = {
    [RUN_LOCKING] = {"locking", FSM_TO(RUN_CHECKING) | FSM_TO(RUN_OVER)},
    [RUN_CHECKING] = {"checking", FSM_TO(RUN_ACTING) | FSM_TO(RUN_OVER)},
    [RUN_ACTING] = {"acting", FSM_TO(RUN_SETTLING) | FSM_TO(RUN_OVER)},
    [RUN_SETTLING] = {"settling", FSM_TO(RUN_CHECKING) | FSM_TO(RUN_OVER)},
    [RUN_OVER] = {"over", 0},
};

struct steprun {
	struct cluster_env env;
	struct steps steps;
	size_t at;
	enum run_state state;
	int64_t began_us;        /* the step */
	int64_t settle_until_us; /* SETTLING */
	struct claim *lock;      /* NULL: there is no room for it, or it was lost */
	bool lost;               /* the lock */
	struct survey_request *survey;
	struct etcd_call *call;
	ev_timer timer;                     /* to look again, or to begin */
	struct stall *stall, *leader_stall; /* ACTING, of DEFRAGMENT */
	struct steprun_report report;       /* of the present step */
	const struct steprun_callbacks *callbacks;
	void *userdata;
};

static struct step *present(struct steprun *run)
{
	return &run->steps.items[run->at];
}

const struct step *steprun_step(const struct steprun *run)
{
	return &run->steps.items[run->at];
}

static void change_state(struct steprun *run, enum run_state state)
{
	fsm_check(states, ARRAY_SIZE(states), run->state, state);
	log_debug("steprun_state", "step=%zu old=%s new=%s", run->at, states[run->state].name,
	          states[state].name);
	run->state = state;
	ev_timer_stop(run->env.ev, &run->timer);
}

static void stop_stalls(struct steprun *run)
{
	run->report.stall_us = stall_stop(TAKE_PTR(run->stall));
	run->report.leader_stall_us = stall_stop(TAKE_PTR(run->leader_stall));
}

void steprun_free(struct steprun *run)
{
	if (run == NULL)
		return;
	ev_timer_stop(run->env.ev, &run->timer);
	survey_cancel(run->survey);
	etcd_call_cancel(run->call);
	stop_stalls(run);
	claim_free(run->lock);
	free(run);
}

/* Calls out: last act. */
static void finish(struct steprun *run, const char *why)
{
	char text[STEPS_TEXT_MAX], sentence[2 * STEPS_TEXT_MAX];

	change_state(run, RUN_OVER);
	if (why != NULL) {
		tally_step(run->env.tally, present(run), NULL);
		step_text(present(run), text);
		log_warning("cluster_step_failed", "step=\"%s\" reason=\"%s\"", text, why);
		(void) snprintf(sentence, sizeof(sentence), "cannot %s: %s", text, why);
	}
	run->callbacks->done(why != NULL ? sentence : NULL, run->userdata);
	steprun_free(run);
}

/* --- the lock --- */

static void look_after(struct steprun *run, int64_t us)
{
	ev_timer_stop(run->env.ev, &run->timer);
	ev_timer_set(&run->timer, mono_to_ev(us), 0.);
	ev_timer_start(run->env.ev, &run->timer);
}

static void locked_cb(enum claim_answer answer, const char *text, void *userdata)
{
	struct steprun *run = userdata;
	char why[STEPS_TEXT_MAX];

	switch (answer) {
	case CLAIM_OURS:
		break;
	case CLAIM_NO_SPACE:
	case CLAIM_CORRUPT:
		/* Two who remove a member each could take away the majority. */
		if (steps_need_lock(&run->steps)) {
			(void) snprintf(why, sizeof(why), "the cluster cannot be locked while %s: %s",
			                answer == CLAIM_NO_SPACE
			                    ? "etcd has no room, which 'fairlead etcd recover-space' makes"
			                    : "the alarm CORRUPT stands",
			                text);
			finish(run, why);
			return;
		}
		log_notice("cluster_lock_missing", "reason=\"%s\"", text);
		claim_free(TAKE_PTR(run->lock));
		break;
	case CLAIM_OTHERS:
	case CLAIM_DONE:
		(void) snprintf(why, sizeof(why), "'%s' is changing the cluster: try again when it is done",
		                text);
		finish(run, why);
		return;
	case CLAIM_FAILED:
		(void) snprintf(why, sizeof(why), "cannot lock the cluster: %s", text);
		finish(run, why);
		return;
	}
	change_state(run, RUN_CHECKING);
	look_after(run, 0);
}

static void lost_cb(void *userdata)
{
	struct steprun *run = userdata;

	run->lost = true;
	claim_free(TAKE_PTR(run->lock));
}

/* Nothing is recorded under it. */
static const struct claim_callbacks lock_callbacks = {.answered = locked_cb, .lost = lost_cb};

static void lock(struct steprun *run)
{
	const struct claim_options options = {
	    .prefix = run->env.conf->prefix,
	    .job = LOCK_NAME,
	    .node = run->env.node_name,
	    .instance = run->env.instance,
	};

	run->lock = claim_new(run->env.ev, run->env.etcd, &options, &lock_callbacks, run);
}

/* --- acting --- */

static void acted_cb(const struct etcd_outcome *outcome, void *userdata)
{
	struct steprun *run = userdata;

	run->call = NULL;
	stop_stalls(run);
	if (!stepcheck_may_have_done(present(run), outcome)) {
		finish(run, outcome->text);
		return;
	}
	change_state(run, RUN_SETTLING);
	run->settle_until_us = mono_now_us() + SETTLE_LIMIT_US;
	look_after(run, 0);
}

static int send_step(struct steprun *run, const char *endpoint)
{
	const struct step *step = present(run);
	struct etcd *etcd = run->env.etcd;

	switch (step->kind) {
	case STEP_MOVE_LEADER:
		return etcd_endpoint_move_leader(etcd, endpoint, step->target, ACT_TIMEOUT_MS, acted_cb,
		                                 run, &run->call);
	case STEP_REMOVE:
		return etcd_endpoint_member_remove(etcd, endpoint, step->member, ACT_TIMEOUT_MS, acted_cb,
		                                   run, &run->call);
	case STEP_DISARM:
		return etcd_endpoint_alarm_disarm(etcd, endpoint, step->member, step->alarm, ACT_TIMEOUT_MS,
		                                  acted_cb, run, &run->call);
	case STEP_COMPACT:
		return etcd_endpoint_compact(etcd, endpoint, step->revision, true, LONG_TIMEOUT_MS,
		                             acted_cb, run, &run->call);
	case STEP_DEFRAGMENT:
		return etcd_endpoint_defragment(etcd, endpoint, LONG_TIMEOUT_MS, acted_cb, run, &run->call);
	}
	return -EINVAL;
}

static void start_stalls(struct steprun *run, const struct survey *survey)
{
	const struct survey_member *m = survey_find_id(survey, present(run)->member);
	const struct survey_member *leader = survey_leader(survey);

	run->stall = stall_start(&run->env, m->answer->endpoint);
	if (m != leader)
		run->leader_stall = stall_start(&run->env, leader->answer->endpoint);
}

static void act(struct steprun *run, const struct survey *survey)
{
	char why[STEPS_TEXT_MAX], text[STEPS_TEXT_MAX];
	int r;

	if (run->lost) {
		finish(run, "the lock of the cluster was lost");
		return;
	}
	if (!survey_is_one_cluster(survey)) {
		finish(run, "the endpoints lead to different clusters");
		return;
	}
	if (!stepcheck_may_begin(present(run), survey, why)) {
		finish(run, why);
		return;
	}
	step_text(present(run), text);
	log_notice("cluster_step", "step=\"%s\"", text);
	change_state(run, RUN_ACTING);
	run->began_us = mono_now_us();
	if (present(run)->kind == STEP_DEFRAGMENT)
		start_stalls(run, survey);
	r = send_step(run, stepcheck_whom(present(run), survey)->answer->endpoint);
	if (r < 0)
		finish(run, strerror(-r));
}

/* --- looking --- */

static void tell_done(struct steprun *run, const struct survey *survey)
{
	const struct survey_member *m = survey_find_id(survey, present(run)->member);

	run->report.took_us = mono_now_us() - run->began_us;
	run->report.db_bytes = m != NULL && m->answer != NULL ? m->answer->db_bytes : 0;
	tally_step(run->env.tally, present(run),
	           &(struct tally_cost){
	               .took_us = run->report.took_us,
	               .stall_us = run->report.stall_us,
	               .leader_stall_us = run->report.leader_stall_us,
	               .db_bytes = run->report.db_bytes,
	               .at_s = wall_now_us() / US_PER_S,
	           });
	run->callbacks->step_done(present(run), &run->report, run->userdata);
}

/* Who has not heard of the new leader yet would count as not healthy when the next one begins. */
static bool is_settled(const struct step *step, const struct survey *survey)
{
	const struct survey_member *leader = survey_leader(survey);

	if (!stepcheck_is_done(step, survey))
		return false;
	for (size_t i = 0; i < survey->n_members && step->kind == STEP_MOVE_LEADER; i++) {
		const struct survey_member *m = &survey->members[i];

		if (m->listed && m->answer != NULL && m->answer->serves &&
		    m->answer->leader_id != leader->id)
			return false;
	}
	return true;
}

static void settle(struct steprun *run, const struct survey *survey)
{
	if (!is_settled(present(run), survey)) {
		if (mono_now_us() >= run->settle_until_us)
			finish(run, "it has not come about, or the cluster is not well since");
		else
			look_after(run, LOOK_US);
		return;
	}
	tell_done(run, survey);
	if (run->at + 1 == run->steps.n) {
		finish(run, NULL);
		return;
	}
	change_state(run, RUN_CHECKING);
	run->at++;
	look_after(run, 0);
}

static void surveyed_cb(const struct survey *survey, void *userdata)
{
	struct steprun *run = userdata;

	run->survey = NULL;
	if (run->state == RUN_CHECKING)
		act(run, survey);
	else
		settle(run, survey);
}

/* A member that sends a snapshot cannot write its database anew, nor the other way round. Who takes
 * one has a claim; and one of our own may be taken without. */
static void claims_cb(const struct etcd_outcome *outcome, const struct etcd_range_result *result,
                      void *userdata)
{
	struct steprun *run = userdata;
	size_t n = 0;

	run->call = NULL;
	if (outcome->r < 0) {
		finish(run, outcome->text);
		return;
	}
	for (size_t i = 0; i < result->n_kvs; i++) {
		AUTO(free) char *key = xstrndup(result->kvs[i].key.data, result->kvs[i].key.len);

		n += strstr(key, "/claim/") != NULL && strstr(key, "/" LOCK_NAME "/") == NULL;
	}
	if (n > 0 || run->env.takes_snapshot(run->env.daemon))
		finish(run, "a snapshot is being taken: try again when it is there");
	else
		run->survey = survey_start(run->env.etcd, surveyed_cb, run);
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct steprun *run = CONTAINER_OF(w, struct steprun, timer);
	AUTO(free) char *keys = xasprintf("%setcdwatch/", run->env.conf->prefix);
	const struct etcd_range range = {.key = ETCD_STR(keys), .prefix = true, .keys_only = true};

	if (run->state == RUN_CHECKING && present(run)->kind == STEP_DEFRAGMENT)
		(void) etcd_range(run->env.etcd, &range, claims_cb, run, &run->call);
	else
		run->survey = survey_start(run->env.etcd, surveyed_cb, run);
}

struct steprun *steprun_start(const struct cluster_env *env, const struct steps *steps,
                              const struct steprun_callbacks *callbacks, void *userdata)
{
	struct steprun *run = NEW0(struct steprun);

	run->env = *env;
	run->steps = *steps;
	run->callbacks = callbacks;
	run->userdata = userdata;
	ev_init(&run->timer, timer_cb);
	lock(run);
	return run;
}
