/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the cloud is asked, by an owner, by one who is none, by one who was stopped on the way, and
 * by one who loses it meanwhile. The API is a handful of fixed answers, served from the same loop.
 */
#include "vipd/hcloud.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "tests/unit/check.h"
#include "tests/unit/names.h"
#include "tests/unit/turn.h"

#define FLOATING "{\"id\":7,\"ip\":\"203.0.113.7\",\"server\":%d}"

static struct ev_loop *ev;
static int listener, port;
static ev_io accepting;
static unsigned n_conns;
static struct hcloud_queue *queue;

/* What the API was asked, and how it is there. */
static struct {
	unsigned looks, changes;
	int server;      /* that has the floating IP */
	bool aliases[2]; /* of server 42 in its network: 10.1.0.5 and 10.1.0.6 */
	bool thief;      /* takes the floating IP away after each look that found it right */
	unsigned lost;   /* aliases that a request for the other one removed */
	bool silent;     /* to changes */
	bool errs;       /* at looks */
} api;

static void answer_status(int fd, const char *status, const char *body)
{
	AUTO(free)
	char *text = xasprintf("HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
	                       status, strlen(body), body);

	CHECK_EQ_INT(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static void answer(int fd, const char *body)
{
	answer_status(fd, "200 OK", body);
}

static void serve(int fd, const char *request)
{
	char body[256];

	if (strncmp(request, "POST /v1/floating_ips/7/actions/assign ", 39) == 0) {
		api.changes++;
		if (api.silent)
			return;
		CHECK(strstr(request, "Authorization: Bearer secret\r\n") != NULL);
		api.server = 42;
		answer(fd, "{\"action\":{\"id\":3,\"status\":\"success\",\"error\":null}}");
	} else if (strncmp(request, "GET /v1/floating_ips", 20) == 0) {
		api.looks++;
		if (api.errs) {
			answer_status(fd, "500 Internal Server Error", "");
			return;
		}
		(void) snprintf(body, sizeof(body),
		                strncmp(request + 20, "/7 ", 3) == 0 ? "{\"floating_ip\":" FLOATING "}"
		                                                     : "{\"floating_ips\":[" FLOATING "]}",
		                api.server);
		answer(fd, body);
		if (api.thief && api.server == 42)
			api.server = 7;
	} else {
		CHECK(strncmp(request, "GET /id ", 8) == 0);
		CHECK(strstr(request, "Authorization") == NULL);
		answer(fd, "42");
	}
}

static void serve_aliases(int fd, const char *request)
{
	static const char *const texts[] = {"\"10.1.0.5\"", "\"10.1.0.6\""};
	char body[256];

	if (strncmp(request, "GET /v1/networks/3 ", 19) == 0) {
		answer(fd, "{\"network\":{\"id\":3,\"ip_range\":\"10.1.0.0/16\"}}");
		return;
	}
	if (strncmp(request, "POST ", 5) == 0) {
		api.changes++;
		for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
			bool wanted = strstr(request, texts[i]) != NULL;

			api.lost += api.aliases[i] && !wanted;
			api.aliases[i] = wanted;
		}
		answer(fd, "{\"action\":{\"id\":3,\"status\":\"success\",\"error\":null}}");
		return;
	}
	(void) snprintf(body, sizeof(body),
	                "{\"%s{\"id\":42,\"private_net\":[{\"network\":3,\"alias_ips\":[%s%s%s]}]}%s}",
	                strncmp(request, "GET /v1/servers/42 ", 19) == 0 ? "server\":" : "servers\":[",
	                api.aliases[0] ? texts[0] : "", api.aliases[0] && api.aliases[1] ? "," : "",
	                api.aliases[1] ? texts[1] : "",
	                strncmp(request, "GET /v1/servers/42 ", 19) == 0 ? "" : "]");
	answer(fd, body);
}

/* One request for each connection; a body is an object, and perhaps comes later. */
static void readable_cb(struct ev_loop *loop, ev_io *w, int revents UNUSED)
{
	char request[4096] = "";
	ssize_t n = recv(w->fd, request, sizeof(request) - 1, MSG_PEEK);

	if (n > 0 && strncmp(request, "POST", 4) == 0 && request[n - 1] != '}')
		return;
	if (n > 0)
		CHECK_EQ_INT(recv(w->fd, request, (size_t) n, 0), n);
	if (n > 0 && (strstr(request, " /v1/servers") != NULL || strstr(request, "/networks/") != NULL))
		serve_aliases(w->fd, request);
	else if (n > 0)
		serve(w->fd, request);
	if (n > 0 && api.silent && strncmp(request, "POST", 4) == 0)
		return;
	ev_io_stop(loop, w);
	(void) close(w->fd);
	free(w);
	n_conns--;
}

static void acceptable_cb(struct ev_loop *loop, ev_io *w, int revents UNUSED)
{
	ev_io *reading = NEW0(ev_io);

	ev_io_init(reading, readable_cb, accept(w->fd, NULL, NULL), EV_READ);
	ev_io_start(loop, reading);
	n_conns++;
}

static void api_start(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);

	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(bind(listener, (struct sockaddr *) &a, len) == 0 && listen(listener, 8) == 0);
	CHECK(getsockname(listener, (struct sockaddr *) &a, &len) == 0);
	port = ntohs(a.sin_port);
	ev_io_init(&accepting, acceptable_cb, listener, EV_READ);
	ev_io_start(ev, &accepting);
}

/* --- the owner --- */

static struct {
	unsigned asked;
	int64_t from_now_us; /* 0: it is none */
	int64_t window_us;   /* 0: more than anything needs */
	int64_t last_us;     /* what was answered */
} entitled;

static struct hcloud_entitled entitled_cb(void *userdata UNUSED)
{
	entitled.asked++;
	entitled.last_us = entitled.from_now_us != 0 ? mono_now_us() + entitled.from_now_us : 0;
	return (struct hcloud_entitled){entitled.last_us,
	                                entitled.window_us != 0 ? entitled.window_us : 60 * US_PER_S};
}

static struct config_hcloud config, by_name;

static struct hcloud *new_vip(const struct config_hcloud *of, const char *text)
{
	struct hcloud *h = NULL;
	struct addr vip;

	CHECK_EQ_INT(addr_parse(text, &vip), 0);
	CHECK_EQ_INT(hcloud_new(ev, queue, of, &vip, entitled_cb, NULL, &h), 0);
	return h;
}

static struct hcloud *new_hcloud_of(const struct config_hcloud *of, int server)
{
	memset(&api, 0, sizeof(api));
	memset(&entitled, 0, sizeof(entitled));
	api.server = server;
	return new_vip(of, "203.0.113.7");
}

static struct hcloud *new_hcloud(int server)
{
	return new_hcloud_of(&config, server);
}

static bool state_is(const struct hcloud *h, const char *state)
{
	return strcmp(hcloud_report(h).state, state) == 0;
}

static void test_assigned(void)
{
	struct hcloud *h = new_hcloud(7);

	CHECK(state_is(h, "idle"));
	entitled.from_now_us = 60 * US_PER_S;
	hcloud_acquire(h);
	CHECK(state_is(h, "asking"));
	CHECK(TURN_UNTIL(ev, state_is(h, "assigned")));
	CHECK_EQ_INT(api.changes, 1);
	CHECK_EQ_INT(api.looks, 2);
	CHECK_EQ_INT(hcloud_report(h).server, 42);
	CHECK_EQ_STR(hcloud_report(h).trouble, "");
	/* Somebody takes it, and it is taken back. */
	api.server = 7;
	CHECK(TURN_UNTIL(ev, api.changes == 2));
	hcloud_release(h);
	CHECK(state_is(h, "idle"));
	/* The next time it is known what to look at. */
	api.looks = 0;
	api.server = 42;
	hcloud_acquire(h);
	CHECK(TURN_UNTIL(ev, state_is(h, "assigned")));
	CHECK_EQ_INT(api.looks, 1);
	CHECK_EQ_INT(api.changes, 2);
	hcloud_free(h);
}

/* It looks, and changes nothing before there is a confirmation that lasts. */
static void test_not_entitled(void)
{
	struct hcloud *h = new_hcloud(7);

	hcloud_acquire(h);
	CHECK(TURN_UNTIL(ev, entitled.asked > 3));
	CHECK(TURN_UNTIL(ev, hcloud_report(h).trouble[0] != '\0'));
	CHECK_EQ_STR(hcloud_report(h).trouble,
	             "waiting for a confirmation that lasts, to assign the floating IP");
	CHECK_EQ_INT(api.changes, 0);
	entitled.from_now_us = 60 * US_PER_S;
	CHECK(TURN_UNTIL(ev, state_is(h, "assigned")));
	CHECK_EQ_INT(api.changes, 1);
	hcloud_free(h);
}

/* A window that is shorter than what a change should have left. */
static void test_short_window(void)
{
	struct hcloud *h = new_hcloud(7);

	entitled.window_us = 500 * US_PER_MS;
	entitled.from_now_us = 400 * US_PER_MS;
	hcloud_acquire(h);
	CHECK(TURN_UNTIL(ev, state_is(h, "assigned")));
	hcloud_free(h);
}

/* Stopped between the look at the clock and the sending, until the confirmation is over. */
static void test_stopped(void)
{
	struct hcloud *h = new_hcloud(7);
	unsigned looks;

	entitled.from_now_us = 3 * US_PER_S; /* far more than what a change must have left */
	hcloud_acquire(h);
	CHECK(TURN_UNTIL(ev, entitled.asked > 0));
	looks = api.looks;
	while (mono_now_us() < entitled.last_us)
		(void) usleep(10000);
	entitled.from_now_us = 0;
	CHECK(TURN_UNTIL(ev, state_is(h, "failed")));
	CHECK(strstr(hcloud_report(h).trouble, "its time was over before it was sent") != NULL);
	CHECK(TURN_UNTIL(ev, api.looks > looks));
	CHECK_EQ_INT(api.changes, 0);
	hcloud_free(h);
}

/* What is under way is given up; nothing comes of it any more. */
static void test_released(void)
{
	struct hcloud *h = new_hcloud(7);
	unsigned looks;

	api.silent = true;
	entitled.from_now_us = 60 * US_PER_S;
	hcloud_acquire(h);
	CHECK(TURN_UNTIL(ev, api.changes == 1));
	hcloud_release(h);
	CHECK(state_is(h, "idle"));
	looks = api.looks;
	CHECK(TURN_UNTIL(ev, n_conns == 0)); /* the connection was closed */
	CHECK_EQ_INT(api.looks, looks);
	hcloud_free(h);
}

static bool is_troubled(const struct hcloud *h)
{
	return hcloud_report(h).trouble[0] != '\0';
}

/* A look that fails does not say that it is somebody else's now. */
static void test_look_fails(void)
{
	struct hcloud *h = new_hcloud(7);

	entitled.from_now_us = 60 * US_PER_S;
	hcloud_acquire(h);
	CHECK(TURN_UNTIL(ev, state_is(h, "assigned")));
	api.errs = true;
	CHECK(TURN_UNTIL(ev, is_troubled(h)));
	CHECK(strstr(hcloud_report(h).trouble, "status 500") != NULL);
	CHECK(state_is(h, "assigned"));
	api.errs = false;
	CHECK(TURN_UNTIL(ev, !is_troubled(h)));
	CHECK_EQ_INT(api.changes, 1);
	hcloud_free(h);
}

/* Somebody else assigns it as well, and does not stop: that is told. */
static void test_fight(void)
{
	struct hcloud *h = new_hcloud(7);

	api.thief = true;
	entitled.from_now_us = 60 * US_PER_S;
	hcloud_acquire(h);
	CHECK(TURN_UNTIL(ev, is_troubled(h)));
	CHECK(strncmp(hcloud_report(h).trouble, "moved away 3 times in a row", 27) == 0);
	CHECK(state_is(h, "assigned"));
	hcloud_free(h);
}

/* Nobody is at the first address: it is tried once, and not before each look. */
static void test_bad_address(void)
{
	struct hcloud *h;
	unsigned looks;

	names.first = INADDR_LOOPBACK + 1;
	names.second = INADDR_LOOPBACK;
	h = new_hcloud_of(&by_name, 7);
	entitled.from_now_us = 60 * US_PER_S;
	hcloud_acquire(h);
	CHECK(TURN_UNTIL(ev, is_troubled(h)));
	CHECK(TURN_UNTIL(ev, state_is(h, "assigned")));
	looks = api.looks;
	CHECK(TURN_UNTIL(ev, api.looks > looks || is_troubled(h)));
	CHECK_EQ_STR(hcloud_report(h).trouble, "");
	hcloud_free(h);
}

/* The name service hangs: that is told, and it is assigned as soon as there is an answer. */
static void test_name_hangs(void)
{
	struct hcloud *h;

	names.first = INADDR_LOOPBACK;
	names.hangs = true;
	h = new_hcloud_of(&by_name, 7);
	entitled.from_now_us = 60 * US_PER_S;
	hcloud_acquire(h);
	CHECK(TURN_UNTIL(ev, state_is(h, "failed")));
	CHECK(strstr(hcloud_report(h).trouble, "the name service does not answer") != NULL);
	names.hangs = false;
	CHECK(TURN_UNTIL(ev, state_is(h, "assigned")));
	hcloud_free(h);
}

/* Each request sets both: one at a time, or they undo each other's. */
static void test_two_aliases(void)
{
	struct hcloud *five, *six;

	memset(&api, 0, sizeof(api));
	entitled.from_now_us = 60 * US_PER_S;
	five = new_vip(&config, "10.1.0.5");
	six = new_vip(&config, "10.1.0.6");
	hcloud_acquire(five);
	hcloud_acquire(six);
	CHECK(TURN_UNTIL(ev, state_is(five, "assigned") && state_is(six, "assigned")));
	CHECK_EQ_INT(api.changes, 2);
	CHECK_EQ_INT(api.lost, 0);
	/* Whoever gives up in the middle lets the other one go on. */
	hcloud_release(five);
	hcloud_release(six);
	memset(&api, 0, sizeof(api));
	hcloud_acquire(five);
	CHECK(TURN_UNTIL(ev, n_conns > 0));
	hcloud_acquire(six);
	hcloud_release(five);
	CHECK(TURN_UNTIL(ev, state_is(six, "assigned")));
	hcloud_free(five);
	hcloud_free(six);
}

int main(void)
{
	char endpoint[64], named[64], metadata[64], token[] = "secret";

	(void) signal(SIGPIPE, SIG_IGN);
	ev = ev_default_loop(EVFLAG_AUTO);
	api_start();
	queue = hcloud_queue_new(ev);
	(void) snprintf(endpoint, sizeof(endpoint), "http://127.0.0.1:%d/v1", port);
	(void) snprintf(metadata, sizeof(metadata), "http://127.0.0.1:%d/id", port);
	config = (struct config_hcloud){
	    .api_token = token,
	    .endpoint = endpoint,
	    .metadata = metadata,
	};
	(void) snprintf(named, sizeof(named), "http://" NAMES_KNOWN ":%d/v1", port);
	by_name = config;
	by_name.endpoint = named;
	test_assigned();
	test_not_entitled();
	test_short_window();
	test_stopped();
	test_released();
	test_look_fails();
	test_fight();
	test_bad_address();
	test_name_hangs();
	test_two_aliases();
	hcloud_queue_free(queue);
	return check_result();
}
