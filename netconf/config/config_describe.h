/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The way back from a network that is there to a configuration that says the same, so that somebody
 * can begin with what the node has. Pure.
 */

#include "netconf/config/config.h"
#include "netconf/model/model.h"

/*
 * What an administrator made of the observed network: links with their ports, static addresses and
 * routes, rules. What programs make and take away by themselves (leases, VIPs, containers' links,
 * routing daemons' routes) is not described. What of the rest there is no word for is told in
 * `ret_left_out`, which the caller ends. config_print_converted() prints it.
 */
struct config *config_describe(const struct model *have, struct conf_strings *ret_left_out);
