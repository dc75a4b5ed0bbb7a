/* SPDX-License-Identifier: Apache-2.0 */
/* Room goes first: while there is none, nothing can be locked, and recovering defragments too. */
#include "etcdwatch/cluster/upkeepdue.h"

/* What has not helped will not help at once. */
#define RECOVER_AGAIN_S 600

enum upkeep_what upkeepdue_look(const struct config_watch *watch, const struct zone *utc,
                                const struct upkeep_past *past, bool no_space, int64_t now_s)
{
	if (no_space) {
		bool may = past->recover_s == 0 || now_s >= past->recover_s + RECOVER_AGAIN_S ||
		           now_s < past->recover_s;

		return watch->recover_space && may ? UPKEEP_RECOVER : UPKEEP_NOTHING;
	}
	if (watch->defrag.enabled &&
	    schedule_previous(&watch->defrag.schedule, utc, now_s) > past->defrag_s)
		return UPKEEP_DEFRAG;
	return UPKEEP_NOTHING;
}
