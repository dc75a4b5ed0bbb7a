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
	bool told; /* what is in the way is told once */
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

static int plan_cb(struct plan **ret_plan, struct model **ret_have, void *userdata)
{
	struct follow *follow = userdata;
	struct conf_strings links;
	struct look look;
	int r = take_look(follow, &look);

	if (r < 0)
		return r;
	links = look_dhcp_links(&look);
	/* Two parts of it mean one device now: nobody knows what is wanted. */
	if (look.resolution->problems.n > 0)
		*ret_plan = NEW0(struct plan);
	else
		*ret_plan = plan_make(look.resolution->model, look.have,
		                      &(struct plan_options){.management_link = "", .only_on = &links});
	tell(follow, *ret_plan);
	conf_strings_fini(&links);
	*ret_have = TAKE_PTR(look.have);
	look_fini(&look);
	return 0;
}

static int will_cb(const struct plan *plan, const struct model *have, void *userdata)
{
	const struct follow *follow = userdata;

	return follow->host.will(plan, have, follow->host.userdata);
}

/* The network's own trouble is the one that is told. */
static void follow_beside(const struct follow *follow, struct settle_result *result)
{
	AUTO(free) char *error = NULL;
	struct look look;
	int r = take_look(follow, &look);

	if (r == 0) {
		if (look.resolution->problems.n == 0)
			r = follow->host.beside(&look, &error, follow->host.userdata);
		look_fini(&look);
	}
	if (r == 0 || result->r < 0)
		return;
	result->r = r;
	(void) snprintf(result->reason, sizeof(result->reason), "%s",
	                error != NULL ? error : strerror(-r));
}

static void on_settled(const struct settle_result *result, void *userdata)
{
	struct follow *follow = userdata;
	struct settle_result copy = *result;
	struct follow_host host = follow->host;

	follow->settle = NULL;
	follow_beside(follow, &copy);
	follow_free(follow);
	host.done(&copy, host.userdata);
}

void follow_tell(const struct settle_result *result)
{
	if (result->r < 0)
		(void) log_error_errno(result->r, "lease_not_followed", "reason=\"%s\"", result->reason);
	else if (result->n_done > 0)
		log_notice("lease_followed", "steps=%zu", result->n_done);
}

struct follow *follow_start(const struct follow_host *host)
{
	static const struct settle_ops ops = {.plan = plan_cb, .will = will_cb};
	struct follow *follow = NEW0(struct follow);

	follow->host = *host;
	follow->settle = settle_start(host->ev, host->kernel, &ops, true, on_settled, follow);
	return follow;
}
