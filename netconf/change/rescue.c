/* SPDX-License-Identifier: Apache-2.0 */
/* From the files of a change to its undoing. */
#include "netconf/change/rescue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/mono.h"
#include "netconf/change/beside.h"
#include "netconf/change/statedir.h"
#include "netconf/change/undo.h"

#define LIMIT_US (2 * UNDO_TRY_US)

struct rescue {
	char *state_dir, *dir;
	struct checkpoint_state state;
	struct ledger *ledger;
	struct undo *undo;
	rescue_done_fn done;
	void *userdata;
};

void rescue_free(struct rescue *rescue)
{
	if (rescue == NULL)
		return;
	undo_free(rescue->undo);
	ledger_free(rescue->ledger);
	free(rescue->state_dir);
	free(rescue->dir);
	free(rescue);
}

static void give_up(const char *dir, struct checkpoint_state *state, const char *left)
{
	int r;

	state->phase = PHASE_HALF_UNDONE;
	state->deadline_us = mono_now_us();
	(void) snprintf(state->left, sizeof(state->left), "%s", left);
	log_error("half_undone", "id=%s left=\"%s\" reason=\"the next start of netconf tries again\"",
	          state->id, left);
	r = checkpoint_write_state(dir, state);
	if (r < 0)
		(void) log_error_errno(r, "state_unwritten", "dir=%s", dir);
}

static void on_undone(const struct settle_result *result, void *userdata)
{
	struct rescue *rescue = userdata;
	rescue_done_fn done = rescue->done;
	void *done_userdata = rescue->userdata;

	rescue->undo = NULL;
	if (result->r < 0)
		give_up(rescue->dir, &rescue->state, result->reason);
	else
		undo_record(rescue->state_dir, &rescue->state, result->n_done);
	rescue_free(rescue);
	done(result->reason, done_userdata);
}

void rescue_give_up(const char *state_dir, const char *left)
{
	AUTO(free) char *dir = statedir_path(state_dir, STATEDIR_TRANSACTION);
	struct checkpoint_state state;
	int r = checkpoint_read_state(dir, &state);

	if (r < 0)
		(void) log_error_errno(r, "state_unreadable", "dir=%s", dir);
	else
		give_up(dir, &state, left);
}

int rescue_start(struct ev_loop *ev, struct kernel *kernel, const char *state_dir,
                 const char *reason, rescue_done_fn done, void *userdata,
                 struct rescue **ret_rescue)
{
	AUTO(rescue_free) struct rescue *rescue = NEW0(struct rescue);
	struct checkpoint_state *state = &rescue->state;
	struct undo_parts parts = {0};
	int r;

	rescue->state_dir = xstrdup(state_dir);
	rescue->dir = statedir_path(state_dir, STATEDIR_TRANSACTION);
	r = checkpoint_read_state(rescue->dir, state);
	/* From what is over there is no way back. */
	if (r == 0 && phase_is_over(state->phase))
		r = -EALREADY;
	if (r == 0)
		r = undo_read(rescue->dir, state, &parts);
	if (r < 0)
		return r;
	log_warning("rolling_back", "id=%s phase=%s reason=\"%s\"", state->id, phase_name(state->phase),
	            reason);
	/* If an earlier attempt was cut short, its reason is the one. */
	if (state->reason[0] == '\0')
		(void) snprintf(state->reason, sizeof(state->reason), "%s", reason);
	state->phase = PHASE_ROLLING_BACK;
	state->deadline_us = mono_now_us() + LIMIT_US;
	r = checkpoint_write_state(rescue->dir, state);
	if (r < 0)
		/* A full disk must not keep the old network away. */
		(void) log_error_errno(r, "state_unwritten", "dir=%s", rescue->dir);
	rescue->ledger = ledger_open(state_dir);
	rescue->done = done;
	rescue->userdata = userdata;
	rescue->undo =
	    undo_start(ev, kernel, rescue->ledger, &parts, UNDO_TRY_US, NULL, on_undone, rescue);
	*ret_rescue = TAKE_PTR(rescue);
	return 0;
}

int rescue_files(const struct host_machine *machine, const char *state_dir, char **ret_error)
{
	AUTO(free) char *dir = statedir_path(state_dir, STATEDIR_TRANSACTION);
	json_t *beside = NULL;
	int r = checkpoint_read_beside(dir, &beside);

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		*ret_error = xasprintf("%s/beside.json cannot be read: %s", dir, strerror(-r));
	else
		r = beside_undo(machine, beside, false, ret_error);
	json_decref(beside);
	return r;
}
