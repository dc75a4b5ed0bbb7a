/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Files that are half taken: `.taking-<job>-<pid>.db`, what they become while they are packed, and
 * entries that are half written. Whoever proves one gives it another name; what a crash leaves is
 * of no use to anyone.
 */

/* Where this process takes a snapshot of the job; the caller frees it. */
char *leftover_path(const char *directory, const char *job);

/* Removes those of this job, of whatever process. Blocking. 0, also when there is no such
 * directory, or -errno. */
int leftover_sweep(const char *directory, const char *job);
