/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A server that misbehaves as told. Its probes (a TLS ClientHello for --probe-name) are served
 * properly, so that a balancer believes in it; what every other connection gets is the mode, which
 * a control file changes while it runs. Writes down who came and, byte by byte, what they sent.
 * --blackhole is another thing: a listener whose queue it fills itself, so that the kernel answers
 * no SYN any more, without a firewall and without privileges (listen(2): backlog).
 * Modes are in server/script.h; what becomes of a connection is in server/visitor.c.
 */

#include <errno.h>
#include <ev.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/endpoint.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "tests/tools/server/visitor.h"
#include "tests/tools/traffic/tls.h"

#define BLACKHOLE_FILLERS 8
#define BLACKHOLE_SETTLE_MS 100

struct listener {
	struct ev_io io;
	struct visitors *visitors;
};

struct options {
	struct script script;
	const char *cert, *key, *probe_name;
	struct endpoint listen[8];
	size_t n_listen;
	bool blackhole;
};

static NORETURN void die(const char *what)
{
	(void) fprintf(stderr, "oddserver: %s: %s\n", what, strerror(errno));
	exit(1);
}

static NORETURN void usage(int code)
{
	(void) fprintf(
	    code == 0 ? stdout : stderr,
	    "usage: oddserver --listen ADDRESS:PORT... [OPTION]...\n"
	    "  --mode MODE       what connections get: serve (HTTP over TLS), echo, silent,\n"
	    "                    byte, drip, close, reset, first (default: serve)\n"
	    "  --cert FILE --key FILE, --probe-name NAME  TLS for probes (kubernetes)\n"
	    "  --readyz STATUS   how probes are answered (200); 0: not at all\n"
	    "  --control FILE    words mode=MODE readyz=STATUS, read whenever needed\n"
	    "  --record FOLDER   what connection N sends goes into the file N\n"
	    "  --body TEXT       of serve; --drip MS; --bytes N of first\n"
	    "  --blackhole       answers no SYN\n");
	exit(code);
}

static uint64_t parse_count(const char *text)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	if (*text < '0' || *text > '9' || *end != '\0')
		usage(2);
	return value;
}

static void parse_option(int c, struct options *o)
{
	switch (c) {
	case 'l':
		if (o->n_listen == ARRAY_SIZE(o->listen) ||
		    endpoint_parse(optarg, 0, &o->listen[o->n_listen++]) < 0)
			usage(2);
		break;
	case 'm':
		if (script_parse_mode(optarg, &o->script.mode) < 0)
			usage(2);
		break;
	case 'c':
		o->cert = optarg;
		break;
	case 'k':
		o->key = optarg;
		break;
	case 'p':
		o->probe_name = optarg;
		break;
	case 'r':
		o->script.readyz = (unsigned) parse_count(optarg);
		break;
	case 'C':
		o->script.control_file = optarg;
		break;
	case 'R':
		o->script.record_dir = optarg;
		break;
	case 'b':
		o->script.body = optarg;
		break;
	case 'd':
		o->script.drip_us = (int64_t) parse_count(optarg) * US_PER_MS;
		break;
	case 'n':
		o->script.bytes = parse_count(optarg);
		break;
	case 'B':
		o->blackhole = true;
		break;
	default:
		usage(c == 'h' ? 0 : 2);
	}
}

static void parse_options(int argc, char **argv, struct options *o)
{
	static const struct option table[] = {
	    {"listen", required_argument, NULL, 'l'},
	    {"mode", required_argument, NULL, 'm'},
	    {"cert", required_argument, NULL, 'c'},
	    {"key", required_argument, NULL, 'k'},
	    {"probe-name", required_argument, NULL, 'p'},
	    {"readyz", required_argument, NULL, 'r'},
	    {"control", required_argument, NULL, 'C'},
	    {"record", required_argument, NULL, 'R'},
	    {"body", required_argument, NULL, 'b'},
	    {"drip", required_argument, NULL, 'd'},
	    {"bytes", required_argument, NULL, 'n'},
	    {"blackhole", no_argument, NULL, 'B'},
	    {"help", no_argument, NULL, 'h'},
	    {NULL, 0, NULL, 0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "", table, NULL)) != -1)
		parse_option(c, o);
	if (optind != argc || o->n_listen == 0 || (o->cert == NULL) != (o->key == NULL))
		usage(2);
}

static int listen_at(const struct endpoint *at, int backlog)
{
	struct sockaddr_storage address;
	socklen_t len = endpoint_to_sockaddr(at, &address);
	int on = 1;
	int fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		die("socket");
	(void) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (address.ss_family == AF_INET6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0)
		die("IPV6_V6ONLY");
	if (bind(fd, (struct sockaddr *) &address, len) < 0)
		die("bind");
	if (listen(fd, backlog) < 0)
		die("listen");
	return fd;
}

static void accept_cb(struct ev_loop *ev UNUSED, struct ev_io *w, int revents UNUSED)
{
	struct listener *listener = CONTAINER_OF(w, struct listener, io);
	struct sockaddr_storage address;
	socklen_t len = sizeof(address);
	char text[ENDPOINT_TEXT_MAX] = "";
	struct endpoint from;
	int fd = accept4(w->fd, (struct sockaddr *) &address, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0 && (errno == EAGAIN || errno == ECONNABORTED || errno == EINTR))
		return;
	if (fd < 0)
		die("accept");
	if (endpoint_from_sockaddr((struct sockaddr *) &address, &from) == 0)
		(void) endpoint_format(&from, text);
	visitor_new(listener->visitors, fd, text);
}

/* Connections of our own take all places in the queue; what they wait for never comes. */
static void fill_queue(const struct endpoint *at)
{
	struct sockaddr_storage address;
	socklen_t len = endpoint_to_sockaddr(at, &address);
	int connected = 0;

	for (int i = 0; i < BLACKHOLE_FILLERS; i++) {
		int fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		struct pollfd p = {.fd = fd, .events = POLLOUT};

		if (fd < 0 || (connect(fd, (struct sockaddr *) &address, len) < 0 && errno != EINPROGRESS))
			die("connect");
		connected += poll(&p, 1, BLACKHOLE_SETTLE_MS) == 1;
	}
	if (connected == BLACKHOLE_FILLERS) {
		errno = EADDRINUSE;
		die("the queue does not fill");
	}
}

static void serve(const struct options *o)
{
	struct ev_loop *ev = ev_default_loop(EVFLAG_AUTO);
	struct visitors visitors = {
	    .ev = ev,
	    .script = &o->script,
	    .tls = o->cert == NULL ? NULL : tls_server(o->cert, o->key),
	    .probe_name = o->probe_name,
	};
	struct listener listeners[ARRAY_SIZE(o->listen)];

	for (size_t i = 0; i < o->n_listen; i++) {
		listeners[i].visitors = &visitors;
		ev_io_init(&listeners[i].io, accept_cb, listen_at(&o->listen[i], 4096), EV_READ);
		ev_io_start(ev, &listeners[i].io);
	}
	ev_run(ev, 0);
}

int main(int argc, char **argv)
{
	struct options o = {
	    .script = {.readyz = 200, .body = "scripted\n", .drip_us = 100 * US_PER_MS},
	    .probe_name = "kubernetes",
	};

	(void) signal(SIGPIPE, SIG_IGN);
	parse_options(argc, argv, &o);
	if (o.blackhole) {
		for (size_t i = 0; i < o.n_listen; i++) {
			(void) listen_at(&o.listen[i], 0);
			fill_queue(&o.listen[i]);
		}
		(void) puts("blackhole");
		(void) fflush(stdout);
		for (;;)
			(void) pause();
	}
	serve(&o);
	return 0;
}
