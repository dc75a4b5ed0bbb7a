/* SPDX-License-Identifier: Apache-2.0 */
/* The look from outside, at a real nginx and at servers that do not answer. */
#include "vipd/outside.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/macro.h"
#include "base/mono.h"
#include "tests/unit/check.h"
#include "tests/unit/nginx.h"
#include "tests/unit/turn.h"

static struct ev_loop *ev;
static struct nginx server;
static struct addr vip;

struct seen {
	unsigned n;
	bool reached;
	char reason[128];
};

static void looked_cb(bool reached, const char *reason, void *userdata)
{
	struct seen *s = userdata;

	s->n++;
	s->reached = reached;
	(void) snprintf(s->reason, sizeof(s->reason), "%s", reason);
}

/* The host of the URL is not the one to ask: it has no server. */
static void look_once(const char *scheme, int port, const char *ca, bool reached,
                      const char *reason)
{
	AUTO(free) char *url = xasprintf("%s://127.0.0.9:%d/readyz", scheme, port);
	AUTO(free) char *ca_file = xasprintf("%s/%s", server.dir, ca);
	char name[] = "kubernetes";
	struct config_health config = {.url = url, .server_name = name, .ca_file = ca_file};
	struct seen seen = {0};
	AUTO(outside_probe_free)
	struct outside_probe *p = outside_probe_new(ev, &vip, &config, looked_cb, &seen);

	outside_probe_run(p, true);
	if (!CHECK(TURN_UNTIL(ev, seen.n == 1)) || !CHECK_EQ_INT(seen.reached, reached) ||
	    !CHECK(strncmp(seen.reason, reason, strlen(reason)) == 0))
		(void) fprintf(stderr, "  port %d, %s: %s\n", port, ca, seen.reason);
}

static void test_verdicts(void)
{
	int closed_port, deaf_port, silent_port;
	int silent;

	(void) close(nginx_listen(1, &closed_port));
	nginx_listen_deaf(&deaf_port);
	silent = nginx_listen(8, &silent_port);
	nginx_start(&server, "location / { return 500; }");
	look_once("https", server.port, "ca.crt", true, "connected");
	/* An answer all the same: packets get there. */
	look_once("https", server.port, "other.crt", true, "wrong certificate");
	look_once("https", server.port, "missing.crt", true, "TLS failed");
	look_once("https", closed_port, "ca.crt", false, "connection refused");
	look_once("https", deaf_port, "ca.crt", false, "no answer to a connection attempt");
	/* One that is too busy for the handshake. */
	look_once("https", silent_port, "ca.crt", true, "no answer in time");
	look_once("http", silent_port, "ca.crt", true, "connected");
	nginx_stop(&server);
	(void) close(silent);
}

/* Each attempt is a new connection, a second behind the last one, which is closed at once and has
 * carried nothing. */
static void test_pace(void)
{
	int port, listener = nginx_listen(8, &port), fds[3];
	AUTO(free) char *url = xasprintf("http://127.0.0.9:%d/readyz", port);
	char name[] = "kubernetes";
	struct config_health config = {.url = url, .server_name = name};
	struct seen seen = {0};
	AUTO(outside_probe_free)
	struct outside_probe *p = outside_probe_new(ev, &vip, &config, looked_cb, &seen);
	int64_t start_us = mono_now_us();
	char byte;

	turn_for(ev, 50 * US_PER_MS);
	CHECK_EQ_INT(seen.n, 0);
	outside_probe_run(p, true);
	outside_probe_run(p, true);
	CHECK(TURN_UNTIL(ev, seen.n == ARRAY_SIZE(fds)));
	CHECK(mono_now_us() - start_us >= 2 * US_PER_S);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = accept(listener, NULL, NULL);
		CHECK(fds[i] >= 0);
		CHECK_EQ_INT(recv(fds[i], &byte, 1, MSG_DONTWAIT), 0);
		(void) close(fds[i]);
	}
	outside_probe_run(p, false);
	turn_for(ev, 1200 * US_PER_MS);
	CHECK_EQ_INT(seen.n, ARRAY_SIZE(fds));
	(void) close(listener);
}

int main(void)
{
	ev = ev_default_loop(0);
	nginx_init(&server);
	CHECK_EQ_INT(addr_parse("127.0.0.1", &vip), 0);
	test_verdicts();
	test_pace();
	nginx_fini(&server);
	return check_result();
}
