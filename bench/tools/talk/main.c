/* SPDX-License-Identifier: Apache-2.0 */

/*
 * An open TCP connection that is never quiet, to an echo: talk ADDRESS:PORT. Every 2 ms a number
 * goes out, whether or not those before it were answered. It says "connected" on standard output
 * when the first has come back. On SIGTERM no more go out, what is under way is waited for, and a
 * line of words comes:
 *
 *   sent= answered=   how many
 *   longest_ms=       from when a number was due to its answer: an outage, and one round trip
 *
 * Exits with 1 if the connection broke, or not all was answered in 20 s.
 */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mono.h"
#include "bench/tools/common/sock.h"

#define EVERY_NS 2000000
#define CONNECT_MS 10000
#define BUFFER_BYTES (16 << 20) /* an outage of minutes, at a kilobyte a number */
#define LAST_WAIT_US (20 * US_PER_S)

struct talk {
	int fd, timer_fd;
	uint64_t sent, answered;
	uint8_t half[sizeof(int64_t)]; /* of an answer */
	size_t half_len;
	int64_t longest_us;
};

static volatile sig_atomic_t ending;

static _Noreturn void die(const char *what)
{
	(void) fprintf(stderr, "talk: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void on_term(int signo UNUSED)
{
	ending = 1;
}

/* What goes out is the time at which it was due. */
static void say(struct talk *talk)
{
	uint64_t due;

	if (read(talk->timer_fd, &due, sizeof(due)) != sizeof(due))
		return;
	for (; due > 0; due--) {
		int64_t then_us = mono_now_us() - (int64_t) (due - 1) * EVERY_NS / 1000;

		if (send(talk->fd, &then_us, sizeof(then_us), MSG_DONTWAIT | MSG_NOSIGNAL) !=
		    sizeof(then_us))
			die("sending");
		talk->sent++;
	}
}

static void take_answer(struct talk *talk)
{
	int64_t then_us;

	memcpy(&then_us, talk->half, sizeof(then_us));
	talk->half_len = 0;
	talk->longest_us = MAX(talk->longest_us, mono_now_us() - then_us);
	if (talk->answered++ == 0) {
		(void) puts("connected");
		(void) fflush(stdout);
	}
}

static void hear(struct talk *talk)
{
	uint8_t buf[4096];
	ssize_t n = recv(talk->fd, buf, sizeof(buf), MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0)
		die("the connection");
	for (ssize_t i = 0; i < n; i++) {
		talk->half[talk->half_len++] = buf[i];
		if (talk->half_len == sizeof(talk->half))
			take_answer(talk);
	}
}

static void connect_to(struct talk *talk, const char *text)
{
	struct pollfd ready = {.events = POLLOUT};
	int bytes = BUFFER_BYTES;
	struct endpoint to;

	errno = EINVAL;
	if (endpoint_parse(text, 0, &to) < 0)
		die(text);
	talk->fd = sock_connect(&to, NULL);
	ready.fd = talk->fd;
	(void) setsockopt(talk->fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes));
	errno = talk->fd < 0 ? -talk->fd : ETIMEDOUT;
	if (talk->fd < 0 || poll(&ready, 1, CONNECT_MS) <= 0)
		die(text);
	errno = -sock_error(talk->fd);
	if (errno != 0)
		die(text);
}

static void start_timer(struct talk *talk)
{
	const struct itimerspec every = {{0, EVERY_NS}, {0, EVERY_NS}};

	talk->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (talk->timer_fd < 0 || timerfd_settime(talk->timer_fd, 0, &every, NULL) < 0)
		die("timerfd");
}

int main(int argc, char **argv)
{
	static const struct sigaction term = {.sa_handler = on_term};
	struct talk talk = {0};
	int64_t until_us = MONO_NEVER;

	if (argc != 2) {
		(void) fputs("usage: talk ADDRESS:PORT\n", stderr);
		return 2;
	}
	(void) sigaction(SIGTERM, &term, NULL);
	connect_to(&talk, argv[1]);
	start_timer(&talk);
	while (!ending || (talk.answered < talk.sent && mono_now_us() < until_us)) {
		struct pollfd fds[] = {{.fd = talk.fd, .events = POLLIN},
		                       {.fd = ending ? -1 : talk.timer_fd, .events = POLLIN}};

		if (ending && until_us == MONO_NEVER)
			until_us = mono_now_us() + LAST_WAIT_US;
		if (poll(fds, ARRAY_SIZE(fds), 100) < 0)
			continue;
		if ((fds[1].revents & POLLIN) != 0)
			say(&talk);
		if (fds[0].revents != 0)
			hear(&talk);
	}
	(void) printf("sent=%llu answered=%llu longest_ms=%.2f\n", (unsigned long long) talk.sent,
	              (unsigned long long) talk.answered, (double) talk.longest_us / 1e3);
	return talk.answered == talk.sent ? 0 : 1;
}
