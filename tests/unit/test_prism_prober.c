/* SPDX-License-Identifier: Apache-2.0 */
/* Probes of a real nginx: what each kind of answer becomes, and that connections are kept. */
#include "prism/probe/prober.h"

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

static struct ev_loop *ev;
static struct nginx server;
static int silent_port, closed_port, full_port;
static char path[64], server_name[64], ca_file[64], other_file[64], cert_file[64], key_file[64],
    token_file[64];

/* The answers, in the order in which they came. */
static struct {
	uint64_t id;
	char verdict[16];
	char reason[256];
	int64_t rtt_us;
} answers[PROBER_PROBES_MAX + 8];
static size_t n_answers;

static void on_verdict(uint64_t id, const char *verdict, const char *reason, int64_t rtt_us,
                       void *userdata)
{
	CHECK(userdata == answers);
	if (!CHECK(n_answers < ARRAY_SIZE(answers)))
		return;
	answers[n_answers].id = id;
	(void) snprintf(answers[n_answers].verdict, sizeof(answers[0].verdict), "%s", verdict);
	(void) snprintf(answers[n_answers].reason, sizeof(answers[0].reason), "%s", reason);
	answers[n_answers++].rtt_us = rtt_us;
}

static void wait_answers(size_t n)
{
	int64_t deadline_us = mono_now_us() + WAIT_US;

	while (n_answers < n && mono_now_us() < deadline_us)
		turn_once(ev);
	CHECK_EQ_INT(n_answers, n);
}

static struct endpoint at(const char *host, int port)
{
	struct endpoint e = {.port = (uint16_t) port};

	CHECK_EQ_INT(addr_parse(host, &e.addr), 0);
	return e;
}

/* As prism asks by default, with a path of the test's. */
static struct settings settings_for(const char *wanted_path)
{
	(void) snprintf(path, sizeof(path), "%s", wanted_path);
	(void) snprintf(server_name, sizeof(server_name), "kubernetes");
	return (struct settings){
	    .checks = true,
	    .path = path,
	    .server_name = server_name,
	    .ca_file = ca_file,
	    .timeout_ms = 3000,
	};
}

static void probe_once(struct prober *prober, const struct endpoint *endpoint)
{
	n_answers = 0;
	prober_probe(prober, 7, endpoint);
	CHECK_EQ_INT(n_answers, 0);
	wait_answers(1);
	CHECK_EQ_INT(answers[0].id, 7);
}

/* --- what an answer becomes --- */

static void test_verdicts(void)
{
	const struct {
		const char *path;
		const char *server_name;
		char *ca_file;
		int port;
		const char *verdict;
		const char *reason;
	} cases[] = {
	    {"/200", "kubernetes", ca_file, server.port, "ready", "readyz 200"},
	    {"/500", "kubernetes", ca_file, server.port, "not_ready", "readyz 500: etcd failed"},
	    {"/503", "kubernetes", ca_file, server.port, "not_ready", "readyz 503"},
	    {"/401", "kubernetes", ca_file, server.port, "alive",
	     "readyz 401: alive, readiness unknown"},
	    {"/403", "kubernetes", ca_file, server.port, "alive",
	     "readyz 403: alive, readiness unknown"},
	    {"/404", "kubernetes", ca_file, server.port, "alive",
	     "readyz 404: alive, readiness unknown"},
	    {"/429", "kubernetes", ca_file, server.port, "busy", "readyz 429: alive, overloaded"},
	    {"/moved", "kubernetes", ca_file, server.port, "alive",
	     "readyz 302: alive, readiness unknown"},
	    {"/huge", "kubernetes", ca_file, server.port, "ready", "readyz 200"},
	    {"/drop", "kubernetes", ca_file, server.port, "down", "connection refused"},
	    {"/hang", "kubernetes", ca_file, server.port, "stalled", "no answer in time"},
	    {"/200", "kubernetes", other_file, server.port, "untrusted",
	     "wrong certificate: SSL certificate problem: unable to get local issuer certificate"},
	    {"/200", "stranger", ca_file, server.port, "untrusted",
	     "wrong certificate: SSL: no alternative certificate subject name matches target host "
	     "name 'stranger'"},
	    {"/200", "kubernetes", ca_file, closed_port, "down", "connection refused"},
	    {"/200", "kubernetes", ca_file, silent_port, "silent", "no answer in time"},
	    {"/200", "kubernetes", ca_file, full_port, "unreached",
	     "no answer to a connection attempt"},
	    {"/200", "kubernetes", ca_file, server.port + 1, "broken", NULL}, /* not TLS */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct settings settings = settings_for(cases[i].path);
		AUTO(prober_free) struct prober *prober = NULL;
		struct endpoint endpoint = at("127.0.0.1", cases[i].port);
		int64_t start_us = mono_now_us();

		(void) snprintf(server_name, sizeof(server_name), "%s", cases[i].server_name);
		settings.ca_file = cases[i].ca_file;
		settings.timeout_ms = cases[i].port == full_port || cases[i].port == silent_port ||
		                              strcmp(cases[i].verdict, "stalled") == 0
		                          ? 200
		                          : 3000;
		prober = prober_new(ev, &settings, on_verdict, answers);
		probe_once(prober, &endpoint);
		if (!CHECK_EQ_STR(answers[0].verdict, cases[i].verdict))
			(void) fprintf(stderr, "  case %zu: %s\n", i, answers[0].reason);
		if (cases[i].reason != NULL)
			CHECK_EQ_STR(answers[0].reason, cases[i].reason);
		CHECK((answers[0].rtt_us > 0) == (strncmp(answers[0].reason, "readyz ", 7) == 0));
		CHECK(answers[0].rtt_us < mono_now_us() - start_us);
	}
}

/* Who asks: a client certificate, a token, and what is wrong with our own files. */
static void test_identity(void)
{
	struct settings settings = settings_for("/who");
	struct prober *prober = prober_new(ev, &settings, on_verdict, answers);
	struct endpoint endpoint = at("127.0.0.1", server.port);

	probe_once(prober, &endpoint);
	CHECK_EQ_STR(answers[0].reason, "readyz 500: || failed");
	settings.client_cert_file = cert_file;
	settings.client_key_file = key_file;
	settings.token_file = token_file;
	probe_once(prober, &endpoint);
	CHECK_EQ_STR(answers[0].verdict, "broken");
	CHECK(strstr(answers[0].reason, token_file) != NULL &&
	      strstr(answers[0].reason, "No such file") != NULL);
	CHECK_EQ_INT(file_write_atomic(token_file, "t1\n", 3, 0600, FILE_VOLATILE), 0);
	probe_once(prober, &endpoint);
	CHECK_EQ_STR(answers[0].reason, "readyz 500: |CN=prober|Bearer_t1 failed");
	/* All of it rotates while the connection is kept. */
	CHECK_EQ_INT(file_write_atomic(token_file, "t2\n", 3, 0600, FILE_VOLATILE), 0);
	nginx_make_cert(&server, "ca", "renewed", "renewed");
	nginx_shell(&server, "mv renewed.crt client.crt && mv renewed.key client.key");
	probe_once(prober, &endpoint);
	CHECK_EQ_STR(answers[0].reason, "readyz 500: |CN=renewed|Bearer_t2 failed");
	nginx_shell(&server, "cp ca.crt saved.crt && cp other.crt new.crt && mv new.crt ca.crt");
	probe_once(prober, &endpoint);
	CHECK_EQ_STR(answers[0].verdict, "untrusted");
	nginx_shell(&server, "mv saved.crt ca.crt");
	probe_once(prober, &endpoint);
	CHECK_EQ_STR(answers[0].reason, "readyz 500: |CN=renewed|Bearer_t2 failed");
	/* The node's own pair is for what is told no other. */
	settings.client_directory = server.dir;
	probe_once(prober, &endpoint);
	CHECK_EQ_STR(answers[0].reason, "readyz 500: |CN=renewed|Bearer_t2 failed");
	settings.client_cert_file = settings.client_key_file = settings.token_file = NULL;
	probe_once(prober, &endpoint);
	CHECK_EQ_STR(answers[0].reason, "readyz 500: || failed");
	nginx_make_cert(&server, "ca", "probe", "fairlead-probe");
	probe_once(prober, &endpoint);
	CHECK_EQ_STR(answers[0].reason, "readyz 500: |CN=fairlead-probe| failed");
	nginx_shell(&server, "rm probe.key");
	probe_once(prober, &endpoint);
	CHECK_EQ_STR(answers[0].reason, "readyz 500: || failed");
	prober_free(prober);
}

/* --- connections --- */

/* The server's number of the connection, and of the request on it. */
static void probe_connection(struct prober *prober, const struct endpoint *endpoint,
                             unsigned *ret_connection, unsigned *ret_request)
{
	probe_once(prober, endpoint);
	*ret_connection = *ret_request = 0;
	CHECK_EQ_INT(
	    sscanf(answers[0].reason, "readyz 500: c%u-r%u failed", ret_connection, ret_request), 2);
}

static void test_kept(void)
{
	struct settings settings = settings_for("/connection");
	struct prober *prober = prober_new(ev, &settings, on_verdict, answers);
	struct endpoint first = at("127.0.0.1", server.port), second = at("127.0.0.2", server.port);
	unsigned connection, request, other, again;

	probe_connection(prober, &first, &connection, &request);
	CHECK_EQ_INT(request, 1);
	/* Another address of the same name and port is another server. */
	probe_connection(prober, &second, &other, &request);
	CHECK(other != connection && request == 1);
	for (unsigned i = 2; i <= 20; i++) {
		probe_connection(prober, &first, &again, &request);
		CHECK_EQ_INT(again, connection);
		CHECK_EQ_INT(request, i);
	}
	probe_connection(prober, &second, &again, &request);
	CHECK(again == other && request == 2);

	prober_forget(prober, &first);
	probe_connection(prober, &first, &again, &request);
	CHECK(again != connection && request == 1);
	probe_connection(prober, &second, &again, &request);
	CHECK(again == other && request == 3);
	/* Forgotten while it is asked: the answer comes, and then the connection goes. */
	n_answers = 0;
	prober_probe(prober, 7, &second);
	prober_forget(prober, &second);
	wait_answers(1);
	probe_connection(prober, &second, &again, &request);
	CHECK(again != other && request == 1);
	/* Unless it was asked again meanwhile. */
	other = again;
	n_answers = 0;
	prober_probe(prober, 7, &second);
	prober_forget(prober, &second);
	prober_probe(prober, 8, &second);
	wait_answers(2);
	probe_connection(prober, &second, &again, &request);
	CHECK(request > 1);
	/* Unknown ones can be forgotten, too. */
	first.port = 1;
	prober_forget(prober, &first);
	prober_free(prober);
}

/* What is measured is the request, and not the handshake before it. A machine that is busy makes
 * some of them slow. */
static void test_measured(void)
{
	struct settings settings = settings_for("/connection");
	struct prober *prober = prober_new(ev, &settings, on_verdict, answers);
	struct endpoint endpoint = at("127.0.0.1", server.port);
	unsigned connection, request;
	int64_t best_us = INT64_MAX;

	for (int i = 0; i < 100 && best_us >= 50 * US_PER_MS; i++) {
		probe_connection(prober, &endpoint, &connection, &request);
		CHECK_EQ_INT(request, 1);
		best_us = MIN(best_us, answers[0].rtt_us);
		prober_forget(prober, &endpoint);
	}
	CHECK(best_us < 50 * US_PER_MS);
	prober_free(prober);
}

/* The server closes what is kept, or goes and comes back: the next probe is as good as any. */
static void test_kept_but_closed(void)
{
	struct settings settings = settings_for("/200");
	struct prober *prober = prober_new(ev, &settings, on_verdict, answers);
	struct endpoint endpoint = at("127.0.0.1", server.port);

	probe_once(prober, &endpoint);
	CHECK_EQ_STR(answers[0].verdict, "ready");
	nginx_shell(&server, "nginx -p . -e error.log -c nginx.conf -s reload");
	turn_for(ev, 200 * US_PER_MS);
	probe_once(prober, &endpoint);
	CHECK_EQ_STR(answers[0].verdict, "ready");
	prober_free(prober);
}

/* A server that hangs while its connection is kept is a hung one, and not one that is not there. */
static void test_kept_and_hung(void)
{
	struct settings settings = settings_for("/200");
	struct prober *prober;
	struct endpoint endpoint = at("127.0.0.1", server.port);

	settings.timeout_ms = 1500;
	prober = prober_new(ev, &settings, on_verdict, answers);
	probe_once(prober, &endpoint);
	CHECK_EQ_STR(answers[0].verdict, "ready");
	(void) strcpy(path, "/hang");
	probe_once(prober, &endpoint);
	CHECK_EQ_STR(answers[0].verdict, "stalled");
	CHECK_EQ_STR(answers[0].reason, "no answer in time");
	(void) strcpy(path, "/200");
	probe_once(prober, &endpoint);
	CHECK_EQ_STR(answers[0].verdict, "ready");
	prober_free(prober);
}

/* A kept connection that hangs does not speak for the server: half a timeout later it is asked on
 * another one, which is kept from then on. */
static void test_second_request(void)
{
	struct settings settings = settings_for("/connection");
	struct prober *prober = prober_new(ev, &settings, on_verdict, answers);
	struct endpoint endpoint = at("127.0.0.1", server.port);
	unsigned first, again, request;
	int64_t start_us;

	settings.timeout_ms = 1000;
	probe_connection(prober, &endpoint, &first, &request);
	CHECK_EQ_INT(request, 1);
	start_us = mono_now_us();
	n_answers = 0;
	(void) strcpy(path, "/hang");
	prober_probe(prober, 7, &endpoint);
	(void) strcpy(path, "/connection");
	wait_answers(1);
	CHECK(mono_now_us() - start_us >= 500 * US_PER_MS);
	CHECK_EQ_INT(sscanf(answers[0].reason, "readyz 500: c%u-r%u failed", &again, &request), 2);
	CHECK(again != first && request == 1);
	first = again;
	probe_connection(prober, &endpoint, &again, &request);
	CHECK(again == first && request == 2);
	/* The verdict of silence waits for both. */
	(void) strcpy(path, "/hang");
	start_us = mono_now_us();
	probe_once(prober, &endpoint);
	CHECK_EQ_STR(answers[0].verdict, "stalled");
	CHECK(mono_now_us() - start_us >= 1450 * US_PER_MS);
	prober_free(prober);
}

/* --- several at a time --- */

static void test_several(void)
{
	struct settings settings = settings_for("/200");
	struct prober *prober;
	struct endpoint good = at("127.0.0.1", server.port), hung = at("127.0.0.1", silent_port),
	                closed = at("127.0.0.1", closed_port);
	int64_t start_us;

	settings.timeout_ms = 2000;
	prober = prober_new(ev, &settings, on_verdict, answers);
	n_answers = 0;
	start_us = mono_now_us();
	for (uint64_t i = 0; i < 4; i++)
		prober_probe(prober, i, &hung);
	prober_probe(prober, 10, &good);
	prober_probe(prober, 11, &closed);
	prober_probe(prober, 12, &good);
	/* Forgotten while it is asked: it is answered all the same. */
	prober_forget(prober, &hung);
	prober_forget(prober, &good);
	wait_answers(3);
	/* Before the time of those that hang is up. */
	CHECK(mono_now_us() - start_us < 2000 * US_PER_MS);
	for (size_t i = 0; i < 3; i++)
		CHECK_EQ_STR(answers[i].verdict, answers[i].id == 11 ? "down" : "ready");
	wait_answers(7);
	for (size_t i = 3; i < 7; i++)
		CHECK(answers[i].id < 4 && strcmp(answers[i].verdict, "silent") == 0);
	/* All of them at a time. */
	CHECK(mono_now_us() - start_us < 4000 * US_PER_MS);
	prober_free(prober);
}

/* More than anyone should ask: refused, but answered. */
static void test_too_many(void)
{
	struct settings settings = settings_for("/200");
	struct prober *prober;
	struct endpoint hung = at("127.0.0.1", silent_port);
	unsigned refused = 0;

	settings.checks = false;
	prober = prober_new(ev, &settings, on_verdict, answers);
	n_answers = 0;
	for (uint64_t i = 0; i < PROBER_PROBES_MAX + 5; i++)
		prober_probe(prober, i, &hung);
	wait_answers(PROBER_PROBES_MAX + 5);
	for (size_t i = 0; i < n_answers; i++)
		refused += strcmp(answers[i].reason, "cannot probe: Device or resource busy") == 0;
	CHECK_EQ_INT(refused, 5);
	prober_free(prober);
}

/* More upstreams than there is room for: the one asked longest ago goes, and may come back. */
static void test_too_many_targets(void)
{
	struct settings settings = settings_for("/connection");
	struct prober *prober = prober_new(ev, &settings, on_verdict, answers);
	struct endpoint first = at("127.0.0.1", server.port), second = at("127.0.0.2", server.port);
	unsigned connection, kept, again, request;

	probe_connection(prober, &first, &connection, &request);
	probe_connection(prober, &second, &kept, &request);
	for (int i = 1; i < PROBER_TARGETS_MAX; i++) {
		struct endpoint other = at("127.0.0.3", closed_port);

		other.port = (uint16_t) (i + 1);
		probe_once(prober, &other);
		probe_connection(prober, &second, &again, &request);
		CHECK_EQ_INT(again, kept);
	}
	probe_connection(prober, &first, &again, &request);
	CHECK(again != connection);
	prober_free(prober);
}

static void test_freed_while_asking(void)
{
	struct settings settings = settings_for("/200");
	struct prober *prober = prober_new(ev, &settings, on_verdict, answers);
	struct endpoint good = at("127.0.0.1", server.port), hung = at("127.0.0.1", silent_port);

	n_answers = 0;
	prober_probe(prober, 1, &hung);
	prober_probe(prober, 2, &good);
	turn_once(ev);
	prober_free(prober);
	turn_for(ev, 100 * US_PER_MS);
	CHECK_EQ_INT(n_answers, 0);
	prober_free(NULL);
}

/* --- without health checks --- */

static void test_tcp_only(void)
{
	struct settings settings = settings_for("/200");
	struct prober *prober;
	const struct {
		struct endpoint endpoint;
		const char *verdict, *reason;
	} cases[] = {
	    {at("127.0.0.1", server.port), "connected", "TCP connection made"},
	    {at("127.0.0.1", silent_port), "connected", "TCP connection made"},
	    {at("127.0.0.1", closed_port), "down", "Connection refused"},
	    {at("::1", closed_port), "down", "Connection refused"},
	    {at("127.0.0.1", full_port), "unreached", "no answer to a connection attempt"},
	    {at("255.255.255.255", 1), "down", "Network is unreachable"},
	};

	settings.checks = false;
	settings.ca_file = NULL;
	settings.timeout_ms = 200;
	prober = prober_new(ev, &settings, on_verdict, answers);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		probe_once(prober, &cases[i].endpoint);
		CHECK_EQ_STR(answers[0].verdict, cases[i].verdict);
		CHECK_EQ_STR(answers[0].reason, cases[i].reason);
		CHECK((answers[0].rtt_us > 0) == (strcmp(cases[i].verdict, "connected") == 0));
	}
	prober_free(prober);
}

static void start(void)
{
	AUTO(free) char *directives = NULL;

	nginx_init(&server);
	(void) nginx_listen(512, &silent_port);
	(void) close(nginx_listen(1, &closed_port));
	nginx_listen_deaf(&full_port);
	(void) snprintf(ca_file, sizeof(ca_file), "%s/ca.crt", server.dir);
	(void) snprintf(other_file, sizeof(other_file), "%s/other.crt", server.dir);
	(void) snprintf(cert_file, sizeof(cert_file), "%s/client.crt", server.dir);
	(void) snprintf(key_file, sizeof(key_file), "%s/client.key", server.dir);
	(void) snprintf(token_file, sizeof(token_file), "%s/token", server.dir);
	nginx_shell(&server, "head -c 3000000 /dev/zero >huge");
	directives = xasprintf("listen 127.0.0.2:%d ssl; listen 127.0.0.1:%d;\n"
	                       "location /200 { return 200 ok; }\n"
	                       "location /500 { return 500 \"[+]ping ok\\n[-]etcd failed: x\\n\"; }\n"
	                       "location /503 { return 503; }\n"
	                       "location /401 { return 401; }\n"
	                       "location /403 { return 403; }\n"
	                       "location /429 { return 429; }\n"
	                       "location /moved { return 302 /200; }\n"
	                       "location /drop { return 444; }\n"
	                       "location /hang { proxy_pass http://127.0.0.1:%d; }\n"
	                       "location /connection { keepalive_requests 1000; return 500 "
	                       "\"[-]c$connection-r$connection_requests failed\"; }\n"
	                       "location /who { set $token $http_authorization;\n"
	                       "if ($token ~ \"Bearer (.*)\") { set $token Bearer_$1; }\n"
	                       "return 500 \"[-]|$ssl_client_s_dn|$token failed\"; }\n",
	                       server.port, server.port + 1, silent_port);
	nginx_start(&server, directives);
}

int main(void)
{
	(void) signal(SIGPIPE, SIG_IGN);
	ev = ev_loop_new(EVFLAG_AUTO);
	start();
	test_verdicts();
	test_identity();
	test_kept();
	test_measured();
	test_kept_but_closed();
	test_kept_and_hung();
	test_second_request();
	test_several();
	test_too_many();
	test_too_many_targets();
	test_freed_while_asking();
	test_tcp_only();
	nginx_fini(&server);
	ev_loop_destroy(ev);
	return check_result();
}
