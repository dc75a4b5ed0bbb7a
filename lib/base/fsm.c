/* SPDX-License-Identifier: Apache-2.0 */
/* Checks moves against a table of allowed transitions; holds no state of its own. */
#include "base/fsm.h"

#include <stdlib.h>

#include "base/log.h"

bool fsm_allows(const struct fsm_state *table, size_t n_states, unsigned from, unsigned to)
{
	return from < n_states && to < n_states && (table[from].next & FSM_TO(to)) != 0;
}

void fsm_check(const struct fsm_state *table, size_t n_states, unsigned from, unsigned to)
{
	if (fsm_allows(table, n_states, from, to))
		return;
	log_error("fsm_illegal_transition", "old=%s new=%s", from < n_states ? table[from].name : "?",
	          to < n_states ? table[to].name : "?");
	abort();
}
