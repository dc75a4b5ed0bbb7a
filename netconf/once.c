/* SPDX-License-Identifier: Apache-2.0 */
/* Which configuration it is, after what a loss of power may have left was dealt with. */
#include "netconf/once.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/mono.h"
#include "netconf/config/config.h"
#include "netconf/change/lockfile.h"
#include "netconf/change/rescue.h"
#include "netconf/config/sources.h"
#include "netconf/change/statedir.h"
#include "netconf/once_apply.h"

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
