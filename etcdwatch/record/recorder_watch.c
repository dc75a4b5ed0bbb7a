/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Revisions come in their order, each whole: one that is missing, or that is not what was recorded
 * (recorder_watch.c), ends the watch. That a member has gone on without telling shows in its
 * progress.
 */
#include "etcdwatch/record/recorder_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/mono.h"

/* A member may say that it is further than what it has sent; for so many seconds. */
#define AHEAD_MAX 10
/* It may be busy for so long with what it is asked for: nothing hangs on it. */
#define PATIENCE_US (5 * US_PER_S)
/* One that is behind is not recorded from. */
#define BEHIND_MAX 5
#define BEHIND_PAUSE_US (60 * US_PER_S)

/* A revision that is lost, unless another watch has it. */
static void miss(struct recorder *r, int64_t first, int64_t last)
{
	if (r->missing == first) {
		r->lost_to = last;
		recorder_break_chain(r, "the watch left them out twice");
	}
	r->missing = first;
	recorder_change_state(r, RECORDER_ASKING, "revisions are missing");
}

static void take_revision(struct recorder *r, const struct record_event *events, size_t n,
                          int64_t revision)
{
	if (!recorder_compare_revision(r, revision, events, n) || revision <= r->last)
		return;
	if (revision > r->last + 1) {
		miss(r, r->last + 1, revision - 1);
		return;
	}
	recorder_put(r, &(struct record_frame){.type = RECORD_EVENTS,
	                                       .revision = revision,
	                                       .wall_us = wall_now_us(),
	                                       .events = events,
	                                       .n_events = n});
	r->told_us = mono_now_us();
	r->last = revision;
	recordhistory_add(r->history, revision, events, n);
	r->compare_next = revision + 1;
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

	r->n_ahead = r->n_behind = r->n_vain = 0;
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
		recorder_complain(r, "record_disk_slow", "too much waits for the disk");
		recorder_change_state(r, RECORDER_FULL, "too much waits for the disk");
	}
}

static void leave_behind(struct recorder *r)
{
	r->behind_member = r->member_id;
	r->behind_us = mono_now_us();
	recorder_change_state(r, RECORDER_ASKING, "the member is behind");
}

static void progress_cb(int64_t revision, void *userdata)
{
	struct recorder *r = userdata;

	r->n_vain = 0;
	recorder_ask_for_base(r);
	/* What was recorded last must still come, from a member that has got so far. */
	r->n_ahead = revision > r->last || (recorder_is_comparing(r) && revision == r->last)
	                 ? r->n_ahead + 1
	                 : 0;
	r->n_behind = revision < r->last ? r->n_behind + 1 : 0;
	if (r->n_behind > BEHIND_MAX) {
		leave_behind(r);
	} else if (recorder_is_comparing(r)) {
		if (r->n_ahead > AHEAD_MAX)
			(void) recorder_compare_revision(r, r->last + 1, NULL, 0);
	} else if (r->n_ahead > AHEAD_MAX) {
		miss(r, r->last + 1, revision);
	} else if (revision == r->last) {
		r->told_us = mono_now_us();
		recorder_put(r, &(struct record_frame){.type = RECORD_PROGRESS,
		                                       .revision = revision,
		                                       .wall_us = wall_now_us()});
	}
}

static void compacted_cb(int64_t revision, void *userdata)
{
	struct recorder *r = userdata;

	/* What is left of the recorded revisions can still be compared. */
	if (revision <= r->last && revision > r->compare_first) {
		r->compare_from = revision;
		r->n_vain = 0;
		recorder_change_state(r, RECORDER_ASKING, "some recorded revisions are compacted");
		return;
	}
	r->compacted = MAX(revision, r->last + 1);
	r->lost_to = r->compacted;
	recorder_break_chain(r, "etcd has compacted them before they were seen");
	recorder_change_state(r, RECORDER_ASKING, "compacted");
}

static void too_large_cb(int64_t revision, void *userdata)
{
	struct recorder *r = userdata;

	r->lost_to = MAX(revision, r->last + 1);
	recorder_break_chain(r, "revision %" PRId64 " has more than 64 MiB, which a watch cannot hold",
	                     revision);
	recorder_change_state(r, RECORDER_ASKING, "a revision is too large");
}

static void live_cb(bool live, void *userdata)
{
	struct recorder *r = userdata;
	uint64_t member = etcd_watch_member(r->watch);

	if (!live) {
		recorder_change_state(r, RECORDER_ASKING, "the stream broke");
		return;
	}
	if (member != r->member_id) {
		r->member_id = member;
		recordwriter_set_member(r->writer, member, recorder_member_name(r, member));
	}
	log_info("record_live", "rev=%" PRId64 " member=%s", r->last, recorder_member_name(r, member));
}

static bool is_behind(const struct recorder *r, const struct view_member *m)
{
	return m->id == r->behind_member && mono_now_us() - r->behind_us < BEHIND_PAUSE_US;
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

void recorder_start_watch(struct recorder *r)
{
	static const struct etcd_watch_callbacks callbacks = {
	    .events = events_cb,
	    .compacted = compacted_cb,
	    .too_large = too_large_cb,
	    .live = live_cb,
	    .progress = progress_cb,
	};
	const struct view_member *local = local_member(r);
	const struct view_member *behind = view_find(&r->view, r->behind_member);
	int64_t start = recorder_compare_start(r);

	r->n_ahead = r->n_behind = 0;
	r->n_vain++;
	recorder_change_state(r, RECORDER_WATCHING, "");
	(void) etcd_watch_new(r->options.etcd, ETCD_STR(""), true, MAX(start, INT64_C(1)), &callbacks,
	                      r, &r->watch);
	etcd_watch_be_patient(r->watch, PATIENCE_US);
	if (behind != NULL && behind->answers && is_behind(r, behind))
		etcd_watch_avoid(r->watch, behind->endpoint);
	if (local != NULL && !is_behind(r, local))
		etcd_watch_prefer(r->watch, local->endpoint);
}

/* --- recorder_compare --- */

/*
 * Whether etcd still has the history that is recorded. After each interruption, before a watch
 * begins: the keys that were written earlier, as of the last recorded revision, and the last
 * recorded HashKV. Then the watch sends the last recorded revisions again. What etcd has compacted
 * is not compared; an error of etcd proves nothing.
 */

/* A value that the other history has may be as large as a request, 1.5 MiB: all of one answer fit
 * into what the client takes. */
#define KEYS_AT_ONCE 8

static bool can_compare(const struct recorder *r)
{
	return r->has_chain && r->broken[0] == '\0' && r->seen_cluster == r->cluster_id &&
	       r->seen_revision >= r->last && recordhistory_last(r->history) == r->last;
}

/* --- HashKV --- */

static void hash_checked_cb(const struct recordhash_answer *answer, void *userdata)
{
	struct recorder *r = userdata;
	struct recordhistory_hash recorded = recordhistory_hash(r->history);

	if (answer != NULL && answer->compact_revision == recorded.compact_revision &&
	    answer->hash != recorded.hash)
		recorder_break_chain(r,
		                     "the history changed: at revision %" PRId64 " etcd has the HashKV %u, "
		                     "and %u is recorded",
		                     recorded.revision, answer->hash, recorded.hash);
	recorder_settle(r);
}

static void compare_hash(struct recorder *r)
{
	struct recordhistory_hash recorded = recordhistory_hash(r->history);

	if (recorded.revision == 0 || r->broken[0] != '\0' ||
	    !recordhash_check(r->hash, recorded.revision, r->member_id, hash_checked_cb))
		recorder_settle(r);
}

/* --- keys --- */

static bool key_fits(const struct recordhistory_key *key, const struct etcd_range_result *range)
{
	const struct etcd_kv *kv = range->kvs;
	struct record_event seen;

	if (range->n_kvs != 1 || kv->mod_revision != key->revision)
		return false;
	seen = (struct record_event){
	    .key = {.data = kv->key.data, .len = kv->key.len},
	    .create_revision = kv->create_revision,
	    .version = kv->version,
	    .lease = kv->lease,
	    .value = {.data = kv->value.data, .len = kv->value.len},
	};
	return record_event_sum(&seen, 1).puts == key->sum;
}

static void compare_keys(struct recorder *r);

static void take_keys(struct recorder *r, const struct etcd_txn_result *result)
{
	const struct recordhistory_key *keys;
	size_t n = recordhistory_keys(r->history, &keys);

	for (size_t i = 0; i < result->n_results && r->n_compared < n; i++) {
		const struct recordhistory_key *key = &keys[r->n_compared++];

		if (key_fits(key, &result->results[i].range))
			continue;
		recorder_break_chain(r,
		                     "the history changed: a key that was written at revision %" PRId64
		                     " is not what was recorded",
		                     key->revision);
		recorder_settle(r);
		return;
	}
	compare_keys(r);
}

static void keys_cb(const struct etcd_outcome *outcome, const struct etcd_txn_result *result,
                    void *userdata)
{
	struct recorder *r = userdata;

	r->reading = NULL;
	if (outcome->r == 0 && outcome->cluster_id != r->cluster_id) {
		recorder_ask_again(r, "another cluster answered meanwhile");
	} else if (outcome->r == 0 && result->n_results > 0) {
		take_keys(r, result);
	} else if (outcome->r == 0 || outcome->r == -ESTALE || outcome->r == -EPROTO) {
		log_info("record_not_compared", "rev=%" PRId64 " reason=\"%s\"", r->last, outcome->text);
		compare_hash(r);
	} else {
		recorder_ask_again(r, outcome->text);
	}
}

static void compare_keys(struct recorder *r)
{
	struct etcd_op ops[KEYS_AT_ONCE] = {0};
	const struct recordhistory_key *keys;
	size_t n = MIN(recordhistory_keys(r->history, &keys) - r->n_compared, (size_t) KEYS_AT_ONCE);
	const struct etcd_txn txn = {.success = ops, .n_success = n};

	if (n == 0) {
		compare_hash(r);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const struct recordhistory_key *key = &keys[r->n_compared + i];

		ops[i] = (struct etcd_op){.kind = ETCD_OP_RANGE,
		                          .key = {.data = key->name, .len = key->name_len},
		                          .revision = r->last};
	}
	if (etcd_txn(r->options.etcd, &txn, keys_cb, r, &r->reading) < 0)
		recorder_ask_again(r, "etcd cannot be asked for keys");
}

void recorder_compare(struct recorder *r)
{
	r->n_compared = 0;
	if (can_compare(r))
		compare_keys(r);
	else
		recorder_settle(r);
}

/* --- revisions --- */

int64_t recorder_compare_start(struct recorder *r)
{
	int64_t first = recordhistory_first(r->history);

	r->compare_next = first > 0 ? MAX(first, r->compare_from) : r->last + 1;
	r->compare_first = r->compare_next;
	return r->compare_next;
}

bool recorder_is_comparing(const struct recorder *r)
{
	return r->compare_next <= r->last;
}

static bool fits(const struct recorder *r, int64_t revision, const struct record_event *events,
                 size_t n)
{
	return recordhistory_fits(r->history, revision, events, n, revision == r->compare_first);
}

bool recorder_compare_revision(struct recorder *r, int64_t revision,
                               const struct record_event *events, size_t n)
{
	while (recorder_is_comparing(r) && r->compare_next < revision &&
	       fits(r, r->compare_next, NULL, 0))
		r->compare_next++;
	if (!recorder_is_comparing(r))
		return true;
	if (r->compare_next == revision && fits(r, revision, events, n)) {
		r->compare_next++;
		return true;
	}
	recorder_break_chain(r, "the history changed: revision %" PRId64 " is not what was recorded",
	                     r->compare_next);
	recorder_change_state(r, RECORDER_ASKING, "the history changed");
	return false;
}
