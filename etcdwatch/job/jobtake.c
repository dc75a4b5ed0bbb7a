/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One snapshot of a period, from the claim to the record: CLAIMING, RUNNING, RECORDING of job.c.
 * The last part comes first here, as each one ends in the next.
 */
#include "etcdwatch/job/job_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/jsonval.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/take/place.h"

/* Another node is at it: so often is looked whether it still is. */
#define OTHERS_US (5 * US_PER_S)
/* So often is looked whether the disk still does something. */
#define WATCH_US US_PER_S
/* A sync takes as long as what is to be synced is large; slower disks (20 MB/s) hang. */
#define SYNC_BYTES_PER_US 20

/* --- recording --- */

static void removed_cb(int r, const char *reason, void *userdata)
{
	struct job *j = userdata;

	if (r < 0)
		log_warning("snapshot_not_removed", "job=%s id=%s reason=\"%s\"", j->config->name,
		            j->unrecorded_id, reason);
	j->unrecorded_id[0] = '\0';
	job_prune(j);
}

static void alarms_cb(const struct view *view, void *userdata)
{
	struct job *j = userdata;
	const char *id = j->unrecorded_id;

	j->asking = NULL;
	j->view = *view;
	/* The one that is recorded may be of the corrupt member. */
	if (job_may_be_corrupt(j)) {
		log_notice("snapshot_fenced",
		           "job=%s id=%s reason=\"%s; it stays, as a member may be corrupt\"",
		           j->config->name, id, j->fenced_by);
		j->unrecorded_id[0] = '\0';
		job_prune(j);
		return;
	}
	log_notice("snapshot_fenced", "job=%s id=%s reason=\"%s; it is removed\"", j->config->name, id,
	           j->fenced_by);
	store_remove(j->store, &id, 1, removed_cb, j);
}

/* RECORDING. Another node has taken over and is recorded: one a period is enough. What somebody
 * asked for, or what an earlier process has left, is not ours to remove. */
static void remove_double(struct job *j, const char *reason)
{
	if (j->unrecorded_id[0] == '\0') {
		job_prune(j);
		return;
	}
	(void) snprintf(j->fenced_by, sizeof(j->fenced_by), "%s", reason);
	j->asking = view_start(j->env->etcd, alarms_cb, j);
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
		job_prune(j);
		return;
	case CLAIM_UNRECORDED:
		warn_unrecorded(j, j->kept_id, text);
		job_prune(j);
		return;
	case CLAIM_FENCED:
		remove_double(j, text);
		return;
	}
}

/* Other nodes read it: which period has a snapshot, and what this node has (others.h). */
static json_t *describe_done(const struct job *j, const char *id)
{
	const struct catalog_entry *e = store_find(j->store, id);
	json_t *done = json_pack("{s:s, s:s, s:I}", "node", j->env->node_name, "id", id, "finished",
	                         (json_int_t) job_wall_now_s());

	if (e != NULL) {
		(void) json_object_set_new(done, "revision", json_integer(e->revision));
		(void) json_object_set_new(done, "agreed", jsonval_text(e->hashkv_verified));
	}
	return done;
}

static void record(struct job *j, const char *id)
{
	job_change_state(j, JOB_RECORDING, "kept");
	(void) snprintf(j->kept_id, sizeof(j->kept_id), "%s", id);
	claim_record(j->claim, describe_done(j, id));
}

/* --- running --- */

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
	job_tell_saved(j, &(struct job_saved){.id = result->id, .reason = ""});
	if (was_manual) {
		job_prune(j);
	} else if (j->config->taker == CONFIG_TAKER_EVERY_NODE) {
		due_done(&j->due);
		job_prune(j);
	} else if (j->is_unclaimed) {
		done_unclaimed(j);
		job_prune(j);
	} else {
		(void) snprintf(j->unrecorded_id, sizeof(j->unrecorded_id), "%s", result->id);
		if (j->claim != NULL) {
			record(j, result->id);
			return;
		}
		warn_unrecorded(j, result->id, "the claim was lost while it was being kept");
		job_prune(j);
	}
}

static void run_step_cb(enum run_step step, int plain_fd, const struct catalog_entry *entry,
                        void *userdata)
{
	struct job *j = userdata;

	if (j->step != NULL)
		j->step(step, plain_fd, entry, j->saved_userdata);
}

static void run_done_cb(const struct run_result *result, void *userdata)
{
	struct job *j = userdata;
	char reason[NOTES_TEXT_MAX];

	j->run = NULL;
	/* This snapshot may be of the one that is corrupt, or those from before. */
	doubt_note_proof(j->env->doubt, result->agreed[0] != '\0', result->disagreed[0] != '\0');
	switch (result->end) {
	case RUN_KEPT:
		kept(j, result);
		return;
	case RUN_REJECTED:
		j->notes.counts.rejected++;
		log_error("snapshot_rejected", "job=%s id=%s reason=\"%s\"", j->config->name, result->id,
		          result->reason);
		(void) snprintf(reason, sizeof(reason), "rejected: %s", result->reason);
		job_fail(j, reason);
		return;
	case RUN_FAILED:
		if (result->r != -ENOSPC || !job_make_room(j, result->reason))
			job_fail(j, result->reason);
		return;
	}
}

/* Nothing wakes a disk that hangs, and the run ends only with it: meanwhile the period is another
 * node's, and the stream, which makes the member's database grow, is closed. */
void job_watch(struct job *j)
{
	uint64_t bytes, total_bytes;
	int64_t busy_us = disk_busy_us(j->disk), limit_us = j->config->no_progress_us;
	char reason[NOTES_TEXT_MAX];

	run_progress(j->run, &bytes, &total_bytes);
	limit_us += (int64_t) (total_bytes / SYNC_BYTES_PER_US);
	if (busy_us < limit_us) {
		job_wait_for(j, WATCH_US);
		return;
	}
	(void) snprintf(reason, sizeof(reason), "the disk of '%s' has not moved for %lld s",
	                j->config->directory, (long long) (busy_us / US_PER_S));
	log_error("disk_hangs", "job=%s period=%lld state=%s reason=\"%s; given up\"", j->config->name,
	          (long long) j->due.period_s, run_state_name(j->run), reason);
	notes_error(&j->notes, reason);
	claim_free(TAKE_PTR(j->claim));
	run_cancel(j->run);
}

static char *why_no_source(const struct view *view)
{
	for (size_t i = 0; i < view->n_members; i++) {
		if (view->members[i].answers && view->members[i].learner)
			return xstrdup("of etcd only a learner answers, and what it has may be old");
	}
	return view->denied[0] != '\0'
	           ? xasprintf("etcd %s", view->denied)
	           : xstrdup("no member of etcd that a snapshot could be taken from answers");
}

void job_run(struct job *j)
{
	const struct view_member *source;
	struct place place;

	place_find(&j->view, j->config->name, j->due.period_s, &place);
	source = place.source;
	if (source == NULL) {
		AUTO(free) char *why = why_no_source(&j->view);

		job_fail(j, why);
		return;
	}
	job_change_state(j, JOB_RUNNING, source->endpoint);
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
	        .step = j->is_manual && j->step != NULL ? run_step_cb : NULL,
	        .period_s = j->claim != NULL || j->is_unclaimed ? j->due.period_s : 0,
	        .view = &j->view,
	        .source = source->id,
	    },
	    run_done_cb, j);
	job_wait_for(j, WATCH_US);
}

/* --- claiming --- */

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
		job_change_state(j, JOB_RECORDING, "done by another");
		remove_double(j, "another one is recorded");
		return;
	}
	j->unrecorded_id[0] = '\0';
	job_rest(j, "done");
}

/* An alarm stands, and nobody can claim anything. With NOSPACE somebody will soon compact and
 * defragment that database, so better that each node has one than none; with CORRUPT members hold
 * different data, so one of each is what is wanted, and nothing goes for it. */
static void take_unclaimed(struct job *j, const char *reason)
{
	claim_free(TAKE_PTR(j->claim));
	if (find_unrecorded(j) != NULL) {
		done_unclaimed(j);
		job_rest(j, "taken already");
		return;
	}
	log_warning("period_not_claimed",
	            "job=%s period=%lld reason=\"%s: each node takes one of its own\"", j->config->name,
	            (long long) j->due.period_s, reason);
	j->is_unclaimed = true;
	job_run(j);
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
			job_run(j);
		return;
	case CLAIM_OTHERS:
		claim_free(TAKE_PTR(j->claim));
		job_change_state(j, JOB_WAITING, text);
		job_wait_for(j, OTHERS_US);
		return;
	case CLAIM_DONE:
		period_done(j, text);
		return;
	case CLAIM_NO_SPACE:
	case CLAIM_CORRUPT:
		take_unclaimed(j, text);
		return;
	case CLAIM_FAILED: {
		AUTO(free) char *reason = xasprintf("cannot agree through etcd who takes it: %s", text);

		job_fail(j, reason);
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

static void read_cb(const struct etcd_range_result *done, void *userdata)
{
	struct job *j = userdata;

	j->others = others_of_done(j->env->node_name, done, job_wall_now_s());
}

void job_claim(struct job *j)
{
	static const struct claim_callbacks callbacks = {
	    .answered = answered_cb,
	    .lost = lost_cb,
	    .ended = record_ended_cb,
	    .read = read_cb,
	};

	job_change_state(j, JOB_CLAIMING, "due");
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
