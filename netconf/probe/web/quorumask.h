/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Asks etcd who its members are, and each of them whether it is well: over HTTP, as etcdctl is
 * allowed to by the files of EtcdClientConfig, or, without such a document, by kubeadm's. A member
 * whose client port cannot be reached is well if its peer port takes a connection.
 */

#include <ev.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "netconf/model/model.h"

struct quorumask;

/* reason: why this node must not be lost now; NULL: nothing speaks against it, or it is not known.
 * Borrowed. */
typedef void (*quorumask_done_fn)(bool is_known, const char *reason, void *userdata);

/* config: a configuration's text. have: the network as it is, for this node's own addresses. Both
 * are borrowed for the call. `done` is called once, never before this returns, within a few
 * seconds, and the handle is gone then. */
struct quorumask *quorumask_start(struct ev_loop *ev, const char *config, const struct model *have,
                                  quorumask_done_fn done, void *userdata);
void quorumask_free(struct quorumask *ask);
DEFINE_AUTO(struct quorumask, quorumask_free);
