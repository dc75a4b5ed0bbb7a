/* SPDX-License-Identifier: Apache-2.0 */
/* What a job tells of itself. */
#include "etcdwatch/job/job_priv.h"

#include "base/macro.h"

static const char *state_name(const struct job *j)
{
	return j->run != NULL ? run_state_name(j->run) : job_state_name(j);
}

/* The plan is of the last clearing; copies may have been made since. */
static uint64_t count_waiting(const struct job *j, const struct job_report *report)
{
	uint64_t n_pending = 0;

	for (size_t i = 0; i < report->n_targets; i++)
		n_pending = MAX(n_pending, report->targets[i].n_pending);
	return MIN(j->n_waiting, n_pending);
}

void job_fill_report(const struct job *j, struct job_report *ret)
{
	size_t n = store_n(j->store);

	*ret = (struct job_report){
	    .job = j->config->name,
	    .state = state_name(j),
	    .elected = j->config->taker == CONFIG_TAKER_ELECTED,
	    .compares = j->config->verify_hashkv,
	    .next_due_s = j->due.next_s,
	    .period_s = j->due.period_s,
	    .period_done = due_is_done(&j->due),
	    .done_by = j->done_by,
	    .n_snapshots = n,
	    .n_rejected = store_n_rejected(j->store),
	    .error = j->notes.error,
	    .error_s = j->notes.error_s,
	    .frozen = doubt_was_found(j->env->doubt) ? RETAIN_CORRUPT_TEXT : j->shrunk,
	    .last_took_us = j->notes.last_took_us,
	    .n_odd = store_n_odd(j->store),
	    .counts = j->notes.counts,
	};
	for (size_t i = 0; i < n; i++)
		ret->total_bytes += (uint64_t) store_get(j->store, i)->file_bytes;
	for (size_t i = n; i-- > 0 && ret->last_good == NULL;) {
		if (catalog_is_good(store_get(j->store, i)))
			ret->last_good = store_get(j->store, i);
	}
	if (ret->n_odd > 0)
		ret->odd = store_odd(j->store, 0);
	storing_fill_reports(j->storing, ret->targets, &ret->n_targets);
	ret->n_waiting = count_waiting(j, ret);
	if (j->run == NULL)
		return;
	run_progress(j->run, &ret->bytes, &ret->of_bytes);
	ret->doing = *run_doing(j->run);
}
