/* SPDX-License-Identifier: Apache-2.0 */
/* {"type", "timestamp", "data": {...}}, as the Standard Webhooks specification recommends. */
#include "etcdwatch/notify/notifymessage.h"

#include <inttypes.h>
#include <stdio.h>
#include <jansson.h>

#include "base/civil.h"
#include "base/jsonval.h"

#define CLUSTER_ID_TEXT_MAX 17

static json_t *moment(int64_t s)
{
	char text[CIVIL_TEXT_MAX];

	return json_string(civil_format(s, text));
}

static json_t *begin_data(const struct notifymessage_from *from)
{
	char id[CLUSTER_ID_TEXT_MAX];
	json_t *data = json_object();

	(void) snprintf(id, sizeof(id), "%" PRIx64, from->cluster_id);
	(void) json_object_set_new(data, "node", jsonval_text(from->node));
	(void) json_object_set_new(data, "cluster_id", jsonval_text(from->cluster_id != 0 ? id : NULL));
	return data;
}

/* Takes the data. */
static char *finish(const struct notifymessage_from *from, const char *type, json_t *data)
{
	json_t *json =
	    json_pack("{s:s, s:o, s:o}", "type", type, "timestamp", moment(from->wall_s), "data", data);
	char *text = json_dumps(json, JSON_COMPACT);

	json_decref(json);
	return text;
}

char *notifymessage_finding(const struct notifymessage_from *from, const struct judge_finding *f,
                            bool raised)
{
	json_t *data = begin_data(from);

	(void) json_object_set_new(data, "id", json_string(f->rule->id));
	(void) json_object_set_new(data, "severity",
	                           json_string(rules_severity_name(f->rule->severity)));
	(void) json_object_set_new(data, "subject", jsonval_text(f->subject));
	(void) json_object_set_new(data, "since",
	                           moment(from->wall_s - (from->now_us - f->since_us) / US_PER_S));
	(void) json_object_set_new(data, "sentence", jsonval_text(f->sentence));
	(void) json_object_set_new(data, "to_do", jsonval_text(f->rule->to_do));
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
