/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	a timer ── due ──► a look (and the quotas) ──► a plan ──► its steps ──► the timer
 *
 * One thing at a time; what came of it is told when it is over.
 */
#include "etcdwatch/steer/upkeep.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/steer/plans.h"
#include "etcdwatch/steer/quotas.h"
#include "etcdwatch/steer/steprun.h"
#include "etcdwatch/steer/tally.h"
#include "etcdwatch/health/health.h"

#define TICK_S 2.

struct upkeep {
	const struct cluster_env *env;
	const struct config_watch *watch;
	struct upkeep_past past;
	enum upkeep_what what; /* is being done */
	struct survey_request *survey;
	struct quotas *quotas;
	struct steprun *run;
	ev_timer tick;
};

int64_t upkeep_disk_free(const struct cluster_env *env)
{
	struct healthreport report;

	health_fill_report(env->health, &report);
	return report.o != NULL && report.o->disk_known ? report.o->free_bytes : -1;
}

static bool has_no_space(const struct cluster_env *env)
{
	struct healthreport report;

	health_fill_report(env->health, &report);
	for (size_t i = 0; i < report.n_findings; i++) {
		if (strcmp(report.findings[i]->rule->id, "no-space") == 0)
			return true;
	}
	return false;
}

/* --- doing --- */

static void step_done_cb(const struct step *step, const struct steprun_report *report,
                         void *userdata)
{
	const struct upkeep *u = userdata;
	char text[STEPS_TEXT_MAX];

	step_text(step, text);
	log_notice("upkeep_step", "what=%s step=\"%s\" dur_ms=%lld stall_ms=%lld",
	           upkeepdue_name(u->what), text, (long long) (report->took_us / US_PER_MS),
	           (long long) (MAX(report->stall_us, 0) / US_PER_MS));
}

static void done_cb(const char *why, void *userdata)
{
	struct upkeep *u = userdata;

	u->run = NULL;
	tally_upkeep(u->env->tally, u->what, why != NULL ? TALLY_FAILED : TALLY_DONE);
	if (why != NULL)
		log_error("upkeep_failed", "what=%s reason=\"%s\"", upkeepdue_name(u->what), why);
	else
		log_notice("upkeep_done", "what=%s", upkeepdue_name(u->what));
}

static const struct steprun_callbacks run_callbacks = {.step_done = step_done_cb, .done = done_cb};

static void make_plan(const struct upkeep *u, const struct survey *survey, struct steps *steps)
{
	const struct plan_defrag_options options = {
	    .least_db_bytes = u->watch->defrag.min_bytes,
	    .least_free = u->watch->defrag.min_free,
	    .disk_free_bytes = upkeep_disk_free(u->env),
	};

	if (u->what == UPKEEP_RECOVER)
		plan_recover(survey, options.disk_free_bytes, steps);
	else
		plan_defrag(survey, NULL, &options, steps);
}

static void carry_out(struct upkeep *u, const struct steps *steps)
{
	if (u->what == UPKEEP_RECOVER)
		u->past.recover_s = wall_now_us() / US_PER_S + UPKEEP_AGAIN_S;
	u->run = steprun_start(u->env, steps, &run_callbacks, u);
}

static void quotas_cb(const struct survey *survey, void *userdata)
{
	struct upkeep *u = userdata;
	AUTO(free) struct steps *steps = NEW0(struct steps);

	u->quotas = NULL;
	if (steps_of_one_cluster(survey, steps))
		make_plan(u, survey, steps);
	if (steps->refusal[0] != '\0') {
		tally_upkeep(u->env->tally, u->what, TALLY_REFUSED);
		log_error("upkeep_refused", "what=%s reason=\"%s\"", upkeepdue_name(u->what),
		          steps->refusal);
	} else if (steps->n == 0) {
		tally_upkeep(u->env->tally, u->what, TALLY_NEEDLESS);
		log_info("upkeep_needless", "what=%s", upkeepdue_name(u->what));
	} else {
		carry_out(u, steps);
	}
}

static void surveyed_cb(const struct survey *survey, void *userdata)
{
	struct upkeep *u = userdata;
	const struct survey_member *whose = upkeepdue_whose(u->what, survey);

	u->survey = NULL;
	if (whose != NULL && whose->local)
		u->quotas = quotas_start(u->env, survey, quotas_cb, u);
	else
		log_debug("upkeep_left", "what=%s whose=%s", upkeepdue_name(u->what),
		          whose != NULL ? survey_member_name(whose) : "none");
}

/* --- when --- */

static void tick_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct upkeep *u = CONTAINER_OF(w, struct upkeep, tick);
	int64_t now_s = wall_now_us() / US_PER_S;

	if (u->survey != NULL || u->quotas != NULL || u->run != NULL)
		return;
	u->what = upkeepdue_look(u->watch, &u->past, has_no_space(u->env), now_s);
	switch (u->what) {
	case UPKEEP_NOTHING:
		return;
	case UPKEEP_DEFRAG:
		u->past.defrag_s = now_s;
		break;
	case UPKEEP_RECOVER:
		u->past.recover_s = now_s + UPKEEP_SOON_S;
		break;
	}
	u->survey = survey_start(u->env->etcd, surveyed_cb, u);
}

struct upkeep *upkeep_new(const struct cluster_env *env, const struct config_watch *watch)
{
	struct upkeep *u;

	if (!watch->defrag.enabled && !watch->recover_space)
		return NULL;
	u = NEW0(struct upkeep);
	u->env = env;
	u->watch = watch;
	u->past.defrag_s = wall_now_us() / US_PER_S;
	ev_timer_init(&u->tick, tick_cb, TICK_S, TICK_S);
	ev_timer_start(env->ev, &u->tick);
	return u;
}

void upkeep_free(struct upkeep *u)
{
	if (u == NULL)
		return;
	ev_timer_stop(u->env->ev, &u->tick);
	survey_cancel(u->survey);
	quotas_free(u->quotas);
	steprun_free(u->run);
	free(u);
}
