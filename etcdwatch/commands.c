/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers the control socket from what the jobs report. One command takes time: `etcd snapshot
 * save` is answered when the snapshot is proven and kept, or is not.
 */
#include "etcdwatch/commands.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/control.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/mono.h"
#include "etcdwatch/daemon.h"
#include "etcdwatch/drillcommand.h"
#include "etcdwatch/report.h"
#include "etcdwatch/store.h"

#define CONTROL_GROUP "fairlead"

struct save {
	struct control_request *request;
	struct job *job;
	LIST_ENTRY(save) entry;
};

struct commands {
	struct daemon *daemon;
	struct control *control;
	LIST_HEAD(, save) saves;
	struct drillcommand *drills;
};

/* NULL, and the request is over: there is no such job. */
static struct job *find_job(struct control_request *request, const struct daemon *daemon,
                            const char *name)
{
	for (size_t i = 0; i < daemon_n_jobs(daemon); i++) {
		if (strcmp(job_config(daemon_job(daemon, i))->name, name) == 0)
			return daemon_job(daemon, i);
	}
	control_fail(request, CONTROL_NOTFOUND, "no job '%s': 'fairlead etcd status' lists them", name);
	return NULL;
}

static void status_fn(struct control_request *request, int argc, char **argv UNUSED, void *userdata)
{
	const struct commands *c = userdata;

	if (argc != 0) {
		control_fail(request, CONTROL_USAGE, "etcd status");
		return;
	}
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

static void list_job(struct control_request *request, const struct job *job)
{
	const struct store *store = job_store(job);

	for (size_t i = 0; i < store_n(store); i++)
		control_reply(request, report_snapshot_json(store_get(store, i)));
}

static void list_fn(struct control_request *request, int argc, char **argv, void *userdata)
{
	const struct commands *c = userdata;
	const struct job *one = NULL;

	if (argc > 1) {
		control_fail(request, CONTROL_USAGE, "etcd snapshot list [JOB]");
		return;
	}
	if (argc == 1) {
		one = find_job(request, c->daemon, argv[0]);
		if (one == NULL)
			return;
	}
	for (size_t i = 0; i < daemon_n_jobs(c->daemon); i++) {
		if (one == NULL || daemon_job(c->daemon, i) == one)
			list_job(request, daemon_job(c->daemon, i));
	}
	control_ok(request);
}

/* --- saving -------------------------------------------------------------------------------------
 */

static void reply_snapshot(struct control_request *request, const struct store *store,
                           const char *id)
{
	for (size_t i = 0; i < store_n(store); i++) {
		if (strcmp(store_get(store, i)->id, id) == 0)
			control_reply(request, report_snapshot_json(store_get(store, i)));
	}
}

static void saved_cb(const char *id, const char *reason, void *userdata)
{
	struct save *s = userdata;

	if (id != NULL) {
		reply_snapshot(s->request, job_store(s->job), id);
		control_ok(s->request);
	} else {
		control_fail(s->request, CONTROL_FAILED, "%s", reason);
	}
	LIST_REMOVE(s, entry);
	free(s);
}

static void save_fn(struct control_request *request, int argc, char **argv, void *userdata)
{
	struct commands *c = userdata;
	struct job *job;
	struct save *s;

	if (argc > 1) {
		control_fail(request, CONTROL_USAGE, "etcd snapshot save [JOB]");
		return;
	}
	if (argc == 0 && daemon_n_jobs(c->daemon) != 1) {
		control_fail(request, CONTROL_USAGE,
		             "there are %zu jobs: name the one whose directory and packing are meant",
		             daemon_n_jobs(c->daemon));
		return;
	}
	job = argc == 0 ? daemon_job(c->daemon, 0) : find_job(request, c->daemon, argv[0]);
	if (job == NULL)
		return;
	s = NEW0(struct save);
	s->request = request;
	s->job = job;
	if (job_save(job, saved_cb, s) < 0) {
		control_fail(request, CONTROL_BUSY, "job '%s' is at one already", job_config(job)->name);
		free(s);
		return;
	}
	LIST_INSERT_HEAD(&c->saves, s, entry);
}

static void metrics_fn(struct control_request *request, int argc UNUSED, char **argv UNUSED,
                       void *userdata)
{
	const struct commands *c = userdata;
	size_t n = daemon_n_jobs(c->daemon);
	AUTO(free) struct job_report *reports = xcalloc(n + 1, sizeof(reports[0]));
	AUTO(metrics_free) struct metrics *m = metrics_new();

	for (size_t i = 0; i < n; i++)
		job_fill_report(daemon_job(c->daemon, i), &reports[i]);
	report_metrics(m, reports, n);
	drillcommand_metrics(m, c->daemon);
	control_reply(request, json_pack("{s:s}", "metrics", metrics_text(m, NULL)));
	control_ok(request);
}

static void drill_fn(struct control_request *request, int argc, char **argv, void *userdata)
{
	const struct commands *c = userdata;

	drillcommand_run(c->drills, request, argc, argv);
}

static const struct control_command table[] = {
    {"etcd status", false, status_fn, "", "The jobs that take snapshots, and how they are."},
    {"etcd snapshot list", false, list_fn, "[JOB]", "The snapshots of this node, oldest first."},
    {"etcd snapshot save", true, save_fn, "[JOB]", "Take one now; answered when it is proven."},
    {"etcd drill", true, drill_fn, "[JOB]",
     "Rehearse coming back with the newest snapshot, now; answered when it is over."},
    {"metrics", false, metrics_fn, "", "Metrics in the Prometheus text format."},
};

int commands_new(struct ev_loop *ev, const char *runtime_dir, struct daemon *daemon,
                 struct commands **ret_commands)
{
	AUTO(commands_free) struct commands *c = NEW0(struct commands);
	AUTO(free) char *path = xasprintf("%s/etcdwatch.sock", runtime_dir);
	int r;

	c->daemon = daemon;
	LIST_INIT(&c->saves);
	c->drills = drillcommand_new(daemon);
	r = control_new(ev, path, CONTROL_GROUP, table, ARRAY_SIZE(table), c, &c->control);
	if (r < 0)
		return r;
	*ret_commands = TAKE_PTR(c);
	return 0;
}

void commands_free(struct commands *c)
{
	if (c == NULL)
		return;
	while (!LIST_EMPTY(&c->saves)) {
		struct save *s = LIST_FIRST(&c->saves);

		job_forget_save(s->job);
		LIST_REMOVE(s, entry);
		free(s);
	}
	drillcommand_free(c->drills);
	control_free(c->control);
	free(c);
}
