/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PRUNING of job.c: what goes from the directory, what keeps it from going, and what an operator
 * would have to say for it to go.
 */
#include "etcdwatch/job/job_priv.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

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
	(void) snprintf(j->shrunk, sizeof(j->shrunk), "%s", plan->shrunk);
	if ((plan->n_waiting > 0) != (j->n_waiting > 0))
		log_notice("snapshots_wait", "job=%s waiting=%zu limit=%d", j->config->name,
		           plan->n_waiting, PRUNE_WAITING_MAX);
	j->n_waiting = plan->n_waiting;
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
		j->notes.counts.unsent += result->plan->n_unsent;
	}
	job_rest(j, "pruned");
}

static void clear(struct job *j, bool only_look, clearing_done_fn done)
{
	const struct clearing_options options = {
	    .accepted = job_accepted_of(j),
	    .store = j->store,
	    .job = j->config,
	    /* Who only looks has not asked for alarms yet. */
	    .corrupt = !only_look && job_may_be_corrupt(j),
	    .only_look = only_look,
	    .one_more = j->needs_room,
	};

	j->needs_room = false;

	clearing_abandon(j->clearing);
	j->clearing = clearing_start(&options, done, j);
}

static void alarms_cb(const struct view *view, void *userdata)
{
	struct job *j = userdata;

	j->asking = NULL;
	j->view = *view;
	clear(j, false, cleared_cb);
}

/* Taking may have lasted for long: an alarm that was raised meanwhile counts. */
void job_prune(struct job *j)
{
	job_change_state(j, JOB_PRUNING, "kept");
	claim_free(TAKE_PTR(j->claim));
	storing_visit(j->storing);
	j->asking = view_start(j->env->etcd, alarms_cb, j);
}

bool job_make_room(struct job *j, const char *reason)
{
	if (j->n_waiting == 0)
		return false;
	notes_error(&j->notes, reason);
	j->notes.counts.failures++;
	log_warning("room_is_made", "job=%s period=%lld waiting=%zu reason=\"%s\"", j->config->name,
	            (long long) j->due.period_s, j->n_waiting, reason);
	job_tell_saved(j, &(struct job_saved){.reason = reason});
	j->is_unclaimed = false;
	j->needs_room = true;
	job_prune(j);
	return true;
}

bool job_may_be_corrupt(const struct job *j)
{
	return doubt_stands(j->env->doubt, &j->view);
}

static void looked_cb(const struct clearing_result *result, void *userdata)
{
	struct job *j = userdata;

	j->clearing = NULL;
	take_plan(j, result->plan);
}

void job_look_at_frozen(struct job *j)
{
	clear(j, true, looked_cb);
}

bool job_may_shed(void *userdata)
{
	const struct job *j = userdata;

	return j->config->taker == CONFIG_TAKER_EVERY_NODE ||
	       (due_is_done(&j->due) && strcmp(j->done_by, j->env->node_name) == 0);
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
		job_look_at_frozen(j);
	storing_look_again(j->storing);
}
