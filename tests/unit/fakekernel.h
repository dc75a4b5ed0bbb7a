/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A kernel's network for tests of the planner: takes single steps, refuses what a kernel refuses,
 * loses what a kernel loses, and tells what a step has really cost. It shares no code with the
 * planner, so that a fact must be got wrong twice to pass unseen.
 */

#include "base/cleanup.h"
#include "netconf/model/model.h"
#include "netconf/plan/plan.h"

struct fakekernel;

struct fakekernel *fakekernel_new(const struct model *start);
void fakekernel_free(struct fakekernel *kernel);
DEFINE_AUTO(struct fakekernel, fakekernel_free);

/* Deleting a primary address makes the next one primary, on all links. Off as in the kernel. */
void fakekernel_promote(struct fakekernel *kernel, bool promote);
/* The port's cable is out from now on, of one port at a time; "": none. */
void fakekernel_unplug(struct fakekernel *kernel, const char *port);
/* All that takes its time has had it: LACP has agreed on every port that has its carrier. */
void fakekernel_rest(struct fakekernel *kernel);
/* The port is taken out and put in again: a new link of the old name, closed and nobody's. */
void fakekernel_replug(struct fakekernel *kernel, const char *port);
/* 0 or -errno; *ret_cost is what it has cost, but for OP_MANAGEMENT_PATH, which is a judgement. */
int fakekernel_carry_out(struct fakekernel *kernel, const struct op *op, enum op_class *ret_cost);
/* Normalised; borrowed until the next step. */
const struct model *fakekernel_observe(const struct fakekernel *kernel);
