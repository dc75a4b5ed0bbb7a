/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A watch: one stream at a time, opened anew wherever a member answers until the user frees it or
 * history is lost.
 *
 *   WAITING --time, token--> OPENING --created--> LIVE
 *      ^                        |                   |
 *      +------ended, silent-----+-------------------+         any --compacted--> STOPPED
 *
 * It resumes one revision before what it waits for, and assembly.c drops what was seen: servers
 * before 3.4.36 and 3.5.18 lose a delete if they are asked to start exactly at the revision of a
 * compaction, and this way they report the compaction instead. Progress answers count as signs of
 * life and as nothing else here: before 3.4.25 and 3.5.8 their revision can be ahead of events that
 * are still to come.
 */
#include <ev.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fsm.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcd/assembly.h"
#include "etcd/auth.h"
#include "etcd/call.h"
#include "etcd/client.h"
#include "etcd/pool.h"
#include "etcd/proto/etcd.pb-c.h"
#include "etcd/stream.h"
#include "etcd/rpc.h"

#define PROGRESS_INTERVAL_US (2 * US_PER_S)
#define TOLD_INTERVAL_US (1 * US_PER_S) /* when somebody wants to know */
#define FRAGMENT_PATIENCE_US (10 * US_PER_S)
#define OPEN_TIMEOUT_US (1 * US_PER_S)
#define BACKOFF_FIRST_US (100 * US_PER_MS)
#define BACKOFF_MAX_US (2 * US_PER_S)
/* A stream that lasted this long has shown that its endpoint works. */
#define PROVEN_US (1 * US_PER_S)

enum watch_state {
	WATCH_WAITING,
	WATCH_OPENING,
	WATCH_LIVE,
	WATCH_STOPPED,
};

static const struct fsm_state states[] = {
    [WATCH_WAITING] = {"waiting", FSM_TO(WATCH_OPENING) | FSM_TO(WATCH_STOPPED)},
    [WATCH_OPENING] = {"opening",
                       FSM_TO(WATCH_WAITING) | FSM_TO(WATCH_LIVE) | FSM_TO(WATCH_STOPPED)},
    [WATCH_LIVE] = {"live", FSM_TO(WATCH_WAITING) | FSM_TO(WATCH_STOPPED)},
    [WATCH_STOPPED] = {"stopped", 0},
};

struct etcd_watch {
	struct etcd *etcd;
	unsigned refs; /* the user's, and one while we call him: he may free us then */
	char *key;
	size_t key_len;
	bool prefix;
	const struct etcd_watch_callbacks *callbacks;
	void *userdata;

	enum watch_state state;
	ev_timer timer;
	struct auth_wait auth_wait;
	unsigned token_generation;
	struct assembly assembly;
	uint64_t cluster_id, member_id;
	char *preferred, *avoided; /* URLs, or NULL */
	int64_t patience_us;

	struct stream *stream;
	struct endpoint *endpoint; /* of this stream, or of the last one */
	struct channel *channel;   /* of this stream */
	bool resumes;              /* a stream was live */
	bool avoids;               /* the endpoint failed: another one, if there is any */
	bool told_live;
	unsigned n_failures;
	int64_t opened_us;
	int64_t heard_us; /* last sign of life */
	int64_t asked_us; /* last progress request */
	LIST_ENTRY(etcd_watch) entry;
};

static void watch_unref(struct etcd_watch *watch)
{
	if (--watch->refs > 0)
		return;
	assembly_fini(&watch->assembly);
	endpoint_unref(watch->endpoint);
	free(watch->key);
	free(watch->preferred);
	free(watch->avoided);
	free(watch);
}

static void arm_timer(struct etcd_watch *watch, int64_t after_us)
{
	ev_timer_stop(watch->etcd->ev, &watch->timer);
	ev_timer_set(&watch->timer, mono_to_ev(after_us), 0.);
	ev_timer_start(watch->etcd->ev, &watch->timer);
}

static void close_stream(struct etcd_watch *watch)
{
	stream_close(watch->stream);
	watch->stream = NULL;
	channel_unref(watch->channel);
	watch->channel = NULL;
	assembly_reset(&watch->assembly);
}

/* The one writer of the state. Leaving a state stops its timer; entering one starts its own. */
static void change_state(struct etcd_watch *watch, enum watch_state state, int64_t timer_us,
                         const char *reason)
{
	fsm_check(states, ARRAY_SIZE(states), watch->state, state);
	log_debug("etcd_watch_state", "old=%s new=%s endpoint=%s reason=\"%s\"",
	          states[watch->state].name, states[state].name,
	          watch->endpoint != NULL ? endpoint_url(watch->endpoint) : "", reason);
	watch->state = state;
	ev_timer_stop(watch->etcd->ev, &watch->timer);
	if (state == WATCH_WAITING || state == WATCH_STOPPED)
		close_stream(watch);
	if (state != WATCH_STOPPED)
		arm_timer(watch, timer_us);
}

static void tell_live(struct etcd_watch *watch, bool live)
{
	if (watch->told_live == live)
		return;
	watch->told_live = live;
	if (watch->callbacks->live != NULL)
		watch->callbacks->live(live, watch->userdata);
}

/* The stream is of no more use. Calls out: last act. */
static void lose(struct etcd_watch *watch, const char *reason)
{
	int64_t now_us = mono_now_us();
	int64_t delay_us = 0;

	if (watch->state == WATCH_LIVE && now_us - watch->opened_us >= PROVEN_US)
		watch->n_failures = 0;
	if (watch->n_failures > 0)
		delay_us = MIN(BACKOFF_FIRST_US << MIN(watch->n_failures - 1, 6U), BACKOFF_MAX_US);
	watch->n_failures++;
	watch->avoids = true;
	change_state(watch, WATCH_WAITING, delay_us, reason);
	tell_live(watch, false);
}

/* What comes next is not to be had. Calls out: last act. */
static void stop_compacted(struct etcd_watch *watch, int64_t revision, const char *reason)
{
	change_state(watch, WATCH_STOPPED, 0, reason);
	watch->callbacks->compacted(revision, watch->userdata);
}

/* Calls out: last act. */
static void stop_too_large(struct etcd_watch *watch)
{
	int64_t revision = assembly_last_revision(&watch->assembly);

	if (watch->callbacks->too_large == NULL) {
		stop_compacted(watch, watch->assembly.next_revision, "revision too large");
		return;
	}
	change_state(watch, WATCH_STOPPED, 0, "revision too large");
	watch->callbacks->too_large(revision, watch->userdata);
}

static void on_canceled(struct etcd_watch *watch, const Pb__WatchResponse *message)
{
	static const char *const auth_reasons[] = {"permission denied", "auth token", "auth store",
	                                           "user name is empty"};

	if (message->compact_revision > 0) {
		stop_compacted(watch, message->compact_revision, "compacted");
		return;
	}
	/* 3.4 says "permission denied" for an expired token as well. */
	for (size_t i = 0; watch->etcd->auth != NULL && i < ARRAY_SIZE(auth_reasons); i++) {
		if (strstr(message->cancel_reason, auth_reasons[i]) != NULL)
			auth_refused(watch->etcd->auth, watch->token_generation);
	}
	lose(watch, message->cancel_reason);
}

static void deliver(struct etcd_watch *watch, Pb__WatchResponse *message)
{
	AUTO(free) struct etcd_event *events = NULL;
	size_t n;
	int r;

	r = assembly_add(&watch->assembly, message);
	if (r == -E2BIG) {
		stop_too_large(watch);
		return;
	}
	if (r < 0) {
		lose(watch, "events out of order");
		return;
	}
	n = watch->assembly.n_complete;
	if (n == 0)
		return;
	events = assembly_events(&watch->assembly);
	watch->refs++;
	watch->callbacks->events(events, n, watch->assembly.next_revision - 1, watch->userdata);
	assembly_drop_complete(&watch->assembly);
	watch_unref(watch);
}

static int64_t progress_interval_us(const struct etcd_watch *watch)
{
	return watch->callbacks->progress != NULL ? TOLD_INTERVAL_US : PROGRESS_INTERVAL_US;
}

static int64_t patience_us(const struct etcd_watch *watch)
{
	int64_t least_us = watch->assembly.is_partial ? FRAGMENT_PATIENCE_US : 0;

	return MAX(watch->patience_us, least_us);
}

/* What has no events says how far the member is. Calls out: last act. */
static void tell_progress(struct etcd_watch *watch, const Pb__WatchResponse *message)
{
	if (watch->callbacks->progress != NULL && message->header != NULL)
		watch->callbacks->progress(message->header->revision, watch->userdata);
}

static void on_message_parsed(struct etcd_watch *watch, Pb__WatchResponse *message)
{
	uint64_t cluster_id = message->header != NULL ? message->header->cluster_id : 0;

	watch->heard_us = mono_now_us();
	if (cluster_id != 0)
		endpoint_set_heard(watch->endpoint, cluster_id, message->header->member_id,
		                   watch->heard_us);
	if (pool_is_foreign(watch->etcd->pool, watch->endpoint)) {
		lose(watch, "a cluster that is not meant");
		return;
	}
	if (cluster_id != 0 && watch->cluster_id != 0 && cluster_id != watch->cluster_id) {
		/* Restored from a snapshot: its revisions have nothing to do with ours. */
		stop_compacted(watch, message->header->revision, "another cluster");
		return;
	}
	watch->cluster_id = cluster_id != 0 ? cluster_id : watch->cluster_id;
	if (message->header != NULL && message->header->member_id != 0)
		watch->member_id = message->header->member_id;
	if (message->canceled) {
		on_canceled(watch, message);
		return;
	}
	if (message->created && watch->state == WATCH_OPENING) {
		watch->resumes = true;
		watch->opened_us = watch->heard_us;
		watch->asked_us = 0;
		watch->avoids = false;
		change_state(watch, WATCH_LIVE, progress_interval_us(watch), "created");
		tell_live(watch, true);
		return;
	}
	if (watch->state != WATCH_LIVE)
		return;
	if (message->n_events > 0 || message->fragment)
		deliver(watch, message);
	else
		tell_progress(watch, message);
}

static void on_message(const void *data, size_t len, void *userdata)
{
	struct etcd_watch *watch = userdata;
	Pb__WatchResponse *message = (void *) unpack_message(
	    &pb__watch_response__descriptor, data, len, UNPACK_FACTOR * watch->etcd->answer_max_bytes);

	if (message == NULL) {
		lose(watch, "a message that cannot be parsed, or takes too much memory");
		return;
	}
	on_message_parsed(watch, message);
	pb__watch_response__free_unpacked(message, NULL);
}

static void on_ended(grpc_status_code code, const char *text, void *userdata)
{
	struct etcd_watch *watch = userdata;
	struct verdict verdict = verdict_of(code, text, true);

	watch->stream = NULL;
	if (verdict.r == -EACCES && watch->etcd->auth != NULL)
		auth_refused(watch->etcd->auth, watch->token_generation);
	lose(watch, text);
}

/* --- opening and keeping --- */

static grpc_slice pack_create(const struct etcd_watch *watch)
{
	Pb__WatchRequest request = PB__WATCH_REQUEST__INIT;
	Pb__WatchCreateRequest create = PB__WATCH_CREATE_REQUEST__INIT;
	AUTO(free) uint8_t *end = NULL;
	int64_t next_revision = watch->assembly.next_revision;

	keys_fill((struct etcd_bytes){watch->key, watch->key_len}, watch->prefix, &create.key,
	          &create.range_end, &end);
	create.start_revision = watch->resumes && next_revision > 1 ? next_revision - 1 : next_revision;
	create.fragment = true;
	request.request_case = PB__WATCH_REQUEST__REQUEST_CREATE;
	request.create = &create;
	return call_pack(&request.base);
}

/* The preferred one unless it has just failed, or is not connected. What has just failed is avoided
 * before what the user wants avoided. Borrowed. */
static struct endpoint *choose(const struct etcd_watch *watch)
{
	const struct endpoint *unwanted =
	    watch->avoided != NULL ? pool_find(watch->etcd->pool, watch->avoided) : NULL;
	const struct endpoint *avoid = watch->avoids ? watch->endpoint : unwanted;
	struct endpoint *preferred =
	    watch->preferred != NULL ? pool_find(watch->etcd->pool, watch->preferred) : NULL;

	if (preferred != NULL && preferred != avoid && !pool_is_foreign(watch->etcd->pool, preferred) &&
	    channel_state(endpoint_channel(preferred)) == CHANNEL_READY)
		return preferred;
	return pool_pick(watch->etcd->pool, avoid);
}

static void open_stream(struct etcd_watch *watch)
{
	static const struct stream_callbacks callbacks = {.message = on_message, .ended = on_ended};
	struct rpc_metadata metadata = {.has_leader = true};
	struct auth *auth = watch->etcd->auth;
	struct endpoint *endpoint;
	grpc_slice create;

	if (auth != NULL && !auth_token(auth, &metadata.token, &watch->token_generation)) {
		if (!watch->auth_wait.waiting)
			auth_wait(auth, &watch->auth_wait);
		return;
	}
	endpoint = choose(watch);
	(void) endpoint_ref(endpoint);
	endpoint_unref(watch->endpoint);
	watch->endpoint = endpoint;
	watch->channel = channel_ref(endpoint_channel(endpoint));
	create = pack_create(watch);
	watch->stream = stream_open(watch->channel, watch->etcd->queue, "/etcdserverpb.Watch/Watch",
	                            &metadata, create, &callbacks, watch);
	grpc_slice_unref(create);
	change_state(watch, WATCH_OPENING, OPEN_TIMEOUT_US, "");
}

/* The certificates were changed, or gRPC had trouble, and a new connection is there. */
static bool should_change_channel(const struct etcd_watch *watch)
{
	struct channel *now = endpoint_channel(watch->endpoint);

	return now != watch->channel && channel_state(now) == CHANNEL_READY;
}

static void check_live(struct etcd_watch *watch)
{
	Pb__WatchRequest request = PB__WATCH_REQUEST__INIT;
	Pb__WatchProgressRequest progress = PB__WATCH_PROGRESS_REQUEST__INIT;
	grpc_slice bytes;
	bool sent;

	if (watch->heard_us < watch->asked_us) {
		if (mono_now_us() - watch->asked_us < patience_us(watch))
			arm_timer(watch, progress_interval_us(watch));
		else
			lose(watch, "silent");
		return;
	}
	if (should_change_channel(watch)) {
		/* Over in a moment: not worth telling. */
		change_state(watch, WATCH_WAITING, 0, "a new connection");
		return;
	}
	request.request_case = PB__WATCH_REQUEST__REQUEST_PROGRESS;
	request.progress = &progress;
	bytes = call_pack(&request.base);
	sent = stream_send(watch->stream, bytes);
	grpc_slice_unref(bytes);
	if (!sent) {
		lose(watch, "does not take requests");
		return;
	}
	watch->asked_us = mono_now_us();
	arm_timer(watch, progress_interval_us(watch));
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct etcd_watch *watch = CONTAINER_OF(w, struct etcd_watch, timer);

	switch (watch->state) {
	case WATCH_WAITING:
		open_stream(watch);
		return;
	case WATCH_OPENING:
		lose(watch, "no answer");
		return;
	case WATCH_LIVE:
		check_live(watch);
		return;
	case WATCH_STOPPED:
		return;
	}
}

static void on_auth(struct auth_wait *wait, int r, const char *text)
{
	struct etcd_watch *watch = CONTAINER_OF(wait, struct etcd_watch, auth_wait);

	if (r < 0)
		log_debug("etcd_watch_waits", "r=%d text=\"%s\"", r, text);
	/* On failure auth.c makes the next one who asks wait. */
	arm_timer(watch, r < 0 ? BACKOFF_MAX_US : 0);
}

int etcd_watch_new(struct etcd *etcd, struct etcd_bytes key, bool prefix, int64_t start_revision,
                   const struct etcd_watch_callbacks *callbacks, void *userdata,
                   struct etcd_watch **ret_watch)
{
	struct etcd_watch *watch;

	if (start_revision <= 0)
		return -EINVAL;
	watch = NEW0(struct etcd_watch);
	watch->etcd = etcd;
	watch->refs = 1;
	watch->key = xmemdup(key.data, key.len);
	watch->key_len = key.len;
	watch->prefix = prefix;
	watch->callbacks = callbacks;
	watch->userdata = userdata;
	watch->auth_wait.fn = on_auth;
	assembly_init(&watch->assembly, start_revision, ASSEMBLY_HELD_FACTOR * etcd->answer_max_bytes);
	ev_timer_init(&watch->timer, timer_cb, 0., 0.);
	LIST_INSERT_HEAD(&etcd->watches, watch, entry);
	arm_timer(watch, 0);
	*ret_watch = watch;
	return 0;
}

void etcd_watch_free(struct etcd_watch *watch)
{
	if (watch == NULL)
		return;
	LIST_REMOVE(watch, entry);
	ev_timer_stop(watch->etcd->ev, &watch->timer);
	auth_unwait(watch->etcd->auth, &watch->auth_wait);
	stream_close(watch->stream);
	watch->stream = NULL;
	channel_unref(watch->channel);
	watch->channel = NULL;
	watch_unref(watch);
}

void etcd_watch_prefer(struct etcd_watch *watch, const char *endpoint)
{
	free(watch->preferred);
	watch->preferred = xstrdup(endpoint);
}

void etcd_watch_avoid(struct etcd_watch *watch, const char *endpoint)
{
	free(watch->avoided);
	watch->avoided = xstrdup(endpoint);
}

void etcd_watch_be_patient(struct etcd_watch *watch, int64_t patience_us)
{
	watch->patience_us = patience_us;
}

uint64_t etcd_watch_member(const struct etcd_watch *watch)
{
	return watch->member_id;
}
