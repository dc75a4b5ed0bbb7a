/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The boot: which configuration it is, after what a loss of power may have left was dealt with, and
 * its change.
 */
#include "netconf/once.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "netconf/change/beside.h"
#include "netconf/change/look.h"
#include "netconf/change/settle.h"
#include "netconf/config/config.h"
#include "netconf/change/rescue.h"
#include "netconf/change/statedir.h"

/* --- the change of the boot --- */

/* A settling with the loop for itself, and one more whenever a link has come that was missing. */

struct once {
	struct loop *loop;
	struct kernel *kernel;
	struct ledger *ledger;
	const char *runtime_dir;
	const struct config *config;
	struct settle *settle;         /* NULL: waiting */
	struct resolution *resolution; /* of the settling's last look; NULL: none yet */
	ev_timer patience;
	struct look_missing missing;
	size_t n_refused; /* collisions, and what cannot be */
	size_t n_waiting; /* for a link */
	int r;
	bool told_network, told; /* obstacles are told once */
	bool is_ready;           /* the service manager knows */
	bool listens;            /* to what others change */
	bool is_over;            /* no more waiting */
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
	if (once->told || once->told_network)
		return;
	once->told_network = true;
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

static int plan_cb(struct plan **ret_plan, struct model **ret_have, void *userdata)
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
	once->missing = look.missing;
	*ret_have = TAKE_PTR(look.have);
	resolution_free(once->resolution);
	once->resolution = TAKE_PTR(look.resolution);
	look_fini(&look);
	return 0;
}

/* What can be had, as with the network. */
static int apply_beside(struct once *once, const struct model *have, size_t *ret_steps)
{
	AUTO(beside_free) struct beside *beside = NULL;
	AUTO(free) char *error = NULL;
	int r = 0;

	if (once->resolution->problems.n == 0) {
		r = beside_plan(&host_booting_machine, once->resolution, have, &beside, &error);
		if (r == 0)
			r = beside_carry_out(beside, &error);
	}
	if (r < 0)
		(void) log_error_errno(r, "not_applied", "reason=\"%s\"", error);
	if (beside == NULL)
		return r;
	once->n_refused += beside_problems(beside)->n;
	*ret_steps += beside_count(beside);
	if (once->told)
		return r;
	for (size_t i = 0; i < beside_problems(beside)->n; i++)
		log_error("refused", "reason=\"%s\"", beside_problems(beside)->items[i]);
	for (size_t i = 0; i < beside_notes(beside)->n; i++)
		log_info("config_note", "reason=\"%s\"", beside_notes(beside)->items[i]);
	return r;
}

static int will_cb(const struct plan *plan, const struct model *have, void *userdata)
{
	const struct once *once = userdata;

	ledger_expect_or_warn(once->ledger, have, plan);
	return 0;
}

/* As with a confirmation: what somebody had made by hand and is wanted becomes ours. */
static void adopt(const struct once *once, const struct model *have)
{
	ledger_settle(once->ledger, have, once->config->policy.adopt ? once->resolution->model : NULL);
}

static void be_ready(struct once *once)
{
	if (!once->is_ready)
		loop_notify(once->loop, "READY=1");
	once->is_ready = true;
}

static void finish(struct once *once)
{
	once->is_over = true;
	ev_timer_stop(loop_ev(once->loop), &once->patience);
	loop_stop(once->loop, 0);
}

/* --- in rounds --- */

static void on_changed(void *userdata);

/* Not before the first settling, whose own steps would be most of what is told. False: it cannot be
 * told of a link that comes. */
static bool listen_to_others(struct once *once)
{
	int r = once->listens ? 0 : kernel_monitor(once->kernel, on_changed, NULL, once);

	if (r < 0)
		(void) log_warning_errno(r, "monitor_failed", "reason=\"no link is waited for\"");
	once->listens = r == 0;
	return once->listens;
}

static void on_settled(const struct settle_result *settled, void *userdata)
{
	struct once *once = userdata;
	size_t n_steps = settled->n_done;
	int r = 0;

	/* Else it could not be observed even once, and that is the error. */
	if (settled->have != NULL) {
		adopt(once, settled->have);
		r = apply_beside(once, settled->have, &n_steps);
	}
	once->settle = NULL;
	once->told = true;
	once->r = settled->r < 0 ? settled->r : r;
	if (settled->r < 0)
		(void) log_error_errno(settled->r, "not_applied", "steps=%zu reason=\"%s\"",
		                       settled->n_done, settled->reason);
	else if (once->r == 0 && once->n_refused > 0)
		once->r = -EEXIST;
	else if (once->r == 0)
		log_notice("applied", "steps=%zu waiting=%zu", n_steps, once->n_waiting);
	if (once->missing.n_needed == 0)
		be_ready(once);
	if (once->missing.n == 0 || !ev_is_active(&once->patience) || !listen_to_others(once))
		finish(once);
	else
		/* Something may have come while nobody looked. */
		on_changed(once);
}

static void settle(struct once *once)
{
	static const struct settle_ops ops = {.plan = plan_cb, .will = will_cb};

	once->settle = settle_start(loop_ev(once->loop), once->kernel, &ops, true, on_settled, once);
}

/* Others may do with the network what they like meanwhile, as long as no link comes. */
static void on_changed(void *userdata)
{
	struct once *once = userdata;
	struct look look;

	if (once->settle != NULL || once->is_over || take_look(once, &look) < 0)
		return;
	if (look.missing.n < once->missing.n)
		settle(once);
	else
		once->missing = look.missing;
	look_fini(&look);
}

static void patience_timer_cb(struct ev_loop *ev UNUSED, ev_timer *timer, int revents UNUSED)
{
	struct once *once = CONTAINER_OF(timer, struct once, patience);

	if (once->missing.n > 0)
		log_warning("wait_over", "missing=%zu reason=\"they have not come\"", once->missing.n);
	/* One that has come at the last moment is dealt with. */
	if (once->settle == NULL)
		finish(once);
}

static void run(struct once *once, int64_t wait_us)
{
	struct ev_loop *ev = loop_ev(once->loop);

	ev_timer_init(&once->patience, patience_timer_cb, mono_to_ev(wait_us), 0.);
	if (wait_us > 0)
		ev_timer_start(ev, &once->patience);
	settle(once);
	(void) loop_run(once->loop);
	if (once->r == 0)
		be_ready(once);
}

static int once_apply(const struct once_start *start, const struct config *config)
{
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
	run(&once, start->wait_us);
	resolution_free(once.resolution);
	return once.r;
}

/* --- what was left --- */

/* What cannot be put back now keeps its way back: the daemon tries it again. */
static int make_void(const char *state_dir, struct statedir_outcome *outcome)
{
	AUTO(free) char *error = NULL;
	int r = rescue_files(&host_booting_machine, state_dir, &error);

	if (r < 0) {
		(void) log_error_errno(r, "rolled_back_in_part", "id=%s left=\"%s\"", outcome->id, error);
		/* Whatever it was (a file can be busy, too), it is no reason not to go on. */
		return -EIO;
	}
	(void) snprintf(outcome->how, sizeof(outcome->how), "void");
	(void) snprintf(outcome->reason, sizeof(outcome->reason), "the machine was started anew");
	log_notice("change_over", "id=%s how=%s reason=\"%s\"", outcome->id, outcome->how,
	           outcome->reason);
	return statedir_finish_other(state_dir, outcome);
}

/* -EBUSY: it is of this boot. */
static int deal_with(const char *state_dir, const struct checkpoint_state *state)
{
	struct statedir_outcome outcome = {.ended_wall_us = wall_now_us()};
	bool is_same;
	int r = checkpoint_same_kernel(state, &is_same);

	if (r < 0)
		return r;
	memcpy(outcome.id, state->id, sizeof(outcome.id));
	switch (phase_find(state->phase, is_same, mono_now_us(), state->deadline_us)) {
	case PHASE_FOUND_FINISH:
		return statedir_finish_confirmed(state_dir, state);
	case PHASE_FOUND_VOID:
		return make_void(state_dir, &outcome);
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
	if (r < 0)
		return r;
	r = sources_read(&config->files, ret_new);
	if (r < 0) {
		(void) log_error_errno(
		    r, "config_unreadable",
		    "reason=\"its files cannot be read once more, to keep what they say\"");
		return r;
	}
	*ret_config = TAKE_PTR(config);
	return 0;
}

static int load_and_apply(const struct once_start *start)
{
	AUTO(config_free) struct config *config = NULL;
	AUTO(free) char *text = NULL;
	int kept, r = load(start, &config, &text);

	if (r < 0)
		return -EINVAL;
	for (size_t i = 0; i < config->notes.n; i++)
		log_info("config_note", "reason=\"%s\"", config->notes.items[i]);
	r = once_apply(start, config);
	if (text == NULL)
		return r;
	kept = r == 0 ? statedir_confirm(start->state_dir, text)
	              : statedir_write_in_part(start->state_dir, text);
	if (kept < 0)
		(void) log_error_errno(kept, "not_confirmed", "dir=%s", start->state_dir);
	return r < 0 ? r : kept;
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
