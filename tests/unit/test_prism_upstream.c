/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of upstreams: lists that change under its users, what evidence leads to, and the pace
 * of probes. The probe process is played by the test.
 */
#include "prism/upstream.h"

#include "tests/unit/fakechecker.h"
#include "tests/unit/patient.h"
#include "tests/unit/sockets.h"
#include "tests/unit/turn.h"

#define INTERVAL_MS 200
#define QUICK_MS 100
#define SUSPECT_MS 50
#define TIMEOUT_MS 100

static struct ev_loop *ev;
static struct config config;
static struct upstreams *set;

static struct endpoint nth(unsigned i)
{
	char text[ENDPOINT_TEXT_MAX];

	(void) snprintf(text, sizeof(text), "10.0.%u.%u:6443", i / 250, i % 250 + 1);
	return sockets_endpoint(text);
}

static void begin(void)
{
	config = fake_config();
	config.health.interval_us = INTERVAL_MS * US_PER_MS;
	config.health.quick_us = QUICK_MS * US_PER_MS;
	config.health.suspect_us = SUSPECT_MS * US_PER_MS;
	config.health.timeout_us = TIMEOUT_MS * US_PER_MS;
	n_fake_probes = 0;
	n_fake_forgotten = n_fake_usable = n_fake_unusable = n_fake_verified = n_fake_died = 0;
	CHECK_EQ_INT(upstreams_new(ev, &config, &fake_callbacks, NULL, &set), 0);
}

/* With one interval that is another one. */
static void begin_with_interval(int64_t interval_us)
{
	begin();
	upstreams_free(set);
	config.health.interval_us = interval_us;
	CHECK_EQ_INT(upstreams_new(ev, &config, &fake_callbacks, NULL, &set), 0);
}

static void end(void)
{
	upstreams_free(set);
	set = NULL;
}

/* "0 1d 2l": upstreams by number; d: discovered, l: the local one. */
static void set_list(const char *text)
{
	struct endpoints_merged list = {.n = 0};

	while (*text != '\0') {
		char *rest;
		struct endpoints_entry *e = &list.items[list.n++];

		e->endpoint = nth((unsigned) strtoul(text, &rest, 10));
		e->from = ENDPOINTS_FROM(*rest == 'd' ? ENDPOINTS_SLICES : ENDPOINTS_STATIC);
		e->local = *rest == 'l';
		rest += *rest == 'd' || *rest == 'l';
		text = *rest == ' ' ? rest + 1 : rest;
	}
	upstreams_set_list(set, &list);
}

static struct upstream *at(unsigned i)
{
	struct endpoint e = nth(i);

	return upstreams_find(set, &e);
}

/* Answers what was asked of upstream i last. */
static void answer_saying(unsigned i, enum judge_evidence evidence, const char *reason)
{
	struct endpoint e = nth(i);

	for (size_t k = n_fake_probes; k-- > 0;) {
		if (!endpoint_equal(&fake_probes[k].endpoint, &e))
			continue;
		upstreams_on_verdict(set, fake_probes[k].id, evidence, reason, 1000);
		return;
	}
	CHECK(false);
}

static void answer(unsigned i, enum judge_evidence evidence)
{
	answer_saying(i, evidence, "as the test says");
}

static size_t count_probes(unsigned i)
{
	struct endpoint e = nth(i);
	size_t n = 0;

	for (size_t k = 0; k < n_fake_probes; k++)
		n += endpoint_equal(&fake_probes[k].endpoint, &e);
	return n;
}

/* Each question is answered in the same way, as soon as it comes. */
static void answer_all_for(enum judge_evidence evidence, int64_t us)
{
	int64_t end_us = mono_now_us() + us;
	size_t answered = n_fake_probes;

	while (mono_now_us() < end_us) {
		turn_once(ev);
		for (; answered < n_fake_probes; answered++)
			upstreams_on_verdict(set, fake_probes[answered].id, evidence, "as always", 1000);
	}
}

/* --- lists --- */

static void test_lists(void)
{
	begin();
	CHECK_EQ_INT(upstreams_n(set), 0);
	CHECK(at(0) == NULL);
	set_list("0 1d 2l");
	CHECK_EQ_INT(upstreams_n(set), 3);
	CHECK_EQ_STR(at(0)->name, "10.0.0.1:6443");
	CHECK_EQ_INT(at(0)->judge.state, JUDGE_UNKNOWN);
	CHECK_EQ_INT(at(1)->judge.state, JUDGE_UNVERIFIED);
	CHECK(at(2)->local && !at(0)->local);
	/* What is known of one stays while lists change around it. */
	at(0)->judge.state = JUDGE_READY;
	at(0)->counts.connects = 5;
	set_list("0l 3");
	CHECK_EQ_INT(upstreams_n(set), 2);
	CHECK_EQ_INT(at(0)->judge.state, JUDGE_READY);
	CHECK_EQ_INT(at(0)->counts.connects, 5);
	CHECK(at(0)->local);
	CHECK(at(1) == NULL && at(2) == NULL);
	/* The operator's word is proof enough. */
	set_list("1d");
	CHECK_EQ_INT(at(1)->judge.state, JUDGE_UNVERIFIED);
	set_list("1");
	CHECK_EQ_INT(at(1)->judge.state, JUDGE_UNKNOWN);
	set_list("");
	CHECK_EQ_INT(upstreams_n(set), 0);
	end();
}

static void test_held_ones_stay(void)
{
	struct upstream *order[BALANCE_MAX], *zero;

	begin();
	set_list("0 1");
	zero = at(0);
	zero->judge.state = JUDGE_READY;
	upstreams_take(set, zero);
	CHECK_EQ_INT(upstreams_order(set, order), 2);
	CHECK_EQ_INT(at(0)->refs, 1);
	CHECK_EQ_INT(at(1)->refs, 1);
	set_list("2");
	CHECK_EQ_INT(upstreams_n(set), 3);
	CHECK_EQ_INT(zero->from, 0);
	upstreams_unref(set, order[0]);
	upstreams_unref(set, order[1]);
	/* One is carried still, and takes no new ones before those that are listed. */
	CHECK_EQ_INT(upstreams_n(set), 2);
	CHECK(at(0) == zero && at(1) == NULL);
	CHECK_EQ_INT(upstreams_order(set, order), 2);
	CHECK(order[0] == at(2) && order[1] == zero);
	upstreams_unref(set, order[0]);
	upstreams_unref(set, order[1]);
	/* It comes back as it was. */
	set_list("0 2");
	CHECK(at(0) == zero);
	CHECK_EQ_INT(zero->judge.state, JUDGE_READY);
	set_list("2");
	upstreams_release(set, zero);
	CHECK_EQ_INT(upstreams_n(set), 1);
	end();
}

static void test_too_many(void)
{
	struct endpoints_merged list = {.n = ENDPOINTS_MAX};
	struct upstream *order[BALANCE_MAX];

	begin();
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < ENDPOINTS_MAX; i++)
			list.items[i] = (struct endpoints_entry){
			    .endpoint = nth(round * ENDPOINTS_MAX + i),
			    .from = ENDPOINTS_FROM(ENDPOINTS_STATIC),
			};
		upstreams_set_list(set, &list);
		for (unsigned i = 0; round < 2 && i < ENDPOINTS_MAX; i++)
			upstreams_take(set, at(round * ENDPOINTS_MAX + i));
	}
	/* Those that carry something fill the table: the new ones have to wait. */
	CHECK_EQ_INT(upstreams_n(set), BALANCE_MAX);
	CHECK_EQ_INT(upstreams_order(set, order), BALANCE_MAX);
	for (size_t i = 0; i < BALANCE_MAX; i++)
		upstreams_unref(set, order[i]);
	for (unsigned i = 0; i < BALANCE_MAX; i++)
		upstreams_release(set, at(i));
	CHECK_EQ_INT(upstreams_n(set), 0);
	upstreams_set_list(set, &list);
	CHECK_EQ_INT(upstreams_n(set), ENDPOINTS_MAX);
	end();
}

/* --- what evidence leads to --- */

static void test_usable(void)
{
	begin();
	CHECK(!upstreams_are_usable(set));
	set_list("");
	CHECK_EQ_INT(n_fake_usable + n_fake_unusable, 0);
	/* Discovered, and nothing proved yet. */
	set_list("0d");
	CHECK_EQ_INT(n_fake_usable, 0);
	set_list("0d 1");
	CHECK_EQ_INT(n_fake_usable, 1);
	upstreams_tell(set, at(1), JUDGE_CONNECT_FAILED, "refused");
	CHECK_EQ_INT(n_fake_unusable, 1);
	upstreams_tell(set, at(1), JUDGE_CONNECT_FAILED, "refused");
	CHECK_EQ_INT(n_fake_unusable, 1);
	upstreams_set_checker(set, fake_checker);
	turn_for(ev, 20 * US_PER_MS);
	answer(0, JUDGE_PROBE_READY);
	CHECK_EQ_INT(n_fake_usable, 2);
	CHECK_EQ_INT(n_fake_verified, 1);
	set_list("1");
	CHECK_EQ_INT(n_fake_unusable, 2);
	/* The configured one need not be written down. */
	answer(1, JUDGE_PROBE_READY);
	CHECK_EQ_INT(n_fake_usable, 3);
	CHECK_EQ_INT(n_fake_verified, 1);
	end();
}

static void test_leaving(void)
{
	begin();
	set_list("0 1");
	CHECK(at(0)->leaving_since_us == MONO_NEVER);
	/* Nothing is known to be better. */
	CHECK_EQ_INT(upstreams_drain(set, "10.0.0.1:6443", true), 0);
	CHECK(at(0)->drained);
	CHECK(at(0)->leaving_since_us == MONO_NEVER);
	upstreams_set_checker(set, fake_checker);
	turn_for(ev, 20 * US_PER_MS);
	answer(1, JUDGE_PROBE_READY);
	CHECK(at(0)->leaving_since_us <= mono_now_us());
	CHECK(at(1)->leaving_since_us == MONO_NEVER);
	CHECK_EQ_INT(upstreams_drain(set, "10.0.0.1:6443", false), 0);
	CHECK(at(0)->leaving_since_us == MONO_NEVER);
	/* Bad ones are left, and removed ones. */
	answer(0, JUDGE_PROBE_NOT_READY);
	CHECK(at(0)->leaving_since_us <= mono_now_us());
	upstreams_take(set, at(0));
	set_list("1");
	CHECK(at(0)->leaving_since_us <= mono_now_us());
	/* As long as the better one is there. */
	upstreams_tell(set, at(1), JUDGE_CONNECT_FAILED, "refused");
	CHECK(at(0)->leaving_since_us == MONO_NEVER);
	CHECK_EQ_INT(upstreams_drain(set, "10.0.0.1:6443", true), -ENOENT);
	CHECK_EQ_INT(upstreams_drain(set, "10.9.9.9:6443", true), -ENOENT);
	end();
}

/* --- who is dead --- */

/* n upstreams that are ready, each with a connection, and a probe of each under way for longer than
 * half of the timeout. */
static void begin_ready(const char *list, unsigned n)
{
	begin_with_interval(600 * US_PER_S);
	set_list(list);
	upstreams_set_checker(set, fake_checker);
	turn_for(ev, 20 * US_PER_MS);
	for (unsigned i = 0; i < n; i++) {
		upstreams_take(set, at(i));
		answer(i, JUDGE_PROBE_READY);
	}
	turn_for(ev, (QUICK_MS + QUICK_MS / 10 + 20) * US_PER_MS);
	CHECK_EQ_INT(n_fake_probes, 2 * n);
	turn_for(ev, (TIMEOUT_MS / 2 + 10) * US_PER_MS);
}

static void end_ready(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		upstreams_release(set, at(i));
	end();
}

/* Dead is who does not answer while another one does; until it answers again. */
static void test_dead(void)
{
	static const enum judge_evidence unanswered[] = {JUDGE_PROBE_SILENT, JUDGE_PROBE_UNREACHED};

	for (size_t i = 0; i < ARRAY_SIZE(unanswered); i++) {
		begin_ready("0 1", 2);
		answer(1, JUDGE_PROBE_READY);
		CHECK(!at(0)->dead && n_fake_died == 0);
		answer(0, unanswered[i]);
		CHECK(at(0)->dead && !at(1)->dead);
		CHECK_EQ_INT(n_fake_died, 1);
		CHECK(at(0)->leaving_since_us <= mono_now_us());
		turn_for(ev, (SUSPECT_MS * 6 / 5 + 20) * US_PER_MS);
		answer(0, unanswered[i]);
		CHECK(at(0)->dead);
		CHECK_EQ_INT(n_fake_died, 1);
		/* It is asked no more quickly for a doubt, but for an answer to a client. */
		upstreams_doubt(set, at(0), mono_now_us());
		turn_for(ev, (SUSPECT_MS * 6 / 5 + 20) * US_PER_MS);
		CHECK_EQ_INT(count_probes(0), 3);
		upstreams_tell(set, at(0), JUDGE_ANSWERED, NULL);
		turn_for(ev, (SUSPECT_MS * 6 / 5 + 20) * US_PER_MS);
		CHECK_EQ_INT(count_probes(0), 4);
		answer(0, JUDGE_PROBE_NOT_READY);
		CHECK(!at(0)->dead);
		end_ready(2);
	}
}

/* An answer that comes after the silence may tell of the end of a fault that was shared: it takes a
 * further probe that fails. */
static void test_answered_afterwards(void)
{
	begin_ready("0 1", 2);
	answer(0, JUDGE_PROBE_SILENT);
	answer(1, JUDGE_PROBE_READY);
	CHECK(!at(0)->dead);
	turn_for(ev, 20 * US_PER_MS);
	CHECK_EQ_INT(count_probes(0), 3);
	answer(0, JUDGE_PROBE_READY);
	CHECK(!at(0)->dead && n_fake_died == 0);
	end_ready(2);

	begin_ready("0 1", 2);
	answer(0, JUDGE_PROBE_SILENT);
	answer(1, JUDGE_PROBE_READY);
	turn_for(ev, 20 * US_PER_MS);
	answer(0, JUDGE_PROBE_SILENT);
	CHECK(at(0)->dead);
	end_ready(2);
}

/* Another one is asked, when a probe has waited for half a timeout, whether it is this node that is
 * cut off; what it sent to clients is an answer as well. */
static void test_another_is_asked(void)
{
	begin_ready("0 1 2", 3);
	answer(1, JUDGE_PROBE_READY);
	answer(2, JUDGE_PROBE_READY);
	answer(0, JUDGE_PROBE_SILENT);
	CHECK(at(0)->dead);
	end_ready(3);

	begin_ready("0 1", 2);
	pulse_hear(&at(1)->pulse, true, 0, mono_now_us());
	answer(0, JUDGE_PROBE_SILENT);
	CHECK(at(0)->dead);
	end_ready(2);

	/* What came before the second request does not count. */
	begin();
	set_list("0 1");
	upstreams_set_checker(set, fake_checker);
	turn_for(ev, 20 * US_PER_MS);
	answer(1, JUDGE_PROBE_READY);
	upstreams_take(set, at(0));
	CHECK_EQ_INT(n_fake_probes, 2);
	turn_for(ev, (TIMEOUT_MS / 2 + 10) * US_PER_MS);
	CHECK_EQ_INT(count_probes(1), 2);
	answer(0, JUDGE_PROBE_SILENT);
	CHECK(!at(0)->dead);
	upstreams_release(set, at(0));
	end();
}

/* A handshake without an answer, or an answer that blames etcd: only when it goes on. */
static void test_failing(void)
{
	static const enum judge_evidence failing[] = {JUDGE_PROBE_STALLED, JUDGE_PROBE_NOT_READY};

	for (size_t i = 0; i < ARRAY_SIZE(failing); i++) {
		begin_ready("0 1", 2);
		for (int k = 0; k < 4 && !at(0)->dead; k++) {
			CHECK(k < 3);
			answer(1, JUDGE_PROBE_READY);
			answer_saying(0, failing[i], "readyz 500: etcd failed");
			CHECK(k > 0 || !at(0)->dead);
			turn_for(ev, US_PER_S);
		}
		CHECK(at(0)->dead);
		end_ready(2);
	}
}

/* When none answers, the fault is here or shared. */
static void test_all_look_hung(void)
{
	begin_ready("0 1 2", 3);
	for (unsigned i = 0; i < 3; i++)
		answer(i, JUDGE_PROBE_SILENT);
	for (unsigned i = 0; i < 3; i++) {
		CHECK_EQ_INT(at(i)->judge.state, JUDGE_HUNG);
		CHECK(!at(i)->dead && at(i)->leaving_since_us == MONO_NEVER);
	}
	CHECK_EQ_INT(n_fake_died, 0);
	end_ready(3);
}

/* One that sends something to any client since it was asked is overloaded. */
static void test_overloaded(void)
{
	begin_ready("0 1", 2);
	for (int i = 0; i < 5; i++) {
		pulse_hear(&at(0)->pulse, true, 0, mono_now_us());
		answer(0, JUDGE_PROBE_SILENT);
		answer(1, JUDGE_PROBE_READY);
		CHECK(!at(0)->dead && at(0)->leaving_since_us == MONO_NEVER);
		turn_for(ev, (QUICK_MS + 30) * US_PER_MS);
	}
	CHECK_EQ_INT(at(0)->judge.state, JUDGE_READY + 2);
	CHECK_EQ_INT(n_fake_died, 0);
	end_ready(2);
}

/* After one upstream's connections the next one's stay for a while. */
static void test_next_death_waits(void)
{
	begin_ready("0 1 2", 3);
	answer(1, JUDGE_PROBE_READY);
	answer(0, JUDGE_PROBE_SILENT);
	CHECK(at(0)->dead);
	pulse_hear(&at(1)->pulse, true, 0, mono_now_us());
	answer(2, JUDGE_PROBE_SILENT);
	CHECK_EQ_INT(at(2)->judge.state, JUDGE_HUNG);
	CHECK(!at(2)->dead);
	CHECK_EQ_INT(n_fake_died, 1);
	end_ready(3);
}

/* This machine stood still while the probe was under way: it is sent again, once. */
static void test_late_verdict(void)
{
	begin_ready("0 1", 2);
	turn_for(ev, 700 * US_PER_MS);
	pulse_hear(&at(1)->pulse, true, 0, mono_now_us());
	answer(0, JUDGE_PROBE_SILENT);
	CHECK_EQ_INT(at(0)->judge.state, JUDGE_READY);
	turn_for(ev, 20 * US_PER_MS);
	CHECK_EQ_INT(count_probes(0), 3);
	turn_for(ev, 700 * US_PER_MS);
	pulse_hear(&at(1)->pulse, true, 0, mono_now_us());
	answer(0, JUDGE_PROBE_SILENT);
	CHECK_EQ_INT(at(0)->judge.state, JUDGE_HUNG);
	CHECK(at(0)->dead);
	end_ready(2);
}

static void test_connect_times(void)
{
	static const int64_t took_us[] = {-5, 0, 100, 101, 250, 999999, 1000000, 1000001, 1 << 30};
	static const unsigned buckets[] = {0, 0, 0, 1, 1, 9, 9, 10, 10};
	uint64_t want[UPSTREAM_BUCKETS + 1] = {0};

	begin();
	set_list("0");
	for (size_t i = 0; i < ARRAY_SIZE(took_us); i++) {
		upstreams_tell_connected(set, at(0), took_us[i], 300);
		want[buckets[i]]++;
	}
	CHECK_EQ_INT(at(0)->counts.connects, ARRAY_SIZE(took_us));
	for (size_t i = 0; i <= UPSTREAM_BUCKETS; i++)
		CHECK_EQ_INT(at(0)->counts.connect_buckets[i], want[i]);
	/* How far away it is does not depend on how long we took to notice. */
	CHECK_EQ_INT(at(0)->rtt.smoothed_us, 300);
	end();
}

/* --- the pace of probes --- */

/* Never closer than at_least_ms, and the mean not above at_most_ms. */
static void expect_pace(unsigned i, int64_t at_least_ms, int64_t at_most_ms)
{
	struct endpoint e = nth(i);
	int64_t first_us = 0, last_us = 0;
	int64_t n = 0;

	for (size_t k = 0; k < n_fake_probes; k++) {
		if (!endpoint_equal(&fake_probes[k].endpoint, &e))
			continue;
		if (n == 0)
			first_us = fake_probes[k].at_us;
		else if (!CHECK(fake_probes[k].at_us - last_us >= at_least_ms * US_PER_MS))
			(void) fprintf(stderr, "  %lld us apart\n",
			               (long long) (fake_probes[k].at_us - last_us));
		last_us = fake_probes[k].at_us;
		n++;
	}
	if (CHECK(n >= 3) && !CHECK((last_us - first_us) / (n - 1) <= at_most_ms * US_PER_MS))
		(void) fprintf(stderr, "  mean %lld us\n", (long long) ((last_us - first_us) / (n - 1)));
}

static void test_steady_pace(void)
{
	begin();
	set_list("0 1 2 3 4");
	CHECK_EQ_INT(n_fake_probes, 0);
	upstreams_set_checker(set, fake_checker);
	/* All of them at once in the beginning, then each by its own jitter, upwards. */
	answer_all_for(JUDGE_PROBE_READY, 2000 * US_PER_MS);
	for (unsigned i = 0; i < 5; i++) {
		expect_pace(i, INTERVAL_MS - 1, INTERVAL_MS * 6 / 5 + 15);
		CHECK_EQ_INT(at(i)->counts.probes, count_probes(i));
	}
	end();
}

/* One that carries connections is asked quickly, from the first one on, and no longer than until
 * the last has ended. */
static void test_quick_pace(void)
{
	begin();
	set_list("0 1");
	upstreams_set_checker(set, fake_checker);
	answer_all_for(JUDGE_PROBE_READY, 20 * US_PER_MS);
	upstreams_take(set, at(0));
	upstreams_take(set, at(0));
	answer_all_for(JUDGE_PROBE_READY, 1500 * US_PER_MS);
	expect_pace(0, QUICK_MS - 1, QUICK_MS * 11 / 10 + 15);
	expect_pace(1, INTERVAL_MS - 1, INTERVAL_MS * 6 / 5 + 15);
	upstreams_release(set, at(0));
	upstreams_release(set, at(0));
	answer_all_for(JUDGE_PROBE_READY, (QUICK_MS + 20) * US_PER_MS);
	n_fake_probes = 0;
	answer_all_for(JUDGE_PROBE_READY, 1500 * US_PER_MS);
	expect_pace(0, INTERVAL_MS - 1, INTERVAL_MS * 6 / 5 + 15);
	end();
}

/* While it sends something to clients it is asked each interval, and soon when it falls silent. */
static void test_heard_pace(void)
{
	int64_t end_us;
	size_t heard;

	begin_with_interval(500 * US_PER_MS);
	set_list("0");
	upstreams_set_checker(set, fake_checker);
	upstreams_take(set, at(0));
	end_us = mono_now_us() + 2500 * US_PER_MS;
	while (mono_now_us() < end_us) {
		pulse_hear(&at(0)->pulse, true, 0, mono_now_us());
		answer_all_for(JUDGE_PROBE_READY, 5 * US_PER_MS);
	}
	expect_pace(0, 399, 515);
	heard = n_fake_probes;
	turn_for(ev, (QUICK_MS + 30) * US_PER_MS);
	CHECK_EQ_INT(n_fake_probes, heard + 1);
	upstreams_release(set, at(0));
	end();
}

/* A client that waits brings the probe forward; less so when another one was answered meanwhile. */
static void test_doubt(void)
{
	int64_t since_us;

	begin_with_interval(600 * US_PER_S);
	set_list("0");
	upstreams_set_checker(set, fake_checker);
	upstreams_take(set, at(0));
	answer_all_for(JUDGE_PROBE_READY, 20 * US_PER_MS);
	since_us = mono_now_us();
	pulse_hear(&at(0)->pulse, true, 0, since_us + 1);
	upstreams_doubt(set, at(0), since_us);
	CHECK(!pulse_is_suspected(&at(0)->pulse, since_us));
	/* But what others are sent puts the probe off no further. */
	pulse_hear(&at(0)->pulse, true, 0, since_us + 60 * US_PER_S);
	answer_all_for(JUDGE_PROBE_READY, (QUICK_MS + 30) * US_PER_MS);
	CHECK_EQ_INT(n_fake_probes, 2);
	/* A log or a watch is no answer. */
	pulse_hear(&at(0)->pulse, false, 0, since_us + 61 * US_PER_S);
	upstreams_doubt(set, at(0), since_us + 60 * US_PER_S);
	CHECK(pulse_is_suspected(&at(0)->pulse, mono_now_us()));
	answer_all_for(JUDGE_PROBE_READY, 5 * SUSPECT_MS * US_PER_MS);
	/* It goes on to be asked quickly for a while. */
	CHECK(n_fake_probes >= 5);
	upstreams_release(set, at(0));
	end();
}

/* Another program suspects one: it is asked soon, and is the last of its class meanwhile. */
static void test_suspected_by_another(void)
{
	struct upstream *order[BALANCE_MAX];

	begin_with_interval(600 * US_PER_S);
	set_list("0 1l 2");
	upstreams_set_checker(set, fake_checker);
	answer_all_for(JUDGE_PROBE_READY, 20 * US_PER_MS);
	CHECK_EQ_INT(upstreams_suspect(set, "10.0.0.9:6443", ""), -ENOENT);
	CHECK_EQ_INT(upstreams_suspect(set, "10.0.0.3:6443", "no answer"), 0);
	CHECK_EQ_INT(upstreams_suspect(set, "local", "no answer"), 0);
	CHECK_EQ_INT(upstreams_order(set, order), 3);
	CHECK(order[0] == at(0) && order[1] == at(1) && order[2] == at(2));
	for (size_t i = 0; i < 3; i++)
		upstreams_unref(set, order[i]);
	answer_all_for(JUDGE_PROBE_READY, (SUSPECT_MS * 6 / 5 + 30) * US_PER_MS);
	CHECK_EQ_INT(count_probes(0), 1);
	CHECK(count_probes(1) >= 2 && count_probes(2) >= 2);
	CHECK_EQ_INT(at(1)->judge.state, JUDGE_READY);
	end();
}

static void test_suspect_pace(void)
{
	begin();
	set_list("0");
	upstreams_set_checker(set, fake_checker);
	answer_all_for(JUDGE_PROBE_DOWN, 1000 * US_PER_MS);
	expect_pace(0, SUSPECT_MS - 1, SUSPECT_MS * 6 / 5 + 15);
	CHECK_EQ_INT(at(0)->counts.probe_failures, count_probes(0));
	end();
}

/* Answers as each of the two is told to, until the second was asked so often; a minute at most. */
static void answer_two_until(enum judge_evidence first, enum judge_evidence second, size_t n)
{
	int64_t end_us = mono_now_us() + 60 * US_PER_S;
	const struct endpoint e = nth(0);
	size_t answered = n_fake_probes;

	while (count_probes(1) < n && mono_now_us() < end_us) {
		for (; answered < n_fake_probes; answered++) {
			const struct fake_probe *asked = &fake_probes[answered];

			upstreams_on_verdict(set, asked->id,
			                     endpoint_equal(&asked->endpoint, &e) ? first : second, NULL, 1000);
		}
		turn_once(ev);
	}
	CHECK_EQ_INT(count_probes(1), n);
}

/* One that is down and not missed is asked again at some time; but at once when the last that
 * served falls, also after an hour of a probe each second. */
static void test_last_one_falls(void)
{
	static const struct judge_rules rules = {
	    .rise = 2, .interval_us = 3600 * US_PER_S, .suspect_us = SUSPECT_MS * US_PER_MS};

	begin();
	end();
	config.health.interval_us = 3600 * US_PER_S;
	CHECK_EQ_INT(upstreams_new(ev, &config, &fake_callbacks, NULL, &set), 0);
	n_fake_probes = 0;
	upstreams_set_checker(set, fake_checker);
	set_list("0 1");
	answer_two_until(JUDGE_PROBE_READY, JUDGE_PROBE_DOWN, 1);
	answer(0, JUDGE_PROBE_READY);
	answer(1, JUDGE_PROBE_DOWN);
	answer_two_until(JUDGE_PROBE_READY, JUDGE_PROBE_DOWN, 2);
	answer(1, JUDGE_PROBE_DOWN);
	for (int i = 0; i < 3600; i++)
		(void) judge_fold(&at(1)->judge, &rules, JUDGE_PROBE_DOWN, NULL, mono_now_us());
	upstreams_tell(set, at(0), JUDGE_CONNECT_FAILED, "refused");
	answer_two_until(JUDGE_PROBE_DOWN, JUDGE_PROBE_DOWN, 3);
	end();
}

/* Clients that see trouble bring the next probe forward, once, however many they are. */
static void test_clients_hasten(void)
{
	int64_t end_us;
	size_t answered;

	begin_with_interval(600 * US_PER_S);
	set_list("0");
	upstreams_set_checker(set, fake_checker);
	answer_all_for(JUDGE_PROBE_READY, 100 * US_PER_MS);
	CHECK_EQ_INT(n_fake_probes, 1);
	/* An answer to a client is no reason. */
	for (int i = 0; i < 100; i++)
		upstreams_tell(set, at(0), JUDGE_ANSWERED, NULL);
	answer_all_for(JUDGE_PROBE_READY, 100 * US_PER_MS);
	CHECK_EQ_INT(n_fake_probes, 1);
	n_fake_forgotten = 0;
	end_us = mono_now_us() + 1000 * US_PER_MS;
	answered = n_fake_probes;
	while (mono_now_us() < end_us) {
		upstreams_tell(set, at(0), JUDGE_CONNECT_SLOW, "slow");
		upstreams_tell(set, at(0), JUDGE_SILENT, "silent");
		turn_once(ev);
		for (; answered < n_fake_probes; answered++)
			upstreams_on_verdict(set, fake_probes[answered].id, JUDGE_PROBE_READY, NULL, 1000);
	}
	expect_pace(0, SUSPECT_MS - 1, SUSPECT_MS * 6 / 5 + 30);
	/* Each of them on a connection of its own, said once. */
	CHECK(n_fake_forgotten <= n_fake_probes);
	CHECK(n_fake_forgotten + 2 >= n_fake_probes);
	end();
}

/* One question at a time for each, however long the answer takes; and nobody hears a wrong one. */
static void test_one_question_at_a_time(void)
{
	uint64_t id;

	begin();
	set_list("0");
	upstreams_set_checker(set, fake_checker);
	turn_for(ev, 20 * US_PER_MS);
	CHECK_EQ_INT(n_fake_probes, 1);
	id = fake_probes[0].id;
	/* Another one is asked and answers, all the while. */
	set_list("0 1");
	answer_all_for(JUDGE_PROBE_READY, 3 * INTERVAL_MS * US_PER_MS);
	for (int i = 0; i < 10; i++)
		upstreams_tell(set, at(0), JUDGE_SILENT, "silent");
	answer_all_for(JUDGE_PROBE_READY, INTERVAL_MS * US_PER_MS);
	CHECK_EQ_INT(count_probes(0), 1);
	CHECK(count_probes(1) >= 3);
	upstreams_on_verdict(set, 0, JUDGE_PROBE_READY, NULL, 0);
	upstreams_on_verdict(set, id + 100, JUDGE_PROBE_READY, NULL, 0);
	CHECK_EQ_INT(at(0)->judge.state, JUDGE_HUNG);
	upstreams_on_verdict(set, id, JUDGE_PROBE_NOT_READY, "no", 0);
	CHECK_EQ_INT(at(0)->judge.state, JUDGE_NOT_READY);
	upstreams_on_verdict(set, id, JUDGE_PROBE_DOWN, NULL, 0);
	upstreams_on_verdict(set, 0, JUDGE_PROBE_DOWN, NULL, 0);
	CHECK_EQ_INT(at(0)->judge.state, JUDGE_NOT_READY);
	end();
}

static void test_the_probe_process_is_lost(void)
{
	unsigned iterations;

	begin();
	set_list("0 1");
	upstreams_set_checker(set, fake_checker);
	turn_for(ev, 20 * US_PER_MS);
	CHECK_EQ_INT(n_fake_probes, 2);
	/* Its answers never come: asked again, soon. */
	fake_is_gone = true;
	upstreams_on_checker_lost(set);
	iterations = ev_iteration(ev);
	turn_for(ev, 300 * US_PER_MS);
	CHECK_EQ_INT(n_fake_probes, 2);
	CHECK(ev_iteration(ev) - iterations < 100);
	for (int i = 0; i < 100; i++)
		upstreams_tell(set, at(0), JUDGE_CONNECT_FAILED, "refused");
	CHECK_EQ_INT(at(0)->counts.probes, 1);
	fake_is_gone = false;
	turn_for(ev, 2 * SUSPECT_MS * US_PER_MS);
	CHECK_EQ_INT(count_probes(0), 2);
	CHECK_EQ_INT(count_probes(1), 2);
	/* Another one takes its place, after none. */
	upstreams_set_checker(set, NULL);
	turn_for(ev, 2 * INTERVAL_MS * US_PER_MS);
	CHECK_EQ_INT(n_fake_probes, 4);
	upstreams_set_checker(set, fake_checker);
	turn_for(ev, 2 * SUSPECT_MS * US_PER_MS);
	CHECK_EQ_INT(n_fake_probes, 6);
	end();
}

static void test_who_is_probed(void)
{
	struct upstream *zero;

	begin();
	set_list("0 1");
	upstreams_set_checker(set, fake_checker);
	turn_for(ev, 20 * US_PER_MS);
	zero = at(0);
	upstreams_take(set, zero);
	set_list("1");
	/* Its kept connection can go, and nobody asks any more; the answer that comes is nobody's. */
	CHECK_EQ_INT(n_fake_forgotten, 1);
	answer(0, JUDGE_PROBE_UNTRUSTED);
	CHECK_EQ_INT(zero->judge.state, JUDGE_UNKNOWN);
	upstreams_tell(set, zero, JUDGE_CONNECT_FAILED, "refused");
	turn_for(ev, 2 * INTERVAL_MS * US_PER_MS);
	CHECK_EQ_INT(count_probes(0), 1);
	set_list("0 1");
	turn_for(ev, 20 * US_PER_MS);
	CHECK_EQ_INT(count_probes(0), 2);
	upstreams_release(set, zero);
	end();
}

/* --- what another process knew --- */

static void restore(unsigned i, enum judge_state state, bool drained)
{
	upstreams_restore(set, &(struct handover_upstream){
	                           .endpoint = nth(i),
	                           .state = state,
	                           .since_us = 1234567,
	                           .rtt_us = 30000,
	                           .drained = drained,
	                           .reason = "as it was",
	                       });
}

static void test_restored(void)
{
	begin();
	restore(0, JUDGE_READY, false);
	restore(1, JUDGE_NOT_READY, true);
	restore(2, JUDGE_READY, false);
	CHECK_EQ_INT(upstreams_n(set), 3);
	/* Before the first list a connection comes over, and ends: the others wait for theirs. */
	upstreams_take(set, at(0));
	upstreams_release(set, at(0));
	CHECK_EQ_INT(upstreams_n(set), 3);
	upstreams_take(set, at(2));
	/* A list may name what is discovered only: it was verified before. */
	set_list("0d 1 3");
	CHECK_EQ_INT(at(0)->judge.state, JUDGE_READY);
	CHECK_EQ_INT(at(0)->judge.since_us, 1234567);
	CHECK_EQ_STR(at(0)->judge.reason, "as it was");
	CHECK_EQ_INT(at(0)->rtt.smoothed_us, 30000);
	CHECK_EQ_INT(at(1)->judge.state, JUDGE_NOT_READY);
	CHECK(at(1)->drained && !at(0)->drained);
	CHECK_EQ_INT(at(3)->judge.state, JUDGE_UNKNOWN);
	/* What no list names goes, with its last connection. */
	CHECK_EQ_INT(upstreams_n(set), 4);
	upstreams_release(set, at(2));
	CHECK_EQ_INT(upstreams_n(set), 3);
	CHECK(at(2) == NULL);
	end();

	begin();
	restore(0, JUDGE_READY, false);
	set_list("1");
	CHECK_EQ_INT(upstreams_n(set), 1);
	end();
}

static void prepare(void)
{
	ev = ev_loop_new(EVFLAG_AUTO);
}

static void clean_up(void)
{
	ev_loop_destroy(ev);
}

int main(void)
{
	static const patient_fn tests[] = {
	    test_lists,
	    test_held_ones_stay,
	    test_too_many,
	    test_usable,
	    test_leaving,
	    test_dead,
	    test_answered_afterwards,
	    test_another_is_asked,
	    test_failing,
	    test_all_look_hung,
	    test_overloaded,
	    test_next_death_waits,
	    test_late_verdict,
	    test_connect_times,
	    test_steady_pace,
	    test_quick_pace,
	    test_heard_pace,
	    test_doubt,
	    test_suspected_by_another,
	    test_suspect_pace,
	    test_last_one_falls,
	    test_clients_hasten,
	    test_one_question_at_a_time,
	    test_the_probe_process_is_lost,
	    test_who_is_probed,
	    test_restored,
	};

	patiently(&(struct patient){.prepare = prepare, .finish = clean_up}, 3, tests,
	          ARRAY_SIZE(tests));
	upstreams_free(NULL);
	return check_result();
}
