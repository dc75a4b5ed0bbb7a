/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How far a step has come, told several times a second as {"doing":STEP,"bytes":N,"of_bytes":M}:
 * what takes less than that says nothing. */

#include <stdint.h>

struct pace {
	const char *step; /* static */
	uint64_t of_bytes;
	int64_t told_us;
	uint64_t before_bytes; /* for pace_sent_cb(): of the parts before */
	uint64_t most_bytes;   /* that were told */
};

/* It begins now. */
void pace_begin(struct pace *pace, const char *step, uint64_t of_bytes);
void pace_tell(struct pace *pace, uint64_t bytes);

/* Of a file that is read for its content: a bolt_pass_fn (bolt.h), each pass a step of its own. */
void pace_pass_cb(const char *pass, uint64_t bytes, uint64_t of_bytes, void *pace);

/* Of a part, which may begin again: what was told is never taken back. `pace` is one. */
void pace_sent_cb(uint64_t bytes, void *pace);
