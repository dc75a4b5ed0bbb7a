/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listeners on real sockets in a network namespace of its own: taking over, pausing, refusing, and
 * coming back from every kind of trouble.
 */
#include "prism/listener.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/check.h"
#include "tests/unit/netns.h"
#include "tests/unit/patient.h"
#include "tests/unit/sockets.h"
#include "tests/unit/turn.h"

static struct ev_loop *ev;
static bool room;
static int accepted[64];
static size_t n_accepted;
static struct listeners *close_on_accept;
static bool no_memory_to_watch;

/* libev's, before the C library's. */
int epoll_ctl(int epoll_fd, int op, int fd, struct epoll_event *event)
{
	if (no_memory_to_watch) {
		errno = ENOMEM;
		return -1;
	}
	return (int) syscall(SYS_epoll_ctl, epoll_fd, op, fd, event);
}

static bool has_room_cb(void *userdata UNUSED)
{
	return room;
}

static void accepted_cb(int fd, void *userdata UNUSED)
{
	if (n_accepted < ARRAY_SIZE(accepted))
		accepted[n_accepted++] = fd;
	if (close_on_accept != NULL)
		listeners_close(close_on_accept);
}

static const struct listeners_callbacks callbacks = {
    .has_room = has_room_cb,
    .accepted = accepted_cb,
};

static void close_accepted(void)
{
	for (size_t i = 0; i < n_accepted; i++)
		(void) close(accepted[i]);
	n_accepted = 0;
}

static void turn_until_accepted(size_t n)
{
	for (int i = 0; i < 200 && n_accepted < n; i++)
		turn_once(ev);
	CHECK_EQ_INT(n_accepted, n);
}

static int get(int fd, int level, int option)
{
	int value = -1;
	socklen_t len = sizeof(value);

	return getsockopt(fd, level, option, &value, &len) < 0 ? -1 : value;
}

static void expect_refused(const struct endpoint *at)
{
	int fd = sockets_connect(at);

	CHECK_EQ_INT(fd, -1);
	CHECK_EQ_INT(errno, ECONNREFUSED);
	if (fd >= 0)
		(void) close(fd);
}

/* --- accepting --- */

static void expect_one(const struct endpoint *at)
{
	int client = sockets_connect(at);

	CHECK(client >= 0);
	turn_until_accepted(1);
	/* All that was set on the listener is on what it accepted. */
	CHECK((fcntl(accepted[0], F_GETFL) & O_NONBLOCK) != 0);
	CHECK_EQ_INT(fcntl(accepted[0], F_GETFD), FD_CLOEXEC);
	CHECK_EQ_INT(get(accepted[0], IPPROTO_TCP, TCP_NODELAY), 1);
	CHECK_EQ_INT(get(accepted[0], SOL_SOCKET, SO_KEEPALIVE), 1);
	close_accepted();
	(void) close(client);
}

static void test_accepts_on_all(void)
{
	AUTO(listeners_free) struct listeners *l = listeners_new(ev, &callbacks, NULL);
	const struct endpoint wanted[] = {sockets_endpoint("127.0.0.1:7445"),
	                                  sockets_endpoint("[::1]:7445")};

	CHECK_EQ_INT(listeners_open(l, wanted, 2), 0);
	CHECK_EQ_INT(listeners_n(l), 2);
	for (size_t i = 0; i < 2; i++) {
		struct endpoint at = listeners_endpoint(l, i);

		CHECK(endpoint_equal(&at, &wanted[i]));
		CHECK(listeners_is_open(l, i));
		expect_one(&at);
	}
	listeners_close(l);
	CHECK_EQ_INT(listeners_fd(l, 0), -1);
	expect_refused(&wanted[0]);
}

/* The same port for both families. */
static void test_wildcards(void)
{
	AUTO(listeners_free) struct listeners *l = listeners_new(ev, &callbacks, NULL);
	const struct endpoint wanted[] = {sockets_endpoint("[::]:7445"),
	                                  sockets_endpoint("0.0.0.0:7445")};
	const struct endpoint at[] = {sockets_endpoint("[::1]:7445"),
	                              sockets_endpoint("127.0.0.1:7445")};

	CHECK_EQ_INT(listeners_open(l, wanted, 2), 0);
	expect_one(&at[0]);
	expect_one(&at[1]);
}

static void test_a_callback_may_close(void)
{
	AUTO(listeners_free) struct listeners *l = listeners_new(ev, &callbacks, NULL);
	const struct endpoint at = sockets_endpoint("127.0.0.1:7445");
	int clients[3];

	CHECK_EQ_INT(listeners_open(l, &at, 1), 0);
	for (size_t i = 0; i < 3; i++)
		clients[i] = sockets_connect(&at);
	close_on_accept = l;
	turn_until_accepted(1);
	turn_for(ev, 50 * US_PER_MS);
	CHECK_EQ_INT(n_accepted, 1);
	close_on_accept = NULL;
	close_accepted();
	for (size_t i = 0; i < 3; i++)
		(void) close(clients[i]);
}

/* --- pausing --- */

static void test_waits_for_room(void)
{
	AUTO(listeners_free) struct listeners *l = listeners_new(ev, &callbacks, NULL);
	const struct endpoint at = sockets_endpoint("127.0.0.1:7445");
	int client;

	CHECK_EQ_INT(listeners_open(l, &at, 1), 0);
	room = false;
	client = sockets_connect(&at);
	CHECK(client >= 0);
	turn_for(ev, 50 * US_PER_MS);
	CHECK_EQ_INT(n_accepted, 0);
	CHECK(listeners_are_paused(l));
	/* It looks again now and then, and does not spin. */
	turn_for(ev, 1000 * US_PER_MS);
	CHECK(listeners_pauses(l) <= 14);
	CHECK(TURN_UNTIL(ev, listeners_pauses(l) >= 3));
	room = true;
	listeners_resume(l);
	CHECK(!listeners_are_paused(l));
	turn_until_accepted(1);
	listeners_resume(l);
	(void) close(client);
	close_accepted();
}

static void test_looks_again_by_itself(void)
{
	AUTO(listeners_free) struct listeners *l = listeners_new(ev, &callbacks, NULL);
	const struct endpoint at = sockets_endpoint("127.0.0.1:7445");
	int client;

	CHECK_EQ_INT(listeners_open(l, &at, 1), 0);
	room = false;
	client = sockets_connect(&at);
	turn_for(ev, 30 * US_PER_MS);
	room = true;
	turn_until_accepted(1);
	(void) close(client);
	close_accepted();
}

/* A table that was full must not end accepting for ever. */
static void test_out_of_descriptors(void)
{
	AUTO(listeners_free) struct listeners *l = listeners_new(ev, &callbacks, NULL);
	const struct endpoint at = sockets_endpoint("127.0.0.1:7445");
	struct rlimit before, none;
	int client, next;

	CHECK_EQ_INT(listeners_open(l, &at, 1), 0);
	client = sockets_connect(&at);
	next = dup(client);
	(void) close(next);
	CHECK_EQ_INT(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = (rlim_t) next;
	CHECK_EQ_INT(setrlimit(RLIMIT_NOFILE, &none), 0);
	turn_for(ev, 300 * US_PER_MS);
	CHECK_EQ_INT(n_accepted, 0);
	CHECK(listeners_pauses(l) >= 1 && listeners_pauses(l) <= 5);
	CHECK_EQ_INT(setrlimit(RLIMIT_NOFILE, &before), 0);
	turn_until_accepted(1);
	(void) close(client);
	close_accepted();
}

/* The same where the kernel has no memory to watch a listener: it pauses, and looks again. */
static void test_cannot_be_watched(void)
{
	AUTO(listeners_free) struct listeners *l = listeners_new(ev, &callbacks, NULL);
	const struct endpoint at = sockets_endpoint("127.0.0.1:7445");
	int client;

	CHECK_EQ_INT(listeners_open(l, &at, 1), 0);
	client = sockets_connect(&at);
	no_memory_to_watch = true;
	CHECK(TURN_UNTIL(ev, listeners_pauses(l) >= 2));
	CHECK_EQ_INT(n_accepted, 0);
	no_memory_to_watch = false;
	CHECK(TURN_UNTIL(ev, n_accepted == 1));
	(void) close(client);
	close_accepted();
}

/* --- refusing --- */

static void test_refuses_and_comes_back(void)
{
	AUTO(listeners_free) struct listeners *l = listeners_new(ev, &callbacks, NULL);
	const struct endpoint at[] = {sockets_endpoint("127.0.0.1:7445"),
	                              sockets_endpoint("[::1]:7445")};
	int carried, fd;

	CHECK_EQ_INT(listeners_open(l, at, 2), 0);
	/* A connection that stays shares the port all the while. */
	carried = sockets_connect(&at[0]);
	turn_until_accepted(1);
	fd = listeners_fd(l, 0);
	for (int i = 0; i < 3; i++) {
		listeners_refuse(l, true);
		listeners_refuse(l, true);
		for (size_t k = 0; k < 2; k++) {
			CHECK(!listeners_is_open(l, k));
			expect_refused(&at[k]);
		}
		turn_for(ev, 20 * US_PER_MS);
		listeners_refuse(l, false);
		listeners_refuse(l, false);
		CHECK_EQ_INT(listeners_fd(l, 0), fd);
		for (size_t k = 0; k < 2; k++) {
			int client = sockets_connect(&at[k]);

			CHECK(client >= 0);
			CHECK(listeners_is_open(l, k));
			turn_until_accepted(2);
			CHECK_EQ_INT(get(accepted[1], IPPROTO_TCP, TCP_NODELAY), 1);
			CHECK_EQ_INT(get(accepted[1], SOL_SOCKET, SO_KEEPALIVE), 1);
			(void) close(accepted[--n_accepted]);
			(void) close(client);
		}
	}
	(void) close(carried);
	close_accepted();
}

/* Not refusing while it does not refuse must not touch who waits in the queue. */
static void test_not_refusing_keeps_the_queue(void)
{
	AUTO(listeners_free) struct listeners *l = listeners_new(ev, &callbacks, NULL);
	const struct endpoint at = sockets_endpoint("127.0.0.1:7445");
	int client;

	CHECK_EQ_INT(listeners_open(l, &at, 1), 0);
	client = sockets_connect(&at);
	listeners_refuse(l, false);
	turn_until_accepted(1);
	CHECK_EQ_INT(get(client, SOL_SOCKET, SO_ERROR), 0);
	(void) close(client);
	close_accepted();
}

/* Somebody took the port meanwhile: it is taken back as soon as it is free. */
static void test_the_port_was_taken(void)
{
	AUTO(listeners_free) struct listeners *l = listeners_new(ev, &callbacks, NULL);
	const struct endpoint at = sockets_endpoint("127.0.0.1:7445");
	struct endpoint got;
	int thief;

	CHECK_EQ_INT(listeners_open(l, &at, 1), 0);
	listeners_refuse(l, true);
	thief = sockets_listen("127.0.0.1", 7445, 8, &got);
	listeners_refuse(l, false);
	CHECK(!listeners_is_open(l, 0));
	turn_for(ev, 1200 * US_PER_MS);
	CHECK(!listeners_is_open(l, 0));
	(void) close(thief);
	CHECK(TURN_UNTIL(ev, listeners_is_open(l, 0)));
	expect_one(&at);
}

/* --- opening --- */

static void test_one_cannot_be_opened(void)
{
	AUTO(listeners_free) struct listeners *l = listeners_new(ev, &callbacks, NULL);
	const struct endpoint at[] = {sockets_endpoint("127.0.0.1:7445"),
	                              sockets_endpoint("127.0.0.1:7446"),
	                              sockets_endpoint("127.0.0.1:7447")};
	struct endpoint got;
	int other = sockets_listen("127.0.0.1", 7446, 8, &got);

	CHECK_EQ_INT(listeners_open(l, at, 3), -EADDRINUSE);
	CHECK_EQ_INT(listeners_n(l), 3);
	CHECK(listeners_is_open(l, 0) && !listeners_is_open(l, 1) && listeners_is_open(l, 2));
	CHECK_EQ_INT(listeners_fd(l, 1), -1);
	expect_one(&at[0]);
	expect_one(&at[2]);
	(void) close(other);
	CHECK(TURN_UNTIL(ev, listeners_is_open(l, 1)));
	expect_one(&at[1]);
}

static void test_no_ipv6(void)
{
	AUTO(listeners_free) struct listeners *l = listeners_new(ev, &callbacks, NULL);
	const struct endpoint at[] = {sockets_endpoint("127.0.0.1:7445"),
	                              sockets_endpoint("[::1]:7445")};

	netns_run("ip -6 addr del ::1/128 dev lo");
	CHECK_EQ_INT(listeners_open(l, at, 2), 0);
	CHECK_EQ_INT(listeners_n(l), 1);
	expect_one(&at[0]);
	netns_run("ip -6 addr add ::1/128 dev lo");
}

static void test_only_ipv6_and_there_is_none(void)
{
	AUTO(listeners_free) struct listeners *l = listeners_new(ev, &callbacks, NULL);
	const struct endpoint at = sockets_endpoint("[::1]:7445");

	netns_run("ip -6 addr del ::1/128 dev lo");
	CHECK_EQ_INT(listeners_open(l, &at, 1), -EADDRNOTAVAIL);
	netns_run("ip -6 addr add ::1/128 dev lo");
}

/* --- taking over --- */

/* Who waits in the queue of a socket that is taken over is served. */
static void test_takes_over(void)
{
	AUTO(listeners_free) struct listeners *l = listeners_new(ev, &callbacks, NULL);
	const struct endpoint at = sockets_endpoint("127.0.0.1:7445");
	struct endpoint got, other_at;
	int mine = sockets_listen("127.0.0.1", 7445, 8, &got);
	int other = sockets_listen("127.0.0.1", 0, 8, &other_at);
	int client = sockets_connect(&at);

	listeners_inherit(l, mine);
	listeners_inherit(l, other);
	CHECK_EQ_INT(listeners_open(l, &at, 1), 0);
	CHECK_EQ_INT(listeners_fd(l, 0), mine);
	turn_until_accepted(1);
	/* What is not wanted is closed. */
	expect_refused(&other_at);
	(void) close(client);
	close_accepted();
	expect_one(&at);
}

/* A socket that is bound only, as one is that refused until now; and things that are none. */
static void test_takes_over_what_listens_not(void)
{
	AUTO(listeners_free) struct listeners *l = listeners_new(ev, &callbacks, NULL);
	const struct endpoint at = sockets_endpoint("127.0.0.1:7445");
	struct endpoint got;
	int mine = sockets_listen("127.0.0.1", 7445, -1, &got), pipe_fds[2];
	int datagrams = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_storage address;

	CHECK_EQ_INT(pipe(pipe_fds), 0);
	listeners_inherit(l, pipe_fds[0]);
	CHECK_EQ_INT(bind(datagrams, (struct sockaddr *) &address, endpoint_to_sockaddr(&at, &address)),
	             0);
	listeners_inherit(l, datagrams);
	listeners_inherit(l, mine);
	CHECK_EQ_INT(listeners_open(l, &at, 1), 0);
	CHECK_EQ_INT(listeners_fd(l, 0), mine);
	CHECK_EQ_INT(fcntl(pipe_fds[0], F_GETFD), -1);
	expect_one(&at);
	(void) close(pipe_fds[1]);
}

static void test_from_systemd(void)
{
	AUTO(listeners_free) struct listeners *l = listeners_new(ev, &callbacks, NULL);
	char text[16];

	(void) snprintf(text, sizeof(text), "%d", (int) getpid() + 1);
	(void) setenv("LISTEN_FDS", "1", 1);
	(void) setenv("LISTEN_PID", text, 1);
	/* Meant for another process: descriptor 3 stays what it is. */
	listeners_inherit_from_systemd(l);
	CHECK(getenv("LISTEN_FDS") == NULL && getenv("LISTEN_PID") == NULL);
	CHECK_EQ_INT(listeners_open(l, NULL, 0), 0);
	CHECK(fcntl(3, F_GETFD) >= 0);
}

static void prepare(void)
{
	(void) netns_enter_new();
	(void) signal(SIGPIPE, SIG_IGN);
	ev = ev_loop_new(EVFLAG_AUTO);
	room = true;
}

static void clean_up(void)
{
	listeners_free(NULL);
	ev_loop_destroy(ev);
}

int main(void)
{
	static const patient_fn tests[] = {
	    test_accepts_on_all,
	    test_wildcards,
	    test_a_callback_may_close,
	    test_waits_for_room,
	    test_looks_again_by_itself,
	    test_out_of_descriptors,
	    test_cannot_be_watched,
	    test_refuses_and_comes_back,
	    test_not_refusing_keeps_the_queue,
	    test_the_port_was_taken,
	    test_one_cannot_be_opened,
	    test_no_ipv6,
	    test_only_ipv6_and_there_is_none,
	    test_takes_over,
	    test_takes_over_what_listens_not,
	    test_from_systemd,
	};

	patiently(&(struct patient){.prepare = prepare, .finish = clean_up}, 3, tests,
	          ARRAY_SIZE(tests));
	return check_result();
}
