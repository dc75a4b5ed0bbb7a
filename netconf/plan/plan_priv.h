/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the parts of the planner share. `now` is the network as it will be after the steps so far:
 * each step that is pushed is also done to `now`, with all that the kernel does besides (see
 * plan_effect.c). So every part compares what is wanted with `now`, never with what was at first,
 * and what a step destroys on its way is seen, and put back, without anyone keeping books.
 *
 * Pointers into `now` are good until the next push.
 */

#include "netconf/plan/plan.h"

/* IFA_PROTO of vipd's addresses. Their lifetime is the fence, so only vipd may add them. */
#define PLAN_VIPD_PROTOCOL 0xf1

struct planner {
	struct model *want; /* what can be had of it; normalised */
	const struct model *have;
	struct model *now;
	struct model *lost; /* what the kernel dropped: addresses and routes only */
	const struct plan_options *options;
	struct plan *plan;
	/* Names of links that are deleted when nothing uses them any more. */
	char (*late)[IFNAMSIZ];
	size_t n_late;
};

/* --- plan.c --- */

/* Appends the step and does it to `now`; takes what the step owns. False, and nothing is done, if
 * only such steps are asked for as it is none of. */
bool planner_push(struct planner *p, struct op *op);
bool planner_allows(const struct planner *p, enum op_class class);
void planner_obstacle(struct planner *p, enum plan_obstacle_kind kind, const struct origin *origin,
                      const char *fmt, ...) PRINTF_LIKE(4, 5);
void planner_note(struct planner *p, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* One attribute or several of one link, in one message. */
bool planner_set(struct planner *p, const char *name, const struct link *values,
                 unsigned attributes, enum op_class class);
bool planner_set_up(struct planner *p, const char *name, bool up, enum op_class class);
bool planner_set_mtu(struct planner *p, const char *name, uint32_t mtu);

/* --- plan_effect.c, plan_effect_link.c --- */

void effect_apply(struct model *now, const struct op *op, struct model *lost);
/* Sorted in; the copy is the model's. */
void effect_insert_address(struct model *model, const struct address *address);
void effect_insert_route(struct model *model, const struct route *route);
/* Where the routes of this key begin in a sorted list, or would: those that follow have it, or
 * there are none. */
size_t effect_first_route(const struct model *model, const struct route *key);
/* Unless there is one of its key. */
void effect_insert_wanted_route(struct model *want, const struct route *route);
/* An address is on it, or a route of others than the kernel. */
bool effect_carries(const struct model *model, const char *name);
/* Of a veth, which goes with it. NULL: it is none, or that end is not here. */
const struct link *effect_other_end(const struct model *model, const char *name);
/* Something is on it (an address, another's route, a link), or it is a port: whoever is so close to
 * nothing loses no frame if the link goes down and up. */
bool effect_is_used(const struct model *model, const char *name);
/* The table of what comes in by a port of this master: a VRF's own; else the main one. */
uint32_t effect_table_of(const struct model *model, const char *master);
/* The kernel's own routes on the link, from one table to another. */
void effect_move_connected(struct model *model, const char *link, uint32_t from, uint32_t to);
bool effect_is_below(const struct model *model, const char *below, const char *link);

/* --- plan_check.c --- */

/* "BIRD", "an administrator": whose mark that is, for people. */
const char *plan_owner_name(uint8_t protocol);

/* --- plan_link.c --- */

/* It stays, with all that we have on it. */
void plan_keep_link(struct planner *p, const struct link *link);

/* --- plan_bond.c --- */

/* The options that can be given when it is made. */
uint64_t plan_bond_creatable(const struct bond *bond);
/* Setting `link` down takes this much away from its users, given the VLANs that follow it. */
enum op_class plan_down_class(const struct planner *p, const char *link);
void plan_wait_carrier(struct planner *p, const char *link);
/* The primary, as soon as it is a port. */
void plan_bonds_primary(struct planner *p);

/* --- plan_port.c --- */

bool plan_port_is_live(const struct planner *p, const struct link *port);

/* --- the parts, in the order in which they run --- */

void plan_undo(struct planner *p);         /* plan_undo.c: `want` becomes what is set back */
void plan_obstacles(struct planner *p);    /* plan_check.c: what cannot be had leaves `want` */
void plan_links_create(struct planner *p); /* plan_link.c */
void plan_bonds(struct planner *p);        /* plan_bond.c: options */
void plan_ports(struct planner *p);        /* plan_port.c: who has which master */
void plan_links_set(struct planner *p);    /* plan_link.c: MTU, the rest, up */
void plan_addresses(struct planner *p);    /* plan_object.c */
void plan_routes(struct planner *p);
void plan_rules(struct planner *p);
void plan_addresses_delete(struct planner *p);
void plan_routes_delete(struct planner *p);
void plan_links_delete(struct planner *p);
/* It is ours, no end of a veth, and not wanted any more: what is on it goes with it. */
bool plan_link_goes(const struct planner *p, const char *name);
void plan_put_back(struct planner *p);  /* plan_effect.c */
void plan_tell_lost(struct planner *p); /* what could not be put back */

/*
 * Between the two halves of what steps do to a network besides what they say: links on one side,
 * and what is on links on the other. `lost` gets what the kernel drops. See plan_priv.h.
 */

/* --- plan_effect.c --- */

/* Moves the last element to where it belongs; the list is sorted but for that one. */
void effect_settle_last(void *list, size_t n, size_t size,
                        int (*compare)(const void *, const void *));
void effect_lose_address(struct model *now, size_t i, struct model *lost);
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
