/* SPDX-License-Identifier: Apache-2.0 */
/*
 *                    +------------------- disk ------------------+
 *                    v                                           |
 *   FAILED --time--> OPENING --> ASKING --> WATCHING --full--> FULL
 *                                  ^           |                 |
 *                                  +--doubts---+--<----room------+
 *
 * (Any state may become FAILED.) ASKING finds out who is there and how far etcd is, and decides
 * whether the chain can go on. Whatever is wrong with a watch ends it and leads back there: that it
 * was compacted, that a revision is missing, that etcd went back, that the disk does not keep up.
 *
 * A watch begins with the last revision that the record has, not behind it: that it is still the
 * same shows that it is still the same history.
 */
#include "etcdwatch/record/recorder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fsm.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/cluster/view.h"
#include "etcdwatch/record/recordbase.h"
#include "etcdwatch/record/recordhash.h"
#include "etcdwatch/record/recordleases.h"

#define RETRY_ASK_US US_PER_S
#define RETRY_DISK_US (5 * US_PER_S)
#define SEGMENT_BYTES_MIN ((uint64_t) 1 << 20)
#define SEGMENT_BYTES_MAX ((uint64_t) 64 << 20)
#define SEGMENT_MIN_US US_PER_S
#define SEGMENT_MAX_US (3600 * US_PER_S)
/* A member may say that it is further than what it has sent; for so many seconds. */
#define AHEAD_MAX 10
/* One that is behind is not recorded from. */
#define BEHIND_MAX 5

enum recorder_state {
	RECORDER_OPENING,
	RECORDER_ASKING,
	RECORDER_WATCHING,
	RECORDER_FULL,
	RECORDER_FAILED,
};

static const struct fsm_state states[] = {
    [RECORDER_OPENING] = {"opening", FSM_TO(RECORDER_ASKING) | FSM_TO(RECORDER_FAILED)},
    [RECORDER_ASKING] = {"asking", FSM_TO(RECORDER_WATCHING) | FSM_TO(RECORDER_FAILED)},
    [RECORDER_WATCHING] = {"recording", FSM_TO(RECORDER_ASKING) | FSM_TO(RECORDER_FULL) |
                                            FSM_TO(RECORDER_FAILED)},
    [RECORDER_FULL] = {"waiting for the disk", FSM_TO(RECORDER_ASKING) | FSM_TO(RECORDER_FAILED)},
    [RECORDER_FAILED] = {"failed", FSM_TO(RECORDER_OPENING)},
};

struct recorder {
	struct recorder_options options;
	const struct recorder_callbacks *callbacks;
	void *userdata;
	enum recorder_state state;
	ev_timer timer;
	struct recordwriter *writer;
	struct recordleases *leases;
	struct recordhash *hash;

	struct view_request *looking;
	struct etcd_call *reading;
	struct view view; /* as of the last look */
	struct etcd_watch *watch;

	bool has_chain; /* of which what follows is known */
	bool is_begun;  /* with the writer */
	uint64_t cluster_id;
	uint64_t member_id;
	int64_t last;      /* revision */
	uint32_t last_sum; /* 0: not known */
	bool waits_for_last;
	/* What keeps the chain from going on: up to there is lost (0: not known), and why; "": nothing
	 * does. */
	int64_t lost_to;
	char broken[RECORDER_REASON_MAX];
	int64_t compacted; /* what was found to be; 0: nothing */
	int64_t missing;   /* this revision was missing once; 0: none */
	unsigned n_ahead, n_behind;
	struct recordbase base;

	char error[RECORDER_REASON_MAX];
	struct log_ratelimit complaints;
	uint64_t n_gaps, n_hashes;
	struct recorder_gap gap;
	int64_t hash_revision;
};

/* --- states -------------------------------------------------------------------------------------
 */

static void arm(struct recorder *r, int64_t after_us)
{
	ev_timer_stop(r->options.ev, &r->timer);
	ev_timer_set(&r->timer, mono_to_ev(after_us), 0.);
	ev_timer_start(r->options.ev, &r->timer);
}

/* The one writer of the state: what the old one had under way is over. */
static void change_state(struct recorder *r, enum recorder_state state, const char *reason)
{
	fsm_check(states, ARRAY_SIZE(states), r->state, state);
	log_debug("record_state", "old=\"%s\" new=\"%s\" reason=\"%s\"", states[r->state].name,
	          states[state].name, reason);
	r->state = state;
	ev_timer_stop(r->options.ev, &r->timer);
	view_cancel(TAKE_PTR(r->looking));
	etcd_call_cancel(TAKE_PTR(r->reading));
	etcd_watch_free(TAKE_PTR(r->watch));
	switch (state) {
	case RECORDER_OPENING:
		r->is_begun = false;
		recordwriter_open(r->writer);
		break;
	case RECORDER_ASKING:
		arm(r, 0);
		break;
	case RECORDER_FAILED:
		recordhash_forget(r->hash);
		arm(r, RETRY_DISK_US);
		break;
	case RECORDER_FULL:
		arm(r, RETRY_DISK_US);
		break;
	case RECORDER_WATCHING:
		break;
	}
}

PRINTF_LIKE(2, 3)
static void break_chain(struct recorder *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void) vsnprintf(r->broken, sizeof(r->broken), fmt, ap);
	va_end(ap);
}

static void complain(struct recorder *r, const char *event, const char *reason)
{
	unsigned suppressed;

	(void) snprintf(r->error, sizeof(r->error), "%s", reason);
	if (log_ratelimit_allow(&r->complaints, mono_now_us(), &suppressed))
		log_warning(event, "directory=%s reason=\"%s\"", r->options.directory, reason);
}

static const char *member_name(const struct recorder *r, uint64_t id)
{
	const struct view_member *m = view_find(&r->view, id);

	return m != NULL ? m->name : "";
}

/* --- frames -------------------------------------------------------------------------------------
 */

static void put(struct recorder *r, const struct record_frame *frame)
{
	/* Of a frame that is too large a watch tells nothing: it holds back less. */
	if (recordwriter_put(r->writer, frame) < 0)
		log_error("record_frame_too_large", "rev=%" PRId64, frame->revision);
}

static void lease_cb(int64_t id, int64_t ttl_s, void *userdata)
{
	struct recorder *r = userdata;

	if (r->state == RECORDER_WATCHING)
		put(r, &(struct record_frame){
		           .type = RECORD_LEASE, .lease = id, .ttl_s = ttl_s, .wall_us = wall_now_us()});
}

static void hash_cb(const struct recordhash_answer *answer, void *userdata)
{
	struct recorder *r = userdata;

	if (r->state != RECORDER_WATCHING)
		return;
	put(r, &(struct record_frame){.type = RECORD_HASH,
	                              .revision = answer->revision,
	                              .compact_revision = answer->compact_revision,
	                              .wall_us = wall_now_us(),
	                              .member_id = answer->member_id,
	                              .hash = answer->hash});
	r->n_hashes++;
	r->hash_revision = answer->revision;
}

/* --- chains -------------------------------------------------------------------------------------
 */

static void begin_writing(struct recorder *r, bool begins)
{
	const struct recordwriter_chain chain = {
	    .cluster_id = r->cluster_id,
	    .member_id = r->member_id,
	    .member = member_name(r, r->member_id),
	    .first_revision = r->last + 1,
	    .begins = begins,
	};

	recordwriter_begin(r->writer, &chain);
	r->is_begun = true;
}

/* What cannot be recorded is said in the record. */
static void end_chain(struct recorder *r)
{
	struct recorder_gap *gap = &r->gap;

	*gap =
	    (struct recorder_gap){.first = r->last + 1, .last = r->lost_to, .wall_us = wall_now_us()};
	(void) snprintf(gap->reason, sizeof(gap->reason), "%s", r->broken);
	r->n_gaps++;
	log_error("record_gap", "first=%" PRId64 " last=%" PRId64 " reason=\"%s\"", gap->first,
	          gap->last, gap->reason);
	put(r, &(struct record_frame){.type = RECORD_GAP,
	                              .revision = gap->first,
	                              .last_lost = gap->last,
	                              .wall_us = gap->wall_us,
	                              .reason = bytes_of_text(gap->reason)});
	recordwriter_close(r->writer);
	recordhash_forget(r->hash);
	recordleases_forget(r->leases);
	r->has_chain = false;
}

static void ask_for_base(struct recorder *r)
{
	int64_t now_us = mono_now_us();
	int64_t newest = r->callbacks->base_revision(r->cluster_id, r->userdata);

	if (recordbase_is_due(&r->base, newest, now_us))
		recordbase_asked(&r->base, r->callbacks->needs_snapshot(r->base.revision, r->userdata),
		                 now_us);
}

void recorder_snapshot_failed(struct recorder *r)
{
	recordbase_failed(&r->base, mono_now_us());
}

/* Behind `revision`. */
static void begin_chain(struct recorder *r, uint64_t cluster_id, int64_t revision)
{
	r->cluster_id = cluster_id;
	r->last = revision;
	r->last_sum = 0;
	r->has_chain = true;
	begin_writing(r, true);
	log_notice("record_begins", "rev=%" PRId64 " cluster_id=%016" PRIx64 " directory=%s",
	           revision + 1, cluster_id, r->options.directory);
	if (r->compacted > 0)
		put(r, &(struct record_frame){
		           .type = RECORD_COMPACTED, .revision = r->compacted, .wall_us = wall_now_us()});
	recordbase_begin(&r->base, revision);
	ask_for_base(r);
}

/* --- the watch ----------------------------------------------------------------------------------
 */

/* A revision that is lost, unless another watch has it. */
static void miss(struct recorder *r, int64_t first, int64_t last)
{
	if (r->missing == first) {
		r->lost_to = last;
		break_chain(r, "the watch left them out twice");
	}
	r->missing = first;
	change_state(r, RECORDER_ASKING, "revisions are missing");
}

static void check_last(struct recorder *r, uint32_t sum)
{
	r->waits_for_last = false;
	if (sum == r->last_sum)
		return;
	break_chain(r, "etcd has another history: it was restored");
	change_state(r, RECORDER_ASKING, "another history");
}

static void take_revision(struct recorder *r, const struct record_event *events, size_t n,
                          int64_t revision)
{
	uint32_t sum = record_event_sum(events, n);

	if (r->waits_for_last && revision >= r->last)
		check_last(r, revision == r->last ? sum : 0);
	if (r->state != RECORDER_WATCHING || revision <= r->last)
		return;
	if (revision > r->last + 1) {
		miss(r, r->last + 1, revision - 1);
		return;
	}
	put(r, &(struct record_frame){.type = RECORD_EVENTS,
	                              .revision = revision,
	                              .wall_us = wall_now_us(),
	                              .events = events,
	                              .n_events = n});
	r->last = revision;
	r->last_sum = sum;
	for (size_t i = 0; i < n; i++) {
		if (events[i].lease != 0)
			recordleases_see(r->leases, events[i].lease);
	}
}

static struct bytes borrow(struct etcd_bytes bytes)
{
	return (struct bytes){.data = bytes.data, .len = bytes.len};
}

static void convert(const struct etcd_event *from, struct record_event *to)
{
	*to = (struct record_event){.is_delete = from->type == ETCD_EVENT_DELETE,
	                            .key = borrow(from->kv.key)};
	if (to->is_delete)
		return;
	to->create_revision = from->kv.create_revision;
	to->version = from->kv.version;
	to->lease = from->kv.lease;
	to->value = borrow(from->kv.value);
}

static void events_cb(const struct etcd_event *events, size_t n, int64_t revision UNUSED,
                      void *userdata)
{
	struct recorder *r = userdata;
	AUTO(free) struct record_event *converted = xcalloc(n, sizeof(*converted));
	size_t first = 0;

	r->n_ahead = r->n_behind = 0;
	for (size_t i = 0; i < n; i++)
		convert(&events[i], &converted[i]);
	for (size_t i = 1; i <= n && r->state == RECORDER_WATCHING; i++) {
		int64_t of_these = events[first].kv.mod_revision;

		if (i < n && events[i].kv.mod_revision == of_these)
			continue;
		take_revision(r, converted + first, i - first, of_these);
		first = i;
	}
	if (r->state == RECORDER_WATCHING && recordwriter_is_full(r->writer)) {
		complain(r, "record_disk_slow", "too much waits for the disk");
		change_state(r, RECORDER_FULL, "too much waits for the disk");
	}
}

static void progress_cb(int64_t revision, void *userdata)
{
	struct recorder *r = userdata;

	ask_for_base(r);
	if (r->waits_for_last) {
		if (++r->n_ahead > AHEAD_MAX)
			check_last(r, 0);
		return;
	}
	r->n_ahead = revision > r->last ? r->n_ahead + 1 : 0;
	r->n_behind = revision < r->last ? r->n_behind + 1 : 0;
	if (r->n_ahead > AHEAD_MAX) {
		miss(r, r->last + 1, revision);
	} else if (r->n_behind > BEHIND_MAX) {
		change_state(r, RECORDER_ASKING, "the member is behind");
	} else if (revision == r->last) {
		put(r, &(struct record_frame){
		           .type = RECORD_PROGRESS, .revision = revision, .wall_us = wall_now_us()});
	}
}

static void compacted_cb(int64_t revision, void *userdata)
{
	struct recorder *r = userdata;

	r->compacted = MAX(revision, r->last + 1);
	r->lost_to = r->compacted;
	break_chain(r, "etcd has compacted them before they were seen");
	change_state(r, RECORDER_ASKING, "compacted");
}

static void live_cb(bool live, void *userdata)
{
	struct recorder *r = userdata;
	uint64_t member = etcd_watch_member(r->watch);

	if (!live) {
		change_state(r, RECORDER_ASKING, "the stream broke");
		return;
	}
	if (member != r->member_id) {
		r->member_id = member;
		recordwriter_set_member(r->writer, member, member_name(r, member));
	}
	log_info("record_live", "rev=%" PRId64 " member=%s", r->last, member_name(r, member));
}

static const struct view_member *local_member(const struct recorder *r)
{
	for (size_t i = 0; i < r->view.n_members; i++) {
		const struct view_member *m = &r->view.members[i];

		if (m->local && m->answers && !m->learner)
			return m;
	}
	return NULL;
}

static void start_watch(struct recorder *r)
{
	static const struct etcd_watch_callbacks callbacks = {
	    .events = events_cb,
	    .compacted = compacted_cb,
	    .live = live_cb,
	    .progress = progress_cb,
	};
	const struct view_member *local = local_member(r);

	r->waits_for_last = r->last_sum != 0;
	r->n_ahead = r->n_behind = 0;
	change_state(r, RECORDER_WATCHING, "");
	(void) etcd_watch_new(r->options.etcd, ETCD_STR(""), true, MAX(r->last, INT64_C(1)), &callbacks,
	                      r, &r->watch);
	if (local != NULL)
		etcd_watch_prefer(r->watch, local->endpoint);
}

/* --- asking -------------------------------------------------------------------------------------
 */

/* Whether the chain goes on, now that it is known who answers, and how far he is. */
static void settle(struct recorder *r, uint64_t cluster_id, int64_t revision)
{
	int64_t start = revision;

	if (r->has_chain && !r->is_begun)
		begin_writing(r, false);
	if (r->has_chain && cluster_id != r->cluster_id) {
		r->lost_to = 0;
		break_chain(r, "another cluster answers: %016" PRIx64, cluster_id);
	} else if (r->has_chain && revision < r->last) {
		r->lost_to = 0;
		break_chain(r, "etcd went back to revision %" PRId64, revision);
	} else if (r->broken[0] != '\0' && r->lost_to > 0) {
		start = MIN(r->lost_to, revision);
		r->lost_to = start;
	}
	if (r->has_chain && r->broken[0] != '\0')
		end_chain(r);
	if (!r->has_chain)
		begin_chain(r, cluster_id, start);
	r->broken[0] = '\0';
	r->lost_to = r->compacted = 0;
	r->error[0] = '\0';
	start_watch(r);
}

static void read_cb(const struct etcd_outcome *outcome,
                    const struct etcd_range_result *result UNUSED, void *userdata)
{
	struct recorder *r = userdata;

	r->reading = NULL;
	if (outcome->r < 0) {
		complain(r, "record_waits", outcome->text);
		arm(r, RETRY_ASK_US);
		return;
	}
	settle(r, outcome->cluster_id, outcome->revision);
}

static void looked_cb(const struct view *view, void *userdata)
{
	struct recorder *r = userdata;
	const struct etcd_range range = {.key = ETCD_STR("fairlead"), .count_only = true};

	r->looking = NULL;
	r->view = *view;
	if (etcd_range(r->options.etcd, &range, read_cb, r, &r->reading) < 0)
		arm(r, RETRY_ASK_US);
}

static void room_cb(void *userdata)
{
	struct recorder *r = userdata;

	if (r->state == RECORDER_FULL)
		change_state(r, RECORDER_ASKING, "room");
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct recorder *r = CONTAINER_OF(w, struct recorder, timer);

	switch (r->state) {
	case RECORDER_FAILED:
		change_state(r, RECORDER_OPENING, "again");
		return;
	case RECORDER_ASKING:
		r->looking = view_start(r->options.etcd, looked_cb, r);
		return;
	case RECORDER_FULL:
		if (recordwriter_is_full(r->writer))
			arm(r, RETRY_DISK_US);
		else
			room_cb(r);
		return;
	case RECORDER_OPENING:
	case RECORDER_WATCHING:
		return;
	}
}

/* --- the disk -----------------------------------------------------------------------------------
 */

static void opened_cb(const struct recordwriter_found *found, void *userdata)
{
	struct recorder *r = userdata;

	if (found->damage[0] != '\0')
		log_warning("record_damaged", "reason=\"%s\"", found->damage);
	if (found->n_cut > 0)
		log_info("record_cut", "directory=%s bytes=%" PRIu64, r->options.directory, found->n_cut);
	r->has_chain = found->has_chain;
	r->cluster_id = found->cluster_id;
	r->last = found->last_revision;
	r->last_sum = found->last_sum;
	r->broken[0] = '\0';
	r->lost_to = r->compacted = r->missing = 0;
	if (r->has_chain) {
		recordbase_go_on(&r->base, recordwriter_figures(r->writer).first_revision - 1);
		log_info("record_found", "rev=%" PRId64 " directory=%s", r->last, r->options.directory);
	}
	change_state(r, RECORDER_ASKING, "opened");
}

static void failed_cb(int code UNUSED, const char *reason, void *userdata)
{
	struct recorder *r = userdata;

	complain(r, "record_failed", reason);
	change_state(r, RECORDER_FAILED, reason);
}

static void closed_cb(void *userdata)
{
	struct recorder *r = userdata;

	if (r->state == RECORDER_WATCHING)
		recordhash_offer(r->hash, r->last, r->member_id);
}

static int64_t base_cb(uint64_t cluster_id, void *userdata)
{
	struct recorder *r = userdata;

	return r->callbacks->base_revision(cluster_id, r->userdata);
}

/* --- beginning and end --------------------------------------------------------------------------
 */

static int make_writer(struct recorder *r)
{
	static const struct recordwriter_callbacks callbacks = {
	    .opened = opened_cb,
	    .failed = failed_cb,
	    .room = room_cb,
	    .closed = closed_cb,
	    .base_revision = base_cb,
	};
	const struct recorder_options *o = &r->options;
	const struct recordwriter_options options = {
	    .ev = o->ev,
	    .directory = o->directory,
	    .keep_us = o->keep_us,
	    .max_bytes = o->max_bytes,
	    .reserve_bytes = o->reserve_bytes,
	    .segment_bytes = MIN(MAX(o->max_bytes / 16, SEGMENT_BYTES_MIN), SEGMENT_BYTES_MAX),
	    .segment_us = MIN(MAX(o->keep_us / 24, SEGMENT_MIN_US), SEGMENT_MAX_US),
	};

	return recordwriter_new(&options, &callbacks, r, &r->writer);
}

int recorder_new(const struct recorder_options *options, const struct recorder_callbacks *callbacks,
                 void *userdata, struct recorder **ret_recorder)
{
	struct recorder *r = NEW0(struct recorder);
	int code;

	r->options = *options;
	r->callbacks = callbacks;
	r->userdata = userdata;
	r->complaints = (struct log_ratelimit){.interval_us = 60 * US_PER_S, .burst = 1};
	ev_init(&r->timer, timer_cb);
	code = make_writer(r);
	if (code < 0) {
		free(r);
		return code;
	}
	r->leases = recordleases_new(options->ev, options->etcd, lease_cb, r);
	r->hash = recordhash_new(options->etcd, options->hash_every_us, hash_cb, r);
	recordwriter_open(r->writer);
	*ret_recorder = r;
	return 0;
}

void recorder_free(struct recorder *r)
{
	if (r == NULL)
		return;
	ev_timer_stop(r->options.ev, &r->timer);
	view_cancel(r->looking);
	etcd_call_cancel(r->reading);
	etcd_watch_free(r->watch);
	recordhash_free(r->hash);
	recordleases_free(r->leases);
	recordwriter_free(r->writer);
	free(r);
}

void recorder_fill_report(const struct recorder *r, struct recorder_report *ret_report)
{
	*ret_report = (struct recorder_report){
	    .state = states[r->state].name,
	    .directory = r->options.directory,
	    .error = r->error,
	    .cluster_id = r->cluster_id,
	    .member = r->state == RECORDER_WATCHING ? member_name(r, r->member_id) : "",
	    .figures = recordwriter_figures(r->writer),
	    .n_gaps = r->n_gaps,
	    .gap = r->gap,
	    .n_leases = recordleases_count(r->leases),
	    .n_hashes = r->n_hashes,
	    .hash_revision = r->hash_revision,
	};
}
