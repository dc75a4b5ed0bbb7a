/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A network of its own for this process and what it starts: one loopback interface, which leads
 * nowhere, and no other. Whatever listens in there cannot be reached from outside, whatever ports
 * the machine uses are free in there, and nothing in there reaches the machine or the network.
 *
 * The first process that is started from then on is the first of a space of processes too: whatever
 * it starts itself ends with it.
 *
 * It comes with a user namespace in which this user is himself and nobody else is there, so that it
 * takes no privilege, and root in there is not the machine's (user_namespaces(7)). Where those are
 * forbidden, root has the network alone.
 */

#include "etcdwatch/worker/common/problem.h"

/* For good; only while the process has one thread. What is open stays open. Code: NAMESPACE. */
int enclave_enter(struct problem *problem);
