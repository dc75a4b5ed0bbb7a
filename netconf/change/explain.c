/* SPDX-License-Identifier: Apache-2.0 */
/* Plans in words. */
#include "netconf/change/explain.h"

#include <string.h>

#include "base/jsonval.h"
#include "base/macro.h"

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

json_t *explain_beside_json(const struct plan *plan, const struct beside *beside, size_t i)
{
	char text[BESIDE_TEXT_MAX];
	enum op_class class;
	const char *op = beside_format(beside, i, text, &class);

	return json_pack("{s:I, s:s, s:o}", "step", (json_int_t) (plan->n_ops + i) + 1, "class",
	                 op_class_name(class), "op", jsonval_text(op));
}

enum op_class explain_class(const struct plan *plan, const struct beside *beside)
{
	enum op_class dearest = plan->class, class;
	char text[BESIDE_TEXT_MAX];

	for (size_t i = 0; i < beside_count(beside); i++) {
		(void) beside_format(beside, i, text, &class);
		dearest = MAX(dearest, class);
	}
	return dearest;
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

static void add_notes(json_t *lines, const struct conf_strings *notes)
{
	for (size_t i = 0; i < notes->n; i++)
		(void) json_array_append_new(lines,
		                             json_pack("{s:o}", "note", jsonval_text(notes->items[i])));
}

json_t *explain_notes(const struct plan *plan, const struct resolution *resolution,
                      const struct beside *beside)
{
	json_t *lines = json_array();

	add_notes(lines, &plan->notes);
	add_notes(lines, &resolution->notes);
	if (beside != NULL)
		add_notes(lines, beside_notes(beside));
	return lines;
}

static void print_obstacle(FILE *out, const struct plan_obstacle *obstacle,
                           const struct model *want)
{
	char origin[MODEL_ORIGIN_TEXT_MAX];

	(void) origin_of(obstacle, want, origin);
	(void) fprintf(out, "%s: %s%s%s\n", obstacle_name(obstacle->kind), origin,
	               origin[0] != '\0' ? ": " : "", obstacle->reason);
}

static void print_beside(FILE *out, const struct plan *plan, const struct beside *beside)
{
	char text[BESIDE_TEXT_MAX];
	enum op_class class;

	for (size_t i = 0; i < beside_count(beside); i++) {
		const char *op = beside_format(beside, i, text, &class);

		(void) fprintf(out, "%4zu  %-15s  %s\n", plan->n_ops + i + 1, op_class_name(class), op);
	}
}

void explain_plan(FILE *out, const struct plan *plan, const struct resolution *resolution,
                  const struct beside *beside)
{
	size_t n = plan->n_ops + beside_count(beside);
	char text[OP_TEXT_MAX];

	for (size_t i = 0; i < plan->n_ops; i++)
		(void) fprintf(out, "%4zu  %-15s  %s\n", i + 1, op_class_name(plan->ops[i].class),
		               op_format(&plan->ops[i], text));
	print_beside(out, plan, beside);
	for (size_t i = 0; i < resolution->problems.n; i++)
		(void) fprintf(out, "contradiction: %s\n", resolution->problems.items[i]);
	for (size_t i = 0; i < resolution->waiting.n; i++)
		(void) fprintf(out, "waiting: %s\n", resolution->waiting.items[i]);
	for (size_t i = 0; i < plan->n_obstacles; i++)
		print_obstacle(out, &plan->obstacles[i], resolution->model);
	for (size_t i = 0; i < beside_problems(beside)->n; i++)
		(void) fprintf(out, "impossible: %s\n", beside_problems(beside)->items[i]);
	for (size_t i = 0; i < plan->notes.n; i++)
		(void) fprintf(out, "note: %s\n", plan->notes.items[i]);
	for (size_t i = 0; i < resolution->notes.n; i++)
		(void) fprintf(out, "note: %s\n", resolution->notes.items[i]);
	for (size_t i = 0; i < beside_notes(beside)->n; i++)
		(void) fprintf(out, "note: %s\n", beside_notes(beside)->items[i]);
	if (n == 0)
		(void) fputs("nothing to do\n", out);
	else
		(void) fprintf(out, "%zu step%s, %s\n", n, n == 1 ? "" : "s",
		               op_class_name(explain_class(plan, beside)));
}

json_t *explain_lines(const struct plan *plan, const struct resolution *resolution,
                      const struct beside *beside)
{
	json_t *lines = json_array();

	for (size_t i = 0; i < plan->n_ops; i++)
		(void) json_array_append_new(lines, explain_step_json(plan, i));
	for (size_t i = 0; i < beside_count(beside); i++)
		(void) json_array_append_new(lines, explain_beside_json(plan, beside, i));
	for (size_t i = 0; beside != NULL && i < beside_problems(beside)->n; i++)
		(void) json_array_append_new(
		    lines, explain_problem_json("impossible", beside_problems(beside)->items[i]));
	for (size_t i = 0; i < plan->n_obstacles; i++)
		(void) json_array_append_new(lines, explain_obstacle_json(plan, resolution->model, i));
	for (size_t i = 0; i < resolution->waiting.n; i++)
		(void) json_array_append_new(lines,
		                             explain_problem_json("waiting", resolution->waiting.items[i]));
	return lines;
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

/* --- risk for etcd --- */

/* By class, and by what each step may do to the way of others' packets. */

/* In place, and yet elsewhere; what only changes its preference or its size is not. */
static bool leads_elsewhere(const struct model *before, const struct route *to)
{
	for (size_t i = 0; i < before->n_routes; i++) {
		const struct route *from = &before->routes[i];

		if (from->owner == OWNER_OURS && route_compare_key(from, to) == 0)
			return strcmp(from->link, to->link) != 0 || !addr_equal(&from->gateway, &to->gateway);
	}
	return true;
}

static bool may_divert(const struct op *op, const struct model *before)
{
	switch (op->kind) {
	case OP_ROUTE_ADD:
		return op->route.dst.len == 0 && !op->is_restoring;
	case OP_ROUTE_REPLACE:
		return leads_elsewhere(before, &op->route);
	case OP_RULE_ADD:
	case OP_RULE_DELETE:
	case OP_WIREGUARD_SET:
		return true;
	case OP_LINK_CREATE:
	case OP_LINK_DELETE:
	case OP_LINK_SET:
	case OP_BOND_SET:
	case OP_ADDRESS_ADD:
	case OP_ADDRESS_CHANGE:
	case OP_ADDRESS_DELETE:
	case OP_ROUTE_DELETE:
	case OP_WAIT_CARRIER:
	case OP_KINDS:
		break;
	}
	return false;
}

/* A link that blinks is back before anybody misses it. */
bool risk_is_disruptive(const struct plan *plan, const struct model *before,
                        const struct beside *beside)
{
	if (explain_class(plan, beside) >= OP_ADDRESS_BREAK)
		return true;
	for (size_t i = 0; i < plan->n_ops; i++) {
		if (may_divert(&plan->ops[i], before))
			return true;
	}
	return false;
}
