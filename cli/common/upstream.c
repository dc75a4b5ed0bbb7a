/* SPDX-License-Identifier: Apache-2.0 */
/* Where prism may not ask /readyz, it knows no better than that a server is alive. */
#include "cli/common/upstream.h"

#include <string.h>

#include "cli/common/fields.h"

bool upstream_is_checked(const json_t *overview)
{
	return !field_is_false(overview, "checks");
}

bool upstream_is_good(const json_t *upstream, bool is_checked)
{
	const char *state = field_text(upstream, "state");

	if (!is_checked)
		return field_is_true(upstream, "usable");
	return state != NULL && (strcmp(state, "ready") == 0 || strcmp(state, "alive") == 0);
}
