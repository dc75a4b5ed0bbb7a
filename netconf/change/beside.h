/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a configuration asks for beside links, addresses, routes and rules: the host's names,
 * resolvers and time (hoststate.h), and what ethtool sets (ethplan.h). Observed and planned
 * together with the network, carried out after it, and undone with it. Blocking.
 *
 *	beside_plan -> (checkpoint: beside_to_json) -> beside_carry_out
 *	a lease has changed: beside_plan_again -> (checkpoint) -> beside_carry_out
 *	undo: beside_undo(the checkpoint)
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/conf.h"
#include "netconf/ethtool/ethplan.h"
#include "netconf/host/hoststate.h"
#include "netconf/config/resolve.h"

struct beside;

/* resolution and have (the network as it is) are borrowed for the call, machine as long as it
 * lives. 0, or -errno with a sentence that the caller frees. */
int beside_plan(const struct host_machine *machine, const struct resolution *resolution,
                const struct model *have, struct beside **ret_beside, char **ret_error);
/* Only the host's half, and of it these parts (enum host_attr). */
int beside_plan_host(const struct host_machine *machine, const struct resolution *resolution,
                     unsigned parts, struct beside **ret_beside, char **ret_error);
/* What of the host is left to leases once more, from how it is now to what is wanted now; the steps
 * of the plan before it are over. What it says to a checkpoint goes on to be the way back to the
 * very first state. 0, or -errno with a sentence. */
int beside_plan_again(struct beside *beside, const struct resolution *resolution, char **ret_error);
void beside_free(struct beside *beside);
DEFINE_AUTO(struct beside, beside_free);

/* What cannot be had, and what is odd but goes on: borrowed sentences. Steps are of the rest: of
 * the host if it has no problem, and of each link that has none. */
const struct conf_strings *beside_problems(const struct beside *beside);
const struct conf_strings *beside_notes(const struct beside *beside);

#define BESIDE_TEXT_MAX ETHSTEP_TEXT_MAX
size_t beside_count(const struct beside *beside); /* steps; NULL has none */
const char *beside_format(const struct beside *beside, size_t i, char buf[static BESIDE_TEXT_MAX],
                          enum op_class *ret_class);

/* Every step, until one fails, and then looks whether it is so. 0, or -errno with a sentence that
 * the caller frees. */
int beside_carry_out(struct beside *beside, char **ret_error);

/*
 * Plans each part of the host for itself and carries it out, if it has no problem and `may` allows
 * all of its steps, which it is asked about in the words of beside_format(). *ret_n: how many steps
 * that took. 0, or the first -errno with a sentence that the caller frees.
 */
typedef bool (*beside_may_fn)(const char *step, void *userdata);
int beside_repair_host(const struct host_machine *machine, const struct resolution *resolution,
                       beside_may_fn may, void *userdata, size_t *ret_n, char **ret_error);

/* What a checkpoint needs to undo it; a new reference. */
json_t *beside_to_json(const struct beside *beside);
/* One whose steps are over, of another process. 0, or -EBADMSG. */
int beside_from_json(const struct host_machine *machine, const json_t *json,
                     struct beside **ret_beside);
/*
 * Takes back what has been changed of that, past what cannot be. `drivers`: also what ethtool set,
 * which a new kernel has forgotten. 0, or the first -errno with its sentence; -EBADMSG: it is no
 * such JSON.
 */
int beside_undo(const struct host_machine *machine, const json_t *json, bool drivers,
                char **ret_error);
