/* SPDX-License-Identifier: Apache-2.0 */
/* One look and its few steps in one turn of the loop: nobody else of this process comes between. */
#include "netconf/dhcp/renew.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/mono.h"

void renew_plan(struct plan *plan, const struct model *have, const char *link,
                const struct lease *lease, int64_t now_us)
{
	uint32_t left_s = lease_left_s(lease, now_us);

	for (size_t i = 0; i < lease->n_addresses && lease->ends_us > now_us; i++) {
		const struct address *now = model_find_address(have, link, &lease->addresses[i]);
		struct address want;
		struct op *op;

		/* One without an end is the configuration's, or goes on without our help. */
		if (now == NULL || now->owner != OWNER_OURS || now->valid_s == ADDRESS_FOREVER)
			continue;
		want = *now;
		want.valid_s = want.preferred_s = left_s;
		want.raw = (struct raw_message){0};
		if (address_differs(&want, now) == 0)
			continue;
		op = plan_add(plan);
		op->kind = OP_ADDRESS_CHANGE;
		op->address = want;
	}
}

static void carry_out(struct kernel *kernel, const struct plan *plan)
{
	char text[OP_TEXT_MAX];

	for (size_t i = 0; i < plan->n_ops; i++) {
		int r = kernel_carry_out(kernel, &plan->ops[i]);

		if (r < 0)
			(void) log_error_errno(r, "lease_not_renewed", "op=\"%s\" kernel=\"%s\"",
			                       op_format(&plan->ops[i], text), kernel_error_text(kernel));
	}
	if (plan->n_ops > 0)
		log_info("lease_renewed", "steps=%zu", plan->n_ops);
}

void renew(struct kernel *kernel, const struct owned *owned, const struct dhcpclients *clients)
{
	AUTO(plan_free) struct plan *plan = NEW0(struct plan);
	AUTO(model_free) struct model *have = NULL;
	int64_t now_us = mono_now_us();
	int r = kernel_observe(kernel, &have);

	if (r < 0) {
		(void) log_error_errno(r, "lease_not_renewed", "reason=\"%s\"", kernel_error_text(kernel));
		return;
	}
	if (owned != NULL)
		owned_judge(owned, have);
	for (size_t i = 0; i < dhcpclients_count(clients); i++) {
		struct dhcpclients_info info;

		dhcpclients_get(clients, i, &info);
		if (info.lease != NULL)
			renew_plan(plan, have, info.link, info.lease, now_us);
	}
	carry_out(kernel, plan);
}
