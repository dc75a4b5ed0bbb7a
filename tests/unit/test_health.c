/* SPDX-License-Identifier: Apache-2.0 */
/* The health gate: its tables, and the probe loop against a real nginx that changes its mind. */
#include "vipd/health.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "tests/unit/check.h"
#include "tests/unit/nginx.h"
#include "tests/unit/turn.h"

static void test_accepts(void)
{
	static const struct {
		enum http_failure failure;
		int status;
		bool good;
	} cases[] = {
	    {HTTP_OK, 200, true},
	    {HTTP_OK, 204, true},
	    {HTTP_OK, 302, true},
	    {HTTP_OK, 400, true},
	    {HTTP_OK, 401, true},
	    {HTTP_OK, 403, true},
	    {HTTP_OK, 404, true},
	    {HTTP_OK, 429, true},
	    {HTTP_OK, 499, true},
	    {HTTP_OK, 500, false},
	    {HTTP_OK, 503, false},
	    {HTTP_OK, 101, false},
	    {HTTP_OK, 0, false},
	    {HTTP_OK, 600, false},
	    {HTTP_REFUSED, 0, false},
	    {HTTP_UNREACHED, 0, false},
	    {HTTP_TIMEOUT, 0, false},
	    {HTTP_TLS_PEER, 0, false},
	    {HTTP_TLS_OTHER, 0, false},
	    {HTTP_PROTOCOL, 0, false},
	    /* A failure is a failure, whatever the status says. */
	    {HTTP_PROTOCOL, 200, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_EQ_INT(
		    health_accepts(readyz_verdict(cases[i].failure, cases[i].status), false, false),
		    cases[i].good);
}

/* Answers at seconds of a clock, and what is unknown since when. */
static void test_unknown(void)
{
	static const struct {
		int64_t since_s;
		enum readyz_verdict verdict;
		int64_t want_s; /* at second 9 */
	} cases[] = {
	    {0, READYZ_ALIVE, 9},  {4, READYZ_ALIVE, 4},     {4, READYZ_READY, 0},
	    {4, READYZ_BUSY, 0},   {4, READYZ_NOT_READY, 0}, {0, READYZ_READY, 0},
	    {4, READYZ_DOWN, 4},   {4, READYZ_SILENT, 4},    {4, READYZ_UNTRUSTED, 4},
	    {4, READYZ_BROKEN, 4}, {0, READYZ_DOWN, 0},      {0, READYZ_BROKEN, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_EQ_INT(health_unknown_since(cases[i].since_s, cases[i].verdict, 9), cases[i].want_s);
}

static void test_second_hand(void)
{
	static const struct {
		enum health_state state;
		bool is_unknown, member_silent;
		enum health_state want;
	} cases[] = {
	    {HEALTH_GOOD, false, false, HEALTH_GOOD},
	    {HEALTH_GOOD, true, false, HEALTH_GOOD},
	    {HEALTH_GOOD, false, true, HEALTH_GOOD},
	    {HEALTH_GOOD, true, true, HEALTH_BAD},
	    {HEALTH_BAD, true, false, HEALTH_BAD},
	    {HEALTH_UNKNOWN, true, true, HEALTH_UNKNOWN},
	    {HEALTH_UNCHECKED, true, true, HEALTH_UNCHECKED},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_EQ_INT(
		    health_second_hand(cases[i].state, cases[i].is_unknown, cases[i].member_silent),
		    cases[i].want);
}

/* An API server that starts merely lives: one that has ended does not become good by that while
 * another node is ready. Any other does: it may refuse anonymous requests for ever. */
static void test_accepts_beside_ready_ones(void)
{
	static const struct {
		enum readyz_verdict verdict;
		bool is_gone, good;
	} cases[] = {
	    {READYZ_READY, false, true},      {READYZ_READY, true, true},
	    {READYZ_BUSY, false, true},       {READYZ_BUSY, true, true},
	    {READYZ_ALIVE, false, true},      {READYZ_ALIVE, true, false},
	    {READYZ_NOT_READY, false, false}, {READYZ_DOWN, false, false},
	    {READYZ_SILENT, false, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CHECK_EQ_INT(health_accepts(cases[i].verdict, cases[i].is_gone, true), cases[i].good);
		CHECK_EQ_INT(health_accepts(READYZ_ALIVE, cases[i].is_gone, false), true);
	}
}

/* A letter an answer: + good, - bad; and the state behind each: u, G, B. A capital C: it changed.
 */
static void test_fold(void)
{
	static const struct {
		unsigned rise, fall;
		const char *answers;
		const char *states;
	} cases[] = {
	    {2, 3, "++", "uG"},
	    {2, 3, "+-++", "uuuG"},
	    {2, 3, "---", "uuB"},
	    {2, 3, "--+---", "uuuuuB"},
	    {2, 3, "++--+---++", "uGGGGGGBBG"},
	    {2, 3, "---+-++", "uuBBBBG"},
	    {1, 1, "+-+-", "GBGB"},
	    {1, 3, "-+", "uG"},
	    {3, 1, "+-+++", "uBBBG"},
	    {2, 3, "+++++++", "uGGGGGG"},
	    {2, 3, "-------", "uuBBBBB"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct health_fold fold = {0};
		char last = 'u', states[16] = "";

		for (size_t k = 0; cases[i].answers[k] != '\0'; k++) {
			bool changed =
			    health_fold(&fold, cases[i].answers[k] == '+', cases[i].rise, cases[i].fall);

			states[k] = "uGB"[fold.state];
			CHECK_EQ_INT(changed, states[k] != last);
			last = states[k];
		}
		CHECK_EQ_STR(states, cases[i].states);
	}
}

/* --- the loop --- */

static struct ev_loop *ev;
static struct nginx server;
static char history[512]; /* "good(readyz 200) bad(...) " */
static struct health *free_on_change;
static bool others_are_ready;
static struct health_view last;
static char last_reason[512];

static void on_changed(const struct health_view *view, void *userdata)
{
	size_t len = strlen(history);
	enum health_state before = last.state;

	CHECK(userdata == history);
	CHECK(view->state == HEALTH_GOOD || !view->is_ready);
	CHECK(view->state == HEALTH_BAD || !view->is_gone);
	last = *view;
	(void) snprintf(last_reason, sizeof(last_reason), "%s", view->reason);
	if (view->state == before)
		return;
	(void) snprintf(history + len, sizeof(history) - len, "%s(%s) ", health_state_name(view->state),
	                view->reason);
	health_free(TAKE_PTR(free_on_change));
}

static bool on_others(void *userdata)
{
	CHECK(userdata == history);
	return others_are_ready;
}

static unsigned n_failed;

static void on_failed(const char *reason, void *userdata)
{
	CHECK(userdata == history && reason[0] != '\0');
	n_failed++;
}

static const struct health_callbacks callbacks = {
    .changed = on_changed,
    .others_are_ready = on_others,
    .failed = on_failed,
};

/* Until the history is this, and for five more probes in which it must stay so. */
static void expect(const char *want)
{
	(void) TURN_UNTIL(ev, strcmp(history, want) == 0);
	turn_for(ev, 300 * US_PER_MS);
	CHECK_EQ_STR(history, want);
	history[0] = '\0';
}

#define NOT_READY "location / { return 500 \"[+]ping ok\\n[-]etcd failed: reason withheld\\n\"; }"

static void restart(const char *directives)
{
	nginx_stop(&server);
	nginx_start(&server, directives);
}

static long probes_seen(void)
{
	AUTO(free) char *path = xasprintf("%s/probes.log", server.dir);
	AUTO(free) char *text = NULL;
	size_t len = 0;
	long n = 0;

	if (file_read(path, 1 << 20, &text, &len) < 0)
		return 0;
	for (size_t i = 0; i < len; i++)
		n += text[i] == '\n';
	return n;
}

static void test_loop(void)
{
	AUTO(free) char *url = xasprintf("https://127.0.0.1:%d/readyz", server.port);
	AUTO(free) char *ca_file = xasprintf("%s/ca.crt", server.dir);
	struct config_health config = {
	    .enabled = true,
	    .url = url,
	    .server_name = (char[]){"kubernetes"},
	    .ca_file = ca_file,
	    .interval_us = 60 * US_PER_MS,
	    .timeout_us = 10 * US_PER_S,
	    .rise = 2,
	    .fall = 3,
	};
	AUTO(health_free) struct health *health = NULL;
	int64_t start_us;
	long before, probes;

	/* Nobody listens yet. */
	last.state = HEALTH_UNKNOWN;
	CHECK_EQ_INT(health_new(ev, &config, &callbacks, history, &health), 0);
	CHECK_EQ_INT(health_state(health), HEALTH_UNKNOWN);
	CHECK_EQ_STR(history, "");
	expect("bad(connection refused) ");

	start_us = mono_now_us();
	nginx_start(&server, "location / { return 200 ok; access_log probes.log; }");
	expect("good(readyz 200) ");
	CHECK_EQ_INT(health_state(health), HEALTH_GOOD);

	/* An interval of 60 ms, give or take a tenth: 16.7 a second. */
	n_failed = 0;
	probes = 0;
	for (int second = 0; second < 20 && probes < 13; second++) {
		/* A machine that is busy makes one of them slow, and none fast. */
		before = probes_seen();
		start_us = mono_now_us();
		turn_for(ev, US_PER_S);
		probes = probes_seen() - before;
		if (!CHECK(probes <= (mono_now_us() - start_us) / (54 * US_PER_MS) + 1))
			(void) fprintf(stderr, "  %ld probes in a second\n", probes);
	}
	CHECK(probes >= 13);

	CHECK_EQ_INT(n_failed, 0);
	restart(NOT_READY);
	expect("bad(readyz 500: etcd failed) ");
	/* Each bad answer is told, also the first two, which changed nothing. */
	CHECK(n_failed >= 3);
	CHECK_EQ_STR(last_reason, "readyz 500: etcd failed");
	/* Still bad, for another reason: no change, but the reason is told. */
	nginx_stop(&server);
	expect("");
	CHECK_EQ_STR(last_reason, "connection refused");
	nginx_start(&server, "location / { return 403 no; }");
	expect("good(readyz 403: alive, readiness unknown) ");
}

static void test_silence_and_certificates(void)
{
	AUTO(free) char *ca_file = xasprintf("%s/ca.crt", server.dir);
	AUTO(free) char *url = NULL;
	struct config_health config = {
	    .enabled = true,
	    .server_name = (char[]){"kubernetes"},
	    .ca_file = ca_file,
	    .interval_us = 60 * US_PER_MS,
	    .timeout_us = 100 * US_PER_MS,
	    .rise = 1,
	    .fall = 2,
	};
	struct health *health = NULL;
	int port, listener;

	/* Accepts and stays silent. The callback frees the prober. */
	listener = nginx_listen(64, &port);
	url = xasprintf("https://127.0.0.1:%d/readyz", port);
	config.url = url;
	last.state = HEALTH_UNKNOWN;
	CHECK_EQ_INT(health_new(ev, &config, &callbacks, history, &health), 0);
	free_on_change = health;
	expect("bad(no answer in time) ");
	CHECK(free_on_change == NULL);
	(void) close(listener);

	restart("location / { return 200 ok; }");
	free(url);
	url = xasprintf("https://127.0.0.1:%d/readyz", server.port);
	config.url = url;
	config.timeout_us = 10 * US_PER_S;
	config.server_name = (char[]){"stranger"};
	last.state = HEALTH_UNKNOWN;
	CHECK_EQ_INT(health_new(ev, &config, &callbacks, history, &health), 0);
	expect(
	    "bad(wrong certificate: SSL: no alternative certificate subject name matches target host "
	    "name 'stranger') ");
	health_free(health);

	/* Freed with a probe under way: nothing comes. */
	last.state = HEALTH_UNKNOWN;
	CHECK_EQ_INT(health_new(ev, &config, &callbacks, history, &health), 0);
	turn_for(ev, 1000);
	health_free(health);
	expect("");

	/* A failure that does not change the state does not explain it either. */
	config.server_name = (char[]){"kubernetes"};
	config.fall = 1000;
	last.state = HEALTH_UNKNOWN;
	CHECK_EQ_INT(health_new(ev, &config, &callbacks, history, &health), 0);
	expect("good(readyz 200) ");
	restart(NOT_READY);
	expect("");
	CHECK_EQ_STR(last_reason, "readyz 200");
	health_free(health);
	config.fall = 2;
	nginx_stop(&server);

	config.url = (char[]){"https://not-an-address/"};
	last.state = HEALTH_UNKNOWN;
	CHECK_EQ_INT(health_new(ev, &config, &callbacks, history, &health), 0);
	expect("bad(cannot probe: Invalid argument) ");
	health_free(health);

	health_free(NULL);
}

/* The node's own pair of files is in use from the next probe on. */
static void test_own_certificate(void)
{
	AUTO(free) char *ca_file = xasprintf("%s/ca.crt", server.dir);
	AUTO(free) char *url = NULL;
	struct config_health config = {
	    .enabled = true,
	    .server_name = (char[]){"kubernetes"},
	    .ca_file = ca_file,
	    .client_directory = server.dir,
	    .interval_us = 60 * US_PER_MS,
	    .timeout_us = 10 * US_PER_S,
	    .rise = 1,
	    .fall = 2,
	};
	struct health *health = NULL;

	restart("location / { if ($ssl_client_s_dn != CN=fairlead-probe) { return 401; } "
	        "return 200 ok; }");
	url = xasprintf("https://127.0.0.1:%d/readyz", server.port);
	config.url = url;
	CHECK_EQ_INT(health_new(ev, &config, &callbacks, history, &health), 0);
	expect("good(readyz 401: alive, readiness unknown) ");
	nginx_make_cert(&server, "ca", "probe", "fairlead-probe");
	CHECK(TURN_UNTIL(ev, strcmp(last_reason, "readyz 200") == 0));
	/* As between the two writes of a renewal. */
	nginx_shell(&server, "cp other.key new.key && mv new.key probe.key");
	CHECK(TURN_UNTIL(ev, strncmp(last_reason, "readyz 401", 10) == 0));
	expect("");
	health_free(health);
	expect("");
	nginx_stop(&server);
}

/* vipd runs before kubeadm writes the CA. Only the default check waits for it; each probe looks for
 * the files that it needs. */
static void test_late_ca(void)
{
	AUTO(free) char *real = xasprintf("%s/ca.crt", server.dir);
	AUTO(free) char *late = xasprintf("%s/late.crt", server.dir);
	AUTO(free) char *unchecked = xasprintf("unchecked(%s: No such file or directory) ", late);
	AUTO(free) char *url = NULL;
	struct config_health config = {
	    .enabled = true,
	    .awaits_ca = true,
	    .server_name = (char[]){"kubernetes"},
	    .ca_file = late,
	    .interval_us = 60 * US_PER_MS,
	    .timeout_us = 10 * US_PER_S,
	    .rise = 1,
	    .fall = 2,
	};
	struct health *health = NULL;

	nginx_start(&server, "location / { return 200 ok; }");
	url = xasprintf("https://127.0.0.1:%d/readyz", server.port);
	config.url = url;
	for (int i = 0; i < 2; i++, config.awaits_ca = false) {
		last.state = HEALTH_UNKNOWN;
		CHECK_EQ_INT(health_new(ev, &config, &callbacks, history, &health), 0);
		CHECK_EQ_INT(health_state(health), HEALTH_UNKNOWN);
		if (config.awaits_ca)
			expect(unchecked);
		else
			(void) TURN_UNTIL(ev, health_state(health) == HEALTH_BAD);
		history[0] = '\0';
		CHECK_EQ_INT(link(real, late), 0);
		expect("good(readyz 200) ");
		CHECK_EQ_INT(unlink(late), 0);
		health_free(health);
	}

	/* Once it was there, its absence is a fault like another; the kept connection outlives it. */
	config.awaits_ca = true;
	CHECK_EQ_INT(link(real, late), 0);
	last.state = HEALTH_UNKNOWN;
	CHECK_EQ_INT(health_new(ev, &config, &callbacks, history, &health), 0);
	expect("good(readyz 200) ");
	CHECK_EQ_INT(unlink(late), 0);
	nginx_stop(&server);
	(void) TURN_UNTIL(ev, health_state(health) == HEALTH_BAD);
	CHECK_EQ_INT(health_state(health), HEALTH_BAD);
	history[0] = '\0';
	health_free(health);
}

/* With an interval at which no probe in turn would see it. */
static void test_gone(void)
{
	AUTO(free) char *url = xasprintf("https://127.0.0.1:%d/readyz", server.port);
	AUTO(free) char *ca_file = xasprintf("%s/ca.crt", server.dir);
	struct config_health config = {
	    .enabled = true,
	    .url = url,
	    .server_name = (char[]){"kubernetes"},
	    .ca_file = ca_file,
	    .interval_us = 60 * US_PER_S,
	    .timeout_us = 10 * US_PER_S,
	    .rise = 1,
	    .fall = 3,
	};
	AUTO(health_free) struct health *health = NULL;
	int64_t start_us;

	restart("location / { return 200 ok; }");
	last.state = HEALTH_UNKNOWN;
	CHECK_EQ_INT(health_new(ev, &config, &callbacks, history, &health), 0);
	expect("good(readyz 200) ");
	CHECK(last.is_ready);
	start_us = mono_now_us();
	nginx_stop(&server);
	(void) TURN_UNTIL(ev, health_state(health) == HEALTH_BAD);
	CHECK(mono_now_us() - start_us < 30 * US_PER_S);
	CHECK(last.is_gone);
	expect("bad(connection refused) ");
}

/* It starts: 403 until its rules are read. A vipd that starts does not take it for such a one. */
static void test_starts_beside_ready_ones(void)
{
	AUTO(free) char *url = xasprintf("https://127.0.0.1:%d/readyz", server.port);
	AUTO(free) char *ca_file = xasprintf("%s/ca.crt", server.dir);
	struct config_health config = {
	    .enabled = true,
	    .url = url,
	    .server_name = (char[]){"kubernetes"},
	    .ca_file = ca_file,
	    .interval_us = 60 * US_PER_MS,
	    .timeout_us = 10 * US_PER_S,
	    .rise = 1,
	    .fall = 2,
	};
	AUTO(health_free) struct health *health = NULL;

	restart("location / { return 403 no; }");
	others_are_ready = true;
	last.state = HEALTH_UNKNOWN;
	CHECK_EQ_INT(health_new(ev, &config, &callbacks, history, &health), 0);
	expect("good(readyz 403: alive, readiness unknown) ");
	nginx_stop(&server);
	expect("bad(connection refused) ");
	nginx_start(&server, "location / { return 403 no; }");
	(void) TURN_UNTIL(ev, strncmp(last_reason, "readyz 403", 10) == 0);
	expect("");
	CHECK(last.is_gone);
	CHECK_EQ_STR(last_reason, "readyz 403: alive, readiness unknown, while another node is ready");
	/* No other is: as good as it gets. */
	others_are_ready = false;
	expect("good(readyz 403: alive, readiness unknown) ");
	CHECK(!last.is_ready);
	others_are_ready = true;
	restart("location / { return 200 ok; }");
	(void) TURN_UNTIL(ev, last.is_ready);
	restart("location / { return 403 no; }");
	(void) TURN_UNTIL(ev, !last.is_ready);
	others_are_ready = false;
	history[0] = '\0';
}

/* One that ends each connection behind its answer is not asked without end. */
static void test_closes_each_connection(void)
{
	AUTO(free) char *url = xasprintf("https://127.0.0.1:%d/readyz", server.port);
	AUTO(free) char *ca_file = xasprintf("%s/ca.crt", server.dir);
	struct config_health config = {
	    .enabled = true,
	    .url = url,
	    .server_name = (char[]){"kubernetes"},
	    .ca_file = ca_file,
	    .interval_us = 60 * US_PER_S,
	    .timeout_us = 10 * US_PER_S,
	    .rise = 1,
	    .fall = 2,
	};
	AUTO(health_free) struct health *health = NULL;
	long before;

	restart("keepalive_timeout 10ms; "
	        "location / { return 200 ok; access_log probes.log; }");
	before = probes_seen();
	last.state = HEALTH_UNKNOWN;
	CHECK_EQ_INT(health_new(ev, &config, &callbacks, history, &health), 0);
	(void) TURN_UNTIL(ev, probes_seen() - before == 4);
	expect("good(readyz 200) ");
	CHECK_EQ_INT(probes_seen() - before, 4);
}

/* Connections that are reset are no proof: probes out of turn look whether it has ended, and do not
 * count, so that a row takes its time. */
static void test_resets(void)
{
	AUTO(free) char *url = xasprintf("https://127.0.0.1:%d/readyz", server.port);
	AUTO(free) char *ca_file = xasprintf("%s/ca.crt", server.dir);
	AUTO(free) char *resets = xasprintf("%s/resets", server.dir);
	AUTO(free)
	char *directives = xasprintf("keepalive_timeout 500ms; location / { access_log probes.log; "
	                             "if (-f %s) { return 444; } return 200 ok; }",
	                             resets);
	struct config_health config = {
	    .enabled = true,
	    .url = url,
	    .server_name = (char[]){"kubernetes"},
	    .ca_file = ca_file,
	    .interval_us = 60 * US_PER_S,
	    .timeout_us = 10 * US_PER_S,
	    .rise = 1,
	    .fall = 2,
	};
	AUTO(health_free) struct health *health = NULL;
	long before;

	restart(directives);
	before = probes_seen();
	last.state = HEALTH_UNKNOWN;
	CHECK_EQ_INT(health_new(ev, &config, &callbacks, history, &health), 0);
	(void) TURN_UNTIL(ev, last.state == HEALTH_GOOD);
	CHECK_EQ_INT(file_write_atomic(resets, "", 0, 0644, FILE_VOLATILE), 0);
	(void) TURN_UNTIL(ev, probes_seen() - before == 4);
	expect("good(readyz 200) ");
	CHECK_EQ_INT(probes_seen() - before, 4);
	CHECK_EQ_INT(unlink(resets), 0);
}

int main(void)
{
	test_accepts();
	test_unknown();
	test_second_hand();
	test_accepts_beside_ready_ones();
	test_fold();

	(void) signal(SIGPIPE, SIG_IGN);
	ev = ev_loop_new(EVFLAG_AUTO);
	nginx_init(&server);
	test_loop();
	test_silence_and_certificates();
	test_own_certificate();
	test_late_ca();
	test_gone();
	test_starts_beside_ready_ones();
	test_closes_each_connection();
	test_resets();
	nginx_fini(&server);
	ev_loop_destroy(ev);
	return check_result();
}
