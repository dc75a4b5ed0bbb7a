/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A plan, for those who have to judge it: each step with what it costs, what is refused and why,
 * and what waits for a link. For people and as JSON. Pure but for the stream.
 */

#include <jansson.h>
#include <stdio.h>

#include "netconf/change/beside.h"
#include "netconf/plan/plan.h"
#include "netconf/config/resolve.h"

/* The plan, the resolution of which it was made, and what is done beside it. */
void explain_plan(FILE *out, const struct plan *plan, const struct resolution *resolution,
                  const struct beside *beside);
/* The dearest of all. */
enum op_class explain_class(const struct plan *plan, const struct beside *beside);

/* {"step": 1, "class": "hitless", "op": "..."} */
json_t *explain_step_json(const struct plan *plan, size_t i);
/* The same of a step beside it, numbered on. */
json_t *explain_beside_json(const struct plan *plan, const struct beside *beside, size_t i);
/* {"obstacle": "collision", "at": "FILE:LINE", "reason": "..."} */
json_t *explain_obstacle_json(const struct plan *plan, const struct model *want, size_t i);

/* {"obstacle": "waiting", "reason": "FILE:LINE: ..."}, of what resolving found. */
json_t *explain_problem_json(const char *kind, const char *reason);

/* All of these, an array, for whoever asked. beside may be NULL. */
json_t *explain_lines(const struct plan *plan, const struct resolution *resolution,
                      const struct beside *beside);

/* {"note": "..."}, an array: what is done all the same, and ought to be known. beside may be NULL.
 */
json_t *explain_notes(const struct plan *plan, const struct resolution *resolution,
                      const struct beside *beside);

/* Whether nothing of it may be applied: something is refused, or the configuration contradicts
 * itself on these devices. The sentence is of the first such. */
#define EXPLAIN_REFUSAL_MAX (PLAN_REASON_MAX + MODEL_ORIGIN_TEXT_MAX + 16)
bool explain_refusal(const struct plan *plan, const struct resolution *resolution,
                     char ret_reason[static EXPLAIN_REFUSAL_MAX]);

/*
 * Whether a plan may cut this node off from the other members of etcd. More than what its class
 * says: a step that loses no frame may send them all to where nobody is. Pure.
 */

/* before: the network that the plan was made for. */
bool risk_is_disruptive(const struct plan *plan, const struct model *before,
                        const struct beside *beside);
