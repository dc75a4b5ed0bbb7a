/* SPDX-License-Identifier: Apache-2.0 */
/* From what endpoints said to members: who is whose, who is silent, who is not in the list. */
#include "etcdwatch/cluster/survey.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "check.h"
#include "etcdwatch/steer/steps.h"

static struct survey *survey;

static void begin(void)
{
	free(survey);
	survey = NEW0(struct survey);
	survey->alarms_known = true;
}

static struct survey_answer *add_silent(const char *endpoint, bool local)
{
	struct survey_answer *a = &survey->answers[survey->n_answers++];

	(void) snprintf(a->endpoint, sizeof(a->endpoint), "%s", endpoint);
	(void) snprintf(a->error, sizeof(a->error), "no answer");
	(void) snprintf(a->list.error, sizeof(a->list.error), "no list");
	a->local = local;
	return a;
}

static struct survey_answer *add_answer(const char *endpoint, bool local, uint64_t id)
{
	struct survey_answer *a = add_silent(endpoint, local);

	a->answers = true;
	a->serves = true;
	a->member_id = id;
	a->cluster_id = 9;
	a->leader_id = 1;
	a->raft_term = 4;
	return a;
}

static void list_member(struct survey_answer *a, uint64_t id, const char *name, const char *url,
                        bool local)
{
	struct survey_listed *l = &a->list.members[a->list.n++];

	a->list.known = true;
	l->id = id;
	l->local = local;
	(void) snprintf(l->name, sizeof(l->name), "%s", name);
	(void) snprintf(l->client_urls, sizeof(l->client_urls), "%s", url);
	(void) snprintf(l->peer_urls, sizeof(l->peer_urls), "p%s", name);
}

static void list_three(struct survey_answer *a)
{
	/* In any order, as etcd has it. */
	list_member(a, 3, "n3", "https://10.0.0.3:2379,https://[fd00::3]:2379", false);
	list_member(a, 1, "n1", "https://10.0.0.1:2379", true);
	list_member(a, 2, "n2", "https://10.0.0.2:2379", false);
}

/* "n1+ n2- n3*": answers, silent, no endpoint leads there; ":local". */
static const char *told(void)
{
	static char text[512];

	text[0] = '\0';
	for (size_t i = 0; i < survey->n_members; i++) {
		const struct survey_member *m = &survey->members[i];
		size_t used = strlen(text);

		(void) snprintf(text + used, sizeof(text) - used, "%s%s%s%s%s", used > 0 ? " " : "",
		                survey_member_name(m),
		                m->answer == NULL    ? "*"
		                : m->answer->answers ? "+"
		                                     : "-",
		                m->local ? ":local" : "", m->started ? "" : ":new");
	}
	return text;
}

static void test_all_answer(void)
{
	begin();
	/* Ours by two endpoints: the one that is this machine's own counts. */
	list_three(add_answer("https://10.0.0.1:2379", false, 1));
	list_three(add_answer("https://127.0.0.1:2379", true, 1));
	list_three(add_answer("https://10.0.0.2:2379", false, 2));
	list_three(add_answer("https://10.0.0.3:2379", false, 3));
	survey_merge(survey);
	CHECK_EQ_STR(told(), "n1+:local n2+ n3+");
	CHECK(survey->members[0].answer == &survey->answers[1]);
	CHECK_EQ_STR(survey_member_name(survey_leader(survey)), "n1");
	CHECK_EQ_INT(survey->cluster_id, 9);
	CHECK(survey_find(survey, "n3") == &survey->members[2]);
	CHECK(survey_find(survey, "3") == &survey->members[2]);
	CHECK(survey_find(survey, "n4") == NULL);
	CHECK(survey_find(survey, "0") == NULL);
}

static void test_found_by_word(void)
{
	static const struct {
		const char *word;
		uint64_t id; /* 0: none */
		size_t n;
	} cases[] = {
	    {"", 0, 0}, {"n1", 1, 1}, {"twin", 0, 2}, {"3", 3, 1}, {"4", 4, 1}, {"5", 5, 1},
	};
	struct survey_answer *a;

	begin();
	a = add_answer("https://10.0.0.1:2379", true, 1);
	list_member(a, 1, "n1", "https://10.0.0.1:2379", true);
	list_member(a, 3, "twin", "https://10.0.0.3:2379", false);
	list_member(a, 4, "twin", "https://10.0.0.4:2379", false);
	list_member(a, 5, "", "", false);
	survey_merge(survey);
	CHECK_EQ_STR(told(), "-*:new n1+:local twin* twin*");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct survey_member *m = survey_find(survey, cases[i].word);

		if (!CHECK_EQ_INT(m != NULL ? m->id : 0, cases[i].id) ||
		    !CHECK_EQ_INT(survey_count(survey, cases[i].word), cases[i].n))
			(void) fprintf(stderr, "  '%s'\n", cases[i].word);
	}
}

static void test_silent(void)
{
	begin();
	list_three(add_answer("https://10.0.0.1:2379", true, 1));
	(void) add_silent("https://[fd00::3]:2379", false);
	survey_merge(survey);
	CHECK_EQ_STR(told(), "n1+:local n2* n3-");

	/* Ours hangs, and is known by two endpoints: it is one row. */
	begin();
	(void) add_silent("https://127.0.0.1:2379", true);
	(void) add_silent("https://10.0.0.1:2379", true);
	list_three(add_answer("https://10.0.0.2:2379", false, 2));
	survey_merge(survey);
	CHECK_EQ_STR(told(), "n1-:local n2+ n3*");

	/* It is known by an address that no list has. */
	begin();
	(void) add_silent("https://127.0.0.1:2379", true);
	list_three(add_answer("https://10.0.0.2:2379", false, 2));
	survey_merge(survey);
	CHECK_EQ_STR(told(), "n1-:local n2+ n3*");

	/* Nobody answers: endpoints are all there is. */
	begin();
	(void) add_silent("https://127.0.0.1:2379", true);
	(void) add_silent("https://10.0.0.2:2379", false);
	survey_merge(survey);
	CHECK_EQ_STR(told(), "https://127.0.0.1:2379-:local:new https://10.0.0.2:2379-:new");
	CHECK(survey_leader(survey) == NULL);
	CHECK(!survey->listed);
}

static void test_others(void)
{
	struct survey_answer *behind;

	/* The list of one that is cut off does not count; one that is not listed is a row all the same.
	 */
	begin();
	behind = add_answer("https://10.0.0.2:2379", false, 2);
	behind->serves = false;
	list_member(behind, 2, "n2", "https://10.0.0.2:2379", false);
	list_three(add_answer("https://10.0.0.1:2379", true, 1));
	(void) add_answer("https://10.0.0.7:2379", false, 7);
	list_member(&survey->answers[1], 8, "", "", false);
	survey_merge(survey);
	CHECK_EQ_STR(told(), "-*:new n1+:local n2+ n3* https://10.0.0.7:2379+");
}

/* Three, of whom the second may be another than it seems. */
static struct survey_answer *three_answers(void)
{
	begin();
	list_three(add_answer("https://10.0.0.1:2379", true, 1));
	list_three(add_answer("https://10.0.0.2:2379", false, 2));
	list_three(add_answer("https://10.0.0.3:2379", false, 3));
	survey->answers[0].raft_applied_index = 7;
	return &survey->answers[1];
}

static void check_strays(const char *what, bool want)
{
	survey_merge(survey);
	if (!CHECK(survey->members[1].strays == want) || !CHECK(!survey->members[0].strays) ||
	    !CHECK(!survey->members[2].strays) ||
	    !CHECK(quorumsafe_is_healthy(&survey->members[1]) == !want))
		(void) fprintf(stderr, "  %s\n", what);
}

static void test_strays(void)
{
	struct survey_answer *a = three_answers();

	check_strays("none", false);
	CHECK(survey_is_one_cluster(survey));

	/* One that was bootstrapped anew, with the id that it had: its term does not count. */
	a->cluster_id = 10;
	a->leader_id = 2;
	a->raft_term = 40;
	check_strays("another cluster", true);
	CHECK(!survey_is_one_cluster(survey));
	CHECK_EQ_STR(survey_member_name(survey_leader(survey)), "n1");

	three_answers()->cluster_id = 10;
	check_strays("only the cluster", true);
	three_answers()->leader_id = 3;
	check_strays("another leader", true);
	three_answers()->leader_id = 0;
	check_strays("no leader", true);
	three_answers()->list.n = 2;
	check_strays("fewer members", true);
	three_answers()->list.members[0].id = 8;
	check_strays("another member", true);
	three_answers()->list.known = false;
	check_strays("no list", true);
	CHECK(survey_is_one_cluster(survey));
}

static void test_alarms(void)
{
	struct survey_answer *a;
	json_t *json;
	char *text;

	begin();
	survey->alarms_known = false;
	a = add_answer("https://10.0.0.1:2379", true, 1);
	list_three(a);
	(void) snprintf(a->errors, sizeof(a->errors),
	                "etcdserver: no leader; memberID:2 alarm:NOSPACE ; memberID:3 alarm:CORRUPT ; "
	                "memberID:2 alarm:NOSPACE ; memberID:x");
	survey_merge(survey);
	CHECK_EQ_INT(survey->n_alarms, 2);
	CHECK(survey_has_alarm(survey, 2, ETCD_ALARM_NOSPACE));
	CHECK(!survey_has_alarm(survey, 2, ETCD_ALARM_CORRUPT));
	CHECK(survey_has_alarm(survey, 3, ETCD_ALARM_CORRUPT));
	CHECK(survey_any_alarm(survey, ETCD_ALARM_CORRUPT));
	json = surveyjson_alarm(survey, &survey->alarms[1]);
	text = json_dumps(json, JSON_COMPACT);
	CHECK_EQ_STR(text, "{\"node\":\"n3\",\"member\":\"3\",\"alarm\":\"CORRUPT\"}");
	free(text);
	json_decref(json);
	json = surveyjson_alarm(survey, &(struct etcd_alarm){.type = ETCD_ALARM_CORRUPT});
	text = json_dumps(json, JSON_COMPACT);
	CHECK_EQ_STR(text, "{\"node\":\"the cluster\",\"member\":null,\"alarm\":\"CORRUPT\"}");
	free(text);
	json_decref(json);
}

/* All that there can be, of a member that tells them all. */
static void test_many_told_alarms(void)
{
	char *errors;
	size_t len = 0;

	begin();
	survey->alarms_known = false;
	errors = add_answer("https://10.0.0.1:2379", true, 1)->errors;
	for (size_t i = 0; i < SURVEY_ALARMS_MAX; i++)
		len += (size_t) snprintf(errors + len, SURVEY_ERRORS_MAX - len, "memberID:%llu alarm:%s ; ",
		                         (unsigned long long) (UINT64_MAX - i / 2),
		                         i % 2 == 0 ? "NOSPACE" : "CORRUPT");
	CHECK(len < SURVEY_ERRORS_MAX);
	survey_merge(survey);
	CHECK_EQ_INT(survey->n_alarms, SURVEY_ALARMS_MAX);
}

/* As etcd writes them: a member of ID 0 is left out, and blanks may come twice. */
static void test_told_alarms(void)
{
	static const struct {
		const char *errors;
		size_t n;
		uint64_t id;
		enum etcd_alarm_type type; /* of the first */
	} cases[] = {
	    {"", 0, 0, ETCD_ALARM_NOSPACE},
	    {"etcdserver: no leader", 0, 0, ETCD_ALARM_NOSPACE},
	    {"alarm:CORRUPT ", 1, 0, ETCD_ALARM_CORRUPT},
	    {"alarm:NOSPACE", 1, 0, ETCD_ALARM_NOSPACE},
	    {"etcdserver: no leader; alarm:CORRUPT ", 1, 0, ETCD_ALARM_CORRUPT},
	    {"memberID:18446744073709551615  alarm:CORRUPT", 1, UINT64_MAX, ETCD_ALARM_CORRUPT},
	    {"memberID:2 alarm:NOSPACE ; alarm:CORRUPT ", 2, 2, ETCD_ALARM_NOSPACE},
	    {"alarm:CORRUPT ; alarm:CORRUPT ", 1, 0, ETCD_ALARM_CORRUPT},
	    {"memberID:2", 0, 0, ETCD_ALARM_NOSPACE},
	    {"memberID:2 ; alarm:", 0, 0, ETCD_ALARM_NOSPACE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool ok;

		begin();
		survey->alarms_known = false;
		(void) snprintf(add_answer("https://10.0.0.1:2379", true, 1)->errors, SURVEY_TEXT_MAX, "%s",
		                cases[i].errors);
		survey_merge(survey);
		ok = CHECK_EQ_INT(survey->n_alarms, cases[i].n);
		if (ok && cases[i].n > 0)
			ok = CHECK(survey->alarms[0].member_id == cases[i].id) &&
			     CHECK_EQ_INT(survey->alarms[0].type, cases[i].type);
		if (!ok)
			(void) fprintf(stderr, "  '%s'\n", cases[i].errors);
	}
	CHECK(!survey_any_alarm(survey, ETCD_ALARM_CORRUPT));
}

static void check_json(json_t *json, const char *want)
{
	AUTO(free) char *text = json_dumps(json, JSON_COMPACT);

	CHECK_EQ_STR(text, want);
	json_decref(json);
}

static void test_json(void)
{
	struct survey_answer *a;

	begin();
	a = add_answer("https://10.0.0.1:2379", true, 0xabcdef0123456789);
	a->db_bytes = 1000;
	a->in_use_bytes = 400;
	a->latency_us = 2500;
	(void) snprintf(a->version, sizeof(a->version), "3.4.23");
	list_member(a, 0xabcdef0123456789, "n1", "https://10.0.0.1:2379,https://10.1.0.1:2379", true);
	(void) add_silent("https://10.0.0.2:2379", false);
	list_member(a, 2, "n2", "https://10.0.0.2:2379", false);
	survey_merge(survey);
	check_json(surveyjson_status(&survey->members[0]),
	           "{\"node\":\"n1\",\"member\":\"abcdef0123456789\",\"endpoint\":\"https://"
	           "10.0.0.1:2379\",\"learner\":false,\"local\":true,\"leads\":false,\"db_bytes\":1000,"
	           "\"in_use_bytes\":400,\"quota_bytes\":null,\"leader\":\"1\",\"raft_index\":0,\"raft_"
	           "term\":4,\"raft_applied_index\":0,\"version\":\"3.4.23\",\"storage_version\":\"\","
	           "\"errors\":\"\",\"serves\":true,\"serves_error\":null,\"read_ms\":2.5}");
	check_json(surveyjson_status(&survey->members[1]),
	           "{\"node\":\"n2\",\"member\":\"2\",\"endpoint\":\"https://10.0.0.2:2379\","
	           "\"learner\":false,\"local\":false,\"leads\":false,\"error\":\"no answer\"}");
	check_json(surveyjson_list(&survey->members[0]),
	           "{\"node\":\"n1\",\"endpoint\":\"https://10.0.0.1:2379\",\"members\":[{\"id\":"
	           "\"abcdef0123456789\",\"hostname\":\"n1\",\"peer_urls\":[\"pn1\"],\"client_urls\":["
	           "\"https://10.0.0.1:2379\",\"https://10.1.0.1:2379\"],\"learner\":false},{\"id\":"
	           "\"2\",\"hostname\":\"n2\",\"peer_urls\":[\"pn2\"],\"client_urls\":[\"https://"
	           "10.0.0.2:2379\"],\"learner\":false}]}");
	check_json(surveyjson_list(&survey->members[1]),
	           "{\"node\":\"n2\",\"endpoint\":\"https://10.0.0.2:2379\",\"error\":\"no list\"}");
}

int main(void)
{
	test_all_answer();
	test_found_by_word();
	test_silent();
	test_others();
	test_strays();
	test_alarms();
	test_many_told_alarms();
	test_told_alarms();
	test_json();
	free(survey);
	return check_result();
}
