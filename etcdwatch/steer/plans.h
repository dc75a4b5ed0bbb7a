/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* From what there is to the steps that do what was asked for, or to a refusal; pure. ret_steps is
 * written anew. */

#include <stdbool.h>

#include "etcdwatch/steer/steps.h"

/* This machine's member shall lead no more. */
void plan_forfeit(const struct survey *survey, struct steps *ret_steps);
/* This machine's member leaves for good. */
void plan_leave(const struct survey *survey, struct steps *ret_steps);
/* So does another one; by its name or id. */
void plan_remove(const struct survey *survey, const char *word, struct steps *ret_steps);

struct plan_disarm_options {
	bool corrupt_too;
	bool unchecked; /* also where a size or a quota is not known */
};
/* NOSPACE where there is room again, and CORRUPT only by its name. */
void plan_disarm(const struct survey *survey, const struct plan_disarm_options *options,
                 struct steps *ret_steps);

struct plan_defrag_options {
	/* Of which that is worth it, all three: their database's size, how much of it is free. */
	int64_t least_db_bytes;
	int64_t least_free_bytes;
	unsigned least_free; /* per cent */
	/* Of this machine's member's disk; -1: not known. */
	int64_t disk_free_bytes;
};
/* What somebody who asks for it thinks worth it. */
extern const struct plan_defrag_options plan_defrag_by_hand;

/* Writes databases anew, without their free pages: of all voters for whom that is worth it, or of
 * the one that is named. */
void plan_defrag(const struct survey *survey, const char *word,
                 const struct plan_defrag_options *options, struct steps *ret_steps);
/* From NOSPACE back: compacts, defragments all, disarms. */
void plan_recover(const struct survey *survey, int64_t disk_free_bytes, struct steps *ret_steps);
