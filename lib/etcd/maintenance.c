/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one member says of itself, and which alarms are raised. The first is asked of that member
 * alone and without demanding a leader: a backup or an operator wants to know most when there is
 * none.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcd/call.h"
#include "etcd/client.h"
#include "etcd/etcd.h"
#include "etcd/pool.h"
#include "etcd/proto/etcd.pb-c.h"

static void deliver_status(const struct etcd_outcome *outcome, const ProtobufCMessage *response,
                           call_user_fn fn, void *userdata)
{
	const Pb__StatusResponse *answer = (const void *) response;
	struct etcd_status status;

	if (answer != NULL)
		status = (struct etcd_status){
		    .version = answer->version,
		    .db_size_bytes = answer->db_size,
		    .db_size_in_use_bytes = answer->db_size_in_use,
		    .db_size_quota_bytes = answer->db_size_quota,
		    .storage_version = answer->storage_version,
		    .leader = answer->leader,
		    .raft_index = answer->raft_index,
		    .raft_applied_index = answer->raft_applied_index,
		    .raft_term = answer->raft_term,
		    .learner = answer->is_learner,
		    .errors = (const char *const *) answer->errors,
		    .n_errors = answer->n_errors,
		};
	((etcd_status_fn) fn)(outcome, answer != NULL ? &status : NULL, userdata);
}

int etcd_endpoint_status(struct etcd *etcd, const char *endpoint, etcd_status_fn fn, void *userdata,
                         struct etcd_call **ret_call)
{
	Pb__StatusRequest request = PB__STATUS_REQUEST__INIT;
	struct call_spec spec = {
	    .method = "/etcdserverpb.Maintenance/Status",
	    .request = &request.base,
	    .response = &pb__status_response__descriptor,
	    .flags = CALL_REPEATABLE | CALL_LOCAL | CALL_TOKEN_IF_THERE,
	    .endpoint = pool_find(etcd->pool, endpoint),
	    .deliver = deliver_status,
	};

	if (spec.endpoint == NULL)
		return -ENOENT;
	call_start(etcd, &spec, (call_user_fn) fn, userdata, ret_call);
	return 0;
}

static void deliver_hashkv(const struct etcd_outcome *outcome, const ProtobufCMessage *response,
                           call_user_fn fn, void *userdata)
{
	const Pb__HashKVResponse *answer = (const void *) response;
	struct etcd_hashkv hashkv;

	if (answer != NULL)
		hashkv = (struct etcd_hashkv){
		    .hash = answer->hash,
		    .compact_revision = answer->compact_revision,
		    .hash_revision = answer->hash_revision,
		};
	((etcd_hashkv_fn) fn)(outcome, answer != NULL ? &hashkv : NULL, userdata);
}

int etcd_endpoint_hashkv(struct etcd *etcd, const char *endpoint, int64_t revision,
                         unsigned timeout_ms, etcd_hashkv_fn fn, void *userdata,
                         struct etcd_call **ret_call)
{
	Pb__HashKVRequest request = PB__HASH_KVREQUEST__INIT;
	struct call_spec spec = {
	    .method = "/etcdserverpb.Maintenance/HashKV",
	    .request = &request.base,
	    .response = &pb__hash_kvresponse__descriptor,
	    .flags = CALL_LOCAL,
	    .endpoint = pool_find(etcd->pool, endpoint),
	    .timeout_us = timeout_ms * US_PER_MS,
	    .deliver = deliver_hashkv,
	};

	if (spec.endpoint == NULL)
		return -ENOENT;
	if (revision < 0 || timeout_ms == 0)
		return -EINVAL;
	request.revision = revision;
	call_start(etcd, &spec, (call_user_fn) fn, userdata, ret_call);
	return 0;
}

static void deliver_alarms(const struct etcd_outcome *outcome, const ProtobufCMessage *response,
                           call_user_fn fn, void *userdata)
{
	const Pb__AlarmResponse *answer = (const void *) response;
	AUTO(free) struct etcd_alarm *alarms = NULL;
	size_t n = answer != NULL ? answer->n_alarms : 0;

	alarms = xcalloc(n, sizeof(*alarms));
	for (size_t i = 0; i < n; i++)
		alarms[i] = (struct etcd_alarm){
		    .member_id = answer->alarms[i]->member_id,
		    .type = (enum etcd_alarm_type) answer->alarms[i]->alarm,
		};
	((etcd_alarms_fn) fn)(outcome, answer != NULL ? alarms : NULL, n, userdata);
}

int etcd_alarm_list(struct etcd *etcd, etcd_alarms_fn fn, void *userdata,
                    struct etcd_call **ret_call)
{
	Pb__AlarmRequest request = PB__ALARM_REQUEST__INIT;
	struct call_spec spec = {
	    .method = "/etcdserverpb.Maintenance/Alarm",
	    .request = &request.base,
	    .response = &pb__alarm_response__descriptor,
	    .flags = CALL_REPEATABLE,
	    .deliver = deliver_alarms,
	};

	call_start(etcd, &spec, (call_user_fn) fn, userdata, ret_call);
	return 0;
}
