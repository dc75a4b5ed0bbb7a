/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What can be said without changing anything and without the daemon: whether a configuration is
 * right, what it says with its defaults, what applying it would do, the same in the newer style.
 * Each prints, says on standard error what is wrong, and returns an exit code.
 */

#include <stdbool.h>
#include <stddef.h>

struct offline {
	const char *const *paths; /* of the configuration; none: the default places */
	size_t n_paths;
	const char *state_dir;   /* NULL: as the configuration says */
	const char *runtime_dir; /* where leases are */
	bool json;
};

int offline_check(const struct offline *o);
int offline_print(const struct offline *o);
int offline_plan(const struct offline *o);
int offline_convert(const struct offline *o);
/* The network as it is, as documents; the configuration is not read. */
int offline_describe(void);
