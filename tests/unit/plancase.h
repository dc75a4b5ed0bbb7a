/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Networks and plans as text, for tests of the planner. One object a line:
 *
 *	nic eth0 mtu 9000 master bond0        bond bond0 mode 1 miimon 100 primary eth0
 *	vlan v7 parent bond0 id 7 down        bridge, dummy, veth, vrf, wireguard NAME ...
 *	address eth0 10.0.0.2/24 metric 7     route 0.0.0.0/0 via 10.0.0.1 dev eth0 metric 100
 *	rule 100 from 10.0.0.0/24 table 7     ... proto 99 (another program's), foreign (links),
 *	                                      proto 4 adopted (ours, with another's mark)
 *
 * A bond's options have the kernel's names and numbers. Anything else stops the test.
 */

#include "base/cleanup.h"
#include "fakekernel.h"
#include "netconf/model/model.h"
#include "netconf/plan/plan.h"

/* Of what is wanted, only what is written is asked for; of what is there, all is known, and what is
 * not written is as a new link has it. Both normalised; the caller frees them. */
struct model *plancase_want(const char *text);
struct model *plancase_have(const char *text);

/* "hitless add address ...\n", one step a line, "! reason\n" of each obstacle, and "# text\n" of
 * each note. Borrowed until
 * the next call. */
const char *plancase_text(const struct plan *plan);

/* Carries out the first n steps: each is taken, and costs no more than it said. */
bool plancase_carry_out(struct fakekernel *kernel, const struct plan *plan, size_t n,
                        const char *what);
/* Lets the kernel rest, plans, carries out all, and sees that a second plan is empty. */
struct plan *plancase_apply(struct fakekernel *kernel, const struct model *want,
                            const struct plan_options *options, const char *what);
