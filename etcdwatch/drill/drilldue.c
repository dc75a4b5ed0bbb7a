/* SPDX-License-Identifier: Apache-2.0 */
/* The schedule, the catching up, and the pauses behind failures. */
#include "etcdwatch/drill/drilldue.h"

#include "base/macro.h"
#include "base/mono.h"

#define RETRY_MIN_S INT64_C(300)
#define RETRY_MAX_S INT64_C(21600)
#define GRACE_S INT64_C(900)

/* What lies ahead was written while the clock was wrong, and says nothing. */
static int64_t past(int64_t then_s, int64_t now_s)
{
	return then_s <= now_s ? then_s : 0;
}

static int64_t pause_s(unsigned failures)
{
	int64_t s = RETRY_MIN_S;

	for (unsigned i = 1; i < failures && s < RETRY_MAX_S; i++)
		s *= 2;
	return MIN(s, RETRY_MAX_S);
}

/* 0: none is. */
static int64_t wanted_from_s(const struct config_job *job, int64_t since_s, int64_t now_s)
{
	int64_t scheduled_s = schedule_previous(&job->drill.schedule, job->zone, now_s);

	if (scheduled_s >= since_s)
		return scheduled_s;
	return job->catch_up ? since_s : 0;
}

void drilldue_look(const struct config_job *job, const struct drilldue_history *history,
                   int64_t now_s, struct drilldue *ret_due)
{
	int64_t since_s = past(history->since_s, now_s);
	int64_t last_s = past(history->last_s, now_s);
	int64_t good_s = past(history->good_s, now_s);
	int64_t wanted_s = wanted_from_s(job, since_s, now_s);

	*ret_due = (struct drilldue){.next_s = 0};
	if (history->since_s == 0)
		return;
	if (wanted_s == 0 || good_s >= wanted_s) {
		ret_due->next_s = schedule_next(&job->drill.schedule, job->zone, now_s);
		return;
	}
	ret_due->next_s = last_s >= wanted_s ? last_s + pause_s(history->failures) : wanted_s;
	ret_due->is_due = ret_due->next_s <= now_s;
	ret_due->is_overdue = now_s > wanted_s + job->drill.timeout_us / US_PER_S + GRACE_S;
}
