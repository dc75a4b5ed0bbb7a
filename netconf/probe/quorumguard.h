/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Before a change that may cut this node off: whether etcd could do without it. netconf-probe asks
 * the members, since that takes TLS and HTTP.
 */

#include "base/cleanup.h"
#include "netconf/probe/probe.h"

struct quorumguard;

/* reason: why this node must not be lost now; NULL: nothing speaks against it, or nobody knows,
 * which is logged. Borrowed. */
typedef void (*quorumguard_done_fn)(const char *reason, void *userdata);

/* config: a configuration's text, borrowed for the call. `done` is called once, never before this
 * returns, and the handle is gone then. */
struct quorumguard *quorumguard_start(const struct probe_host *host, const char *config,
                                      quorumguard_done_fn done, void *userdata);
void quorumguard_free(struct quorumguard *guard);
DEFINE_AUTO(struct quorumguard, quorumguard_free);
