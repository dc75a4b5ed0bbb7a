/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All questions are asked at once; when the last is answered, or has failed, the picture is
 * complete. Endpoints are asked, not members: a node's own member may be known by 127.0.0.1 alone.
 */
#include "etcdwatch/cluster/view.h"

#include <errno.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/conf_check.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/cluster/doubt.h"

struct view_ask {
	struct view_request *request;
	struct etcd_call *call;
	char endpoint[VIEW_URL_MAX];
};

struct view_request {
	view_done_fn done;
	void *userdata;
	struct view view;
	struct view_ask members, alarms, endpoints[ETCD_ENDPOINTS_MAX];
	unsigned n_open;
};

/* --- which is ours --- */

/* A socket that may be bound says nothing: the kernel may be told to allow any address. */
static bool is_assigned(const struct addr *addr)
{
	struct ifaddrs *all = NULL;
	bool found = false;

	if (getifaddrs(&all) < 0)
		return false;
	for (const struct ifaddrs *i = all; i != NULL && !found; i = i->ifa_next) {
		if (i->ifa_addr == NULL || i->ifa_addr->sa_family != addr->family)
			continue;
		if (addr->family == AF_INET)
			found = memcmp(&((const struct sockaddr_in *) (const void *) i->ifa_addr)->sin_addr,
			               addr->bytes, sizeof(struct in_addr)) == 0;
		else
			found = memcmp(&((const struct sockaddr_in6 *) (const void *) i->ifa_addr)->sin6_addr,
			               addr->bytes, sizeof(struct in6_addr)) == 0;
	}
	freeifaddrs(all);
	return found;
}

bool view_is_local_url(const char *url)
{
	struct addr addr;

	if (strncmp(url, "unix://", strlen("unix://")) == 0)
		return true;
	if (conf_url_addr(url, &addr) < 0 || addr_is_unspecified(&addr))
		return false;
	return addr_is_loopback(&addr) || is_assigned(&addr);
}

/* --- the picture --- */

static struct view_member *find_or_add(struct view *v, uint64_t id)
{
	for (size_t i = 0; i < v->n_members; i++) {
		if (v->members[i].id == id)
			return &v->members[i];
	}
	if (v->n_members == VIEW_MEMBERS_MAX)
		return NULL;
	v->members[v->n_members].id = id;
	return &v->members[v->n_members++];
}

const struct view_member *view_find(const struct view *v, uint64_t id)
{
	for (size_t i = 0; i < v->n_members; i++) {
		if (v->members[i].id == id)
			return &v->members[i];
	}
	return NULL;
}

static void note_denied(struct view *v, const struct etcd_outcome *outcome)
{
	AUTO(free) char *text = NULL;

	if (outcome->r != -EACCES)
		return;
	text = denied_text(outcome->text);
	(void) snprintf(v->denied, sizeof(v->denied), "%s", text);
}

/* Calls out: last act. */
static void close_question(struct view_ask *ask)
{
	struct view_request *r = ask->request;

	ask->call = NULL;
	if (--r->n_open > 0)
		return;
	r->done(&r->view, r->userdata);
	free(r);
}

/* False: they are too long. */
static bool join_urls(const char *const *urls, size_t n, char *text, size_t size)
{
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < n && len < size; i++)
		len += (size_t) snprintf(text + len, size - len, "%s%s", i > 0 ? "," : "", urls[i]);
	return len < size && n <= VIEW_LISTED_URLS_MAX;
}

static bool copy_listed(const struct etcd_member *from, struct view_listed *to)
{
	int len = snprintf(to->name, sizeof(to->name), "%s", from->name);

	to->id = from->id;
	to->learner = from->learner;
	return len >= 0 && (size_t) len < sizeof(to->name) &&
	       join_urls(from->peer_urls, from->n_peer_urls, to->peer_urls, sizeof(to->peer_urls)) &&
	       join_urls(from->client_urls, from->n_client_urls, to->client_urls,
	                 sizeof(to->client_urls));
}

/* A part of a list would be taken for the whole. */
static void keep_list(struct view *v, const struct etcd_member *members, size_t n_members)
{
	v->n_list = 0;
	for (size_t i = 0; i < n_members; i++) {
		if (n_members > VIEW_MEMBERS_MAX || !copy_listed(&members[i], &v->list[i])) {
			log_warning("member_list_too_long", "members=%zu name=\"%s\"", n_members,
			            members[i].name);
			return;
		}
	}
	v->n_list = n_members;
}

static void members_cb(const struct etcd_outcome *outcome, const struct etcd_member *members,
                       size_t n_members, void *userdata)
{
	struct view_ask *ask = userdata;
	struct view *v = &ask->request->view;

	v->listed = outcome->r == 0;
	note_denied(v, outcome);
	if (outcome->r < 0)
		(void) snprintf(v->error, sizeof(v->error), "%s", outcome->text);
	else
		v->cluster_id = outcome->cluster_id;
	keep_list(v, members, n_members);
	for (size_t i = 0; i < n_members; i++) {
		struct view_member *m = find_or_add(v, members[i].id);

		if (m == NULL)
			break;
		(void) snprintf(m->name, sizeof(m->name), "%s", members[i].name);
		m->learner = members[i].learner;
		for (size_t k = 0; k < members[i].n_client_urls; k++)
			m->local |= view_is_local_url(members[i].client_urls[k]);
	}
	close_question(ask);
}

static void alarms_cb(const struct etcd_outcome *outcome, const struct etcd_alarm *alarms,
                      size_t n_alarms, void *userdata)
{
	struct view_ask *ask = userdata;
	struct view *v = &ask->request->view;

	v->alarms_known = outcome->r == 0;
	for (size_t i = 0; i < n_alarms; i++) {
		struct view_member *m = find_or_add(v, alarms[i].member_id);

		if (m != NULL && alarms[i].type == ETCD_ALARM_CORRUPT)
			m->corrupt = true;
		v->corrupt |= alarms[i].type == ETCD_ALARM_CORRUPT;
		v->no_space |= alarms[i].type == ETCD_ALARM_NOSPACE;
	}
	close_question(ask);
}

static void status_cb(const struct etcd_outcome *outcome, const struct etcd_status *status,
                      void *userdata)
{
	struct view_ask *ask = userdata;
	struct view *v = &ask->request->view;
	struct view_member *m = outcome->r == 0 ? find_or_add(v, outcome->member_id) : NULL;

	if (outcome->r < 0)
		log_debug("member_silent", "endpoint=%s err=\"%s\"", ask->endpoint, outcome->text);
	note_denied(v, outcome);
	if (m != NULL && (!m->answers || view_is_local_url(ask->endpoint))) {
		m->answers = true;
		m->local |= view_is_local_url(ask->endpoint);
		(void) snprintf(m->endpoint, sizeof(m->endpoint), "%s", ask->endpoint);
		(void) snprintf(m->version, sizeof(m->version), "%s", status->version);
		m->learner = status->learner;
		m->leader_id = status->leader;
		m->leader = status->leader != 0 && status->leader == m->id;
		m->raft_index = status->raft_index;
		m->raft_applied_index = status->raft_applied_index;
		m->db_bytes = (uint64_t) MAX(status->db_size_bytes, 0);
		v->cluster_id = outcome->cluster_id;
		/* Without a quorum nobody lists the alarms, but each member knows. */
		for (size_t i = 0; i < status->n_errors; i++)
			v->corrupt |= strstr(status->errors[i], "alarm:CORRUPT") != NULL;
	}
	close_question(ask);
}

struct view_request *view_start(struct etcd *etcd, view_done_fn done, void *userdata)
{
	struct view_request *r = NEW0(struct view_request);
	const char *const *endpoints;
	size_t n = etcd_endpoints(etcd, &endpoints);

	r->done = done;
	r->userdata = userdata;
	r->members.request = r;
	r->alarms.request = r;
	r->n_open = 2;
	(void) etcd_member_list(etcd, members_cb, &r->members, &r->members.call);
	(void) etcd_alarm_list(etcd, alarms_cb, &r->alarms, &r->alarms.call);
	for (size_t i = 0; i < n; i++) {
		struct view_ask *ask = &r->endpoints[i];

		ask->request = r;
		(void) snprintf(ask->endpoint, sizeof(ask->endpoint), "%s", endpoints[i]);
		if (etcd_endpoint_status(etcd, ask->endpoint, status_cb, ask, &ask->call) == 0)
			r->n_open++;
	}
	return r;
}

void view_cancel(struct view_request *r)
{
	if (r == NULL)
		return;
	etcd_call_cancel(r->members.call);
	etcd_call_cancel(r->alarms.call);
	for (size_t i = 0; i < ETCD_ENDPOINTS_MAX; i++)
		etcd_call_cancel(r->endpoints[i].call);
	free(r);
}
