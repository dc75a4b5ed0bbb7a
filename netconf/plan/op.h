/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One step of a plan: what is asked of the kernel in one message, as a value. The planner makes
 * them, the kernel module carries them out, and both can print them. Pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "netconf/model/model.h"

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

/* All of it, with memory of its own. */
void op_copy(const struct op *op, struct op *ret_copy);
void op_fini(struct op *op);

const char *op_class_name(enum op_class class); /* "hitless", "blip", ... */

/* "set bond0 miimon 100 updelay 200", "add route default via 10.0.0.1 dev bond0": for plans, logs
 * and errors. */
#define OP_TEXT_MAX 512
const char *op_format(const struct op *op, char buf[static OP_TEXT_MAX]);
