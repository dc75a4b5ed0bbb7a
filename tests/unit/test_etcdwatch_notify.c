/* SPDX-License-Identifier: Apache-2.0 */
/* What is told to a webhook, in which order and how often: the queue, the delays, the messages, and
 * the whole with a worker that is a script. */
#include "etcdwatch/notify/notify.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/fileio.h"
#include "base/mem.h"
#include "etcdwatch/notify/notifyqueue.h"
#include "tests/unit/check.h"
#include "tests/unit/scratch.h"
#include "tests/unit/turn.h"

/* --- the queue --- */

/* Each letter is a message about itself; of two equal ones the later has another id. */
static void add(struct notifyqueue *q, const char *abouts)
{
	for (const char *p = abouts; *p != '\0'; p++)
		notifyqueue_add(q, "id", *p == '-' ? "" : (char[]){*p, '\0'}, "{}", 1);
}

static void check_order(struct notifyqueue *q, const char *want)
{
	char got[64];
	size_t n = 0;

	for (const struct notifyqueue_item *item = notifyqueue_take(q);
	     item != NULL && n < sizeof(got) - 1; item = notifyqueue_take(q)) {
		got[n++] = item->about[0] != '\0' ? item->about[0] : '-';
		notifyqueue_drop(q);
	}
	got[n] = '\0';
	CHECK_EQ_STR(got, want);
}

static void test_queue_collapses(void)
{
	AUTO(notifyqueue_free) struct notifyqueue *q = notifyqueue_new();

	add(q, "-abcab");
	CHECK_EQ_INT(notifyqueue_length(q), 4);
	CHECK_EQ_INT(notifyqueue_counts(q).superseded, 2);
	check_order(q, "-cab");
}

static void test_queue_under_way(void)
{
	AUTO(notifyqueue_free) struct notifyqueue *q = notifyqueue_new();

	/* Whether it has arrived is not known, so both count. */
	add(q, "ab");
	CHECK_EQ_STR(notifyqueue_take(q)->about, "a");
	add(q, "a");
	CHECK_EQ_INT(notifyqueue_length(q), 3);
	notifyqueue_drop(q);
	CHECK_EQ_INT(notifyqueue_counts(q).superseded, 0);
	check_order(q, "ba");

	/* It has not: the later one is enough. */
	add(q, "ab");
	(void) notifyqueue_take(q);
	add(q, "aa");
	notifyqueue_put_back(q);
	CHECK_EQ_INT(notifyqueue_counts(q).superseded, 2);
	check_order(q, "ba");

	/* What fails lets the others pass; what all others rest on does not. */
	add(q, "abc");
	(void) notifyqueue_take(q);
	notifyqueue_put_back(q);
	check_order(q, "bca");
	add(q, "-b");
	(void) notifyqueue_take(q);
	notifyqueue_put_back(q);
	check_order(q, "-b");
}

static void test_queue_is_bounded(void)
{
	AUTO(notifyqueue_free) struct notifyqueue *q = notifyqueue_new();

	for (unsigned i = 0; i < NOTIFYQUEUE_MAX + 10; i++) {
		AUTO(free) char *about = xasprintf("%u", i);

		notifyqueue_add(q, about, about, "{}", 100 + i);
		if (i == 0)
			(void) notifyqueue_take(q);
	}
	CHECK_EQ_INT(notifyqueue_length(q), NOTIFYQUEUE_MAX);
	CHECK_EQ_INT(notifyqueue_counts(q).overflowed, 10);
	CHECK_EQ_INT(notifyqueue_oldest_us(q), 100);
	notifyqueue_drop(q);
	CHECK_EQ_STR(notifyqueue_take(q)->about, "11");
	CHECK_EQ_INT(notifyqueue_oldest_us(q), 111);
}

static void add_at(struct notifyqueue *q, const char *about, int64_t now_us)
{
	notifyqueue_add(q, "id", about, "{}", now_us);
}

/* What goes up and down while nobody can be told of it has waited since the first time; only of
 * what has arrived it begins anew. */
static void test_queue_waits(void)
{
	AUTO(notifyqueue_free) struct notifyqueue *q = notifyqueue_new();

	add_at(q, "a", 100);
	add_at(q, "a", 200);
	add_at(q, "b", 210);
	add_at(q, "a", 300);
	CHECK_EQ_INT(notifyqueue_oldest_us(q), 100);
	CHECK_EQ_STR(notifyqueue_take(q)->about, "b");
	notifyqueue_drop(q);
	CHECK_EQ_INT(notifyqueue_oldest_us(q), 100);

	/* A later one while it is under way: it does not arrive, the later one does. */
	CHECK_EQ_INT(notifyqueue_take(q)->added_us, 300);
	add_at(q, "c", 400);
	add_at(q, "a", 410);
	notifyqueue_put_back(q);
	CHECK_EQ_INT(notifyqueue_length(q), 2);
	CHECK_EQ_INT(notifyqueue_oldest_us(q), 100);

	/* It does. */
	CHECK_EQ_STR(notifyqueue_take(q)->about, "c");
	notifyqueue_drop(q);
	CHECK_EQ_STR(notifyqueue_take(q)->about, "a");
	add_at(q, "a", 500);
	CHECK_EQ_INT(notifyqueue_oldest_us(q), 100);
	notifyqueue_drop(q);
	CHECK_EQ_INT(notifyqueue_oldest_us(q), 500);
}

/* --- delays --- */

static void test_delays(void)
{
	static const struct {
		unsigned n_failed;
		int64_t max_s, asked_s;
		uint32_t random;
		int64_t want_ms;
	} cases[] = {
	    {1, 300, 0, 0, 1000},
	    {1, 300, 0, UINT32_MAX, 2000},
	    {2, 300, 0, UINT32_MAX, 4000},
	    {8, 300, 0, UINT32_MAX, 256000},
	    {9, 300, 0, UINT32_MAX, 300000},
	    {UINT32_MAX, 300, 0, UINT32_MAX, 300000},
	    {3, 1, 0, UINT32_MAX, 1000},
	    {1, 300, 30, UINT32_MAX, 30000},
	    {9, 300, 30, UINT32_MAX, 300000},
	    {1, 1, 1000000, 0, 3600000},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_EQ_INT(notifydelay_us(cases[i].n_failed, cases[i].max_s * US_PER_S,
		                            cases[i].asked_s * US_PER_S, cases[i].random),
		             cases[i].want_ms * US_PER_MS);
}

/* --- messages --- */

static struct judge_finding finding_of(enum rules_id rule, uint64_t number, const char *subject)
{
	struct judge_finding f = {.rule = &rules[rule], .number = number, .since_us = 40 * US_PER_S};

	(void) snprintf(f.subject, sizeof(f.subject), "%s", subject);
	(void) snprintf(f.sentence, sizeof(f.sentence), "it \"is\" so");
	return f;
}

static void check_message(char *text, const char *want)
{
	CHECK_EQ_STR(text, want);
	free(text);
}

static void test_messages(void)
{
	struct notifymessage_from from = {
	    .node = "n1", .cluster_id = 0xcafe, .now_us = 100 * US_PER_S, .wall_s = 1000000};
	struct judge_finding f = finding_of(RULE_NO_SPACE, 7, "n3");

	check_message(
	    notifymessage_finding(&from, &f, true),
	    "{\"type\":\"finding.raised\",\"timestamp\":\"1970-01-12T13:46:40Z\",\"data\":{"
	    "\"node\":\"n1\",\"cluster_id\":\"cafe\",\"id\":\"no-space\",\"severity\":\"critical\","
	    "\"subject\":\"n3\",\"since\":\"1970-01-12T13:45:40Z\",\"sentence\":\"it \\\"is\\\" so\","
	    "\"to_do\":\"etcd takes no writes. 'fairlead etcd recover-space' compacts, defragments "
	    "and disarms the alarm.\"}}");
	from.cluster_id = 0;
	check_message(notifymessage_started(&from),
	              "{\"type\":\"watchdog.started\",\"timestamp\":\"1970-01-12T13:46:40Z\","
	              "\"data\":{\"node\":\"n1\",\"cluster_id\":null}}");
	check_message(notifymessage_test(&from),
	              "{\"type\":\"test\",\"timestamp\":\"1970-01-12T13:46:40Z\","
	              "\"data\":{\"node\":\"n1\",\"cluster_id\":null}}");
}

/* --- the whole --- */

struct world {
	char *worker, *said, *got;
	struct config_notify config;
	struct notify *notify;
};

/* A worker that keeps what it is told and says what stands in `said`. */
static void begin(struct world *w)
{
	AUTO(free) char *script = NULL;

	scratch_enter();
	w->worker = xasprintf("%s/worker", scratch_dir);
	w->said = xasprintf("%s/said", scratch_dir);
	w->got = xasprintf("%s/got", scratch_dir);
	script = xasprintf("#!/bin/sh\n{ cat; echo; } >>'%s'\ncat '%s'\ngrep -q 'ok.:true' '%s'\n",
	                   w->got, w->said, w->said);
	CHECK_EQ_INT(file_write_atomic(w->worker, script, strlen(script), 0700, FILE_VOLATILE), 0);
	w->config = (struct config_notify){
	    .url = xstrdup("https://h.example:8/a?secret"),
	    .timeout_us = 20 * US_PER_S,
	    .retry_max_us = 20 * US_PER_MS,
	    .give_up_after_us = 86400 * US_PER_S,
	};
	w->notify = notify_new(
	    &(struct notify_options){ev_default_loop(0), &w->config, w->worker, "n1", "abc"});
}

static void end(struct world *w)
{
	notify_free(w->notify);
	free(w->config.url);
	free(w->worker);
	free(w->said);
	free(w->got);
	scratch_leave();
}

static void worker_says(const struct world *w, const char *line)
{
	CHECK_EQ_INT(file_write_atomic(w->said, line, strlen(line), 0600, FILE_VOLATILE), 0);
}

static struct notifyreport report_of(const struct world *w)
{
	struct notifyreport report;

	notify_fill_report(w->notify, &report);
	return report;
}

static struct notifyreport settle(const struct world *w, uint64_t n_attempts)
{
	int64_t until_us = mono_now_us() + 60 * US_PER_S;
	struct notifyreport r = report_of(w);

	while (r.delivered + r.failed + r.refused < n_attempts && mono_now_us() < until_us) {
		turn_once(ev_default_loop(0));
		r = report_of(w);
	}
	CHECK(r.delivered + r.failed + r.refused >= n_attempts);
	return r;
}

static void find(struct world *w, enum rules_id rule, bool raised)
{
	struct judge_finding f = finding_of(rule, 7, "n3");

	notify_finding(w->notify, &f, raised);
}

static void look(struct world *w)
{
	AUTO(free) struct observation *o = NEW0(struct observation);

	o->n_members = 1;
	o->members[0].answer = OBSERVED_GOOD;
	o->members[0].cluster_id = 0xbeef;
	notify_round(w->notify, o);
}

/* How often the worker was told something with that in it. */
static unsigned n_told(const struct world *w, const char *what)
{
	AUTO(free) char *text = NULL;
	unsigned n = 0;
	size_t len;

	if (file_read(w->got, 1 << 20, &text, &len) < 0)
		return 0;
	for (const char *p = strstr(text, what); p != NULL; p = strstr(p + 1, what))
		n++;
	return n;
}

static void test_tells(void)
{
	struct world w;
	struct notifyreport r;

	begin(&w);
	CHECK_EQ_STR(report_of(&w).to, "https://h.example:8");
	worker_says(&w, "{\"ok\":true,\"status\":204}\n");
	look(&w);
	look(&w);
	find(&w, RULE_NO_SPACE, true);
	CHECK_EQ_INT(report_of(&w).n_queued, 2);
	r = settle(&w, 2);
	look(&w);
	CHECK_EQ_INT(report_of(&w).n_queued, 0);
	CHECK_EQ_INT(r.delivered, 2);
	CHECK_EQ_INT(r.n_queued, 0);
	CHECK_EQ_STR(r.state, "idle");
	CHECK_EQ_INT(n_told(&w, "watchdog.started"), 1);
	CHECK_EQ_INT(n_told(&w, "finding.raised"), 1);
	CHECK_EQ_INT(n_told(&w, "\\\"cluster_id\\\":\\\"beef\\\""), 2);
	CHECK_EQ_INT(n_told(&w, "\"url\":\"https://h.example:8/a?secret\""), 2);
	CHECK_EQ_INT(n_told(&w, "\"id\":\"msg_abc_2\""), 1);
	end(&w);
}

static void test_tries_again(void)
{
	struct world w;
	struct notifyreport r;

	begin(&w);
	worker_says(&w, "{\"ok\":false,\"error\":\"WEBHOOK_FAILED\",\"reason\":\"not now\"}\n");
	find(&w, RULE_NO_SPACE, true);
	r = settle(&w, 3);
	CHECK_EQ_INT(r.delivered, 0);
	CHECK_EQ_STR(r.error, "not now");
	CHECK_EQ_INT(r.n_queued, 1);
	/* It is over, and the receiver has heard of it at most. */
	find(&w, RULE_NO_SPACE, false);
	worker_says(&w, "{\"ok\":true,\"status\":200}\n");
	while (report_of(&w).n_queued > 0)
		r = settle(&w, r.delivered + r.failed + 1);
	r = report_of(&w);
	CHECK_EQ_STR(r.error, "");
	CHECK_EQ_INT(r.refused, 0);
	CHECK_EQ_INT(r.delivered + r.queue.superseded, 2);
	CHECK(n_told(&w, "finding.raised") >= 3);
	CHECK(n_told(&w, "\"id\":\"msg_abc_1\"") >= 3);
	CHECK_EQ_INT(n_told(&w, "finding.cleared"), 1);
	end(&w);
}

static void test_gives_up(void)
{
	struct world w;
	struct notifyreport r;

	begin(&w);
	worker_says(&w, "{\"ok\":false,\"error\":\"WEBHOOK_REFUSED\",\"reason\":\"no\","
	                "\"status\":400}\n");
	find(&w, RULE_NO_SPACE, true);
	find(&w, RULE_CORRUPT, true);
	r = settle(&w, 2);
	CHECK_EQ_INT(r.refused, 2);
	CHECK_EQ_INT(r.n_queued, 0);
	CHECK_EQ_STR(r.error, "no");
	/* Too old with its first failure. */
	w.config.give_up_after_us = 0;
	worker_says(&w, "{\"ok\":false,\"error\":\"WEBHOOK_FAILED\",\"reason\":\"not now\"}\n");
	find(&w, RULE_NO_SPACE, false);
	r = settle(&w, 3);
	CHECK_EQ_INT(r.given_up, 1);
	CHECK_EQ_INT(r.n_queued, 0);
	end(&w);
}

int main(void)
{
	test_queue_collapses();
	test_queue_under_way();
	test_queue_is_bounded();
	test_queue_waits();
	test_delays();
	test_messages();
	test_tells();
	test_tries_again();
	test_gives_up();
	return check_result();
}
