/* SPDX-License-Identifier: Apache-2.0 */
/* Of a chain that has just begun nothing that is known counts, so it is asked for at once. */
#include "etcdwatch/record/recordbase.h"

#include <string.h>

#include "base/macro.h"
#include "base/mono.h"

/* It has the second alone in which it was begun. */
bool recordbase_fits(int64_t started_s, int64_t revision, const struct recordbase_chain *chain)
{
	return (started_s + 1) * US_PER_S > chain->first_us ||
	       revision + chain->begins < chain->first_revision;
}

static void start(struct recordbase *b, enum recordbase_state state, int64_t revision)
{
	*b = (struct recordbase){
	    .state = state,
	    .revision = revision,
	    .due_us = INT64_MIN,
	    .pause_us = RECORDBASE_AGAIN_US,
	    .renew_due_us = b->renew_due_us,
	};
}

void recordbase_begin(struct recordbase *b, int64_t revision)
{
	start(b, RECORDBASE_WANTED, revision);
}

void recordbase_go_on(struct recordbase *b, int64_t revision)
{
	start(b, RECORDBASE_UNKNOWN, revision);
}

void recordbase_renew(struct recordbase *b, int64_t revision, int64_t newest, int64_t now_us)
{
	bool has_one = b->state == RECORDBASE_NONE || newest >= b->revision;

	if (b->state == RECORDBASE_WANTED || !has_one || now_us < b->renew_due_us)
		return;
	b->renew_due_us = now_us + RECORDBASE_PAUSE_MAX_US;
	start(b, RECORDBASE_WANTED, revision);
}

bool recordbase_is_due(struct recordbase *b, int64_t newest, int64_t now_us)
{
	switch (b->state) {
	case RECORDBASE_NONE:
	case RECORDBASE_ASKED:
		return false;
	case RECORDBASE_UNKNOWN:
		if (newest > 0 && newest >= b->revision) {
			b->state = RECORDBASE_NONE;
			return false;
		}
		break;
	case RECORDBASE_WANTED:
		break;
	}
	return now_us >= b->due_us;
}

void recordbase_asked(struct recordbase *b, bool is_taken, int64_t now_us)
{
	if (is_taken)
		b->state = RECORDBASE_ASKED;
	else
		b->due_us = now_us + RECORDBASE_AGAIN_US;
}

void recordbase_failed(struct recordbase *b, int64_t now_us)
{
	/* It was for another chain: this one's is asked for anyway. */
	if (b->state != RECORDBASE_ASKED)
		return;
	b->state = RECORDBASE_WANTED;
	b->due_us = now_us + b->pause_us;
	b->pause_us = MIN(2 * b->pause_us, RECORDBASE_PAUSE_MAX_US);
}

/* --- recordchain --- */

/* Only the oldest may go, one after the other, or a chain would be torn in the middle: the first
 * one that must stay keeps all behind it. */

bool recordchain_goes_on(const struct record_segment *before, const struct record_segment *next)
{
	return before->closed && before->header.cluster_id == next->header.cluster_id &&
	       before->header.sequence + 1 == next->header.sequence &&
	       before->last_revision + 1 == next->header.first_revision &&
	       memcmp(before->digest, next->header.previous, sizeof(before->digest)) == 0;
}

size_t recordchain_newest(const struct record_segment *segments, size_t n)
{
	size_t first = n > 0 ? n - 1 : 0;

	while (first > 0 && recordchain_goes_on(&segments[first - 1], &segments[first]))
		first--;
	return first;
}

size_t recordchain_count(const struct record_segment *segments, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += i == 0 || !recordchain_goes_on(&segments[i - 1], &segments[i]);
	return count;
}

static bool is_needed(const struct record_segment *segment, const struct recordchain_rules *rules)
{
	return rules->base_revision > 0 && segment->header.cluster_id == rules->base_cluster_id &&
	       segment->last_revision > rules->base_revision;
}

struct recordchain_drop recordchain_drop(const struct record_segment *segments, size_t n,
                                         const struct recordchain_rules *rules)
{
	struct recordchain_drop drop = {0};
	uint64_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += segments[i].bytes;
	while (drop.n + 1 < n) {
		const struct record_segment *s = &segments[drop.n];
		bool is_sent = rules->unsent_sequence == 0 || s->header.sequence < rules->unsent_sequence;
		bool is_old = s->closed && is_sent && s->end_us < rules->now_us - rules->keep_us;

		if (!is_old && bytes <= rules->max_bytes)
			return drop;
		drop.is_held = is_needed(s, rules);
		if (drop.is_held)
			break;
		bytes -= s->bytes;
		drop.n++;
		drop.n_unsent += !is_sent;
	}
	drop.is_too_much = bytes > rules->max_bytes;
	return drop;
}
