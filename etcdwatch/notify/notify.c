/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	          something is queued                 arrived, refused, too old: none is left
 *	IDLE ─────────────────────────► SENDING ──────────────────────────────────────────────► IDLE
 *	                                 │  ▲ └─┐ there is another
 *	                          failed ▼  │ ◄─┘
 *	                                PAUSING
 *
 * A receiver that fails is left alone for a while whatever comes meanwhile; it is the receiver that
 * is down, not the message.
 */
#include "etcdwatch/notify/notify.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/conf_check.h"
#include "base/fsm.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/notify/notifyqueue.h"

enum notify_state {
	NOTIFY_IDLE,
	NOTIFY_SENDING,
	NOTIFY_PAUSING,
};

static const struct fsm_state states[] = {
    [NOTIFY_IDLE] = {"idle", FSM_TO(NOTIFY_SENDING)},
    [NOTIFY_SENDING] = {"sending",
                        FSM_TO(NOTIFY_SENDING) | FSM_TO(NOTIFY_IDLE) | FSM_TO(NOTIFY_PAUSING)},
    [NOTIFY_PAUSING] = {"pausing", FSM_TO(NOTIFY_SENDING) | FSM_TO(NOTIFY_IDLE)},
};

struct notify {
	struct notify_options options;
	enum notify_state state;
	struct notifyqueue *queue;
	const struct notifyqueue_item *sent; /* SENDING */
	struct notifycall *call;
	ev_timer timer;    /* of the next attempt */
	unsigned n_failed; /* since the last success */
	uint64_t n_messages;
	bool has_begun; /* the first round was told */
	struct notifymessage_from from;
	char *to;
	uint64_t delivered, failed, refused, given_up;
	int64_t delivered_s, error_s, next_us;
	char error[NOTIFYREPORT_TEXT_MAX];
};

static void change_state(struct notify *n, enum notify_state state)
{
	fsm_check(states, ARRAY_SIZE(states), n->state, state);
	n->state = state;
	ev_timer_stop(n->options.ev, &n->timer);
}

static void wake_after(struct notify *n, int64_t us)
{
	n->next_us = mono_now_us() + us;
	ev_timer_set(&n->timer, mono_to_ev(us), 0.);
	ev_timer_start(n->options.ev, &n->timer);
}

/* --- sending --- */

static void send_next(struct notify *n);

static void pause_sending(struct notify *n, int64_t asked_us)
{
	uint32_t random;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		random = UINT32_MAX;
	change_state(n, NOTIFY_PAUSING);
	wake_after(n, notifydelay_us(n->n_failed, n->options.config->retry_max_us, asked_us, random));
}

static void note_error(struct notify *n, const char *reason)
{
	(void) snprintf(n->error, sizeof(n->error), "%s", reason);
	n->error_s = wall_now_us() / US_PER_S;
}

static void fail(struct notify *n, const char *reason, int64_t asked_us)
{
	/* Once until it works again. */
	if (n->n_failed == 0)
		log_warning("notify_failed", "to=\"%s\" message=%s reason=\"%s\"", n->to, n->sent->id,
		            reason);
	n->failed++;
	n->n_failed++;
	note_error(n, reason);
	if (mono_now_us() - n->sent->added_us >= n->options.config->give_up_after_us) {
		log_error("notify_given_up", "to=\"%s\" message=%s reason=\"%s\"", n->to, n->sent->id,
		          reason);
		n->given_up++;
		notifyqueue_drop(n->queue);
	} else {
		notifyqueue_put_back(n->queue);
	}
	n->sent = NULL;
	pause_sending(n, asked_us);
}

static void succeed(struct notify *n)
{
	log_debug("notify_delivered", "message=%s", n->sent->id);
	n->delivered++;
	n->delivered_s = wall_now_us() / US_PER_S;
	n->n_failed = 0;
	n->error[0] = '\0';
	notifyqueue_drop(n->queue);
	n->sent = NULL;
	send_next(n);
}

/* It is alive, so the others are tried at once. */
static void refuse(struct notify *n, const char *reason)
{
	log_error("notify_refused", "to=\"%s\" message=%s reason=\"%s\"", n->to, n->sent->id, reason);
	n->refused++;
	n->n_failed = 0;
	note_error(n, reason);
	notifyqueue_drop(n->queue);
	n->sent = NULL;
	send_next(n);
}

static void called_cb(const struct notifycall_result *result, void *userdata)
{
	struct notify *n = userdata;

	n->call = NULL;
	switch (result->end) {
	case NOTIFYCALL_ARRIVED:
		succeed(n);
		break;
	case NOTIFYCALL_REFUSED:
		refuse(n, result->reason);
		break;
	case NOTIFYCALL_FAILED:
		fail(n, result->reason, result->asked_us);
		break;
	}
}

static void send_next(struct notify *n)
{
	int r;

	n->sent = notifyqueue_take(n->queue);
	if (n->sent == NULL) {
		change_state(n, NOTIFY_IDLE);
		return;
	}
	change_state(n, NOTIFY_SENDING);
	r = notifycall_start(n->options.ev, n->options.worker, n->options.config, n->sent->id,
	                     n->sent->body, called_cb, n, &n->call);
	if (r < 0)
		fail(n, strerror(-r), 0);
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	send_next(CONTAINER_OF(w, struct notify, timer));
}

/* --- what is to be told --- */

static void make_id(struct notify *n, char id[static NOTIFYQUEUE_ID_MAX])
{
	(void) snprintf(id, NOTIFYQUEUE_ID_MAX, "msg_%s_%" PRIu64, n->options.instance,
	                ++n->n_messages);
}

static void queue(struct notify *n, const char *about, const char *body)
{
	char id[NOTIFYQUEUE_ID_MAX];

	make_id(n, id);
	notifyqueue_add(n->queue, id, about, body, mono_now_us());
	/* From the loop: whoever has found something is in the middle of its round. */
	if (n->state == NOTIFY_IDLE && !ev_is_active(&n->timer))
		wake_after(n, 0);
}

void notify_round(struct notify *n, const struct observation *o)
{
	if (n == NULL)
		return;
	n->from.now_us = o->now_us;
	n->from.wall_s = o->wall_s;
	for (size_t i = 0; i < o->n_members; i++) {
		if (o->members[i].answer == OBSERVED_GOOD && o->members[i].cluster_id != 0) {
			n->from.cluster_id = o->members[i].cluster_id;
			break;
		}
	}
	if (!n->has_begun) {
		AUTO(free) char *body = notifymessage_started(&n->from);

		n->has_begun = true;
		queue(n, "", body);
	}
}

void notify_finding(struct notify *n, const struct judge_finding *f, bool raised)
{
	AUTO(free) char *about = NULL;
	AUTO(free) char *body = NULL;

	if (n == NULL)
		return;
	about = xasprintf("%s/%" PRIx64, f->rule->id, f->number);
	body = notifymessage_finding(&n->from, f, raised);
	queue(n, about, body);
}

int notify_test(struct notify *n, notifycall_done_fn done, void *userdata,
                struct notifycall **ret_call)
{
	struct notifymessage_from from = n->from;
	AUTO(free) char *body = NULL;
	char id[NOTIFYQUEUE_ID_MAX];

	from.wall_s = wall_now_us() / US_PER_S;
	body = notifymessage_test(&from);
	make_id(n, id);
	return notifycall_start(n->options.ev, n->options.worker, n->options.config, id, body, done,
	                        userdata, ret_call);
}

/* --- the whole --- */

void notify_fill_report(const struct notify *n, struct notifyreport *ret)
{
	int64_t now_us = mono_now_us();

	*ret = (struct notifyreport){
	    .state = states[n->state].name,
	    .to = n->to,
	    .n_queued = notifyqueue_length(n->queue),
	    .oldest_s = notifyqueue_length(n->queue) > 0
	                    ? (now_us - notifyqueue_oldest_us(n->queue)) / US_PER_S
	                    : 0,
	    .delivered = n->delivered,
	    .failed = n->failed,
	    .refused = n->refused,
	    .given_up = n->given_up,
	    .queue = notifyqueue_counts(n->queue),
	    .delivered_s = n->delivered_s,
	    .next_s = n->state == NOTIFY_PAUSING ? MAX(n->next_us - now_us, 0) / US_PER_S : -1,
	    .error_s = n->error[0] != '\0' ? n->error_s : 0,
	};
	(void) snprintf(ret->error, sizeof(ret->error), "%s", n->error);
}

/* What is behind the host may be a secret. */
static char *make_to(const struct config_notify *config)
{
	struct conf_url url;

	if (config->url == NULL || conf_parse_url(config->url, &url) != NULL)
		return xasprintf("the URL in %s", config->url_file);
	return xasprintf("%.*s", (int) (url.rest - config->url), config->url);
}

struct notify *notify_new(const struct notify_options *options)
{
	struct notify *n;

	if (!config_notify_is_on(options->config))
		return NULL;
	n = NEW0(struct notify);
	n->options = *options;
	n->queue = notifyqueue_new();
	n->from.node = options->node;
	n->to = make_to(options->config);
	ev_init(&n->timer, timer_cb);
	return n;
}

void notify_free(struct notify *n)
{
	if (n == NULL)
		return;
	ev_timer_stop(n->options.ev, &n->timer);
	notifycall_free(n->call);
	notifyqueue_free(n->queue);
	free(n->to);
	free(n);
}
