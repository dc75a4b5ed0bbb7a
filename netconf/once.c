/* SPDX-License-Identifier: Apache-2.0 */
/* A settling with the loop for itself. */
#include "netconf/once.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "netconf/look.h"
#include "netconf/settle.h"

struct once {
	struct loop *loop;
	struct kernel *kernel;
	const struct config *config;
	struct once_result *result;
	bool told; /* obstacles are told once */
};

static void tell(struct once *once, const struct plan *plan, const struct resolution *resolution)
{
	char origin[MODEL_ORIGIN_TEXT_MAX];

	once->result->n_refused = resolution->problems.n;
	once->result->n_waiting = resolution->waiting.n;
	for (size_t i = 0; i < plan->n_obstacles; i++) {
		if (plan->obstacles[i].kind == PLAN_MISSING_LINK)
			once->result->n_waiting++;
		else
			once->result->n_refused++;
	}
	if (once->told)
		return;
	once->told = true;
	for (size_t i = 0; i < resolution->problems.n; i++)
		log_error("contradiction", "reason=\"%s\"", resolution->problems.items[i]);
	for (size_t i = 0; i < resolution->waiting.n; i++)
		log_warning("waiting", "reason=\"%s\"", resolution->waiting.items[i]);
	for (size_t i = 0; i < plan->n_obstacles; i++) {
		const struct plan_obstacle *obstacle = &plan->obstacles[i];

		(void) model_format_origin(resolution->model, &obstacle->origin, origin);
		if (obstacle->kind == PLAN_MISSING_LINK)
			log_warning("waiting", "at=\"%s\" reason=\"%s\"", origin, obstacle->reason);
		else
			log_error("refused", "at=\"%s\" reason=\"%s\"", origin, obstacle->reason);
	}
}

static int plan_cb(struct plan **ret_plan, void *userdata)
{
	static const struct plan_options options = {.management_link = ""};
	struct once *once = userdata;
	struct look look;
	int r;

	r = look_take(once->kernel, once->config, &look);
	if (r < 0)
		return r;
	if (look.resolution->problems.n > 0)
		/* Which of the two is meant nobody knows: nothing is touched. */
		*ret_plan = NEW0(struct plan);
	else
		*ret_plan = plan_make(look.resolution->model, look.have, &options);
	tell(once, *ret_plan, look.resolution);
	look_fini(&look);
	return 0;
}

static void on_settled(const struct settle_result *settled, void *userdata)
{
	struct once *once = userdata;
	struct once_result *result = once->result;

	result->r = settled->r;
	result->n_steps = settled->n_done;
	if (settled->r < 0)
		(void) log_error_errno(settled->r, "not_applied", "steps=%zu reason=\"%s\"",
		                       settled->n_done, settled->reason);
	else if (result->n_refused > 0)
		result->r = -EEXIST;
	else
		log_notice("applied", "steps=%zu waiting=%zu", settled->n_done, result->n_waiting);
	loop_stop(once->loop, 0);
}

void once_apply(struct loop *loop, struct kernel *kernel, const struct config *config,
                struct once_result *ret_result)
{
	static const struct settle_ops ops = {.plan = plan_cb};
	struct once once = {loop, kernel, config, ret_result, false};

	*ret_result = (struct once_result){0};
	(void) settle_start(loop_ev(loop), kernel, &ops, true, on_settled, &once);
	(void) loop_run(loop);
}
