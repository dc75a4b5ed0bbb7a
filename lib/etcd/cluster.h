/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Finds the other members by asking one, at start and then once a minute. */

#include "base/cleanup.h"
#include "etcd/etcd.h"

struct discovery;

struct discovery *discovery_new(struct etcd *etcd);
void discovery_free(struct discovery *discovery); /* all calls must be gone */
