/* SPDX-License-Identifier: Apache-2.0 */
/* Steps, phases and ends in words. */
#include "cli/net/net_render.h"

#include <string.h>

#include "base/macro.h"
#include "base/mono.h"
#include "cli/common/fields.h"
#include "cli/common/table.h"

#define CLASS_WIDTH 15

static void print_class(FILE *out, const char *class)
{
	size_t width = MIN(table_width(class), CLASS_WIDTH);

	table_print_safe(out, class);
	(void) fprintf(out, "%*s", (int) (CLASS_WIDTH + 2 - width), "");
}

void net_render_line(FILE *out, const json_t *object)
{
	if (field_text(object, "op") != NULL) {
		(void) fprintf(out, "%4lld  ", (long long) field_integer(object, "step"));
		print_class(out, field_text_or_dash(object, "class"));
		table_print_safe(out, field_text(object, "op"));
		(void) fputc('\n', out);
	} else if (field_text(object, "obstacle") != NULL) {
		const char *at = field_text(object, "at");

		table_print_safe(out, field_text(object, "obstacle"));
		(void) fputs(": ", out);
		if (at != NULL && at[0] != '\0') {
			table_print_safe(out, at);
			(void) fputs(": ", out);
		}
		table_print_safe(out, field_text_or_dash(object, "reason"));
		(void) fputc('\n', out);
	} else if (field_text(object, "note") != NULL) {
		(void) fputs("note: ", out);
		table_print_safe(out, field_text(object, "note"));
		(void) fputc('\n', out);
	} else if (field_text(object, "error") != NULL) {
		table_print_safe(out, field_text(object, "error"));
		(void) fputc('\n', out);
	}
}

/* Of a change that is being undone: what cannot be, for now or for good. */
static void render_left(FILE *out, const json_t *change, const char *id, bool is_given_up)
{
	const char *left = field_text(change, "left_undone");

	if (left != NULL && left[0] != '\0') {
		(void) fputs("not undone: ", out);
		table_print_safe(out, left);
		(void) fputs(is_given_up ? "\n" : "; it is tried again\n", out);
	}
	if (!is_given_up)
		return;
	(void) fputs("the way back is kept: 'fairlead net rollback ", out);
	table_print_safe(out, id);
	(void) fputs("' tries again, 'fairlead net discard ", out);
	table_print_safe(out, id);
	(void) fputs("' leaves the network as it is\n", out);
}

void net_render_change(FILE *out, const json_t *change)
{
	const char *phase = field_text_or_dash(change, "phase");
	const char *reason = field_text(change, "reason");
	const char *id = field_text_or_dash(change, "id");
	long long left_s = (long long) json_number_value(json_object_get(change, "left_s"));

	if (strcmp(phase, "awaiting") == 0) {
		(void) fputs("applied: say 'fairlead net confirm ", out);
		table_print_safe(out, id);
		(void) fprintf(out, "' within %lld s, best over a new connection, or it is undone\n",
		               left_s);
		return;
	}
	table_print_safe(out, phase);
	if (reason != NULL && reason[0] != '\0') {
		(void) fputs(": ", out);
		table_print_safe(out, reason);
	}
	(void) fputc('\n', out);
	render_left(out, change, id, strcmp(phase, "half-undone") == 0);
}

static void render_last(FILE *out, const json_t *last, int64_t wall_now_us)
{
	const char *reason = field_text(last, "reason"), *left = field_text(last, "left_undone");
	double ended_s = json_number_value(json_object_get(last, "ended_s"));
	char age[FIELD_AGE_MAX];

	(void) fputs("the last change: ", out);
	table_print_safe(out, field_text_or_dash(last, "how"));
	(void) fprintf(out, ", %s ago",
	               field_age(wall_now_us - (int64_t) (ended_s * (double) US_PER_S), age));
	if (reason != NULL && reason[0] != '\0') {
		(void) fputs(": ", out);
		table_print_safe(out, reason);
	}
	(void) fputc('\n', out);
	if (left != NULL && left[0] != '\0') {
		(void) fputs("what could not be undone: ", out);
		table_print_safe(out, left);
		(void) fputc('\n', out);
	}
}

static void render_drift(FILE *out, const json_t *drift)
{
	const char *state = field_text_or_dash(drift, "state");
	const char *duplicate = field_text(drift, "duplicate");

	if (strcmp(state, "none") == 0)
		(void) fputs("the network is as it was confirmed\n", out);
	if (strcmp(state, "differs") == 0 || strcmp(state, "fight") == 0) {
		(void) fprintf(
		    out,
		    "the network is not as it was confirmed%s; steps that would set it right: %lld, "
		    "the first: ",
		    strcmp(state, "fight") == 0 ? ", and somebody sets it back" : "",
		    (long long) field_integer(drift, "steps"));
		table_print_safe(out, field_text_or_dash(drift, "first"));
		(void) fputc('\n', out);
	}
	if (field_integer(drift, "waiting") > 0)
		(void) fprintf(out, "waiting for a link: %lld\n",
		               (long long) field_integer(drift, "waiting"));
	if (duplicate != NULL && duplicate[0] != '\0') {
		(void) fputs("another host has an address of this one, which is not used here: ", out);
		table_print_safe(out, duplicate);
		(void) fputc('\n', out);
	}
}

static void render_blocked(FILE *out, const json_t *blocked)
{
	const char *id = field_text_or_dash(blocked, "id");

	(void) fputs("nothing can be changed: ", out);
	table_print_safe(out, field_text_or_dash(blocked, "reason"));
	(void) fputc('\n', out);
	if (id[0] == '\0' || strcmp(id, "-") == 0)
		return;
	(void) fputs("the network is left alone; netconf goes on by itself when that is mended, and "
	             "'fairlead net discard ",
	             out);
	table_print_safe(out, id);
	(void) fputs("' forgets the change and leaves the network as it is\n", out);
}

static void render_lease(FILE *out, const json_t *lease)
{
	const json_t *addresses = json_object_get(lease, "addresses"), *address;
	const json_t *left = json_object_get(lease, "left_s");
	const char *server = field_text(lease, "server");
	char age[FIELD_AGE_MAX];
	size_t i;

	(void) fputs("DHCP on ", out);
	table_print_safe(out, field_text_or_dash(lease, "link"));
	(void) fprintf(out, ", IPv%lld:", (long long) field_integer(lease, "family"));
	json_array_foreach(addresses, i, address)
	{
		(void) fputc(' ', out);
		table_print_safe(out, json_string_value(address) != NULL ? json_string_value(address) : "");
	}
	if (json_array_size(addresses) == 0)
		(void) fputs(" no lease", out);
	if (server != NULL) {
		(void) fputs(" from ", out);
		table_print_safe(out, server);
	}
	if (json_is_number(left))
		(void) fprintf(out, ", for %s",
		               field_age((int64_t) (json_number_value(left) * (double) US_PER_S), age));
	(void) fprintf(out, "%s\n",
	               field_is_false(lease, "running") ? "; its client does not run" : "");
}

void net_render_status(FILE *out, const json_t *objects, int64_t wall_now_us)
{
	const json_t *status = json_array_get(objects, 0);
	const json_t *change = json_object_get(status, "change");
	const json_t *last = json_object_get(status, "last"), *lease;
	const json_t *blocked = json_object_get(status, "blocked");
	size_t i;

	if (json_is_object(blocked))
		render_blocked(out, blocked);
	else if (json_is_object(change))
		net_render_change(out, change);
	else if (field_is_true(status, "preparing"))
		(void) fputs("a change is being prepared\n", out);
	else
		(void) fputs("no change is under way\n", out);
	if (!field_is_true(status, "confirmed") && !json_is_object(blocked) && !json_is_object(change))
		(void) fputs("no configuration has ever been confirmed: 'fairlead net apply' begins\n",
		             out);
	render_drift(out, json_object_get(status, "drift"));
	json_array_foreach(json_object_get(status, "leases"), i, lease)
	{
		render_lease(out, lease);
	}
	if (json_is_object(last))
		render_last(out, last, wall_now_us);
}
