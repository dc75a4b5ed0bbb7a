/* SPDX-License-Identifier: Apache-2.0 */
/* What answers mean and what is none, whom a client comes to know by them, and what proves who
 * asks. */
#include <errno.h>
#include <unistd.h>

#include "callworld.h"
#include "etcdtest/cluster.h"

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

/* Endpoints of two clusters: only one is meant, and no answer of the other is believed. */
static void test_cluster_that_is_meant(void)
{
	struct etcd_heard heard[ETCD_ENDPOINTS_MAX];
	struct etcd_range range = {.key = ETCD_STR("k")};
	struct answer a;

	begin(3);
	(void) server_cluster_id(servers[0], 2);
	etcd_expect_cluster(etcd, 1);
	/* It was carried out there, which is known afterwards. */
	a = sync_put(ev, etcd, "k", "v", 0);
	CHECK_EQ_INT(a.r, 0);
	CHECK(!a.ambiguous);
	CHECK_EQ_STR(a.endpoint, server_url(servers[1]));
	CHECK_EQ_INT(server_calls(servers[0], SERVER_PUT), 1);
	server_set(servers[1], SERVER_PUT, no_leader);
	a = sync_put(ev, etcd, "k", "v", 0);
	CHECK_EQ_STR(a.endpoint, server_url(servers[2]));
	CHECK_EQ_INT(server_calls(servers[0], SERVER_PUT), 1);
	CHECK_EQ_INT(etcd_endpoints_heard(etcd, heard), 3);
	CHECK_EQ_STR(heard[0].endpoint, server_url(servers[0]));
	CHECK_EQ_INT(heard[0].cluster_id, 2);
	CHECK_EQ_INT(heard[0].member_id, SERVER_MEMBER_ID(0));
	CHECK(heard[0].heard_us > 0);
	CHECK_EQ_INT(heard[2].cluster_id, 1);
	/* A call that names the endpoint is answered, and sees it come back to the right cluster. */
	a = sync_status(ev, etcd, server_url(servers[0]));
	CHECK_EQ_INT(a.r, 0);
	CHECK_EQ_INT(a.member_id, SERVER_MEMBER_ID(0));
	for (size_t i = 1; i < 3; i++)
		(void) server_cluster_id(servers[i], 2);
	for (int i = 0; i < 2; i++) {
		a = sync_get(ev, etcd, "k");
		CHECK_EQ_INT(a.r, -EHOSTUNREACH);
		CHECK(strstr(a.text, "is in another cluster") != NULL);
	}
	(void) server_cluster_id(servers[0], 1);
	(void) sync_status(ev, etcd, server_url(servers[0]));
	a = sync_get(ev, etcd, "k");
	CHECK_EQ_STR(a.endpoint, server_url(servers[0]));
	etcd_expect_cluster(etcd, 2);
	a = sync_get(ev, etcd, "k");
	CHECK_EQ_INT(a.r, 0);

	/* Until one is chosen, calls wait, but those that name their endpoint. */
	etcd_expect_cluster(etcd, 0);
	a = (struct answer){0};
	CHECK_EQ_INT(etcd_range(etcd, &range, answer_on_range, &a, NULL), 0);
	CHECK_EQ_INT(sync_status(ev, etcd, server_url(servers[0])).r, 0);
	CHECK_EQ_INT(a.n_callbacks, 0);
	etcd_expect_cluster(etcd, 2);
	CHECK_EQ_INT(a.n_callbacks, 0);
	CHECK(sync_until(ev, &a.n_callbacks, 1));
	CHECK_EQ_INT(a.r, 0);
	end();
}

/* A member may want a token before it says of which cluster it is. */
static void test_token_before_a_cluster(void)
{
	const char *url;
	struct etcd_options options = {
	    .endpoints = &url, .n_endpoints = 1, .user = "root", .password = "secret"};
	char error[ETCD_ERROR_TEXT_MAX];

	servers[0] = server_new(ev, 0, 0);
	server_set_token(servers[0], "first");
	url = server_url(servers[0]);
	CHECK_EQ_INT(etcd_new(ev, &options, error, &etcd), 0);
	etcd_expect_cluster(etcd, 0);
	CHECK_EQ_INT(sync_status(ev, etcd, url).r, 0);
	end();
}

static void test_endpoints_that_were_known(void)
{
	const char *const *in_use;
	const char *further;
	struct answer a;

	begin(1);
	servers[1] = server_new(ev, 1, 0);
	further = server_url(servers[1]);
	etcd_add_endpoints(etcd, &further, 1);
	CHECK_EQ_INT(etcd_endpoints(etcd, &in_use), 2);
	server_set(servers[0], SERVER_RANGE, silent);
	a = sync_get(ev, etcd, "k");
	CHECK_EQ_STR(a.endpoint, further);
	end();
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

int main(void)
{
	static const patient_fn tests[] = {
	    test_answers_that_are_none,
	    test_answers_that_are_too_much,
	    test_options_and_leases,
	    test_two_names_of_one_member,
	    test_status,
	    test_comes_back,
	    test_discovery,
	    test_cluster_that_is_meant,
	    test_token_before_a_cluster,
	    test_endpoints_that_were_known,
	    test_tokens,
	    test_tokens_that_are_none,
	    test_wrong_password,
	};

	patiently(&(struct patient){.prepare = prepare}, 2, tests, ARRAY_SIZE(tests));
	return check_result();
}
