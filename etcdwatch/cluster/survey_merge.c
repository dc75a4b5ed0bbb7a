/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what endpoints said to a picture of members. Several endpoints may lead to one member, and
 * one that does not answer is nobody's until a list says whose client URL it is; pure.
 */
#include "etcdwatch/cluster/survey.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonval.h"
#include "base/mono.h"

/* The list of one that reads with a quorum has gone farthest; failing that, any. */
static const struct survey_answer *best_list(const struct survey *survey)
{
	const struct survey_answer *best = NULL;

	for (size_t i = 0; i < survey->n_answers; i++) {
		const struct survey_answer *a = &survey->answers[i];

		if (!a->list.known)
			continue;
		if (best == NULL || a->serves > best->serves ||
		    (a->serves == best->serves && a->raft_applied_index > best->raft_applied_index))
			best = a;
	}
	return best;
}

static bool urls_hold(const char *urls, const char *url)
{
	size_t len = strlen(url);

	for (const char *p = urls; *p != '\0'; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ',')) {
		if (strncmp(p, url, len) == 0 && (p[len] == ',' || p[len] == '\0'))
			return true;
	}
	return false;
}

/* What is told of that member: by itself, or that its endpoint is silent. */
static const struct survey_answer *answer_of(const struct survey *survey,
                                             const struct survey_listed *listed)
{
	const struct survey_answer *silent = NULL, *found = NULL;

	for (size_t i = 0; i < survey->n_answers; i++) {
		const struct survey_answer *a = &survey->answers[i];

		if (a->answers && a->member_id == listed->id && (found == NULL || a->local))
			found = a;
		if (!a->answers &&
		    (urls_hold(listed->client_urls, a->endpoint) || (a->local && listed->local)))
			silent = a;
	}
	return found != NULL ? found : silent;
}

static void add(struct survey *survey, const struct survey_member *member)
{
	if (survey->n_members < SURVEY_MEMBERS_MAX)
		survey->members[survey->n_members++] = *member;
}

static void add_listed(struct survey *survey, const struct survey_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct survey_listed *l = &list->members[i];
		struct survey_member m = {
		    .id = l->id,
		    .listed = true,
		    .started = l->name[0] != '\0',
		    .learner = l->learner,
		    .local = l->local,
		    .answer = answer_of(survey, l),
		};

		if (m.answer != NULL && m.answer->answers)
			m.local |= m.answer->local;
		(void) snprintf(m.name, sizeof(m.name), "%s", l->name);
		add(survey, &m);
	}
}

static bool is_in(const struct survey *survey, const struct survey_answer *answer)
{
	for (size_t i = 0; i < survey->n_members; i++) {
		const struct survey_member *m = &survey->members[i];

		if (m->answer == answer || (answer->answers && m->id == answer->member_id))
			return true;
		/* Ours is known already by an endpoint that does answer. */
		if (!answer->answers && answer->local && m->local)
			return true;
	}
	return false;
}

/* Not in the list: of another cluster, removed, or never reached. */
static void add_others(struct survey *survey, const struct survey_list *list)
{
	for (size_t i = 0; i < survey->n_answers; i++) {
		const struct survey_answer *a = &survey->answers[i];
		struct survey_member m = {.answer = a, .local = a->local, .started = a->answers};
		bool listed = false;

		for (size_t k = 0; list != NULL && k < list->n && !a->answers; k++)
			listed |= urls_hold(list->members[k].client_urls, a->endpoint);
		if (listed || is_in(survey, a))
			continue;
		m.id = a->answers ? a->member_id : 0;
		m.learner = a->learner;
		add(survey, &m);
	}
}

static bool read_told_alarm(const char *text, struct etcd_alarm *ret)
{
	uint64_t id;
	char type[16];

	if (sscanf(text, " memberID:%" SCNu64 " alarm:%15[A-Z]", &id, type) != 2) {
		/* A member of ID 0 is left out. */
		id = 0;
		if (sscanf(text, " alarm:%15[A-Z]", type) != 1)
			return false;
	}
	ret->member_id = id;
	ret->type = strcmp(type, "CORRUPT") == 0 ? ETCD_ALARM_CORRUPT : ETCD_ALARM_NOSPACE;
	return true;
}

/* Without a leader nobody lists the alarms, but each member tells: "memberID:123 alarm:NOSPACE ".
 */
static void take_told_alarms(struct survey *survey)
{
	for (size_t i = 0; i < survey->n_answers; i++) {
		const char *p = survey->answers[i].errors;
		struct etcd_alarm alarm;

		while (p != NULL) {
			if (read_told_alarm(p, &alarm) &&
			    !survey_has_alarm(survey, alarm.member_id, alarm.type) &&
			    survey->n_alarms < SURVEY_ALARMS_MAX)
				survey->alarms[survey->n_alarms++] = alarm;
			p = strchr(p, ';');
			p = p != NULL ? p + 1 : NULL;
		}
	}
}

static bool lists_agree(const struct survey_list *a, const struct survey_list *b)
{
	if (!a->known || !b->known || a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		bool found = false;

		for (size_t k = 0; k < b->n; k++)
			found |= a->members[i].id == b->members[k].id;
		if (!found)
			return false;
	}
	return true;
}

static void mark_strays(struct survey *survey, const struct survey_answer *best)
{
	const struct survey_member *leader = survey_leader(survey);

	for (size_t i = 0; i < survey->n_members; i++) {
		struct survey_member *m = &survey->members[i];

		if (m->answer == NULL || !m->answer->answers)
			continue;
		m->strays = best == NULL || leader == NULL || m->answer->cluster_id != survey->cluster_id ||
		            m->answer->leader_id != leader->id ||
		            !lists_agree(&m->answer->list, &best->list);
	}
}

static int compare(const void *a, const void *b)
{
	const struct survey_listed *x = a, *y = b;
	int r = strcmp(x->name, y->name);

	return r != 0 ? r : (x->id > y->id) - (x->id < y->id);
}

void survey_merge(struct survey *survey)
{
	const struct survey_answer *best = best_list(survey);

	/* etcd lists them in any order, each time in another one. */
	for (size_t i = 0; i < survey->n_answers; i++)
		qsort(survey->answers[i].list.members, survey->answers[i].list.n,
		      sizeof(survey->answers[i].list.members[0]), compare);
	survey->n_members = 0;
	survey->listed = best != NULL;
	survey->cluster_id = best != NULL ? best->cluster_id : 0;
	for (size_t i = 0; i < survey->n_answers && survey->cluster_id == 0; i++)
		survey->cluster_id = survey->answers[i].cluster_id;
	if (best != NULL)
		add_listed(survey, &best->list);
	add_others(survey, best != NULL ? &best->list : NULL);
	mark_strays(survey, best);
	if (!survey->alarms_known)
		take_told_alarms(survey);
}

/* --- finding --- */

const char *survey_member_name(const struct survey_member *member)
{
	if (member->name[0] != '\0')
		return member->name;
	return member->answer != NULL ? member->answer->endpoint : "-";
}

const struct survey_member *survey_find_id(const struct survey *survey, uint64_t id)
{
	for (size_t i = 0; i < survey->n_members && id != 0; i++) {
		if (survey->members[i].id == id)
			return &survey->members[i];
	}
	return NULL;
}

/* A member that was not started yet has no name, and is known by its id alone. */
static bool is_meant(const struct survey_member *m, const char *word)
{
	char id[17];

	(void) snprintf(id, sizeof(id), "%" PRIx64, m->id);
	return m->id != 0 && word[0] != '\0' && (strcmp(m->name, word) == 0 || strcmp(id, word) == 0);
}

size_t survey_count(const struct survey *survey, const char *word)
{
	size_t n = 0;

	for (size_t i = 0; i < survey->n_members; i++)
		n += is_meant(&survey->members[i], word);
	return n;
}

const struct survey_member *survey_find(const struct survey *survey, const char *word)
{
	if (survey_count(survey, word) != 1)
		return NULL;
	for (size_t i = 0; i < survey->n_members; i++) {
		if (is_meant(&survey->members[i], word))
			return &survey->members[i];
	}
	return NULL;
}

const struct survey_member *survey_leader(const struct survey *survey)
{
	const struct survey_answer *newest = NULL;

	for (size_t i = 0; i < survey->n_answers; i++) {
		const struct survey_answer *a = &survey->answers[i];

		/* Terms of different clusters have nothing to do with each other. */
		if (a->serves && a->leader_id != 0 && a->cluster_id == survey->cluster_id &&
		    (newest == NULL || a->raft_term > newest->raft_term))
			newest = a;
	}
	return newest != NULL ? survey_find_id(survey, newest->leader_id) : NULL;
}

bool survey_is_one_cluster(const struct survey *survey)
{
	for (size_t i = 0; i < survey->n_answers; i++) {
		const struct survey_answer *a = &survey->answers[i];

		if (a->answers && a->cluster_id != survey->cluster_id)
			return false;
	}
	return true;
}

bool survey_has_alarm(const struct survey *survey, uint64_t member_id, enum etcd_alarm_type type)
{
	for (size_t i = 0; i < survey->n_alarms; i++) {
		if (survey->alarms[i].member_id == member_id && survey->alarms[i].type == type)
			return true;
	}
	return false;
}

bool survey_any_alarm(const struct survey *survey, enum etcd_alarm_type type)
{
	for (size_t i = 0; i < survey->n_alarms; i++) {
		if (survey->alarms[i].type == type)
			return true;
	}
	return false;
}

const char *survey_alarm_owner(const struct survey *survey, const struct etcd_alarm *alarm)
{
	const struct survey_member *m = survey_find_id(survey, alarm->member_id);

	if (m != NULL)
		return survey_member_name(m);
	return alarm->member_id == 0 ? "the cluster" : "a member that is gone";
}

/* --- surveyjson --- */

/* What talosctl's columns need, and then what tells more: how old a term is matters less than
 * whether a member serves. */

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
