/* SPDX-License-Identifier: Apache-2.0 */
/* Counts since the start, and how it is now. */
#include "etcdwatch/notify/notifyreport.h"

#include "base/civil.h"
#include "base/jsonval.h"
#include "base/macro.h"

static void put_number(json_t *json, const char *key, uint64_t number)
{
	(void) json_object_set_new(json, key, json_integer((json_int_t) number));
}

static json_t *moment(int64_t s)
{
	char text[CIVIL_TEXT_MAX];

	return s > 0 ? json_string(civil_format(s, text)) : json_null();
}

json_t *notifyreport_json(const struct notifyreport *r)
{
	json_t *json = json_object();
	bool fails = r->error[0] != '\0';

	(void) json_object_set_new(json, "to", jsonval_text(r->to));
	(void) json_object_set_new(json, "state", json_string(r->state));
	put_number(json, "queued", r->n_queued);
	put_number(json, "delivered", r->delivered);
	put_number(json, "failed", r->failed);
	put_number(json, "refused", r->refused);
	put_number(json, "given_up", r->given_up);
	put_number(json, "superseded", r->queue.superseded);
	put_number(json, "overflowed", r->queue.overflowed);
	(void) json_object_set_new(json, "delivered_at", moment(r->delivered_s));
	(void) json_object_set_new(json, "error", jsonval_text(fails ? r->error : NULL));
	(void) json_object_set_new(json, "error_at", moment(fails ? r->error_s : 0));
	(void) json_object_set_new(json, "next_s",
	                           r->next_s >= 0 ? json_integer(r->next_s) : json_null());
	return json;
}

static void gauge(struct metrics *m, const char *name, const char *help, double value)
{
	metrics_family(m, name, METRICS_GAUGE, help);
	metrics_sample(m, value, NULL, 0);
}

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

	gauge(m, "fairlead_etcdwatch_notify_queued", "Messages that the webhook has yet to get.",
	      (double) r->n_queued);
	gauge(m, "fairlead_etcdwatch_notify_oldest_seconds",
	      "For how long the oldest of them has waited.", (double) r->oldest_s);
	gauge(m, "fairlead_etcdwatch_notify_failing", "1 while the last attempt went wrong.",
	      r->error[0] != '\0');
	gauge(m, "fairlead_etcdwatch_notify_last_success_timestamp_seconds",
	      "When the last message arrived; 0: none has.", (double) r->delivered_s);
	metrics_family(m, "fairlead_etcdwatch_notify_attempts_failed_total", METRICS_COUNTER,
	               "Attempts that went wrong.");
	metrics_sample(m, (double) (r->failed + r->refused), NULL, 0);
	metrics_family(m, "fairlead_etcdwatch_notify_messages_total{result}", METRICS_COUNTER,
	               "Messages, by what became of them.");
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		metrics_sample(m, (double) ends[i].n, &(struct metrics_label){"result", ends[i].result}, 1);
}
