/* SPDX-License-Identifier: Apache-2.0 */
/* Two timers, one after the other: for the lock, and for files that could not be used. */
#include "netconf/left.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "netconf/change/rescue.h"
#include "netconf/change/statedir.h"

#define LOCK_POLL_S 0.1
#define LOOK_AGAIN_S 5.
#define UNREADABLE_ID "unreadable"

struct left {
	struct ev_loop *ev;
	const char *state_dir;
	const struct left_ops *ops;
	void *userdata;
	int lock_fd;
	bool is_held; /* the lock, by another */
	ev_timer lock_again, look_again;
	struct left_blocked blocked;
};

static void PRINTF_LIKE(3, 4) block(struct left *left, const char *id, const char *format, ...)
{
	struct left_blocked blocked = {0};
	va_list ap;

	(void) snprintf(blocked.id, sizeof(blocked.id), "%s", id);
	va_start(ap, format);
	(void) vsnprintf(blocked.reason, sizeof(blocked.reason), format, ap);
	va_end(ap);
	if (strcmp(blocked.reason, left->blocked.reason) != 0)
		log_error("blocked", "id=%s reason=\"%s\"", blocked.id, blocked.reason);
	left->blocked = blocked;
	left->ops->blocked(left->userdata);
}

static void clear(struct left *left)
{
	ev_timer_stop(left->ev, &left->look_again);
	left->blocked = (struct left_blocked){0};
	left->ops->clear(left->userdata);
}

/* --- the files --- */

static int finish_other(const struct left *left, const struct checkpoint_state *state,
                        const char *how, const char *reason)
{
	struct statedir_outcome outcome = {.ended_wall_us = wall_now_us()};

	memcpy(outcome.id, state->id, sizeof(outcome.id));
	(void) snprintf(outcome.how, sizeof(outcome.how), "%s", how);
	(void) snprintf(outcome.reason, sizeof(outcome.reason), "%s", reason);
	log_notice("change_over", "id=%s how=%s reason=\"%s\"", state->id, how, reason);
	return statedir_finish_other(left->state_dir, &outcome);
}

/* An error may come with a sentence, which the caller frees. */
static int deal_with(const struct left *left, const struct checkpoint_state *state,
                     char **ret_error)
{
	bool is_same;
	int r = checkpoint_same_kernel(state, &is_same);

	if (r < 0)
		return r;
	switch (phase_find(state->phase, is_same, mono_now_us(), state->deadline_us)) {
	case PHASE_FOUND_VOID:
		r = rescue_files(&host_this_machine, left->state_dir, ret_error);
		return r < 0 ? r : finish_other(left, state, "void", "the machine was started anew");
	case PHASE_FOUND_FINISH:
		return statedir_finish_confirmed(left->state_dir, state);
	case PHASE_FOUND_OVER:
		return finish_other(left, state, phase_name(state->phase), state->reason);
	case PHASE_FOUND_WAIT:
	case PHASE_FOUND_UNDO:
		left->ops->resume(state, left->userdata);
		break;
	}
	return 0;
}

static void look(struct left *left)
{
	AUTO(free) char *dir = statedir_path(left->state_dir, STATEDIR_TRANSACTION);
	AUTO(free) char *error = NULL;
	struct checkpoint_state state;
	int r = checkpoint_read_state(dir, &state);

	if (r == -ENOENT) {
		clear(left);
		return;
	}
	if (r < 0) {
		block(left, UNREADABLE_ID,
		      "%s/state.json, of a change that is not over, cannot be read: %s", dir, strerror(-r));
	} else {
		r = deal_with(left, &state, &error);
		if (r < 0)
			block(left, state.id, "what a change has left in %s (phase %s) cannot be finished: %s",
			      dir, phase_name(state.phase), error != NULL ? error : strerror(-r));
	}
	if (r < 0)
		ev_timer_again(left->ev, &left->look_again);
	else
		clear(left);
}

static void look_timer_cb(struct ev_loop *ev UNUSED, ev_timer *timer, int revents UNUSED)
{
	look(CONTAINER_OF(timer, struct left, look_again));
}

int left_discard(struct left *left, const char *id)
{
	struct statedir_outcome outcome = {.ended_wall_us = wall_now_us()};
	int r;

	if (strcmp(left->blocked.id, id) != 0)
		return left->blocked.id[0] == '\0' ? -EUCLEAN : -ESTALE;
	(void) snprintf(outcome.id, sizeof(outcome.id), "%s", id);
	(void) snprintf(outcome.how, sizeof(outcome.how), "discarded");
	memcpy(outcome.left, left->blocked.reason, sizeof(outcome.left));
	r = statedir_finish_other(left->state_dir, &outcome);
	if (r < 0)
		return r;
	log_notice("change_over", "id=%s how=%s reason=\"the operator asked for it\"", id, outcome.how);
	clear(left);
	return 0;
}

/* --- the lock --- */

static void wait_for_lock(struct left *left, const char *path, int r)
{
	AUTO(free) char *guard_path = statedir_path(left->state_dir, STATEDIR_GUARD_LOCK);
	pid_t holder = lockfile_holder(path);

	if (r == -ENOENT)
		(void) statedir_make(left->state_dir);
	if (r != -EAGAIN)
		block(left, "", "the lock %s cannot be taken: %s", path, strerror(-r));
	else if (holder > 0 && holder == lockfile_holder(guard_path))
		block(left, "", "the guard of a change undoes it (process %d)", (int) holder);
	else if (holder > 0)
		block(left, "", "another netconf is at work (process %d)", (int) holder);
}

static void lock_timer_cb(struct ev_loop *ev, ev_timer *timer, int revents UNUSED)
{
	struct left *left = CONTAINER_OF(timer, struct left, lock_again);
	AUTO(free) char *path = statedir_path(left->state_dir, STATEDIR_LOCK);
	int r = lockfile_take(path);

	/* A disk that has become read-only says nothing of who has it. */
	left->is_held = r < 0 && (r == -EAGAIN || lockfile_holder(path) > 0);
	if (r < 0) {
		wait_for_lock(left, path, r);
		return;
	}
	ev_timer_stop(ev, timer);
	left->lock_fd = r;
	left->ops->locked(left->userdata);
	look(left);
}

/* --- life --- */

struct left *left_start(struct ev_loop *ev, const char *state_dir, const struct left_ops *ops,
                        void *userdata)
{
	struct left *left = NEW0(struct left);

	left->ev = ev;
	left->state_dir = state_dir;
	left->ops = ops;
	left->userdata = userdata;
	left->lock_fd = -1;
	ev_timer_init(&left->lock_again, lock_timer_cb, 0., LOCK_POLL_S);
	ev_timer_init(&left->look_again, look_timer_cb, LOOK_AGAIN_S, LOOK_AGAIN_S);
	ev_timer_start(ev, &left->lock_again);
	return left;
}

void left_free(struct left *left)
{
	if (left == NULL)
		return;
	ev_timer_stop(left->ev, &left->lock_again);
	ev_timer_stop(left->ev, &left->look_again);
	if (left->lock_fd >= 0)
		(void) close(left->lock_fd);
	free(left);
}

const struct left_blocked *left_blocked(const struct left *left)
{
	return &left->blocked;
}

bool left_is_blocked(const struct left *left)
{
	return left->blocked.reason[0] != '\0';
}

bool left_has_lock(const struct left *left)
{
	return left->lock_fd >= 0;
}

bool left_other_has_lock(const struct left *left)
{
	return left->is_held;
}
