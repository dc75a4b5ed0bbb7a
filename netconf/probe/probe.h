/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What must still work after a change if it worked before: the gateways, by asking for their
 * link-layer address; the endpoints of TCPProbeConfig and HTTPProbeConfig; the API server and the
 * other members of etcd that this node talks to; and that no other host has a new address.
 * Each is tried before the change, and those that answered are tried again after it, over and over
 * until they do or the time is up.
 */

#include <ev.h>

#include "base/cleanup.h"
#include "netconf/config/config.h"
#include "netconf/model/model.h"

struct probes;

struct probe_host {
	struct ev_loop *ev;  /* the default loop: libev reaps children there only */
	const char *program; /* netconf-probe; absolute */
};

/* config is borrowed. 0 or -errno. */
int probes_new(const struct probe_host *host, const struct config *config,
               struct probes **ret_probes);
void probes_free(struct probes *probes);
DEFINE_AUTO(struct probes, probes_free);

/* Before the change: `have` is the network as it is. A few seconds at most; then `done`, once,
 * never before this returns. */
typedef void (*probes_known_fn)(size_t n_good, size_t n_all, void *userdata);
void probes_learn(struct probes *probes, const struct model *have, probes_known_fn done,
                  void *userdata);

/* After it. `lost` says in a sentence what worked before and works no more; NULL: nothing is lost.
 */
typedef void (*probes_judged_fn)(const char *lost, void *userdata);
void probes_judge(struct probes *probes, const struct model *have, probes_judged_fn done,
                  void *userdata);

/*
 * Before a change that may cut this node off: whether etcd could do without it. netconf-probe asks
 * the members, since that takes TLS and HTTP.
 */

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
