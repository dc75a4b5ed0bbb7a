/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Between the two halves of the kernel that is none. */

#include "fakekernel.h"

struct fakekernel {
	struct model *m;
	bool promote;
	enum op_class cost;
	char unplugged[IFNAMSIZ]; /* the port whose cable is out; "": none */
};

/* --- fakekernel.c --- */

/* The dearest of a step counts. */
void fakekernel_costs(struct fakekernel *k, enum op_class class);
void fakekernel_drop_routes(struct fakekernel *k, const char *link, sa_family_t family);

/* --- fakekernel_link.c --- */

int fakekernel_create_link(struct fakekernel *k, const struct op *op);
int fakekernel_delete_link(struct fakekernel *k, const char *gone);
int fakekernel_set_link(struct fakekernel *k, const struct op *op);
int fakekernel_set_bond(struct fakekernel *k, const struct op *op);
int fakekernel_set_wireguard(struct fakekernel *k, const struct op *op);
/* Who has a carrier now; a link that is up and loses it pays. */
/* On the port, or all ports of the bond; "": everywhere. */
void fakekernel_agree(struct fakekernel *k, const char *name);
void fakekernel_settle_carriers(struct fakekernel *k);
