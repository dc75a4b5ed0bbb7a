/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The boot: from what the network is to the configuration that was confirmed last, or, if none ever
 * was, to the one in the files, which is the confirmed one from then on if all of it could be had.
 * Nobody is there to confirm anything, so what cannot be had is reported, and all the rest is done,
 * even where the state directory cannot be written.
 */

#include <stddef.h>
#include <stdint.h>

struct once_start {
	const char *const *paths; /* of the configuration; none: the default places */
	size_t n_paths;
	const char *state_dir;
	const char *runtime_dir; /* where leases are, if any are known: nobody is asked for one */
	/* So long at most for links that are missing, when all else is done; 0: not at all. */
	int64_t wait_us;
};

/*
 * 0: all is as it is wanted, but for what waits for a link. -EINVAL: the configuration has errors;
 * nothing was touched. -EBUSY: another netconf is at work, or a change of this very boot is under
 * way, which is its guard's. Else -errno: something was refused or failed; the rest is done. What
 * there is to say is logged.
 */
int once_run(const struct once_start *start);
