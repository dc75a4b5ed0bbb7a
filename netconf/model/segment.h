/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where frames of a link go out, before a change and after it: whether an address that it has then
 * comes to neighbours who have not had it among them, and whether these can be asked beforehand.
 * Pure. Both models are normalised; `after` is what was observed, or what a plan will have made.
 */

#include <stdbool.h>

#include "netconf/model/model.h"

/* The link `to` leads, after the change, to neighbours that the link `from` led to before it: over
 * the same card, with the same VLAN tags. The ports of a bond all lead to the same ones, those of a
 * bridge each to others. False also where it cannot be told. */
bool segment_is_same(const struct model *before, const char *from, const struct model *after,
                     const char *to);

/* The address is one that its link's neighbours have had among them, on whatever link it was. */
bool segment_had_address(const struct model *before, const struct model *after,
                         const struct address *address);

/* The link works already, and leads where it will lead: its neighbours can be asked before the
 * change. */
bool segment_is_open(const struct model *before, const struct model *after, const char *link);
