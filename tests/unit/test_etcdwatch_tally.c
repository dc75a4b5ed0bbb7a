/* SPDX-License-Identifier: Apache-2.0 */
/* What the metrics tell of what was done to the cluster, and of how full it becomes. */
#include "etcdwatch/steer/tally.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/health/healthreport.h"
#include "etcdwatch/report.h"
#include "tests/unit/check.h"

#define MIB INT64_C(1048576)
#define MINUTE_US (60 * US_PER_S)

static struct step defragment(uint64_t member, const char *name, int64_t db_bytes)
{
	struct step step = {.kind = STEP_DEFRAGMENT, .member = member, .db_bytes = db_bytes};

	(void) snprintf(step.name, sizeof(step.name), "%s", name);
	return step;
}

static void has_line(const struct metrics *m, const char *line)
{
	AUTO(free) char *whole = xasprintf("\n%s\n", line);

	if (!CHECK(strstr(metrics_text(m, NULL), whole) != NULL))
		(void) fprintf(stderr, "  no line '%s' in\n%s\n", line, metrics_text(m, NULL));
}

static void test_steps(void)
{
	static struct tally t;
	AUTO(metrics_free) struct metrics *m = metrics_new();
	struct step of_n1 = defragment(1, "n1", 100 * MIB), of_n2 = defragment(2, "n2", 10 * MIB);
	const struct step moved = {.kind = STEP_MOVE_LEADER};

	tally_step(&t, &of_n1, &(struct tally_cost){2 * US_PER_S, US_PER_S / 2, -1, 40 * MIB, 1000});
	/* It has grown meanwhile: nothing was gained. */
	tally_step(&t, &of_n2,
	           &(struct tally_cost){US_PER_S, US_PER_S / 4, US_PER_S / 8, 11 * MIB, 1001});
	tally_step(&t, &of_n1, &(struct tally_cost){US_PER_S, US_PER_S, 0, 99 * MIB, 1002});
	tally_step(&t, &of_n2, NULL);
	tally_step(&t, &moved, &(struct tally_cost){.took_us = 77 * US_PER_S, .db_bytes = 5});
	tally_upkeep(&t, UPKEEP_DEFRAG, TALLY_REFUSED);
	tally_step(NULL, &moved, NULL);
	tally_upkeep(NULL, UPKEEP_DEFRAG, TALLY_DONE);
	tally_metrics(m, &t);
	has_line(m, "fairlead_etcdwatch_steps_total{step=\"defragment\",result=\"done\"} 3");
	has_line(m, "fairlead_etcdwatch_steps_total{step=\"defragment\",result=\"failed\"} 1");
	has_line(m, "fairlead_etcdwatch_steps_total{step=\"move-leader\",result=\"done\"} 1");
	has_line(m, "fairlead_etcdwatch_steps_total{step=\"compact\",result=\"done\"} 0");
	has_line(m, "fairlead_etcdwatch_upkeep_total{what=\"defrag\",result=\"refused\"} 1");
	has_line(m, "fairlead_etcdwatch_upkeep_total{what=\"recover-space\",result=\"done\"} 0");
	has_line(m, "fairlead_etcdwatch_defrag_seconds_total 4");
	has_line(m, "fairlead_etcdwatch_defrag_freed_bytes_total 63963136");
	has_line(m, "fairlead_etcdwatch_defrag_stall_seconds_total{of=\"member\"} 1.75");
	has_line(m, "fairlead_etcdwatch_defrag_stall_seconds_total{of=\"leader\"} 0.125");
	has_line(m, "fairlead_etcdwatch_defrag_last_stall_seconds{member=\"n1\"} 1");
	has_line(m, "fairlead_etcdwatch_defrag_last_timestamp_seconds{member=\"n2\"} 1001");
}

/* Members come and go; the one that was last done longest ago makes room. */
static void test_many_members(void)
{
	static struct tally t;

	for (unsigned i = 0; i < TALLY_MEMBERS_MAX + 3; i++) {
		AUTO(free) char *name = xasprintf("n%u", i + 1);
		struct step step = defragment(i + 1, name, MIB);

		tally_step(&t, &step, &(struct tally_cost){.at_s = 100 + i});
	}
	CHECK_EQ_INT(t.n_defrags, TALLY_MEMBERS_MAX);
	for (size_t i = 0; i < t.n_defrags; i++)
		CHECK(t.defrags[i].at_s >= 103);
}

/* One that was replaced, or has another name now: no series may be there twice. */
static void test_same_name(void)
{
	static struct tally t;
	AUTO(metrics_free) struct metrics *m = metrics_new();
	const struct step steps[] = {defragment(1, "n1", MIB), defragment(2, "n2", MIB),
	                             defragment(77, "n1", MIB), defragment(2, "n1", MIB)};

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		tally_step(&t, &steps[i], &(struct tally_cost){.at_s = 1000 + (int64_t) i});
	tally_metrics(m, &t);
	has_line(m, "fairlead_etcdwatch_defrag_last_timestamp_seconds{member=\"n1\"} 1003");
	has_line(m, "fairlead_etcdwatch_defrag_last_timestamp_seconds{member=\"n2\"} 1001");
	CHECK_EQ_INT(t.n_defrags, 2);
}

/* What is not compared on purpose is not told as not confirmed. */
static void test_compared(void)
{
	AUTO(metrics_free) struct metrics *m = metrics_new();
	const struct job_report reports[] = {
	    {.job = "daily", .compares = true, .error = "", .frozen = ""},
	    {.job = "local", .error = "", .frozen = ""},
	};

	report_metrics(m, reports, ARRAY_SIZE(reports));
	has_line(m, "fairlead_etcdwatch_last_good_compared{job=\"daily\"} 0");
	has_line(m, "fairlead_etcdwatch_last_good_timestamp_seconds{job=\"local\"} 0");
	CHECK(strstr(metrics_text(m, NULL), "last_good_compared{job=\"local\"}") == NULL);
}

/* --- the quota --- */

static void look(struct trend *t, struct observation *o, int64_t at_us, int64_t db_bytes)
{
	o->now_us = at_us;
	o->n_members = 2;
	o->members[0].id = 1;
	o->members[0].answer = OBSERVED_GOOD;
	o->members[0].db_bytes = db_bytes;
	o->members[0].quota_bytes = 1000 * MIB;
	(void) snprintf(o->members[0].name, sizeof(o->members[0].name), "n1");
	trend_add(t, o);
}

static void check_status(const struct healthreport *r, uint64_t member, const char *want)
{
	json_t *json = json_pack("{s:n}", "quota_bytes");
	AUTO(free) char *text = NULL;

	healthreport_add_runway(r, member, json);
	text = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	CHECK_EQ_STR(text, want);
}

/* Why a member does not answer is told at once, though it is no finding yet. */
static void test_silent(void)
{
	AUTO(free) struct observation *o = NEW0(struct observation);
	struct healthreport r = {.o = o, .n_rounds = 1};
	json_t *json;

	o->n_members = 3;
	o->members[0].answer = OBSERVED_GOOD;
	o->members[1].answer = o->members[2].answer = OBSERVED_BAD;
	o->members[2].id = 0xabc;
	(void) snprintf(o->members[1].name, sizeof(o->members[1].name), "n2");
	(void) snprintf(o->members[1].error, sizeof(o->members[1].error), "refused");
	o->members[1].denied = true;
	json = healthreport_summary_json(&r);
	if (CHECK_EQ_INT(json_array_size(json_object_get(json, "silent")), 2)) {
		AUTO(free) char *text = json_dumps(json_object_get(json, "silent"), JSON_COMPACT);

		CHECK_EQ_STR(text, "[{\"member\":\"n2\",\"denied\":true,\"error\":\"refused\"},"
		                   "{\"member\":\"abc\",\"denied\":false,\"error\":\"\"}]");
	}
	json_decref(json);
}

static void test_runway(void)
{
	AUTO(trend_free) struct trend *t = trend_new();
	AUTO(free) struct observation *o = NEW0(struct observation);
	AUTO(free) struct healthreport *r = NEW0(struct healthreport);
	AUTO(metrics_free) struct metrics *m = metrics_new();
	AUTO(metrics_free) struct metrics *still = metrics_new();
	double runway_s;

	*r = (struct healthreport){.o = o, .trend = t, .n_rounds = 1};
	look(t, o, 0, 100 * MIB);
	CHECK(!trend_runway(t, &o->members[0], &runway_s));
	check_status(r, 1,
	             "{\"quota_bytes\":1048576000,\"growth_bytes_per_hour\":null,"
	             "\"quota_runway_s\":null}");
	check_status(r, 7,
	             "{\"quota_bytes\":null,\"growth_bytes_per_hour\":null,"
	             "\"quota_runway_s\":null}");
	/* A MiB a minute, and 860 more to go. */
	for (int64_t minute = 5; minute <= 40; minute += 5)
		look(t, o, minute * MINUTE_US, (100 + minute) * MIB);
	CHECK(trend_runway(t, &o->members[0], &runway_s));
	CHECK_EQ_INT(llround(runway_s), 860 * 60);
	check_status(r, 1,
	             "{\"quota_bytes\":1048576000,\"growth_bytes_per_hour\":62914560,"
	             "\"quota_runway_s\":51600}");
	healthreport_metrics(m, r);
	CHECK(strstr(metrics_text(m, NULL), "comparisons_total{") == NULL);
	has_line(m, "fairlead_etcdwatch_member_quota_runway_seconds{member=\"n1\"} 51600");
	has_line(m, "fairlead_etcdwatch_member_quota_bytes{member=\"n1\"} 1048576000");
	has_line(m, "fairlead_etcdwatch_findings_raised_total{id=\"no-space\"} 0");

	/* It stays as it is. */
	trend_free(t);
	t = trend_new();
	r->trend = t;
	for (int64_t minute = 0; minute <= 40; minute += 5)
		look(t, o, minute * MINUTE_US, 100 * MIB);
	check_status(r, 1,
	             "{\"quota_bytes\":1048576000,\"growth_bytes_per_hour\":0,"
	             "\"quota_runway_s\":null}");
	r->compared.is_on = true;
	healthreport_metrics(still, r);
	has_line(still, "fairlead_etcdwatch_comparisons_total{result=\"same\"} 0");
	has_line(still, "fairlead_etcdwatch_member_quota_runway_seconds{member=\"n1\"} +Inf");
}

/* While one is replaced both are listed, and may have one name: then their ids are told. */
static void test_two_of_a_name(void)
{
	AUTO(trend_free) struct trend *t = trend_new();
	AUTO(free) struct observation *o = NEW0(struct observation);
	AUTO(free) struct healthreport *r = NEW0(struct healthreport);
	AUTO(metrics_free) struct metrics *m = metrics_new();
	static const char *const names[] = {"n1", "n2", "n1", ""};
	const struct judge_finding down = {.rule = &rules[RULE_MEMBER_DOWN], .subject = "n1"};
	const char *once;

	*r = (struct healthreport){.o = o, .trend = t, .n_rounds = 1};
	o->n_members = ARRAY_SIZE(names);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		o->members[i].id = 0xa0 + i;
		o->members[i].answer = OBSERVED_GOOD;
		(void) snprintf(o->members[i].name, sizeof(o->members[i].name), "%s", names[i]);
	}
	r->findings[0] = r->findings[1] = &down;
	r->n_findings = 2;
	o->files[0] = (struct observation_file){"/etc/fairlead/pki/probe.crt", 1800000000};
	o->n_files = 1;
	healthreport_metrics(m, r);
	has_line(m, "fairlead_etcdwatch_certificate_end_timestamp_seconds{file=\"/etc/fairlead/pki/"
	            "probe.crt\"} 1800000000");
	once = strstr(metrics_text(m, NULL), "{id=\"member-down\",severity=");
	CHECK(once != NULL && strstr(once + 1, "{id=\"member-down\",severity=") == NULL);
	has_line(m, "fairlead_etcdwatch_member_up{member=\"a0\"} 1");
	has_line(m, "fairlead_etcdwatch_member_up{member=\"n2\"} 1");
	has_line(m, "fairlead_etcdwatch_member_up{member=\"a2\"} 1");
	has_line(m, "fairlead_etcdwatch_member_up{member=\"a3\"} 1");
	CHECK(strstr(metrics_text(m, NULL), "{member=\"n1\"}") == NULL);
}

/* It was defragmented, is as large as before a quarter of an hour later, and stays so. */
static void test_refill(void)
{
	AUTO(trend_free) struct trend *t = trend_new();
	AUTO(free) struct observation *o = NEW0(struct observation);
	double growth, runway_s;

	look(t, o, 0, 500 * MIB);
	for (int64_t minute = 5; minute <= 300; minute += 5) {
		look(t, o, minute * MINUTE_US, 100 * MIB + MIN(minute - 5, 15) * 400 * MIB / 15);
		if (!CHECK(trend_runway(t, &o->members[0], &runway_s) == (minute >= 35)))
			(void) fprintf(stderr, "  after %d minutes\n", (int) minute);
		if (minute >= 50 && !CHECK(isinf(runway_s)))
			(void) fprintf(stderr, "  %.0f s after %d minutes\n", runway_s, (int) minute);
	}
	/* And what begins to grow after hours is told as slower than it is, not as nothing. */
	for (int64_t minute = 5; minute <= 30; minute += 5)
		look(t, o, (300 + minute) * MINUTE_US, (500 + minute) * MIB);
	CHECK(trend_growth(t, 1, &growth) && growth > 0 && growth < (double) MIB / 60);
}

int main(void)
{
	test_steps();
	test_many_members();
	test_same_name();
	test_compared();
	test_two_of_a_name();
	test_silent();
	test_runway();
	test_refill();
	return check_result();
}
