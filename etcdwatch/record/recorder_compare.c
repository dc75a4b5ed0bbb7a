/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether etcd still has the history that is recorded. After each interruption, before a watch
 * begins: the keys that were written earlier, as of the last recorded revision, and the last
 * recorded HashKV. Then the watch sends the last recorded revisions again. What etcd has compacted
 * is not compared; an error of etcd proves nothing.
 */
#include "etcdwatch/record/recorder_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

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
