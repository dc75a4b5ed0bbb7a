/* SPDX-License-Identifier: Apache-2.0 */
/* The last line counts. */
#include "etcdwatch/work/doing.h"

#include <stdio.h>

#include "base/macro.h"

static uint64_t count_of(const json_t *line, const char *key)
{
	return (uint64_t) MAX(json_integer_value(json_object_get(line, key)), 0);
}

void doing_take(struct doing *doing, const json_t *line)
{
	const char *step = json_string_value(json_object_get(line, "doing"));

	if (step == NULL)
		return;
	(void) snprintf(doing->step, sizeof(doing->step), "%s", step);
	doing->bytes = count_of(line, "bytes");
	doing->of_bytes = count_of(line, "of_bytes");
}

void doing_put(const struct doing *doing, json_t *object)
{
	if (doing->step[0] == '\0')
		return;
	(void) json_object_set_new(object, "doing", json_string(doing->step));
	(void) json_object_set_new(object, "bytes", json_integer((json_int_t) doing->bytes));
	(void) json_object_set_new(object, "of_bytes", json_integer((json_int_t) doing->of_bytes));
}
