/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of probes and two passes over it. Each probe runs until it has succeeded or its own time
 * is up, and begins anew as long as the pass lasts. A pass ends when all that it needs have
 * succeeded, or with its time.
 */
#include "netconf/probe/probe.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "netconf/probe/probe_priv.h"

#define LEARN_US (5 * US_PER_S)
/* The first look is soon: most of what answers at all does so at once. */
#define POLL_MIN_S 0.005
#define POLL_MAX_S 0.05

enum pass {
	PASS_NONE,
	PASS_LEARN,
	PASS_JUDGE,
};

struct probes {
	struct ev_loop *ev;
	const struct config *config;
	struct probe *list;
	size_t n;
	enum pass pass;
	int64_t deadline_us;
	ev_timer poll;
	probes_known_fn known;
	probes_judged_fn judged;
	void *userdata;
	char lost[512];
};

int probes_new(const struct probe_host *host, const struct config *config,
               struct probes **ret_probes)
{
	struct probes *probes = NEW0(struct probes);

	probes->ev = host->ev;
	probes->config = config;
	probe_make_list(host, config, &probes->list, &probes->n);
	*ret_probes = probes;
	return 0;
}

void probes_free(struct probes *probes)
{
	if (probes == NULL)
		return;
	ev_timer_stop(probes->ev, &probes->poll);
	for (size_t i = 0; i < probes->n; i++) {
		probes->list[i].kind->fini(&probes->list[i]);
		free(probes->list[i].name);
		free(probes->list[i].loss);
	}
	free(probes->list);
	free(probes);
}

/* --- the passes --- */

static void end_learning(struct probes *probes)
{
	size_t n_good = 0;

	for (size_t i = 0; i < probes->n; i++) {
		struct probe *probe = &probes->list[i];

		probe->worked = probe->verdict == PROBE_GOOD;
		n_good += probe->worked;
		log_info("probe_before", "probe=\"%s\" good=%d", probe->name, probe->worked);
	}
	probes->pass = PASS_NONE;
	probes->known(n_good, probes->n, probes->userdata);
}

/* It ended the pass, so that others may not have had the time to answer. */
static bool is_any_hopeless(const struct probes *probes)
{
	for (size_t i = 0; i < probes->n; i++) {
		if (probes->list[i].worked && probes->list[i].verdict == PROBE_LOST)
			return true;
	}
	return false;
}

static void end_judging(struct probes *probes)
{
	bool is_lost = false, is_hopeless = is_any_hopeless(probes);

	for (size_t i = 0; i < probes->n; i++) {
		const struct probe *probe = &probes->list[i];

		if (!probe->worked || probe->verdict == PROBE_GOOD ||
		    (is_hopeless && probe->verdict != PROBE_LOST))
			continue;
		log_warning("probe_lost", "probe=\"%s\"", probe->name);
		if (!is_lost)
			(void) snprintf(probes->lost, sizeof(probes->lost), "%s%s",
			                probe->loss != NULL ? probe->loss : probe->name,
			                probe->loss != NULL ? "" : " no longer answers");
		is_lost = true;
	}
	probes->pass = PASS_NONE;
	probes->judged(is_lost ? probes->lost : NULL, probes->userdata);
}

static bool is_needed(const struct probes *probes, const struct probe *probe)
{
	return probes->pass == PASS_LEARN || probe->worked;
}

static void poll_timer_cb(struct ev_loop *ev, ev_timer *timer, int revents UNUSED)
{
	struct probes *probes = CONTAINER_OF(timer, struct probes, poll);
	int64_t now_us = mono_now_us();
	bool all_good = true, is_hopeless = false;

	for (size_t i = 0; i < probes->n; i++) {
		struct probe *probe = &probes->list[i];

		if (!is_needed(probes, probe) || probe->verdict == PROBE_GOOD)
			continue;
		if (probe->verdict == PROBE_RUNNING)
			probe->verdict = probe->kind->poll(probe, now_us);
		else if (probes->pass == PASS_JUDGE)
			probe->verdict = probe->kind->start(probe, now_us);
		/* One that has failed before the change is not needed after it. */
		if (probe->verdict == PROBE_RUNNING ||
		    (probe->verdict == PROBE_BAD && probes->pass == PASS_JUDGE))
			all_good = false;
		is_hopeless |= probe->verdict == PROBE_LOST;
	}
	if (!all_good && !is_hopeless && now_us < probes->deadline_us) {
		timer->repeat = MIN(timer->repeat * 2, POLL_MAX_S);
		ev_timer_again(ev, timer);
		return;
	}
	ev_timer_stop(ev, timer);
	if (probes->pass == PASS_LEARN)
		end_learning(probes);
	else
		end_judging(probes);
}

static void start(struct probes *probes, enum pass pass, const struct model *have, int64_t limit_us)
{
	int64_t now_us = mono_now_us();

	probes->pass = pass;
	for (size_t i = 0; i < probes->n; i++) {
		struct probe *probe = &probes->list[i];

		if (probe->kind->look != NULL)
			probe->kind->look(probe, have);
		probe->verdict = is_needed(probes, probe) ? probe->kind->start(probe, now_us) : PROBE_BAD;
		limit_us = MAX(limit_us, probe->needs_us);
	}
	probes->deadline_us = now_us + limit_us;
	ev_timer_init(&probes->poll, poll_timer_cb, 0., POLL_MIN_S);
	ev_timer_start(probes->ev, &probes->poll);
}

void probes_learn(struct probes *probes, const struct model *have, probes_known_fn done,
                  void *userdata)
{
	probes->known = done;
	probes->userdata = userdata;
	start(probes, PASS_LEARN, have, LEARN_US);
}

void probes_judge(struct probes *probes, const struct model *have, probes_judged_fn done,
                  void *userdata)
{
	probes->judged = done;
	probes->userdata = userdata;
	start(probes, PASS_JUDGE, have, probes->config->policy.probe_timeout_us);
}
