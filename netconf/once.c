/* SPDX-License-Identifier: Apache-2.0 */
/* A settling with the loop for itself, after what a loss of power may have left was dealt with. */
#include "netconf/once.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/mono.h"
#include "netconf/change/beside.h"
#include "netconf/config/config.h"
#include "netconf/change/ledger.h"
#include "netconf/change/lockfile.h"
#include "netconf/change/look.h"
#include "netconf/change/rescue.h"
#include "netconf/change/settle.h"
#include "netconf/config/sources.h"
#include "netconf/change/statedir.h"

struct once {
	struct loop *loop;
	struct kernel *kernel;
	struct ledger *ledger;
	const char *runtime_dir;
	const struct config *config;
	size_t n_refused; /* collisions, and what cannot be */
	size_t n_waiting; /* for a link */
	int r;
	bool told; /* obstacles are told once */
};

static void tell(struct once *once, const struct plan *plan, const struct resolution *resolution)
{
	char origin[MODEL_ORIGIN_TEXT_MAX];

	once->n_refused = resolution->problems.n;
	once->n_waiting = resolution->waiting.n;
	for (size_t i = 0; i < plan->n_obstacles; i++) {
		if (plan->obstacles[i].kind == PLAN_MISSING_LINK)
			once->n_waiting++;
		else
			once->n_refused++;
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

static int take_look(const struct once *once, struct look *ret_look)
{
	return look_take(once->kernel, ledger_owned(once->ledger), once->runtime_dir, once->config,
	                 ret_look);
}

static int plan_cb(struct plan **ret_plan, void *userdata)
{
	static const struct plan_options options = {.management_link = ""};
	struct once *once = userdata;
	struct look look;
	int r;

	r = take_look(once, &look);
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

/* What can be had, as with the network. */
static int apply_beside(struct once *once, size_t *ret_steps)
{
	AUTO(beside_free) struct beside *beside = NULL;
	AUTO(free) char *error = NULL;
	struct look look;
	int r = take_look(once, &look);

	if (r < 0)
		return log_error_errno(r, "observation_failed", "reason=\"%s\"",
		                       kernel_error_text(once->kernel));
	if (look.resolution->problems.n == 0) {
		r = beside_plan(&host_this_machine, look.resolution, look.have, &beside, &error);
		if (r == 0)
			r = beside_carry_out(beside, &error);
	}
	look_fini(&look);
	if (r < 0)
		(void) log_error_errno(r, "not_applied", "reason=\"%s\"", error);
	if (beside == NULL)
		return r;
	for (size_t i = 0; i < beside_problems(beside)->n; i++)
		log_error("refused", "reason=\"%s\"", beside_problems(beside)->items[i]);
	for (size_t i = 0; i < beside_notes(beside)->n; i++)
		log_info("config_note", "reason=\"%s\"", beside_notes(beside)->items[i]);
	once->n_refused += beside_problems(beside)->n;
	*ret_steps += beside_count(beside);
	return r;
}

static int will_cb(const struct plan *plan, void *userdata)
{
	const struct once *once = userdata;

	ledger_expect_or_warn(once->ledger, once->kernel, plan);
	return 0;
}

static void on_settled(const struct settle_result *settled, void *userdata)
{
	struct once *once = userdata;
	size_t n_steps = settled->n_done;
	int r = apply_beside(once, &n_steps);

	once->r = settled->r < 0 ? settled->r : r;
	if (settled->r < 0)
		(void) log_error_errno(settled->r, "not_applied", "steps=%zu reason=\"%s\"",
		                       settled->n_done, settled->reason);
	else if (once->r == 0 && once->n_refused > 0)
		once->r = -EEXIST;
	else if (once->r == 0)
		log_notice("applied", "steps=%zu waiting=%zu", n_steps, once->n_waiting);
	loop_stop(once->loop, 0);
}

/* As with a confirmation: what somebody had made by hand and is wanted becomes ours. */
static void adopt(const struct once *once)
{
	struct look look;

	if (!once->config->policy.adopt || take_look(once, &look) < 0)
		return;
	ledger_settle(once->ledger, once->kernel, look.resolution->model);
	look_fini(&look);
}

static int apply(const struct once_start *start, const struct config *config)
{
	static const struct settle_ops ops = {.plan = plan_cb, .will = will_cb};
	AUTO(ledger_free) struct ledger *ledger = ledger_open(start->state_dir);
	AUTO(loop_free) struct loop *loop = NULL;
	AUTO(kernel_free) struct kernel *kernel = NULL;
	struct once once = {.runtime_dir = start->runtime_dir, .config = config};
	int r = loop_new(&loop);

	if (r == 0)
		r = kernel_new(loop_ev(loop), &kernel);
	if (r < 0)
		return log_error_errno(r, "start_failed", "reason=\"cannot speak to the kernel\"");
	once.loop = loop;
	once.kernel = kernel;
	once.ledger = ledger;
	(void) settle_start(loop_ev(loop), kernel, &ops, true, on_settled, &once);
	(void) loop_run(loop);
	adopt(&once);
	return once.r;
}

/* --- what was left --- */

/* -EBUSY: it is of this boot. */
static int deal_with(const char *state_dir, const struct checkpoint_state *state)
{
	struct statedir_outcome outcome = {.ended_wall_us = wall_now_us()};
	char kernel[CHECKPOINT_KERNEL_MAX];

	checkpoint_kernel(kernel);
	memcpy(outcome.id, state->id, sizeof(outcome.id));
	switch (phase_find(state->phase, strcmp(kernel, state->kernel) == 0, mono_now_us(),
	                   state->deadline_us)) {
	case PHASE_FOUND_FINISH:
		return statedir_finish_confirmed(state_dir, state);
	case PHASE_FOUND_VOID:
		rescue_files(state_dir);
		(void) snprintf(outcome.how, sizeof(outcome.how), "void");
		(void) snprintf(outcome.reason, sizeof(outcome.reason), "the machine was started anew");
		log_notice("change_over", "id=%s how=%s reason=\"%s\"", outcome.id, outcome.how,
		           outcome.reason);
		return statedir_finish_other(state_dir, &outcome);
	case PHASE_FOUND_OVER:
		(void) snprintf(outcome.how, sizeof(outcome.how), "%s", phase_name(state->phase));
		memcpy(outcome.reason, state->reason, sizeof(outcome.reason));
		return statedir_finish_other(state_dir, &outcome);
	case PHASE_FOUND_WAIT:
	case PHASE_FOUND_UNDO:
		break;
	}
	return -EBUSY;
}

static int deal_with_left(const char *state_dir)
{
	AUTO(free) char *dir = statedir_path(state_dir, STATEDIR_TRANSACTION);
	struct checkpoint_state state;
	int r = checkpoint_read_state(dir, &state);

	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = deal_with(state_dir, &state);
	if (r == -EBUSY)
		return log_error_errno(r, "change_under_way", "id=%s reason=\"its guard ends it\"",
		                       state.id);
	return r < 0 ? log_error_errno(r, "checkpoint_unusable", "dir=%s", dir) : 0;
}

/* --- which configuration --- */

/* A confirmation that could not be finished is newer than the one before it. */
static int read_confirmed(const char *state_dir, char **ret_text)
{
	AUTO(free) char *dir = statedir_path(state_dir, STATEDIR_TRANSACTION);
	struct checkpoint_state state;

	if (checkpoint_read_state(dir, &state) == 0 && state.phase == PHASE_CONFIRMED &&
	    checkpoint_read_config(dir, ret_text) == 0)
		return 0;
	return statedir_confirmed(state_dir, ret_text);
}

/* ret_new: the text of one that nobody has confirmed yet; NULL: it is confirmed. */
static int load(const struct once_start *start, struct config **ret_config, char **ret_new)
{
	AUTO(free) char *text = NULL;
	AUTO(config_free) struct config *config = NULL;
	int r = read_confirmed(start->state_dir, &text);

	if (r == 0)
		return config_load_text("the confirmed configuration", text, strlen(text), NULL,
		                        conf_message_log, NULL, ret_config);
	if (r != -ENOENT)
		(void) log_error_errno(r, "confirmed_unreadable", "dir=%s", start->state_dir);
	r = config_load(start->paths, start->n_paths, conf_message_log, NULL, &config);
	if (r == 0)
		r = sources_read(&config->files, ret_new);
	if (r == 0)
		*ret_config = TAKE_PTR(config);
	return r;
}

static int load_and_apply(const struct once_start *start)
{
	AUTO(config_free) struct config *config = NULL;
	AUTO(free) char *text = NULL;
	int r = load(start, &config, &text);

	if (r < 0)
		return -EINVAL;
	for (size_t i = 0; i < config->notes.n; i++)
		log_info("config_note", "reason=\"%s\"", config->notes.items[i]);
	r = apply(start, config);
	if (r == 0 && text != NULL) {
		r = statedir_confirm(start->state_dir, text);
		if (r < 0)
			(void) log_error_errno(r, "not_confirmed", "dir=%s", start->state_dir);
	}
	return r;
}

/* -EBUSY: another has it. A full or read-only disk must not keep the network away: it goes on
 * without the lock then. */
static int take_lock(const char *state_dir, int *ret_fd)
{
	AUTO(free) char *path = statedir_path(state_dir, STATEDIR_LOCK);
	int r = statedir_make(state_dir);

	if (r < 0)
		(void) log_warning_errno(r, "state_dir_failed", "dir=%s", state_dir);
	r = lockfile_take(path);
	if (r == -EAGAIN)
		return log_error_errno(-EBUSY, "lock_failed",
		                       "path=%s reason=\"another netconf is at work\"", path);
	if (r < 0)
		(void) log_warning_errno(r, "lock_failed", "path=%s reason=\"it goes on without\"", path);
	*ret_fd = r;
	return 0;
}

int once_run(const struct once_start *start)
{
	int fd = -1, r, applied;

	r = take_lock(start->state_dir, &fd);
	if (r < 0)
		return r;
	r = deal_with_left(start->state_dir);
	if (r != -EBUSY) {
		applied = load_and_apply(start);
		if (r == 0)
			r = applied;
	}
	if (fd >= 0)
		(void) close(fd);
	return r;
}
