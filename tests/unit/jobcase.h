/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For the life of a job, state by state, in parts by what befalls it: its state, what is recorded
 * in etcd, and waiting for either, in the world of jobworld.h.
 */

#include "tests/unit/jobworld.h"

#define HOUR_US (3600 * US_PER_S)
#define CLAIMS "p/etcdwatch/j/claim/"
#define DONES "p/etcdwatch/j/done/"
#define TTL_US (15 * US_PER_S)

/* Whoever goes first: etcd's leader is n1, so it is one of the others. */
static struct world_node *const node = &world[1];

static inline UNUSED int64_t now_s(void)
{
	return wall_now_us() / US_PER_S;
}

static inline UNUSED struct job_report report_of(const struct world_node *n)
{
	struct job_report report;

	job_fill_report(n->job, &report);
	return report;
}

static inline UNUSED bool is_in(const struct world_node *n, const char *state)
{
	return strcmp(report_of(n).state, state) == 0;
}

struct wanted {
	const struct world_node *node;
	const char *state;
};

static inline UNUSED bool is_wanted(const void *what)
{
	const struct wanted *w = what;

	return is_in(w->node, w->state);
}

/* Until it is in that state, which it comes to within a minute. */
static inline UNUSED bool comes_to(const struct world_node *n, const char *state)
{
	const struct wanted wanted = {n, state};

	if (CHECK(sim_wait(is_wanted, &wanted, 60 * US_PER_S)))
		return true;
	(void) fprintf(stderr, "  it is '%s' and not '%s'\n", report_of(n).state, state);
	return false;
}

static inline UNUSED const char *done_of(int64_t period_s)
{
	AUTO(free) char *key = xasprintf(DONES "%lld", (long long) period_s);

	return fake_get(key);
}

static inline UNUSED void set_done(int64_t period_s, const char *node_name, const char *id)
{
	AUTO(free) char *key = xasprintf(DONES "%lld", (long long) period_s);
	AUTO(free) char *value = xasprintf("{\"node\":\"%s\",\"id\":\"%s\"}", node_name, id);

	fake_set(key, value);
}

static inline UNUSED bool says(const char *text, const char *part)
{
	return text != NULL && strstr(text, part) != NULL;
}

/* One node alone, at the beginning of an hour. */
static inline UNUSED void begin(enum config_taker taker)
{
	world_begin("0 * * * *", taker);
	world[0].etcd.cut = world[2].etcd.cut = true;
}
