/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Nodes, each with one job, in one process and in simulated time: job.c, claim.c, place.c, rank.c
 * and due.c are the real ones, etcd is one in memory (fakeetcd.h), and behind the other interfaces
 * of a job stands a world that does as it is told. What is on a node's disk outlives its process.
 */

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/catalog/catalog.h"
#include "etcdwatch/cluster/doubt.h"
#include "etcdwatch/cluster/view.h"
#include "etcdwatch/job/clearing.h"
#include "etcdwatch/job/job.h"
#include "etcdwatch/take/run.h"
#include "etcdwatch/target/storing.h"
#include "etcdwatch/work/disk.h"
#include "tests/unit/fakeetcd.h"

#define WORLD_NODES 3
#define WORLD_DISK_MAX 512
#define WORLD_CLUSTER UINT64_C(0xc1)
#define WORLD_NO_PROGRESS_US (30 * US_PER_S)

/* How the next snapshots of a node go. */
struct world_rule {
	enum run_end end;
	int64_t take_us, keep_us; /* it can be cancelled, and then not any more */
};

struct world_node {
	struct ev_loop ev;
	struct etcd etcd;
	char name[8], instance[16];
	struct doubt doubt;
	struct job_env env;
	struct config_job *config;
	struct job *job; /* NULL: it does not run */
	struct run *run; /* that is under way */

	struct catalog_entry *entries[WORLD_DISK_MAX];
	size_t n_entries;
	unsigned n_made; /* for ids */

	struct world_rule rule;
	int scan_r, remove_r; /* as long as they are set */
	int run_r;            /* of runs that fail */
	int64_t hangs_us;     /* since when its disk has, and no run ends; 0: it does not */
	bool away;            /* no member of etcd answers it */
	bool learner;         /* its own member is one */
	bool corrupt;         /* the alarm stands, as far as it sees */
	bool disagrees;       /* a member holds other data than its snapshots */
	bool shrank;          /* its snapshots have */
	bool alone;           /* no member is asked about them */

	unsigned n_scans, n_runs, n_cancelled, n_abandoned, n_clearings, n_removed;
	int64_t run_period_s; /* of the last run */
	bool cleared_corrupt; /* as the last clearing was told */
	size_t n_waiting;     /* for a target; one less with each clearing that needs room */
};

static struct world_node world[WORLD_NODES];

struct disk {
	struct world_node *node;
};

struct store {
	struct world_node *node;
	struct store_call *call; /* one at a time */
	bool is_read;
};

static struct world_node *world_of_ev(struct ev_loop *ev)
{
	return CONTAINER_OF(ev, struct world_node, ev);
}

static struct world_node *world_of_etcd(struct etcd *etcd)
{
	return CONTAINER_OF(etcd, struct world_node, etcd);
}

/* Nothing is said: what a job tells is in its report. */
bool log_is_enabled(enum log_level level UNUSED)
{
	return false;
}

void log_line(enum log_level level UNUSED, const char *event, const char *fmt UNUSED, ...)
{
	if (strncmp(event, "fsm_", strlen("fsm_")) == 0)
		(void) fprintf(stderr, "%s\n", event);
}

/* --- the disk --- */

int disk_new(struct ev_loop *ev, struct disk **ret_disk)
{
	*ret_disk = NEW0(struct disk);
	(*ret_disk)->node = world_of_ev(ev);
	return 0;
}

void disk_free(struct disk *disk)
{
	free(disk);
}

int64_t disk_busy_us(struct disk *disk)
{
	return disk->node->hangs_us != 0 ? sim_now_us - disk->node->hangs_us : 0;
}

static struct catalog_entry *world_add(struct world_node *n, int64_t started_s, int64_t period_s)
{
	struct catalog_entry *e = catalog_entry_new();

	CHECK(n->n_entries < WORLD_DISK_MAX);
	free(e->id);
	e->id = xasprintf("%s-%u", n->name, n->n_made++);
	e->started_s = started_s;
	e->period_s = period_s;
	e->cluster_id = WORLD_CLUSTER;
	e->revision = fake.revision;
	e->digest_verified = true;
	e->tree_verified = true;
	n->entries[n->n_entries++] = e;
	return e;
}

static bool world_drop(struct world_node *n, const char *id)
{
	for (size_t i = 0; i < n->n_entries; i++) {
		if (strcmp(n->entries[i]->id, id) != 0)
			continue;
		catalog_entry_free(n->entries[i]);
		n->n_entries--;
		memmove(&n->entries[i], &n->entries[i + 1], (n->n_entries - i) * sizeof(n->entries[0]));
		return true;
	}
	return false;
}

static inline UNUSED bool world_has(const struct world_node *n, const char *id)
{
	for (size_t i = 0; i < n->n_entries; i++) {
		if (strcmp(n->entries[i]->id, id) == 0)
			return true;
	}
	return false;
}

/* --- the store --- */

struct store_call {
	struct store *store;
	store_done_fn done;
	void *userdata;
	ev_timer timer;
	char *id; /* to remove; NULL: it is a scan */
};

struct store *store_new(struct disk *disk, const char *directory UNUSED, const char *job UNUSED,
                        const struct signature_key *key UNUSED)
{
	struct store *s = NEW0(struct store);

	s->node = disk->node;
	return s;
}

static void store_call_free(struct store_call *call)
{
	ev_timer_stop(&call->store->node->ev, &call->timer);
	call->store->call = NULL;
	free(call->id);
	free(call);
}

void store_free(struct store *s)
{
	if (s != NULL && s->call != NULL)
		store_call_free(s->call);
	free(s);
}

static void store_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct store_call *call = CONTAINER_OF(w, struct store_call, timer);
	struct store *s = call->store;
	struct world_node *n = s->node;
	store_done_fn done = call->done;
	void *userdata = call->userdata;
	int r;

	if (call->id != NULL) {
		r = n->remove_r;
		if (r == 0)
			n->n_removed += world_drop(n, call->id);
	} else {
		n->n_scans++;
		r = n->scan_r;
		s->is_read |= r == 0;
	}
	store_call_free(call);
	done(r, r < 0 ? "the disk does not want to" : "", userdata);
}

static void store_begin(struct store *s, const char *id, store_done_fn done, void *userdata)
{
	struct store_call *call = NEW0(struct store_call);

	CHECK(s->call == NULL);
	s->call = call;
	call->store = s;
	call->done = done;
	call->userdata = userdata;
	call->id = id != NULL ? xstrdup(id) : NULL;
	ev_timer_init(&call->timer, store_cb, 0.002, 0.);
	ev_timer_start(&s->node->ev, &call->timer);
}

void store_scan(struct store *s, store_done_fn done, void *userdata)
{
	store_begin(s, NULL, done, userdata);
}

void store_remove(struct store *s, const char *const *ids, size_t n_ids, store_done_fn done,
                  void *userdata)
{
	CHECK_EQ_INT(n_ids, 1);
	store_begin(s, ids[0], done, userdata);
}

bool store_is_read(const struct store *s)
{
	return s->is_read;
}

size_t store_n(const struct store *s)
{
	return s->is_read ? s->node->n_entries : 0;
}

const struct catalog_entry *store_get(const struct store *s, size_t i)
{
	return s->node->entries[i];
}

const struct catalog_entry *store_find(const struct store *s, const char *id)
{
	for (size_t i = 0; i < store_n(s); i++) {
		if (strcmp(store_get(s, i)->id, id) == 0)
			return store_get(s, i);
	}
	return NULL;
}

size_t store_n_odd(const struct store *s UNUSED)
{
	return 0;
}

const char *store_odd(const struct store *s UNUSED, size_t i UNUSED)
{
	return "";
}

size_t store_n_adopted(const struct store *s UNUSED)
{
	return 0;
}

const char *store_adopted(const struct store *s UNUSED, size_t i UNUSED)
{
	return "";
}

size_t store_n_rejected(const struct store *s UNUSED)
{
	return 0;
}

/* --- clearing and storing --- */

struct clearing {
	struct world_node *node;
	clearing_done_fn done;
	void *userdata;
	bool corrupt;
	ev_timer timer;
};

void clearing_abandon(struct clearing *c)
{
	if (c == NULL)
		return;
	ev_timer_stop(&c->node->ev, &c->timer);
	free(c);
}

bool clearing_stop(struct clearing *c)
{
	clearing_abandon(c);
	return true;
}

static void clearing_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct clearing *c = CONTAINER_OF(w, struct clearing, timer);
	struct prune_plan plan = {0};
	const struct clearing_result result = {.reason = "", .plan = &plan};

	if (c->node->shrank)
		(void) snprintf(plan.shrunk, sizeof(plan.shrunk), "fewer keys");
	(void) snprintf(plan.frozen, sizeof(plan.frozen), "%s", c->corrupt ? "in doubt" : plan.shrunk);
	plan.n_waiting = c->node->n_waiting;
	c->done(&result, c->userdata);
	clearing_abandon(c);
}

struct clearing *clearing_start(const struct clearing_options *options, clearing_done_fn done,
                                void *userdata)
{
	struct clearing *c = NEW0(struct clearing);

	c->node = options->store->node;
	c->corrupt = options->corrupt;
	c->done = done;
	c->userdata = userdata;
	if (!options->only_look) {
		c->node->n_clearings++;
		c->node->cleared_corrupt = options->corrupt;
		c->node->n_waiting -= options->one_more ? 1 : 0;
	}
	ev_timer_init(&c->timer, clearing_cb, 0.003, 0.);
	ev_timer_start(&c->node->ev, &c->timer);
	return c;
}

struct storing {
	int nothing;
};

struct storing *storing_new(const struct storing_options *options UNUSED)
{
	return NEW0(struct storing);
}

void storing_free(struct storing *s)
{
	free(s);
}

void storing_visit(struct storing *s UNUSED)
{
}

void storing_look_again(struct storing *s UNUSED)
{
}

bool storing_get_word(const struct storing *s UNUSED, struct retain_accepted *ret_word UNUSED)
{
	return false;
}

void storing_fill_reports(const struct storing *s UNUSED,
                          struct target_report ret[static CONFIG_TARGETS_MAX] UNUSED, size_t *ret_n)
{
	*ret_n = 0;
}

/* --- one snapshot --- */

struct run {
	struct world_node *node;
	run_done_fn done;
	void *userdata;
	ev_timer timer;
	bool is_keeping, cancelled;
	int64_t period_s, started_s;
};

static void run_end(struct run *run, const struct run_result *result)
{
	run_done_fn done = run->done;
	void *userdata = run->userdata;

	ev_timer_stop(&run->node->ev, &run->timer);
	run->node->run = NULL;
	free(run);
	done(result, userdata);
}

static void run_cb(struct ev_loop *ev, ev_timer *w, int revents UNUSED)
{
	struct run *run = CONTAINER_OF(w, struct run, timer);
	struct run_result result = {
	    .end = run->node->rule.end,
	    .r = run->node->run_r,
	    .reason = "it was not to be",
	    .id = "bad-id",
	    .agreed = run->node->alone ? "" : "another",
	    .not_compared = "",
	    .disagreed = run->node->disagrees ? "m3" : "",
	};

	if (run->node->hangs_us != 0) {
		ev_timer_set(&run->timer, 0.1, 0.);
		ev_timer_start(ev, &run->timer);
		return;
	}
	if (run->cancelled)
		result.end = RUN_FAILED;
	if (result.end == RUN_KEPT && !run->is_keeping) {
		run->is_keeping = true;
		ev_timer_set(&run->timer, mono_to_ev(run->node->rule.keep_us), 0.);
		ev_timer_start(ev, &run->timer);
		return;
	}
	if (result.end == RUN_KEPT)
		result.id = world_add(run->node, run->started_s, run->period_s)->id;
	run_end(run, &result);
}

struct run *run_start(const struct run_options *options, run_done_fn done, void *userdata)
{
	struct run *run = NEW0(struct run);
	struct world_node *n = world_of_ev(options->ev);

	CHECK(n->run == NULL && options->source != 0);
	n->run = run;
	n->n_runs++;
	n->run_period_s = options->period_s;
	run->node = n;
	run->done = done;
	run->userdata = userdata;
	run->period_s = options->period_s;
	run->started_s = wall_now_us() / US_PER_S;
	ev_timer_init(&run->timer, run_cb, mono_to_ev(n->rule.take_us), 0.);
	ev_timer_start(&n->ev, &run->timer);
	return run;
}

void run_cancel(struct run *run)
{
	run->node->n_cancelled++;
	if (run->is_keeping)
		return;
	run->cancelled = true;
	ev_timer_stop(&run->node->ev, &run->timer);
	ev_timer_set(&run->timer, 0.001, 0.);
	ev_timer_start(&run->node->ev, &run->timer);
}

void run_abandon(struct run *run)
{
	if (run == NULL)
		return;
	run->node->n_abandoned++;
	run->node->run = NULL;
	ev_timer_stop(&run->node->ev, &run->timer);
	free(run);
}

const char *run_state_name(const struct run *run)
{
	return run->is_keeping ? "keeping" : "taking";
}

const struct doing *run_doing(const struct run *run UNUSED)
{
	static const struct doing nothing;

	return &nothing;
}

void run_progress(const struct run *run UNUSED, uint64_t *ret_bytes, uint64_t *ret_total_bytes)
{
	*ret_bytes = 1;
	*ret_total_bytes = 2;
}

/* --- the cluster, as a node sees it --- */

struct view_request {
	struct world_node *node;
	view_done_fn done;
	void *userdata;
	ev_timer timer;
};

static void view_fill(const struct world_node *n, struct view *v)
{
	*v = (struct view){0};
	if (n->away || n->etcd.cut)
		return;
	v->cluster_id = WORLD_CLUSTER;
	v->listed = true;
	v->alarms_known = true;
	v->corrupt = n->corrupt;
	for (size_t i = 0; i < WORLD_NODES; i++) {
		struct view_member *m = &v->members[v->n_members++];

		*m = (struct view_member){
		    .id = i + 1,
		    .local = &world[i] == n,
		    .learner = world[i].learner,
		    .answers = !world[i].away && !world[i].etcd.cut,
		    .leader = i == 0,
		    .leader_id = 1,
		};
		(void) snprintf(m->name, sizeof(m->name), "m%zu", i + 1);
		(void) snprintf(m->endpoint, sizeof(m->endpoint), "http://10.0.0.%zu:2379", i + 1);
	}
}

static void view_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct view_request *r = CONTAINER_OF(w, struct view_request, timer);
	struct view view;

	view_fill(r->node, &view);
	r->done(&view, r->userdata);
	free(r);
}

struct view_request *view_start(struct etcd *etcd, view_done_fn done, void *userdata)
{
	struct view_request *r = NEW0(struct view_request);

	r->node = world_of_etcd(etcd);
	r->done = done;
	r->userdata = userdata;
	ev_timer_init(&r->timer, view_cb, 0.005, 0.);
	ev_timer_start(&r->node->ev, &r->timer);
	return r;
}

void view_cancel(struct view_request *r)
{
	if (r == NULL)
		return;
	ev_timer_stop(&r->node->ev, &r->timer);
	free(r);
}

const struct view_member *view_find(const struct view *v, uint64_t id)
{
	for (size_t i = 0; i < v->n_members; i++) {
		if (v->members[i].id == id)
			return &v->members[i];
	}
	return NULL;
}

/* --- nodes --- */

static struct config_job world_config;

/* Every process is another one. */
static inline UNUSED void world_start(struct world_node *n)
{
	static unsigned instance;

	CHECK(n->job == NULL);
	(void) snprintf(n->instance, sizeof(n->instance), "%u", instance++);
	n->doubt = (struct doubt){0};
	n->env = (struct job_env){
	    .ev = &n->ev,
	    .etcd = &n->etcd,
	    .node_name = n->name,
	    .instance = n->instance,
	    .prefix = "p/",
	    .worker = "worker",
	    .doubt = &n->doubt,
	};
	CHECK_EQ_INT(job_new(&n->env, n->config, &n->job), 0);
}

/* Its process ends without a word to anybody. What it has just written may have got its name. */
static inline UNUSED void world_crash(struct world_node *n, bool finds_kept)
{
	bool was_cut = n->etcd.cut;

	if (n->job == NULL)
		return;
	if (finds_kept && n->run != NULL && n->run->is_keeping)
		(void) world_add(n, n->run->started_s, n->run->period_s);
	n->etcd.cut = true;
	job_free(TAKE_PTR(n->job));
	sim_for(10 * US_PER_MS);
	n->etcd.cut = was_cut;
}

/* Schedule: "0 * * * *" and the like. An hour has begun. */
static inline UNUSED void world_begin(const char *schedule, enum config_taker taker)
{
	static char name[] = "j", directory[] = "/nowhere";
	char error[SCHEDULE_ERROR_MAX];
	int64_t hour_us = 3600 * US_PER_S;

	fake_reset();
	sim_until(sim_now_us + hour_us - wall_now_us() % hour_us);
	zone_free(world_config.zone);
	world_config = (struct config_job){.name = name,
	                                   .directory = directory,
	                                   .taker = taker,
	                                   .catch_up = true,
	                                   .no_progress_us = WORLD_NO_PROGRESS_US};
	CHECK_EQ_INT(schedule_parse(schedule, &world_config.schedule, error), 0);
	CHECK_EQ_INT(zone_load(NULL, "UTC", &world_config.zone), 0);
	for (size_t i = 0; i < WORLD_NODES; i++) {
		struct world_node *n = &world[i];

		CHECK(n->job == NULL);
		while (n->n_entries > 0)
			(void) world_drop(n, n->entries[0]->id);
		*n = (struct world_node){.config = &world_config,
		                         .rule = {RUN_KEPT, US_PER_S, 100 * US_PER_MS}};
		n->etcd.ev = &n->ev;
		(void) snprintf(n->name, sizeof(n->name), "n%zu", i + 1);
	}
}

static inline UNUSED void world_end(void)
{
	for (size_t i = 0; i < WORLD_NODES; i++) {
		job_free(TAKE_PTR(world[i].job));
		CHECK(world[i].run == NULL);
	}
	sim_for(US_PER_S);
	for (size_t i = 0; i < WORLD_NODES; i++) {
		CHECK_EQ_INT(world[i].etcd.n_open, 0);
		while (world[i].n_entries > 0)
			(void) world_drop(&world[i], world[i].entries[0]->id);
	}
	CHECK_EQ_INT(sim_n_timers, 0);
	zone_free(TAKE_PTR(world_config.zone));
}
