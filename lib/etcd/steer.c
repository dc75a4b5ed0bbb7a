/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that change the cluster, and whose answers say nothing but that it was done. None is
 * repeatable: a second defragmentation is as dear as the first, and a leadership that was handed on
 * is not to be handed on again.
 */
#include "etcd/steer.h"

#include <errno.h>

#include "base/mono.h"
#include "etcd/call.h"
#include "etcd/client.h"
#include "etcd/pool.h"
#include "etcd/proto/etcd.pb-c.h"

/* Who is asked, and how. */
struct target {
	const char *endpoint;
	unsigned flags; /* besides CALL_WRITE */
	unsigned timeout_ms;
};

static int start(struct etcd *etcd, const struct target *target, const char *method,
                 const ProtobufCMessage *request, const ProtobufCMessageDescriptor *response,
                 etcd_done_fn fn, void *userdata, struct etcd_call **ret_call)
{
	struct call_spec spec = {
	    .method = method,
	    .request = request,
	    .response = response,
	    .flags = CALL_WRITE | target->flags,
	    .endpoint = pool_find(etcd->pool, target->endpoint),
	    .timeout_us = target->timeout_ms * US_PER_MS,
	    .deliver = call_deliver_done,
	};

	if (spec.endpoint == NULL)
		return -ENOENT;
	if (target->timeout_ms == 0)
		return -EINVAL;
	call_start(etcd, &spec, (call_user_fn) fn, userdata, ret_call);
	return 0;
}

int etcd_endpoint_defragment(struct etcd *etcd, const char *endpoint, unsigned timeout_ms,
                             etcd_done_fn fn, void *userdata, struct etcd_call **ret_call)
{
	Pb__DefragmentRequest request = PB__DEFRAGMENT_REQUEST__INIT;
	struct target target = {endpoint, CALL_LOCAL, timeout_ms};

	return start(etcd, &target, "/etcdserverpb.Maintenance/Defragment", &request.base,
	             &pb__defragment_response__descriptor, fn, userdata, ret_call);
}

int etcd_endpoint_move_leader(struct etcd *etcd, const char *endpoint, uint64_t target_id,
                              unsigned timeout_ms, etcd_done_fn fn, void *userdata,
                              struct etcd_call **ret_call)
{
	Pb__MoveLeaderRequest request = PB__MOVE_LEADER_REQUEST__INIT;
	struct target target = {endpoint, 0, timeout_ms};

	request.target_id = target_id;
	return start(etcd, &target, "/etcdserverpb.Maintenance/MoveLeader", &request.base,
	             &pb__move_leader_response__descriptor, fn, userdata, ret_call);
}

int etcd_endpoint_member_remove(struct etcd *etcd, const char *endpoint, uint64_t member_id,
                                unsigned timeout_ms, etcd_done_fn fn, void *userdata,
                                struct etcd_call **ret_call)
{
	Pb__MemberRemoveRequest request = PB__MEMBER_REMOVE_REQUEST__INIT;
	struct target target = {endpoint, 0, timeout_ms};

	request.id = member_id;
	return start(etcd, &target, "/etcdserverpb.Cluster/MemberRemove", &request.base,
	             &pb__member_remove_response__descriptor, fn, userdata, ret_call);
}

int etcd_endpoint_alarm_disarm(struct etcd *etcd, const char *endpoint, uint64_t member_id,
                               enum etcd_alarm_type type, unsigned timeout_ms, etcd_done_fn fn,
                               void *userdata, struct etcd_call **ret_call)
{
	Pb__AlarmRequest request = PB__ALARM_REQUEST__INIT;
	struct target target = {endpoint, 0, timeout_ms};

	request.action = PB__ALARM_REQUEST__ACTION__DEACTIVATE;
	request.member_id = member_id;
	request.alarm = type;
	return start(etcd, &target, "/etcdserverpb.Maintenance/Alarm", &request.base,
	             &pb__alarm_response__descriptor, fn, userdata, ret_call);
}

int etcd_endpoint_compact(struct etcd *etcd, const char *endpoint, int64_t revision, bool physical,
                          unsigned timeout_ms, etcd_done_fn fn, void *userdata,
                          struct etcd_call **ret_call)
{
	Pb__CompactionRequest request = PB__COMPACTION_REQUEST__INIT;
	struct target target = {endpoint, 0, timeout_ms};

	request.revision = revision;
	request.physical = physical;
	return start(etcd, &target, "/etcdserverpb.KV/Compact", &request.base,
	             &pb__compaction_response__descriptor, fn, userdata, ret_call);
}
