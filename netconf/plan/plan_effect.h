/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Between the two halves of what steps do to a network besides what they say: links on one side,
 * and what is on links on the other. `lost` gets what the kernel drops. See plan_priv.h.
 */

#include "netconf/plan/plan_priv.h"

/* --- plan_effect.c --- */

/* Moves the last element to where it belongs; the list is sorted but for that one. */
void effect_settle_last(void *list, size_t n, size_t size,
                        int (*compare)(const void *, const void *));
void effect_lose_address(struct model *now, size_t i, struct model *lost);
void effect_lose_route(struct model *now, size_t i, struct model *lost);
/* All on the link, of one family or (AF_UNSPEC) of both. Those of the kernel are made anew when the
 * link comes up, as long as it has the address. */
void effect_lose_routes(struct model *now, const char *link, sa_family_t family,
                        struct model *lost);
/* All that goes with a link, or with its addresses. */
void effect_lose_all_on(struct model *now, const char *link, struct model *lost);

/* --- plan_effect_link.c --- */

void effect_link_create(struct model *now, const struct link *values);
void effect_link_delete(struct model *now, const char *name, struct model *lost);
void effect_link_set(struct model *now, const struct op *op, struct model *lost);
void effect_bond_set(struct model *now, const struct op *op);
void effect_wireguard_set(struct model *now, const struct link *to);
