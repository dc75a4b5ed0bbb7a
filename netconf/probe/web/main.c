/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netconf-probe: asks one URL once, or the members of etcd. A program of its own, so that the
 * daemon does not carry TLS and HTTP, and all that they bring along, for what it does a few times
 * in its life: netconf starts it, and ends it when it takes too long.
 *
 *	netconf-probe URL MILLISECONDS
 *	netconf-probe --quorum
 *
 * The first exits with 0 if the answer's status is from 200 to 399. The second takes a
 * configuration from descriptor 3, prints why this node must not be lost now, or nothing, and exits
 * with 0; else it does not know.
 */
#include <errno.h>
#include <ev.h>
#include <netdb.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/conf_check.h"
#include "base/endpoint.h"
#include "base/conf.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/spawn.h"
#include "etcd/etcdconf.h"
#include "netconf/kernel/kernel.h"
#include "netconf/model/model.h"
#include "netconf/probe/probe_priv.h"
#include "netconf/probe/quorum.h"
#include "web/http.h"

/* --- members of etcd --- */

/* One endpoint after the other for the list of members, then all members at once. */

/*
 * Asks etcd who its members are, and each of them whether it is well: over HTTP, as etcdctl is
 * allowed to by the files of EtcdClientConfig, or, without such a document, by kubeadm's. A member
 * whose client port cannot be reached is well if its peer port takes a connection.
 */

/* reason: why this node must not be lost now; NULL: nothing speaks against it, or it is not known.
 * Borrowed. */
typedef void (*quorumask_done_fn)(bool is_known, const char *reason, void *userdata);

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

static void quorumask_free(struct quorumask *ask)
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

/* config: a configuration's text. have: the network as it is, for this node's own addresses. Both
 * are borrowed for the call. `done` is called once, never before this returns, within a few
 * seconds, and the handle is gone then. */
static struct quorumask *quorumask_start(struct ev_loop *ev, const char *config,
                                         const struct model *have, quorumask_done_fn done,
                                         void *userdata)
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

#define EXIT_USAGE 2

static void on_answer(const struct http_response *response, void *userdata)
{
	bool *is_good = userdata;

	*is_good = response->failure == HTTP_OK && response->status >= 200 && response->status < 400;
	ev_break(EV_DEFAULT, EVBREAK_ALL);
}

/* Blocking; whoever started us waits no longer than it wants. */
static int look_up(const char *host, struct endpoint *ret_endpoint)
{
	static const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *found;
	int r;

	if (getaddrinfo(host, NULL, &hints, &found) != 0)
		return -1;
	r = endpoint_from_sockaddr(found->ai_addr, ret_endpoint);
	freeaddrinfo(found);
	return r;
}

static bool ask(const char *url, const struct endpoint *at, unsigned timeout_ms)
{
	const struct http_request request = {
	    .url = url,
	    .connect_to = at->addr,
	    .timeout_ms = timeout_ms,
	    .max_body_bytes = 1,
	};
	AUTO(http_free) struct http *http = NULL;
	struct http_req *req;
	bool is_good = false;

	if (http_new(EV_DEFAULT, &http) < 0 || http_send(http, &request, on_answer, &is_good, &req) < 0)
		return false;
	(void) ev_run(EV_DEFAULT, 0);
	return is_good;
}

/* --- the quorum --- */

static void on_asked(bool is_known, const char *reason, void *userdata)
{
	bool *ret_is_known = userdata;

	*ret_is_known = is_known;
	if (reason != NULL)
		(void) puts(reason);
	ev_break(EV_DEFAULT, EVBREAK_ALL);
}

static int ask_quorum(void)
{
	AUTO(kernel_free) struct kernel *kernel = NULL;
	AUTO(model_free) struct model *have = NULL;
	AUTO(free) char *path = xasprintf("/proc/self/fd/%d", SPAWN_EXTRA_FD);
	AUTO(free) char *config = NULL;
	bool is_known = false;
	size_t len;

	if (file_read(path, CONF_FILE_BYTES_MAX, &config, &len) < 0 || kernel_new(NULL, &kernel) < 0 ||
	    kernel_observe(kernel, &have) < 0)
		return EXIT_FAILURE;
	(void) quorumask_start(EV_DEFAULT, config, have, on_asked, &is_known);
	(void) ev_run(EV_DEFAULT, 0);
	return is_known && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	unsigned long timeout_ms = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	struct conf_url parsed;
	struct endpoint at;

	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (argc == 2 && strcmp(argv[1], "--quorum") == 0)
		return ask_quorum();
	if (timeout_ms == 0 || conf_parse_url(argv[1], &parsed) != NULL) {
		(void) fputs("usage: netconf-probe URL MILLISECONDS | --quorum\n", stderr);
		return EXIT_USAGE;
	}
	if (look_up(parsed.host, &at) < 0)
		return EXIT_FAILURE;
	return ask(argv[1], &at, (unsigned) timeout_ms) ? EXIT_SUCCESS : EXIT_FAILURE;
}
