/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Who is at work: a lock that ends with its process, however that ends, and that tells who has it
 * (fcntl(2), record locks). A process opens a file of these once, and keeps it.
 */

#include <sys/types.h>

/* A descriptor that keeps the lock; -EAGAIN: another process has it; or -errno. */
int lockfile_take(const char *path);

/* The process that has it, 0: nobody; or -errno. Not for a lock of one's own. */
pid_t lockfile_holder(const char *path);
