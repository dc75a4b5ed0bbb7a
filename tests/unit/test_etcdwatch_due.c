/* SPDX-License-Identifier: Apache-2.0 */
/* Periods that begin and end, are done and missed, while the clock runs and jumps. */
#include "etcdwatch/take/due.h"

#include "base/macro.h"
#include "base/mono.h"
#include "tests/unit/check.h"

#define HOUR INT64_C(3600)
#define T (INT64_C(500000) * HOUR)

static struct config_job new_job(int64_t jitter_us)
{
	static char name[] = "hourly";
	struct config_job job = {.name = name, .jitter_us = jitter_us};
	char error[SCHEDULE_ERROR_MAX];

	CHECK_EQ_INT(schedule_parse("0 * * * *", &job.schedule, error), 0);
	CHECK_EQ_INT(zone_load(NULL, "UTC", &job.zone), 0);
	return job;
}

static void test_periods(void)
{
	struct config_job job = new_job(0);
	struct due due = {0};

	/* What is under way is due at once, also in the middle of it. */
	CHECK_EQ_INT(due_look(&due, &job, T + 1800), DUE_SAME);
	CHECK_EQ_INT(due.period_s, T);
	CHECK_EQ_INT(due.next_s, T);
	CHECK(!due_is_done(&due));
	due_done(&due);
	CHECK_EQ_INT(due_look(&due, &job, T + 1900), DUE_SAME);
	CHECK_EQ_INT(due.next_s, T + HOUR);
	CHECK(due_is_done(&due));
	/* The next one, to the second. */
	CHECK_EQ_INT(due_look(&due, &job, T + HOUR - 1), DUE_SAME);
	CHECK_EQ_INT(due_look(&due, &job, T + HOUR), DUE_NEW);
	CHECK_EQ_INT(due.next_s, T + HOUR);
	/* It goes by without one. */
	CHECK_EQ_INT(due_look(&due, &job, T + 2 * HOUR), DUE_NEW_MISSED);
	CHECK_EQ_INT(due.next_s, T + 2 * HOUR);
	zone_free(job.zone);
}

static void test_clock(void)
{
	struct config_job job = new_job(0);
	struct due due = {0};

	/* The clock was a year ahead when one was taken: that stops nothing now. */
	CHECK_EQ_INT(due_look(&due, &job, T + 8760 * HOUR), DUE_SAME);
	due_done(&due);
	CHECK_EQ_INT(due_look(&due, &job, T), DUE_NEW);
	CHECK_EQ_INT(due.next_s, T);
	/* Set back within the period, nothing is due again. */
	due_done(&due);
	CHECK_EQ_INT(due_look(&due, &job, T + 3000), DUE_SAME);
	CHECK_EQ_INT(due_look(&due, &job, T + 10), DUE_SAME);
	CHECK_EQ_INT(due.next_s, T + HOUR);
	zone_free(job.zone);
}

static void test_done_at(void)
{
	struct config_job job = new_job(0);
	struct due due = {0};

	/* One of this period was found. */
	due_done_at(&due, &job, T + 100);
	CHECK_EQ_INT(due_look(&due, &job, T + 1800), DUE_SAME);
	CHECK(due_is_done(&due));
	/* One of the period before. */
	due = (struct due){0};
	due_done_at(&due, &job, T - 1);
	CHECK_EQ_INT(due_look(&due, &job, T + 1800), DUE_SAME);
	CHECK(!due_is_done(&due));
	zone_free(job.zone);
}

static void test_jitter(void)
{
	struct config_job job = new_job(600 * US_PER_S);
	struct due due = {0};
	int64_t least = HOUR, most = 0;

	for (int64_t i = 0; i < 200; i++) {
		int64_t late;
		struct due again = {0};

		(void) due_look(&due, &job, T + i * HOUR);
		(void) due_look(&again, &job, T + i * HOUR + 3000);
		late = due.next_s - due.period_s;
		CHECK_EQ_INT(again.next_s, due.next_s); /* the same whenever it is asked */
		least = MIN(least, late);
		most = MAX(most, late);
	}
	CHECK(least >= 0 && least < 60);
	CHECK(most <= 600 && most > 540);
	zone_free(job.zone);
}

static void test_retry(void)
{
	static const struct {
		unsigned failures;
		int64_t s;
	} cases[] = {{1, 5}, {2, 10}, {3, 20}, {6, 160}, {7, 300}, {8, 300}, {4000000000u, 300}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_EQ_INT(due_retry_us(cases[i].failures), cases[i].s * US_PER_S);
}

int main(void)
{
	test_periods();
	test_clock();
	test_done_at();
	test_jitter();
	test_retry();
	return check_result();
}
