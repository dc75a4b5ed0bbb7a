/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns every one-shot call from the asking to the answer. A call takes a snapshot of the endpoints,
 * primary first, and advance() decides after each event (start, failure, timer) what to do now:
 *
 *   nothing in flight                  -> the best endpoint that may be tried, at once
 *   in flight, repeatable, hedge_ms on -> one more, at another endpoint
 *   every endpoint refused to connect  -> -EHOSTUNREACH, without waiting for the deadline
 *   deadline                           -> -ETIMEDOUT, or -EHOSTUNREACH if nothing ever left
 *
 * An attempt that decides nothing (verdict_of()) makes room for the next. The first that decides
 * settles the call: the others are cancelled, then the user is told, as the last act. An answer of
 * a cluster that is not meant decides nothing, and rules its endpoint out.
 *
 * A write that may not land twice is tried again only if the last attempt certainly did nothing;
 * else it ends at once, and is marked ambiguous. While it waits for a connection it is withdrawn
 * after hedge_ms, and goes to the next once gRPC has said that it was not sent.
 */
#include "etcd/call.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcd/auth.h"
#include "etcd/client.h"
#include "etcd/proto/etcd.pb-c.h"
#include "etcd/rpc.h"

#define BACKOFF_FIRST_US (50 * US_PER_MS)
#define BACKOFF_MAX_US (400 * US_PER_MS)
/* Our own timer ends calls; gRPC's is there for the server, and for a loop that hangs. */
#define RPC_TIMEOUT_SLACK_US (500 * US_PER_MS)
#define REFUSED_TOKENS_MAX 2

/* One endpoint as one call sees it. */
struct candidate {
	struct etcd_call *call;
	struct endpoint *endpoint;
	struct rpc *rpc; /* in flight */
	bool had_token;  /* that, or the knowledge that none is needed; and its generation */
	bool sent_token;
	unsigned token_generation;
	unsigned n_tries;
	int64_t not_before_us;
	bool withdrawn;   /* in flight, and cancelled */
	bool unreachable; /* the last try found no connection */
};

struct etcd_call {
	struct etcd *etcd;
	struct call_spec spec;
	grpc_slice request;
	call_user_fn fn;
	void *userdata;

	struct candidate candidates[ETCD_ENDPOINTS_MAX];
	size_t n_candidates;
	int64_t timeout_us;
	int64_t deadline_us;
	int64_t last_start_us;
	ev_timer timer;
	struct auth_wait auth_wait;
	unsigned n_refused_tokens;

	bool maybe_done; /* an attempt that has ended may have been carried out */
	int last_r;      /* of the last attempt that decided nothing */
	char last_text[ETCD_ERROR_TEXT_MAX];
	LIST_ENTRY(etcd_call) entry;
};

static void advance(struct etcd_call *call);

static bool has_flag(const struct etcd_call *call, enum call_flag flag)
{
	return (call->spec.flags & flag) != 0;
}

static size_t count_in_flight(const struct etcd_call *call)
{
	size_t n = 0;

	for (size_t i = 0; i < call->n_candidates; i++)
		n += call->candidates[i].rpc != NULL;
	return n;
}

static bool any_in_flight_was_sent(const struct etcd_call *call)
{
	for (size_t i = 0; i < call->n_candidates; i++) {
		if (call->candidates[i].rpc != NULL && rpc_was_sent(call->candidates[i].rpc))
			return true;
	}
	return false;
}

grpc_slice call_pack(const ProtobufCMessage *message)
{
	grpc_slice bytes = grpc_slice_malloc(protobuf_c_message_get_packed_size(message));

	(void) protobuf_c_message_pack(message, GRPC_SLICE_START_PTR(bytes));
	return bytes;
}

void call_deliver_done(const struct etcd_outcome *outcome, const ProtobufCMessage *response UNUSED,
                       call_user_fn fn, void *userdata)
{
	((etcd_done_fn) fn)(outcome, userdata);
}

/* --- the end --- */

/* Off every list, attempts cancelled; no callback can come any more. */
static void call_stop(struct etcd_call *call)
{
	LIST_REMOVE(call, entry);
	ev_timer_stop(call->etcd->ev, &call->timer);
	auth_unwait(call->etcd->auth, &call->auth_wait);
	for (size_t i = 0; i < call->n_candidates; i++) {
		if (call->candidates[i].rpc != NULL)
			rpc_cancel(call->candidates[i].rpc);
		call->candidates[i].rpc = NULL;
	}
}

static void call_free(struct etcd_call *call)
{
	for (size_t i = 0; i < call->n_candidates; i++)
		endpoint_unref(call->candidates[i].endpoint);
	grpc_slice_unref(call->request);
	free(call);
}

void etcd_call_cancel(struct etcd_call *call)
{
	if (call == NULL)
		return;
	call_stop(call);
	call_free(call);
}

static void settle(struct etcd_call *call, struct etcd_outcome *outcome,
                   const ProtobufCMessage *response)
{
	outcome->ambiguous = outcome->r < 0 && has_flag(call, CALL_WRITE) &&
	                     (outcome->ambiguous || call->maybe_done || count_in_flight(call) > 0);
	call_stop(call);
	if (outcome->r < 0)
		log_debug("etcd_call_failed", "method=%s r=%d ambiguous=%d endpoint=%s text=\"%s\"",
		          call->spec.method, outcome->r, outcome->ambiguous, outcome->endpoint,
		          outcome->text);
	call->spec.deliver(outcome, outcome->r == 0 ? response : NULL, call->fn, call->userdata);
	call_free(call);
}

/* Nobody answered. */
static void settle_unanswered(struct etcd_call *call, int r, const char *text)
{
	struct etcd_outcome outcome = {.r = r, .text = text, .endpoint = ""};

	settle(call, &outcome, NULL);
}

static void settle_at_deadline(struct etcd_call *call)
{
	char text[ETCD_ERROR_TEXT_MAX];
	bool sent = any_in_flight_was_sent(call);
	int r = sent ? -ETIMEDOUT : -EHOSTUNREACH;

	if (!sent && call->last_r < 0)
		r = call->last_r;
	(void) snprintf(text, sizeof(text), "no answer within %lld ms%s%.180s",
	                (long long) (call->timeout_us / US_PER_MS),
	                call->last_text[0] != '\0' ? "; before that: " : "", call->last_text);
	settle_unanswered(call, r, text);
}

/* --- attempts --- */

/* A call for a token is not: to choose a cluster takes answers, and a member may want a token for
 * them. */
static bool is_choosy(const struct etcd_call *call)
{
	return call->spec.endpoint == NULL && !has_flag(call, CALL_NO_TOKEN);
}

/* This call does not ask there again. */
static void rule_out(struct etcd_call *call, struct candidate *candidate)
{
	candidate->n_tries++;
	candidate->not_before_us = MONO_NEVER;
	candidate->unreachable = true;
	if (call->last_r < 0)
		return;
	call->last_r = -EHOSTUNREACH;
	(void) snprintf(call->last_text, sizeof(call->last_text), "%.180s is in another cluster",
	                endpoint_url(candidate->endpoint));
}

static void rule_out_foreign(struct etcd_call *call)
{
	for (size_t i = 0; i < call->n_candidates; i++) {
		struct candidate *candidate = &call->candidates[i];

		if (candidate->not_before_us == MONO_NEVER) {
			candidate->not_before_us = 0;
			candidate->unreachable = false;
		}
		if (is_choosy(call) && candidate->rpc == NULL &&
		    pool_is_foreign(call->etcd->pool, candidate->endpoint))
			rule_out(call, candidate);
	}
}

static const Pb__ResponseHeader *response_header(const ProtobufCMessage *response)
{
	const ProtobufCFieldDescriptor *field =
	    protobuf_c_message_descriptor_get_field(response->descriptor, 1);

	assert(field != NULL && field->descriptor == &pb__response_header__descriptor);
	return *(Pb__ResponseHeader *const *) (const void *) ((const char *) response + field->offset);
}

static void settle_with_answer(struct etcd_call *call, struct candidate *candidate,
                               const struct rpc_result *result)
{
	struct etcd_outcome outcome = {
	    .text = "",
	    .endpoint = endpoint_url(candidate->endpoint),
	    .sent_us = result->sent_us,
	    .received_us = result->received_us,
	};
	ProtobufCMessage *response = NULL;
	const Pb__ResponseHeader *header = NULL;

	response = unpack_message(call->spec.response, result->answer, result->answer_len,
	                          UNPACK_FACTOR * call->etcd->answer_max_bytes);
	if (response == NULL) {
		outcome.r = -EPROTO;
		outcome.ambiguous = true;
		outcome.text = "the answer cannot be parsed, or takes too much memory";
	} else {
		header = response_header(response);
	}
	if (header != NULL) {
		outcome.cluster_id = header->cluster_id;
		outcome.member_id = header->member_id;
		outcome.revision = header->revision;
		outcome.raft_term = header->raft_term;
		endpoint_set_heard(candidate->endpoint, header->cluster_id, header->member_id,
		                   result->received_us);
	}
	if (header != NULL && call->spec.endpoint == NULL &&
	    pool_is_foreign(call->etcd->pool, candidate->endpoint)) {
		protobuf_c_message_free_unpacked(response, NULL);
		rule_out(call, candidate);
		advance(call);
		return;
	}
	/* A call that could go nowhere else has not chosen this one. */
	if (response != NULL && !has_flag(call, CALL_LOCAL) && call->spec.endpoint == NULL)
		pool_set_primary(call->etcd->pool, candidate->endpoint);
	settle(call, &outcome, response);
	if (response != NULL)
		protobuf_c_message_free_unpacked(response, NULL);
}

static void settle_with_refusal(struct etcd_call *call, struct candidate *candidate,
                                const struct rpc_result *result, const struct verdict *verdict)
{
	struct etcd_outcome outcome = {
	    .r = verdict->r,
	    .ambiguous = verdict->maybe_done,
	    .text = result->text,
	    .endpoint = endpoint_url(candidate->endpoint),
	    .sent_us = result->sent_us,
	    .received_us = result->received_us,
	};

	settle(call, &outcome, NULL);
}

static void note_failure(struct etcd_call *call, struct candidate *candidate,
                         const struct rpc_result *result, const struct verdict *verdict)
{
	int64_t backoff_us = BACKOFF_FIRST_US << MIN(candidate->n_tries - 1, 3);

	log_debug("etcd_attempt_failed", "method=%s endpoint=%s code=%d sent=%d text=\"%s\"",
	          call->spec.method, endpoint_url(candidate->endpoint), (int) result->code,
	          result->sent, result->text);
	candidate->not_before_us = mono_now_us() + MIN(backoff_us, BACKOFF_MAX_US);
	candidate->unreachable = verdict->not_sent;
	call->maybe_done |= verdict->maybe_done;
	/* "connection refused" of one must not hide "no leader" of another. */
	if (call->last_r < 0 && verdict->not_sent)
		return;
	call->last_r = verdict->r;
	(void) snprintf(call->last_text, sizeof(call->last_text), "%s", result->text);
}

static void on_attempt_done(const struct rpc_result *result, void *userdata)
{
	struct candidate *candidate = userdata;
	struct etcd_call *call = candidate->call;
	struct auth *auth = call->etcd->auth;
	struct verdict verdict = verdict_of(result->code, result->text, result->sent);

	candidate->rpc = NULL;
	if (verdict.kind == VERDICT_OK && result->answer == NULL) {
		/* A stream that ended well, but without its one message. */
		verdict = verdict_of(GRPC_STATUS_UNAVAILABLE, "", result->sent);
	}
	if (!has_flag(call, CALL_NO_TOKEN) && auth_may_help(auth, &verdict, candidate->sent_token) &&
	    call->n_refused_tokens < REFUSED_TOKENS_MAX) {
		call->n_refused_tokens++;
		candidate->n_tries--;
		if (candidate->had_token)
			auth_refused(auth, candidate->token_generation);
		advance(call);
		return;
	}
	switch (verdict.kind) {
	case VERDICT_OK:
		settle_with_answer(call, candidate, result);
		return;
	case VERDICT_FINAL:
	case VERDICT_NO_AUTH:
		settle_with_refusal(call, candidate, result, &verdict);
		return;
	case VERDICT_AGAIN:
		break;
	}
	note_failure(call, candidate, result, &verdict);
	if (verdict.maybe_done && !has_flag(call, CALL_REPEATABLE)) {
		settle_with_refusal(call, candidate, result, &verdict);
		return;
	}
	advance(call);
}

static void start_attempt(struct etcd_call *call, struct candidate *candidate, int64_t now_us)
{
	struct rpc_metadata metadata = {.has_leader = !has_flag(call, CALL_LOCAL)};

	if (call->etcd->auth != NULL && !has_flag(call, CALL_NO_TOKEN))
		candidate->had_token =
		    auth_token(call->etcd->auth, &metadata.token, &candidate->token_generation);
	candidate->sent_token = metadata.token != NULL;
	candidate->n_tries++;
	candidate->unreachable = false;
	candidate->withdrawn = false;
	call->last_start_us = now_us;
	candidate->rpc =
	    rpc_start(endpoint_channel(candidate->endpoint), call->etcd->queue, call->spec.method,
	              &metadata, call->request, call->deadline_us - now_us + RPC_TIMEOUT_SLACK_US,
	              on_attempt_done, candidate);
}

/* --- what to do now --- */

/* A member may be known by two URLs; while one of them is silent the other will be too. */
static bool member_is_busy(const struct etcd_call *call, const struct candidate *candidate)
{
	uint64_t member = endpoint_member(candidate->endpoint);

	for (size_t i = 0; i < call->n_candidates && member != 0; i++) {
		const struct candidate *other = &call->candidates[i];

		if (other != candidate && other->rpc != NULL && endpoint_member(other->endpoint) == member)
			return true;
	}
	return false;
}

/* The least tried first, then another member's, then by the state of the connection, then in order.
 * NULL: none may be tried now. */
static struct candidate *choose(struct etcd_call *call, int64_t now_us)
{
	struct candidate *best = NULL;
	unsigned best_cost = 0;

	for (size_t i = 0; i < call->n_candidates; i++) {
		struct candidate *candidate = &call->candidates[i];
		unsigned cost;

		if (candidate->rpc != NULL || candidate->not_before_us > now_us)
			continue;
		cost = candidate->n_tries * 8 + (member_is_busy(call, candidate) ? 4 : 0) +
		       (unsigned) channel_state(endpoint_channel(candidate->endpoint));
		if (best == NULL || cost < best_cost) {
			best = candidate;
			best_cost = cost;
		}
	}
	return best;
}

static bool all_are_unreachable(const struct etcd_call *call)
{
	for (size_t i = 0; i < call->n_candidates; i++) {
		if (!call->candidates[i].unreachable)
			return false;
	}
	return true;
}

/* The attempt of a plain write that found no connection so far, when there is somebody else to ask.
 */
static struct candidate *find_unsent(struct etcd_call *call)
{
	struct candidate *unsent = NULL;
	bool untried = false;

	for (size_t i = 0; i < call->n_candidates; i++) {
		struct candidate *candidate = &call->candidates[i];

		untried |= candidate->n_tries == 0;
		if (candidate->rpc != NULL && !candidate->withdrawn && !rpc_was_sent(candidate->rpc))
			unsent = candidate;
	}
	return untried ? unsent : NULL;
}

/* When the next attempt may start, or one that was not sent be withdrawn; or MONO_NEVER. */
static int64_t next_start_us(struct etcd_call *call)
{
	int64_t at_us = MONO_NEVER;

	for (size_t i = 0; i < call->n_candidates; i++) {
		if (call->candidates[i].rpc == NULL)
			at_us = MIN(at_us, call->candidates[i].not_before_us);
	}
	if (count_in_flight(call) == 0)
		return at_us;
	if (at_us == MONO_NEVER || (!has_flag(call, CALL_REPEATABLE) && find_unsent(call) == NULL))
		return MONO_NEVER;
	return MAX(at_us, call->last_start_us + call->etcd->hedge_us);
}

static void arm_timer(struct etcd_call *call, int64_t at_us, int64_t now_us)
{
	ev_timer_stop(call->etcd->ev, &call->timer);
	ev_timer_set(&call->timer, mono_to_ev(at_us - now_us), 0.);
	ev_timer_start(call->etcd->ev, &call->timer);
}

/* False: it waits for the token. */
static bool token_is_there(struct etcd_call *call)
{
	struct auth *auth = call->etcd->auth;
	const char *token;
	unsigned generation;

	if (auth == NULL || has_flag(call, CALL_NO_TOKEN) || auth_token(auth, &token, &generation))
		return true;
	if (has_flag(call, CALL_TOKEN_IF_THERE) && call->n_refused_tokens == 0)
		return true;
	if (!call->auth_wait.waiting)
		auth_wait(auth, &call->auth_wait);
	return false;
}

/* It is time. */
static void start_next(struct etcd_call *call, int64_t now_us)
{
	struct candidate *candidate;

	if (count_in_flight(call) > 0 && !has_flag(call, CALL_REPEATABLE)) {
		candidate = find_unsent(call);
		if (candidate != NULL) {
			candidate->withdrawn = true;
			rpc_withdraw(candidate->rpc);
		}
		return;
	}
	candidate = choose(call, now_us);
	if (candidate != NULL)
		start_attempt(call, candidate, now_us);
}

static void advance(struct etcd_call *call)
{
	int64_t now_us = mono_now_us();
	int64_t wake_us = call->deadline_us;

	if (now_us >= call->deadline_us) {
		settle_at_deadline(call);
		return;
	}
	if (call->etcd->undecided && is_choosy(call)) {
		(void) strcpy(call->last_text, "the cluster is not chosen yet");
		arm_timer(call, wake_us, now_us);
		return;
	}
	if (all_are_unreachable(call)) {
		settle_unanswered(call, -EHOSTUNREACH, call->last_text);
		return;
	}
	if (token_is_there(call)) {
		if (next_start_us(call) <= now_us)
			start_next(call, now_us);
		wake_us = MIN(wake_us, next_start_us(call));
	}
	arm_timer(call, wake_us, now_us);
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	advance(CONTAINER_OF(w, struct etcd_call, timer));
}

static void on_auth(struct auth_wait *wait, int r, const char *text)
{
	struct etcd_call *call = CONTAINER_OF(wait, struct etcd_call, auth_wait);

	if (r < 0)
		settle_unanswered(call, r, text);
	else
		advance(call);
}

void calls_look_again(struct etcd *etcd)
{
	int64_t now_us = mono_now_us();
	struct etcd_call *call;

	LIST_FOREACH (call, &etcd->calls, entry) {
		rule_out_foreign(call);
		arm_timer(call, now_us, now_us);
	}
}

static void take_candidates(struct etcd_call *call)
{
	struct endpoint *endpoints[ETCD_ENDPOINTS_MAX];

	if (call->spec.endpoint != NULL) {
		endpoints[0] = endpoint_ref(call->spec.endpoint);
		call->n_candidates = 1;
	} else {
		call->n_candidates = pool_snapshot(call->etcd->pool, endpoints);
	}
	for (size_t i = 0; i < call->n_candidates; i++) {
		call->candidates[i].call = call;
		call->candidates[i].endpoint = endpoints[i];
	}
	rule_out_foreign(call);
}

void call_start(struct etcd *etcd, const struct call_spec *spec, call_user_fn fn, void *userdata,
                struct etcd_call **ret_call)
{
	struct etcd_call *call = NEW0(struct etcd_call);

	call->etcd = etcd;
	call->spec = *spec;
	call->request = call_pack(spec->request);
	call->spec.request = NULL;
	call->fn = fn;
	call->userdata = userdata;
	call->auth_wait.fn = on_auth;
	call->timeout_us = spec->timeout_us != 0 ? spec->timeout_us : etcd->call_timeout_us;
	call->deadline_us = mono_now_us() + call->timeout_us;
	take_candidates(call);
	ev_timer_init(&call->timer, timer_cb, 0., 0.);
	LIST_INSERT_HEAD(&etcd->calls, call, entry);
	if (all_are_unreachable(call))
		arm_timer(call, 0, 0);
	else
		advance(call);
	if (ret_call != NULL)
		*ret_call = call;
}
