/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What observing, planning and carrying out share of a host's state. */

#include "netconf/host/hoststate.h"

struct hoststate {
	char name[HOST_KERNEL_NAME_MAX]; /* the kernel's */
	/* Where each file is; NULL: nowhere, since the program that would read it is not there. */
	char *paths[HOST_PATHS];
	struct hostfile files[HOST_PATHS];
	struct host_unit units[HOST_SERVICES];
	char *chrony_conf; /* the file that lacks a confdir, for the message; NULL: it has one */
};

struct hoststate *hoststate_copy(const struct hoststate *state);
