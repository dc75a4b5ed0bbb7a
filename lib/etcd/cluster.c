/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The member list, for users and for the discovery of endpoints. Unless somebody wants to know
 * what the cluster has agreed on, it is answered by the member itself and without a leader: a
 * client that looks for other members needs it most when there is none.
 */
#include "etcd/cluster.h"

#include <errno.h>
#include <ev.h>
#include <stdlib.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcd/call.h"
#include "etcd/client.h"
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
