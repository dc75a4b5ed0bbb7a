/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One completion queue, brought to the loop in the same way as the client's. Each call is read to
 * its first message, then handled by the rule of its method; a watch is read on, and written to by
 * the test.
 */
#include "server_inside.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcd/call.h"
#include "etcd/queue.h"
#include "etcd/rpc.h"

#define RULES_MAX 4

static const char *const methods[SERVER_METHODS] = {
    [SERVER_RANGE] = "/etcdserverpb.KV/Range",
    [SERVER_PUT] = "/etcdserverpb.KV/Put",
    [SERVER_TXN] = "/etcdserverpb.KV/Txn",
    [SERVER_GRANT] = "/etcdserverpb.Lease/LeaseGrant",
    [SERVER_KEEPALIVE] = "/etcdserverpb.Lease/LeaseKeepAlive",
    [SERVER_TTL] = "/etcdserverpb.Lease/LeaseTimeToLive",
    [SERVER_MEMBERS] = "/etcdserverpb.Cluster/MemberList",
    [SERVER_STATUS] = "/etcdserverpb.Maintenance/Status",
    [SERVER_HASHKV] = "/etcdserverpb.Maintenance/HashKV",
    [SERVER_ALARM] = "/etcdserverpb.Maintenance/Alarm",
    [SERVER_DEFRAGMENT] = "/etcdserverpb.Maintenance/Defragment",
    [SERVER_MOVE_LEADER] = "/etcdserverpb.Maintenance/MoveLeader",
    [SERVER_MEMBER_REMOVE] = "/etcdserverpb.Cluster/MemberRemove",
    [SERVER_COMPACT] = "/etcdserverpb.KV/Compact",
    [SERVER_AUTHENTICATE] = "/etcdserverpb.Auth/Authenticate",
    [SERVER_WATCH] = "/etcdserverpb.Watch/Watch",
    [SERVER_SNAPSHOT] = "/etcdserverpb.Maintenance/Snapshot",
};

struct outgoing {
	grpc_slice bytes;
	STAILQ_ENTRY(outgoing) entry;
};

struct incoming_call {
	struct server *server;
	struct queue_tag new_tag;
	struct queue_tag receive_tag;
	struct queue_tag send_tag;
	struct queue_tag close_tag;
	unsigned n_out; /* tags */
	bool sending;
	bool ended;
	bool end_waits; /* until what is to be sent has left */
	grpc_status_code end_code;
	const char *end_text; /* a constant */
	bool closed;
	grpc_call *call;
	grpc_call_details details;
	grpc_metadata_array metadata;
	grpc_byte_buffer *request;
	grpc_byte_buffer *reply;
	grpc_slice status_text;
	int cancelled;
	enum server_method method;
	struct server_rule rule;
	ev_timer timer;
	bool initial_sent;
	STAILQ_HEAD(, outgoing) outgoing;
	LIST_ENTRY(incoming_call) entry;
};

struct server {
	struct ev_loop *ev;
	struct queue *queue;
	grpc_server *grpc;
	char url[64];
	uint64_t member_id;
	uint64_t cluster_id;
	int64_t revision;
	struct server_rule rules[SERVER_METHODS][RULES_MAX];
	size_t n_rules[SERVER_METHODS];
	unsigned n_calls[SERVER_METHODS];
	unsigned n_cancelled;
	bool last_has_leader;
	char *token;
	bool open[SERVER_METHODS];          /* need no token */
	grpc_slice answers[SERVER_METHODS]; /* without the header; zero: empty */
	Pb__Member **members;
	size_t n_members;
	struct server_watch watch;
	struct server_snapshot snapshot;
	struct incoming_call *stream; /* the newest watch or snapshot */
	struct queue_tag shutdown_tag;
	bool stopping;
	LIST_HEAD(, incoming_call) calls;
};

static void request_call(struct server *server);

static void call_free_if_idle(struct incoming_call *call)
{
	if (call->n_out > 0 || !call->closed)
		return;
	if (call->server->stream == call)
		call->server->stream = NULL;
	ev_timer_stop(call->server->ev, &call->timer);
	while (!STAILQ_EMPTY(&call->outgoing)) {
		struct outgoing *o = STAILQ_FIRST(&call->outgoing);

		STAILQ_REMOVE_HEAD(&call->outgoing, entry);
		grpc_slice_unref(o->bytes);
		free(o);
	}
	LIST_REMOVE(call, entry);
	grpc_call_details_destroy(&call->details);
	grpc_metadata_array_destroy(&call->metadata);
	grpc_byte_buffer_destroy(call->request);
	grpc_byte_buffer_destroy(call->reply);
	grpc_slice_unref(call->status_text);
	if (call->call != NULL)
		grpc_call_unref(call->call);
	free(call);
}

static void start(struct incoming_call *call, const grpc_op *ops, size_t n, struct queue_tag *tag)
{
	call->n_out++;
	queue_start(call->server->queue, call->call, ops, n, tag);
}

/* --- sending --- */

/* Sends what there is: initial metadata, one message, and with the last one the end, if it is time.
 */
static void flush(struct incoming_call *call)
{
	struct outgoing *o = STAILQ_FIRST(&call->outgoing);
	grpc_op ops[3];
	size_t n = 0;

	if (call->sending || call->ended)
		return;
	memset(ops, 0, sizeof(ops));
	if (!call->initial_sent)
		ops[n++].op = GRPC_OP_SEND_INITIAL_METADATA;
	call->initial_sent = true;
	if (o != NULL) {
		STAILQ_REMOVE_HEAD(&call->outgoing, entry);
		call->reply = grpc_raw_byte_buffer_create(&o->bytes, 1);
		grpc_slice_unref(o->bytes);
		free(o);
		ops[n].op = GRPC_OP_SEND_MESSAGE;
		ops[n++].data.send_message.send_message = call->reply;
	}
	if (call->end_waits && STAILQ_EMPTY(&call->outgoing)) {
		call->ended = true;
		call->status_text = grpc_slice_from_copied_string(call->end_text);
		ops[n].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
		ops[n].data.send_status_from_server.status = call->end_code;
		ops[n++].data.send_status_from_server.status_details = &call->status_text;
	}
	if (n == 0)
		return;
	call->sending = true;
	start(call, ops, n, &call->send_tag);
}

static void on_sent(struct queue_tag *tag, bool ok)
{
	struct incoming_call *call = CONTAINER_OF(tag, struct incoming_call, send_tag);
	bool is_newest = call->server->stream == call;

	call->n_out--;
	call->sending = false;
	grpc_byte_buffer_destroy(call->reply);
	call->reply = NULL;
	if (ok && call->method == SERVER_SNAPSHOT && is_newest)
		server_snapshot_sent(call->server, STAILQ_EMPTY(&call->outgoing));
	if (!STAILQ_EMPTY(&call->outgoing) || call->end_waits)
		flush(call);
	call_free_if_idle(call);
}

static void push(struct incoming_call *call, grpc_slice bytes)
{
	struct outgoing *o = NEW0(struct outgoing);

	o->bytes = bytes;
	STAILQ_INSERT_TAIL(&call->outgoing, o, entry);
}

void incoming_send(struct incoming_call *call, grpc_slice message)
{
	push(call, message);
	flush(call);
}

void incoming_end(struct incoming_call *call, grpc_status_code code, const char *text)
{
	if (call == NULL)
		return;
	call->end_waits = true;
	call->end_code = code;
	call->end_text = text;
	flush(call);
}

struct incoming_call *server_stream(const struct server *server)
{
	return server->stream;
}

Pb__ResponseHeader server_header(const struct server *server)
{
	Pb__ResponseHeader header = PB__RESPONSE_HEADER__INIT;

	header.cluster_id = server->cluster_id;
	header.member_id = server->member_id;
	header.revision = server->revision;
	header.raft_term = 7;
	return header;
}

/* --- the answers --- */

/* Messages one behind the other are read as one that has the fields of both. */
static grpc_slice join(grpc_slice first, grpc_slice second)
{
	size_t len = GRPC_SLICE_LENGTH(first);
	grpc_slice both = grpc_slice_malloc(len + GRPC_SLICE_LENGTH(second));

	memcpy(GRPC_SLICE_START_PTR(both), GRPC_SLICE_START_PTR(first), len);
	memcpy(GRPC_SLICE_START_PTR(both) + len, GRPC_SLICE_START_PTR(second),
	       GRPC_SLICE_LENGTH(second));
	grpc_slice_unref(first);
	return both;
}

/* A header is the same bytes in every answer. */
static grpc_slice pack_answer(const struct incoming_call *call)
{
	Pb__ResponseHeader header = server_header(call->server);
	Pb__RangeResponse plain = PB__RANGE_RESPONSE__INIT;
	Pb__MemberListResponse members = PB__MEMBER_LIST_RESPONSE__INIT;
	Pb__AuthenticateResponse auth;

	if (call->method == SERVER_MEMBERS) {
		members.header = &header;
		members.members = call->server->members;
		members.n_members = call->server->n_members;
		return call_pack(&members.base);
	}
	if (call->method == SERVER_AUTHENTICATE) {
		pb__authenticate_response__init(&auth);
		auth.header = &header;
		auth.token = call->server->token;
		return call_pack(&auth.base);
	}
	plain.header = &header;
	return join(call_pack(&plain.base), call->server->answers[call->method]);
}

static void answer(struct incoming_call *call)
{
	const struct server_rule *rule = &call->rule;

	if (rule->code == GRPC_STATUS_OK)
		push(call, rule->junk ? grpc_slice_from_static_string("\xff\xff\xff") : pack_answer(call));
	incoming_end(call, rule->code, rule->text != NULL ? rule->text : "");
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	answer(CONTAINER_OF(w, struct incoming_call, timer));
}

static struct server_rule take_rule(struct server *server, enum server_method method)
{
	struct server_rule *rule;

	if (server->n_rules[method] == 0)
		return (struct server_rule){0};
	rule = &server->rules[method][server->n_rules[method] - 1];
	if (rule->times == 1) {
		server->n_rules[method]--;
		return *rule;
	}
	if (rule->times > 1)
		rule->times--;
	return *rule;
}

static bool metadata_is(const struct incoming_call *call, const char *key, const char *value)
{
	for (size_t i = 0; i < call->metadata.count; i++) {
		const grpc_metadata *m = &call->metadata.metadata[i];

		if (grpc_slice_str_cmp(m->key, key) == 0)
			return grpc_slice_str_cmp(m->value, value) == 0;
	}
	return false;
}

bool incoming_is_authorized(const struct incoming_call *call)
{
	return call->server->token == NULL || call->server->open[call->method] ||
	       metadata_is(call, "token", call->server->token);
}

static void handle_request(struct incoming_call *call)
{
	call->rule = take_rule(call->server, call->method);
	if (!incoming_is_authorized(call)) {
		call->rule.code = GRPC_STATUS_UNAUTHENTICATED;
		call->rule.text = "etcdserver: invalid auth token";
	}
	if (call->rule.silent || (call->method == SERVER_SNAPSHOT && call->rule.code == 0))
		return;
	if (call->rule.delay_ms > 0) {
		ev_timer_set(&call->timer, call->rule.delay_ms / 1000., 0.);
		ev_timer_start(call->server->ev, &call->timer);
		return;
	}
	answer(call);
}

/* --- receiving --- */

static void receive(struct incoming_call *call)
{
	grpc_op op;

	memset(&op, 0, sizeof(op));
	op.op = GRPC_OP_RECV_MESSAGE;
	op.data.recv_message.recv_message = &call->request;
	start(call, &op, 1, &call->receive_tag);
}

static void on_received(struct queue_tag *tag, bool ok UNUSED)
{
	struct incoming_call *call = CONTAINER_OF(tag, struct incoming_call, receive_tag);
	grpc_byte_buffer *buffer = TAKE_PTR(call->request);
	Pb__WatchRequest *request;
	grpc_slice bytes;

	call->n_out--;
	if (buffer == NULL || call->server->stopping) {
		if (buffer != NULL)
			grpc_byte_buffer_destroy(buffer);
		call_free_if_idle(call);
		return;
	}
	if (call->method != SERVER_WATCH) {
		grpc_byte_buffer_destroy(buffer);
		handle_request(call);
		return;
	}
	(void) rpc_read_buffer(buffer, &bytes);
	request =
	    pb__watch_request__unpack(NULL, GRPC_SLICE_LENGTH(bytes), GRPC_SLICE_START_PTR(bytes));
	grpc_slice_unref(bytes);
	grpc_byte_buffer_destroy(buffer);
	receive(call);
	if (request != NULL) {
		server_watch_request(call->server, call, request);
		pb__watch_request__free_unpacked(request, NULL);
	}
}

static void count_stream(struct incoming_call *call, int change)
{
	struct server *server = call->server;

	if (call->method == SERVER_WATCH)
		server->watch.n_open += (unsigned) change;
	if (call->method == SERVER_SNAPSHOT)
		server->snapshot.n_open += (unsigned) change;
	if (change > 0 && (call->method == SERVER_WATCH || call->method == SERVER_SNAPSHOT))
		server->stream = call;
}

static void on_closed(struct queue_tag *tag, bool ok UNUSED)
{
	struct incoming_call *call = CONTAINER_OF(tag, struct incoming_call, close_tag);

	call->n_out--;
	call->closed = true;
	ev_timer_stop(call->server->ev, &call->timer);
	count_stream(call, -1);
	if (call->cancelled && !call->ended && !call->server->stopping)
		call->server->n_cancelled++;
	if (call->server->stream == call)
		call->server->stream = NULL;
	call_free_if_idle(call);
}

static void on_new_call(struct queue_tag *tag, bool ok)
{
	struct incoming_call *call = CONTAINER_OF(tag, struct incoming_call, new_tag);
	struct server *server = call->server;
	grpc_op op;

	call->n_out--;
	if (!ok) {
		call->closed = true;
		call_free_if_idle(call);
		return;
	}
	request_call(server);
	while (call->method < SERVER_METHODS &&
	       grpc_slice_str_cmp(call->details.method, methods[call->method]) != 0)
		call->method++;
	if (call->method == SERVER_METHODS) {
		(void) fprintf(stderr, "server: a method that no test expects\n");
		abort();
	}
	server->n_calls[call->method]++;
	server->last_has_leader = metadata_is(call, "hasleader", "true");
	count_stream(call, 1);
	memset(&op, 0, sizeof(op));
	op.op = GRPC_OP_RECV_CLOSE_ON_SERVER;
	op.data.recv_close_on_server.cancelled = &call->cancelled;
	start(call, &op, 1, &call->close_tag);
	receive(call);
}

static void request_call(struct server *server)
{
	struct incoming_call *call = NEW0(struct incoming_call);

	call->server = server;
	call->new_tag.fn = on_new_call;
	call->receive_tag.fn = on_received;
	call->send_tag.fn = on_sent;
	call->close_tag.fn = on_closed;
	call->status_text = grpc_empty_slice();
	STAILQ_INIT(&call->outgoing);
	ev_timer_init(&call->timer, timer_cb, 0., 0.);
	grpc_call_details_init(&call->details);
	grpc_metadata_array_init(&call->metadata);
	LIST_INSERT_HEAD(&server->calls, call, entry);
	call->n_out++;
	queue_expect(server->queue, &call->new_tag);
	(void) grpc_server_request_call(server->grpc, &call->call, &call->details, &call->metadata,
	                                queue_cq(server->queue), queue_cq(server->queue),
	                                &call->new_tag);
}

/* --- the server --- */

static struct server *open_server(struct ev_loop *ev, unsigned member, int port)
{
	struct server *server = NEW0(struct server);
	grpc_server_credentials *credentials;
	char address[32];
	int bound;

	grpc_init();
	server->ev = ev;
	server->member_id = SERVER_MEMBER_ID(member);
	server->cluster_id = 1;
	server->revision = 42;
	server->open[SERVER_AUTHENTICATE] = true;
	LIST_INIT(&server->calls);
	if (queue_new(ev, &server->queue) < 0)
		exit(1);
	server->grpc = grpc_server_create(NULL, NULL);
	grpc_server_register_completion_queue(server->grpc, queue_cq(server->queue), NULL);
	credentials = grpc_insecure_server_credentials_create();
	(void) snprintf(address, sizeof(address), "127.0.0.1:%d", port);
	bound = grpc_server_add_http2_port(server->grpc, address, credentials);
	grpc_server_credentials_release(credentials);
	if (bound == 0) {
		(void) fprintf(stderr, "server: cannot listen on %s\n", address);
		exit(1);
	}
	(void) snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%d", bound);
	grpc_server_start(server->grpc);
	request_call(server);
	return server;
}

/* As the client does: gRPC's threads inherit the mask. Where one of them takes a SIGCHLD under
 * ThreadSanitizer, the loop hears of it when that thread next makes a call that is intercepted,
 * which may be never.
 */
struct server *server_new(struct ev_loop *ev, unsigned member, int port)
{
	struct server *server;
	sigset_t all, before;

	(void) sigfillset(&all);
	(void) pthread_sigmask(SIG_SETMASK, &all, &before);
	server = open_server(ev, member, port);
	(void) pthread_sigmask(SIG_SETMASK, &before, NULL);
	return server;
}

static void on_shutdown(struct queue_tag *tag UNUSED, bool ok UNUSED)
{
}

void server_free(struct server *server)
{
	if (server == NULL)
		return;
	server->stopping = true;
	server->shutdown_tag.fn = on_shutdown;
	queue_expect(server->queue, &server->shutdown_tag);
	grpc_server_shutdown_and_notify(server->grpc, queue_cq(server->queue), &server->shutdown_tag);
	grpc_server_cancel_all_calls(server->grpc);
	queue_drain(server->queue);
	grpc_server_destroy(server->grpc);
	queue_free(server->queue);
	for (size_t i = 0; i < SERVER_METHODS; i++)
		grpc_slice_unref(server->answers[i]);
	free(server->token);
	free(server);
	grpc_shutdown();
}

struct server_watch *server_watch(struct server *server)
{
	return &server->watch;
}

struct server_snapshot *server_snapshot(struct server *server)
{
	return &server->snapshot;
}

void server_end_stream(struct server *server, grpc_status_code code, const char *text)
{
	incoming_end(server->stream, code, text);
}

const char *server_url(const struct server *server)
{
	return server->url;
}

void server_set_member(struct server *server, unsigned member)
{
	server->member_id = SERVER_MEMBER_ID(member);
}

void server_set(struct server *server, enum server_method method, struct server_rule rule)
{
	if (rule.times == 0)
		server->n_rules[method] = 0;
	if (server->n_rules[method] < RULES_MAX)
		server->rules[method][server->n_rules[method]++] = rule;
}

unsigned server_calls(const struct server *server, enum server_method method)
{
	return server->n_calls[method];
}

unsigned server_cancelled(const struct server *server)
{
	return server->n_cancelled;
}

bool server_last_has_leader(const struct server *server)
{
	return server->last_has_leader;
}

uint64_t server_cluster_id(struct server *server, uint64_t set)
{
	if (set != 0)
		server->cluster_id = set;
	return server->cluster_id;
}

void server_set_revision(struct server *server, int64_t revision)
{
	server->revision = revision;
}

void server_set_token(struct server *server, const char *token)
{
	free(server->token);
	server->token = token != NULL ? xstrdup(token) : NULL;
}

void server_set_open(struct server *server, enum server_method method)
{
	server->open[method] = true;
}

void server_set_answer(struct server *server, enum server_method method,
                       const ProtobufCMessage *message)
{
	grpc_slice_unref(server->answers[method]);
	server->answers[method] = call_pack(message);
}

void server_set_members(struct server *server, Pb__Member **members, size_t n)
{
	server->members = members;
	server->n_members = n;
}
