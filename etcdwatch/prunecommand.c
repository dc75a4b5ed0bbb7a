/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `etcd snapshot prune [JOB] [--dry-run]`: retention, now, in the directory and in every target,
 * with what each snapshot is kept for. One place after the other; a place that fails does not keep
 * the others from it.
 *
 *	each job: ASKING for alarms ──► its directory ──► each of its targets
 */
#include <stdlib.h>
#include <string.h>

#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/cluster/view.h"
#include "etcdwatch/commands_priv.h"
#include "etcdwatch/job/clearing.h"
#include "etcdwatch/target/shed.h"
#include "etcdwatch/target/storing.h"

struct prune {
	struct command command;
	bool dry_run;
	struct job *jobs[CONFIG_JOBS_MAX];
	size_t n_jobs, at; /* the job under way */
	bool holds;        /* it is held */
	bool corrupt;
	size_t target; /* the next one */
	char *failure; /* the first */
	struct view_request *asking;
	struct clearing *clearing;
	struct shed *shed;
};

static struct job *job_of(const struct prune *p)
{
	return p->jobs[p->at];
}

static void free_prune(struct prune *p)
{
	command_end(&p->command);
	view_cancel(p->asking);
	clearing_abandon(p->clearing);
	shed_free(p->shed);
	free(p->failure);
	free(p);
}

static void give_up(struct command *command)
{
	free_prune(CONTAINER_OF(command, struct prune, command));
}

/* --- rows --- */

static void reply_plan(struct prune *p, const char *where, const struct prune_plan *plan)
{
	const char *job = job_config(job_of(p))->name;
	char text[RETAIN_TEXT_MAX];

	for (size_t i = 0; i < plan->n; i++) {
		const struct retain_item *item = &plan->items[i];
		bool goes = item->kept == 0;

		control_reply(p->command.request,
		              json_pack("{s:s, s:s, s:s, s:o, s:b}", "job", job, "where", where, "id",
		                        item->entry->id, "kept_for",
		                        goes ? json_null() : json_string(retain_describe(item->kept, text)),
		                        "goes", (int) goes));
	}
	if (plan->frozen[0] != '\0')
		control_reply(p->command.request, json_pack("{s:s, s:s, s:o}", "job", job, "where", where,
		                                            "frozen", jsonval_text(plan->frozen)));
}

static void note_failure(struct prune *p, const char *where, const char *reason)
{
	if (p->failure == NULL)
		p->failure = xasprintf("%s: %s: %s", job_config(job_of(p))->name, where, reason);
}

/* --- one place after the other --- */

static void next_job(struct prune *p);

static void finish(struct prune *p)
{
	if (p->failure != NULL)
		control_fail(p->command.request, CONTROL_FAILED, "%s", p->failure);
	else
		control_ok(p->command.request);
	free_prune(p);
}

static void next_target(struct prune *p);

static void shed_cb(const struct shed_result *result, void *userdata)
{
	struct prune *p = userdata;
	const struct target *target = storing_target(job_storing(job_of(p)), p->target++);
	const char *where = target_options(target)->target->name;

	p->shed = NULL;
	if (result->there != NULL)
		reply_plan(p, where, result->plan);
	if (result->r < 0)
		note_failure(p, where, result->reason);
	next_target(p);
}

static void end_job(struct prune *p)
{
	if (p->holds) {
		job_release(job_of(p));
		/* What shrank may be gone. */
		job_look_again(job_of(p));
	}
	p->holds = false;
	p->at++;
	next_job(p);
}

static void next_target(struct prune *p)
{
	struct storing *storing = job_storing(job_of(p));
	struct shed_options options;
	struct target *target;

	while (p->target < storing_n(storing)) {
		target = storing_target(storing, p->target);
		options = target_shed_options(target, p->dry_run);
		if (shed_start(&options, shed_cb, p, &p->shed) == 0)
			return;
		note_failure(p, target_options(target)->target->name, "cannot start the worker");
		p->target++;
	}
	end_job(p);
}

static void begin_clearing(struct prune *p, bool only_look, clearing_done_fn done)
{
	const struct clearing_options options = {
	    .accepted = job_accepted_of(job_of(p)),
	    .store = job_store(job_of(p)),
	    .job = job_config(job_of(p)),
	    .corrupt = p->corrupt,
	    .only_look = only_look,
	};

	p->clearing = clearing_start(&options, done, p);
}

static void cleared_cb(const struct clearing_result *result, void *userdata)
{
	struct prune *p = userdata;

	p->clearing = NULL;
	if (result->r < 0)
		note_failure(p, LISTING_LOCAL, result->reason);
	next_target(p);
}

static void looked_cb(const struct clearing_result *result, void *userdata)
{
	struct prune *p = userdata;

	p->clearing = NULL;
	reply_plan(p, LISTING_LOCAL, result->plan);
	if (p->dry_run || result->plan->n_going == 0)
		next_target(p);
	else
		begin_clearing(p, false, cleared_cb);
}

static void view_cb(const struct view *view, void *userdata)
{
	struct prune *p = userdata;

	p->asking = NULL;
	p->corrupt = doubt_stands(job_env(job_of(p))->doubt, view);
	begin_clearing(p, true, looked_cb);
}

static void next_job(struct prune *p)
{
	p->target = 0;
	while (p->at < p->n_jobs) {
		p->holds = !p->dry_run && job_hold(job_of(p));
		if (p->holds || p->dry_run) {
			p->asking = view_start(job_env(job_of(p))->etcd, view_cb, p);
			return;
		}
		note_failure(p, LISTING_LOCAL, "it is busy with its snapshots: try again");
		p->at++;
	}
	finish(p);
}

void prunecommand_fn(struct control_request *request, int argc, char **argv, void *userdata)
{
	const char *name = NULL;
	bool dry_run = false;
	struct prune *p;

	for (int i = 0; i < argc; i++) {
		if (strcmp(argv[i], "--dry-run") == 0) {
			dry_run = true;
		} else if (name == NULL && argv[i][0] != '-') {
			name = argv[i];
		} else {
			control_fail(request, CONTROL_USAGE, "etcd snapshot prune [JOB] [--dry-run]");
			return;
		}
	}
	p = NEW0(struct prune);
	if (!command_begin(userdata, &p->command, request, give_up)) {
		free(p);
		return;
	}
	p->dry_run = dry_run;
	p->n_jobs = commands_jobs(request, commands_daemon(userdata), name, p->jobs);
	if (p->n_jobs > 0)
		next_job(p);
	else
		free_prune(p);
}
