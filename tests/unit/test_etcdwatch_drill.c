/* SPDX-License-Identifier: Apache-2.0 */
/* When a drill is due and overdue, what is remembered of drills, and what is told of them. */
#include <errno.h>
#include <stdlib.h>

#include "base/civil.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/catalog/catalog.h"
#include "etcdwatch/drill/drillinfo.h"
#include "etcdwatch/drill/drillstate.h"
#include "tests/unit/check.h"
#include "tests/unit/entries.h"
#include "tests/unit/scratch.h"

#define TIMEOUT_S 600
#define GRACE_S (TIMEOUT_S + 900)

static int64_t at(const char *text)
{
	int64_t s = 0;

	CHECK_EQ_INT(text[0] != '\0' ? civil_parse(text, &s) : 0, 0);
	return s;
}

static struct zone *utc;

/* Each Sunday at five; 2026-11-22 is one. */
static struct config_job weekly(bool catch_up)
{
	struct config_job job = {.name = (char[]){"weekly"}, .zone = utc, .catch_up = catch_up};
	char error[SCHEDULE_ERROR_MAX];

	job.drill.timeout_us = TIMEOUT_S * US_PER_S;
	CHECK_EQ_INT(schedule_parse("0 5 * * sun", &job.drill.schedule, error), 0);
	return job;
}

/* --- due --- */

static void test_due(void)
{
	static const struct {
		const char *what;
		bool no_catch_up;
		const char *since, *last, *good;
		unsigned failures;
		const char *now, *next;
		bool is_due, is_overdue;
	} cases[] = {
	    {"no snapshot yet", false, "", "", "", 0, "2026-11-18T12:00:00Z", "", false, false},
	    {"the first snapshot", false, "2026-11-18T12:00:00Z", "", "", 0, "2026-11-18T12:00:00Z",
	     "2026-11-18T12:00:00Z", true, false},
	    {"not by the schedule yet", true, "2026-11-18T12:00:00Z", "", "", 0, "2026-11-18T12:00:00Z",
	     "2026-11-22T05:00:00Z", false, false},
	    {"it is time", true, "2026-11-18T12:00:00Z", "", "", 0, "2026-11-22T05:00:00Z",
	     "2026-11-22T05:00:00Z", true, false},
	    {"done before it is time", false, "2026-11-18T12:00:00Z", "2026-11-18T12:00:10Z",
	     "2026-11-18T12:00:10Z", 0, "2026-11-22T04:59:59Z", "2026-11-22T05:00:00Z", false, false},
	    {"it is time again", false, "2026-11-18T12:00:00Z", "2026-11-18T12:00:10Z",
	     "2026-11-18T12:00:10Z", 0, "2026-11-22T05:00:00Z", "2026-11-22T05:00:00Z", true, false},
	    {"done", false, "2026-11-18T12:00:00Z", "2026-11-22T05:00:03Z", "2026-11-22T05:00:03Z", 0,
	     "2026-11-22T06:00:00Z", "2026-11-29T05:00:00Z", false, false},
	    {"failed once", false, "2026-11-18T12:00:00Z", "2026-11-22T05:00:03Z",
	     "2026-11-18T12:00:10Z", 1, "2026-11-22T05:00:30Z", "2026-11-22T05:05:03Z", false, false},
	    {"failed once, a while ago", false, "2026-11-18T12:00:00Z", "2026-11-22T05:00:03Z",
	     "2026-11-18T12:00:10Z", 1, "2026-11-22T05:05:03Z", "2026-11-22T05:05:03Z", true, false},
	    {"failed three times", false, "2026-11-18T12:00:00Z", "2026-11-22T05:15:03Z",
	     "2026-11-18T12:00:10Z", 3, "2026-11-22T05:16:00Z", "2026-11-22T05:35:03Z", false, false},
	    {"failed very often", false, "2026-11-18T12:00:00Z", "2026-11-22T20:00:00Z",
	     "2026-11-18T12:00:10Z", 4000000000u, "2026-11-22T21:00:00Z", "2026-11-23T02:00:00Z", false,
	     true},
	    {"failures of the week before do not count", false, "2026-11-01T12:00:00Z",
	     "2026-11-22T04:59:00Z", "2026-11-08T05:00:10Z", 9, "2026-11-22T05:00:00Z",
	     "2026-11-22T05:00:00Z", true, false},
	    {"not overdue while it may still be at it", false, "2026-11-18T12:00:00Z",
	     "2026-11-18T12:00:10Z", "2026-11-18T12:00:10Z", 0, "2026-11-22T05:25:00Z",
	     "2026-11-22T05:00:00Z", true, false},
	    {"overdue", false, "2026-11-18T12:00:00Z", "2026-11-18T12:00:10Z", "2026-11-18T12:00:10Z",
	     0, "2026-11-22T05:25:01Z", "2026-11-22T05:00:00Z", true, true},
	    {"the first one is overdue", false, "2026-11-18T12:00:00Z", "2026-11-18T12:20:00Z", "", 1,
	     "2026-11-18T12:25:01Z", "2026-11-18T12:25:00Z", true, true},
	    /* The clock was wrong. */
	    {"done in the future", false, "2026-11-18T12:00:00Z", "2036-11-18T12:00:10Z",
	     "2036-11-18T12:00:10Z", 0, "2026-11-22T06:00:00Z", "2026-11-22T05:00:00Z", true, true},
	    {"began in the future", false, "2036-11-18T12:00:00Z", "", "", 0, "2026-11-22T05:10:00Z",
	     "2026-11-22T05:00:00Z", true, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct config_job job = weekly(!cases[i].no_catch_up);
		const struct drilldue_history history = {at(cases[i].since), at(cases[i].last),
		                                         at(cases[i].good), cases[i].failures};
		struct drilldue due;

		drilldue_look(&job, &history, at(cases[i].now), &due);
		if (!CHECK_EQ_INT(due.next_s, at(cases[i].next)) ||
		    !CHECK_EQ_INT(due.is_due, cases[i].is_due) ||
		    !CHECK_EQ_INT(due.is_overdue, cases[i].is_overdue))
			(void) fprintf(stderr, "  %s\n", cases[i].what);
	}
}

/* --- which snapshot --- */

/* The newest in a target that is signed; what anyone may have put there is passed over. */
static void test_pick(void)
{
	const struct trust trust = {.n = 0};
	const struct config_target target = {.prefix = (char[]){""}, .trust = &trust};
	const struct config_job job = {.name = (char[]){"a"}};
	AUTO(inventory_free) struct inventory *there = inventory_new(&target, "a");
	AUTO(signature_key_free) struct signature_key *key = NULL;

	scratch_enter();
	CHECK_EQ_INT(signature_key_load_or_make("key", &key), 0);
	scratch_leave();
	for (int64_t revision = 1; revision <= 3; revision++) {
		AUTO(catalog_entry_free)
		struct catalog_entry *e = entries_new("a", 7, 1000 * revision, revision);

		if (revision < 3)
			trust_sign(e, key);
		entries_store(there, &target, e);
	}
	inventory_finish(there);
	if (CHECK(drillpick_there(&job, there) != NULL))
		CHECK_EQ_INT(drillpick_there(&job, there)->revision, 2);
	CHECK(drillpick_there(&(struct config_job){.encrypted = true}, there) == NULL);
	CHECK_EQ_INT(drillpick_here(&job, inventory_entries(there), 3, NULL)->revision, 3);
}

/* --- remembered --- */

static void test_state(void)
{
	struct drillstate s = {.since_s = 1000}, again;
	json_t *result = json_pack("{s:{s:i}}", "phases", "restore", 5);
	AUTO(free) char *text = NULL;

	drillstate_add(&s, 2000, "a", 17, "START", "etcd ended", result);
	drillstate_add(&s, 3000, "b", 18, "SYSTEM", "killed", NULL);
	CHECK(!s.last_ok && s.failures == 2 && s.good_s == 0 && s.result == NULL);
	CHECK_EQ_STR(s.reason, "killed");
	drillstate_add(&s, 4000, "c", 19, "", "", result);
	CHECK(s.last_ok && s.failures == 0 && s.good_s == 4000);
	CHECK_EQ_STR(s.good_id, "c");
	drillstate_add(&s, 5000, "d", 20, "DIFFERS", "hash is 1", result);
	CHECK(!s.last_ok && s.failures == 1 && s.good_s == 4000 && s.last_s == 5000);
	json_decref(result);

	text = drillstate_print(&s);
	CHECK_EQ_INT(drillstate_parse(text, strlen(text), &again), 0);
	CHECK(again.since_s == 1000 && again.last_s == 5000 && again.good_s == 4000);
	CHECK(!again.last_ok && again.failures == 1 && again.last_took_ms == 20);
	CHECK_EQ_STR(again.last_id, "d");
	CHECK_EQ_STR(again.good_id, "c");
	CHECK_EQ_STR(again.code, "DIFFERS");
	CHECK_EQ_STR(again.reason, "hash is 1");
	CHECK(json_equal(again.result, s.result));
	drillstate_fini(&again);
	drillstate_fini(&s);
}

static void test_state_hostile(void)
{
	static const struct {
		const char *text;
		int r;
	} cases[] = {
	    {"{\"version\":1}", 0},
	    {"{\"version\":1,\"since\":null,\"result\":null,\"more\":[]}", 0},
	    {"", -EINVAL},
	    {"[]", -EINVAL},
	    {"{}", -EINVAL},
	    {"{\"version\":2}", -EINVAL},
	    {"{\"version\":1,\"version\":1}", -EINVAL},
	    {"{\"version\":1,\"since\":7}", -EINVAL},
	    {"{\"version\":1,\"last\":\"yesterday\"}", -EINVAL},
	    {"{\"version\":1,\"good\":\"1969-12-31T00:00:00Z\"}", -EINVAL},
	    {"{\"version\":1,\"last_id\":[]}", -EINVAL},
	    {"{\"version\":1,\"reason\":\"a\\u0000b\"}", -EINVAL},
	    {"{\"version\":1,\"code\":\"0123456789012345678901234567890123\"}", -EINVAL},
	    {"{\"version\":1,\"failures\":-1}", -EINVAL},
	    {"{\"version\":1,\"failures\":5000000000}", -EINVAL},
	    {"{\"version\":1,\"last_took_ms\":\"1\"}", -EINVAL},
	    {"{\"version\":1,\"result\":7}", -EINVAL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct drillstate s = {.since_s = 42};

		if (!CHECK_EQ_INT(drillstate_parse(cases[i].text, strlen(cases[i].text), &s), cases[i].r) ||
		    !CHECK_EQ_INT(s.since_s, cases[i].r < 0 ? 42 : 0))
			(void) fprintf(stderr, "  %s\n", cases[i].text);
		drillstate_fini(&s);
	}
}

/* --- told --- */

static bool is_true(const json_t *json, const char *key)
{
	return json_is_true(json_object_get(json, key));
}

static void test_info(void)
{
	struct drillstate known = {.since_s = 1000};
	struct drillinfo info = {.job = "a", .state = "idle", .phase = "", .known = &known};
	json_t *json = drillinfo_json(&info, 9000);
	json_t *result = json_pack("{s:[{s:s, s:b}], s:{s:i}, s:s}", "checks", "check", "tree", "ok", 1,
	                           "phases", "start", 1500, "secret", "x");
	AUTO(metrics_free) struct metrics *m = metrics_new();
	const char *text;

	CHECK(!is_true(json, "alarm") && json_is_null(json_object_get(json, "last")));
	CHECK(json_is_null(json_object_get(json, "next_due_s")));
	json_decref(json);

	drillstate_add(&known, 4000, "good", 2500, "", "", result);
	drillstate_add(&known, 5000, "bad", 2500, "START", "etcd ended", result);
	info.due = (struct drilldue){.next_s = 9100};
	info.n_passed = 3;
	info.n_failed = 1;
	json = drillinfo_json(&info, 9000);
	CHECK(is_true(json, "alarm") && is_true(json, "failed") && !is_true(json, "overdue"));
	CHECK_EQ_INT(json_integer_value(json_object_get(json, "last_good_age_s")), 5000);
	CHECK_EQ_INT(json_integer_value(json_object_get(json, "next_due_s")), 100);
	CHECK_EQ_STR(json_string_value(json_object_get(json, "reason")), "etcd ended");
	CHECK_EQ_INT(json_array_size(json_object_get(json, "checks")), 1);
	CHECK(json_object_get(json, "secret") == NULL);
	json_decref(json);
	json_decref(result);

	drillinfo_metrics(m, &info, 1);
	text = metrics_text(m, NULL);
	CHECK(
	    strstr(text, "fairlead_etcdwatch_drill_last_success_timestamp_seconds{job=\"a\"} 4000\n"));
	CHECK(strstr(text, "fairlead_etcdwatch_drill_alarm{job=\"a\"} 1\n"));
	CHECK(strstr(text, "fairlead_etcdwatch_drill_overdue{job=\"a\"} 0\n"));
	CHECK(strstr(text, "fairlead_etcdwatch_drill_last_duration_seconds{job=\"a\"} 2.5\n"));
	CHECK(strstr(text, "fairlead_etcdwatch_drill_phase_seconds{job=\"a\",phase=\"start\"} 1.5\n"));
	CHECK(strstr(text, "fairlead_etcdwatch_drills_total{job=\"a\",result=\"passed\"} 3\n"));

	known.last_ok = true;
	CHECK(!drillinfo_is_alarm(&info));
	info.due.is_overdue = true;
	CHECK(drillinfo_is_alarm(&info));
	drillstate_fini(&known);
}

/* --- words --- */

static void join(const struct drillwords *d, char *text, size_t size)
{
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; d->words.argv[i] != NULL; i++)
		len += (size_t) snprintf(text + len, size - len, "%s ", d->words.argv[i]);
}

static void test_words(void)
{
	struct config_job job = weekly(true);
	AUTO(catalog_entry_free) struct catalog_entry *entry = catalog_entry_new();
	const struct config_target target = {.endpoint = (char[]){"https://s3"},
	                                     .bucket = (char[]){"b"},
	                                     .prefix = (char[]){"p/"},
	                                     .region = (char[]){"r"}};
	struct drillwords words;
	char text[4096];

	free(entry->id);
	free(entry->file);
	entry->id = xstrdup("id");
	entry->file = xstrdup("id.db.zst");
	entry->cluster_id = 0xabc;

	job.directory = (char[]){"/d"};
	job.drill.directory = (char[]){"/d/drill"};
	job.reserve_bytes = 77;
	drillwords_init(&words, "/w", &job, entry);
	join(&words, text, sizeof(text));
	CHECK_EQ_STR(text, "/w drill --catalog /d/id.json --directory /d/drill --timeout 600 "
	                   "--reserve 77 -- /d/id.db.zst ");
	drillwords_fini(&words);
	job.drill.identity_file = (char[]){"/key"};
	job.drill.etcd = (char[]){"/etcd"};
	job.drill.etcdutl = (char[]){"/etcdutl"};
	drillwords_init(&words, "/w", &job, entry);
	join(&words, text, sizeof(text));
	CHECK(strstr(text, "--identity /key --etcd /etcd --etcdutl /etcdutl ") != NULL);
	drillwords_fini(&words);
	job.drill.source = &target;
	drillwords_init(&words, "/w", &job, entry);
	join(&words, text, sizeof(text));
	CHECK(strstr(text, "/w drill --entry {") == text && strstr(text, "--catalog") == NULL);
	CHECK(strstr(text, " --endpoint https://s3 --bucket b --region r --virtual-host ") != NULL);
	CHECK(strstr(text, " -- p/0000000000000abc/id.db.zst ") != NULL);
	drillwords_fini(&words);
}

int main(void)
{
	CHECK_EQ_INT(zone_load(NULL, "UTC", &utc), 0);
	test_due();
	test_pick();
	test_state();
	test_state_hostile();
	test_info();
	test_words();
	zone_free(utc);
	return check_result();
}
