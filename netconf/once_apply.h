/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The boot's part that changes the network: what can be had is had at once, whatever is missing,
 * and then links that are missing are waited for, since drivers and buses take their time. Whenever
 * some of them have come, what depends on them is done.
 */

#include "netconf/config/config.h"
#include "netconf/once.h"

/*
 * The service manager is told that it is ready as soon as nothing is missing but further ports of a
 * bond or bridge that has one already; at the latest when this returns 0. 0: all is as it is
 * wanted, but for what waits for a link; else -errno, which is logged.
 */
int once_apply(const struct once_start *start, const struct config *config);
