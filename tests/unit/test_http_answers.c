/* SPDX-License-Identifier: Apache-2.0 */
/* What the HTTP client makes of answers and of what is none, and the contract of its callbacks. */
#include <stdbool.h>

#include "tests/unit/netns.h"

/* Behind netns.h, whose functions have parameters of the name of its loop. */
#include "tests/unit/httpworld.h"

/* --- what comes back --- */

static void test_statuses(void)
{
	static const struct {
		const char *path;
		int status;
		const char *body;
	} cases[] = {
	    {"/readyz", 200, "ok"},
	    {"/readyz?verbose", 200, "ok"},
	    {"/500", 500, "[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n"},
	    {"/401", 401, "no"},
	    {"/429", 429, NULL},
	    {"/empty", 204, ""},
	    {"/moved", 302, NULL}, /* not followed */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct answer a = {0};

		fetch_path(cases[i].path, &a);
		CHECK_EQ_INT(a.failure, HTTP_OK);
		CHECK_EQ_INT(a.status, cases[i].status);
		if (cases[i].body != NULL) {
			CHECK_EQ_STR(a.body, cases[i].body);
			CHECK_EQ_INT(a.body_len, strlen(cases[i].body));
		}
		CHECK_EQ_STR(a.text, "");
		CHECK(a.total_s > 0 && a.total_s < 3);
		CHECK(a.request_us > 0 && a.request_us <= (int64_t) (a.total_s * US_PER_S));
		answer_fini(&a);
	}
}

/* What the server saw of us. */
static void test_request(void)
{
	AUTO(free) char *url = url_of("/echo");
	AUTO(free) char *token_file = xasprintf("%s/token", server.dir);
	struct http_request request = request_to(url);
	struct answer a = {0};

	fetch(&request, &a);
	CHECK_EQ_STR(a.body, "GET|kubernetes||");
	request.method = "PUT";
	request.client_cert_file = cert_file;
	request.client_key_file = key_file;
	request.bearer_token_file = token_file;
	CHECK_EQ_INT(file_write_atomic(token_file, "s3cret\n", 7, 0600, FILE_VOLATILE), 0);
	fetch(&request, &a);
	CHECK_EQ_STR(a.body, "PUT|kubernetes|Bearer s3cret|CN=prober");
	/* Read anew for each request. */
	CHECK_EQ_INT(file_write_atomic(token_file, "other", 5, 0600, FILE_VOLATILE), 0);
	fetch(&request, &a);
	CHECK_EQ_STR(a.body, "PUT|kubernetes|Bearer other|CN=prober");
	request.method = "HEAD";
	fetch(&request, &a);
	CHECK_EQ_INT(a.status, 200);
	CHECK_EQ_STR(a.body, "");
	answer_fini(&a);
}

static void test_failures(void)
{
	struct {
		const char *url;
		unsigned timeout_ms;
		const char *ca_file;
		enum http_failure failure;
	} cases[] = {
	    {xasprintf("https://kubernetes:%d/", closed_port), LONG_MS, ca_file, HTTP_REFUSED},
	    {xasprintf("http://kubernetes:%d/", closed_port), LONG_MS, NULL, HTTP_REFUSED},
	    {xasprintf("https://kubernetes:%d/", deaf_port), 300, ca_file, HTTP_UNREACHED},
	    {xasprintf("https://kubernetes:%d/", silent_port), 300, ca_file, HTTP_TIMEOUT},
	    {url_of("/hang"), 300, ca_file, HTTP_TIMEOUT},
	    {url_of("/drip"), 300, ca_file, HTTP_TIMEOUT},
	    {url_of("/readyz"), LONG_MS, other_file, HTTP_TLS_PEER},
	    {url_of("/readyz"), LONG_MS, NULL, HTTP_TLS_PEER},
	    {xasprintf("https://stranger:%d/readyz", server.port), LONG_MS, ca_file, HTTP_TLS_PEER},
	    {xasprintf("https://127.0.0.1:%d/readyz", server.port), LONG_MS, ca_file, HTTP_TLS_PEER},
	    {url_of("/readyz"), LONG_MS, "/nonexistent/ca.crt", HTTP_TLS_OTHER},
	    {xasprintf("https://kubernetes:%d/junk", raw_port), LONG_MS, ca_file, HTTP_TLS_OTHER},
	    {xasprintf("http://kubernetes:%d/junk", raw_port), LONG_MS, NULL, HTTP_PROTOCOL},
	    {xasprintf("http://kubernetes:%d/short", raw_port), LONG_MS, NULL, HTTP_PROTOCOL},
	    {xasprintf("http://kubernetes:%d/reset", raw_port), LONG_MS, NULL, HTTP_PROTOCOL},
	    {url_of("/drop"), LONG_MS, ca_file, HTTP_REFUSED},
	    {xasprintf("https://kubernetes:%d/", reset_port), LONG_MS, ca_file, HTTP_REFUSED},
	    {xasprintf("http://kubernetes:%d/", reset_port), LONG_MS, NULL, HTTP_REFUSED},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct http_request request = request_to(cases[i].url);
		struct answer a = {0};
		int64_t start_us = mono_now_us();

		request.timeout_ms = cases[i].timeout_ms;
		request.ca_file = cases[i].ca_file;
		fetch(&request, &a);
		if (!CHECK_EQ_STR(http_failure_name(a.failure), http_failure_name(cases[i].failure)))
			(void) fprintf(stderr, "  %s: %s\n", cases[i].url, a.text);
		CHECK_EQ_INT(a.status, 0);
		CHECK(a.text != NULL && a.text[0] != '\0');
		if (cases[i].failure == HTTP_TIMEOUT)
			CHECK(mono_now_us() - start_us < 5 * US_PER_S);
		answer_fini(&a);
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		free((void *) (uintptr_t) cases[i].url);
}

/* The server, which never answers a request for this, is sent none. The connection is not one that
 * is kept. */
static void test_handshake_only(void)
{
	AUTO(free) char *url = url_of("/hang");
	struct http_request request = request_to(url);
	struct answer before = {0}, after = {0};

	fetch_path("/connection", &before);
	request.handshake_only = true;
	for (int i = 0; i < 2; i++) {
		struct answer a = {0};

		fetch(&request, &a);
		CHECK_EQ_STR(http_failure_name(a.failure), "ok");
		CHECK_EQ_INT(a.status, 0);
		request.ca_file = other_file;
		fetch(&request, &a);
		CHECK_EQ_STR(http_failure_name(a.failure), "tls-peer");
		request.ca_file = ca_file;
		answer_fini(&a);
	}
	fetch_path("/connection", &after);
	CHECK_EQ_STR(after.body, before.body);
	answer_fini(&before);
	answer_fini(&after);
}

/* An address in the URL, and another name to ask for. */

static void test_refused_requests(void)
{
	AUTO(free) char *token_file = xasprintf("%s/token", server.dir);
	struct answer a = {0};
	struct http_req *req = NULL;
	struct http_request request = request_to("https://kubernetes/readyz");

	request.connect_to.family = AF_UNSPEC;
	CHECK_EQ_INT(http_send(http, &request, on_done, &a, &req), -EINVAL);
	request.url = "kubernetes/readyz";
	CHECK_EQ_INT(http_send(http, &request, on_done, &a, &req), -EINVAL);
	request = request_to("https://kubernetes/readyz");
	request.timeout_ms = 0;
	CHECK_EQ_INT(http_send(http, &request, on_done, &a, &req), -EINVAL);
	request = request_to("https://kubernetes/readyz");
	request.bearer_token_file = "/nonexistent/token";
	CHECK_EQ_INT(http_send(http, &request, on_done, &a, &req), -ENOENT);
	request.bearer_token_file = token_file;
	CHECK_EQ_INT(file_write_atomic(token_file, "a b", 3, 0600, FILE_VOLATILE), 0);
	CHECK_EQ_INT(http_send(http, &request, on_done, &a, &req), -EBADMSG);
	CHECK_EQ_INT(file_write_atomic(token_file, "\n", 1, 0600, FILE_VOLATILE), 0);
	CHECK_EQ_INT(http_send(http, &request, on_done, &a, &req), -EBADMSG);
	CHECK(req == NULL);
	turn_for(ev, 50 * US_PER_MS);
	CHECK_EQ_INT(a.calls, 0);
}

/* Another host than localhost in the URL needs no resolver; neither does a literal. */
static void test_literals(void)
{
	AUTO(free) char *v4 = xasprintf("http://127.0.0.1:%d/", closed_port);
	AUTO(free) char *v6 = xasprintf("http://[::1]:%d/", closed_port);
	AUTO(free) char *any = xasprintf("http://kubernetes:%d/", closed_port);
	struct http_request request = {.timeout_ms = 1000};
	struct answer a = {0};

	request.url = v4;
	fetch(&request, &a);
	CHECK_EQ_INT(a.failure, HTTP_REFUSED);
	request.url = v6;
	fetch(&request, &a);
	CHECK_EQ_INT(a.failure, HTTP_REFUSED);
	request.url = any;
	CHECK_EQ_INT(addr_parse("::1", &request.connect_to), 0);
	fetch(&request, &a);
	CHECK_EQ_INT(a.failure, HTTP_REFUSED);
	CHECK(strstr(a.text, "resolve") == NULL);
	answer_fini(&a);
}

static void test_bodies(void)
{
	AUTO(free) char *huge = url_of("/huge");
	AUTO(free) char *endless = xasprintf("http://kubernetes:%d/endless", raw_port);
	struct http_request request = request_to(huge);
	struct answer a = {0};
	static const size_t limits[] = {0, 1, 4096, HUGE_BYTES - 1, HUGE_BYTES, HUGE_BYTES + 1};

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		request.max_body_bytes = limits[i];
		fetch(&request, &a);
		CHECK_EQ_INT(a.failure, HTTP_OK);
		CHECK_EQ_INT(a.status, 200);
		CHECK_EQ_INT(a.body_len, MIN(limits[i], (size_t) HUGE_BYTES));
		CHECK_EQ_INT(strlen(a.body), a.body_len);
	}
	request.url = endless;
	request.max_body_bytes = 100;
	fetch(&request, &a);
	CHECK_EQ_INT(a.status, 200);
	CHECK_EQ_INT(a.body_len, 100);
	CHECK(a.total_s < 2);
	answer_fini(&a);
}

/* Kept connections: the second request comes over the first one's. */
static void test_post(void)
{
	AUTO(free) char *post = url_of("/post");
	AUTO(free) char *later = url_of("/later");
	struct http_request request = request_to(post);
	struct answer a = {0};

	request.method = "POST";
	request.body = "{\"server\":42}";
	request.bearer_token = "secret";
	fetch(&request, &a);
	CHECK_EQ_STR(a.body, "POST|application/json|13|Bearer secret");
	CHECK_EQ_INT(a.retry_after_s, 0);
	request.url = later;
	fetch(&request, &a);
	CHECK_EQ_INT(a.status, 503);
	CHECK_EQ_INT(a.retry_after_s, 7);
	answer_fini(&a);
}

static void test_not_after(void)
{
	AUTO(free) char *url = url_of("/readyz");
	struct http_request request = request_to(url);
	struct answer a = {0};

	request.not_after_us = mono_now_us() + 2 * WAIT_US;
	fetch(&request, &a);
	CHECK_EQ_INT(a.status, 200);
	/* On the connection that is there, and on a new one. */
	for (int i = 0; i < 2; i++) {
		request.not_after_us = mono_now_us();
		request.tell_peer = i == 1;
		fetch(&request, &a);
		CHECK_EQ_INT(a.failure, HTTP_TIMEOUT);
		CHECK_EQ_STR(a.text, "its time was over before it was sent");
	}
	answer_fini(&a);
}

static void test_reuse(void)
{
	struct answer first = {0}, second = {0};

	fetch_path("/connection", &first);
	fetch_path("/connection", &second);
	CHECK(first.body != NULL && second.body != NULL);
	CHECK_EQ_STR(second.body, first.body);
	/* Not with other certificates. */
	{
		AUTO(free) char *url = url_of("/connection");
		struct http_request request = request_to(url);

		request.client_cert_file = cert_file;
		request.client_key_file = key_file;
		fetch(&request, &second);
		CHECK(strcmp(second.body, first.body) != 0);
	}
	/* And a new connection is a new handshake, as a resumed one would not look at certificates. */
	fetch_path("/session", &first);
	fetch_path("/session", &second);
	CHECK_EQ_STR(first.body, ".");
	CHECK_EQ_STR(second.body, ".");
	answer_fini(&first);
	answer_fini(&second);
}

/* One name and one port behind two addresses: each has its own connection. */
static void test_addresses(void)
{
	AUTO(free) char *url = url_of("/address");
	struct http_request request = request_to(url);
	struct answer a = {0};

	for (int i = 0; i < 2; i++) {
		CHECK_EQ_INT(addr_parse("127.0.0.1", &request.connect_to), 0);
		fetch(&request, &a);
		CHECK_EQ_STR(a.body, "127.0.0.1");
		CHECK_EQ_INT(addr_parse("127.0.0.2", &request.connect_to), 0);
		fetch(&request, &a);
		CHECK_EQ_STR(a.body, "127.0.0.2");
	}
	answer_fini(&a);
}

/* --- the contract of the callbacks --- */

/* Requests that all end in the same turn of the loop (refused), and one that never does (hang). */
#define OTHERS 4

static struct http_req *others[OTHERS];
static struct answer other_answers[OTHERS];

static void (*on_first)(void); /* what the first callback of them does; curl says which it is */

static void on_other_done(const struct http_response *response, void *userdata)
{
	void (*act)(void) = on_first;

	on_done(response, userdata);
	on_first = NULL;
	if (act != NULL)
		act();
	/* What was handed over stays valid until the return, whatever was cancelled or freed. */
	CHECK_EQ_INT(strlen(response->body), response->body_len);
	CHECK(strlen(response->failure_text) > 0);
}

static void cancel_the_rest(void)
{
	for (size_t i = 0; i < OTHERS; i++) {
		if (other_answers[i].calls == 0)
			http_cancel(others[i]);
	}
}

static void free_all(void)
{
	http_free(TAKE_PTR(http));
}

static unsigned count_calls(void)
{
	unsigned calls = 0;

	for (size_t i = 0; i < OTHERS; i++)
		calls += other_answers[i].calls;
	return calls;
}

/* Sends them, waits for longer than the last one takes, and counts the callbacks. */
static void check_others(void (*first)(void), bool cancel_at_once, unsigned want_calls)
{
	AUTO(free) char *refused = xasprintf("http://127.0.0.1:%d/", closed_port);
	AUTO(free) char *hang = url_of("/hang");
	unsigned calls = 0;

	on_first = first;
	for (size_t i = 0; i < OTHERS; i++) {
		struct http_request request = request_to(i < OTHERS - 1 ? refused : hang);

		request.timeout_ms = 200;
		CHECK_EQ_INT(http_send(http, &request, on_other_done, &other_answers[i], &others[i]), 0);
	}
	if (cancel_at_once)
		cancel_the_rest();
	(void) TURN_UNTIL(ev, count_calls() >= want_calls);
	/* Longer than the last one takes. */
	turn_for(ev, 300 * US_PER_MS);
	for (size_t i = 0; i < OTHERS; i++) {
		CHECK(other_answers[i].calls <= 1);
		calls += other_answers[i].calls;
		answer_fini(&other_answers[i]);
		others[i] = NULL;
	}
	CHECK_EQ_INT(calls, want_calls);
}

static void send_again(const struct http_response *response, void *userdata)
{
	struct answer *a = userdata;
	AUTO(free) char *url = url_of("/readyz");
	struct http_request request = request_to(url);
	struct http_req *req;

	on_done(response, userdata);
	if (a->calls < 3)
		CHECK_EQ_INT(http_send(http, &request, send_again, a, &req), 0);
}

static void test_callbacks(void)
{
	AUTO(free) char *url = url_of("/readyz");
	struct http_request request = request_to(url);
	struct http_req *req = NULL;
	struct answer a = {0};

	http_cancel(NULL);
	check_others(NULL, false, OTHERS);
	check_others(NULL, true, 0);
	check_others(cancel_the_rest, false, 1);
	check_others(free_all, false, 1);
	CHECK(http == NULL);
	CHECK_EQ_INT(http_new(ev, &http), 0);
	/* A callback that goes on. */
	CHECK_EQ_INT(http_send(http, &request, send_again, &a, &req), 0);
	wait_for(&a, 3);
	answer_fini(&a);
}

static void on_closed(void *userdata)
{
	++*(unsigned *) userdata;
}

/* The peer's end of a kept connection is seen when it comes, once; that of one that we closed is
 * not. */
static void test_closed(void)
{
	AUTO(free) char *url = url_of("/readyz"), *session = url_of("/session");
	struct http *shared = http;
	struct http_request request = request_to(url);
	struct answer a = {0};
	unsigned n_closed = 0;

	CHECK_EQ_INT(http_new(ev, &http), 0);
	CHECK_EQ_INT(http_watch_closed(http, on_closed, &n_closed), 0);
	request.url = session; /* "Connection: close" */
	fetch(&request, &a);
	request.url = url;
	for (int i = 0; i < 3; i++)
		fetch(&request, &a);
	turn_for(ev, 50 * US_PER_MS);
	CHECK_EQ_INT(n_closed, 0);
	nginx_stop(&server);
	CHECK(TURN_UNTIL(ev, n_closed > 0));
	turn_for(ev, 50 * US_PER_MS);
	CHECK_EQ_INT(n_closed, 1);
	fetch(&request, &a);
	CHECK_EQ_INT(a.failure, HTTP_REFUSED);
	CHECK(a.refused_here);
	CHECK_EQ_INT(n_closed, 1);
	answer_fini(&a);
	http_free(http);
	http = shared;
}

/* The last test, as it leaves the network of the servers. */
static void test_refused_here(void)
{
	static const struct {
		const char *url;
		bool here;
	} cases[] = {
	    {"http://127.0.0.1:1/", true}, {"http://127.0.0.9:1/", true}, {"http://[::1]:1/", true},
	    {"http://10.9.0.1:1/", true},  {"http://10.9.0.2:1/", false},
	};
	struct answer a = {0};

	(void) netns_enter_new();
	netns_run(
	    "ip link add d0 type veth peer d1; ip address add 10.9.0.1/24 dev d0; ip link set d0 up");
	netns_run("nft 'table ip t { chain o { type filter hook output priority 0; "
	          "ip daddr 10.9.0.2 reject with tcp reset; }; }'");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct http_request request = request_to(cases[i].url);

		request.connect_to.family = AF_UNSPEC;
		fetch(&request, &a);
		if (!CHECK_EQ_STR(http_failure_name(a.failure), "refused") ||
		    !CHECK_EQ_INT(a.refused_here, cases[i].here))
			(void) fprintf(stderr, "  %s: %s\n", cases[i].url, a.text);
	}
	answer_fini(&a);
}

int main(void)
{
	static void (*const tests[])(void) = {
	    test_statuses,  test_request,   test_failures, test_handshake_only, test_refused_requests,
	    test_literals,  test_bodies,    test_post,     test_not_after,      test_reuse,
	    test_addresses, test_callbacks, test_closed,   test_refused_here,
	};

	return http_test(tests, ARRAY_SIZE(tests));
}
