/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How far a step has come, told once a second as {"doing":STEP,"bytes":N,"of_bytes":M}: what takes
 * less than that says nothing. */

#include <stdint.h>

struct pace {
	const char *step; /* static */
	uint64_t of_bytes;
	int64_t told_us;
};

/* It begins now. */
void pace_begin(struct pace *pace, const char *step, uint64_t of_bytes);
void pace_tell(struct pace *pace, uint64_t bytes);
