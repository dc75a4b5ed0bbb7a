/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One snapshot: one stream from one member, read a blob at a time when the user asks.
 *
 *                +---token refused---+
 *                v                   |
 *            WAITING --token--> ASKING <--next-- PAUSED
 *                                  |                ^
 *                                  +------blob------+      any --ended, silent, broken--> done
 *
 * It has a connection of its own (pull.h): 500 MB in front of them would delay the calls of others.
 * No more comes from it than one window while nobody asks, and the member's reading of its database
 * stops with that.
 *
 * A member whose own read fails sends empty blobs for ever, and one that was stopped sends nothing:
 * both end by the limit on the time without bytes. That time is counted only while a blob is asked
 * for, so that it is the member's and never the user's.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fsm.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcd/auth.h"
#include "etcd/client.h"
#include "etcd/pool.h"
#include "etcd/pull.h"
#include "etcd/snapshot_message.h"
#include "etcd/rpc.h"

#define STALL_DEFAULT_MS 30000
#define REFUSED_TOKENS_MAX 2
#define VERSION_MAX 32
/* SHA-256 */
#define DIGEST_BYTES 32

enum snapshot_state {
	SNAPSHOT_WAITING, /* for the token */
	SNAPSHOT_ASKING,
	SNAPSHOT_PAUSED,
};

static const struct fsm_state states[] = {
    [SNAPSHOT_WAITING] = {"waiting", FSM_TO(SNAPSHOT_ASKING)},
    [SNAPSHOT_ASKING] = {"asking", FSM_TO(SNAPSHOT_WAITING) | FSM_TO(SNAPSHOT_PAUSED)},
    [SNAPSHOT_PAUSED] = {"paused", FSM_TO(SNAPSHOT_ASKING)},
};

struct etcd_snapshot {
	struct etcd *etcd;
	unsigned refs; /* our own, and one while we call the user: he may cancel then */
	const struct etcd_snapshot_callbacks *callbacks;
	void *userdata;

	enum snapshot_state state;
	ev_timer timer;
	int64_t stall_us;
	int64_t asked_us;  /* since when bytes are missing */
	int64_t opened_us; /* the stream */
	struct auth_wait auth_wait;
	unsigned token_generation;
	bool sent_token;
	unsigned n_refused_tokens;

	struct endpoint *endpoint;
	struct pull *pull;
	bool begun; /* a message came: total_bytes is known */
	bool digest_came;
	uint64_t total_bytes; /* of the database */
	uint64_t offset;      /* so much of it came */
	char version[VERSION_MAX];
	LIST_ENTRY(etcd_snapshot) entry;
};

static void snapshot_unref(struct etcd_snapshot *snapshot)
{
	if (--snapshot->refs > 0)
		return;
	endpoint_unref(snapshot->endpoint);
	free(snapshot);
}

/* The one writer of the state. */
static void change_state(struct etcd_snapshot *snapshot, enum snapshot_state state)
{
	fsm_check(states, ARRAY_SIZE(states), snapshot->state, state);
	snapshot->state = state;
}

static void arm_timer(struct etcd_snapshot *snapshot, int64_t after_us)
{
	ev_timer_stop(snapshot->etcd->ev, &snapshot->timer);
	ev_timer_set(&snapshot->timer, mono_to_ev(after_us), 0.);
	ev_timer_start(snapshot->etcd->ev, &snapshot->timer);
}

/* --- the end --- */

/* Off every list; no callback comes any more. */
static void stop(struct etcd_snapshot *snapshot)
{
	LIST_REMOVE(snapshot, entry);
	ev_timer_stop(snapshot->etcd->ev, &snapshot->timer);
	auth_unwait(snapshot->etcd->auth, &snapshot->auth_wait);
	pull_close(TAKE_PTR(snapshot->pull));
}

void etcd_snapshot_cancel(struct etcd_snapshot *snapshot)
{
	if (snapshot == NULL)
		return;
	stop(snapshot);
	snapshot_unref(snapshot);
}

/* Calls out: last act. */
static void finish(struct etcd_snapshot *snapshot, int r, const char *text)
{
	struct etcd_outcome outcome = {
	    .r = r,
	    .text = text,
	    .endpoint = endpoint_url(snapshot->endpoint),
	    .sent_us = snapshot->opened_us,
	    .received_us = mono_now_us(),
	};

	stop(snapshot);
	log_debug("etcd_snapshot_done", "endpoint=%s r=%d bytes=%llu text=\"%s\"", outcome.endpoint, r,
	          (unsigned long long) snapshot->offset, text);
	snapshot->callbacks->done(&outcome, snapshot->userdata);
	snapshot_unref(snapshot);
}

static void finish_broken(struct etcd_snapshot *snapshot, const char *reason)
{
	char text[ETCD_ERROR_TEXT_MAX];

	(void) snprintf(text, sizeof(text), "%s after %llu of %llu bytes", reason,
	                (unsigned long long) snapshot->offset,
	                (unsigned long long) snapshot->total_bytes);
	finish(snapshot, -EPROTO, text);
}

static void finish_silent(struct etcd_snapshot *snapshot)
{
	char text[ETCD_ERROR_TEXT_MAX];

	(void) snprintf(text, sizeof(text), "no bytes within %lld ms, after %llu of %llu",
	                (long long) (snapshot->stall_us / US_PER_MS),
	                (unsigned long long) snapshot->offset,
	                (unsigned long long) snapshot->total_bytes);
	finish(snapshot, -ETIMEDOUT, text);
}

/* --- the stream --- */

/* What is wrong with a message that comes here and now; NULL: nothing. */
static const char *find_fault(const struct etcd_snapshot *snapshot,
                              const struct snapshot_message *message)
{
	uint64_t missing = snapshot->total_bytes - snapshot->offset;

	if (snapshot->digest_came)
		return "the stream went on behind the digest";
	if (missing == 0) {
		if (message->remaining_bytes != 0)
			return "the count of remaining bytes went up again";
		return message->blob_len == 0 || message->blob_len == DIGEST_BYTES ? NULL
		                                                                   : "no digest came";
	}
	if (message->blob_len > missing || message->remaining_bytes != missing - message->blob_len)
		return "the count of remaining bytes does not go on";
	return NULL;
}

static bool begin(struct etcd_snapshot *snapshot, const struct snapshot_message *message)
{
	if (snapshot->begun)
		return true;
	snapshot->begun = true;
	(void) snprintf(snapshot->version, sizeof(snapshot->version), "%.*s",
	                (int) MIN(message->version_len, sizeof(snapshot->version)), message->version);
	return !__builtin_add_overflow(message->remaining_bytes, message->blob_len,
	                               &snapshot->total_bytes) &&
	       snapshot->total_bytes > 0;
}

static void hand_over(struct etcd_snapshot *snapshot, const struct snapshot_message *message)
{
	struct etcd_blob blob = {
	    .data = message->blob,
	    .len = message->blob_len,
	    .offset = snapshot->offset,
	    .total_bytes = snapshot->total_bytes,
	    .remaining_bytes = message->remaining_bytes,
	    .is_digest = snapshot->offset == snapshot->total_bytes,
	    .version = snapshot->version,
	};

	if (blob.is_digest)
		snapshot->digest_came = true;
	else
		snapshot->offset += blob.len;
	change_state(snapshot, SNAPSHOT_PAUSED);
	snapshot->refs++;
	snapshot->callbacks->blob(&blob, snapshot->userdata);
	/* However long the user took, the member has all its time. */
	snapshot->asked_us = mono_now_us();
	snapshot_unref(snapshot);
}

static void on_message(const void *data, size_t len, void *userdata)
{
	struct etcd_snapshot *snapshot = userdata;
	struct snapshot_message message;
	const char *fault;

	if (snapshot_message_parse(data, len, &message) < 0) {
		finish_broken(snapshot, "a message that cannot be parsed");
		return;
	}
	if (!begin(snapshot, &message)) {
		finish_broken(snapshot, "a size that no database has");
		return;
	}
	fault = find_fault(snapshot, &message);
	if (fault != NULL)
		finish_broken(snapshot, fault);
	else if (message.blob_len == 0)
		pull_next(snapshot->pull);
	else
		hand_over(snapshot, &message);
}

static void open_stream(struct etcd_snapshot *snapshot);

static void on_ended(grpc_status_code code, const char *text, void *userdata)
{
	struct etcd_snapshot *snapshot = userdata;
	struct verdict verdict = verdict_of(code, text, true);
	struct auth *auth = snapshot->etcd->auth;

	snapshot->pull = NULL;
	if (auth_may_help(auth, &verdict, snapshot->sent_token) && !snapshot->begun &&
	    snapshot->n_refused_tokens < REFUSED_TOKENS_MAX) {
		snapshot->n_refused_tokens++;
		auth_refused(auth, snapshot->token_generation);
		change_state(snapshot, SNAPSHOT_WAITING);
		open_stream(snapshot);
		return;
	}
	if (verdict.kind == VERDICT_OK && !snapshot->digest_came)
		finish_broken(snapshot, "the stream ended");
	else
		finish(snapshot, verdict.r, verdict.kind == VERDICT_OK ? "" : text);
}

static void open_stream(struct etcd_snapshot *snapshot)
{
	static const struct pull_callbacks callbacks = {.message = on_message, .ended = on_ended};
	struct etcd *etcd = snapshot->etcd;
	const char *token = NULL;

	if (etcd->auth != NULL && !auth_token(etcd->auth, &token, &snapshot->token_generation)) {
		auth_wait(etcd->auth, &snapshot->auth_wait);
		return;
	}
	snapshot->opened_us = mono_now_us();
	snapshot->sent_token = token != NULL;
	/* A leader is not demanded, and a member without one must do: that may be when the backup is
	 * needed. */
	snapshot->pull = pull_open(etcd->ev, endpoint_place(snapshot->endpoint), pool_pem(etcd->pool),
	                           "/etcdserverpb.Maintenance/Snapshot", token, &callbacks, snapshot);
	change_state(snapshot, SNAPSHOT_ASKING);
}

static void on_auth(struct auth_wait *wait, int r, const char *text)
{
	struct etcd_snapshot *snapshot = CONTAINER_OF(wait, struct etcd_snapshot, auth_wait);

	if (r < 0)
		finish(snapshot, r, text);
	else
		open_stream(snapshot);
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct etcd_snapshot *snapshot = CONTAINER_OF(w, struct etcd_snapshot, timer);
	int64_t left_us = snapshot->asked_us + snapshot->stall_us - mono_now_us();

	if (snapshot->state == SNAPSHOT_PAUSED)
		return; /* etcd_snapshot_next() starts it again */
	if (left_us > 0)
		arm_timer(snapshot, left_us);
	else
		finish_silent(snapshot);
}

int etcd_snapshot_start(struct etcd *etcd, const char *endpoint, unsigned stall_ms,
                        const struct etcd_snapshot_callbacks *callbacks, void *userdata,
                        struct etcd_snapshot **ret_snapshot)
{
	struct endpoint *found =
	    endpoint != NULL ? pool_find(etcd->pool, endpoint) : pool_pick(etcd->pool, NULL);
	struct etcd_snapshot *snapshot;

	if (found == NULL)
		return -ENOENT;
	snapshot = NEW0(struct etcd_snapshot);
	snapshot->etcd = etcd;
	snapshot->refs = 1;
	snapshot->callbacks = callbacks;
	snapshot->userdata = userdata;
	snapshot->stall_us = (stall_ms != 0 ? stall_ms : STALL_DEFAULT_MS) * US_PER_MS;
	snapshot->asked_us = mono_now_us();
	snapshot->auth_wait.fn = on_auth;
	snapshot->endpoint = endpoint_ref(found);
	ev_timer_init(&snapshot->timer, timer_cb, 0., 0.);
	arm_timer(snapshot, snapshot->stall_us);
	LIST_INSERT_HEAD(&etcd->snapshots, snapshot, entry);
	open_stream(snapshot);
	*ret_snapshot = snapshot;
	return 0;
}

void etcd_snapshot_next(struct etcd_snapshot *snapshot)
{
	change_state(snapshot, SNAPSHOT_ASKING);
	snapshot->asked_us = mono_now_us();
	if (!ev_is_active(&snapshot->timer))
		arm_timer(snapshot, snapshot->stall_us);
	pull_next(snapshot->pull);
}
