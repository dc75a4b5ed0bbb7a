/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The member list, for users and for the discovery of endpoints. Unless somebody wants to know
 * what the cluster has agreed on, it is answered by the member itself and without a leader: a
 * client that looks for other members needs it most when there is none.
 */
#include <errno.h>
#include <ev.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcd/call.h"
#include "etcd/client.h"
#include "etcd/etcd.h"
#include "etcd/pool.h"
#include "etcd/proto/etcd.pb-c.h"

#define DISCOVER_INTERVAL_S 60.
#define DISCOVER_RETRY_S 5.

struct discovery {
	struct etcd *etcd;
	ev_timer timer;
};

static void deliver_members(const struct etcd_outcome *outcome, const ProtobufCMessage *response,
                            call_user_fn fn, void *userdata)
{
	const Pb__MemberListResponse *answer = (const void *) response;
	AUTO(free) struct etcd_member *members = NULL;
	size_t n = answer != NULL ? answer->n_members : 0;

	members = xcalloc(n, sizeof(*members));
	for (size_t i = 0; i < n; i++) {
		const Pb__Member *from = answer->members[i];

		members[i] = (struct etcd_member){
		    .id = from->id,
		    .name = from->name,
		    .peer_urls = (const char *const *) from->peer_urls,
		    .n_peer_urls = from->n_peer_urls,
		    .client_urls = (const char *const *) from->client_urls,
		    .n_client_urls = from->n_client_urls,
		    .learner = from->is_learner,
		};
	}
	((etcd_members_fn) fn)(outcome, answer != NULL ? members : NULL, n, userdata);
}

static void start_list(struct etcd *etcd, struct endpoint *endpoint, bool linearizable,
                       unsigned timeout_ms, etcd_members_fn fn, void *userdata,
                       struct etcd_call **ret_call)
{
	Pb__MemberListRequest request = PB__MEMBER_LIST_REQUEST__INIT;
	struct call_spec spec = {
	    .method = "/etcdserverpb.Cluster/MemberList",
	    .request = &request.base,
	    .response = &pb__member_list_response__descriptor,
	    .flags = CALL_REPEATABLE | (linearizable ? 0U : CALL_LOCAL | CALL_TOKEN_IF_THERE),
	    .endpoint = endpoint,
	    .timeout_us = timeout_ms * US_PER_MS,
	    .deliver = deliver_members,
	};

	request.linearizable = linearizable;
	call_start(etcd, &spec, (call_user_fn) fn, userdata, ret_call);
}

int etcd_member_list(struct etcd *etcd, etcd_members_fn fn, void *userdata,
                     struct etcd_call **ret_call)
{
	start_list(etcd, NULL, false, 0, fn, userdata, ret_call);
	return 0;
}

int etcd_endpoint_member_list(struct etcd *etcd, const char *endpoint, bool linearizable,
                              unsigned timeout_ms, etcd_members_fn fn, void *userdata,
                              struct etcd_call **ret_call)
{
	struct endpoint *found = pool_find(etcd->pool, endpoint);

	if (found == NULL)
		return -ENOENT;
	start_list(etcd, found, linearizable, timeout_ms, fn, userdata, ret_call);
	return 0;
}

/* --- discovery --- */

static void arm(struct discovery *discovery, double after_s)
{
	ev_timer_set(&discovery->timer, after_s, 0.);
	ev_timer_start(discovery->etcd->ev, &discovery->timer);
}

static void on_members(const struct etcd_outcome *outcome, const struct etcd_member *members,
                       size_t n_members, void *userdata)
{
	struct discovery *discovery = userdata;
	struct pool_member urls[ETCD_ENDPOINTS_MAX] = {0};
	bool is_starting = false;
	size_t n = 0;

	if (outcome->r < 0) {
		arm(discovery, DISCOVER_RETRY_S);
		return;
	}
	for (size_t i = 0; i < n_members; i++) {
		/* It says where it is when it has started, which may be in a moment. */
		is_starting |= members[i].n_client_urls == 0;
		/* A learner serves none of our calls. */
		for (size_t k = 0; k < members[i].n_client_urls && !members[i].learner; k++) {
			if (n < ETCD_ENDPOINTS_MAX)
				urls[n++] = (struct pool_member){members[i].client_urls[k], members[i].id};
		}
	}
	pool_set_discovered(discovery->etcd->pool, urls, n);
	arm(discovery, is_starting ? DISCOVER_RETRY_S : DISCOVER_INTERVAL_S);
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct discovery *discovery = CONTAINER_OF(w, struct discovery, timer);

	(void) etcd_member_list(discovery->etcd, on_members, discovery, NULL);
}

struct discovery *discovery_new(struct etcd *etcd)
{
	struct discovery *discovery = NEW0(struct discovery);

	discovery->etcd = etcd;
	ev_timer_init(&discovery->timer, timer_cb, 0., 0.);
	arm(discovery, 0.);
	return discovery;
}

void discovery_free(struct discovery *discovery)
{
	if (discovery == NULL)
		return;
	ev_timer_stop(discovery->etcd->ev, &discovery->timer);
	free(discovery);
}

/* --- what one member says of itself, and alarms --- */

/*
 * The status is asked of the named member alone and without demanding a leader: a backup or an
 * operator needs it most when there is none.
 */

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
