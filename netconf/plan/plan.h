/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From what the kernel has to what is wanted: the shortest row of steps that the kernel takes, in
 * an order in which nothing is lost that need not be. Pure, and the same for a change and for its
 * undoing: to roll back, the network as it was before is what is wanted.
 *
 * What is not ours is neither changed nor deleted. If a step makes the kernel drop other programs'
 * routes or addresses (a bond that must go down), the plan puts them back.
 */

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/conf.h"
#include "netconf/model/model.h"

/*
 * One step of a plan: what is asked of the kernel in one message, as a value. The planner makes
 * them, the kernel module carries them out, and both can print them. Pure.
 */

/* What a step may cost those who use the network, the dearest last. A plan's class is the dearest
 * of its steps'. */
enum op_class {
	OP_HITLESS,         /* no frame is lost */
	OP_BLIP,            /* a link goes down and up, or its carrier does: frames are lost */
	OP_ADDRESS_BREAK,   /* an address or a route goes away, or comes elsewhere */
	OP_MANAGEMENT_PATH, /* any of these on what carries the way to the operator */
};

enum op_kind {
	OP_LINK_CREATE, /* with all that can be given at creation; it is down then */
	OP_LINK_DELETE,
	OP_LINK_SET, /* the attributes in `attributes` (enum link_attr), to the values in `link` */
	OP_BOND_SET, /* the options in `options`, all of one enum bond_constraint */
	OP_WIREGUARD_SET,
	OP_ADDRESS_ADD,
	OP_ADDRESS_CHANGE, /* in place: priority, lifetime; IPv6: flags */
	OP_ADDRESS_DELETE,
	OP_ROUTE_ADD,     /* refused if there is one of the same key */
	OP_ROUTE_REPLACE, /* of ours: in place, without a gap */
	OP_ROUTE_DELETE,
	OP_RULE_ADD,
	OP_RULE_DELETE,
	/* Until `link` has its carrier, and LACP has agreed where it has a say, at most `wait_ms`;
	 * going on is no error. */
	OP_WAIT_CARRIER,
	OP_KINDS, /* how many */
};

/* Which of the four the step has. The object is the step's own copy; the protocol of an address, a
 * route or a rule is the mark that it is given, or has where it is deleted. */
struct op {
	enum op_kind kind;
	enum op_class class;
	unsigned attributes; /* OP_LINK_SET */
	uint64_t options;    /* OP_BOND_SET */
	uint32_t wait_ms;    /* OP_WAIT_CARRIER */
	/* It puts back what a step before it makes the kernel drop. Another program's object comes back
	 * as it was, byte by byte (raw), with that program's mark. Whether the kernel drops it can
	 * depend on a setting (promote_secondaries), so that -EEXIST is no failure here. */
	bool is_restoring;
	/* It was seen to be back: if it is gone later, its owner has taken it away. */
	bool is_settled;
	struct link link;       /* OP_LINK_*, OP_BOND_SET, OP_WIREGUARD_SET, OP_WAIT_CARRIER */
	struct address address; /* OP_ADDRESS_* */
	struct route route;     /* OP_ROUTE_* */
	struct rule rule;       /* OP_RULE_* */
};

void op_fini(struct op *op);

const char *op_link(const struct op *op);       /* that it is on, or sets; "": none */
const char *op_class_name(enum op_class class); /* "hitless", "blip", ... */

/* "set bond0 miimon 100 updelay 200", "add route default via 10.0.0.1 dev bond0": for plans, logs
 * and errors. */
#define OP_TEXT_MAX 512
const char *op_format(const struct op *op, char buf[static OP_TEXT_MAX]);

#define PLAN_REASON_MAX 512

/* Why something that is wanted is not in the plan. */
enum plan_obstacle_kind {
	PLAN_MISSING_LINK, /* the link, or what it depends on, is not there (yet): only that waits */
	PLAN_COLLISION,    /* another program's object is in the way: it is named */
	PLAN_IMPOSSIBLE,   /* this kernel cannot, whatever the order */
};

struct plan_obstacle {
	enum plan_obstacle_kind kind;
	struct origin origin; /* of what is wanted */
	char reason[PLAN_REASON_MAX];
};

struct plan;

struct plan_options {
	/* The network interface whose address the operator's connection uses, or NULL or ""; steps that
	 * touch it, what is below it and what is above it on the way are OP_MANAGEMENT_PATH. */
	const char *management_link;
	/* Rolling back: the plan that was carried out, perhaps by half; `want` is then what was
	 * observed before it. Only what that plan touches is set back: attributes of found links, our
	 * objects, and other programs' objects that it made the kernel drop. Else NULL. */
	const struct plan *undone;
	uint32_t undone_age_s; /* so long ago `want` was observed: leases have gone on to end */
	/* Repairing drift: leave out all that is not hitless. */
	bool only_hitless;
	/* A lease has changed: leave out all but addresses and routes on these links, whatever they
	 * cost, and what has to be put back for them. NULL: everything. */
	const struct conf_strings *only_on;
};

struct plan {
	struct op *ops;
	size_t n_ops, cap_ops;
	struct plan_obstacle *obstacles;
	size_t n_obstacles, cap_obstacles;
	/* What to know before it is done, and what is no obstacle: another program's object that is
	 * lost for good. Not of an undoing. */
	struct conf_strings notes;
	enum op_class class; /* of the dearest step; OP_HITLESS without any */
};

/* Both models normalised. Never fails: what cannot be is an obstacle. */
struct plan *plan_make(const struct model *want, const struct model *have,
                       const struct plan_options *options);
/* One more step, empty, for whoever reads a plan. Good until the next is added. */
struct op *plan_add(struct plan *plan);
/* The steps of `more` behind those of `plan`, as copies. */
void plan_append(struct plan *plan, const struct plan *more);
/* Of what was carried out: `have` is there now, so that what a step has put back needs no undoing.
 * True if there is any of that which was not known. */
bool plan_settle(struct plan *carried_out, const struct model *have);
/* Before the first step of its undoing: what is there still has to outlive all of its rounds. True
 * if there is any of that. */
bool plan_unsettle(struct plan *undone, const struct model *have);
/* The network as the plan will have made it of `have`, as far as the kernel's ways are known. The
 * caller frees it. */
struct model *plan_foresee(const struct plan *plan, const struct model *have);
void plan_free(struct plan *plan);
DEFINE_AUTO(struct plan, plan_free);

/*
 * Where undoing can lead to now. Links that others have taken away since are not made anew: a
 * virtual one that its owner has deleted stays deleted. A network card that is gone may come back,
 * and if the change had touched it, the way back is not whole before it has. Pure.
 */

/* The network as it was, without those links; the caller frees it. ret_missing: a card that is to
 * come back; "": none. Both models are normalised. */
struct model *wayback_make(const struct model *before, const struct plan *undone,
                           const struct model *have, char ret_missing[static IFNAMSIZ]);
