/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Removes a directory and what is in it, by descriptors: whoever may write above it cannot lead it
 * elsewhere. Links are removed, not followed. */

/*
 * `name` in the directory `holder`. 0, also when nothing is there; -EPERM, and nothing is touched,
 * when it is no directory, not this process' own, or others may write into it; what else the system
 * says, and then a part may be gone.
 */
int treerm(int holder, const char *name);
