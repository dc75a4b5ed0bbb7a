/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How large the members' databases may become. Before 3.6 a status does not tell; each member's
 * /metrics page does, at its client URL, where it listens with the same certificates. An endpoint
 * with a host name is not asked: nothing here resolves names.
 */

#include "etcdwatch/steer/env.h"
#include "etcdwatch/cluster/survey.h"

struct quotas;
/* The survey that was given, with what was found out. It is borrowed until this returns. */
typedef void (*quotas_fn)(const struct survey *survey, void *userdata);

/* Copies the survey. The callback comes once, never before this returned, within some seconds. */
struct quotas *quotas_start(const struct cluster_env *env, const struct survey *survey,
                            quotas_fn fn, void *userdata);
void quotas_free(struct quotas *quotas); /* no callback; NULL is fine */
