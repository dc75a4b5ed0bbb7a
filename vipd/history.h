/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where a VIP has moved, as far as this process has seen: the last move and a count by reason. Only
 * reporting reads it.
 */

#include <stdint.h>

#include "vipd/facts.h"
#include "vipd/report.h"

#define HISTORY_REASONS_MAX 16

struct history {
	int64_t epoch; /* of the owner seen last; 0: none yet */
	char owner[NODECONF_NAME_MAX + 1];
	int64_t life_us; /* that owner's last sign of life */
	struct {
		char from[NODECONF_NAME_MAX + 1];
		char to[NODECONF_NAME_MAX + 1];
		char reason[RECORD_REASON_MAX + 1];
		int64_t wall_us;
		int64_t begun_us;
		int64_t duration_us;
	} last;
	struct {
		char reason[RECORD_REASON_MAX + 1];
		uint64_t count;
	} counts[HISTORY_REASONS_MAX]; /* the last one gathers what does not fit */
	size_t n_counts;
};

/* Call after every change of the facts. */
void history_on_facts(struct history *history, const struct facts *facts, int64_t now_us);

/* This node has just put the address on its link: the move to it is complete. */
void history_on_held(struct history *history, int64_t now_us);

/* Fills last_move, moves and n_moves; counts has room for HISTORY_REASONS_MAX. */
void history_report(const struct history *history, struct vip_report *report,
                    struct vip_report_count *counts);
