/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One-shot calls against scripted servers: who is asked when, what settles, what is ambiguous.
 * Times are checked with room upwards only for a busy machine, and hardly any downwards.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "check.h"
#include "etcdtest/cluster.h"
#include "etcd/etcd.h"
#include "etcdtest/server.h"
#include "etcdtest/sync.h"
#include "patient.h"
#include "turn.h"

#define SLACK_MS 120

static struct ev_loop *ev;
static struct server *servers[3];
static struct etcd *etcd;

static const struct server_rule silent = {.silent = true};
static const struct server_rule unavailable = {.code = GRPC_STATUS_UNAVAILABLE,
                                               .text = "etcdserver: server stopped"};
static const struct server_rule no_leader = {.code = GRPC_STATUS_UNAVAILABLE,
                                             .text = "etcdserver: no leader"};

/* Lets connections come up: their making is not what is measured. */
static void connections_settle(void)
{
	int64_t stolen_before_us = stolen_us();

	(void) sync_run(ev, 80, NULL, 0);
	(void) sync_run(ev, (int) MIN(stolen_since_us(stolen_before_us), US_PER_S) / 1000, NULL, 0);
}

static void connect_client(const char *const *urls, size_t n)
{
	struct etcd_options options = {.endpoints = urls, .n_endpoints = n};
	char error[ETCD_ERROR_TEXT_MAX];

	CHECK_EQ_INT(etcd_new(ev, &options, error, &etcd), 0);
	connections_settle();
}

static void begin(size_t n)
{
	const char *urls[3];

	for (size_t i = 0; i < n; i++) {
		servers[i] = server_new(ev, (unsigned) i, 0);
		urls[i] = server_url(servers[i]);
	}
	connect_client(urls, n);
}

static void end(void)
{
	etcd_free(TAKE_PTR(etcd));
	for (size_t i = 0; i < ARRAY_SIZE(servers); i++)
		server_free(TAKE_PTR(servers[i]));
}

static int elapsed_ms(const struct answer *a)
{
	return (int) ((a->done_us - a->asked_us) / US_PER_MS);
}

static int sent_after_ms(const struct answer *a)
{
	return (int) ((a->sent_us - a->asked_us) / US_PER_MS);
}

static bool check_between(int got, int least, int most, int line)
{
	if (got >= least && got <= most)
		return true;
	(void) fprintf(stderr, "line %d: %d is not in %d..%d\n", line, got, least, most);
	check_failures++;
	return false;
}
#define CHECK_BETWEEN(got, least, most) check_between((got), (least), (most), __LINE__)
/* Of an answer; later by no more than the machine is to blame for. */
#define CHECK_TIME(which, a, least, most) \
	CHECK_BETWEEN(which(a), (least), (most) + (int) ((a)->stolen_us / US_PER_MS))

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
	     false},
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

/* A refusal settles while another attempt may still land: that must not be hidden. */
static void test_refusal_beside_an_attempt_in_flight(void)
{
	struct answer a;

	begin(2);
	server_set(servers[0], SERVER_TXN, silent);
	server_set(servers[1], SERVER_TXN,
	           (struct server_rule){.code = GRPC_STATUS_RESOURCE_EXHAUSTED,
	                                .text = "etcdserver: mvcc: database space exceeded"});
	a = sync_swap(ev, etcd, "k", 0, "v", true);
	CHECK_EQ_INT(a.r, -ENOSPC);
	CHECK(a.ambiguous);
	end();
}

/* Nor one behind it, which failed without a verdict. */
static void test_refusal_after_a_failure(void)
{
	struct answer a;

	begin(2);
	server_set(servers[0], SERVER_TXN, unavailable);
	server_set(servers[1], SERVER_TXN,
	           (struct server_rule){.code = GRPC_STATUS_RESOURCE_EXHAUSTED,
	                                .text = "etcdserver: mvcc: database space exceeded"});
	a = sync_swap(ev, etcd, "k", 0, "v", true);
	CHECK_EQ_INT(a.r, -ENOSPC);
	CHECK(a.ambiguous);
	end();
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

static void test_answers_that_are_none(void)
{
	struct answer a;

	begin(1);
	server_set(servers[0], SERVER_PUT, (struct server_rule){.junk = true});
	a = sync_put(ev, etcd, "k", "v", 0);
	CHECK_EQ_INT(a.r, -EPROTO);
	CHECK(a.ambiguous);
	end();
}

/* Of so many keys that are nothing, two bytes each, and one with a value of so many bytes. */
static void answer_range(size_t n_empty, size_t value_bytes)
{
	AUTO(free) Pb__KeyValue *keys = xcalloc(n_empty + 1, sizeof(*keys));
	AUTO(free) Pb__KeyValue **list = xcalloc(n_empty + 1, sizeof(*list));
	AUTO(free) uint8_t *value = xcalloc(1, value_bytes + 1);
	Pb__RangeResponse response = PB__RANGE_RESPONSE__INIT;
	Pb__ResponseHeader header = PB__RESPONSE_HEADER__INIT;

	for (size_t i = 0; i <= n_empty; i++) {
		pb__key_value__init(&keys[i]);
		list[i] = &keys[i];
	}
	keys[0].value = (ProtobufCBinaryData){value_bytes, value};
	response.header = &header;
	response.kvs = list;
	response.n_kvs = n_empty + 1;
	server_set_answer(servers[0], SERVER_RANGE, &response.base);
}

/* Neither a long answer nor a short one that grows when it is unpacked takes more memory than the
 * limit allows. */
static void test_answers_that_are_too_much(void)
{
	const char *url;
	struct etcd_options options = {.endpoints = &url,
	                               .n_endpoints = 1,
	                               .answer_max_bytes = 64 * 1024,
	                               .call_timeout_ms = 60000};
	char error[ETCD_ERROR_TEXT_MAX];

	servers[0] = server_new(ev, 0, 0);
	url = server_url(servers[0]);
	CHECK_EQ_INT(etcd_new(ev, &options, error, &etcd), 0);
	answer_range(100, 40 * 1024);
	CHECK_EQ_INT(sync_get(ev, etcd, "k").r, 0);
	answer_range(20000, 0);
	CHECK_EQ_INT(sync_get(ev, etcd, "k").r, -EPROTO);
	answer_range(0, 65 * 1024);
	CHECK_EQ_INT(sync_get(ev, etcd, "k").r, -EPROTO);
	end();
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
static void test_options_and_leases(void)
{
	const char *urls[2];
	struct etcd_options options = {
	    .endpoints = urls, .n_endpoints = 2, .call_timeout_ms = 400, .hedge_ms = 100};
	char error[ETCD_ERROR_TEXT_MAX];
	struct answer a;

	for (size_t i = 0; i < 2; i++) {
		servers[i] = server_new(ev, (unsigned) i, 0);
		urls[i] = server_url(servers[i]);
	}
	CHECK_EQ_INT(etcd_new(ev, &options, error, &etcd), 0);
	connections_settle();
	server_set(servers[0], SERVER_KEEPALIVE, silent);
	a = sync_keepalive(ev, etcd, 1);
	CHECK_EQ_INT(a.r, 0);
	CHECK_TIME(elapsed_ms, &a, 99, 100 + SLACK_MS);
	CHECK_EQ_STR(a.endpoint, urls[1]);
	server_set(servers[1], SERVER_GRANT, silent);
	a = sync_grant(ev, etcd, 1, 10);
	CHECK_EQ_INT(a.r, -ETIMEDOUT);
	CHECK(a.ambiguous);
	CHECK_TIME(elapsed_ms, &a, 399, 400 + SLACK_MS);
	CHECK_EQ_INT(server_calls(servers[0], SERVER_GRANT), 0);
	end();
}

/* Two URLs of one member: while it is silent, the other member is asked, not its second name. */
static void test_two_names_of_one_member(void)
{
	struct answer a;

	begin(3);
	server_set_member(servers[1], 0);
	/* Each answers once, so that all are known; the first goes first again. */
	for (size_t i = 0; i < 3; i++)
		server_set(servers[i], SERVER_PUT, no_leader);
	for (size_t i = 3; i-- > 0;) {
		struct server_rule good = {.times = 1};

		server_set(servers[i], SERVER_PUT, good);
		a = sync_put(ev, etcd, "k", "v", 0);
		CHECK_EQ_STR(a.endpoint, server_url(servers[i]));
	}
	server_set(servers[0], SERVER_RANGE, silent);
	server_set(servers[1], SERVER_RANGE, silent);
	a = sync_get(ev, etcd, "k");
	CHECK_EQ_STR(a.endpoint, server_url(servers[2]));
	CHECK_TIME(elapsed_ms, &a, 299, 300 + SLACK_MS);
	end();
}

/* Of one endpoint, without a leader, and without a say in who goes first. */
static void test_status(void)
{
	struct answer a;

	begin(2);
	a = sync_status(ev, etcd, server_url(servers[1]));
	CHECK_EQ_INT(a.r, 0);
	CHECK_EQ_STR(a.endpoint, server_url(servers[1]));
	CHECK(!server_last_has_leader(servers[1]));
	a = sync_get(ev, etcd, "k");
	CHECK_EQ_STR(a.endpoint, server_url(servers[0]));
	server_set(servers[1], SERVER_STATUS, silent);
	a = sync_status(ev, etcd, server_url(servers[1]));
	CHECK_EQ_INT(a.r, -ETIMEDOUT);
	CHECK_EQ_INT(server_calls(servers[0], SERVER_STATUS), 0);
	end();
}

/* A server that comes back is found without being asked for. */
static void test_comes_back(void)
{
	int port = free_port();
	AUTO(free) char *url = xasprintf("http://127.0.0.1:%d", port);
	const char *urls[1] = {url};
	struct answer a;

	connect_client(urls, 1);
	CHECK_EQ_INT(sync_get(ev, etcd, "k").r, -EHOSTUNREACH);
	servers[0] = server_new(ev, 0, port);
	for (int i = 0; i < 100; i++) {
		a = sync_get(ev, etcd, "k");
		if (a.r == 0)
			break;
		(void) sync_run(ev, 100, NULL, 0);
	}
	CHECK_EQ_INT(a.r, 0);
	end();
}

static void test_discovery(void)
{
	const char *urls[2];
	const char *const *in_use;
	struct etcd_options options = {.endpoints = urls, .n_endpoints = 1, .discover_members = true};
	char error[ETCD_ERROR_TEXT_MAX];
	Pb__Member members[3];
	Pb__Member *list[3];
	char *learner_urls[] = {xstrdup("http://127.0.0.1:2")};
	char *first_urls[] = {xstrdup("http://0.0.0.0:2379"), xstrdup("https://127.0.0.1:3"),
	                      xstrdup("nonsense"), NULL};
	char *second_urls[1];
	struct answer a;

	for (size_t i = 0; i < 3; i++) {
		pb__member__init(&members[i]);
		list[i] = &members[i];
		members[i].id = SERVER_MEMBER_ID(i);
	}
	for (size_t i = 0; i < 2; i++) {
		servers[i] = server_new(ev, (unsigned) i, 0);
		urls[i] = server_url(servers[i]);
	}
	first_urls[3] = xstrdup(urls[0]);
	second_urls[0] = xstrdup(urls[1]);
	members[0].client_urls = first_urls;
	members[0].n_client_urls = ARRAY_SIZE(first_urls);
	members[1].client_urls = second_urls;
	members[1].n_client_urls = 1;
	members[2].client_urls = learner_urls;
	members[2].n_client_urls = 1;
	members[2].is_learner = true;
	server_set_members(servers[0], list, 3);
	/* The second one has not said yet where it is: it is asked for again soon. */
	members[1].n_client_urls = 0;
	CHECK_EQ_INT(etcd_new(ev, &options, error, &etcd), 0);
	CHECK(TURN_UNTIL(ev, server_calls(servers[0], SERVER_MEMBERS) == 1));
	CHECK_EQ_INT(sync_get(ev, etcd, "k").r, 0); /* behind that answer */
	members[1].n_client_urls = 1;
	CHECK(TURN_UNTIL(ev, etcd_endpoints(etcd, &in_use) == 2));
	CHECK_EQ_STR(in_use[0], urls[0]);
	CHECK_EQ_STR(in_use[1], urls[1]);
	CHECK(!server_last_has_leader(servers[0]));
	server_set(servers[0], SERVER_RANGE, silent);
	a = sync_get(ev, etcd, "k");
	CHECK_EQ_INT(a.r, 0);
	CHECK_EQ_STR(a.endpoint, urls[1]);
	CHECK_EQ_INT(server_calls(servers[0], SERVER_MEMBERS), 2);
	end();
	free(learner_urls[0]);
	for (size_t i = 0; i < ARRAY_SIZE(first_urls); i++)
		free(first_urls[i]);
	free(second_urls[0]);
}

static void test_tokens(void)
{
	const char *urls[2];
	struct etcd_options options = {
	    .endpoints = urls, .n_endpoints = 2, .user = "root", .password = "secret"};
	char error[ETCD_ERROR_TEXT_MAX];
	struct etcd_range range = {.key = ETCD_STR("k")};
	struct answer a = {0};

	for (size_t i = 0; i < 2; i++) {
		servers[i] = server_new(ev, (unsigned) i, 0);
		server_set_token(servers[i], "first");
		urls[i] = server_url(servers[i]);
	}
	CHECK_EQ_INT(etcd_new(ev, &options, error, &etcd), 0);
	/* Several at once ask for one token. */
	for (int i = 0; i < 4; i++)
		CHECK_EQ_INT(etcd_range(etcd, &range, answer_on_range, &a, NULL), 0);
	CHECK(sync_until(ev, &a.n_callbacks, 4));
	CHECK_EQ_INT(a.r, 0);
	CHECK_EQ_INT(server_calls(servers[0], SERVER_AUTHENTICATE), 1);
	/* It runs out. */
	for (size_t i = 0; i < 2; i++)
		server_set_token(servers[i], "second");
	a = sync_put(ev, etcd, "k", "v", 0);
	CHECK_EQ_INT(a.r, 0);
	CHECK_EQ_INT(server_calls(servers[0], SERVER_AUTHENTICATE), 2);
	/* "revision of auth store is old" means the same. */
	server_set(servers[0], SERVER_PUT,
	           (struct server_rule){.code = GRPC_STATUS_INVALID_ARGUMENT,
	                                .text = "etcdserver: revision of auth store is old",
	                                .times = 1});
	a = sync_put(ev, etcd, "k", "v", 0);
	CHECK_EQ_INT(a.r, 0);
	CHECK_EQ_INT(server_calls(servers[0], SERVER_AUTHENTICATE), 3);
	/* Refused for ever: not asked for ever. */
	server_set(servers[0], SERVER_PUT,
	           (struct server_rule){.code = GRPC_STATUS_UNAUTHENTICATED,
	                                .text = "etcdserver: invalid auth token"});
	a = sync_put(ev, etcd, "k", "v", 0);
	CHECK_EQ_INT(a.r, -EACCES);
	CHECK(!a.ambiguous);
	CHECK_BETWEEN((int) server_calls(servers[0], SERVER_AUTHENTICATE), 4, 6);
	end();
}

/* A wrong password: an error at once, and one question a second. */
/* A token that no header can hold is a failure of that member, and no end of this process. */
static void test_tokens_that_are_none(void)
{
	static const char *const tokens[] = {"a\nb", "caf\xc3\xa9"};
	const char *url;
	struct etcd_options options = {
	    .endpoints = &url, .n_endpoints = 1, .user = "root", .password = "secret"};
	char error[ETCD_ERROR_TEXT_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(tokens); i++) {
		servers[0] = server_new(ev, 0, 0);
		server_set_token(servers[0], tokens[i]);
		url = server_url(servers[0]);
		CHECK_EQ_INT(etcd_new(ev, &options, error, &etcd), 0);
		CHECK(sync_get(ev, etcd, "k").r < 0);
		end();
	}
}

static void test_wrong_password(void)
{
	const char *urls[1];
	struct etcd_options options = {
	    .endpoints = urls, .n_endpoints = 1, .user = "root", .password = "wrong"};
	char error[ETCD_ERROR_TEXT_MAX];
	struct answer a;

	servers[0] = server_new(ev, 0, 0);
	server_set_token(servers[0], "x");
	server_set(servers[0], SERVER_AUTHENTICATE,
	           (struct server_rule){.code = GRPC_STATUS_INVALID_ARGUMENT,
	                                .text = "etcdserver: authentication failed, invalid user ID or "
	                                        "password"});
	urls[0] = server_url(servers[0]);
	CHECK_EQ_INT(etcd_new(ev, &options, error, &etcd), 0);
	a = sync_get(ev, etcd, "k");
	CHECK_EQ_INT(a.r, -EACCES);
	CHECK(strstr(a.text, "invalid user ID or password") != NULL);
	CHECK_TIME(elapsed_ms, &a, 0, SLACK_MS);
	for (int i = 0; i < 3; i++)
		a = sync_get(ev, etcd, "k");
	CHECK(a.r < 0);
	CHECK_BETWEEN((int) server_calls(servers[0], SERVER_AUTHENTICATE), 2, 4);
	end();
}

static void prepare(void)
{
	ev = ev_default_loop(0);
}

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
	    test_answers_that_are_none,
	    test_answers_that_are_too_much,
	    test_cancel_with_two_in_flight,
	    test_options_and_leases,
	    test_two_names_of_one_member,
	    test_status,
	    test_comes_back,
	    test_discovery,
	    test_tokens,
	    test_tokens_that_are_none,
	    test_wrong_password,
	};

	patiently(&(struct patient){.prepare = prepare}, 2, tests, ARRAY_SIZE(tests));
	return check_result();
}
