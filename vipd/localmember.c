/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the local etcd member at intervals whether it leads. A member that does not answer does not.
 */
#include "vipd/localmember.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "base/conf_check.h"
#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

struct localmember {
	struct ev_loop *ev;
	struct etcd *etcd;
	struct rtnl *rtnl;
	const struct clusterid *cluster;
	localmember_changed_fn changed;
	void *userdata;
	bool leads;
	bool is_silent;
	unsigned unanswered; /* questions in a row */
	ev_timer timer;
	char *endpoint; /* as of the last question; NULL: there is none */
	ev_timer look;  /* at the connection */
	bool was_connected;
	struct etcd_call *call;
};

struct search {
	struct addr addr;
	bool found;
};

static void address_cb(const struct rtnl_addr *a, void *userdata)
{
	struct search *s = userdata;

	/* A host address with a lifetime may be a VIP, which is not this node's own. */
	if (a->valid_s == RTNL_LIFETIME_FOREVER && addr_equal(&a->prefix.addr, &s->addr))
		s->found = true;
}

static const char *find_local_endpoint(struct localmember *m)
{
	const char *const *endpoints;
	size_t n = etcd_endpoints(m->etcd, &endpoints);

	for (size_t i = 0; i < n; i++) {
		struct search s = {0};

		if (conf_url_addr(endpoints[i], &s.addr) < 0)
			continue;
		if (addr_is_loopback(&s.addr))
			return endpoints[i];
		(void) rtnl_addr_list(m->rtnl, address_cb, &s);
		if (s.found)
			return endpoints[i];
	}
	return NULL;
}

static void set(struct localmember *m, bool leads, bool answered)
{
	bool is_silent;

	m->unanswered = answered ? 0 : MIN(m->unanswered + 1, LOCALMEMBER_FALL);
	is_silent = m->unanswered == LOCALMEMBER_FALL;
	if (m->leads == leads && m->is_silent == is_silent && answered)
		return;
	m->leads = leads;
	m->is_silent = is_silent;
	m->changed(leads, is_silent, !answered, m->userdata);
}

static void status_cb(const struct etcd_outcome *outcome, const struct etcd_status *status,
                      void *userdata)
{
	struct localmember *m = userdata;
	uint64_t ours = clusterid_get(m->cluster);

	m->call = NULL;
	set(m,
	    outcome->r == 0 && status->leader != 0 && status->leader == outcome->member_id &&
	        (ours == 0 || outcome->cluster_id == ours),
	    outcome->r != -ETIMEDOUT && outcome->r != -EHOSTUNREACH);
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct localmember *m = CONTAINER_OF(w, struct localmember, timer);
	const char *endpoint;
	int r;

	if (m->call != NULL)
		return;
	endpoint = find_local_endpoint(m);
	free(m->endpoint);
	m->endpoint = endpoint != NULL ? xstrdup(endpoint) : NULL;
	if (endpoint == NULL) {
		set(m, false, true);
		return;
	}
	r = etcd_endpoint_status(m->etcd, endpoint, status_cb, m, &m->call);
	assert(r >= 0);
}

static void look_cb(struct ev_loop *ev, ev_timer *w, int revents UNUSED)
{
	struct localmember *m = CONTAINER_OF(w, struct localmember, look);
	/* To find the endpoint takes a dump of all addresses for each; a node may have thousands. */
	bool is_connected = m->endpoint != NULL && etcd_endpoint_is_connected(m->etcd, m->endpoint);

	if (m->was_connected && !is_connected)
		ev_feed_event(ev, &m->timer, EV_TIMER);
	m->was_connected = is_connected;
}

struct localmember *localmember_new(struct ev_loop *ev, struct etcd *etcd, struct rtnl *rtnl,
                                    const struct clusterid *cluster, localmember_changed_fn changed,
                                    void *userdata)
{
	struct localmember *m = NEW0(struct localmember);

	m->ev = ev;
	m->etcd = etcd;
	m->rtnl = rtnl;
	m->cluster = cluster;
	m->changed = changed;
	m->userdata = userdata;
	ev_timer_init(&m->timer, timer_cb, 0., mono_to_ev(LOCALMEMBER_INTERVAL_US));
	ev_timer_start(ev, &m->timer);
	ev_timer_init(&m->look, look_cb, mono_to_ev(LOCALMEMBER_LOOK_US),
	              mono_to_ev(LOCALMEMBER_LOOK_US));
	ev_timer_start(ev, &m->look);
	return m;
}

void localmember_free(struct localmember *m)
{
	if (m == NULL)
		return;
	ev_timer_stop(m->ev, &m->timer);
	ev_timer_stop(m->ev, &m->look);
	etcd_call_cancel(m->call);
	free(m->endpoint);
	free(m);
}

/* --- the members, for programs without access to etcd --- */

/* One call to etcd for each open request; the control socket limits how many there are. */

struct question {
	struct control_request *request;
	struct etcd_call *call;
	LIST_ENTRY(question) entry;
};

struct memberquery {
	struct etcd *etcd;
	LIST_HEAD(, question) open;
};

static void question_free(struct question *q)
{
	LIST_REMOVE(q, entry);
	free(q);
}

static json_t *urls_json(const char *const *urls, size_t n)
{
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++)
		(void) json_array_append_new(array, jsonval_text(urls[i]));
	return array;
}

static json_t *member_json(const struct etcd_member *m)
{
	char id[17];

	/* As etcdctl writes it; as a number it would not fit into what most readers of JSON have. */
	(void) snprintf(id, sizeof(id), "%llx", (unsigned long long) m->id);
	return json_pack("{s:s, s:o, s:o, s:o, s:b}", "id", id, "name", jsonval_text(m->name),
	                 "client_urls", urls_json(m->client_urls, m->n_client_urls), "peer_urls",
	                 urls_json(m->peer_urls, m->n_peer_urls), "learner", m->learner);
}

static void on_members(const struct etcd_outcome *outcome, const struct etcd_member *members,
                       size_t n_members, void *userdata)
{
	struct question *q = userdata;

	for (size_t i = 0; i < n_members; i++)
		control_reply(q->request, member_json(&members[i]));
	if (outcome->r < 0)
		control_fail(q->request, CONTROL_FAILED, "etcd: %s", outcome->text);
	else
		control_ok(q->request);
	question_free(q);
}

void memberquery_answer(struct memberquery *query, struct control_request *request)
{
	struct question *q = NEW0(struct question);

	q->request = request;
	LIST_INSERT_HEAD(&query->open, q, entry);
	(void) etcd_member_list(query->etcd, on_members, q, &q->call);
}

struct memberquery *memberquery_new(struct etcd *etcd)
{
	struct memberquery *query = NEW0(struct memberquery);

	query->etcd = etcd;
	LIST_INIT(&query->open);
	return query;
}

void memberquery_free(struct memberquery *query)
{
	if (query == NULL)
		return;
	while (!LIST_EMPTY(&query->open)) {
		struct question *q = LIST_FIRST(&query->open);

		etcd_call_cancel(q->call);
		question_free(q);
	}
	free(query);
}
