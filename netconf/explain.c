/* SPDX-License-Identifier: Apache-2.0 */
/* Plans in words. */
#include "netconf/explain.h"

#include "base/jsonval.h"

static const char *obstacle_name(enum plan_obstacle_kind kind)
{
	switch (kind) {
	case PLAN_MISSING_LINK:
		return "waiting";
	case PLAN_COLLISION:
		return "collision";
	case PLAN_IMPOSSIBLE:
		return "impossible";
	}
	return "";
}

static const char *origin_of(const struct plan_obstacle *obstacle, const struct model *want,
                             char buf[static MODEL_ORIGIN_TEXT_MAX])
{
	return model_format_origin(want, &obstacle->origin, buf);
}

json_t *explain_step_json(const struct plan *plan, size_t i)
{
	char text[OP_TEXT_MAX];

	return json_pack("{s:I, s:s, s:o}", "step", (json_int_t) i + 1, "class",
	                 op_class_name(plan->ops[i].class), "op",
	                 jsonval_text(op_format(&plan->ops[i], text)));
}

json_t *explain_obstacle_json(const struct plan *plan, const struct model *want, size_t i)
{
	const struct plan_obstacle *obstacle = &plan->obstacles[i];
	char origin[MODEL_ORIGIN_TEXT_MAX];

	return json_pack("{s:s, s:o, s:o}", "obstacle", obstacle_name(obstacle->kind), "at",
	                 jsonval_text(origin_of(obstacle, want, origin)), "reason",
	                 jsonval_text(obstacle->reason));
}

json_t *explain_problem_json(const char *kind, const char *reason)
{
	return json_pack("{s:s, s:o}", "obstacle", kind, "reason", jsonval_text(reason));
}

static void print_obstacle(FILE *out, const struct plan_obstacle *obstacle,
                           const struct model *want)
{
	char origin[MODEL_ORIGIN_TEXT_MAX];

	(void) origin_of(obstacle, want, origin);
	(void) fprintf(out, "%s: %s%s%s\n", obstacle_name(obstacle->kind), origin,
	               origin[0] != '\0' ? ": " : "", obstacle->reason);
}

void explain_plan(FILE *out, const struct plan *plan, const struct resolution *resolution)
{
	char text[OP_TEXT_MAX];

	for (size_t i = 0; i < plan->n_ops; i++)
		(void) fprintf(out, "%4zu  %-15s  %s\n", i + 1, op_class_name(plan->ops[i].class),
		               op_format(&plan->ops[i], text));
	for (size_t i = 0; i < resolution->problems.n; i++)
		(void) fprintf(out, "contradiction: %s\n", resolution->problems.items[i]);
	for (size_t i = 0; i < resolution->waiting.n; i++)
		(void) fprintf(out, "waiting: %s\n", resolution->waiting.items[i]);
	for (size_t i = 0; i < plan->n_obstacles; i++)
		print_obstacle(out, &plan->obstacles[i], resolution->model);
	if (plan->n_ops == 0)
		(void) fputs("nothing to do\n", out);
	else
		(void) fprintf(out, "%zu step%s, %s\n", plan->n_ops, plan->n_ops == 1 ? "" : "s",
		               op_class_name(plan->class));
}

bool explain_refusal(const struct plan *plan, const struct resolution *resolution,
                     char ret_reason[static EXPLAIN_REFUSAL_MAX])
{
	char origin[MODEL_ORIGIN_TEXT_MAX];

	if (resolution->problems.n > 0) {
		(void) snprintf(ret_reason, EXPLAIN_REFUSAL_MAX, "%s", resolution->problems.items[0]);
		return true;
	}
	for (size_t i = 0; i < plan->n_obstacles; i++) {
		const struct plan_obstacle *obstacle = &plan->obstacles[i];

		if (obstacle->kind == PLAN_MISSING_LINK)
			continue;
		(void) origin_of(obstacle, resolution->model, origin);
		(void) snprintf(ret_reason, EXPLAIN_REFUSAL_MAX, "%s%s%s", origin,
		                origin[0] != '\0' ? ": " : "", obstacle->reason);
		return true;
	}
	return false;
}
