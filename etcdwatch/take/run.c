/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	TAKING ──► PROVING ──► PACKING ──► KEEPING ──► over
 *	                 │ bad       │ bad            any fault, or given up ──► DISCARDING ──► over
 *	                 └───────────┴───► REJECTING ──► over
 *
 * Each step ends in a callback that begins the next, or ends the run. A file that is given up on
 * the way goes before the end is told: it is as large as the database, holds all its secrets, and
 * the next one to be taken here may be days away.
 */
#include "etcdwatch/take/run.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fsm.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/catalog/catalog.h"
#include "etcdwatch/store/leftover.h"
#include "etcdwatch/take/pack.h"
#include "etcdwatch/take/proof.h"
#include "etcdwatch/take/take.h"

/* For one reading of a file, or a member's HashKV: at least, and what each byte adds (20 MB/s). */
#define LIMIT_MIN_US (60 * US_PER_S)
#define BYTES_PER_US 20
#define SECONDS_BEHIND_MAX 60

enum run_state {
	RUN_TAKING,
	RUN_PROVING,
	RUN_PACKING,
	RUN_KEEPING,
	RUN_REJECTING,
	RUN_DISCARDING,
};

static const struct fsm_state states[] = {
    [RUN_TAKING] = {"taking", FSM_TO(RUN_PROVING) | FSM_TO(RUN_DISCARDING)},
    [RUN_PROVING] = {"proving",
                     FSM_TO(RUN_PACKING) | FSM_TO(RUN_REJECTING) | FSM_TO(RUN_DISCARDING)},
    [RUN_PACKING] = {"packing",
                     FSM_TO(RUN_KEEPING) | FSM_TO(RUN_REJECTING) | FSM_TO(RUN_DISCARDING)},
    [RUN_KEEPING] = {"keeping", FSM_TO(RUN_DISCARDING)},
    [RUN_REJECTING] = {"rejecting", FSM_TO(RUN_DISCARDING)},
    [RUN_DISCARDING] = {"discarding", 0},
};

struct run {
	struct run_options options;
	struct view view;
	const struct view_member *member;
	run_done_fn done;
	void *userdata;
	enum run_state state;
	bool cancelled;
	int64_t began_us;
	char *path;   /* of the file that is under way */
	int plain_fd; /* for options.step; -1: it is not wanted */
	struct catalog_entry *entry;
	struct take *take;
	struct proof *proof;
	struct pack *pack;
	struct disk_task discard; /* DISCARDING, because of r */
	int r;
	char *to_reject; /* it is bad, for this reason; NULL: it is not, as far as is known */
	char id[CATALOG_ID_MAX + 1];
	char reason[RUN_REASON_MAX];
	char agreed[VIEW_NAME_MAX];
	char disagreed[VIEW_NAME_MAX];
	char not_compared[RUN_REASON_MAX];
};

static void change_state(struct run *run, enum run_state state)
{
	fsm_check(states, ARRAY_SIZE(states), run->state, state);
	log_debug("run_state", "job=%s old=%s new=%s", run->options.job->name, states[run->state].name,
	          states[state].name);
	run->state = state;
}

static void free_run(struct run *run)
{
	catalog_entry_free(run->entry);
	if (run->plain_fd >= 0)
		(void) close(run->plain_fd);
	free(run->path);
	free(run->to_reject);
	free(run);
	/* Buffers and the stream's pieces left holes all over the heap; the next run may be days away.
	 */
	(void) malloc_trim(0);
}

/* --- the end --- */

/* Calls out: last act. */
static void finish(struct run *run, enum run_end end, int r)
{
	const struct run_result result = {
	    .end = end,
	    .r = r,
	    .reason = run->reason,
	    .id = run->id,
	    .agreed = run->agreed,
	    .not_compared = run->not_compared,
	    .disagreed = run->disagreed,
	    .took_us = mono_now_us() - run->began_us,
	};

	run->done(&result, run->userdata);
	free_run(run);
}

static void discard_work(struct disk_task *task)
{
	struct run *run = CONTAINER_OF(task, struct run, discard);

	/* The worker may have begun to write another one. */
	(void) leftover_sweep(run->options.job->directory, run->options.job->name);
}

static void discarded(struct disk_task *task)
{
	struct run *run = CONTAINER_OF(task, struct run, discard);

	finish(run, run->to_reject != NULL ? RUN_REJECTED : RUN_FAILED, run->r);
}

static void fail(struct run *run, int r, const char *fmt, ...) PRINTF_LIKE(3, 4);
static void fail(struct run *run, int r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void) vsnprintf(run->reason, sizeof(run->reason), fmt, ap);
	va_end(ap);
	if (run->path == NULL) {
		finish(run, RUN_FAILED, r);
		return;
	}
	change_state(run, RUN_DISCARDING);
	run->r = r;
	/* What it is stands, whether it can be put aside or not. */
	if (run->to_reject != NULL) {
		log_warning("snapshot_not_put_aside", "job=%s reason=\"%s\"", run->options.job->name,
		            run->reason);
		(void) snprintf(run->reason, sizeof(run->reason), "%s", run->to_reject);
	}
	run->discard = (struct disk_task){.work = discard_work, .done = discarded};
	disk_do(run->options.disk, &run->discard);
}

/* True if that was the end of it. */
static bool is_given_up(struct run *run)
{
	if (run->cancelled)
		fail(run, -ECANCELED, "it was given up");
	return run->cancelled;
}

/* --- keeping and rejecting --- */

static void set_text(char **slot, const char *text)
{
	free(*slot);
	*slot = xstrdup(text);
}

/* Two of one second and one revision would have one name, and nobody could tell which is newer: the
 * later one is said to have begun later. A clock that was far ahead is nothing to go by. */
static void begin_after(struct catalog_entry *e, const struct store *store)
{
	size_t n = store_n(store);
	int64_t newest_s = n > 0 ? store_get(store, n - 1)->started_s : 0;

	if (newest_s >= e->started_s && newest_s - e->started_s < SECONDS_BEHIND_MAX)
		e->started_s = newest_s + 1;
}

/* Before it is packed: a bundle has the id in it. */
static void name_entry(struct run *run)
{
	struct catalog_entry *e = run->entry;

	begin_after(e, run->options.store);
	free(e->id);
	e->id = catalog_build_id(e->started_s, e->job, e->member_name, e->node, e->revision);
	(void) snprintf(run->id, sizeof(run->id), "%s", e->id);
}

/* Once nothing else of it changes. */
static void end_entry(struct run *run)
{
	struct catalog_entry *e = run->entry;

	e->finished_s = MAX(wall_now_us() / US_PER_S, e->started_s);
	e->took_ms = (mono_now_us() - run->began_us) / US_PER_MS;
	free(e->file);
	e->file = catalog_file_name(e);
}

static void kept_cb(int r, const char *reason, void *userdata)
{
	struct run *run = userdata;

	if (r < 0)
		fail(run, r, "%s", reason);
	else
		finish(run, RUN_KEPT, 0);
}

static void keep(struct run *run)
{
	change_state(run, RUN_KEEPING);
	end_entry(run);
	store_keep(run->options.store, run->path, TAKE_PTR(run->entry), kept_cb, run);
}

static void rejected_cb(int r, const char *reason, void *userdata)
{
	struct run *run = userdata;

	if (r < 0)
		fail(run, r, "%s", reason);
	else
		finish(run, RUN_REJECTED, 0);
}

static void reject(struct run *run)
{
	change_state(run, RUN_REJECTING);
	(void) snprintf(run->reason, sizeof(run->reason), "%s", run->to_reject);
	run->entry->rejected = xstrndup(run->to_reject, CATALOG_TEXT_MAX);
	end_entry(run);
	store_reject(run->options.store, run->path, TAKE_PTR(run->entry), rejected_cb, run);
}

/* --- packing --- */

static void copy_extra(struct catalog_entry *e, const struct conf_strings *files)
{
	e->extra = xcalloc(files->n, sizeof(e->extra[0]));
	for (size_t i = 0; i < files->n; i++)
		e->extra[e->n_extra++] = xstrdup(files->items[i]);
}

static void packed_cb(const struct pack_result *result, void *userdata)
{
	struct run *run = userdata;
	struct catalog_entry *e = run->entry;

	run->pack = NULL;
	if (result->r < 0) {
		fail(run, result->r, "it could not be packed: %s", result->reason);
		return;
	}
	set_text(&run->path, result->path);
	e->zstd = result->zstd;
	e->age = result->age;
	if (e->age)
		copy_extra(e, &run->options.job->extra_files);
	e->recipients = result->recipients;
	e->file_bytes = (int64_t) result->bytes;
	(void) snprintf(e->file_sha256, sizeof(e->file_sha256), "%s", result->sha256);
	if (is_given_up(run))
		return;
	if (run->to_reject != NULL)
		reject(run);
	else
		keep(run);
}

static int64_t limit_us(const struct run *run)
{
	return LIMIT_MIN_US + run->entry->db_bytes / BYTES_PER_US;
}

static void pack(struct run *run)
{
	int r;

	change_state(run, RUN_PACKING);
	if (!pack_is_wanted(run->options.job)) {
		keep(run);
		return;
	}
	r = pack_start(run->options.ev,
	               &(struct pack_options){
	                   .worker = run->options.worker,
	                   .job = run->options.job,
	                   .path = run->path,
	                   .id = run->id,
	                   .sha256 = run->entry->file_sha256,
	                   .limit_us = limit_us(run),
	               },
	               packed_cb, run, &run->pack);
	if (r < 0)
		fail(run, r, "cannot start '%s': %s", run->options.worker, strerror(-r));
}

/* --- proving --- */

static void fill_facts(struct catalog_entry *e, const struct proof_facts *f)
{
	e->hash = f->hash;
	e->hashkv = f->hashkv;
	e->hashkv_revision = f->hashkv_revision;
	e->revision = f->revision;
	e->compact_revision = f->compact_revision;
	e->total_key = (int64_t) f->total_key;
	e->live_keys = (int64_t) f->live_keys;
}

/* What fills it is good to know, and no reason to refuse it. */
static void fill_usage(struct catalog_entry *e, const json_t *usage)
{
	char error[CATALOG_ERROR_MAX];

	if (usage != NULL && catalog_read_usage(usage, &e->usage, error) < 0)
		log_warning("usage_not_read", "reason=\"%s\"", error);
}

static void tell_step(struct run *run, enum run_step step)
{
	if (run->plain_fd >= 0)
		run->options.step(step, run->plain_fd, run->entry, run->userdata);
}

static void proved_cb(const struct proof_result *result, void *userdata)
{
	struct run *run = userdata;
	struct catalog_entry *e = run->entry;

	run->proof = NULL;
	if (is_given_up(run))
		return;
	if (result->verdict == PROOF_NOT_MADE) {
		fail(run, -EIO, "it could not be proven: %s", result->reason);
		return;
	}
	fill_facts(e, &result->facts);
	fill_usage(e, result->usage);
	e->members_differ = listdiff_text(result->members, e);
	(void) snprintf(run->agreed, sizeof(run->agreed), "%s", result->agreed);
	(void) snprintf(run->disagreed, sizeof(run->disagreed), "%s", result->disagreed);
	(void) snprintf(run->not_compared, sizeof(run->not_compared), "%s", result->not_compared);
	name_entry(run);
	if (result->verdict == PROOF_BAD) {
		run->to_reject = xstrdup(result->reason);
		/* It holds the secrets that the others do. */
		if (run->options.job->encrypted)
			pack(run);
		else
			reject(run);
		return;
	}
	e->digest_verified = true;
	e->tree_verified = true;
	e->hashkv_verified = run->agreed[0] != '\0' ? xstrdup(run->agreed) : NULL;
	e->timeline = catalog_next_timeline(store_entries(run->options.store),
	                                    store_n(run->options.store), e->cluster_id, e->revision);
	tell_step(run, RUN_PROVEN);
	pack(run);
}

static void prove(struct run *run)
{
	const struct proof_options options = {
	    .worker = run->options.worker,
	    .path = run->path,
	    .source = run->options.source,
	    .view = &run->view,
	    .limit_us = limit_us(run),
	    .compare = run->options.job->verify_hashkv,
	};
	int r;

	change_state(run, RUN_PROVING);
	r = proof_start(run->options.ev, run->options.etcd, &options, proved_cb, run, &run->proof);
	if (r < 0)
		fail(run, r, "cannot start '%s': %s", run->options.worker, strerror(-r));
}

/* --- taking --- */

/* The descriptor outlives the name, which goes when the file is packed. */
static void opened_cb(const char *path, void *userdata)
{
	struct run *run = userdata;

	run->plain_fd = open(path, O_RDONLY | O_CLOEXEC);
	tell_step(run, RUN_OPENED);
}

static void taken_cb(const struct take_result *result, void *userdata)
{
	struct run *run = userdata;
	struct catalog_entry *e = run->entry;

	run->take = NULL;
	if (result->r < 0) {
		fail(run, result->r, "%s", result->reason);
		return;
	}
	run->path = xstrdup(result->path);
	e->db_bytes = (int64_t) result->db_bytes;
	e->file_bytes = (int64_t) result->file_bytes;
	(void) snprintf(e->db_sha256, sizeof(e->db_sha256), "%s", result->db_sha256);
	(void) snprintf(e->file_sha256, sizeof(e->file_sha256), "%s", result->file_sha256);
	log_info("snapshot_taken", "job=%s member=%s bytes=%llu dur_ms=%lld", e->job, e->member_name,
	         (unsigned long long) result->db_bytes, (long long) (result->took_us / US_PER_MS));
	if (is_given_up(run))
		return;
	tell_step(run, RUN_TAKEN);
	prove(run);
}

_Static_assert((int) VIEW_MEMBERS_MAX <= CATALOG_MEMBERS_MAX &&
                   (int) VIEW_LISTED_NAME_MAX <= CATALOG_TEXT_MAX + 1 &&
                   (int) VIEW_LISTED_URLS_MAX <= CATALOG_URLS_MAX &&
                   (int) VIEW_LISTED_URLS_TEXT_MAX <= CATALOG_URLS_TEXT_MAX + 1,
               "an entry holds what a view does");

static bool is_clean(const struct view_listed *m)
{
	return catalog_text_is_clean(m->name) && catalog_text_is_clean(m->peer_urls) &&
	       catalog_text_is_clean(m->client_urls);
}

/* A part of a list would be taken for the whole. */
static void copy_members(struct catalog_entry *e, const struct view *view)
{
	for (size_t i = 0; i < view->n_list; i++) {
		if (!is_clean(&view->list[i])) {
			log_warning("member_list_not_clean", "member=%llx",
			            (unsigned long long) view->list[i].id);
			return;
		}
	}
	e->members = xcalloc(view->n_list, sizeof(e->members[0]));
	for (size_t i = 0; i < view->n_list; i++) {
		const struct view_listed *m = &view->list[i];

		e->members[e->n_members++] = (struct catalog_member){
		    .id = m->id,
		    .name = m->name[0] != '\0' ? xstrdup(m->name) : NULL,
		    .peer_urls = xstrdup(m->peer_urls),
		    .client_urls = xstrdup(m->client_urls),
		    .learner = m->learner,
		};
	}
}

struct run *run_start(const struct run_options *options, run_done_fn done, void *userdata)
{
	struct run *run = NEW0(struct run);
	struct take_options take;

	run->options = *options;
	run->view = *options->view;
	run->member = view_find(&run->view, options->source);
	run->done = done;
	run->userdata = userdata;
	run->began_us = mono_now_us();
	run->plain_fd = -1;
	run->entry = catalog_entry_new();
	run->entry->started_s = wall_now_us() / US_PER_S;
	run->entry->cluster_id = run->view.cluster_id;
	run->entry->member_id = run->member->id;
	run->entry->period_s = options->period_s;
	set_text(&run->entry->job, options->job->name);
	set_text(&run->entry->node, options->node);
	set_text(&run->entry->member_name,
	         run->member->name[0] != '\0' ? run->member->name : run->member->endpoint);
	set_text(&run->entry->server_version, run->member->version);
	copy_members(run->entry, &run->view);
	take = (struct take_options){
	    .directory = options->job->directory,
	    .job = options->job->name,
	    .endpoint = run->member->endpoint,
	    .expected_bytes = run->member->db_bytes,
	    .reserve_bytes = (uint64_t) options->job->reserve_bytes,
	    .stall_ms = (unsigned) (options->job->no_progress_us / US_PER_MS),
	};
	run->take = take_start(options->etcd, options->disk, &take,
	                       options->step != NULL ? opened_cb : NULL, taken_cb, run);
	return run;
}

void run_cancel(struct run *run)
{
	run->cancelled = true;
	if (run->take != NULL) {
		take_cancel(run->take);
	} else if (run->proof != NULL || run->pack != NULL) {
		proof_free(TAKE_PTR(run->proof));
		pack_free(TAKE_PTR(run->pack));
		fail(run, -ECANCELED, "it was given up");
	}
	/* What is being kept or put aside ends as it would. */
}

void run_abandon(struct run *run)
{
	if (run == NULL)
		return;
	take_abandon(run->take);
	proof_free(run->proof);
	pack_free(run->pack);
	free_run(run);
}

const char *run_state_name(const struct run *run)
{
	return states[run->state].name;
}

const struct doing *run_doing(const struct run *run)
{
	static const struct doing nothing;

	if (run->proof != NULL)
		return proof_doing(run->proof);
	return run->pack != NULL ? pack_doing(run->pack) : &nothing;
}

void run_progress(const struct run *run, uint64_t *ret_bytes, uint64_t *ret_total_bytes)
{
	*ret_bytes = run->take != NULL ? take_bytes_so_far(run->take) : 0;
	*ret_total_bytes = run->take != NULL ? take_bytes_total(run->take) : 0;
}
