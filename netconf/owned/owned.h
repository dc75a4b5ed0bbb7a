/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What is ours though the kernel does not say so: what was there already when it was first wanted,
 * and is ours from then on (adopted), and addresses on kernels before 5.18, which keep no
 * IFA_PROTO. A list in a file that is good for one boot, since a new kernel has none of it; a link
 * is told by its name and number together, so that another one of the same name is not mistaken for
 * it.
 *
 *	owned_load -> owned_judge(have) -> plan_make -> owned_expect -> owned_save -> (carried out)
 *	-> owned_settle(what is there then) -> owned_save
 *
 * A list that is lost errs on the safe side: what it had belongs to others, and is left alone.
 */

#include "base/cleanup.h"
#include "netconf/model/model.h"
#include "netconf/plan/plan.h"

struct owned;

struct owned *owned_new(void);
void owned_free(struct owned *owned);
DEFINE_AUTO(struct owned, owned_free);

/* Blocking. No file, or one of another boot: an empty list. 0; -EBADMSG: it is no such file; or
 * -errno. owned_save() is atomic, and writes nothing if the file has it already, as far as this
 * list knows. */
int owned_load(const char *path, struct owned **ret_owned);
int owned_save(struct owned *owned, const char *path);

/* What the list has becomes OWNER_OURS. Before every plan. */
void owned_judge(const struct owned *owned, struct model *have);

/* Before the first step of the plan: the list and these addresses, if `have` shows no sign that the
 * kernel keeps their mark, are ours whatever happens then. */
void owned_expect(struct owned *owned, const struct plan *plan, const struct model *have);

/* After the last: what is gone leaves the list, and so does what has our mark in the kernel. What
 * stands in `want` and is there exactly so by an administrator or a script is adopted; another
 * daemon's is not. want NULL: nothing is adopted (after going back). Both normalised, `have`
 * observed, judged or not. */
void owned_settle(struct owned *owned, const struct model *want, const struct model *have);

/* How many objects, for status and tests. */
size_t owned_count(const struct owned *owned);
