/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a program does that has no memory, tried in a copy of it (nth_copy.c), so that each malloc
 * of a path can be tried in one walk. Called where the malloc is.
 */

#include <stdbool.h>

enum copy {
	COPY_IS_THIS,   /* this process is the copy: it is to get no memory */
	COPY_ABORTED,   /* it said that there is no memory, and aborted; it did nothing else */
	COPY_DID_OTHER, /* it did something else, or would have: only a walk shows what comes of that */
};

enum copy copy_without_memory(void);
