/* SPDX-License-Identifier: Apache-2.0 */
/* A page as etcd writes it, pages that are damaged, and the percentile between two. */
#include "etcdwatch/rules/pagefigures.h"

#include <math.h>

#include "base/macro.h"
#include "tests/unit/check.h"

/* As etcd 3.5 has it, shortened. */
static const char page[] =
    "# HELP etcd_disk_wal_fsync_duration_seconds The latency distributions of fsync.\n"
    "# TYPE etcd_disk_wal_fsync_duration_seconds histogram\n"
    "etcd_disk_wal_fsync_duration_seconds_bucket{le=\"0.001\"} 10\n"
    "etcd_disk_wal_fsync_duration_seconds_bucket{le=\"0.002\"} 1900\n"
    "etcd_disk_wal_fsync_duration_seconds_bucket{le=\"8.192\"} 2000\n"
    "etcd_disk_wal_fsync_duration_seconds_bucket{le=\"+Inf\"} 2000\n"
    "etcd_disk_wal_fsync_duration_seconds_sum 3.5\n"
    "etcd_disk_wal_fsync_duration_seconds_count 2000\n"
    "etcd_disk_backend_commit_duration_seconds_bucket{le=\"0.001\"} 0\n"
    "etcd_disk_backend_commit_duration_seconds_bucket{le=\"+Inf\"} 7\n"
    "etcd_server_proposals_failed_total 3\n"
    "etcd_server_quota_backend_bytes 2.147483648e+09\n"
    "process_start_time_seconds 1.79529300012e+09\n"
    "etcd_network_peer_round_trip_time_seconds_bucket{To=\"a b\",le=\"0.0001\"} 0\n";

static void test_page(void)
{
	struct pagefigures f;

	CHECK(pagefigures_read(page, strlen(page), &f));
	CHECK_EQ_INT(f.fsync.n, 4);
	CHECK(f.fsync.bounds_s[1] > 0.0019 && f.fsync.bounds_s[1] < 0.0021);
	CHECK_EQ_INT(f.fsync.counts[1], 1900);
	CHECK(isinf(f.fsync.bounds_s[3]));
	CHECK_EQ_INT(f.commit.n, 2);
	CHECK_EQ_INT(f.commit.counts[1], 7);
	CHECK(f.has_failed && f.proposals_failed == 3);
	CHECK(f.has_quota && f.quota_bytes == INT64_C(2147483648));
	CHECK(f.started_s > 1795293000.1 && f.started_s < 1795293000.2);
}

#define BUCKET "etcd_disk_wal_fsync_duration_seconds_bucket"

static const struct {
	const char *text;
	size_t n; /* buckets */
} damaged[] = {
    {"", 0},
    {"\n\n", 0},
    {"hello\n", 0},
    {BUCKET "{le=\"1\"} 5\n", 0}, /* cut off */
    {BUCKET "{le=\"1\"} 5\n" BUCKET "{le=\"+Inf\"} 5", 2},
    {BUCKET "{le=\"1\"} 5\n" BUCKET "{le=\"0.5\"} 6\n" BUCKET "{le=\"+Inf\"} 6\n", 2},
    {BUCKET "{le=\"1\"} 5\n" BUCKET "{le=\"2\"} 4\n" BUCKET "{le=\"+Inf\"} 6\n", 2},
    {BUCKET "{le=\"1\"} -5\n" BUCKET "{le=\"x\"} 6\n" BUCKET "{le=\"+Inf\"} 1e300\n", 0},
    {BUCKET "{le=\"1\"} nan\n" BUCKET "{le=\"+Inf\"} 6 7\n", 0},
    {BUCKET "{le=\"1} 5\n" BUCKET " 5\n" BUCKET "{} 5\n", 0},
    {BUCKET " {le=\"1\" } 5\n", 0},
    {" {=", 0},
};

static void test_damaged(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(damaged); i++) {
		struct pagefigures f = {0};
		bool any = pagefigures_read(damaged[i].text, strlen(damaged[i].text), &f);

		if (!CHECK_EQ_INT(f.fsync.n, damaged[i].n) || !CHECK(any == (damaged[i].n > 0)))
			(void) fprintf(stderr, "  row %zu\n", i);
	}
}

/* More buckets than we keep are none at all. */
static void test_many(void)
{
	char text[8192];
	struct pagefigures f = {0};
	size_t len = 0;

	for (int i = 1; i <= PAGEFIGURES_BUCKETS_MAX; i++)
		len += (size_t) snprintf(text + len, sizeof(text) - len, BUCKET "{le=\"%d\"} 1\n", i);
	len += (size_t) snprintf(text + len, sizeof(text) - len, BUCKET "{le=\"+Inf\"} 1\n");
	CHECK(!pagefigures_read(text, len, &f));
}

static const struct {
	uint64_t before[4], after[4];
	uint64_t n_least;
	double least, most; /* seconds; most 0: it cannot be told */
} rows[] = {
    {{0, 0, 0, 0}, {100, 100, 100, 100}, 1, 0.98, 1.0},
    {{5, 5, 5, 5}, {105, 105, 105, 105}, 100, 0.98, 1.0},
    {{5, 5, 5, 5}, {105, 105, 105, 105}, 101, 0, 0},
    {{0, 0, 0, 0}, {98, 100, 100, 100}, 1, 1.4, 1.6},
    {{0, 0, 0, 0}, {0, 0, 100, 100}, 1, 2.9, 4.0},
    {{0, 0, 0, 0}, {0, 0, 0, 100}, 1, 3.9, 4.1},
    {{9, 9, 9, 9}, {9, 9, 9, 9}, 0, 0, 0},
    {{9, 9, 9, 9}, {8, 10, 10, 10}, 1, 0, 0},
};

static void test_p99(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pagefigures_histogram before = {4, {1, 2, 4, INFINITY}, {0}};
		struct pagefigures_histogram after = before;
		double s = 0;
		bool known;

		memcpy(before.counts, rows[i].before, sizeof(rows[i].before));
		memcpy(after.counts, rows[i].after, sizeof(rows[i].after));
		known = pagefigures_p99(&before, &after, rows[i].n_least, &s);
		if (!CHECK(known == (rows[i].most > 0)) ||
		    !CHECK(!known || (s >= rows[i].least && s <= rows[i].most)))
			(void) fprintf(stderr, "  row %zu: %f\n", i, s);
		before.bounds_s[1] = 3;
		CHECK(!pagefigures_p99(&before, &after, rows[i].n_least, &s));
	}
}

int main(void)
{
	test_page();
	test_damaged();
	test_many();
	test_p99();
	return check_result();
}
