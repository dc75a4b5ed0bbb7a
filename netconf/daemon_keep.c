/* SPDX-License-Identifier: Apache-2.0 */
/* What was confirmed: where it is read from, that it stays so, and what lacks of it. */
#include "netconf/daemon_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "netconf/change/explain.h"
#include "netconf/change/look.h"
#include "netconf/dhcp/renew.h"

void daemon_load_confirmed(struct daemon *daemon)
{
	AUTO(free) char *text = NULL;
	int r = statedir_confirmed(daemon->start->state_dir, &text);

	if (r == 0)
		r = config_load_text("the confirmed configuration", text, strlen(text), NULL,
		                     conf_message_log, NULL, &daemon->config);
	if (r < 0 && r != -ENOENT)
		(void) log_error_errno(r, "confirmed_unreadable", "dir=%s", daemon->start->state_dir);
}

void daemon_stop_keeping(struct daemon *daemon)
{
	drift_watch(daemon->drift, NULL, NULL);
	config_free(TAKE_PTR(daemon->config));
	daemon->only_leases = false;
}

/* As far as a confirmation got, it is newer than the one before it. -EBUSY: a change of this boot
 * is not over, and the network is its own. */
static int load_unfinished(struct daemon *daemon)
{
	AUTO(free) char *dir = statedir_path(daemon->start->state_dir, STATEDIR_TRANSACTION);
	AUTO(free) char *text = NULL;
	struct checkpoint_state state;
	bool is_same;

	if (checkpoint_read_state(dir, &state) < 0 || checkpoint_same_kernel(&state, &is_same) < 0)
		return -ENOENT;
	switch (phase_find(state.phase, is_same, mono_now_us(), state.deadline_us)) {
	case PHASE_FOUND_WAIT:
	case PHASE_FOUND_UNDO:
		return -EBUSY;
	case PHASE_FOUND_FINISH:
		return checkpoint_read_config(dir, &text) < 0
		           ? -ENOENT
		           : config_load_text("the confirmed configuration", text, strlen(text), NULL,
		                              conf_message_log, NULL, &daemon->config);
	case PHASE_FOUND_VOID:
	case PHASE_FOUND_OVER:
		break;
	}
	return -ENOENT;
}

static int take_look(const struct daemon *daemon, struct look *ret_look)
{
	return look_take(daemon->kernel, ledger_owned(daemon->ledger), daemon->start->runtime_dir,
	                 daemon->config, ret_look);
}

/* A change may last, and its own clients, if it has any, may not be known: what the node had before
 * it goes on to be renewed. */
void daemon_renew_leases(struct daemon *daemon)
{
	struct look look;

	if (daemon->config == NULL || daemon->config->n_dhcps == 0 ||
	    dhcpclients_count(daemon->clients) > 0 || take_look(daemon, &look) < 0)
		return;
	dhcpclients_want(daemon->clients, look.resolution, look.have);
	look_fini(&look);
	/* Of what was left in files nobody tells. */
	renew(daemon->kernel, ledger_owned(daemon->ledger), daemon->clients);
}

/* Nobody else is at work, and a disk that is read-only or damaged must not cost a node the address
 * that it lives by. As at the boot, files count where nothing is confirmed. */
void daemon_keep_leases(struct daemon *daemon)
{
	const struct daemon_start *start = daemon->start;
	int r;

	daemon->only_leases = true;
	if (daemon->ledger == NULL)
		daemon->ledger = ledger_open(start->state_dir);
	r = load_unfinished(daemon);
	if (r < 0)
		daemon_load_confirmed(daemon);
	if (r == -EBUSY) {
		daemon_renew_leases(daemon);
		return;
	}
	if (daemon->config == NULL)
		(void) config_load(start->paths, start->n_paths, conf_message_log, NULL, &daemon->config);
	drift_watch(daemon->drift, daemon->ledger, daemon->config);
	drift_only_tell(daemon->drift);
}

void daemon_keep(struct daemon *daemon)
{
	drift_watch(daemon->drift, daemon->ledger, daemon->config);
	if (daemon->last.left[0] != '\0')
		drift_only_tell(daemon->drift);
	if (daemon->config == NULL) {
		dhcpclients_want_none(daemon->clients);
		dhcpclients_forget_others(daemon->clients);
	}
}

/* What the configuration wants and somebody had made by hand becomes ours with the confirmation, so
 * that it goes when it is no longer wanted. What is gone or marked leaves the list in any case. */
void daemon_adopt(struct daemon *daemon)
{
	struct look look;

	if (take_look(daemon, &look) < 0)
		return;
	ledger_settle(daemon->ledger, look.have,
	              daemon->config->policy.adopt ? look.resolution->model : NULL);
	look_fini(&look);
}

int daemon_diff(struct daemon *daemon, json_t **ret_lines)
{
	static const struct plan_options options = {.management_link = ""};
	AUTO(plan_free) struct plan *plan = NULL;
	AUTO(beside_free) struct beside *beside = NULL;
	AUTO(free) char *error = NULL;
	struct look look;
	int r;

	if (left_is_blocked(daemon->left))
		return -EUCLEAN;
	if (daemon->config == NULL)
		return -ENOENT;
	r = take_look(daemon, &look);
	if (r < 0)
		return r;
	plan = plan_make(look.resolution->model, look.have, &options);
	r = beside_plan(&host_this_machine, look.resolution, look.have, &beside, &error);
	*ret_lines = explain_lines(plan, look.resolution, beside);
	if (r < 0)
		(void) json_array_append_new(*ret_lines, explain_problem_json("impossible", error));
	look_fini(&look);
	return 0;
}
