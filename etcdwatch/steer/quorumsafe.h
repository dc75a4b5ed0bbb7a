/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whether a member may go, and who may lead; pure. A voter is healthy when it answers a read that
 * takes a quorum, at an endpoint that we reach, and agrees with the others on the cluster, its
 * leader and its members: one that we do not reach counts as one that is not there, since nobody
 * can say that it is.
 */

#include <stdbool.h>
#include <stddef.h>

#include "etcdwatch/cluster/survey.h"

#define QUORUMSAFE_TEXT_MAX 256

bool quorumsafe_is_healthy(const struct survey_member *member);

struct quorumsafe {
	size_t n_voters;
	size_t n_healthy;
};
struct quorumsafe quorumsafe_count(const struct survey *survey);
/* Of so many voters. */
size_t quorumsafe_majority(size_t n_voters);

/* False, and why not: that the cluster has no majority now, or would have none then. With true,
 * `why` says how many more losses it survives then, or "" if that does not change. */
bool quorumsafe_may_go(const struct survey *survey, const struct survey_member *member,
                       char why[static QUORUMSAFE_TEXT_MAX]);

/* A healthy voter other than `except`, the one that has applied most; without the alarm CORRUPT.
 * NULL: none. */
const struct survey_member *quorumsafe_successor(const struct survey *survey,
                                                 const struct survey_member *except);
