/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The links that may carry a VIP, with their addresses, as ip(8) prints them. */

#include <jansson.h>

#include "cli/init/initfacts.h"

/* From the objects of `ip -json -details address` and `ip -json route show default`. Pure. */
void initlinks_take(const json_t *addresses, const json_t *routes, struct initfacts *facts);

/* Asks ip(8) on the running system. Without it nothing is known of links. */
void initlinks_look(struct initfacts *facts);
