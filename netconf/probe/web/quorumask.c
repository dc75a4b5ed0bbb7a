/* SPDX-License-Identifier: Apache-2.0 */
/* One endpoint after the other for the list of members, then all members at once. */
#include "netconf/probe/web/quorumask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/conf_url.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcd/etcdconf.h"
#include "netconf/probe/probe_priv.h"
#include "netconf/probe/quorum.h"
#include "web/http.h"

#define TIMEOUT_US (5 * US_PER_S)
#define POLL_S 0.05
#define LIST_BYTES_MAX (256u << 10)
#define HEALTH_BYTES_MAX 1024
/* That the space is used up says nothing of how the member is; etcd 3.4 does not know this. */
#define HEALTH_PATH "/health?exclude=NOSPACE"

/* One member's question. */
struct asked {
	struct quorumask *ask;
	struct quorum_member *member;
	struct http_req *req;
	struct probe tcp; /* kind NULL: not tried */
	bool is_open;
};

struct quorumask {
	struct ev_loop *ev;
	struct etcdconf etcd;
	struct model *have;
	struct http *http;
	struct http_req *req; /* for the list */
	size_t next;          /* endpoint */
	struct quorum quorum;
	struct asked *asked; /* as many as members */
	ev_timer later, poll;
	bool is_over, is_known, hangs_on_self;
	char reason[QUORUM_REASON_MAX];
	quorumask_done_fn done;
	void *userdata;
};

void quorumask_free(struct quorumask *ask)
{
	if (ask == NULL)
		return;
	ev_timer_stop(ask->ev, &ask->later);
	ev_timer_stop(ask->ev, &ask->poll);
	http_free(ask->http);
	for (size_t i = 0; ask->asked != NULL && i < ask->quorum.n; i++) {
		if (ask->asked[i].tcp.kind == NULL)
			continue;
		ask->asked[i].tcp.kind->fini(&ask->asked[i].tcp);
		free(ask->asked[i].tcp.name);
	}
	free(ask->asked);
	quorum_fini(&ask->quorum);
	etcdconf_fini(&ask->etcd);
	model_free(ask->have);
	free(ask);
}

/* Not inside a callback of a request that is freed with it. */
static void finish(struct quorumask *ask, bool is_known)
{
	ask->is_known = is_known;
	ev_timer_stop(ask->ev, &ask->poll);
	ask->is_over = true;
	ev_timer_start(ask->ev, &ask->later);
}

/* --- how etcd is reached --- */

static bool file_exists(const char *path)
{
	return access(path, R_OK) == 0;
}

static void read_etcd(struct conf *conf, const struct conf_node *document, void *userdata)
{
	etcdconf_read(userdata, conf, document);
}

/* What is wrong with the document is for those who need it to say. */
static int read_access(const char *config, struct etcdconf *ret_etcd)
{
	static const struct conf_kind kinds[] = {
	    {"EtcdClientConfig", etcdconf_fields, read_etcd},
	    {0},
	};
	AUTO(conf_free) struct conf *conf = conf_new();
	struct etcdconf_reading reading = {0};
	int r;

	conf_add_text(conf, "the configuration", config, strlen(config));
	etcdconf_set_defaults(&reading);
	conf_read(conf, kinds, &reading);
	etcdconf_resolve(&reading, conf, file_exists);
	r = conf_finish(conf, NULL, NULL, NULL);
	if (r == 0)
		*ret_etcd = etcdconf_take(&reading);
	etcdconf_reading_fini(&reading);
	return r;
}

static struct http_request request_of(const struct quorumask *ask, const char *method,
                                      const char *url, size_t max_body_bytes)
{
	return (struct http_request){
	    .method = method,
	    .url = url,
	    .ca_file = ask->etcd.ca_file,
	    .client_cert_file = ask->etcd.cert_file,
	    .client_key_file = ask->etcd.key_file,
	    .timeout_ms = TIMEOUT_US / US_PER_MS,
	    .max_body_bytes = max_body_bytes,
	};
}

/* --- the members --- */

static void judge(struct quorumask *ask)
{
	for (size_t i = 0; i < ask->quorum.n; i++) {
		const struct quorum_member *member = &ask->quorum.members[i];

		if (ask->asked[i].is_open)
			return;
		log_info("etcd_member", "member=%s well=%d here=%d", member->name, member->is_well,
		         member->is_self);
	}
	ask->hangs_on_self = quorum_hangs_on_self(&ask->quorum, ask->reason);
	finish(ask, true);
}

static void dial(struct asked *asked)
{
	struct conf_url url;
	struct endpoint endpoint;
	const char *peer = asked->member->peer_url, *colon;
	int64_t port = 0;

	if (peer == NULL || conf_parse_url(peer, &url) != NULL)
		return;
	colon = strrchr(peer, ':');
	if (quorum_endpoint(peer, &endpoint) == 0)
		port = endpoint.port;
	else if (!url.has_port || conf_parse_int(colon + 1, &port) < 0)
		return;
	probe_tcp_init(&asked->tcp, asked->member->name, url.host, (uint16_t) port, TIMEOUT_US);
	asked->is_open = asked->tcp.kind->start(&asked->tcp, mono_now_us()) == PROBE_RUNNING;
}

static void poll_timer_cb(struct ev_loop *ev UNUSED, ev_timer *timer, int revents UNUSED)
{
	struct quorumask *ask = CONTAINER_OF(timer, struct quorumask, poll);

	for (size_t i = 0; i < ask->quorum.n; i++) {
		struct asked *asked = &ask->asked[i];
		enum probe_verdict verdict;

		if (!asked->is_open || asked->tcp.kind == NULL)
			continue;
		verdict = asked->tcp.kind->poll(&asked->tcp, mono_now_us());
		asked->is_open = verdict == PROBE_RUNNING;
		asked->member->is_well = verdict == PROBE_GOOD;
	}
	judge(ask);
}

static void on_health(const struct http_response *response, void *userdata)
{
	struct asked *asked = userdata;

	asked->req = NULL;
	asked->is_open = false;
	asked->member->is_well = response->status == 200;
	/* It was connected, and did not answer in time: it hangs. */
	if (response->failure != HTTP_OK && response->failure != HTTP_TIMEOUT)
		dial(asked);
}

static void ask_member(struct asked *asked)
{
	const struct quorum_member *member = asked->member;
	struct endpoint endpoint;

	if (member->client_url != NULL && quorum_endpoint(member->client_url, &endpoint) == 0 &&
	    (member->is_self || !addr_is_loopback(&endpoint.addr))) {
		AUTO(free) char *url = xasprintf("%s" HEALTH_PATH, member->client_url);
		struct http_request request = request_of(asked->ask, "GET", url, HEALTH_BYTES_MAX);

		asked->is_open = http_send(asked->ask->http, &request, on_health, asked, &asked->req) == 0;
	}
	if (!asked->is_open)
		dial(asked);
}

static void ask_members(struct quorumask *ask)
{
	ask->asked = xcalloc(ask->quorum.n, sizeof(*ask->asked));
	for (size_t i = 0; i < ask->quorum.n; i++) {
		ask->asked[i] = (struct asked){.ask = ask, .member = &ask->quorum.members[i]};
		ask_member(&ask->asked[i]);
	}
	ev_timer_again(ask->ev, &ask->poll);
}

/* --- who they are --- */

static void ask_for_list(struct quorumask *ask);

static void on_list(const struct http_response *response, void *userdata)
{
	struct quorumask *ask = userdata;
	int r = -EBADMSG;

	ask->req = NULL;
	if (response->status == 200)
		r = quorum_read(response->body, response->body_len, ask->have, &ask->quorum);
	if (r < 0) {
		log_info("etcd_not_asked", "endpoint=%s status=%d reason=\"%s\"",
		         ask->etcd.endpoints[ask->next - 1], response->status, response->failure_text);
		ask_for_list(ask);
	} else if (quorum_has_others(&ask->quorum)) {
		ask_members(ask);
	} else {
		finish(ask, true);
	}
}

static void ask_for_list(struct quorumask *ask)
{
	while (ask->next < ask->etcd.n_endpoints) {
		AUTO(free)
		char *url = xasprintf("%s/v3/cluster/member/list", ask->etcd.endpoints[ask->next++]);
		struct http_request request = request_of(ask, "POST", url, LIST_BYTES_MAX);

		if (http_send(ask->http, &request, on_list, ask, &ask->req) == 0)
			return;
	}
	finish(ask, false);
}

static void later_timer_cb(struct ev_loop *ev UNUSED, ev_timer *timer, int revents UNUSED)
{
	struct quorumask *ask = CONTAINER_OF(timer, struct quorumask, later);

	if (ask->is_over) {
		ask->done(ask->is_known, ask->hangs_on_self ? ask->reason : NULL, ask->userdata);
		quorumask_free(ask);
		return;
	}
	/* Nobody has said that there is an etcd, and nothing looks like it. */
	if (ask->etcd.is_default && !file_exists(ask->etcd.ca_file))
		finish(ask, true);
	else
		ask_for_list(ask);
}

struct quorumask *quorumask_start(struct ev_loop *ev, const char *config, const struct model *have,
                                  quorumask_done_fn done, void *userdata)
{
	struct quorumask *ask = NEW0(struct quorumask);
	int r = read_access(config, &ask->etcd);

	if (r == 0)
		r = http_new(ev, &ask->http);
	if (r < 0) {
		(void) log_warning_errno(r, "etcd_not_asked", "reason=\"EtcdClientConfig has errors\"");
		etcdconf_fini(&ask->etcd);
	}
	ask->ev = ev;
	ask->have = model_copy(have);
	ask->done = done;
	ask->userdata = userdata;
	ev_timer_init(&ask->later, later_timer_cb, 0., 0.);
	ev_timer_start(ev, &ask->later);
	ev_timer_init(&ask->poll, poll_timer_cb, POLL_S, POLL_S);
	return ask;
}
