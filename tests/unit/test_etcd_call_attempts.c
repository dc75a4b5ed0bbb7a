/* SPDX-License-Identifier: Apache-2.0 */
/* Who is asked when, what settles a call, and what is ambiguous. */
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "callworld.h"
#include "etcdtest/cluster.h"

static void test_first_answers(void)
{
	struct answer a;

	begin(2);
	server_set(servers[0], SERVER_TXN, (struct server_rule){.delay_ms = 150});
	a = sync_swap(ev, etcd, "k", 0, "v", true);
	CHECK_EQ_INT(a.r, 0);
	CHECK_EQ_STR(a.endpoint, server_url(servers[0]));
	CHECK_EQ_INT(a.member_id, SERVER_MEMBER_ID(0));
	CHECK_EQ_INT(a.revision, 42);
	CHECK_TIME(elapsed_ms, &a, 149, 150 + SLACK_MS);
	CHECK_TIME(sent_after_ms, &a, 0, 50);
	CHECK(server_last_has_leader(servers[0]));
	CHECK_EQ_INT(server_calls(servers[1], SERVER_TXN), 0);
	end();
}

static void test_hedge(void)
{
	struct answer a;

	begin(2);
	server_set(servers[0], SERVER_TXN, silent);
	a = sync_swap(ev, etcd, "k", 0, "v", true);
	CHECK_EQ_INT(a.r, 0);
	CHECK_EQ_STR(a.endpoint, server_url(servers[1]));
	CHECK_TIME(elapsed_ms, &a, 299, 300 + SLACK_MS);
	/* The time of the attempt that was answered, not of the first. */
	CHECK_TIME(sent_after_ms, &a, 299, 300 + SLACK_MS);
	CHECK(a.received_us >= a.sent_us && a.received_us <= a.done_us);
	CHECK(TURN_UNTIL(ev, server_cancelled(servers[0]) == 1));
	/* Who answered goes first from now on. */
	a = sync_swap(ev, etcd, "k", 0, "v", true);
	CHECK_EQ_STR(a.endpoint, server_url(servers[1]));
	CHECK_TIME(elapsed_ms, &a, 0, SLACK_MS);
	CHECK_EQ_INT(server_calls(servers[0], SERVER_TXN), 1);
	end();
}

/* The first answer wins, though it is that of the first attempt and comes after the hedge. */
static void test_late_first_answer(void)
{
	struct answer a;

	begin(2);
	server_set(servers[0], SERVER_TXN, (struct server_rule){.delay_ms = 450});
	server_set(servers[1], SERVER_TXN, silent);
	a = sync_swap(ev, etcd, "k", 0, "v", true);
	CHECK_EQ_INT(a.r, 0);
	CHECK_EQ_STR(a.endpoint, server_url(servers[0]));
	CHECK_TIME(sent_after_ms, &a, 0, 50);
	CHECK_TIME(elapsed_ms, &a, 449, 450 + SLACK_MS);
	CHECK_EQ_INT(a.n_callbacks, 1);
	end();
}

static void test_slow_primary_is_demoted(void)
{
	struct answer a;

	begin(2);
	server_set(servers[0], SERVER_RANGE, (struct server_rule){.delay_ms = 600});
	a = sync_get(ev, etcd, "k");
	CHECK_EQ_STR(a.endpoint, server_url(servers[1]));
	a = sync_get(ev, etcd, "k");
	CHECK_TIME(elapsed_ms, &a, 0, SLACK_MS);
	end();
}

/* One more each hedge_ms, each to another endpoint, until the deadline. */
static void test_all_silent(void)
{
	struct answer a;

	begin(3);
	for (size_t i = 0; i < 3; i++)
		server_set(servers[i], SERVER_TXN, silent);
	a = sync_swap(ev, etcd, "k", 0, "v", true);
	CHECK_EQ_INT(a.r, -ETIMEDOUT);
	CHECK(a.ambiguous);
	CHECK_EQ_STR(a.endpoint, "");
	CHECK_TIME(elapsed_ms, &a, 999, 1000 + SLACK_MS);
	for (size_t i = 0; i < 3; i++)
		CHECK_EQ_INT(server_calls(servers[i], SERVER_TXN), 1);
	for (size_t i = 0; i < 3; i++)
		CHECK(TURN_UNTIL(ev, server_cancelled(servers[i]) == 1));
	for (size_t i = 0; i < 3; i++)
		server_set(servers[i], SERVER_RANGE, silent);
	a = sync_get(ev, etcd, "k");
	CHECK_EQ_INT(a.r, -ETIMEDOUT);
	CHECK(!a.ambiguous);
	end();
}

/* What may not land twice is sent once, and its fate is unknown. */
static void test_plain_write_is_sent_once(void)
{
	struct answer a;

	begin(2);
	server_set(servers[0], SERVER_PUT, silent);
	a = sync_put(ev, etcd, "k", "v", 0);
	CHECK_EQ_INT(a.r, -ETIMEDOUT);
	CHECK(a.ambiguous);
	CHECK_TIME(elapsed_ms, &a, 999, 1000 + SLACK_MS);
	server_set(servers[0], SERVER_PUT, unavailable);
	a = sync_put(ev, etcd, "k", "v", 0);
	CHECK_EQ_INT(a.r, -EHOSTUNREACH);
	CHECK(a.ambiguous);
	CHECK_EQ_STR(a.text, "etcdserver: server stopped");
	CHECK_TIME(elapsed_ms, &a, 0, SLACK_MS);
	CHECK_EQ_INT(server_calls(servers[1], SERVER_PUT), 0);
	server_set(servers[0], SERVER_TXN, unavailable);
	a = sync_swap(ev, etcd, "k", 0, "v", false);
	CHECK_EQ_INT(a.r, -EHOSTUNREACH);
	CHECK(a.ambiguous);
	CHECK_EQ_INT(server_calls(servers[1], SERVER_TXN), 0);
	/* The same, allowed to land twice. */
	a = sync_swap(ev, etcd, "k", 0, "v", true);
	CHECK_EQ_INT(a.r, 0);
	CHECK(!a.ambiguous);
	CHECK_EQ_INT(server_calls(servers[1], SERVER_TXN), 1);
	end();
}

/* "no leader" is said before anything is done, so a plain write may go on to the next. */
static void test_no_leader(void)
{
	struct answer a;

	begin(2);
	server_set(servers[0], SERVER_PUT, no_leader);
	a = sync_put(ev, etcd, "k", "v", 0);
	CHECK_EQ_INT(a.r, 0);
	CHECK_EQ_STR(a.endpoint, server_url(servers[1]));
	CHECK_TIME(elapsed_ms, &a, 0, SLACK_MS);

	/* Nowhere, for a while: asked again within the deadline, but not without pause. */
	for (size_t i = 0; i < 2; i++)
		server_set(servers[i], SERVER_RANGE,
		           (struct server_rule){.code = GRPC_STATUS_UNAVAILABLE,
		                                .text = "etcdserver: leader changed",
		                                .times = 3});
	a = sync_get(ev, etcd, "k");
	CHECK_EQ_INT(a.r, 0);
	CHECK_TIME(elapsed_ms, &a, 140, 600);

	for (size_t i = 0; i < 2; i++)
		server_set(servers[i], SERVER_TXN, no_leader);
	a = sync_swap(ev, etcd, "k", 0, "v", true);
	CHECK_EQ_INT(a.r, -EHOSTUNREACH);
	CHECK(!a.ambiguous);
	CHECK(strstr(a.text, "no leader") != NULL);
	CHECK_TIME(elapsed_ms, &a, 999, 1000 + SLACK_MS);
	CHECK_BETWEEN((int) server_calls(servers[0], SERVER_TXN), 3, 6);
	end();
}

static void test_verdicts_settle(void)
{
	static const struct {
		grpc_status_code code;
		const char *text;
		int r;
		bool ambiguous;
	} cases[] = {
	    {GRPC_STATUS_NOT_FOUND, "etcdserver: requested lease not found", -ENOENT, false},
	    {GRPC_STATUS_FAILED_PRECONDITION, "etcdserver: lease already exists", -EEXIST, false},
	    {GRPC_STATUS_PERMISSION_DENIED, "etcdserver: permission denied", -EACCES, false},
	    {GRPC_STATUS_UNAUTHENTICATED, "etcdserver: invalid auth token", -EACCES, false},
	    {GRPC_STATUS_RESOURCE_EXHAUSTED, "etcdserver: mvcc: database space exceeded", -ENOSPC,
	     true},
	    {GRPC_STATUS_RESOURCE_EXHAUSTED, "etcdserver: too many requests", -EBUSY, false},
	    {GRPC_STATUS_OUT_OF_RANGE, "etcdserver: mvcc: required revision has been compacted",
	     -ESTALE, false},
	    {GRPC_STATUS_INVALID_ARGUMENT, "etcdserver: key is not provided", -EPROTO, false},
	};
	struct answer a;

	begin(2);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		server_set(servers[0], SERVER_TXN,
		           (struct server_rule){.code = cases[i].code, .text = cases[i].text});
		a = sync_swap(ev, etcd, "k", 0, "v", true);
		CHECK_EQ_INT(a.r, cases[i].r);
		CHECK_EQ_INT(a.ambiguous, cases[i].ambiguous);
		CHECK_EQ_STR(a.text, cases[i].text);
		CHECK_EQ_STR(a.endpoint, server_url(servers[0]));
	}
	CHECK_EQ_INT(server_calls(servers[1], SERVER_TXN), 0);
	end();
}

/* A refusal settles while another attempt may still have landed: that must not be hidden. */
static void check_refused_beside(struct server_rule other)
{
	struct answer a;

	begin(2);
	server_set(servers[0], SERVER_TXN, other);
	server_set(servers[1], SERVER_TXN,
	           (struct server_rule){.code = GRPC_STATUS_RESOURCE_EXHAUSTED,
	                                .text = "etcdserver: too many requests"});
	a = sync_swap(ev, etcd, "k", 0, "v", true);
	CHECK_EQ_INT(a.r, -EBUSY);
	CHECK(a.ambiguous);
	end();
}

static void test_refusal_beside_an_attempt_in_flight(void)
{
	check_refused_beside(silent);
}

/* Nor one behind it, which failed without a verdict. */
static void test_refusal_after_a_failure(void)
{
	check_refused_beside(unavailable);
}

/* UNAVAILABLE of the hedge settles nothing while the first may answer. */
static void test_failed_hedge(void)
{
	struct answer a;

	begin(2);
	server_set(servers[0], SERVER_TXN, (struct server_rule){.delay_ms = 600});
	server_set(servers[1], SERVER_TXN, unavailable);
	a = sync_swap(ev, etcd, "k", 0, "v", true);
	CHECK_EQ_INT(a.r, 0);
	CHECK_EQ_STR(a.endpoint, server_url(servers[0]));
	CHECK_TIME(elapsed_ms, &a, 599, 600 + SLACK_MS);
	/* 300 ms and then again, with hedge_ms between attempts. */
	CHECK_BETWEEN((int) server_calls(servers[1], SERVER_TXN), 1, 2);
	end();
}

static void test_nobody_listens(void)
{
	AUTO(free) char *one = xasprintf("http://127.0.0.1:%d", free_port());
	AUTO(free) char *two = xasprintf("http://127.0.0.1:%d", free_port());
	const char *urls[3] = {one, two};
	struct answer a;

	connect_client(urls, 2);
	a = sync_put(ev, etcd, "k", "v", 0);
	CHECK_EQ_INT(a.r, -EHOSTUNREACH);
	CHECK(!a.ambiguous);
	CHECK(strstr(a.text, "Connection refused") != NULL);
	CHECK_TIME(elapsed_ms, &a, 0, SLACK_MS);
	etcd_free(TAKE_PTR(etcd));

	/* A plain write goes past the dead ones, also when nothing is connected yet. */
	servers[0] = server_new(ev, 0, 0);
	urls[2] = server_url(servers[0]);
	connect_client(urls, 3);
	a = sync_put(ev, etcd, "k", "v", 0);
	CHECK_EQ_INT(a.r, 0);
	CHECK_EQ_STR(a.endpoint, urls[2]);
	etcd_free(TAKE_PTR(etcd));
	CHECK_EQ_INT(etcd_new(ev, &(struct etcd_options){.endpoints = urls, .n_endpoints = 3},
	                      (char[ETCD_ERROR_TEXT_MAX]){0}, &etcd),
	             0);
	a = sync_put(ev, etcd, "k", "v", 0);
	CHECK_EQ_INT(a.r, 0);
	CHECK_TIME(elapsed_ms, &a, 0, SLACK_MS);
	end();
}

/* Takes connections, never says a word: what a stopped process or a lost route look like. */
static int open_black_hole(char *url, size_t size)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(sin);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0 && bind(fd, (struct sockaddr *) &sin, sizeof(sin)) == 0 && listen(fd, 16) == 0);
	CHECK(getsockname(fd, (struct sockaddr *) &sin, &len) == 0);
	(void) snprintf(url, size, "http://127.0.0.1:%d", ntohs(sin.sin_port));
	return fd;
}

static void test_black_hole(void)
{
	char hole[64];
	int fd = open_black_hole(hole, sizeof(hole));
	const char *urls[2] = {hole};
	struct answer a;

	servers[0] = server_new(ev, 0, 0);
	urls[1] = server_url(servers[0]);
	/* With a connection to the other, it is not even tried. */
	connect_client(urls, 2);
	a = sync_put(ev, etcd, "k", "v", 0);
	CHECK_EQ_INT(a.r, 0);
	CHECK_TIME(elapsed_ms, &a, 0, SLACK_MS);
	etcd_free(TAKE_PTR(etcd));
	/* Without any connection yet, it costs one hedge at most. */
	CHECK_EQ_INT(etcd_new(ev, &(struct etcd_options){.endpoints = urls, .n_endpoints = 2},
	                      (char[ETCD_ERROR_TEXT_MAX]){0}, &etcd),
	             0);
	a = sync_get(ev, etcd, "k");
	CHECK_EQ_INT(a.r, 0);
	CHECK_TIME(elapsed_ms, &a, 0, 300 + SLACK_MS);
	etcd_free(TAKE_PTR(etcd));
	/* A plain write too: what waits for a connection was not sent, and may go elsewhere. (Now and
	 * then the good connection is there before the first choice.) */
	for (int i = 0; i < 5; i++) {
		CHECK_EQ_INT(etcd_new(ev, &(struct etcd_options){.endpoints = urls, .n_endpoints = 2},
		                      (char[ETCD_ERROR_TEXT_MAX]){0}, &etcd),
		             0);
		a = sync_put(ev, etcd, "k", "v", 0);
		CHECK_EQ_INT(a.r, 0);
		CHECK_TIME(elapsed_ms, &a, 0, 300 + SLACK_MS);
		etcd_free(TAKE_PTR(etcd));
		if (sent_after_ms(&a) >= 299)
			break;
	}
	CHECK_TIME(sent_after_ms, &a, 299, 300 + SLACK_MS);
	/* Alone: nothing was ever sent. */
	connect_client(urls, 1);
	a = sync_put(ev, etcd, "k", "v", 0);
	CHECK_EQ_INT(a.r, -EHOSTUNREACH);
	CHECK_TIME(elapsed_ms, &a, 500, 1000 + SLACK_MS);
	end();
	(void) close(fd);
}

static void test_cancel_with_two_in_flight(void)
{
	struct etcd_range range = {.key = ETCD_STR("k")};
	struct etcd_call *call;
	struct answer a = {0};

	begin(2);
	for (size_t i = 0; i < 2; i++)
		server_set(servers[i], SERVER_RANGE, silent);
	CHECK_EQ_INT(etcd_range(etcd, &range, answer_on_range, &a, &call), 0);
	CHECK(TURN_UNTIL(ev, server_calls(servers[1], SERVER_RANGE) == 1));
	etcd_call_cancel(call);
	CHECK(!sync_run(ev, 700, &a.n_callbacks, 1));
	for (size_t i = 0; i < 2; i++) {
		CHECK_EQ_INT(server_calls(servers[i], SERVER_RANGE), 1);
		CHECK(TURN_UNTIL(ev, server_cancelled(servers[i]) == 1));
	}
	end();
}

/* The deadline and hedge of the options; keepalives and grants by the same rules. */

int main(void)
{
	static const patient_fn tests[] = {
	    test_first_answers,
	    test_hedge,
	    test_late_first_answer,
	    test_slow_primary_is_demoted,
	    test_all_silent,
	    test_plain_write_is_sent_once,
	    test_no_leader,
	    test_verdicts_settle,
	    test_refusal_beside_an_attempt_in_flight,
	    test_refusal_after_a_failure,
	    test_failed_hedge,
	    test_nobody_listens,
	    test_black_hole,
	    test_cancel_with_two_in_flight,
	};

	patiently(&(struct patient){.prepare = prepare}, 2, tests, ARRAY_SIZE(tests));
	return check_result();
}
