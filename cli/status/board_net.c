/* SPDX-License-Identifier: Apache-2.0 */
/* The network: the change that is under way, how it compares with what was confirmed, leases. */
#include "cli/status/board.h"

#include <string.h>

#include "base/mem.h"
#include "cli/common/fields.h"

static void add_change(struct board *board, const json_t *change)
{
	const char *id = field_text_or_dash(change, "id");
	const char *phase = field_text_or_dash(change, "phase");
	long long left_s = (long long) json_number_value(json_object_get(change, "left_s"));
	AUTO(free) char *confirm = xasprintf("If all is well: fairlead net confirm %s", id);
	AUTO(free)
	char *decide = xasprintf("fairlead net rollback %s tries again; fairlead net discard "
	                         "%s leaves it as it is",
	                         id, id);

	if (strcmp(phase, "awaiting") == 0) {
		board_say(board, "a change is not confirmed: %lld s left", left_s);
		board_matter(board, BOARD_WARNED, confirm,
		             "the change %s is undone in %lld s unless it is confirmed", id, left_s);
	} else if (strcmp(phase, "half-undone") == 0) {
		board_say(board, "a change could not be undone");
		board_matter(board, BOARD_FAILED, decide, "the change %s could not be undone: %s", id,
		             field_text_or_dash(change, "left_undone"));
	} else if (strcmp(phase, "rolling-back") == 0) {
		board_say(board, "a change is being undone");
		board_matter(board, BOARD_WARNED, "", "the change %s is being undone: %s", id,
		             field_text_or_dash(change, "reason"));
	} else {
		board_say(board, "a change is %s, %lld s left", phase, left_s);
	}
}

static void add_blocked(struct board *board, const json_t *blocked)
{
	const char *id = field_text(blocked, "id");
	AUTO(free)
	char *to_do =
	    xasprintf("To leave the network as it is: fairlead net discard %s", id != NULL ? id : "");

	board_say(board, "nothing can be changed");
	board_matter(board, BOARD_WARNED, id != NULL && id[0] != '\0' ? to_do : "",
	             "netconf changes nothing: %s", field_text_or_dash(blocked, "reason"));
}

static void add_drift(struct board *board, const json_t *drift)
{
	const char *state = field_text_or_dash(drift, "state");
	const char *duplicate = field_text(drift, "duplicate");
	bool is_fight = strcmp(state, "fight") == 0;

	if (strcmp(state, "none") == 0)
		board_say(board, "as it was confirmed");
	if (is_fight || strcmp(state, "differs") == 0) {
		board_say(board, "not as it was confirmed");
		board_matter(board, BOARD_WARNED,
		             is_fight ? "Find the program that does: another manager of the network?"
		                      : "fairlead net diff has all steps",
		             "the network differs by %lld steps%s, the first: %s",
		             (long long) field_integer(drift, "steps"),
		             is_fight ? ", and somebody sets it back" : "",
		             field_text_or_dash(drift, "first"));
	}
	if (field_integer(drift, "waiting") > 0)
		board_say(board, "%lld wait for a link", (long long) field_integer(drift, "waiting"));
	if (duplicate != NULL && duplicate[0] != '\0')
		board_matter(board, BOARD_WARNED, "Take it from that host, or from this one",
		             "another host has an address of this one: %s", duplicate);
}

static void add_leases(struct board *board, const json_t *leases)
{
	const json_t *lease;
	size_t i;

	json_array_foreach(leases, i, lease)
	{
		if (field_is_true(lease, "running") &&
		    json_array_size(json_object_get(lease, "addresses")) > 0)
			continue;
		board_matter(board, BOARD_WARNED, "Look at the DHCP server, and at the link",
		             "DHCP on %s has no IPv%lld lease%s", field_text_or_dash(lease, "link"),
		             (long long) field_integer(lease, "family"),
		             field_is_false(lease, "running") ? ", and its client does not run" : "");
	}
}

void board_net(struct board *board, const json_t *objects)
{
	const json_t *status = json_array_get(objects, 0);
	const json_t *change = json_object_get(status, "change");
	const json_t *blocked = json_object_get(status, "blocked");

	board_begin(board, "network");
	if (json_is_object(blocked))
		add_blocked(board, blocked);
	else if (json_is_object(change))
		add_change(board, change);
	else if (field_is_true(status, "preparing"))
		board_say(board, "a change is being prepared");
	else if (!field_is_true(status, "confirmed"))
		board_say(board, "nothing was ever confirmed: netconf leaves it alone");
	add_drift(board, json_object_get(status, "drift"));
	add_leases(board, json_object_get(status, "leases"));
}
