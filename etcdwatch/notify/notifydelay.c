/* SPDX-License-Identifier: Apache-2.0 */
/* Doubling stops at the limit, so nothing overflows. */
#include "etcdwatch/notify/notifydelay.h"

#include "base/macro.h"

int64_t notifydelay_us(unsigned n_failed, int64_t max_us, int64_t asked_us, uint32_t random)
{
	int64_t full = MIN(NOTIFYDELAY_FIRST_US, max_us);

	for (unsigned i = 1; i < n_failed && full < max_us; i++)
		full = MIN(2 * full, max_us);
	full = full / 2 + (int64_t) ((double) (full - full / 2) * random / UINT32_MAX);
	return MAX(full, MIN(asked_us, NOTIFYDELAY_ASKED_MAX_US));
}
