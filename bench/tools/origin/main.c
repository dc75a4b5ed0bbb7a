/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The origin: what the balancers of a measurement balance to. Answers as common/wire.h says; with
 * --tls it is an API server to those who speak TLS, on the same port. One thread.
 *
 *   SIGUSR1, SIGUSR2   /readyz answers 500, 200
 *   SIGTERM            as an API server without a shutdown delay: takes no more connections at
 * once, /readyz with them, answers what it was asked, and ends SIGKILL, SIGSTOP   do what they
 * always do
 */

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#include "base/endpoint.h"
#include "base/macro.h"
#include "base/mem.h"
#include "bench/tools/common/reactor.h"
#include "bench/tools/common/sock.h"
#include "bench/tools/origin/readyz.h"
#include "bench/tools/origin/session.h"

#define LISTENERS_MAX 16
#define TLS_HANDSHAKE_RECORD 0x16 /* RFC 8446, section 5.1 */

struct origin;

struct listener {
	struct reactor_watch watch;
	struct origin *origin;
	int fd;
};

struct origin {
	struct reactor *reactor;
	struct sessions *sessions;
	struct readyz *readyz; /* NULL: no TLS */
	struct reactor_watch signals;
	int signal_fd;
	struct listener listeners[LISTENERS_MAX];
	size_t n_listeners;
	bool ending;
};

/* Accepted, and not yet known what it speaks. */
struct newcomer {
	struct reactor_watch watch;
	struct origin *origin;
	int fd;
};

static _Noreturn void die(const char *what, int r)
{
	(void) fprintf(stderr, "origin: %s: %s\n", what, strerror(-r));
	exit(1);
}

static void newcomer_event(struct reactor_watch *watch, uint32_t events UNUSED)
{
	AUTO(free) struct newcomer *newcomer = CONTAINER_OF(watch, struct newcomer, watch);
	struct origin *origin = newcomer->origin;
	uint8_t first = 0;
	ssize_t n = recv(newcomer->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);

	if (n <= 0 || reactor_remove(origin->reactor, newcomer->fd) < 0)
		(void) close(newcomer->fd);
	else if (first == TLS_HANDSHAKE_RECORD)
		readyz_serve(origin->readyz, newcomer->fd);
	else
		sessions_serve(origin->sessions, newcomer->fd);
}

static void welcome(struct origin *origin, int fd)
{
	struct newcomer *newcomer;

	if (origin->readyz == NULL) {
		sessions_serve(origin->sessions, fd);
		return;
	}
	newcomer = NEW0(struct newcomer);
	newcomer->watch.fn = newcomer_event;
	newcomer->origin = origin;
	newcomer->fd = fd;
	if (reactor_add(origin->reactor, fd, EPOLLIN, &newcomer->watch) >= 0)
		return;
	(void) close(fd);
	free(newcomer);
}

static void listener_event(struct reactor_watch *watch, uint32_t events UNUSED)
{
	struct listener *listener = CONTAINER_OF(watch, struct listener, watch);

	for (;;) {
		int fd = sock_accept(listener->fd);

		if (fd == -EAGAIN || fd == -ECONNABORTED)
			return;
		if (fd < 0)
			die("accept", fd);
		welcome(listener->origin, fd);
	}
}

static void signal_event(struct reactor_watch *watch, uint32_t events UNUSED)
{
	struct origin *origin = CONTAINER_OF(watch, struct origin, signals);
	struct signalfd_siginfo info;

	if (read(origin->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGTERM) {
		origin->ending = true;
		for (size_t i = 0; i < origin->n_listeners; i++)
			(void) close(origin->listeners[i].fd);
		sessions_drain(origin->sessions);
	} else if (origin->readyz != NULL) {
		readyz_set(origin->readyz, info.ssi_signo == SIGUSR2);
	}
}

static void signals_open(struct origin *origin)
{
	sigset_t set;
	int r;

	(void) sigemptyset(&set);
	(void) sigaddset(&set, SIGTERM);
	(void) sigaddset(&set, SIGUSR1);
	(void) sigaddset(&set, SIGUSR2);
	(void) sigprocmask(SIG_BLOCK, &set, NULL);
	(void) signal(SIGPIPE, SIG_IGN);
	origin->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (origin->signal_fd < 0)
		die("signalfd", -errno);
	origin->signals.fn = signal_event;
	r = reactor_add(origin->reactor, origin->signal_fd, EPOLLIN, &origin->signals);
	if (r < 0)
		die("signalfd", r);
}

static void listener_open(struct origin *origin, const char *text)
{
	struct listener *listener = &origin->listeners[origin->n_listeners];
	struct endpoint at;
	int r = endpoint_parse(text, 0, &at);

	if (origin->n_listeners == LISTENERS_MAX)
		die(text, -E2BIG);
	if (r < 0)
		die(text, r);
	listener->watch.fn = listener_event;
	listener->origin = origin;
	listener->fd = sock_listen(&at);
	if (listener->fd < 0)
		die(text, listener->fd);
	r = reactor_add(origin->reactor, listener->fd, EPOLLIN, &listener->watch);
	if (r < 0)
		die(text, r);
	origin->n_listeners++;
}

static _Noreturn void usage(void)
{
	(void) fputs("usage: origin [--number N] [--tls CERT_FILE,KEY_FILE] ADDRESS:PORT...\n", stderr);
	exit(2);
}

static void options(struct origin *origin, int argc, char **argv)
{
	static const struct option known[] = {
	    {"number", required_argument, NULL, 'n'},
	    {"tls", required_argument, NULL, 't'},
	    {0},
	};
	int number = 0;
	int option, r;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		char *comma = option == 't' ? strchr(optarg, ',') : NULL;

		if (option == 'n') {
			number = atoi(optarg);
		} else if (option == 't' && comma != NULL) {
			*comma = '\0';
			r = readyz_new(origin->reactor, optarg, comma + 1, &origin->readyz);
			if (r < 0)
				die(optarg, r);
		} else {
			usage();
		}
	}
	if (optind == argc || number < 0 || number > UINT8_MAX)
		usage();
	origin->sessions = sessions_new(origin->reactor, (uint8_t) number);
}

int main(int argc, char **argv)
{
	struct origin origin = {0};
	int r = reactor_new(&origin.reactor);

	if (r < 0)
		die("epoll", r);
	options(&origin, argc, argv);
	signals_open(&origin);
	for (int i = optind; i < argc; i++)
		listener_open(&origin, argv[i]);
	while (!origin.ending || sessions_n(origin.sessions) > 0) {
		r = reactor_turn(origin.reactor, reactor_now_ns() + NS_PER_S);
		if (r < 0)
			die("epoll", r);
	}
	sessions_free(origin.sessions);
	readyz_free(origin.readyz);
	reactor_free(origin.reactor);
	return 0;
}
