/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/common/sent.h"

#include <stdint.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/fields.h"
#include "cli/common/size.h"

double sent_part(const json_t *target)
{
	int64_t of = field_integer(target, "sent_of_bytes");

	return of > 0 ? MIN((double) field_integer(target, "sent_bytes") / (double) of, 1.0) : -1.0;
}

char *sent_text(const json_t *target)
{
	int64_t of = field_integer(target, "sent_of_bytes"), sent = field_integer(target, "sent_bytes");
	int64_t rate = field_integer(target, "sent_bytes_per_s");
	int percent = (int) (100 * sent_part(target));
	char speed[SIZE_TEXT_MAX], left[FIELD_AGE_MAX];

	if (of <= 0)
		return NULL;
	if (rate <= 0 || sent >= of)
		return xasprintf("%d%%", percent);
	return xasprintf(
	    "%d%%, %s/s, %s left", percent, size_text(rate, speed),
	    field_span((int64_t) ((double) (of - sent) / (double) rate * (double) US_PER_S), left));
}
