/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections over a real execve(2), in every state that they can be in. The carrier is this very
 * program: started as `carry` it does nothing but connections, and becomes itself anew on SIGHUP.
 * The test plays the clients and the servers.
 */
#include "prism/conns.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "prism/handover.h"
#include "tests/unit/check.h"
#include "tests/unit/fakechecker.h"
#include "tests/unit/netns.h"
#include "tests/unit/sockets.h"

#define HELLO "\x16\x03\x01\x00\x08\x01\x00\x00\x04hey!"
#define HELLO_BYTES (sizeof(HELLO) - 1)

#define FILL_S 20. /* until all between a client and a server is full */

/* --- the carrier --- */

#define READY_FD 100  /* a byte each time that it is there */
#define LISTEN_FD 101 /* where its clients come */

struct carrier {
	struct ev_loop *ev;
	struct config config;
	struct upstreams *upstreams;
	struct conns *conns;
	char **argv;
};

static void carrier_conn_cb(const struct handover_conn *conn, void *userdata)
{
	conns_restore(((struct carrier *) userdata)->conns, conn);
}

static void carrier_upstream_cb(const struct handover_upstream *u, void *userdata)
{
	upstreams_restore(((struct carrier *) userdata)->upstreams, u);
}

static void carrier_room_cb(void *userdata UNUSED)
{
}

static void carrier_accept_cb(struct ev_loop *ev UNUSED, ev_io *w, int revents UNUSED)
{
	const struct carrier *c = w->data;
	int fd = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0)
		conns_accept(c->conns, fd);
}

static void carrier_again_cb(struct ev_loop *ev UNUSED, ev_signal *w, int revents UNUSED)
{
	const struct carrier *c = w->data;
	struct handover_writer *writer = NULL;

	CHECK_EQ_INT(handover_writer_new(&writer), 0);
	for (size_t i = 0; i < upstreams_n(c->upstreams); i++) {
		const struct upstream *u = upstreams_get(c->upstreams, i);

		handover_write_upstream(writer, &(struct handover_upstream){
		                                    .endpoint = u->endpoint,
		                                    .state = u->judge.state,
		                                    .reason = u->judge.reason,
		                                });
	}
	conns_save(c->conns, writer);
	CHECK_EQ_INT(handover_arm(writer), 0);
	(void) fcntl(READY_FD, F_SETFD, 0);
	(void) fcntl(LISTEN_FD, F_SETFD, 0);
	(void) execv("/proc/self/exe", c->argv);
	sockets_die("execute itself");
}

static void carrier_end_cb(struct ev_loop *ev, ev_signal *w UNUSED, int revents UNUSED)
{
	ev_break(ev, EVBREAK_ALL);
}

/* argv: carry, how many connections at most, upstreams in their order. */
static int carry(char **argv)
{
	static const struct handover_reader_ops ops = {
	    .upstream = carrier_upstream_cb,
	    .conn = carrier_conn_cb,
	};
	AUTO(handover_free) struct handover *handover = NULL;
	struct carrier c = {.config = fake_config(), .argv = argv};
	struct endpoint at[4];
	ev_signal again, end;
	ev_io entrance;
	size_t n = 0;
	int r;

	r = handover_open(&handover);
	CHECK(r == 0 || r == -ENOENT);
	(void) signal(SIGPIPE, SIG_IGN);
	c.ev = ev_default_loop(EVFLAG_AUTO);
	c.config.connect.replay_us = 600 * US_PER_S;
	c.config.connect.budget_us = 10 * US_PER_S;
	for (char **text = argv + 3; *text != NULL; text++)
		at[n++] = sockets_endpoint(*text);
	c.upstreams = fake_upstreams(c.ev, &c.config, NULL, 0);
	c.conns =
	    conns_new(c.ev, &c.config, c.upstreams, (unsigned) atoi(argv[2]), carrier_room_cb, &c);
	if (handover != NULL)
		handover_read(handover, &ops, &c);
	else
		fake_set_list(c.upstreams, at, n);
	fake_rank(c.upstreams, at, n);
	fake_set_list(c.upstreams, at, n);
	ev_signal_init(&again, carrier_again_cb, SIGHUP);
	again.data = &c;
	ev_signal_start(c.ev, &again);
	ev_signal_init(&end, carrier_end_cb, SIGTERM);
	ev_signal_start(c.ev, &end);
	ev_io_init(&entrance, carrier_accept_cb, LISTEN_FD, EV_READ);
	entrance.data = &c;
	ev_io_start(c.ev, &entrance);
	CHECK_EQ_INT(write(READY_FD, "R", 1), 1);
	ev_run(c.ev, 0);
	conns_free(c.conns);
	upstreams_free(c.upstreams);
	ev_loop_destroy(c.ev);
	return check_result();
}

/* --- the test --- */

struct world {
	pid_t pid;
	int ready;
	int listener; /* the upstream's */
	struct endpoint at, entrance_at;
};

static void wait_ready(const struct world *w)
{
	char byte;

	CHECK(sockets_wait(w->ready, POLLIN));
	CHECK_EQ_INT(read(w->ready, &byte, 1), 1);
}

static void world_begin(struct world *w, const char *max, const struct endpoint *upstream)
{
	char text[ENDPOINT_TEXT_MAX];
	char *argv[] = {(char[]){"test_prism_exec"}, (char[]){"carry"}, xstrdup(max), text, NULL};
	posix_spawn_file_actions_t actions;
	int entrance = sockets_listen("127.0.0.1", 0, 64, &w->entrance_at), fds[2];

	(void) endpoint_format(upstream, text);
	if (pipe2(fds, O_CLOEXEC) < 0)
		sockets_die("make a pipe");
	(void) posix_spawn_file_actions_init(&actions);
	(void) posix_spawn_file_actions_adddup2(&actions, fds[1], READY_FD);
	(void) posix_spawn_file_actions_adddup2(&actions, entrance, LISTEN_FD);
	if (posix_spawn(&w->pid, "/proc/self/exe", &actions, NULL, argv, environ) != 0)
		sockets_die("start the carrier");
	(void) posix_spawn_file_actions_destroy(&actions);
	free(argv[2]);
	(void) close(fds[1]);
	(void) close(entrance);
	w->ready = fds[0];
	wait_ready(w);
}

static void world_new(struct world *w, const char *max)
{
	w->listener = sockets_listen("127.0.0.1", 0, 64, &w->at);
	world_begin(w, max, &w->at);
}

static void again(const struct world *w)
{
	(void) kill(w->pid, SIGHUP);
	wait_ready(w);
}

static void world_end(struct world *w)
{
	int status = -1;

	(void) kill(w->pid, SIGTERM);
	CHECK_EQ_INT(waitpid(w->pid, &status, 0), w->pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	(void) close(w->ready);
	(void) close(w->listener);
}

static void say(int fd, const char *bytes, size_t len)
{
	CHECK_EQ_INT(send(fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT), (ssize_t) len);
}

#define hear(fd, bytes, len) hear_at((fd), (bytes), (len), __FILE__, __LINE__)
#define hear_end(fd) hear_last((fd), 0, __FILE__, __LINE__)
#define hear_reset(fd) hear_last((fd), ECONNRESET, __FILE__, __LINE__)

static void hear_at(int fd, const char *bytes, size_t len, const char *file, int line)
{
	char got[1024];
	size_t n = 0;

	while (n < len && sockets_wait(fd, POLLIN)) {
		ssize_t r = recv(fd, got + n, len - n, MSG_DONTWAIT);

		if (r <= 0)
			break;
		n += (size_t) r;
	}
	(void) check_int(file, line, "bytes that came", (long long) n, (long long) len);
	(void) check_true(file, line, "they are the right ones", memcmp(got, bytes, len) == 0);
}

static void hear_last(int fd, int error, const char *file, int line)
{
	char byte;
	ssize_t n;

	(void) check_true(file, line, "something comes", sockets_wait(fd, POLLIN));
	n = recv(fd, &byte, 1, MSG_DONTWAIT);
	(void) check_int(file, line, "what recv() says", n, error == 0 ? 0 : -1);
	if (error != 0)
		(void) check_int(file, line, "errno", errno, error);
}

/* A client whose upstream has answered. */
static void relayed(const struct world *w, int *ret_client, int *ret_server)
{
	*ret_client = sockets_connect(&w->entrance_at);
	say(*ret_client, HELLO, HELLO_BYTES);
	*ret_server = sockets_accept(w->listener);
	hear(*ret_server, HELLO, HELLO_BYTES);
	say(*ret_server, "yes", 3);
	hear(*ret_client, "yes", 3);
}

/* --- what is idle, or half closed --- */

static void test_idle_and_half_closed(void)
{
	enum { IDLE, CLIENT_ENDED, SERVER_ENDED, N };
	int clients[N], servers[N];
	struct world w;

	world_new(&w, "100");
	for (int i = 0; i < N; i++)
		relayed(&w, &clients[i], &servers[i]);
	(void) shutdown(clients[CLIENT_ENDED], SHUT_WR);
	hear_end(servers[CLIENT_ENDED]);
	(void) shutdown(servers[SERVER_ENDED], SHUT_WR);
	hear_end(clients[SERVER_ENDED]);
	for (int round = 0; round < 3; round++) {
		again(&w);
		say(clients[IDLE], "question", 8);
		hear(servers[IDLE], "question", 8);
		say(servers[IDLE], "answer", 6);
		hear(clients[IDLE], "answer", 6);
		say(servers[CLIENT_ENDED], "still", 5);
		hear(clients[CLIENT_ENDED], "still", 5);
		say(clients[SERVER_ENDED], "here", 4);
		hear(servers[SERVER_ENDED], "here", 4);
	}
	(void) shutdown(servers[CLIENT_ENDED], SHUT_WR);
	hear_end(clients[CLIENT_ENDED]);
	(void) shutdown(clients[SERVER_ENDED], SHUT_WR);
	hear_end(servers[SERVER_ENDED]);
	/* What is not acknowledged yet would be worth more than the reset. */
	say(clients[IDLE], "thanks", 6);
	hear(servers[IDLE], "thanks", 6);
	sockets_reset(servers[IDLE]);
	hear_reset(clients[IDLE]);
	for (int i = 0; i < N; i++) {
		(void) close(clients[i]);
		if (i != IDLE)
			(void) close(servers[i]);
	}
	world_end(&w);
}

/* What a client said while there was nobody waits in its socket. */
static void test_said_meanwhile(void)
{
	int client, server, next;
	struct world w;

	world_new(&w, "100");
	relayed(&w, &client, &server);
	(void) kill(w.pid, SIGSTOP);
	say(client, "question", 8);
	say(server, "news", 4);
	next = sockets_connect(&w.entrance_at);
	say(next, HELLO, HELLO_BYTES);
	(void) kill(w.pid, SIGHUP);
	(void) kill(w.pid, SIGCONT);
	wait_ready(&w);
	hear(server, "question", 8);
	hear(client, "news", 4);
	(void) close(server);
	server = sockets_accept(w.listener);
	hear(server, HELLO, HELLO_BYTES);
	(void) close(client);
	(void) close(server);
	(void) close(next);
	world_end(&w);
}

/* Who has been silent for longest makes room, in the next process as in this one. */
static void test_the_oldest_silent_one(void)
{
	int clients[3], servers[3], client, server;
	struct world w;

	world_new(&w, "3");
	for (int i = 0; i < 3; i++)
		relayed(&w, &clients[i], &servers[i]);
	/* The order in which they moved last: 1, 2, 0. */
	(void) poll(NULL, 0, 20);
	say(clients[0], "q", 1);
	hear(servers[0], "q", 1);
	again(&w);
	(void) poll(NULL, 0, 1050);
	relayed(&w, &client, &server);
	hear_end(clients[1]);
	say(clients[0], "q", 1);
	hear(servers[0], "q", 1);
	say(clients[2], "q", 1);
	hear(servers[2], "q", 1);
	(void) close(client);
	(void) close(server);
	for (int i = 0; i < 3; i++) {
		(void) close(clients[i]);
		(void) close(servers[i]);
	}
	world_end(&w);
}

/* --- what is on the way --- */

/* Whether the carrier waits for something to happen (proc(5), the state in stat). */
static bool asleep(pid_t pid)
{
	char path[32], stat[512];
	const char *state;
	FILE *f;
	size_t n;

	(void) snprintf(path, sizeof(path), "/proc/%d/stat", (int) pid);
	f = fopen(path, "re");
	if (f == NULL)
		sockets_die("read a process's state");
	n = fread(stat, 1, sizeof(stat) - 1, f);
	(void) fclose(f);
	stat[n] = '\0';
	state = strrchr(stat, ')');
	return state != NULL && strncmp(state, ") S", 3) == 0;
}

/* The server says as much as goes in, and the client reads `first` bytes and no more: the rest is
 * in memory, or in a pipe. Ends when all stands still, and not because the carrier, which may wait
 * for a processor, has not come to it. */
static void fill(const struct world *w, int server, int client, uint64_t first, uint64_t *said,
                 uint64_t *heard)
{
	ev_tstamp deadline = ev_time() + FILL_S;
	uint64_t before;
	int still = 0;

	while (still < 50 && CHECK(ev_time() < deadline)) {
		before = *said;
		CHECK(stream_write(server, said, 64 << 20));
		if (*heard < first)
			CHECK_EQ_INT(stream_read(client, heard, (size_t) (first - *heard)), STREAM_GOES_ON);
		(void) poll(NULL, 0, 1);
		still = *said == before && *heard == first && asleep(w->pid) ? still + 1 : 0;
	}
	CHECK_EQ_INT(*heard, first);
}

static void test_on_the_way(void)
{
	/* How much the client reads before, and how the server ends. */
	static const struct {
		uint64_t first;
		bool in_memory; /* what the client's socket takes is less than one read */
		bool resets;
	} cases[] = {{0, true, false},
	             {20000, true, false},
	             {300000, false, false},
	             {0, true, true},
	             {300000, false, true}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		enum stream_end end = STREAM_GOES_ON;
		uint64_t said = 0, heard = 0;
		int client, server, unsent = 1;
		struct world w;

		if (cases[i].in_memory)
			netns_sysctl("/proc/sys/net/ipv4/tcp_wmem", "4096 4096 4096");
		world_new(&w, "100");
		client = sockets_connect(&w.entrance_at);
		sockets_set(client, SOL_SOCKET, SO_RCVBUF, cases[i].in_memory ? 4096 : 65536);
		say(client, HELLO, HELLO_BYTES);
		server = sockets_accept(w.listener);
		sockets_set(server, SOL_SOCKET, SO_SNDBUF, 65536);
		hear(server, HELLO, HELLO_BYTES);
		fill(&w, server, client, cases[i].first, &said, &heard);
		again(&w);
		again(&w);
		/* What was not yet with prism is lost by a reset. */
		while (cases[i].resets && ioctl(server, TIOCOUTQ, &unsent) == 0 && unsent > 0)
			CHECK_EQ_INT(stream_read(client, &heard, 50000), STREAM_GOES_ON);
		if (cases[i].resets)
			sockets_reset(server);
		else
			(void) shutdown(server, SHUT_WR);
		again(&w);
		while (end == STREAM_GOES_ON && sockets_wait(client, POLLIN))
			end = stream_read(client, &heard, 100000);
		CHECK(end == STREAM_ENDED || (cases[i].resets && end == STREAM_RESET));
		CHECK_EQ_INT(heard, said);
		(void) close(client);
		if (!cases[i].resets)
			(void) close(server);
		world_end(&w);
		netns_sysctl("/proc/sys/net/ipv4/tcp_wmem", "4096 16384 4194304");
	}
}

/* Bulk both ways while it becomes another process again and again. */
static void test_a_stream_through_many(void)
{
	const uint64_t total = 24 << 20;
	uint64_t up = 0, up_read = 0, down = 0, down_read = 0;
	enum stream_end client_end = STREAM_GOES_ON, server_end = STREAM_GOES_ON;
	int client, server, rounds = 0;
	struct world w;

	world_new(&w, "100");
	relayed(&w, &client, &server);
	for (int i = 0; client_end == STREAM_GOES_ON || server_end == STREAM_GOES_ON; i++) {
		if (i % 3 == 2 && rounds < 20) {
			(void) kill(w.pid, SIGHUP);
			rounds++;
		}
		CHECK(stream_write(client, &up, total));
		CHECK(stream_write(server, &down, total));
		if (up == total)
			(void) shutdown(client, SHUT_WR);
		if (down == total)
			(void) shutdown(server, SHUT_WR);
		if (client_end == STREAM_GOES_ON)
			client_end = stream_read(client, &down_read, 200000);
		if (server_end == STREAM_GOES_ON)
			server_end = stream_read(server, &up_read, 150000);
		/* The next signal only when it is there again. */
		if (i % 3 == 2 && rounds < 20)
			wait_ready(&w);
		/* Both have to be read. */
		(void) poll(&(struct pollfd){.fd = client, .events = POLLIN}, 1, 20);
	}
	CHECK_EQ_INT(client_end, STREAM_ENDED);
	CHECK_EQ_INT(server_end, STREAM_ENDED);
	CHECK_EQ_INT(up_read, total);
	CHECK_EQ_INT(down_read, total);
	CHECK(rounds >= 5);
	(void) close(client);
	(void) close(server);
	world_end(&w);
}

/* --- without an answer yet --- */

/* Of two, one of which says something. */
static bool speaks_first(int one, int other)
{
	struct pollfd both[] = {{.fd = one, .events = POLLIN}, {.fd = other, .events = POLLIN}};

	CHECK(poll(both, 2, SOCKETS_WAIT_MS) > 0);
	return both[0].revents != 0;
}

static void test_waiting(void)
{
	static const bool ends[] = {false, true};

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		int client, quiet, server, quiet_server;
		struct world w;

		world_new(&w, "100");
		/* One that has said something, and one that has not. */
		client = sockets_connect(&w.entrance_at);
		say(client, HELLO, 5);
		server = sockets_accept(w.listener);
		hear(server, HELLO, 5);
		say(client, &HELLO[5], HELLO_BYTES - 5);
		if (ends[i])
			(void) shutdown(client, SHUT_WR);
		hear(server, &HELLO[5], HELLO_BYTES - 5);
		quiet = sockets_connect(&w.entrance_at);
		quiet_server = sockets_accept(w.listener);
		again(&w);
		/* Said again, all of it; those that had it are let go. */
		(void) close(server);
		(void) close(quiet_server);
		server = sockets_accept(w.listener);
		quiet_server = sockets_accept(w.listener);
		if (!speaks_first(server, quiet_server)) {
			int other = server;

			server = quiet_server;
			quiet_server = other;
		}
		hear(server, HELLO, HELLO_BYTES);
		if (ends[i])
			hear_end(server);
		say(server, "answer", 6);
		hear(client, "answer", 6);
		say(quiet, "better late", 11);
		hear(quiet_server, "better late", 11);
		(void) close(client);
		(void) close(quiet);
		(void) close(server);
		(void) close(quiet_server);
		world_end(&w);
	}
}

/* Its upstream answers no SYN until it is another process that asks. */
static void test_dialling(void)
{
	struct blackhole hole = sockets_blackhole("127.0.0.1");
	int client, server;
	struct world w = {.listener = hole.listener};

	world_begin(&w, "100", &hole.at);
	client = sockets_connect(&w.entrance_at);
	say(client, HELLO, HELLO_BYTES);
	(void) poll(NULL, 0, 50);
	again(&w);
	again(&w);
	for (size_t i = 0; i < ARRAY_SIZE(hole.fillers); i++)
		(void) close(hole.fillers[i]);
	/* The fillers that got in, then who is left. */
	do {
		server = sockets_accept(hole.listener);
	} while (sockets_wait(server, POLLIN) && sockets_unread(server) == 0);
	hear(server, HELLO, HELLO_BYTES);
	say(server, "answer", 6);
	hear(client, "answer", 6);
	(void) close(client);
	(void) close(server);
	world_end(&w);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "carry") == 0)
		return carry(argv);
	(void) netns_enter_new();
	(void) signal(SIGPIPE, SIG_IGN);
	test_idle_and_half_closed();
	test_said_meanwhile();
	test_the_oldest_silent_one();
	test_on_the_way();
	test_a_stream_through_many();
	test_waiting();
	test_dialling();
	return check_result();
}
