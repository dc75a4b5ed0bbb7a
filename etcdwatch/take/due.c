/* SPDX-License-Identifier: Apache-2.0 */
/* The schedule and the jitter, and what a clock that jumps makes of them. */
#include "etcdwatch/take/due.h"

#include "base/macro.h"
#include "base/mono.h"

#define RETRY_MIN_US (5 * US_PER_S)
#define RETRY_MAX_US (300 * US_PER_S)
#define FNV_OFFSET UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

/* Another one each period, and the same on all nodes, so that the order in which they try stays
 * what it is. */
static int64_t jitter_s(const struct config_job *job, int64_t period_s)
{
	uint64_t hash = FNV_OFFSET;

	for (const char *p = job->name; *p != '\0'; p++)
		hash = (hash ^ (uint8_t) *p) * FNV_PRIME;
	for (unsigned bit = 0; bit < 64; bit += 8)
		hash = (hash ^ (uint8_t) (period_s >> bit)) * FNV_PRIME;
	return (int64_t) ((hash >> 32) % (uint64_t) (job->jitter_us / US_PER_S + 1));
}

int64_t due_next_s(const struct config_job *job, int64_t now_s)
{
	int64_t period_s = schedule_next(&job->schedule, job->zone, now_s);

	return period_s + jitter_s(job, period_s);
}

enum due_news due_look(struct due *due, const struct config_job *job, int64_t now_s)
{
	int64_t period_s = schedule_previous(&job->schedule, job->zone, now_s);
	enum due_news news = DUE_SAME;

	if (due->period_s != 0 && due->period_s != period_s)
		news = due_is_done(due) ? DUE_NEW : DUE_NEW_MISSED;
	due->period_s = period_s;
	/* A period that is done but is another one, also a later one, says nothing of this: the clock
	 * may have been wrong then. */
	due->next_s = due_is_done(due) ? due_next_s(job, now_s) : period_s + jitter_s(job, period_s);
	return news;
}

void due_done(struct due *due)
{
	due->done_s = due->period_s;
}

bool due_is_done(const struct due *due)
{
	return due->period_s != 0 && due->done_s == due->period_s;
}

void due_done_at(struct due *due, const struct config_job *job, int64_t at_s)
{
	due->done_s = schedule_previous(&job->schedule, job->zone, at_s);
}

int64_t due_retry_us(unsigned n_failures)
{
	int64_t us = RETRY_MIN_US;

	for (unsigned i = 1; i < n_failures && us < RETRY_MAX_US; i++)
		us *= 2;
	return MIN(us, RETRY_MAX_US);
}
