/* SPDX-License-Identifier: Apache-2.0 */
/* What is written is what is in use before, and all that there is afterwards. */
#include "cli/etcd/defragrate.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/fields.h"

static bool is_defragment(const json_t *step)
{
	return strcmp(field_text_or_dash(step, "step"), "defragment") == 0;
}

void defragrate_take(struct defragrate *rate, const json_t *done)
{
	int64_t bytes = field_integer(done, "bytes_after");
	int64_t took_us = field_integer(done, "took_ms") * US_PER_MS;

	if (!is_defragment(done) || bytes <= 0 || took_us <= 0)
		return;
	(void) snprintf(rate->node, sizeof(rate->node), "%s", field_text_or_dash(done, "node"));
	rate->bytes_per_us = (double) bytes / (double) took_us;
}

char *defragrate_what(const json_t *step)
{
	int64_t bytes = field_integer(step, "in_use_bytes");
	char size[SIZE_TEXT_MAX];

	if (!is_defragment(step) || bytes <= 0)
		return NULL;
	return xasprintf("defragment %s: %s to write", field_text_or_dash(step, "node"),
	                 size_text(bytes, size));
}

int64_t defragrate_expect(const struct defragrate *rate, const json_t *step)
{
	int64_t bytes = field_integer(step, "in_use_bytes");

	if (!is_defragment(step) || bytes <= 0 || rate->bytes_per_us <= 0)
		return 0;
	return (int64_t) ((double) bytes / rate->bytes_per_us);
}
