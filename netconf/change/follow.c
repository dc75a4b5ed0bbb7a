/* SPDX-License-Identifier: Apache-2.0 */
/* A settling of a part of the network, and what is beside it. A step that the kernel refuses does
 * not keep the others away. */
#include "netconf/change/follow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"

struct follow {
	struct follow_host host;
	struct settle *settle;
	bool told;    /* what is in the way is told once */
	bool is_more; /* than leases that last longer now */
};

void follow_free(struct follow *follow)
{
	if (follow == NULL)
		return;
	settle_free(follow->settle);
	free(follow);
}

static int take_look(const struct follow *follow, struct look *ret_look)
{
	const struct follow_host *host = &follow->host;

	return look_take(host->kernel, ledger_owned(host->ledger), host->runtime_dir, host->config,
	                 ret_look);
}

static void tell(struct follow *follow, const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_obstacles && !follow->told; i++) {
		if (plan->obstacles[i].kind != PLAN_MISSING_LINK)
			log_warning("lease_in_part", "reason=\"%s\"", plan->obstacles[i].reason);
	}
	follow->told = true;
}

static bool wants_route(const struct model *want, const struct route *route)
{
	for (size_t i = 0; i < want->n_routes; i++) {
		if (route_compare_key(&want->routes[i], route) == 0)
			return true;
	}
	return false;
}

/*
 * Two parts of the configuration mean one device now. What leases give to others is known
 * nevertheless, and what one gave that is over ends in the kernel; but what else seems to be
 * wanted no longer may be of a part that means another device by mistake.
 */
static void keep_unknown(struct look *look)
{
	const struct model *want = look->resolution->model;
	struct model *have = look->have;

	for (size_t i = 0; i < have->n_addresses; i++) {
		struct address *address = &have->addresses[i];

		if (address->owner == OWNER_OURS && address->valid_s == ADDRESS_FOREVER &&
		    model_find_address(want, address->link, &address->prefix) == NULL)
			address->owner = OWNER_FOREIGN;
	}
	for (size_t i = 0; i < have->n_routes; i++) {
		struct route *route = &have->routes[i];

		if (route->owner == OWNER_OURS && !addr_is_set(&route->src) && !wants_route(want, route))
			route->owner = OWNER_FOREIGN;
	}
}

static int plan_cb(struct plan **ret_plan, struct model **ret_have, void *userdata)
{
	struct follow *follow = userdata;
	struct conf_strings links;
	struct look look;
	int r = take_look(follow, &look);

	if (r < 0)
		return r;
	links = look_dhcp_links(&look);
	if (look.resolution->problems.n > 0)
		keep_unknown(&look);
	*ret_plan = plan_make(look.resolution->model, look.have,
	                      &(struct plan_options){.management_link = "", .only_on = &links});
	tell(follow, *ret_plan);
	conf_strings_fini(&links);
	*ret_have = TAKE_PTR(look.have);
	look_fini(&look);
	return 0;
}

/* A renewal, and nothing else. */
static bool only_lasts_longer(const struct plan *plan, const struct model *have)
{
	for (size_t i = 0; i < plan->n_ops; i++) {
		const struct address *now =
		    plan->ops[i].kind == OP_ADDRESS_CHANGE
		        ? model_find_address(have, plan->ops[i].address.link, &plan->ops[i].address.prefix)
		        : NULL;

		if (now == NULL || address_differs(&plan->ops[i].address, now) != ADDRESS_LIFETIME)
			return false;
	}
	return true;
}

static int will_cb(const struct plan *plan, const struct model *have, void *userdata)
{
	struct follow *follow = userdata;

	follow->is_more = follow->is_more || !only_lasts_longer(plan, have);
	return follow->host.will(plan, have, follow->host.userdata);
}

/* The network's own trouble is the one that is told. */
static void follow_beside(const struct follow *follow, struct settle_result *result)
{
	AUTO(free) char *error = NULL;
	struct look look;
	int r = take_look(follow, &look);

	if (r == 0) {
		r = follow->host.beside(&look, &error, follow->host.userdata);
		look_fini(&look);
	}
	if (r == 0 || result->r < 0)
		return;
	result->r = r;
	(void) snprintf(result->reason, sizeof(result->reason), "%s",
	                error != NULL ? error : strerror(-r));
}

static void log_followed(size_t n_steps, bool is_more)
{
	if (is_more)
		log_notice("lease_followed", "steps=%zu", n_steps);
	else
		log_info("lease_renewed", "steps=%zu", n_steps);
}

static void on_settled(const struct settle_result *result, void *userdata)
{
	struct follow *follow = userdata;
	struct settle_result copy = *result;
	struct follow_host host = follow->host;

	follow->settle = NULL;
	follow_beside(follow, &copy);
	if (copy.r == 0 && copy.n_done > 0)
		log_followed(copy.n_done, follow->is_more);
	follow_free(follow);
	host.done(&copy, host.userdata);
}

void follow_tell(const struct settle_result *result)
{
	if (result->r < 0)
		(void) log_error_errno(result->r, "lease_not_followed", "reason=\"%s\"", result->reason);
}

struct follow *follow_start(const struct follow_host *host)
{
	static const struct settle_ops ops = {.plan = plan_cb, .will = will_cb};
	struct follow *follow = NEW0(struct follow);

	follow->host = *host;
	follow->settle = settle_start(host->ev, host->kernel, &ops, true, on_settled, follow);
	return follow;
}
