/* SPDX-License-Identifier: Apache-2.0 */
/* prism and its upstreams, on one line. */
#include "cli/status/board.h"

#include <string.h>

#include "base/mono.h"
#include "cli/common/fields.h"
#include "cli/common/upstream.h"

static const char *to_do_about(const json_t *upstream)
{
	const char *state = field_text(upstream, "state");

	if (state != NULL && strcmp(state, "untrusted") == 0)
		return "Its certificate is not what prism was told to trust: look at both";
	return "Look at kube-apiserver there, at its log, and at the way to it";
}

static void judge_upstream(struct board *board, const json_t *upstream)
{
	double since_s = json_number_value(json_object_get(upstream, "since_s"));
	char age[FIELD_AGE_MAX];

	board_matter(board, BOARD_WARNED, to_do_about(upstream), "upstream %s has been %s for %s: %s",
	             field_text_or_dash(upstream, "upstream"), field_text_or_dash(upstream, "state"),
	             field_age((int64_t) (since_s * (double) US_PER_S), age),
	             field_text_or_dash(upstream, "reason"));
}

static void judge_sources(struct board *board, const json_t *overview)
{
	const json_t *source, *note;
	size_t i;

	json_array_foreach(json_object_get(overview, "sources"), i, source)
	{
		if (field_text(source, "error") != NULL)
			board_matter(board, BOARD_WARNED, "", "source %s cannot be read: %s",
			             field_text_or_dash(source, "source"), field_text(source, "error"));
	}
	json_array_foreach(json_object_get(overview, "notes"), i, note)
	{
		if (json_is_string(note))
			board_matter(board, BOARD_WARNED, "", "%s", json_string_value(note));
	}
}

static void judge_overview(struct board *board, const json_t *overview)
{
	if (field_integer(overview, "usable") == 0)
		board_matter(board, BOARD_FAILED, "See why: fairlead prism status",
		             "no API server is in good order, or none is known");
	if (field_is_false(overview, "accepting"))
		board_matter(board, BOARD_WARNED, "Raise limits.connections, or LimitNOFILE of its unit",
		             "there is no room for another connection");
	if (field_is_true(overview, "checks") && field_is_false(overview, "probing"))
		board_matter(board, BOARD_WARNED, "See why: journalctl -u fairlead-prism",
		             "the probe process does not run: health is judged by traffic alone");
	judge_sources(board, overview);
}

void board_prism(struct board *board, const json_t *objects)
{
	const json_t *overview = json_array_get(objects, 0), *upstream;
	const char *unknown = upstream_unknown(objects, "reason");
	bool is_checked = upstream_is_checked(overview);
	size_t n = 0, good = 0, drained = 0, i;

	board_begin(board, "prism");
	json_array_foreach(objects, i, upstream)
	{
		if (i == 0)
			continue;
		n++;
		good += upstream_is_good(upstream, is_checked) ? 1 : 0;
		drained += field_is_true(upstream, "drained") ? 1 : 0;
	}
	board_say(board, "%zu of %zu upstreams good", good, n);
	if (drained > 0)
		board_say(board, "%zu drained", drained);
	board_say(board, "%lld of %lld connections", (long long) field_integer(overview, "connections"),
	          (long long) field_integer(overview, "max_connections"));
	judge_overview(board, overview);
	if (unknown != NULL)
		board_matter(board, BOARD_WARNED, UPSTREAM_UNKNOWN_TO_DO, UPSTREAM_UNKNOWN_TEXT "%s",
		             unknown);
	json_array_foreach(objects, i, upstream)
	{
		if (i > 0 && !upstream_is_good(upstream, is_checked) && !field_is_true(upstream, "drained"))
			judge_upstream(board, upstream);
	}
}
