/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The port for metrics on real sockets: the test is the scraper, a good one or not, and turns the
 * daemon's loop while it waits. Two wait out a time limit of the module, which makes this test take
 * as long.
 */
#include "base/metricsport.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/mono.h"
#include "tests/unit/check.h"
#include "tests/unit/turn.h"

#define ANSWER_MAX (16u << 20)
/* What a slow scraper's socket holds, and more than that and the daemon's side hold of a page
 * together (the last figure of tcp_wmem, tcp(7)). */
#define RECEIVE_BYTES 65536
#define LARGE_BYTES (5u << 20)
#define GET "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"

static struct ev_loop *ev;
static struct metricsport *port;
static struct endpoint at;
static unsigned fills;
static size_t label_len = 1; /* of one label of the page */

static void fill(struct metrics *m, void *userdata)
{
	AUTO(free) char *text = xcalloc(label_len + 1, 1);
	const struct metrics_label label = {"text", text};

	CHECK(userdata == &fills);
	fills++;
	memset(text, 'x', label_len);
	metrics_family(m, "fairlead_test_value", METRICS_GAUGE, "A value.");
	metrics_sample(m, 42, &label, 1);
}

/* --- the scraper --- */

/* Port 0: any that is free, which is written there. */
static int make_listener(struct endpoint *address, bool listens)
{
	struct sockaddr_storage sa;
	socklen_t len = endpoint_to_sockaddr(address, &sa);
	int fd = socket(address->addr.family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1;

	(void) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (const struct sockaddr *) &sa, len) < 0 || (listens && listen(fd, 8) < 0) ||
	    getsockname(fd, (struct sockaddr *) &sa, &len) < 0 ||
	    endpoint_from_sockaddr((const struct sockaddr *) &sa, address) < 0) {
		(void) close(fd);
		return -1;
	}
	return fd;
}

static struct endpoint free_port(const char *address)
{
	struct endpoint found = {0};
	int fd;

	CHECK_EQ_INT(addr_parse(address, &found.addr), 0);
	fd = make_listener(&found, false);
	(void) close(fd);
	return found;
}

/* room_bytes: what its socket holds of an answer; 0: as the kernel has it. */
static int dial_with(int room_bytes)
{
	struct sockaddr_storage sa;
	socklen_t len = endpoint_to_sockaddr(&at, &sa);
	int fd = socket(at.addr.family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (room_bytes > 0)
		(void) setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room_bytes, sizeof(room_bytes));
	if (connect(fd, (const struct sockaddr *) &sa, len) < 0) {
		(void) close(fd);
		return -errno;
	}
	(void) fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

static int dial(void)
{
	return dial_with(0);
}

static void say(int fd, const char *text)
{
	CHECK_EQ_INT(send(fd, text, strlen(text), MSG_NOSIGNAL), (long long) strlen(text));
}

/* All until its end; NULL: it was cut off with a reset, or there is no end. */
static char *hear(int fd)
{
	AUTO(free) char *text = xcalloc(ANSWER_MAX + 1, 1);
	int64_t limit_us = mono_now_us() + TURN_LIMIT_US;
	size_t len = 0;
	ssize_t n = -1;

	while (mono_now_us() < limit_us && len < ANSWER_MAX) {
		n = read(fd, text + len, ANSWER_MAX - len);
		if (n == 0 || (n < 0 && errno != EAGAIN))
			break;
		if (n < 0)
			turn_once(ev);
		else
			len += (size_t) n;
	}
	(void) close(fd);
	return n == 0 ? TAKE_PTR(text) : NULL;
}

static char *ask(const char *request)
{
	int fd = dial();

	if (!CHECK(fd >= 0))
		return NULL;
	say(fd, request);
	return hear(fd);
}

/* --- the tests --- */

static void begin(const char *address)
{
	label_len = 1;
	at = free_port(address);
	port = metricsport_new(ev, fill, &fills);
	metricsport_set(port, &at);
}

static void end(void)
{
	metricsport_free(port);
	port = NULL;
}

static void check_answer(const char *answer, const char *status, bool body)
{
	static const char type[] = "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n";
	const char *text = answer != NULL ? strstr(answer, "\r\n\r\n") : NULL;
	const char *length = answer != NULL ? strstr(answer, "\r\nContent-Length: ") : NULL;

	if (!CHECK(text != NULL) || !CHECK(length != NULL))
		return;
	text += 4;
	CHECK(strncmp(answer, status, strlen(status)) == 0);
	CHECK(strstr(answer, "\r\nConnection: close\r\n") != NULL);
	CHECK((strstr(answer, type) != NULL) == (strstr(status, "200") != NULL));
	CHECK_EQ_INT(atoi(length + strlen("\r\nContent-Length: ")) > 0, 1);
	CHECK_EQ_INT(strlen(text), body ? atoi(length + strlen("\r\nContent-Length: ")) : 0);
}

static void test_answers(const char *address)
{
	AUTO(free) char *page = NULL, *head = NULL, *wrong = NULL, *other = NULL;

	begin(address);
	page = ask(GET);
	check_answer(page, "HTTP/1.1 200 OK\r\n", true);
	CHECK(page != NULL && strstr(page, "\r\n\r\n# HELP fairlead_test_value A value.\n# TYPE "
	                                   "fairlead_test_value gauge\nfairlead_test_value{text=\"x\"} "
	                                   "42\n") != NULL);
	head = ask("HEAD /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
	check_answer(head, "HTTP/1.1 200 OK\r\n", false);
	wrong = ask("POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
	check_answer(wrong, "HTTP/1.1 405 Method Not Allowed\r\n", true);
	CHECK(wrong != NULL && strstr(wrong, "\r\nAllow: GET, HEAD\r\n") != NULL);
	other = ask("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
	check_answer(other, "HTTP/1.1 404 Not Found\r\n", true);
	end();
}

/* More than goes out at once. */
static void test_large(void)
{
	AUTO(free) char *page = NULL;

	begin("127.0.0.1");
	label_len = LARGE_BYTES;
	page = ask(GET);
	check_answer(page, "HTTP/1.1 200 OK\r\n", true);
	end();
}

static void test_pages_are_not_made_for_each(void)
{
	int64_t began_us, pages_us = METRICSPORT_PAGE_MS * US_PER_MS;

	begin("127.0.0.1");
	began_us = mono_now_us();
	fills = 0;
	for (unsigned i = 0; i < 30; i++) {
		AUTO(free) char *page = ask(GET);

		CHECK(page != NULL);
	}
	CHECK(fills > 0 && fills <= (mono_now_us() - began_us) / pages_us + 1);
	end();
}

/* Reads what there is; an end, or a reset? */
static bool has_ended(int fd)
{
	char text[65536];
	ssize_t n;

	do
		n = read(fd, text, sizeof(text));
	while (n > 0);
	return n == 0 || (n < 0 && errno != EAGAIN);
}

/* The time says that no deadline was waited for. */
static void check_served_at_once(void)
{
	int64_t began_us = mono_now_us();
	AUTO(free) char *page = ask(GET);

	check_answer(page, "HTTP/1.1 200 OK\r\n", true);
	CHECK(mono_now_us() - began_us < METRICSPORT_DEADLINE_S * US_PER_S / 2);
}

static void dial_all(int *fds, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++) {
		fds[i] = dial();
		CHECK(fds[i] >= 0);
		if (text != NULL)
			say(fds[i], text);
		turn_once(ev);
	}
}

static size_t still_open(const int *fds, size_t n)
{
	size_t n_open = 0;

	for (size_t i = 0; i < n; i++)
		n_open += !has_ended(fds[i]);
	return n_open;
}

static void hang_up_all(int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		(void) close(fds[i]);
}

/* All places are taken by connections that ask for nothing, for a part of a request, or that never
 * end after the answer. */
static void test_full(void)
{
	static const char *const texts[] = {NULL, "GET /metr", GET};
	int fds[4 * METRICSPORT_CLIENTS_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		begin("127.0.0.1");
		dial_all(fds, ARRAY_SIZE(fds), texts[i]);
		check_served_at_once();
		check_served_at_once();
		hang_up_all(fds, ARRAY_SIZE(fds));
		end();
	}
}

/* They send a byte now and then, so that none is ever idle. */
static void test_dribble(void)
{
	int fds[3 * METRICSPORT_CLIENTS_MAX];
	int64_t began_us;

	begin("127.0.0.1");
	dial_all(fds, ARRAY_SIZE(fds), "G");
	began_us = mono_now_us();
	CHECK(TURN_UNTIL(ev, still_open(fds, ARRAY_SIZE(fds)) <= METRICSPORT_CLIENTS_MAX));
	CHECK(mono_now_us() - began_us < METRICSPORT_DEADLINE_S * US_PER_S / 2);
	while (mono_now_us() - began_us < 3 * US_PER_S) {
		int64_t next_us = mono_now_us() + US_PER_S;

		for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
			if (send(fds[i], "E", 1, MSG_NOSIGNAL) < 0) {
				(void) close(fds[i]);
				fds[i] = dial();
				say(fds[i], "G");
			}
		}
		check_served_at_once();
		(void) TURN_UNTIL(ev, mono_now_us() >= next_us);
	}
	hang_up_all(fds, ARRAY_SIZE(fds));
	end();
}

/* Who reads a large page keeps the place while others that ask for nothing come. */
static void test_reader_stays(void)
{
	int fds[3 * METRICSPORT_CLIENTS_MAX], reader;
	AUTO(free) char *page = NULL;

	begin("127.0.0.1");
	label_len = LARGE_BYTES;
	fills = 0;
	reader = dial_with(RECEIVE_BYTES);
	say(reader, GET);
	CHECK(TURN_UNTIL(ev, fills > 0));
	label_len = 1;
	dial_all(fds, ARRAY_SIZE(fds), "GET /metr");
	page = hear(reader);
	check_answer(page, "HTTP/1.1 200 OK\r\n", true);
	hang_up_all(fds, ARRAY_SIZE(fds));
	end();
}

/* Who does not read, or says no more, is cut off when the time is up. */
static void test_slow_ones(void)
{
	int fds[METRICSPORT_CLIENTS_MAX];

	begin("127.0.0.1");
	label_len = LARGE_BYTES;
	for (size_t i = 0; i < METRICSPORT_CLIENTS_MAX; i++) {
		fds[i] = dial_with(RECEIVE_BYTES);
		CHECK(fds[i] >= 0);
		if (i > 0)
			say(fds[i], i % 2 == 0 ? "GET /metr" : GET);
	}
	for (size_t i = 0; i < METRICSPORT_CLIENTS_MAX; i++) {
		CHECK(TURN_UNTIL(ev, has_ended(fds[i])));
		(void) close(fds[i]);
	}
	end();
}

/* Who is gone again, or speaks on behind the request, is no trouble. */
static void test_rude_ones(void)
{
	AUTO(free) char *page = NULL, *again = NULL;
	struct linger reset = {.l_onoff = 1};
	int fd;

	begin("127.0.0.1");
	for (unsigned i = 0; i < 3 * METRICSPORT_CLIENTS_MAX; i++) {
		fd = dial();
		say(fd, i % 2 == 0 ? GET : "GE");
		(void) setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		turn_once(ev);
		(void) close(fd);
	}
	page = ask(GET "GET /metrics HTTP/1.1\r\nHost: b\r\n\r\n");
	check_answer(page, "HTTP/1.1 200 OK\r\n", true);
	again = ask(GET);
	check_answer(again, "HTTP/1.1 200 OK\r\n", true);
	end();
}

static bool is_open(void)
{
	json_t *answer = metricsport_answer(port);
	bool open = json_is_true(json_object_get(json_object_get(answer, "port"), "open"));

	json_decref(answer);
	return open;
}

static void test_taken(void)
{
	AUTO(free) char *page = NULL;
	json_t *answer;
	int other;

	at = free_port("127.0.0.1");
	other = make_listener(&at, true);
	port = metricsport_new(ev, fill, &fills);
	metricsport_set(port, &at);
	answer = metricsport_answer(port);
	CHECK(strstr(json_string_value(json_object_get(answer, "metrics")), "42") != NULL);
	CHECK_EQ_STR(json_string_value(json_object_get(json_object_get(answer, "port"), "error")),
	             strerror(EADDRINUSE));
	json_decref(answer);
	CHECK(!is_open());
	(void) close(other);
	CHECK(TURN_UNTIL(ev, is_open()));
	page = ask(GET);
	check_answer(page, "HTTP/1.1 200 OK\r\n", true);
	end();
}

static void test_elsewhere(void)
{
	const struct endpoint nowhere = {0};
	struct endpoint before;
	json_t *answer;

	begin("127.0.0.1");
	before = at;
	at = free_port("127.0.0.2");
	metricsport_set(port, &at);
	free(ask(GET));
	CHECK(is_open());
	at = before;
	CHECK_EQ_INT(dial(), -ECONNREFUSED);
	metricsport_set(port, &nowhere);
	answer = metricsport_answer(port);
	CHECK(json_is_null(json_object_get(answer, "port")));
	json_decref(answer);
	CHECK_EQ_INT(metricsport_fd(port), -1);
	end();
}

/* A process that was replaced in place left it; it is used where it fits, and else closed. */
static void test_inherited(void)
{
	AUTO(free) char *page = NULL;
	struct endpoint another = {0};
	int fd;

	at = free_port("127.0.0.1");
	fd = make_listener(&at, true);
	(void) fcntl(fd, F_SETFL, O_NONBLOCK);
	port = metricsport_new(ev, fill, &fills);
	metricsport_inherit(port, fd);
	metricsport_set(port, &at);
	CHECK_EQ_INT(metricsport_fd(port), fd);
	page = ask(GET);
	check_answer(page, "HTTP/1.1 200 OK\r\n", true);
	/* The same again is no change. */
	metricsport_set(port, &at);
	CHECK_EQ_INT(metricsport_fd(port), fd);

	another.addr = at.addr;
	fd = make_listener(&another, true);
	metricsport_inherit(port, fd);
	at = free_port("127.0.0.3");
	metricsport_set(port, &at);
	CHECK(metricsport_fd(port) >= 0);
	at = another;
	CHECK_EQ_INT(dial(), -ECONNREFUSED);
	end();
}

int main(void)
{
	(void) signal(SIGPIPE, SIG_IGN);
	ev = ev_loop_new(EVFLAG_AUTO);
	test_answers("127.0.0.1");
	test_answers("::1");
	test_large();
	test_pages_are_not_made_for_each();
	test_rude_ones();
	test_full();
	test_dribble();
	test_reader_stays();
	test_slow_ones();
	test_taken();
	test_elsewhere();
	test_inherited();
	ev_loop_destroy(ev);
	return check_result();
}
