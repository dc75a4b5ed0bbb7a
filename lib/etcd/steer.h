/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What changes the cluster itself rather than what it stores. For the few callers who know what
 * they do: nothing here asks whether a quorum survives it, whether a leader is being put to work
 * that blocks it, or why an alarm was raised.
 *
 * Each call goes to the member behind one endpoint (-ENOENT unless it is one of etcd_endpoints()),
 * has a deadline of its own (timeout_ms, more than 0, or -EINVAL), is made once, and is not
 * repeated: with outcome->r < 0 and outcome->ambiguous it may have been carried out, which a look
 * at the cluster tells. What is refused with a sentence (outcome->text) is -EPROTO. Where etcd has
 * authentication switched on, all need the root role. Otherwise as in etcd.h.
 *
 * Sources: etcd's rpc.proto, and its server (etcdserver/server.go, api/v3rpc/maintenance.go).
 */

#include "etcd/etcd.h"

/*
 * Writes the database of the member behind one endpoint anew, without its free pages. Its
 * clients get neither reads nor writes answered meanwhile. It takes as much free disk as there are
 * bytes in use. The deadline does not end it: only the answer is no longer waited for.
 */
int etcd_endpoint_defragment(struct etcd *etcd, const char *endpoint, unsigned timeout_ms,
                             etcd_done_fn fn, void *userdata, struct etcd_call **ret_call);

/* Hands the leadership to that member. endpoint: the present leader's, since no other takes it
 * ("not leader"). The answer comes when the cluster follows the new one. */
int etcd_endpoint_move_leader(struct etcd *etcd, const char *endpoint, uint64_t target_id,
                              unsigned timeout_ms, etcd_done_fn fn, void *userdata,
                              struct etcd_call **ret_call);

/* -ENOENT: there is no such member. etcd refuses ("unhealthy cluster") while the members that would
 * stay are not all connected for 5 s, unless it is the one that goes that is not. The one that is
 * removed ends by itself, as soon as it knows. */
int etcd_endpoint_member_remove(struct etcd *etcd, const char *endpoint, uint64_t member_id,
                                unsigned timeout_ms, etcd_done_fn fn, void *userdata,
                                struct etcd_call **ret_call);

/* Says that the reason is gone: no error if there is no such alarm. A member that is still full
 * raises NOSPACE again with the next write. */
int etcd_endpoint_alarm_disarm(struct etcd *etcd, const char *endpoint, uint64_t member_id,
                               enum etcd_alarm_type type, unsigned timeout_ms, etcd_done_fn fn,
                               void *userdata, struct etcd_call **ret_call);

/* Forgets all that was overwritten or deleted up to that revision. physical: the answer comes when
 * the member that was asked has deleted it from its database. -ESTALE: it is compacted already;
 * -EAGAIN: there is no such revision yet. Watches and reads of older revisions fail from then on.
 */
int etcd_endpoint_compact(struct etcd *etcd, const char *endpoint, int64_t revision, bool physical,
                          unsigned timeout_ms, etcd_done_fn fn, void *userdata,
                          struct etcd_call **ret_call);
