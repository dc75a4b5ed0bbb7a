/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules: a rule is what it says, so that changing one is adding another and deleting the first, in
 * that order. They come after the routes of the tables that they point to.
 */
#include "netconf/plan/plan_priv.h"

static bool has_rule(const struct model *model, const struct rule *rule)
{
	for (size_t i = 0; i < model->n_rules; i++) {
		if (rule_compare(&model->rules[i], rule) == 0)
			return true;
	}
	return false;
}

static void push(struct planner *p, enum op_kind kind, const struct rule *rule, enum op_class class)
{
	struct op op = {.kind = kind, .class = class, .rule = *rule};

	op.rule.raw = (struct raw_message){0};
	(void) planner_push(p, &op);
}

void plan_rules(struct planner *p)
{
	AUTO(model_free) struct model *before = model_copy(p->now);

	/* One that is there by another program serves as well. */
	for (size_t i = 0; i < p->want->n_rules; i++) {
		if (!has_rule(before, &p->want->rules[i]))
			push(p, OP_RULE_ADD, &p->want->rules[i], OP_HITLESS);
	}
	for (size_t i = 0; i < before->n_rules; i++) {
		const struct rule *rule = &before->rules[i];

		if (rule->owner == OWNER_OURS && !has_rule(p->want, rule))
			push(p, OP_RULE_DELETE, rule, OP_ADDRESS_BREAK);
	}
}
