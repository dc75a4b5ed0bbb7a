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
 * A watch begins with the last revisions that are recorded, not behind them: if they are the same,
 * the history is the same (recorder_watch.c). It begins behind them only where nothing can be
 * compared, as the chain has just begun there.
 */
#include "etcdwatch/record/recorder_priv.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fsm.h"
#include "base/mem.h"

#define RETRY_ASK_US US_PER_S
#define RETRY_DISK_US (5 * US_PER_S)
/* Watches that bring nothing are not begun one upon the other. */
#define VAIN_PAUSE_MAX_US (8 * US_PER_S)
/* A member tells something each second. */
#define STALLED_US (10 * US_PER_S)
#define SEGMENT_BYTES_MIN ((uint64_t) 1 << 20)
#define SEGMENT_BYTES_MAX ((uint64_t) 64 << 20)
#define SEGMENT_MIN_US US_PER_S
#define SEGMENT_MAX_US (3600 * US_PER_S)

static const struct fsm_state states[] = {
    [RECORDER_OPENING] = {"opening", FSM_TO(RECORDER_ASKING) | FSM_TO(RECORDER_FAILED)},
    [RECORDER_ASKING] = {"asking", FSM_TO(RECORDER_WATCHING) | FSM_TO(RECORDER_FAILED)},
    [RECORDER_WATCHING] = {"recording", FSM_TO(RECORDER_ASKING) | FSM_TO(RECORDER_FULL) |
                                            FSM_TO(RECORDER_FAILED)},
    [RECORDER_FULL] = {"waiting for the disk", FSM_TO(RECORDER_ASKING) | FSM_TO(RECORDER_FAILED)},
    [RECORDER_FAILED] = {"failed", FSM_TO(RECORDER_OPENING)},
};

/* --- states --- */

static void arm(struct recorder *r, int64_t after_us)
{
	ev_timer_stop(r->options.ev, &r->timer);
	ev_timer_set(&r->timer, mono_to_ev(after_us), 0.);
	ev_timer_start(r->options.ev, &r->timer);
}

static int64_t vain_pause_us(const struct recorder *r)
{
	if (r->n_vain < 2)
		return 0;
	return MIN(US_PER_S << MIN(r->n_vain - 2, 4U), VAIN_PAUSE_MAX_US);
}

/* The one writer of the state: what the old one had under way is over. */
void recorder_change_state(struct recorder *r, enum recorder_state state, const char *reason)
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
		arm(r, vain_pause_us(r));
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

void recorder_break_chain(struct recorder *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void) vsnprintf(r->broken, sizeof(r->broken), fmt, ap);
	va_end(ap);
}

void recorder_complain(struct recorder *r, const char *event, const char *reason)
{
	unsigned suppressed;

	(void) snprintf(r->error, sizeof(r->error), "%s", reason);
	if (log_ratelimit_allow(&r->complaints, mono_now_us(), &suppressed))
		log_warning(event, "directory=%s reason=\"%s\"", r->options.directory, reason);
}

const char *recorder_member_name(const struct recorder *r, uint64_t id)
{
	const struct view_member *m = view_find(&r->view, id);

	return m != NULL ? m->name : "";
}

/* --- frames --- */

void recorder_put(struct recorder *r, const struct record_frame *frame)
{
	/* Of a frame that is too large a watch tells nothing: it holds back less. */
	if (recordwriter_put(r->writer, frame) < 0)
		log_error("record_frame_too_large", "rev=%" PRId64, frame->revision);
}

static void lease_cb(int64_t id, int64_t ttl_s, void *userdata)
{
	struct recorder *r = userdata;

	if (r->state == RECORDER_WATCHING)
		recorder_put(
		    r, &(struct record_frame){
		           .type = RECORD_LEASE, .lease = id, .ttl_s = ttl_s, .wall_us = wall_now_us()});
}

static void hash_cb(const struct recordhash_answer *answer, void *userdata)
{
	struct recorder *r = userdata;

	if (r->state != RECORDER_WATCHING)
		return;
	recorder_put(r, &(struct record_frame){.type = RECORD_HASH,
	                                       .revision = answer->revision,
	                                       .compact_revision = answer->compact_revision,
	                                       .wall_us = wall_now_us(),
	                                       .member_id = answer->member_id,
	                                       .hash = answer->hash});
	recordhistory_set_hash(
	    r->history, &(struct recordhistory_hash){.revision = answer->revision,
	                                             .compact_revision = answer->compact_revision,
	                                             .hash = answer->hash});
	r->n_hashes++;
	r->hash_revision = answer->revision;
}

/* --- chains --- */

static void begin_writing(struct recorder *r, bool begins)
{
	const struct recordwriter_chain chain = {
	    .cluster_id = r->cluster_id,
	    .member_id = r->member_id,
	    .member = recorder_member_name(r, r->member_id),
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
	recorder_put(r, &(struct record_frame){.type = RECORD_GAP,
	                                       .revision = gap->first,
	                                       .last_lost = gap->last,
	                                       .wall_us = gap->wall_us,
	                                       .reason = bytes_of_text(gap->reason)});
	recordwriter_close(r->writer);
	recordhash_forget(r->hash);
	recordleases_forget(r->leases);
	r->has_chain = false;
}

void recorder_ask_for_base(struct recorder *r)
{
	int64_t now_us = mono_now_us();
	int64_t newest = r->callbacks->base_revision(r->cluster_id, r->userdata);

	if (recordbase_is_due(&r->base, newest, now_us))
		recordbase_asked(&r->base, r->callbacks->needs_snapshot(r->base.revision, r->userdata),
		                 now_us);
}

/* Where another node takes the snapshots, none of this one's gets newer by itself. */
static void renew_base(struct recorder *r)
{
	if (!recordwriter_figures(r->writer).is_held)
		return;
	recordbase_renew(&r->base, r->last, r->callbacks->base_revision(r->cluster_id, r->userdata),
	                 mono_now_us());
	recorder_ask_for_base(r);
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
	recordhistory_free(r->history);
	r->history = recordhistory_new();
	r->compare_from = 0;
	r->has_chain = true;
	begin_writing(r, true);
	log_notice("record_begins", "rev=%" PRId64 " cluster_id=%016" PRIx64 " directory=%s",
	           revision + 1, cluster_id, r->options.directory);
	if (r->compacted > 0)
		recorder_put(r, &(struct record_frame){.type = RECORD_COMPACTED,
		                                       .revision = r->compacted,
		                                       .wall_us = wall_now_us()});
	recordbase_begin(&r->base, revision);
	recorder_ask_for_base(r);
}

/* --- asking --- */

void recorder_settle(struct recorder *r)
{
	uint64_t cluster_id = r->seen_cluster;
	int64_t revision = r->seen_revision, start = revision;

	if (r->has_chain && !r->is_begun)
		begin_writing(r, false);
	if (r->has_chain && cluster_id != r->cluster_id) {
		r->lost_to = 0;
		recorder_break_chain(r, "another cluster answers: %016" PRIx64, cluster_id);
	} else if (r->has_chain && revision < r->last) {
		r->lost_to = 0;
		recorder_break_chain(r, "etcd went back to revision %" PRId64, revision);
	} else if (r->broken[0] != '\0' && r->lost_to > 0) {
		start = MIN(r->lost_to, revision);
		r->lost_to = start > r->last ? start : 0;
	}
	if (r->has_chain && r->broken[0] != '\0')
		end_chain(r);
	if (!r->has_chain)
		begin_chain(r, cluster_id, start);
	r->broken[0] = '\0';
	r->lost_to = r->compacted = 0;
	r->error[0] = '\0';
	recorder_start_watch(r);
}

void recorder_ask_again(struct recorder *r, const char *reason)
{
	recorder_complain(r, "record_waits", reason);
	arm(r, RETRY_ASK_US);
}

static void read_cb(const struct etcd_outcome *outcome,
                    const struct etcd_range_result *result UNUSED, void *userdata)
{
	struct recorder *r = userdata;

	r->reading = NULL;
	if (outcome->r < 0) {
		recorder_ask_again(r, outcome->text);
		return;
	}
	r->seen_cluster = outcome->cluster_id;
	r->seen_revision = outcome->revision;
	recorder_compare(r);
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
		recorder_change_state(r, RECORDER_ASKING, "room");
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct recorder *r = CONTAINER_OF(w, struct recorder, timer);

	switch (r->state) {
	case RECORDER_FAILED:
		recorder_change_state(r, RECORDER_OPENING, "again");
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

/* --- the disk --- */

/* Where no chain goes on, the GAP has a segment that begins where the lost one did. */
static void lose_segment(struct recorder *r, const struct record_header *lost)
{
	char name[RECORD_NAME_MAX];

	if (!r->has_chain) {
		r->has_chain = true;
		r->cluster_id = lost->cluster_id;
		r->last = lost->first_revision - 1;
		begin_writing(r, true);
	}
	recorder_break_chain(r, "the segment %s was damaged, and is set aside",
	                     record_name(lost, name));
}

static void opened_cb(struct recordwriter_found *found, void *userdata)
{
	struct recorder *r = userdata;

	if (found->damage[0] != '\0')
		log_warning("record_damaged", "reason=\"%s\"", found->damage);
	if (found->n_cut > 0)
		log_info("record_cut", "directory=%s bytes=%" PRIu64, r->options.directory, found->n_cut);
	r->has_chain = found->has_chain;
	r->cluster_id = found->cluster_id;
	r->last = found->last_revision;
	recordhistory_free(r->history);
	r->history = found->history != NULL ? TAKE_PTR(found->history) : recordhistory_new();
	r->broken[0] = '\0';
	r->lost_to = r->compacted = r->missing = r->compare_from = 0;
	if (r->has_chain) {
		recordbase_go_on(&r->base, recordwriter_figures(r->writer).first_revision - 1);
		log_info("record_found", "rev=%" PRId64 " directory=%s", r->last, r->options.directory);
	}
	if (found->lost.sequence > 0)
		lose_segment(r, &found->lost);
	recorder_change_state(r, RECORDER_ASKING, "opened");
}

static void failed_cb(int code UNUSED, const char *reason, void *userdata)
{
	struct recorder *r = userdata;

	recorder_complain(r, "record_failed", reason);
	recorder_change_state(r, RECORDER_FAILED, reason);
	renew_base(r);
}

static void tell_unsent(struct recorder *r)
{
	uint64_t n = recordwriter_figures(r->writer).n_unsent;

	if (n > r->n_unsent)
		log_error(
		    "record_removed_unsent",
		    "directory=%s segments=%" PRIu64
		    " reason=\"all of the record is more than maxSize, and a target has not got them\"",
		    r->options.directory, n - r->n_unsent);
	r->n_unsent = n;
}

static void closed_cb(void *userdata)
{
	struct recorder *r = userdata;

	if (r->state == RECORDER_WATCHING)
		recordhash_offer(r->hash, r->last, r->member_id);
	tell_unsent(r);
	renew_base(r);
}

static int64_t base_cb(uint64_t cluster_id, void *userdata)
{
	struct recorder *r = userdata;

	return r->callbacks->base_revision(cluster_id, r->userdata);
}

static uint64_t unsent_cb(void *userdata)
{
	struct recorder *r = userdata;

	return r->callbacks->unsent_sequence != NULL ? r->callbacks->unsent_sequence(r->userdata) : 0;
}

/* --- beginning and end --- */

static int make_writer(struct recorder *r)
{
	static const struct recordwriter_callbacks callbacks = {
	    .opened = opened_cb,
	    .failed = failed_cb,
	    .room = room_cb,
	    .closed = closed_cb,
	    .base_revision = base_cb,
	    .unsent_sequence = unsent_cb,
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
	r->history = recordhistory_new();
	r->told_us = mono_now_us();
	r->complaints = (struct log_ratelimit){.interval_us = 60 * US_PER_S, .burst = 1};
	ev_init(&r->timer, timer_cb);
	code = make_writer(r);
	if (code < 0) {
		recordhistory_free(r->history);
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
	recordhistory_free(r->history);
	recordwriter_free(r->writer);
	free(r);
}

/* A watch may be waiting for a member, or for what never comes, and knows nothing of it. */
static const char *error_of(const struct recorder *r)
{
	if (r->error[0] == '\0' && r->state == RECORDER_WATCHING &&
	    mono_now_us() - r->told_us >= STALLED_US)
		return "no member has told anything for 10 s that could be recorded";
	return r->error;
}

void recorder_fill_report(const struct recorder *r, struct recorder_report *ret_report)
{
	*ret_report = (struct recorder_report){
	    .state = states[r->state].name,
	    .directory = r->options.directory,
	    .error = error_of(r),
	    .cluster_id = r->cluster_id,
	    .member = r->state == RECORDER_WATCHING ? recorder_member_name(r, r->member_id) : "",
	    .figures = recordwriter_figures(r->writer),
	    .n_gaps = r->n_gaps,
	    .gap = r->gap,
	    .n_leases = recordleases_count(r->leases),
	    .n_hashes = r->n_hashes,
	    .hash_revision = r->hash_revision,
	};
}
