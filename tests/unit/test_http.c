/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP client against a real nginx with TLS, a silent socket, and a port where nobody listens.
 */
#include "web/http.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/mono.h"
#include "tests/unit/check.h"
#include "tests/unit/nginx.h"
#include "tests/unit/turn.h"
#include "web/certificate.h"

#define WAIT_US TURN_LIMIT_US
/* For what comes at once on a machine that is not busy. */
#define LONG_MS 20000
#define HUGE_BYTES (3 * 1024 * 1024)

static struct ev_loop *ev;
static struct http *http;
static struct nginx server;
static int reset_port, silent_port, deaf_port, closed_port, raw_port;
static char ca_file[64], other_file[64], cert_file[64], key_file[64];

struct answer {
	unsigned calls;
	enum http_failure failure;
	int status;
	char *body;
	size_t body_len;
	char *text;
	double total_s;
	int64_t request_us;
	unsigned retry_after_s;
	struct http_peer peer;
};

static void answer_fini(struct answer *a)
{
	free(a->body);
	free(a->text);
	*a = (struct answer){0};
}

static void on_done(const struct http_response *response, void *userdata)
{
	struct answer *a = userdata;

	a->calls++;
	a->failure = response->failure;
	a->status = response->status;
	free(a->body);
	a->body = xstrdup(response->body);
	a->body_len = response->body_len;
	free(a->text);
	a->text = xstrdup(response->failure_text);
	a->total_s = response->total_s;
	a->request_us = response->request_us;
	a->retry_after_s = response->retry_after_s;
	a->peer = response->peer;
}

static void wait_for(const struct answer *a, unsigned calls)
{
	int64_t deadline_us = mono_now_us() + WAIT_US;

	while (a->calls < calls && mono_now_us() < deadline_us)
		turn_once(ev);
	CHECK_EQ_INT(a->calls, calls);
}

/* To nginx, by its name, unless told otherwise. */
static struct http_request request_to(const char *url)
{
	struct http_request request = {
	    .url = url, .ca_file = ca_file, .timeout_ms = LONG_MS, .max_body_bytes = 4096};

	(void) addr_parse("127.0.0.1", &request.connect_to);
	return request;
}

static char *url_of(const char *path)
{
	return xasprintf("https://kubernetes:%d%s", server.port, path);
}

static void fetch(const struct http_request *request, struct answer *a)
{
	struct http_req *req = NULL;

	answer_fini(a);
	if (!CHECK_EQ_INT(http_send(http, request, on_done, a, &req), 0))
		return;
	CHECK_EQ_INT(a->calls, 0);
	wait_for(a, 1);
}

static void fetch_path(const char *path, struct answer *a)
{
	AUTO(free) char *url = url_of(path);
	struct http_request request = request_to(url);

	fetch(&request, a);
}

/* A server that answers as no server should, in a child of its own, until it is killed. */
static void serve_raw(int listener)
{
	for (;;) {
		char in[2048] = "";
		int fd = accept(listener, NULL, NULL);
		ssize_t n = read(fd, in, sizeof(in) - 1);

		if (n > 0 && strncmp(in, "GET /junk", 9) == 0) {
			(void) !write(fd, "hello\r\n\r\n", 9);
		} else if (n > 0 && strncmp(in, "GET /short", 10) == 0) {
			(void) !write(fd, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", 41);
		} else if (n > 0 && strncmp(in, "GET /reset", 10) == 0) {
			struct linger hard = {.l_onoff = 1};

			(void) !write(fd, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", 41);
			(void) usleep(50 * 1000);
			(void) setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
		} else if (n > 0 && strncmp(in, "GET /endless", 12) == 0) {
			(void) !write(fd, "HTTP/1.1 200 OK\r\n\r\n", 19);
			while (write(fd, in, sizeof(in)) > 0)
				;
		} else {
			/* A TLS hello gets an answer that is not TLS. */
			(void) !write(fd, "HTTP/1.1 400 Bad\r\n\r\n", 20);
		}
		(void) close(fd);
	}
}

/* One that accepts, waits for the hello, and resets: a server that is killed does so. */
static void serve_resets(int listener)
{
	for (;;) {
		struct linger hard = {.l_onoff = 1};
		int fd = accept(listener, NULL, NULL);
		char in[16];

		(void) !read(fd, in, sizeof(in));
		(void) setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
		(void) close(fd);
	}
}

static pid_t start_child(void (*serve)(int listener), int *ret_port)
{
	int listener = nginx_listen(16, ret_port);
	pid_t pid = fork();

	if (pid == 0) {
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(listener);
	}
	(void) close(listener);
	return pid;
}

/* --- what comes back -------------------------------------------------------------------------- */

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

static char *read_text(const char *path)
{
	char *text = NULL;
	size_t len;

	CHECK_EQ_INT(file_read(path, 1 << 20, &text, &len), 0);
	return text;
}

/* Contents instead of files, and each wins over its file. */
static void test_inline(void)
{
	AUTO(free) char *url = url_of("/echo");
	AUTO(free) char *ca = read_text(ca_file);
	AUTO(free) char *other = read_text(other_file);
	AUTO(free) char *cert = read_text(cert_file);
	AUTO(free) char *key = read_text(key_file);
	struct http_request request = request_to(url);
	struct answer a = {0};

	request.ca_file = "/nonexistent/ca.crt";
	request.ca_pem = ca;
	request.client_cert_pem = cert;
	request.client_key_pem = key;
	request.bearer_token_file = "/nonexistent/token";
	request.bearer_token = "inline";
	fetch(&request, &a);
	CHECK_EQ_STR(a.body, "GET|kubernetes|Bearer inline|CN=prober");
	request.ca_file = ca_file;
	request.ca_pem = other;
	fetch(&request, &a);
	CHECK_EQ_STR(http_failure_name(a.failure), "tls-peer");
	answer_fini(&a);
}

/* Files that hold something else than they should: not the peer's fault. */
static void test_bad_files(void)
{
	AUTO(free) char *url = url_of("/echo");
	AUTO(free) char *junk = xasprintf("%s/junk", server.dir);
	AUTO(free) char *empty = xasprintf("%s/empty", server.dir);
	struct {
		const char *ca_file, *cert_file, *key_file;
		const char *named;
	} cases[] = {
	    {junk, NULL, NULL, junk},
	    {empty, NULL, NULL, empty},
	    {server.dir, NULL, NULL, server.dir},
	    {"/nonexistent", NULL, NULL, "/nonexistent"},
	    {ca_file, junk, key_file, junk},
	    {ca_file, "/nonexistent", key_file, "/nonexistent"},
	    {ca_file, cert_file, junk, cert_file},
	    {ca_file, cert_file, empty, cert_file},
	    {ca_file, cert_file, "/nonexistent", cert_file},
	    {ca_file, ca_file, key_file, ca_file}, /* does not belong together */
	};

	CHECK_EQ_INT(file_write_atomic(junk, "junk\n", 5, 0600, FILE_VOLATILE), 0);
	CHECK_EQ_INT(file_write_atomic(empty, "", 0, 0600, FILE_VOLATILE), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct http_request request = request_to(url);
		struct answer a = {0};

		request.ca_file = cases[i].ca_file;
		request.client_cert_file = cases[i].cert_file;
		request.client_key_file = cases[i].key_file;
		fetch(&request, &a);
		CHECK_EQ_STR(http_failure_name(a.failure), "tls");
		if (!CHECK(a.text != NULL && strstr(a.text, cases[i].named) != NULL))
			(void) fprintf(stderr, "  case %zu: %s\n", i, a.text);
		answer_fini(&a);
	}
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

/* An address in the URL, and another name to ask for. */
static void test_server_name(void)
{
	AUTO(free) char *url = xasprintf("https://127.0.0.1:%d/echo", server.port);
	struct http_request request = request_to(url);
	struct answer a = {0};

	request.connect_to = (struct addr){0};
	request.server_name = "kubernetes";
	fetch(&request, &a);
	CHECK_EQ_STR(a.body, "GET|kubernetes||");
	request.server_name = "stranger";
	fetch(&request, &a);
	CHECK_EQ_STR(http_failure_name(a.failure), "tls-peer");
	request.server_name = NULL;
	fetch(&request, &a);
	CHECK_EQ_STR(http_failure_name(a.failure), "tls-peer");
	answer_fini(&a);
}

/* The name to verify may be an address. */
static void test_server_address(void)
{
	static const char *const names[] = {"127.0.0.1", "::1", "10.0.0.5", "fd00::5", "fd00::6"};
	AUTO(free) char *url = xasprintf("https://127.0.0.1:%d/echo", server.port + 1);
	struct http_request request = request_to(url);
	struct answer a = {0};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		request.server_name = names[i];
		fetch(&request, &a);
		CHECK_EQ_STR(http_failure_name(a.failure), i == 4 ? "tls-peer" : "ok");
	}
	answer_fini(&a);
}

/* What cannot be sent is refused at once. */
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

/* --- the contract of the callbacks ------------------------------------------------------------ */

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

/* --- certificates that rotate ----------------------------------------------------------------- */

static void copy(const char *from, const char *to)
{
	nginx_shell(&server, "cp %s tmp && mv tmp %s", from, to);
}

/* The same file names and the same server all along: what is on disk now decides, also where a kept
 * connection would do without. */
static void test_rotation_kept(void)
{
	AUTO(free) char *url = url_of("/echo");
	struct http_request request = request_to(url);
	struct answer a = {0}, connection = {0};

	copy("ca.crt", "ca.saved");
	request.client_cert_file = cert_file;
	request.client_key_file = key_file;
	fetch(&request, &a);
	CHECK_EQ_STR(a.body, "GET|kubernetes||CN=prober");
	fetch_path("/connection", &connection);

	copy("other.crt", "ca.crt");
	fetch(&request, &a);
	CHECK_EQ_STR(http_failure_name(a.failure), "tls-peer");
	copy("ca.saved", "ca.crt");
	fetch(&request, &a);
	CHECK_EQ_STR(a.body, "GET|kubernetes||CN=prober");
	/* Equal bytes are equal: the old connection serves again. */
	fetch_path("/connection", &a);
	CHECK_EQ_STR(a.body, connection.body);

	nginx_make_cert(&server, "ca", "renewed", "renewed");
	copy("renewed.crt", "client.crt");
	copy("renewed.key", "client.key");
	fetch(&request, &a);
	CHECK_EQ_STR(a.body, "GET|kubernetes||CN=renewed");
	answer_fini(&a);
	answer_fini(&connection);
}

/* The same file names all along; nobody but the server restarts. */
static void test_rotation(void)
{
	struct answer a = {0};

	fetch_path("/readyz", &a);
	CHECK_EQ_INT(a.failure, HTTP_OK);

	/* The server's certificate comes from a new CA, which our file does not hold yet. */
	nginx_make_ca(&server, "new");
	nginx_make_cert(&server, "new", "server", "kubernetes");
	nginx_stop(&server);
	nginx_start(&server, "location / { return 200 new; }");
	fetch_path("/readyz", &a);
	CHECK_EQ_STR(http_failure_name(a.failure), "tls-peer");
	nginx_shell(&server, "cat new.crt >>ca.crt");
	fetch_path("/readyz", &a);
	CHECK_EQ_INT(a.failure, HTTP_OK);
	CHECK_EQ_STR(a.body, "new");

	/* And the old CA leaves: a new connection sees that too. */
	nginx_shell(&server, "cp other.crt ca.crt");
	nginx_stop(&server);
	nginx_start(&server, "location / { return 200 new; }");
	fetch_path("/readyz", &a);
	CHECK_EQ_STR(http_failure_name(a.failure), "tls-peer");
	answer_fini(&a);
}

/* Each time anew; and nothing where it is not asked for. */
static void test_peer(void)
{
	AUTO(free) char *path = xasprintf("%s/server.crt", server.dir);
	AUTO(free) char *url = url_of("/readyz");
	struct http_request request = request_to(url);
	int64_t end_s = 0;
	struct answer a = {0};

	CHECK_EQ_INT(certificate_file_end(path, &end_s), 0);
	CHECK(end_s > wall_now_us() / US_PER_S + 86400 &&
	      end_s <= wall_now_us() / US_PER_S + 2 * 86400);
	fetch(&request, &a);
	CHECK_EQ_INT(a.peer.date_s, 0);
	CHECK_EQ_INT(a.peer.not_after_s, 0);
	request.tell_peer = true;
	for (int i = 0; i < 2; i++) {
		fetch(&request, &a);
		CHECK_EQ_INT(a.peer.not_after_s, end_s);
		/* It is this machine's own clock, in whole seconds. */
		CHECK(a.peer.date_s * US_PER_S <= a.peer.date_seen_us);
		CHECK((a.peer.date_s + 2) * US_PER_S > a.peer.date_seen_us - a.request_us);
	}
	/* One that is not accepted is seen all the same. */
	request.ca_file = other_file;
	fetch(&request, &a);
	CHECK_EQ_STR(http_failure_name(a.failure), "tls-peer");
	CHECK_EQ_INT(a.peer.not_after_s, end_s);
	CHECK_EQ_INT(a.peer.date_s, 0);
	request.tell_peer = false;
	fetch(&request, &a);
	CHECK_EQ_INT(a.peer.not_after_s, 0);
	answer_fini(&a);
}

/* A chain counts by the first of it that ends. */
static void test_certificate_files(void)
{
	AUTO(free) char *chain = xasprintf("%s/chain.pem", server.dir);
	AUTO(free) char *key = xasprintf("%s/server.key", server.dir);
	AUTO(free) char *bad = xasprintf("%s/bad.pem", server.dir);
	int64_t end_s = 0, ca_s = 0;

	nginx_shell(&server,
	            "openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 1 "
	            "-out short.crt && cat ca.crt server.key short.crt >chain.pem && "
	            "{ cat ca.crt; head -n 3 server.crt; } >bad.pem");
	CHECK_EQ_INT(certificate_file_end(ca_file, &ca_s), 0);
	CHECK_EQ_INT(certificate_file_end(chain, &end_s), 0);
	CHECK(end_s < ca_s - 80000);
	CHECK_EQ_INT(certificate_file_end(key, &end_s), -ENODATA);
	CHECK_EQ_INT(certificate_file_end(bad, &end_s), -EBADMSG);
	CHECK_EQ_INT(certificate_file_end("/nonexistent", &end_s), -ENOENT);
}

static void start(void)
{
	AUTO(free) char *directives = NULL;

	nginx_init(&server);
	(void) nginx_listen(16, &silent_port);
	nginx_listen_deaf(&deaf_port);
	(void) close(nginx_listen(1, &closed_port));
	(void) snprintf(ca_file, sizeof(ca_file), "%s/ca.crt", server.dir);
	(void) snprintf(other_file, sizeof(other_file), "%s/other.crt", server.dir);
	(void) snprintf(cert_file, sizeof(cert_file), "%s/client.crt", server.dir);
	(void) snprintf(key_file, sizeof(key_file), "%s/client.key", server.dir);
	nginx_shell(&server, "head -c %d /dev/zero | tr '\\0' x >huge", HUGE_BYTES);
	nginx_shell(&server, "head -c 100 huge >drip");
	nginx_make_cert(&server, "ca", "ips", "ips");
	nginx_shell(&server,
	            "printf 'subjectAltName=IP:127.0.0.1,IP:::1,IP:10.0.0.5,IP:fd00::5' >ips.ext "
	            "&& openssl x509 -req -in ips.csr -CA ca.crt -CAkey ca.key "
	            "-CAcreateserial -days 2 -extfile ips.ext -out ips.crt");
	directives =
	    xasprintf("listen 127.0.0.2:%d ssl; location /readyz { return 200 ok; }\n"
	              "location /500 { return 500 \"[+]ping ok\\n[-]etcd failed: reason withheld\\n"
	              "readyz check failed\\n\"; }\n"
	              "location /401 { return 401 no; }\n"
	              "location /429 { return 429; }\n"
	              "location /post { return 200 "
	              "\"$request_method|$content_type|$content_length|$http_authorization\"; }\n"
	              "location /later { add_header Retry-After 7 always; return 503; }\n"
	              "location /empty { return 204; }\n"
	              "location /moved { return 302 /readyz; }\n"
	              "location /drop { return 444; }\n"
	              "location /drip { limit_rate 10; }\n"
	              "location /hang { proxy_pass http://127.0.0.1:%d; }\n"
	              "location /session { keepalive_timeout 0; "
	              "return 200 \"$ssl_session_reused\"; }\n"
	              "location /address { return 200 $server_addr; }\n"
	              "location /connection { return 200 $connection; }\n"
	              "location /echo { return 200 "
	              "\"$request_method|$host|$http_authorization|$ssl_client_s_dn\"; } }\n"
	              "server { listen 127.0.0.1:%d ssl; ssl_certificate ips.crt; "
	              "ssl_certificate_key ips.key; location / { return 200 $host; }\n",
	              server.port, silent_port, server.port + 1);
	nginx_start(&server, directives);
}

int main(void)
{
	pid_t raw, resets;

	(void) signal(SIGPIPE, SIG_IGN);
	/* A proxy that the environment names must not be asked. */
	(void) setenv("https_proxy", "http://127.0.0.1:1", 1);
	(void) setenv("http_proxy", "http://127.0.0.1:1", 1);
	ev = ev_loop_new(EVFLAG_AUTO);
	start();
	raw = start_child(serve_raw, &raw_port);
	resets = start_child(serve_resets, &reset_port);
	CHECK_EQ_INT(http_new(ev, &http), 0);

	test_statuses();
	test_bad_files();
	test_request();
	test_inline();
	test_failures();
	test_server_name();
	test_server_address();
	test_refused_requests();
	test_literals();
	test_bodies();
	test_post();
	test_not_after();
	test_reuse();
	test_peer();
	test_certificate_files();
	test_addresses();
	test_callbacks();
	test_rotation_kept();
	test_rotation();

	http_free(http);
	ev_loop_destroy(ev);
	(void) kill(raw, SIGKILL);
	(void) kill(resets, SIGKILL);
	(void) waitpid(raw, NULL, 0);
	(void) waitpid(resets, NULL, 0);
	nginx_fini(&server);
	return check_result();
}
