/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From what the network is to what the configuration says, once, with nobody there to confirm it:
 * at boot. What cannot be had is reported, and all the rest is done.
 */

#include "base/loop.h"
#include "netconf/config.h"
#include "netconf/kernel.h"

struct once_result {
	int r;            /* 0: all is as it is wanted, but for links that are not there yet */
	size_t n_steps;   /* that the kernel took */
	size_t n_refused; /* collisions, and what cannot be */
	size_t n_waiting; /* what waits for a link */
};

/* Runs the loop until it is done, and logs what there is to say. config is borrowed. */
void once_apply(struct loop *loop, struct kernel *kernel, const struct config *config,
                struct once_result *ret_result);
