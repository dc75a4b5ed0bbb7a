/* SPDX-License-Identifier: Apache-2.0 */
/* Only the oldest may go, one after the other, or a chain would be torn in the middle: the first
 * one that must stay keeps all behind it. */
#include "etcdwatch/record/recordchain.h"

#include <string.h>

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
