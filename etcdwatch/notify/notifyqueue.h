/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The messages that a receiver has yet to get, in their order, of each finding only the latest:
 * what was raised and is over before anybody could be told is told once, as cleared. It holds a
 * bounded number; the oldest ones go when it is full. Pure.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/metrics.h"
#include "etcdwatch/rules/judge.h"

#define NOTIFYQUEUE_MAX 256
#define NOTIFYQUEUE_ID_MAX 48

struct notifyqueue;

struct notifyqueue_item {
	char id[NOTIFYQUEUE_ID_MAX]; /* of the message, in each attempt at it */
	char *body;
	int64_t added_us;
	int64_t since_us; /* when the first one was added whose place it has, or that one's */
	/* What it is about; a later one about the same takes its place. "": all that follow. */
	char *about;
};

struct notifyqueue_counts {
	uint64_t superseded; /* a later message took their place */
	uint64_t overflowed;
};

struct notifyqueue *notifyqueue_new(void);
void notifyqueue_free(struct notifyqueue *queue);
DEFINE_AUTO(struct notifyqueue, notifyqueue_free);

/* Texts are copied. */
void notifyqueue_add(struct notifyqueue *queue, const char *id, const char *about, const char *body,
                     int64_t now_us);

/* The first, which is under way from now on; NULL: there is none. Borrowed, until one of the two
 * that follow, one of which must come before the next is taken. */
const struct notifyqueue_item *notifyqueue_take(struct notifyqueue *queue);
/* It has arrived, or is given up. */
void notifyqueue_drop(struct notifyqueue *queue);
/* It has not arrived: it goes behind the others, so that one over which the receiver stumbles holds
 * up none, or stays the first if it is about "". Unless a later one has taken its place. */
void notifyqueue_put_back(struct notifyqueue *queue);

/* The one that is under way included. */
size_t notifyqueue_length(const struct notifyqueue *queue);
/* When the oldest one was added, or whose place it has taken; there is one. */
int64_t notifyqueue_oldest_us(const struct notifyqueue *queue);
struct notifyqueue_counts notifyqueue_counts(const struct notifyqueue *queue);

/* --- notifydelay --- */

/* How long to wait until the next attempt at a receiver that fails. Pure. */

/* After one failure; it doubles with each further one. */
#define NOTIFYDELAY_FIRST_US (INT64_C(2) * 1000000)
/* Whatever the receiver asks for. */
#define NOTIFYDELAY_ASKED_MAX_US (INT64_C(3600) * 1000000)

/*
 * Behind `n_failed` failures without a success, at least one: between half of the doubled time and
 * all of it, where `random` says, so that the nodes do not come back together; or longer, when the
 * receiver has asked for that (asked_us; 0: it has not).
 */
int64_t notifydelay_us(unsigned n_failed, int64_t max_us, int64_t asked_us, uint32_t random);

/* --- notifymessage --- */

/*
 * The bodies of messages to a webhook, as docs/etcd.md describes them. Pure. Each is the text of a
 * JSON object, which the caller frees.
 */

/* Who tells, and when. */
struct notifymessage_from {
	const char *node;
	uint64_t cluster_id; /* 0: not known yet */
	int64_t now_us;      /* mono_now_us() */
	int64_t wall_s;
};

char *notifymessage_finding(const struct notifymessage_from *from,
                            const struct judge_finding *finding, bool raised);
/* The watchdog has just begun: what it told before is void. */
char *notifymessage_started(const struct notifymessage_from *from);
char *notifymessage_test(const struct notifymessage_from *from);

/* --- notifyreport --- */

/* How telling goes, rendered: `etcd notify status` and the metrics, as docs/control.md describes
 * them. Pure. */

#define NOTIFYREPORT_TEXT_MAX 512

struct notifyreport {
	const char *state; /* "idle", "sending", "pausing" */
	const char *to;    /* scheme and host, or the file with the URL */
	size_t n_queued;
	int64_t oldest_s; /* for how long the oldest has waited */
	uint64_t delivered, failed, refused, given_up;
	struct notifyqueue_counts queue;
	int64_t delivered_s;               /* when the last one arrived, since 1970; 0: none has */
	int64_t next_s;                    /* until the next attempt; with "pausing" */
	char error[NOTIFYREPORT_TEXT_MAX]; /* of the last attempt, "" when it arrived */
	int64_t error_s;
};

/* A new object. */
json_t *notifyreport_json(const struct notifyreport *report);
void notifyreport_metrics(struct metrics *m, const struct notifyreport *report);
