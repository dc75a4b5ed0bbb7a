/* SPDX-License-Identifier: Apache-2.0 */
/* What talosctl's columns need, and then what tells more: how old a term is matters less than
 * whether a member serves. */
#include "etcdwatch/cluster/surveyjson.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/jsonval.h"
#include "base/mono.h"

json_t *surveyjson_id(uint64_t id)
{
	char text[17];

	if (id == 0)
		return json_null();
	(void) snprintf(text, sizeof(text), "%" PRIx64, id);
	return json_string(text);
}

/* "a,b" */
static json_t *split(const char *urls)
{
	json_t *array = json_array();
	size_t len;

	for (const char *p = urls; *p != '\0'; p += len + (p[len] == ',')) {
		char url[SURVEY_URLS_MAX];

		len = strcspn(p, ",");
		(void) snprintf(url, sizeof(url), "%.*s", (int) len, p);
		(void) json_array_append_new(array, jsonval_text(url));
	}
	return array;
}

static const char *why_silent(const struct survey_member *member)
{
	if (member->answer != NULL)
		return member->answer->error;
	return member->started ? "none of the endpoints leads to it" : "it has not been started yet";
}

json_t *surveyjson_list(const struct survey_member *member)
{
	const struct survey_answer *a = member->answer;
	json_t *members,
	    *object = json_pack("{s:o, s:o}", "node", jsonval_text(survey_member_name(member)),
	                        "endpoint", jsonval_text(a != NULL ? a->endpoint : NULL));

	if (a == NULL || !a->list.known) {
		(void) json_object_set_new(object, "error",
		                           jsonval_text(a != NULL ? a->list.error : why_silent(member)));
		return object;
	}
	members = json_array();
	for (size_t i = 0; i < a->list.n; i++) {
		const struct survey_listed *m = &a->list.members[i];

		(void) json_array_append_new(
		    members, json_pack("{s:o, s:o, s:o, s:o, s:b}", "id", surveyjson_id(m->id), "hostname",
		                       jsonval_text(m->name), "peer_urls", split(m->peer_urls),
		                       "client_urls", split(m->client_urls), "learner", m->learner));
	}
	(void) json_object_set_new(object, "members", members);
	return object;
}

static json_t *number_or_null(int64_t number)
{
	return number > 0 ? json_integer(number) : json_null();
}

static void add_told(json_t *object, const struct survey_answer *a)
{
	json_t *told = json_pack(
	    "{s:I, s:I, s:o, s:o, s:I, s:I, s:I, s:o, s:o, s:o, s:b, s:o, s:o}", "db_bytes",
	    (json_int_t) a->db_bytes, "in_use_bytes", (json_int_t) a->in_use_bytes, "quota_bytes",
	    number_or_null(a->quota_bytes), "leader", surveyjson_id(a->leader_id), "raft_index",
	    (json_int_t) a->raft_index, "raft_term", (json_int_t) a->raft_term, "raft_applied_index",
	    (json_int_t) a->raft_applied_index, "version", jsonval_text(a->version), "storage_version",
	    jsonval_text(a->storage_version), "errors", jsonval_text(a->errors), "serves", a->serves,
	    "serves_error", a->serves ? json_null() : jsonval_text(a->serve_error), "read_ms",
	    a->serves ? jsonval_tenths(a->latency_us, US_PER_MS) : json_null());

	(void) json_object_update_new(object, told);
}

json_t *surveyjson_status(const struct survey_member *member)
{
	const struct survey_answer *a = member->answer;
	json_t *object =
	    json_pack("{s:o, s:o, s:o, s:b, s:b, s:b}", "node",
	              jsonval_text(survey_member_name(member)), "member", surveyjson_id(member->id),
	              "endpoint", jsonval_text(a != NULL ? a->endpoint : NULL), "learner",
	              member->learner, "local", member->local, "leads",
	              a != NULL && a->answers && a->leader_id == member->id && member->id != 0);

	if (a != NULL && a->answers)
		add_told(object, a);
	else
		(void) json_object_set_new(object, "error", jsonval_text(why_silent(member)));
	return object;
}

const char *surveyjson_alarm_name(enum etcd_alarm_type type)
{
	switch (type) {
	case ETCD_ALARM_NOSPACE:
		return "NOSPACE";
	case ETCD_ALARM_CORRUPT:
		return "CORRUPT";
	}
	return "unknown";
}

json_t *surveyjson_alarm(const struct survey *survey, const struct etcd_alarm *alarm)
{
	const struct survey_member *m = survey_find_id(survey, alarm->member_id);

	/* Of no member in particular: where etcd cannot tell who differs. */
	if (alarm->member_id == 0)
		return json_pack("{s:s, s:n, s:s}", "node", "the cluster", "member", "alarm",
		                 surveyjson_alarm_name(alarm->type));
	return json_pack("{s:o, s:o, s:s}", "node",
	                 jsonval_text(m != NULL ? survey_member_name(m) : NULL), "member",
	                 surveyjson_id(alarm->member_id), "alarm", surveyjson_alarm_name(alarm->type));
}
