/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whether a plan may cut this node off from the other members of etcd. More than what its class
 * says: a step that loses no frame may send them all to where nobody is. Pure.
 */

#include "netconf/change/beside.h"
#include "netconf/plan/plan.h"

/* before: the network that the plan was made for. */
bool risk_is_disruptive(const struct plan *plan, const struct model *before,
                        const struct beside *beside);
