/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns everything that lives as long as the process, in the order in which it is made;
 * daemon_free() undoes it backwards. A reload ends it like a stop, and the program is then executed
 * anew: a snapshot that is half taken is given up in both, and taken again by whoever is there.
 */
#include "etcdwatch/daemon.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcd/connect.h"
#include "etcdwatch/steer/tally.h"
#include "etcdwatch/steer/upkeep.h"
#include "etcdwatch/commands.h"
#include "etcdwatch/owner.h"
#include "etcdwatch/recording.h"
#include "etcdwatch/signing.h"
#include "etcdwatch/target/storing.h"

/* Whatever has not ended by then ends with the process; the next start clears it away. */
#define STOP_LIMIT_US (8 * US_PER_S)
/* For claims to be given back, which nobody waits for. */
#define GOODBYE_US (200 * US_PER_MS)
#define INSTANCE_TEXT_MAX 24

enum daemon_phase {
	DAEMON_RUNNING,
	DAEMON_STOPPING,
};

struct daemon {
	struct service *service;
	struct loop *loop; /* the service's */
	struct config *config;
	enum daemon_phase phase;
	bool wants_exec;
	char instance[INSTANCE_TEXT_MAX];
	struct signature_key *key; /* NULL: nothing is signed */
	const char *own_key;       /* its public half, or NULL */
	struct trust trust;
	struct etcd *etcd;
	struct owner *owner;
	struct doubt doubt;
	struct job_env env;
	struct cluster_env cluster;
	struct tally tally;
	struct job *jobs[CONFIG_JOBS_MAX];
	struct drill *drills[CONFIG_JOBS_MAX]; /* of the same job; NULL: it has none */
	size_t n_jobs;
	size_t n_stopping;
	struct notify *notify; /* NULL: nobody is told */
	struct health *health;
	struct upkeep *upkeep;
	struct recorder *recorder; /* NULL: nothing is recorded */
	struct recordstore *recordstores[CONFIG_RECORD_TARGETS_MAX];
	size_t n_recordstores;
	struct commands *commands;
	ev_timer end;
};

/* --- ending --- */

static void end_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct daemon *d = CONTAINER_OF(w, struct daemon, end);

	if (d->n_stopping > 0)
		log_warning("stop_incomplete", "jobs=%zu reason=\"the disk or etcd does not answer\"",
		            d->n_stopping);
	loop_stop(d->loop, EXIT_SUCCESS);
}

static void end_after(struct daemon *d, int64_t us)
{
	loop_timer_in(loop_ev(d->loop), &d->end, us);
}

static void stopped_cb(void *userdata)
{
	struct daemon *d = userdata;

	if (--d->n_stopping == 0)
		end_after(d, GOODBYE_US);
}

static void end_all(struct daemon *d)
{
	if (d->phase == DAEMON_STOPPING)
		return;
	d->phase = DAEMON_STOPPING;
	for (size_t i = 0; i < d->n_jobs; i++) {
		/* Before, because it may be over while it is being told. */
		d->n_stopping++;
		if (job_stop(d->jobs[i], stopped_cb, d))
			d->n_stopping--;
		if (d->drills[i] == NULL)
			continue;
		d->n_stopping++;
		if (drill_stop(d->drills[i], stopped_cb, d))
			d->n_stopping--;
	}
	end_after(d, d->n_stopping > 0 ? STOP_LIMIT_US : GOODBYE_US);
}

void daemon_stop(struct daemon *d)
{
	d->wants_exec = false;
	loop_notify(d->loop, "STOPPING=1");
	end_all(d);
}

/* Not with STOPPING=1, after which systemd waits for the end of the process, and then makes one. */
void daemon_reload(struct daemon *d)
{
	AUTO(config_free) struct config *next = NULL;

	if (service_load_next(d->service, &next) < 0)
		return;
	log_info("reload", "jobs=%zu", next->n_jobs);
	if (d->phase != DAEMON_RUNNING)
		return;
	d->wants_exec = true;
	loop_notify_reloading(d->loop);
	end_all(d);
}

bool daemon_wants_exec(const struct daemon *d)
{
	return d->wants_exec;
}

/* --- starting --- */

/* Another one for each process: what a crashed one has claimed is not ours. */
static void new_instance(struct daemon *d)
{
	uint64_t number = 0;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		number = (uint64_t) wall_now_us();
	(void) snprintf(d->instance, sizeof(d->instance), "%016llx", (unsigned long long) number);
}

static bool takes_snapshot(const struct daemon *d)
{
	for (size_t i = 0; i < d->n_jobs; i++) {
		struct job_report report;

		job_fill_report(d->jobs[i], &report);
		if (report.of_bytes > 0)
			return true;
	}
	return false;
}

static void fill_cluster_env(struct daemon *d)
{
	d->cluster = (struct cluster_env){
	    .ev = loop_ev(d->loop),
	    .etcd = d->etcd,
	    .conf = &d->config->etcd,
	    .node_name = d->config->node_name,
	    .instance = d->instance,
	    .takes_snapshot = takes_snapshot,
	    .daemon = d,
	    .health = d->health,
	    .tally = &d->tally,
	};
}

/* The jobs are there before the watchdog is. */
static bool data_differ(const void *daemon)
{
	const struct daemon *d = daemon;

	return d->health != NULL && health_data_differ(d->health);
}

static bool alarm_may_stand(const void *daemon)
{
	const struct daemon *d = daemon;

	return d->health != NULL && health_may_be_corrupt(d->health);
}

/* What waits for that goes to the targets. */
static void owner_known_cb(void *userdata)
{
	struct daemon *d = userdata;

	for (size_t i = 0; i < d->n_jobs; i++)
		storing_visit(job_storing(d->jobs[i]));
}

/* Without a target no store asks for it. The targets are told before the jobs are made, which
 * borrow them. */
static void find_owner(struct daemon *d)
{
	AUTO(free) char *path = signing_state_path("owner");
	const struct owner_options options = {
	    .ev = loop_ev(d->loop),
	    .etcd = d->etcd,
	    .prefix = d->config->etcd.prefix,
	    .node = d->config->node_name,
	    .path = path,
	    .known = owner_known_cb,
	    .userdata = d,
	};

	for (size_t i = 0; i < d->config->n_jobs; i++) {
		struct config_job *job = &d->config->jobs[i];

		if (job->n_targets > 0 && d->owner == NULL)
			d->owner = owner_new(&options);
		for (size_t k = 0; k < job->n_targets; k++)
			job->targets[k].owner = owner_get(d->owner);
		for (size_t k = 0; k < job->n_targets; k++)
			job->targets[k].trust = &d->trust;
	}
}

static int make_jobs(struct daemon *d, const char *worker)
{
	d->doubt = (struct doubt){
	    .data_differ = data_differ, .alarm_may_stand = alarm_may_stand, .userdata = d};
	d->env = (struct job_env){
	    .ev = loop_ev(d->loop),
	    .etcd = d->etcd,
	    .node_name = d->config->node_name,
	    .instance = d->instance,
	    .prefix = d->config->etcd.prefix,
	    .worker = worker,
	    .doubt = &d->doubt,
	    .key = d->key,
	};
	for (size_t i = 0; i < d->config->n_jobs; i++) {
		int r;

		r = job_new(&d->env, &d->config->jobs[i], &d->jobs[i]);
		if (r < 0)
			return log_error_errno(r, "job_failed", "job=%s", d->config->jobs[i].name);
		d->n_jobs++;
		if (!d->config->jobs[i].drill.enabled)
			continue;
		r = drill_new(d->env.ev, worker, d->jobs[i], &d->drills[i]);
		if (r < 0)
			return log_error_errno(r, "drill_not_started", "job=%s", d->config->jobs[i].name);
	}
	return 0;
}

static bool takes_snapshot_now(const void *daemon)
{
	return takes_snapshot(daemon);
}

static void look_at_record(struct observation_record *ret_record, const void *daemon)
{
	recording_look(daemon, ret_record);
}

static int make_health(struct daemon *d, const char *worker)
{
	const struct notify_options telling = {
	    .ev = loop_ev(d->loop),
	    .config = &d->config->watch.notify,
	    .worker = worker,
	    .node = d->config->node_name,
	    .instance = d->instance,
	};
	struct health_options options = {
	    .ev = loop_ev(d->loop),
	    .etcd = d->etcd,
	    .config = d->config,
	    .jobs = d->jobs,
	    .drills = d->drills,
	    .n_jobs = d->n_jobs,
	    .doubt = &d->doubt,
	    .takes_snapshot = takes_snapshot_now,
	    .look_at_record = look_at_record,
	    .userdata = d,
	};
	int r;

	d->notify = notify_new(&telling);
	options.notify = d->notify;
	r = health_new(&options, &d->health);
	return r < 0 ? log_error_errno(r, "health_failed", "reason=\"cannot watch the cluster\"") : 0;
}

int daemon_new(struct service *service, struct config *config, struct daemon **ret_daemon)
{
	AUTO(daemon_free) struct daemon *d = NEW0(struct daemon);
	int r;

	d->service = service;
	d->loop = service->loop;
	d->config = config;
	log_info("starting", "version=%s node=%s jobs=%zu", FAIRLEAD_VERSION, config->node_name,
	         config->n_jobs);
	ev_init(&d->end, end_cb);
	new_instance(d);
	d->key = signing_start(&config->watch.trusted_keys);
	d->own_key = daemon_own_key(d);
	d->trust = signing_trust(&config->watch.trusted_keys, &d->own_key);
	r = connect_etcd(loop_ev(d->loop), &config->etcd, 0, &d->etcd);
	if (r == 0)
		find_owner(d);
	if (r == 0)
		r = make_jobs(d, service->helper);
	if (r < 0)
		return r;
	r = make_health(d, service->helper);
	if (r < 0)
		return r;
	fill_cluster_env(d);
	d->upkeep = upkeep_new(&d->cluster, &d->config->watch);
	r = recording_start(d, &d->cluster, &d->config->watch.record, &d->recorder);
	if (r < 0)
		return log_error_errno(r, "record_failed", "directory=%s",
		                       d->config->watch.record.directory);
	recording_start_stores(d, &d->cluster, &d->config->watch.record, service->helper,
	                       d->recordstores, &d->n_recordstores);
	r = commands_new(service, &d->config->metrics_at, d, &d->commands);
	if (r < 0)
		return log_error_errno(r, "control_failed", "dir=%s", service->runtime_dir);
	loop_notify(d->loop, "READY=1\nSTATUS=%zu jobs", d->n_jobs);
	*ret_daemon = TAKE_PTR(d);
	return 0;
}

void daemon_free(struct daemon *d)
{
	if (d == NULL)
		return;
	ev_timer_stop(loop_ev(d->loop), &d->end);
	commands_free(d->commands);
	for (size_t i = 0; i < d->n_recordstores; i++)
		recordstore_free(d->recordstores[i]);
	d->n_recordstores = 0;
	recorder_free(d->recorder);
	upkeep_free(d->upkeep);
	health_free(d->health);
	notify_free(d->notify);
	for (size_t i = 0; i < d->n_jobs; i++) {
		drill_free(d->drills[i]);
		job_free(d->jobs[i]);
	}
	owner_free(d->owner);
	etcd_free(d->etcd);
	signature_key_free(d->key);
	config_free(d->config);
	free(d);
}

/* --- for the commands --- */

struct etcd *daemon_etcd(const struct daemon *d)
{
	return d->etcd;
}

const struct cluster_env *daemon_cluster(const struct daemon *d)
{
	return &d->cluster;
}

size_t daemon_n_jobs(const struct daemon *d)
{
	return d->n_jobs;
}

struct job *daemon_job(const struct daemon *d, size_t i)
{
	return d->jobs[i];
}

struct drill *daemon_drill(const struct daemon *d, size_t i)
{
	return d->drills[i];
}

const struct health *daemon_health(const struct daemon *d)
{
	return d->health;
}

struct notify *daemon_notify(const struct daemon *d)
{
	return d->notify;
}

struct recorder *daemon_recorder(const struct daemon *d)
{
	return d->recorder;
}

const char *daemon_node(const struct daemon *d)
{
	return d->config->node_name;
}

const char *daemon_own_key(const struct daemon *d)
{
	return d->key != NULL ? signature_key_public(d->key) : NULL;
}

const struct conf_strings *daemon_trusted_keys(const struct daemon *d)
{
	return &d->config->watch.trusted_keys;
}

size_t daemon_n_recordstores(const struct daemon *d)
{
	return d->n_recordstores;
}

struct recordstore *daemon_recordstore(const struct daemon *d, size_t i)
{
	return d->recordstores[i];
}
