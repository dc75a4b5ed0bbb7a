/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What an owner of a VIP in the old cluster may still do, from what `vip status` says on the nodes.
 * Pure.
 */

#include <jansson.h>
#include <stdint.h>

#include "cli/common/texts.h"

/*
 * How long after the last old member of etcd stopped every owner has certainly given its address
 * up, also on a node that is not reached: docs/architecture.md, "Why there are never two", with the
 * last confirmation not later than that stop. `vips` are the objects of `vip status`; for no VIP it
 * is the wait for the longest window that vipd chooses by itself.
 */
int64_t restorefence_wait_us(const json_t *vips);

/* Adds a sentence for each VIP that this node still holds. */
void restorefence_look(const char *node, const json_t *vips, struct texts *holders);
