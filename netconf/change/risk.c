/* SPDX-License-Identifier: Apache-2.0 */
/* By class, and by what each step may do to the way of others' packets. */
#include "netconf/change/risk.h"

#include <string.h>

#include "netconf/change/explain.h"

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
