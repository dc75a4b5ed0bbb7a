/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A timer, and one round at a time: the questions go out, and with the last answer the whole
 * observation is judged. Pages and files are looked at less often than the rest.
 */
#include "etcdwatch/health/health.h"

#include <ev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/probecert.h"
#include "etcdwatch/health/compare.h"
#include "etcdwatch/health/probe.h"
#include "etcdwatch/rules/observation.h"
#include "etcdwatch/work/disk.h"
#include "web/certificate.h"

/* --- nodefacts --- */

/*
 * What can be seen on this node's own disk: when its certificates end, and the room where etcd's
 * data are. Looked at by a thread, since a disk may hang; then the last answer stays.
 */

struct nodefacts_options {
	/* Of those, the files that are there and have a certificate; at most OBSERVATION_FILES_MAX. */
	const char *const *certificates;
	size_t n_certificates;
	const char *data_directory;
};

struct seen {
	struct observation_file files[OBSERVATION_FILES_MAX];
	size_t n_files;
	bool disk_known;
	int64_t free_bytes, total_bytes;
};

struct nodefacts {
	struct nodefacts_options options;
	struct disk *disk;
	struct disk_task task;
	bool is_looking;
	struct seen next; /* the thread's while it looks */
	struct seen last;
};

/* waits for the disk */
static void nodefacts_free(struct nodefacts *f)
{
	if (f == NULL)
		return;
	disk_free(f->disk);
	free(f);
}

DEFINE_AUTO(struct nodefacts, nodefacts_free);

static void work(struct disk_task *task)
{
	struct nodefacts *f = CONTAINER_OF(task, struct nodefacts, task);
	struct statvfs st;

	f->next = (struct seen){0};
	for (size_t i = 0; i < f->options.n_certificates; i++) {
		struct observation_file *file = &f->next.files[f->next.n_files];

		if (f->next.n_files == ARRAY_SIZE(f->next.files) ||
		    certificate_file_end(f->options.certificates[i], &file->not_after_s) < 0)
			continue;
		(void) snprintf(file->path, sizeof(file->path), "%s", f->options.certificates[i]);
		f->next.n_files++;
	}
	if (statvfs(f->options.data_directory, &st) == 0) {
		f->next.disk_known = true;
		f->next.free_bytes = (int64_t) (st.f_bavail * st.f_frsize);
		f->next.total_bytes = (int64_t) (st.f_blocks * st.f_frsize);
	}
}

static void done(struct disk_task *task)
{
	struct nodefacts *f = CONTAINER_OF(task, struct nodefacts, task);

	f->is_looking = false;
	f->last = f->next;
}

/* Begins to look again, unless it is still at it. */
static void nodefacts_look(struct nodefacts *f)
{
	if (f->is_looking)
		return;
	f->is_looking = true;
	disk_do(f->disk, &f->task);
}

/* As of the last look that ended. */
static void nodefacts_fill(const struct nodefacts *f, struct observation *o)
{
	memcpy(o->files, f->last.files, sizeof(o->files));
	o->n_files = f->last.n_files;
	o->disk_known = f->last.disk_known;
	o->free_bytes = f->last.free_bytes;
	o->total_bytes = f->last.total_bytes;
	(void) snprintf(o->data_directory, sizeof(o->data_directory), "%s", f->options.data_directory);
}

/* Borrows the options until nodefacts_free(). 0, or -errno: the thread cannot be started. */
static int nodefacts_new(struct ev_loop *ev, const struct nodefacts_options *options,
                         struct nodefacts **ret_facts)
{
	AUTO(nodefacts_free) struct nodefacts *f = NEW0(struct nodefacts);
	int r;

	f->options = *options;
	f->task = (struct disk_task){.work = work, .done = done};
	r = disk_new(ev, &f->disk);
	if (r < 0)
		return r;
	*ret_facts = TAKE_PTR(f);
	return 0;
}

/* For the client to find the members. */
#define FIRST_US US_PER_S
/* Of pages and files; with rounds that are closer together, each third. */
#define PAGES_US (30 * US_PER_S)
#define PAGES_ROUNDS 3
/* A snapshot that is being taken is not missed yet. */
#define GRACE_S 900

/* kubeadm's, of this node, and that of its own probes. */
static const char *const usual_certificates[] = {
    PROBECERT_DIRECTORY "/" PROBECERT_CERT,
    "/etc/kubernetes/pki/etcd/ca.crt",
    "/etc/kubernetes/pki/etcd/server.crt",
    "/etc/kubernetes/pki/etcd/peer.crt",
};

struct health {
	struct health_options options;
	struct probe *probe;
	struct nodefacts *facts;
	struct compare *compare;
	struct judge *judge;
	ev_timer timer;
	bool is_asking;
	int64_t pages_us; /* when they were last asked for */
	struct observation o;
	uint64_t n_rounds;
	uint64_t n_raised[RULES_N];
	int64_t begun_s;
	int64_t good_s[CONFIG_JOBS_MAX]; /* the newest proven snapshot of each job that was known */
	const char *certificates[ARRAY_SIZE(usual_certificates) + CONFIG_CERTIFICATES_MAX + 2];
	size_t n_certificates;
};

/* --- what is known without asking --- */

static bool says_usage(const struct catalog_entry *e)
{
	return e->usage != NULL && e->usage->bytes > 0;
}

static bool says_members(const struct catalog_entry *e)
{
	return e->n_members > 0;
}

/* The newest snapshot of any job that says it; NULL: none does. */
static const struct catalog_entry *newest_snapshot(const struct health *h,
                                                   bool (*says)(const struct catalog_entry *entry))
{
	const struct catalog_entry *newest = NULL;
	struct job_report report;

	for (size_t i = 0; i < h->o.n_jobs; i++) {
		const struct catalog_entry *e;

		job_fill_report(h->options.jobs[i], &report);
		e = report.last_good;
		if (e != NULL && says(e) && (newest == NULL || e->started_s > newest->started_s))
			newest = e;
	}
	return newest;
}

/* What fills etcd. */
static void look_at_usage(struct health *h)
{
	const struct catalog_entry *newest = newest_snapshot(h, says_usage);

	h->o.n_parts = newest != NULL ? MIN(newest->usage->n_parts, ARRAY_SIZE(h->o.parts)) : 0;
	for (size_t i = 0; i < h->o.n_parts; i++) {
		const struct catalog_part *part = &newest->usage->parts[i];
		struct observation_part *seen = &h->o.parts[i];

		(void) snprintf(seen->prefix, sizeof(seen->prefix), "%s", part->prefix);
		seen->percent = (int) (100. * (double) part->bytes / (double) newest->usage->bytes);
	}
}

static void look_at_stored_members(struct health *h)
{
	const struct catalog_entry *newest = newest_snapshot(h, says_members);

	h->o.members_differ = newest != NULL ? newest->members_differ : NULL;
	h->o.members_differ_in = newest != NULL ? newest->id : NULL;
}

/* Another node's snapshot is known by its record: its period is done. */
static void look_at_job(struct health *h, size_t i)
{
	const struct config_job *config = job_config(h->options.jobs[i]);
	struct observation_job *seen = &h->o.jobs[i];
	struct job_report report;
	int64_t base_s;

	job_fill_report(h->options.jobs[i], &report);
	if (report.period_done)
		h->good_s[i] = MAX(h->good_s[i], report.period_s);
	if (report.last_good != NULL)
		h->good_s[i] = MAX(h->good_s[i], report.last_good->started_s);
	base_s = MAX(h->good_s[i], h->begun_s);
	seen->name = config->name;
	seen->good_s = h->good_s[i];
	base_s = schedule_next(&config->schedule, config->zone, base_s);
	seen->overdue_s = schedule_next(&config->schedule, config->zone, base_s) +
	                  config->jitter_us / US_PER_S + GRACE_S;
	seen->drill_overdue = false;
	if (h->options.drills[i] != NULL) {
		struct drillinfo info;

		drill_fill_info(h->options.drills[i], &info);
		seen->drill_overdue = drillinfo_is_alarm(&info);
	}
}

_Static_assert(CONFIG_JOBS_MAX <= OBSERVATION_JOBS_MAX &&
                   CONFIG_RECORD_TARGETS_MAX <= OBSERVATION_RECORD_TARGETS_MAX,
               "an observation has no room for what is configured");

static void look_at_record(struct health *h)
{
	struct observation_record *seen = &h->o.record;

	*seen = (struct observation_record){0};
	h->options.look_at_record(seen, h->options.userdata);
	seen->behind_s = h->o.wall_s - (seen->reached_s > 0 ? seen->reached_s : h->begun_s);
	for (size_t i = 0; i < seen->n_targets; i++) {
		struct observation_record_target *t = &seen->targets[i];

		t->lacks_s = seen->reached_s - (t->until_s > 0 ? t->until_s : h->begun_s);
	}
}

/* --- rounds --- */

static void changed_cb(const struct judge_finding *f, bool raised, void *userdata)
{
	struct health *h = userdata;

	if (raised)
		h->n_raised[f->rule - rules]++;
	notify_finding(h->options.notify, f, raised);
	if (!raised)
		log_info("finding_cleared", "finding=%s subject=\"%s\" after_s=%lld", f->rule->id,
		         f->subject, (long long) ((mono_now_us() - f->since_us) / US_PER_S));
	else if (f->rule->severity == RULES_CRITICAL)
		log_error("finding_raised", "finding=%s severity=critical subject=\"%s\" reason=\"%s\"",
		          f->rule->id, f->subject, f->sentence);
	else
		log_warning("finding_raised", "finding=%s severity=warning subject=\"%s\" reason=\"%s\"",
		            f->rule->id, f->subject, f->sentence);
}

static void round_cb(void *userdata)
{
	struct health *h = userdata;

	h->is_asking = false;
	h->o.now_us = mono_now_us();
	h->o.wall_s = wall_now_us() / US_PER_S;
	nodefacts_fill(h->facts, &h->o);
	for (size_t i = 0; i < h->o.n_jobs; i++)
		look_at_job(h, i);
	look_at_usage(h);
	look_at_stored_members(h);
	look_at_record(h);
	compare_look(h->compare, &h->o);
	compare_fill(h->compare, &h->o);
	notify_round(h->options.notify, &h->o);
	judge_look(h->judge, &h->o, changed_cb, h);
	h->n_rounds++;
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct health *h = CONTAINER_OF(w, struct health, timer);
	int64_t every_us = MIN(PAGES_US, PAGES_ROUNDS * h->options.config->watch.interval_us);
	bool with_pages = mono_now_us() - h->pages_us >= every_us - US_PER_S / 2;

	if (h->is_asking)
		return;
	h->is_asking = true;
	if (with_pages) {
		h->pages_us = mono_now_us();
		nodefacts_look(h->facts);
	}
	probe_start(h->probe, with_pages, &h->o, round_cb, h);
}

bool health_data_differ(const struct health *h)
{
	return compare_differ(h->compare);
}

bool health_may_be_corrupt(const struct health *h)
{
	bool stands = h->o.other_corrupt, has_quorum = false;

	for (size_t i = 0; i < h->o.n_members; i++) {
		stands |= h->o.members[i].corrupt;
		has_quorum |= h->o.members[i].linearizable == OBSERVED_GOOD;
	}
	return stands || (h->n_rounds > 0 && !has_quorum);
}

void health_fill_report(const struct health *h, struct healthreport *ret)
{
	ret->o = h->n_rounds > 0 ? &h->o : NULL;
	ret->n_findings = judge_findings(h->judge, ret->findings);
	compare_fill_report(h->compare, &ret->compared);
	ret->trend = judge_trend(h->judge);
	ret->n_rounds = h->n_rounds;
	ret->n_raised = h->n_raised;
	ret->now_us = mono_now_us();
	ret->wall_s = wall_now_us() / US_PER_S;
}

/* --- beginning and end --- */

static void make_settings(const struct config_watch *watch, struct judge_settings *ret)
{
	judge_default_settings(ret);
	for (size_t i = 0; i < watch->n_rules; i++) {
		const struct config_watch_rule *rule = &watch->rules[i];
		enum rules_id id = rules_find(rule->id);

		ret->of[id].off = rule->off;
		if (rule->after_us >= 0)
			ret->of[id].after_us = rule->after_us;
		if (rule->hold_us >= 0)
			ret->of[id].hold_us = rule->hold_us;
	}
}

static void add_certificate(struct health *h, const char *path)
{
	for (size_t i = 0; i < h->n_certificates; i++) {
		if (strcmp(h->certificates[i], path) == 0)
			return;
	}
	h->certificates[h->n_certificates++] = path;
}

static void find_certificates(struct health *h)
{
	const struct config *config = h->options.config;

	if (config->etcd.ca_file != NULL)
		add_certificate(h, config->etcd.ca_file);
	if (config->etcd.cert_file != NULL)
		add_certificate(h, config->etcd.cert_file);
	for (size_t i = 0; i < config->watch.certificates.n; i++)
		add_certificate(h, config->watch.certificates.items[i]);
	for (size_t i = 0; i < ARRAY_SIZE(usual_certificates); i++)
		add_certificate(h, usual_certificates[i]);
}

static int make_compare(const struct health_options *options, struct compare **ret_compare)
{
	const struct compare_options compare = {
	    .ev = options->ev,
	    .etcd = options->etcd,
	    .prefix = options->config->etcd.prefix,
	    .every_us = options->config->watch.compare_every_us,
	    .between = options->config->watch.compare_between,
	    .zone = options->config->watch.zone,
	    .doubt = options->doubt,
	    /* The job is any: of a node without one, no snapshots go. */
	    .directory = options->n_jobs > 0 ? options->config->jobs[0].directory : NULL,
	    .takes_snapshot = options->takes_snapshot,
	    .userdata = options->userdata,
	};

	return compare_new(&compare, ret_compare);
}

int health_new(const struct health_options *options, struct health **ret_health)
{
	AUTO(health_free) struct health *h = NEW0(struct health);
	const struct config_watch *watch = &options->config->watch;
	struct nodefacts_options facts = {.data_directory = watch->data_directory};
	struct judge_settings settings;
	int r;

	h->options = *options;
	h->begun_s = wall_now_us() / US_PER_S;
	h->pages_us = -PAGES_US;
	h->o.expected = (const char *const *) watch->members.items;
	h->o.n_expected = watch->members.n;
	h->o.n_jobs = options->n_jobs;
	ev_timer_init(&h->timer, timer_cb, mono_to_ev(FIRST_US), mono_to_ev(watch->interval_us));
	make_settings(watch, &settings);
	h->judge = judge_new(&settings);
	find_certificates(h);
	facts.certificates = h->certificates;
	facts.n_certificates = h->n_certificates;
	r = nodefacts_new(options->ev, &facts, &h->facts);
	if (r == 0)
		r = make_compare(options, &h->compare);
	if (r == 0)
		r = probe_new(&(struct probe_options){options->ev, options->etcd, &options->config->etcd},
		              &h->probe);
	if (r < 0)
		return r;
	ev_timer_start(options->ev, &h->timer);
	*ret_health = TAKE_PTR(h);
	return 0;
}

void health_free(struct health *h)
{
	if (h == NULL)
		return;
	ev_timer_stop(h->options.ev, &h->timer);
	compare_free(h->compare);
	probe_free(h->probe);
	nodefacts_free(h->facts);
	judge_free(h->judge);
	free(h);
}
