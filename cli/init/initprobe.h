/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Whether a host has an address already. */

#include <stdbool.h>

#include "base/addr.h"

/* Has the kernel ask for it, by a datagram to the discard port, which any user may send; waits two
 * seconds at most. True with the MAC of who answered. */
bool initprobe_is_answered(const struct addr *addr, struct mac *ret_mac);
