/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A member's /metrics page, which is Prometheus' text format, read for the few figures that are
 * judged. Pure, and made for a page that may hold anything: a line that makes no sense is passed
 * over. The names are etcd's own (etcd 3.4 to 3.6: server/etcdserver/metrics.go,
 * server/storage/wal/metrics.go, server/storage/backend/metrics.go).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGEFIGURES_BUCKETS_MAX 20

/* Since the member was started; counts are cumulative, as they stand on the page. The last bound
 * is infinite. n 0: it is not on the page, or has more buckets than we keep. */
struct pagefigures_histogram {
	size_t n;
	double bounds_s[PAGEFIGURES_BUCKETS_MAX];
	uint64_t counts[PAGEFIGURES_BUCKETS_MAX];
};

struct pagefigures {
	struct pagefigures_histogram fsync;  /* of the write-ahead log */
	struct pagefigures_histogram commit; /* of the database */
	bool has_failed, has_quota;
	uint64_t proposals_failed;
	int64_t quota_bytes;
	double started_s; /* since 1970-01-01 UTC; 0: not told */
};

/* False: nothing of it is there. `text` need not end in a NUL. */
bool pagefigures_read(const char *text, size_t len, struct pagefigures *ret_figures);

/*
 * What 99 % of those between two readings took at most, in seconds, interpolated within its bucket;
 * the greatest finite bound when it lies above all. False: not the same buckets, a counter that ran
 * backwards, or fewer than `n_least` of them.
 */
bool pagefigures_p99(const struct pagefigures_histogram *before,
                     const struct pagefigures_histogram *after, uint64_t n_least, double *ret_s);
