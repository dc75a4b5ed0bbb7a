/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The HTTP client, and what it talks to: a real nginx with TLS, a silent socket, a deaf one, one
 * that resets, one that sends what it wants, and a port where nobody listens.
 */

#include "web/http.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "tests/unit/check.h"
#include "tests/unit/nginx.h"
#include "tests/unit/turn.h"

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
	bool refused_here;
	int status;
	char *body;
	size_t body_len;
	char *text;
	double total_s;
	int64_t request_us;
	unsigned retry_after_s;
	struct http_peer peer;
};

static inline UNUSED void answer_fini(struct answer *a)
{
	free(a->body);
	free(a->text);
	*a = (struct answer){0};
}

static inline UNUSED void on_done(const struct http_response *response, void *userdata)
{
	struct answer *a = userdata;

	a->calls++;
	a->failure = response->failure;
	a->refused_here = response->refused_here;
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

static inline UNUSED void wait_for(const struct answer *a, unsigned calls)
{
	int64_t deadline_us = mono_now_us() + WAIT_US;

	while (a->calls < calls && mono_now_us() < deadline_us)
		turn_once(ev);
	CHECK_EQ_INT(a->calls, calls);
}

/* To nginx, by its name, unless told otherwise. */
static inline UNUSED struct http_request request_to(const char *url)
{
	struct http_request request = {
	    .url = url, .ca_file = ca_file, .timeout_ms = LONG_MS, .max_body_bytes = 4096};

	(void) addr_parse("127.0.0.1", &request.connect_to);
	return request;
}

static inline UNUSED char *url_of(const char *path)
{
	return xasprintf("https://kubernetes:%d%s", server.port, path);
}

static inline UNUSED void fetch(const struct http_request *request, struct answer *a)
{
	struct http_req *req = NULL;

	answer_fini(a);
	if (!CHECK_EQ_INT(http_send(http, request, on_done, a, &req), 0))
		return;
	CHECK_EQ_INT(a->calls, 0);
	wait_for(a, 1);
}

static inline UNUSED void fetch_path(const char *path, struct answer *a)
{
	AUTO(free) char *url = url_of(path);
	struct http_request request = request_to(url);

	fetch(&request, a);
}

/* A server that answers as no server should, in a child of its own, until it is killed. */
static inline UNUSED void serve_raw(int listener)
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
static inline UNUSED void serve_resets(int listener)
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

static inline UNUSED pid_t start_child(void (*serve)(int listener), int *ret_port)
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

static inline UNUSED void start(void)
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

/* All of them, in one process and with one client. */
static inline UNUSED int http_test(void (*const *tests)(void), size_t n)
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

	for (size_t i = 0; i < n; i++)
		tests[i]();

	http_free(http);
	ev_loop_destroy(ev);
	(void) kill(raw, SIGKILL);
	(void) kill(resets, SIGKILL);
	(void) waitpid(raw, NULL, 0);
	(void) waitpid(resets, NULL, 0);
	nginx_fini(&server);
	return check_result();
}
