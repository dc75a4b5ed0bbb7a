/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Is the etcd member of this node the leader? When a node dies that was etcd's leader too, the
 * election of a new one delays the takeover, so vipd prefers owners that do not lead. The member of
 * this node is found among the endpoints by its address: a loopback address, or one that is on a
 * link here. It is asked every LOCALMEMBER_INTERVAL_US; where there is none, or it is of another
 * cluster, the answer stays no.
 *
 * Does it answer at all? The API server of this node works with it, so this stands in for an API
 * server that does not tell whether it is ready (health.h). It is silent after LOCALMEMBER_FALL
 * questions in a row without an answer; a refusal is an answer, and where there is no member, none
 * is silent. When the connection to it breaks, it is asked at once.
 */

#include <ev.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "base/control.h"
#include "base/mono.h"
#include "etcd/etcd.h"
#include "net/rtnl.h"
#include "vipd/clusterid.h"

struct localmember;

#define LOCALMEMBER_INTERVAL_US (2 * US_PER_S)
#define LOCALMEMBER_FALL 2u
/* How often the connection is looked at. */
#define LOCALMEMBER_LOOK_US (250 * US_PER_MS)

/* Any of it changed, or a question had no answer again. in_doubt: the last one had none. */
typedef void (*localmember_changed_fn)(bool leads, bool is_silent, bool in_doubt, void *userdata);

struct localmember *localmember_new(struct ev_loop *ev, struct etcd *etcd, struct rtnl *rtnl,
                                    const struct clusterid *cluster, localmember_changed_fn changed,
                                    void *userdata);
void localmember_free(struct localmember *member);

/*
 * Answers `etcd members` on the control socket: etcd's members, for programs that have no access to
 * etcd and want to know where the control plane is. Each question is passed on to etcd, which
 * answers without a leader.
 */

struct memberquery;

/* etcd is borrowed until memberquery_free(). */
struct memberquery *memberquery_new(struct etcd *etcd);
void memberquery_free(struct memberquery *query); /* open questions are not answered any more */

/* Ends the request, later. */
void memberquery_answer(struct memberquery *query, struct control_request *request);
