/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What can only be told from several observations: rates, percentiles of an interval, growth. A
 * memory of bounded size, and pure: time comes with the observations.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/mono.h"
#include "etcdwatch/rules/observation.h"

/* The interval of rates and percentiles. */
#define TREND_WINDOW_US (300 * US_PER_S)
/* Elections are counted over this. */
#define TREND_ELECTIONS_US (900 * US_PER_S)
/* Growth is measured over at least and at most this. */
#define TREND_GROWTH_MIN_US (1800 * US_PER_S)
#define TREND_GROWTH_MAX_US (14400 * US_PER_S)

struct trend;

struct trend *trend_new(void);
void trend_free(struct trend *trend);
DEFINE_AUTO(struct trend, trend_free);

/* Members that are no longer there are forgotten. */
void trend_add(struct trend *trend, const struct observation *o);

/* False: not known (yet). */
bool trend_fsync_p99(const struct trend *trend, uint64_t member, double *ret_s);
bool trend_commit_p99(const struct trend *trend, uint64_t member, double *ret_s);
bool trend_proposals_failed(const struct trend *trend, uint64_t member, double *ret_per_s);
/* How the database grows: the slower of two lines, through all its past sizes since it shrank and
 * through the last half hour's. */
bool trend_growth(const struct trend *trend, uint64_t member, double *ret_bytes_per_s);
/* In how many seconds the member's database reaches its quota if it grows on like that; infinite:
 * it does not grow. False as well: its quota or its size is not known. */
bool trend_runway(const struct trend *trend, const struct observation_member *member,
                  double *ret_s);
/* How often the term was seen to rise in the last 15 minutes, or since the first observation. */
bool trend_elections(const struct trend *trend, uint64_t *ret_n);
