/* SPDX-License-Identifier: Apache-2.0 */
/* Where prism may not ask /readyz, it knows no better than that a server is alive. */
#include "cli/common/upstream.h"

#include <string.h>

#include "cli/common/fields.h"

bool upstream_is_checked(const json_t *overview)
{
	return !field_is_false(overview, "checks");
}

const char *upstream_unknown(const json_t *objects, const char *reason_key)
{
	const json_t *object;
	size_t i;

	json_array_foreach(objects, i, object)
	{
		if (field_is_true(object, "readiness_unknown"))
			return field_text_or_dash(object, reason_key);
	}
	return NULL;
}

bool upstream_is_good(const json_t *upstream, bool is_checked)
{
	const char *state = field_text(upstream, "state");

	if (!is_checked)
		return field_is_true(upstream, "usable");
	return state != NULL && (strcmp(state, "ready") == 0 || strcmp(state, "alive") == 0);
}
