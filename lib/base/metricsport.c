/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the listening socket and the scrapers. A scraper goes one way:
 *
 *     READING --whole or wrong--> WRITING --all sent--> ENDING --its end--> freed
 *
 * with one timer from the beginning to the end. In ENDING what else it sends is read away: input
 * that is unread at close(2) would reset the connection, and the answer might be lost with it.
 */
#include "base/loop.h"
#include "base/metricsport.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/metricsask.h"
#include "base/mono.h"

/* Out of descriptors: accepting is tried again after this. */
#define ACCEPT_PAUSE_S 1.
/* Connections without a request wait in it for a second or more (TCP_DEFER_ACCEPT), so it must be
 * longer than a few idle ones; the kernel shortens it to net.core.somaxconn. */
#define LISTEN_BACKLOG 4096
/* Of what follows a request, this much is read away before the close. */
#define DISCARD_BYTES 65536

enum phase {
	READING,
	WRITING,
	ENDING,
};

struct scraper {
	struct metricsport *port;
	enum phase phase;
	ev_io io;
	ev_timer deadline;
	char asked[METRICSASK_BYTES_MAX];
	size_t asked_len;
	char *answer;
	size_t sent, answer_len;
	TAILQ_ENTRY(scraper) entry;
};

struct metricsport {
	struct ev_loop *ev;
	metricsport_fill_fn fill;
	void *userdata;
	struct endpoint at; /* AF_UNSPEC: none */
	int error;          /* why it does not listen there; 0: it does */
	int inherited;      /* -1: none */
	ev_io acceptable;
	ev_timer accept_again;
	ev_timer open_again;
	struct metrics *page; /* the last one; NULL: none yet */
	int64_t page_us;
	size_t n_scrapers;
	TAILQ_HEAD(, scraper) scrapers;
};

/* --- scrapers --- */

static void accept_more(struct metricsport *port)
{
	if (port->acceptable.fd >= 0 && !ev_is_active(&port->accept_again))
		ev_io_start(port->ev, &port->acceptable);
	else
		ev_io_stop(port->ev, &port->acceptable);
}

static void scraper_free(struct scraper *s)
{
	struct metricsport *port = s->port;

	ev_io_stop(port->ev, &s->io);
	ev_timer_stop(port->ev, &s->deadline);
	TAILQ_REMOVE(&port->scrapers, s, entry);
	port->n_scrapers--;
	(void) close(s->io.fd);
	free(s->answer);
	free(s);
}

static void watch(struct scraper *s, int events)
{
	ev_io_stop(s->port->ev, &s->io);
	ev_io_set(&s->io, s->io.fd, events);
	ev_io_start(s->port->ev, &s->io);
}

/* Not a new one for each who asks: making it costs, and anyone on this machine may ask. */
static const char *page(struct metricsport *port, size_t *ret_len)
{
	int64_t now_us = mono_now_us();

	if (port->page == NULL || now_us - port->page_us >= METRICSPORT_PAGE_MS * US_PER_MS) {
		metrics_free(port->page);
		port->page = metrics_new();
		port->fill(port->page, port->userdata);
		port->page_us = now_us;
	}
	return metrics_text(port->page, ret_len);
}

static const char *phrase(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	case 431:
		return "Request Header Fields Too Large";
	case 505:
		return "HTTP Version Not Supported";
	default:
		return "Bad Request";
	}
}

static void make_answer(struct scraper *s, int status, bool head)
{
	static const char refusal[] = "This port has GET and HEAD of /metrics.\n";
	const char *text = refusal;
	size_t len = sizeof(refusal) - 1;
	time_t now = time(NULL);
	char date[64] = "";
	struct tm tm;

	if (status == 200)
		text = page(s->port, &len);
	if (gmtime_r(&now, &tm) != NULL)
		(void) strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &tm);
	s->answer = xasprintf("HTTP/1.1 %d %s\r\n"
	                      "Date: %s\r\n"
	                      "Content-Type: text/plain; %scharset=utf-8\r\n"
	                      "Content-Length: %zu\r\n"
	                      "%s"
	                      "Connection: close\r\n\r\n",
	                      status, phrase(status), date, status == 200 ? "version=0.0.4; " : "", len,
	                      status == 405 ? "Allow: GET, HEAD\r\n" : "");
	s->answer_len = strlen(s->answer);
	if (head)
		return;
	s->answer = xreallocarray(s->answer, s->answer_len + len, 1);
	memcpy(s->answer + s->answer_len, text, len);
	s->answer_len += len;
}

/* Each of these may free the scraper, and does so last. */
static void on_writable(struct scraper *s)
{
	ssize_t n = send(s->io.fd, s->answer + s->sent, s->answer_len - s->sent, MSG_NOSIGNAL);

	if (n < 0) {
		if (errno != EAGAIN && errno != EINTR)
			scraper_free(s);
		return;
	}
	s->sent += (size_t) n;
	if (s->sent < s->answer_len)
		return;
	(void) shutdown(s->io.fd, SHUT_WR);
	s->phase = ENDING;
	watch(s, EV_READ);
}

static void on_readable(struct scraper *s)
{
	ssize_t n = read(s->io.fd, s->asked + s->asked_len, sizeof(s->asked) - s->asked_len);
	bool head = false;
	int status;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		scraper_free(s);
		return;
	}
	s->asked_len += (size_t) n;
	status = metricsask_read(s->asked, s->asked_len, &head);
	if (status == 0)
		return;
	make_answer(s, status, head);
	s->phase = WRITING;
	watch(s, EV_WRITE);
	on_writable(s);
}

/* `asked` is not needed any more; its length goes on counting. */
static void on_rest(struct scraper *s)
{
	ssize_t n = read(s->io.fd, s->asked, sizeof(s->asked));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	s->asked_len += (size_t) MAX(n, 0);
	if (n <= 0 || s->asked_len > DISCARD_BYTES)
		scraper_free(s);
}

static void scraper_cb(struct ev_loop *ev UNUSED, ev_io *w, int revents)
{
	struct scraper *s = CONTAINER_OF(w, struct scraper, io);

	if ((revents & EV_ERROR) != 0) {
		scraper_free(s);
		return;
	}
	switch (s->phase) {
	case READING:
		on_readable(s);
		break;
	case WRITING:
		on_writable(s);
		break;
	case ENDING:
		on_rest(s);
		break;
	}
}

static void deadline_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct scraper *s = CONTAINER_OF(w, struct scraper, deadline);

	log_debug("metrics_scraper_slow", "phase=%d sent_bytes=%zu of_bytes=%zu", (int) s->phase,
	          s->sent, s->answer_len);
	scraper_free(s);
}

/* When all places are taken, the oldest connection goes, so that idle ones cannot keep a scraper
 * out. One that still reads its answer goes last: all of the others have been answered, or have not
 * asked. */
static void make_room(struct metricsport *port)
{
	struct scraper *s;

	if (port->n_scrapers < METRICSPORT_CLIENTS_MAX)
		return;
	TAILQ_FOREACH (s, &port->scrapers, entry) {
		if (s->phase != WRITING)
			break;
	}
	scraper_free(s != NULL ? s : TAILQ_FIRST(&port->scrapers));
}

/* Takes the descriptor. */
static void add_scraper(struct metricsport *port, int fd)
{
	struct scraper *s = NEW0(struct scraper);

	make_room(port);
	s->port = port;
	ev_io_init(&s->io, scraper_cb, fd, EV_READ);
	ev_set_priority(&s->io, EV_MINPRI);
	ev_io_start(port->ev, &s->io);
	ev_timer_init(&s->deadline, deadline_cb, METRICSPORT_DEADLINE_S, 0.);
	ev_timer_start(port->ev, &s->deadline);
	TAILQ_INSERT_TAIL(&port->scrapers, s, entry);
	port->n_scrapers++;
	on_readable(s);
}

/* One at a time: what else there is to do comes between two. */
static void acceptable_cb(struct ev_loop *ev, ev_io *w, int revents)
{
	struct metricsport *port = CONTAINER_OF(w, struct metricsport, acceptable);
	int fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	loop_expect_watched(revents);
	if (fd >= 0) {
		add_scraper(port, fd);
	} else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
		/* The connection stays in the queue: without a pause the loop would spin. */
		ev_timer_again(ev, &port->accept_again);
		accept_more(port);
	}
}

static void accept_again_cb(struct ev_loop *ev, ev_timer *w, int revents UNUSED)
{
	ev_timer_stop(ev, w);
	accept_more(CONTAINER_OF(w, struct metricsport, accept_again));
}

/* --- the port --- */

/* A connection is told of when its request is there (tcp(7)), so that it is accepted, read and
 * answered in one turn, and a process that is replaced in place has none that is half done. */
static int open_socket(const struct endpoint *at)
{
	AUTO(close) int fd = -1;
	struct sockaddr_storage address;
	socklen_t len = endpoint_to_sockaddr(at, &address);
	int on = 1, wait_s = 1;

	fd = socket(at->addr.family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &wait_s, sizeof(wait_s)) < 0 ||
	    bind(fd, (const struct sockaddr *) &address, len) < 0 || listen(fd, LISTEN_BACKLOG) < 0)
		return -errno;
	return TAKE_FD(fd);
}

static bool listens_at(int fd, const struct endpoint *at)
{
	struct sockaddr_storage address;
	socklen_t len = sizeof(address);
	struct endpoint have;

	return fd >= 0 && getsockname(fd, (struct sockaddr *) &address, &len) == 0 &&
	       endpoint_from_sockaddr((const struct sockaddr *) &address, &have) == 0 &&
	       endpoint_equal(&have, at);
}

/* The same failure again is not told again. */
static void try_to_open(struct metricsport *port)
{
	char text[ENDPOINT_TEXT_MAX];
	int fd =
	    listens_at(port->inherited, &port->at) ? TAKE_FD(port->inherited) : open_socket(&port->at);

	(void) endpoint_format(&port->at, text);
	if (fd < 0) {
		if (fd != port->error)
			(void) log_warning_errno(fd, "metrics_port_closed", "listen=%s retry_s=%d", text,
			                         METRICSPORT_RETRY_S);
		port->error = fd;
		ev_timer_again(port->ev, &port->open_again);
		return;
	}
	log_info("metrics_port_open", "listen=%s", text);
	port->error = 0;
	ev_timer_stop(port->ev, &port->open_again);
	ev_io_set(&port->acceptable, fd, EV_READ);
	accept_more(port);
}

static void open_again_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	try_to_open(CONTAINER_OF(w, struct metricsport, open_again));
}

static void drop_inherited(struct metricsport *port)
{
	if (port->inherited >= 0)
		(void) close(TAKE_FD(port->inherited));
}

/* Who is being answered gets the rest. */
static void stop_listening(struct metricsport *port)
{
	ev_timer_stop(port->ev, &port->open_again);
	ev_timer_stop(port->ev, &port->accept_again);
	ev_io_stop(port->ev, &port->acceptable);
	if (port->acceptable.fd >= 0)
		(void) close(port->acceptable.fd);
	ev_io_set(&port->acceptable, -1, EV_READ);
	port->error = 0;
}

struct metricsport *metricsport_new(struct ev_loop *ev, metricsport_fill_fn fill, void *userdata)
{
	struct metricsport *port = NEW0(struct metricsport);

	port->ev = ev;
	port->fill = fill;
	port->userdata = userdata;
	port->inherited = -1;
	TAILQ_INIT(&port->scrapers);
	ev_io_init(&port->acceptable, acceptable_cb, -1, EV_READ);
	ev_set_priority(&port->acceptable, EV_MINPRI);
	ev_timer_init(&port->accept_again, accept_again_cb, 0., ACCEPT_PAUSE_S);
	ev_timer_init(&port->open_again, open_again_cb, 0., METRICSPORT_RETRY_S);
	return port;
}

void metricsport_free(struct metricsport *port)
{
	if (port == NULL)
		return;
	stop_listening(port);
	drop_inherited(port);
	while (!TAILQ_EMPTY(&port->scrapers))
		scraper_free(TAILQ_FIRST(&port->scrapers));
	metrics_free(port->page);
	free(port);
}

void metricsport_inherit(struct metricsport *port, int fd)
{
	drop_inherited(port);
	port->inherited = fd;
}

void metricsport_set(struct metricsport *port, const struct endpoint *at)
{
	if (!endpoint_equal(&port->at, at)) {
		stop_listening(port);
		port->at = *at;
		if (addr_is_set(&at->addr))
			try_to_open(port);
	}
	drop_inherited(port);
}

int metricsport_fd(const struct metricsport *port)
{
	return port->acceptable.fd;
}

static json_t *describe(const struct metricsport *port)
{
	char text[ENDPOINT_TEXT_MAX];

	if (!addr_is_set(&port->at.addr))
		return json_null();
	return json_pack("{s:s, s:b, s:s?}", "listen", endpoint_format(&port->at, text), "open",
	                 port->error == 0, "error", port->error < 0 ? strerror(-port->error) : NULL);
}

json_t *metricsport_answer(const struct metricsport *port)
{
	AUTO(metrics_free) struct metrics *m = metrics_new();

	port->fill(m, port->userdata);
	return json_pack("{s:s, s:o}", "metrics", metrics_text(m, NULL), "port", describe(port));
}
