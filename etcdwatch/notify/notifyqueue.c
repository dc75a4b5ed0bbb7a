/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An array of pointers, which is short enough to be moved up. The one that is under way stays the
 * first; if a later one takes its place meanwhile that is noted, because whether it arrived is not
 * known yet.
 */
#include "etcdwatch/notify/notifyqueue.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/civil.h"
#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mem.h"

struct notifyqueue {
	struct notifyqueue_item *items[NOTIFYQUEUE_MAX];
	size_t n;
	bool is_taken; /* the first */
	bool is_stale; /* and a later one has taken its place */
	struct notifyqueue_counts counts;
};

struct notifyqueue *notifyqueue_new(void)
{
	return NEW0(struct notifyqueue);
}

static void item_free(struct notifyqueue_item *item)
{
	free(item->body);
	free(item->about);
	free(item);
}

void notifyqueue_free(struct notifyqueue *q)
{
	if (q == NULL)
		return;
	for (size_t i = 0; i < q->n; i++)
		item_free(q->items[i]);
	free(q);
}

static void remove_at(struct notifyqueue *q, size_t at)
{
	item_free(q->items[at]);
	q->n--;
	memmove(&q->items[at], &q->items[at + 1], (q->n - at) * sizeof(q->items[0]));
}

/* Since when there is something about it to tell: what takes the place of another has waited with
 * it. */
static int64_t supersede(struct notifyqueue *q, const char *about, int64_t now_us)
{
	int64_t since_us = now_us;

	for (size_t i = 0; i < q->n; i++) {
		if (strcmp(q->items[i]->about, about) != 0)
			continue;
		if (i == 0 && q->is_taken) {
			q->is_stale = true;
			continue;
		}
		since_us = q->items[i]->since_us;
		remove_at(q, i);
		q->counts.superseded++;
		break;
	}
	return since_us;
}

void notifyqueue_add(struct notifyqueue *q, const char *id, const char *about, const char *body,
                     int64_t now_us)
{
	struct notifyqueue_item *added;
	int64_t since_us = supersede(q, about, now_us);

	if (q->n == NOTIFYQUEUE_MAX) {
		remove_at(q, q->is_taken ? 1 : 0);
		q->counts.overflowed++;
	}
	added = NEW0(struct notifyqueue_item);
	(void) snprintf(added->id, sizeof(added->id), "%s", id);
	added->body = xstrdup(body);
	added->about = xstrdup(about);
	added->added_us = now_us;
	added->since_us = since_us;
	q->items[q->n++] = added;
}

const struct notifyqueue_item *notifyqueue_take(struct notifyqueue *q)
{
	assert(!q->is_taken);
	if (q->n == 0)
		return NULL;
	q->is_taken = true;
	q->is_stale = false;
	return q->items[0];
}

void notifyqueue_drop(struct notifyqueue *q)
{
	assert(q->is_taken);
	q->is_taken = false;
	remove_at(q, 0);
}

/* The first has not arrived, and the one in its place has waited for as long. */
static void bequeath(struct notifyqueue *q)
{
	for (size_t i = 1; i < q->n; i++) {
		if (strcmp(q->items[i]->about, q->items[0]->about) == 0)
			q->items[i]->since_us = q->items[0]->since_us;
	}
}

void notifyqueue_put_back(struct notifyqueue *q)
{
	struct notifyqueue_item *item = q->items[0];

	assert(q->is_taken);
	q->is_taken = false;
	if (q->is_stale) {
		bequeath(q);
		remove_at(q, 0);
		q->counts.superseded++;
	} else if (item->about[0] != '\0') {
		memmove(&q->items[0], &q->items[1], (q->n - 1) * sizeof(q->items[0]));
		q->items[q->n - 1] = item;
	}
}

size_t notifyqueue_length(const struct notifyqueue *q)
{
	return q->n;
}

int64_t notifyqueue_oldest_us(const struct notifyqueue *q)
{
	int64_t oldest_us = INT64_MAX;

	for (size_t i = 0; i < q->n; i++)
		oldest_us = MIN(oldest_us, q->items[i]->since_us);
	return oldest_us;
}

struct notifyqueue_counts notifyqueue_counts(const struct notifyqueue *q)
{
	return q->counts;
}

/* --- notifydelay --- */

/* Doubling stops at the limit, so nothing overflows. */

int64_t notifydelay_us(unsigned n_failed, int64_t max_us, int64_t asked_us, uint32_t random)
{
	int64_t full = MIN(NOTIFYDELAY_FIRST_US, max_us);

	for (unsigned i = 1; i < n_failed && full < max_us; i++)
		full = MIN(2 * full, max_us);
	full = full / 2 + (int64_t) ((double) (full - full / 2) * random / UINT32_MAX);
	return MAX(full, MIN(asked_us, NOTIFYDELAY_ASKED_MAX_US));
}

/* --- notifymessage --- */

/* {"type", "timestamp", "data": {...}}, as the Standard Webhooks specification recommends. */

#define CLUSTER_ID_TEXT_MAX 17

static json_t *begin_data(const struct notifymessage_from *from)
{
	char id[CLUSTER_ID_TEXT_MAX];

	(void) snprintf(id, sizeof(id), "%" PRIx64, from->cluster_id);
	return json_pack("{s:o, s:o}", "node", jsonval_text(from->node), "cluster_id",
	                 jsonval_text(from->cluster_id != 0 ? id : NULL));
}

/* Takes the data. */
static char *finish(const struct notifymessage_from *from, const char *type, json_t *data)
{
	json_t *json = json_pack("{s:s, s:o, s:o}", "type", type, "timestamp",
	                         jsonval_moment(from->wall_s), "data", data);
	char *text = json_dumps(json, JSON_COMPACT);

	json_decref(json);
	return text;
}

char *notifymessage_finding(const struct notifymessage_from *from, const struct judge_finding *f,
                            bool raised)
{
	json_t *data = begin_data(from);

	(void) json_object_update_new(
	    data,
	    json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "id", f->rule->id, "severity",
	              rules_severity_name(f->rule->severity), "subject", jsonval_text(f->subject),
	              "since", jsonval_moment(from->wall_s - (from->now_us - f->since_us) / US_PER_S),
	              "sentence", jsonval_text(f->sentence), "to_do", jsonval_text(f->rule->to_do)));
	return finish(from, raised ? "finding.raised" : "finding.cleared", data);
}

char *notifymessage_started(const struct notifymessage_from *from)
{
	return finish(from, "watchdog.started", begin_data(from));
}

char *notifymessage_test(const struct notifymessage_from *from)
{
	return finish(from, "test", begin_data(from));
}

/* --- notifyreport --- */

/* Counts since the start, and how it is now. */

#define REPORT(member) offsetof(struct notifyreport, member)
static const struct jsonval_row report_rows[] = {
    {"to", JSONVAL_TEXT, REPORT(to)},
    {"state", JSONVAL_TEXT, REPORT(state)},
    {"queued", JSONVAL_SIZE, REPORT(n_queued)},
    {"delivered", JSONVAL_U64, REPORT(delivered)},
    {"failed", JSONVAL_U64, REPORT(failed)},
    {"refused", JSONVAL_U64, REPORT(refused)},
    {"given_up", JSONVAL_U64, REPORT(given_up)},
    {"superseded", JSONVAL_U64, REPORT(queue.superseded)},
    {"overflowed", JSONVAL_U64, REPORT(queue.overflowed)},
    {"delivered_at", JSONVAL_MOMENT, REPORT(delivered_s)},
    {"error", JSONVAL_CHARS, REPORT(error)},
    {"error_at", JSONVAL_MOMENT, REPORT(error_s)},
    {0},
};

json_t *notifyreport_json(const struct notifyreport *r)
{
	json_t *json = json_object();

	jsonval_put(json, report_rows, r);
	(void) json_object_set_new(json, "next_s",
	                           r->next_s >= 0 ? json_integer(r->next_s) : json_null());
	return json;
}

static double is_failing(const void *from)
{
	return ((const struct notifyreport *) from)->error[0] != '\0';
}

static double all_failed(const void *from)
{
	const struct notifyreport *r = from;

	return (double) (r->failed + r->refused);
}

static const struct metrics_row report_metrics[] = {
    {"fairlead_etcdwatch_notify_queued", "Messages that the webhook has yet to get.", METRICS_SIZE,
     REPORT(n_queued), NULL},
    {"fairlead_etcdwatch_notify_oldest_seconds", "For how long the oldest of them has waited.",
     METRICS_I64, REPORT(oldest_s), NULL},
    {"fairlead_etcdwatch_notify_failing", "1 while the last attempt went wrong.", METRICS_CODE, 0,
     is_failing},
    {"fairlead_etcdwatch_notify_last_success_timestamp_seconds",
     "When the last message arrived; 0: none has.", METRICS_I64, REPORT(delivered_s), NULL},
    {"fairlead_etcdwatch_notify_attempts_failed_total", "Attempts that went wrong.", METRICS_CODE,
     0, all_failed},
    {0},
};

void notifyreport_metrics(struct metrics *m, const struct notifyreport *r)
{
	const struct {
		const char *result;
		uint64_t n;
	} ends[] = {
	    {"delivered", r->delivered},         {"refused", r->refused},
	    {"given-up", r->given_up},           {"superseded", r->queue.superseded},
	    {"overflowed", r->queue.overflowed},
	};

	metrics_table(m, report_metrics, &(struct metrics_subject){.from = r}, 1);
	metrics_family(m, "fairlead_etcdwatch_notify_messages_total{result}", METRICS_COUNTER,
	               "Messages, by what became of them.");
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		metrics_sample(m, (double) ends[i].n, &(struct metrics_label){"result", ends[i].result}, 1);
}
