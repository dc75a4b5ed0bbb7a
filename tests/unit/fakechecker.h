/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A probe process that is none: it writes down what it is asked, and the test answers. Tests that
 * link this do not link prism/checker.c; and a table of upstreams for those who need one.
 */

#include "base/macro.h"
#include "base/mono.h"
#include "prism/checker.h"
#include "prism/upstream.h"
#include "tests/unit/check.h"

#define FAKE_PROBES_MAX 4096

struct fake_probe {
	uint64_t id;
	struct endpoint endpoint;
	int64_t at_us;
};

static struct fake_probe fake_probes[FAKE_PROBES_MAX];
static size_t n_fake_probes;
static UNUSED unsigned n_fake_forgotten;
static bool fake_is_gone; /* there is nobody to ask */

/* Never looked into. */
static struct checker *const fake_checker = (struct checker *) (void *) fake_probes;

bool checker_probe(struct checker *checker, uint64_t id, const struct endpoint *endpoint)
{
	CHECK(checker == fake_checker);
	if (fake_is_gone)
		return false;
	if (n_fake_probes < FAKE_PROBES_MAX)
		fake_probes[n_fake_probes++] =
		    (struct fake_probe){.id = id, .endpoint = *endpoint, .at_us = mono_now_us()};
	return true;
}

void checker_forget(struct checker *checker, const struct endpoint *endpoint UNUSED)
{
	CHECK(checker == fake_checker);
	n_fake_forgotten++;
}

/* --- a table of upstreams --- */

static UNUSED unsigned n_fake_usable, n_fake_unusable, n_fake_verified, n_fake_died;

static inline void fake_usable_cb(bool usable, void *userdata UNUSED)
{
	n_fake_usable += usable;
	n_fake_unusable += !usable;
}

static inline void fake_verified_cb(const struct endpoint *endpoint UNUSED, void *userdata UNUSED)
{
	n_fake_verified++;
}

static inline void fake_died_cb(void *userdata UNUSED)
{
	n_fake_died++;
}

static const struct upstreams_callbacks fake_callbacks = {
    .usable = fake_usable_cb,
    .verified = fake_verified_cb,
    .died = fake_died_cb,
};

static inline UNUSED struct config fake_config(void)
{
	return (struct config){
	    .health = {.enabled = true,
	               .interval_us = 10 * US_PER_S,
	               .quick_us = 2 * US_PER_S,
	               .suspect_us = US_PER_S,
	               .timeout_us = US_PER_S,
	               .rise = 1},
	    .connect = {.hedge_us = 100 * US_PER_MS,
	                .budget_us = US_PER_S,
	                .replay_us = 200 * US_PER_MS,
	                .replay_bytes = 16384},
	    .drain = {.idle_us = 2 * US_PER_S,
	              .spread_us = 10 * US_PER_S,
	              .deadline_us = 300 * US_PER_S},
	    .limits = {.half_closed_us = 60 * US_PER_S},
	};
}

/* All of them configured, so that they are usable at once. */
static inline UNUSED void fake_set_list(struct upstreams *set, const struct endpoint *endpoints,
                                        size_t n)
{
	struct endpoints_merged list = {.n = n};

	for (size_t i = 0; i < n; i++)
		list.items[i] = (struct endpoints_entry){.endpoint = endpoints[i],
		                                         .from = ENDPOINTS_FROM(ENDPOINTS_STATIC)};
	upstreams_set_list(set, &list);
}

static inline UNUSED struct upstreams *fake_upstreams(struct ev_loop *ev,
                                                      const struct config *config,
                                                      const struct endpoint *endpoints, size_t n)
{
	struct upstreams *set = NULL;

	CHECK_EQ_INT(upstreams_new(ev, config, &fake_callbacks, NULL, &set), 0);
	fake_set_list(set, endpoints, n);
	return set;
}

/* Makes their order certain: each one's round trip takes a class longer than the one before it. */
static inline UNUSED void fake_rank(struct upstreams *set, const struct endpoint *endpoints,
                                    size_t n)
{
	static const int64_t rtt_us[] = {100, 2000, 10000, 50000, 500000};

	for (size_t i = 0; i < n && i < 5; i++)
		balance_rtt_add(&upstreams_find(set, &endpoints[i])->rtt, rtt_us[i]);
}
