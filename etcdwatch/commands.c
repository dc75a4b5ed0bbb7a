/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers the control socket from what the jobs report. Commands that take time are objects of
 * their own, in files of their own, and known here until they are over.
 */
#include "etcdwatch/commands.h"

#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/mono.h"
#include "etcdwatch/steer/tally.h"
#include "etcdwatch/commands_priv.h"
#include "etcdwatch/drillcommand.h"
#include "etcdwatch/healthcommand.h"
#include "etcdwatch/recordcommand.h"
#include "etcdwatch/report.h"
#include "etcdwatch/signing.h"

struct commands {
	struct daemon *daemon;
	LIST_HEAD(, command) open;
	size_t n_open;
	struct drillcommand *drills;
};

/* --- for the commands --- */

bool command_begin(struct commands *c, struct command *command, struct control_request *request,
                   void (*give_up)(struct command *command))
{
	if (c->n_open == COMMANDS_OPEN_MAX) {
		control_fail(request, CONTROL_BUSY, "too many commands are under way: try again");
		return false;
	}
	*command = (struct command){.commands = c, .request = request, .give_up = give_up};
	LIST_INSERT_HEAD(&c->open, command, entry);
	c->n_open++;
	return true;
}

void command_end(struct command *command)
{
	LIST_REMOVE(command, entry);
	command->commands->n_open--;
}

struct daemon *commands_daemon(struct commands *c)
{
	return c->daemon;
}

struct job *commands_find_job(struct control_request *request, const struct daemon *daemon,
                              const char *name)
{
	for (size_t i = 0; i < daemon_n_jobs(daemon); i++) {
		if (strcmp(job_config(daemon_job(daemon, i))->name, name) == 0)
			return daemon_job(daemon, i);
	}
	control_fail(request, CONTROL_NOTFOUND, "no job '%s': 'fairlead etcd snapshot jobs' lists them",
	             name);
	return NULL;
}

struct job *commands_one_job(struct control_request *request, const struct daemon *daemon,
                             const char *name)
{
	if (name != NULL)
		return commands_find_job(request, daemon, name);
	if (daemon_n_jobs(daemon) == 1)
		return daemon_job(daemon, 0);
	control_fail(
	    request, CONTROL_USAGE,
	    "there are %zu jobs: name the one that is meant; 'fairlead etcd snapshot jobs' lists them",
	    daemon_n_jobs(daemon));
	return NULL;
}

size_t commands_jobs(struct control_request *request, const struct daemon *daemon, const char *name,
                     struct job *ret_jobs[static CONFIG_JOBS_MAX])
{
	size_t n = 0;

	if (name != NULL) {
		ret_jobs[0] = commands_find_job(request, daemon, name);
		return ret_jobs[0] != NULL ? 1 : 0;
	}
	while (n < daemon_n_jobs(daemon)) {
		ret_jobs[n] = daemon_job(daemon, n);
		n++;
	}
	if (n == 0)
		control_fail(request, CONTROL_NOTFOUND, "there is no job in the configuration");
	return n;
}

/* --- those that are answered at once --- */

static void jobs_fn(struct control_request *request, int argc UNUSED, char **argv UNUSED,
                    void *userdata)
{
	const struct commands *c = userdata;

	for (size_t i = 0; i < daemon_n_jobs(c->daemon); i++) {
		struct job_report report;
		json_t *json;

		job_fill_report(daemon_job(c->daemon, i), &report);
		json = report_job_json(&report, wall_now_us() / US_PER_S);
		(void) json_object_set_new(json, "drill", drillcommand_status(daemon_drill(c->daemon, i)));
		control_reply(request, json);
	}
	control_ok(request);
}

void daemon_metrics(struct metrics *m, void *userdata)
{
	const struct daemon *daemon = userdata;
	size_t n = daemon_n_jobs(daemon);
	AUTO(free) struct job_report *reports = xcalloc(n + 1, sizeof(reports[0]));

	for (size_t i = 0; i < n; i++)
		job_fill_report(daemon_job(daemon, i), &reports[i]);
	report_metrics(m, reports, n);
	drillcommand_metrics(m, daemon);
	healthcommand_metrics(m, daemon);
	tally_metrics(m, daemon_cluster(daemon)->tally);
	recordcommand_metrics(m, daemon);
}

static void health_fn(struct control_request *request, int argc, char **argv UNUSED, void *userdata)
{
	const struct commands *c = userdata;

	healthcommand_run(request, argc, c->daemon);
}

static void record_fn(struct control_request *request, int argc, char **argv UNUSED, void *userdata)
{
	const struct commands *c = userdata;

	recordcommand_run(request, argc, c->daemon);
}

static void key_fn(struct control_request *request, int argc, char **argv UNUSED, void *userdata)
{
	const struct commands *c = userdata;

	signing_command(request, argc, c->daemon);
}

static void drill_fn(struct control_request *request, int argc, char **argv, void *userdata)
{
	const struct commands *c = userdata;

	drillcommand_run(c->drills, request, argc, argv);
}

/* --- all of them --- */

static const struct control_command table[] = {
    {"etcd members", false, memberscommand_fn, "", "The members, as each of them knows them."},
    {"etcd status", false, statuscommand_fn, "", "What each member says of itself."},
    {"etcd alarms", false, alarmscommand_fn, "", "The alarms that stand."},
    {"etcd forfeit-leadership", true, forfeitcommand_fn, "[--dry-run] [--progress]",
     "This node's member hands the leadership to another."},
    {"etcd leave", true, leavecommand_fn, "[--dry-run] [--progress]",
     "This node's member leaves the cluster."},
    {"etcd remove-member", true, removecommand_fn, "MEMBER [--dry-run] [--progress]",
     "Remove a member from the cluster."},
    {"etcd alarm disarm", true, disarmcommand_fn,
     "[--corrupt-too] [--unchecked] [--dry-run] [--progress]",
     "Take back alarms whose reason is gone."},
    {"etcd defrag", true, defragcommand_fn, "--all | MEMBER [--dry-run] [--progress]",
     "Write databases anew, without their free pages."},
    {"etcd recover-space", true, recovercommand_fn, "[--dry-run] [--progress]",
     "From the alarm NOSPACE back: compact, defragment, disarm."},
    {"etcd snapshot jobs", false, jobs_fn, "", "The jobs that take snapshots, and how they are."},
    {"etcd health", false, health_fn, "", "What is wrong with the cluster, and what to do."},
    {"etcd notify status", false, notifystatuscommand_fn, "",
     "How telling the webhook of findings goes."},
    {"etcd notify test", true, notifytestcommand_fn, "",
     "Send it a message now; answered when it has."},
    {"etcd record status", false, record_fn, "",
     "How far the record of this node reaches, and what it has lost."},
    {"etcd snapshot list", false, listcommand_fn, "[JOB] [--local | --others]",
     "The snapshots of this node and in the targets, oldest first."},
    {"etcd snapshot save", true, savecommand_fn, "[JOB] [--plain] [--progress]",
     "Take one now; answered when it is proven."},
    {"etcd snapshot delete", true, deletecommand_fn, "ID [--local | --target NAME] [--force]",
     "Delete one, everywhere or in one place."},
    {"etcd snapshot prune", true, prunecommand_fn, "[JOB] [--dry-run]",
     "Remove what need not be kept, here and in the targets."},
    {"etcd snapshot key", false, key_fn, "", "The public key by which this node signs snapshots."},
    {"etcd snapshot take-over", true, takeovercommand_fn, "TARGET [JOB]",
     "The prefix of a target is this cluster's from now on, whose ever it was."},
    {"etcd snapshot accept", true, acceptcommand_fn, "[JOB]",
     "The data may be as small as it has become: retention goes on."},
    {"etcd drill", true, drill_fn, "[JOB] [--progress]",
     "Rehearse coming back with the newest snapshot, now; answered when it is over."},
};

int commands_new(struct service *service, const struct endpoint *metrics_at, struct daemon *daemon,
                 struct commands **ret_commands)
{
	AUTO(commands_free) struct commands *c = NEW0(struct commands);
	int r;

	c->daemon = daemon;
	LIST_INIT(&c->open);
	c->drills = drillcommand_new(daemon);
	r = service_serve(service, table, ARRAY_SIZE(table), c);
	if (r < 0)
		return r;
	metricsport_set(service->metrics_port, metrics_at);
	*ret_commands = TAKE_PTR(c);
	return 0;
}

void commands_free(struct commands *c)
{
	if (c == NULL)
		return;
	while (!LIST_EMPTY(&c->open)) {
		struct command *command = LIST_FIRST(&c->open);

		command->give_up(command);
	}
	drillcommand_free(c->drills);
	free(c);
}
