/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leases. A keepalive is a stream in etcd's API; here it is one message each way on a fresh one, so
 * that it is a call like any other: with a deadline, and hedged. That costs a few hundred bytes
 * more than a standing stream, and cannot hang with it.
 */
#include <errno.h>

#include "base/macro.h"
#include "etcd/call.h"
#include "etcd/client.h"
#include "etcd/etcd.h"
#include "etcd/proto/etcd.pb-c.h"

static void deliver_grant(const struct etcd_outcome *outcome, const ProtobufCMessage *response,
                          call_user_fn fn, void *userdata)
{
	const Pb__LeaseGrantResponse *answer = (const void *) response;
	struct etcd_outcome refused = *outcome;
	struct etcd_lease_result result;

	if (answer == NULL) {
		((etcd_lease_fn) fn)(outcome, NULL, userdata);
		return;
	}
	if (answer->error[0] != '\0') {
		refused.r = -EPROTO;
		refused.text = answer->error;
		((etcd_lease_fn) fn)(&refused, NULL, userdata);
		return;
	}
	result = (struct etcd_lease_result){.id = answer->id, .ttl_s = answer->ttl};
	((etcd_lease_fn) fn)(outcome, &result, userdata);
}

int etcd_lease_grant(struct etcd *etcd, int64_t id, int64_t ttl_s, etcd_lease_fn fn, void *userdata,
                     struct etcd_call **ret_call)
{
	Pb__LeaseGrantRequest request = PB__LEASE_GRANT_REQUEST__INIT;
	struct call_spec spec = {
	    .method = "/etcdserverpb.Lease/LeaseGrant",
	    .request = &request.base,
	    .response = &pb__lease_grant_response__descriptor,
	    .flags = CALL_WRITE,
	    .deliver = deliver_grant,
	};

	request.id = id;
	request.ttl = ttl_s;
	call_start(etcd, &spec, (call_user_fn) fn, userdata, ret_call);
	return 0;
}

static void deliver_keepalive(const struct etcd_outcome *outcome, const ProtobufCMessage *response,
                              call_user_fn fn, void *userdata)
{
	const Pb__LeaseKeepAliveResponse *answer = (const void *) response;
	struct etcd_lease_result result;

	if (answer != NULL)
		result = (struct etcd_lease_result){.id = answer->id, .ttl_s = answer->ttl};
	((etcd_lease_fn) fn)(outcome, answer != NULL ? &result : NULL, userdata);
}

int etcd_lease_keepalive(struct etcd *etcd, int64_t id, etcd_lease_fn fn, void *userdata,
                         struct etcd_call **ret_call)
{
	Pb__LeaseKeepAliveRequest request = PB__LEASE_KEEP_ALIVE_REQUEST__INIT;
	struct call_spec spec = {
	    .method = "/etcdserverpb.Lease/LeaseKeepAlive",
	    .request = &request.base,
	    .response = &pb__lease_keep_alive_response__descriptor,
	    .flags = CALL_REPEATABLE,
	    .deliver = deliver_keepalive,
	};

	request.id = id;
	call_start(etcd, &spec, (call_user_fn) fn, userdata, ret_call);
	return 0;
}

static void deliver_ttl(const struct etcd_outcome *outcome, const ProtobufCMessage *response,
                        call_user_fn fn, void *userdata)
{
	const Pb__LeaseTimeToLiveResponse *answer = (const void *) response;
	struct etcd_lease_result result;

	if (answer != NULL)
		result = (struct etcd_lease_result){
		    .id = answer->id, .ttl_s = answer->ttl, .granted_ttl_s = answer->granted_ttl};
	((etcd_lease_fn) fn)(outcome, answer != NULL ? &result : NULL, userdata);
}

int etcd_lease_ttl(struct etcd *etcd, int64_t id, etcd_lease_fn fn, void *userdata,
                   struct etcd_call **ret_call)
{
	Pb__LeaseTimeToLiveRequest request = PB__LEASE_TIME_TO_LIVE_REQUEST__INIT;
	struct call_spec spec = {
	    .method = "/etcdserverpb.Lease/LeaseTimeToLive",
	    .request = &request.base,
	    .response = &pb__lease_time_to_live_response__descriptor,
	    .flags = CALL_REPEATABLE,
	    .deliver = deliver_ttl,
	};

	request.id = id;
	call_start(etcd, &spec, (call_user_fn) fn, userdata, ret_call);
	return 0;
}

int etcd_lease_revoke(struct etcd *etcd, int64_t id, etcd_done_fn fn, void *userdata,
                      struct etcd_call **ret_call)
{
	Pb__LeaseRevokeRequest request = PB__LEASE_REVOKE_REQUEST__INIT;
	struct call_spec spec = {
	    .method = "/etcdserverpb.Lease/LeaseRevoke",
	    .request = &request.base,
	    .response = &pb__lease_revoke_response__descriptor,
	    .flags = CALL_WRITE,
	    .deliver = call_deliver_done,
	};

	request.id = id;
	call_start(etcd, &spec, (call_user_fn) fn, userdata, ret_call);
	return 0;
}
