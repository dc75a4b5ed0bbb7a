/* SPDX-License-Identifier: Apache-2.0 */
/* One request a job at most: a second one is told that it is busy. */
#include "etcdwatch/drillcommand.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/daemon.h"
#include "etcdwatch/drill/drill.h"
#include "etcdwatch/telling.h"

struct waiting {
	struct control_request *request; /* NULL: nobody waits */
	struct drill *drill;
	struct telling telling;
};

struct drillcommand {
	struct daemon *daemon;
	struct waiting waiting[CONFIG_JOBS_MAX]; /* by the job's number */
};

struct drillcommand *drillcommand_new(struct daemon *daemon)
{
	struct drillcommand *c = NEW0(struct drillcommand);

	c->daemon = daemon;
	return c;
}

void drillcommand_free(struct drillcommand *c)
{
	if (c == NULL)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(c->waiting); i++) {
		telling_stop(&c->waiting[i].telling);
		if (c->waiting[i].request != NULL)
			drill_forget_asker(c->waiting[i].drill);
	}
	free(c);
}

/* --- the command --- */

/* Of the one that is named, or the only one that has drills; -1, and the request is over. */
static int find(const struct daemon *daemon, struct control_request *request, const char *name)
{
	size_t n = 0;
	int found = -1;

	for (size_t i = 0; i < daemon_n_jobs(daemon); i++) {
		bool is_named = name != NULL && strcmp(job_config(daemon_job(daemon, i))->name, name) == 0;

		if (is_named && daemon_drill(daemon, i) == NULL) {
			control_fail(request, CONTROL_FAILED,
			             "job '%s' has no section 'drill' in its configuration", name);
			return -1;
		}
		if (daemon_drill(daemon, i) == NULL || (name != NULL && !is_named))
			continue;
		found = (int) i;
		n++;
	}
	if (n == 1)
		return found;
	if (name != NULL)
		control_fail(request, CONTROL_NOTFOUND,
		             "no job '%s': 'fairlead etcd snapshot jobs' lists them", name);
	else if (n == 0)
		control_fail(request, CONTROL_NOTFOUND,
		             "no job has a section 'drill' in its configuration");
	else
		control_fail(request, CONTROL_USAGE, "%zu jobs have drills: name the one that is meant", n);
	return -1;
}

static void phase_cb(const char *phase, void *userdata)
{
	const struct waiting *w = userdata;

	control_reply(w->request, json_pack("{s:s}", "phase", phase));
}

static json_t *tell(void *userdata)
{
	const struct waiting *w = userdata;
	struct drillinfo info;
	json_t *json;

	drill_fill_info(w->drill, &info);
	if (info.phase[0] == '\0')
		return NULL;
	json = json_pack("{s:s}", "progress", info.phase);
	doing_put(&info.doing, json);
	return json;
}

static void done_cb(bool ok, const char *reason, const json_t *result, void *userdata)
{
	struct waiting *w = userdata;
	struct control_request *request = TAKE_PTR(w->request);

	telling_stop(&w->telling);
	if (json_object_get(result, "checks") != NULL)
		control_reply(request, json_deep_copy(result));
	if (ok)
		control_ok(request);
	else
		control_fail(request, CONTROL_FAILED, "%s", reason);
}

void drillcommand_run(struct drillcommand *c, struct control_request *request, int argc,
                      char **argv)
{
	bool wants_progress = argc > 0 && strcmp(argv[argc - 1], TELLING_WORD) == 0;
	struct waiting *w;
	int i, r;

	argc -= wants_progress ? 1 : 0;
	if (argc > 1) {
		control_fail(request, CONTROL_USAGE, "etcd drill [JOB] [--progress]");
		return;
	}
	i = find(c->daemon, request, argc == 1 ? argv[0] : NULL);
	if (i < 0)
		return;
	w = &c->waiting[i];
	r = drill_ask(daemon_drill(c->daemon, (size_t) i),
	              &(struct drill_asker){.phase = phase_cb, .done = done_cb, .userdata = w});
	if (r == 0)
		*w = (struct waiting){.request = request, .drill = daemon_drill(c->daemon, (size_t) i)};
	else if (r == -ENOENT)
		control_fail(request, CONTROL_NOTFOUND, "there is no good snapshot to drill");
	else
		control_fail(request, CONTROL_BUSY, "a drill of that job is under way already");
	if (r == 0 && wants_progress)
		telling_start(&w->telling, daemon_cluster(c->daemon)->ev, request, tell, w);
}

/* --- status and metrics --- */

json_t *drillcommand_status(const struct drill *drill)
{
	struct drillinfo info;

	if (drill == NULL)
		return json_null();
	drill_fill_info(drill, &info);
	return drillinfo_json(&info, wall_now_us() / US_PER_S);
}

void drillcommand_metrics(struct metrics *m, const struct daemon *daemon)
{
	struct drillinfo infos[CONFIG_JOBS_MAX];
	size_t n = 0;

	for (size_t i = 0; i < daemon_n_jobs(daemon); i++) {
		if (daemon_drill(daemon, i) != NULL)
			drill_fill_info(daemon_drill(daemon, i), &infos[n++]);
	}
	drillinfo_metrics(m, infos, n);
}
