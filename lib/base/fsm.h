/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A table of states and of the moves that are allowed between them. The owner of a state keeps its
 * own enum and the one function that writes it; that function calls fsm_check() first. A move that
 * the table does not allow is a programmer's error and aborts.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fsm_state {
	const char *name;
	uint32_t next; /* bit mask: FSM_TO(s) of each state that may follow */
};

#define FSM_TO(state) (UINT32_C(1) << (state))

bool fsm_allows(const struct fsm_state *table, size_t n_states, unsigned from, unsigned to);

/* Asserts fsm_allows(). */
void fsm_check(const struct fsm_state *table, size_t n_states, unsigned from, unsigned to);
