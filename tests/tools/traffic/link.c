/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A socket, perhaps an SSL on it, and what could not be sent yet. Reads once for each event, so
 * that the callback is the last thing done and may free the link. OpenSSL reads no further than the
 * record it was asked for, so what is left stays in the kernel and wakes the loop again.
 */

#include "link.h"

#include <assert.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"

#define READ_BYTES 262144

enum link_state {
	LINK_CONNECTING,
	LINK_HANDSHAKING,
	LINK_OPEN,
	LINK_ENDED, /* the other side has; we may still send */
	LINK_DEAD,
};

struct link {
	struct ev_loop *ev;
	struct ev_io io;
	struct ev_timer defer; /* an end found while the caller is busy is told from the loop */
	enum link_state state;
	SSL *ssl;
	const struct link_events *events;
	void *userdata;
	uint8_t *unsent;
	size_t unsent_at, unsent_len;
	uint64_t received;
	bool want_room, want_data;
	bool room_next;        /* where both are due, they take turns */
	bool handshake_writes; /* what OpenSSL waits for */
	bool end_wanted;
	bool reset;
	enum link_end end;
	char why[120];
};

static void watch(struct link *link)
{
	int events = 0;

	if (link->state == LINK_CONNECTING) {
		events = EV_WRITE;
	} else if (link->state == LINK_HANDSHAKING) {
		events = link->handshake_writes ? EV_WRITE : EV_READ;
	} else {
		if (link->state == LINK_OPEN && link->want_data)
			events |= EV_READ;
		if (link->unsent_len > 0 || link->want_room)
			events |= EV_WRITE;
	}
	if (events == (link->io.events & (EV_READ | EV_WRITE)) && ev_is_active(&link->io))
		return;
	ev_io_stop(link->ev, &link->io);
	ev_io_set(&link->io, link->io.fd, events);
	if (events != 0)
		ev_io_start(link->ev, &link->io);
}

/* --- ends --- */

static enum link_end end_of_errno(int error)
{
	switch (error) {
	case ECONNREFUSED:
		return LINK_REFUSED;
	case ECONNRESET:
	case EPIPE:
		return LINK_RESET;
	case EADDRNOTAVAIL:
	case EMFILE:
	case ENFILE:
	case ENOBUFS:
	case ENOMEM:
		return LINK_LOCAL;
	default:
		return LINK_UNREACHED;
	}
}

static void ended(struct link *link, enum link_end end, const char *why)
{
	if (link->state == LINK_DEAD || (link->state == LINK_ENDED && end == LINK_EOF))
		return;
	link->state = end == LINK_EOF ? LINK_ENDED : LINK_DEAD;
	if (end != LINK_EOF) {
		link->unsent_len = 0;
		link->want_room = false;
	}
	watch(link);
	link->events->ended(end, why, link->userdata);
}

static void end_cb(struct ev_loop *ev UNUSED, struct ev_timer *w, int revents UNUSED)
{
	struct link *link = CONTAINER_OF(w, struct link, defer);

	ended(link, link->end, link->why);
}

static void end_soon(struct link *link, enum link_end end, const char *why)
{
	link->end = end;
	(void) snprintf(link->why, sizeof(link->why), "%s", why);
	ev_timer_start(link->ev, &link->defer);
}

/* What OpenSSL's failure means: `error` is errno as the call left it. */
static enum link_end tls_end(struct link *link, int result, int error, char why[static 120])
{
	int kind = SSL_get_error(link->ssl, result);
	unsigned long queued = ERR_peek_last_error();
	long verified = SSL_get_verify_result(link->ssl);

	if (kind == SSL_ERROR_ZERO_RETURN) {
		(void) snprintf(why, 120, "closed");
		return LINK_EOF;
	}
	if (ERR_GET_REASON(queued) == SSL_R_UNEXPECTED_EOF_WHILE_READING ||
	    (kind == SSL_ERROR_SYSCALL && error == 0)) {
		(void) snprintf(why, 120, "closed without a word");
		return LINK_EOF;
	}
	if (kind == SSL_ERROR_SYSCALL) {
		(void) snprintf(why, 120, "%s", strerror(error));
		return end_of_errno(error);
	}
	if (verified != X509_V_OK) {
		(void) snprintf(why, 120, "%s", X509_verify_cert_error_string(verified));
		return LINK_UNTRUSTED;
	}
	ERR_error_string_n(queued, why, 120);
	return LINK_BROKEN;
}

/* --- opening --- */

static void opened(struct link *link)
{
	link->state = LINK_OPEN;
	watch(link);
	if (link->events->opened != NULL)
		link->events->opened(link->userdata);
}

static void handshake(struct link *link)
{
	char why[120];
	int r, kind;

	ERR_clear_error();
	errno = 0;
	r = SSL_do_handshake(link->ssl);
	if (r == 1) {
		opened(link);
		return;
	}
	kind = SSL_get_error(link->ssl, r);
	if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE) {
		link->handshake_writes = kind == SSL_ERROR_WANT_WRITE;
		watch(link);
		return;
	}
	ended(link, tls_end(link, r, errno, why), why);
}

static void connected(struct link *link)
{
	int error = 0;
	socklen_t len = sizeof(error);

	if (getsockopt(link->io.fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (error != 0) {
		ended(link, end_of_errno(error), strerror(error));
	} else if (link->ssl != NULL) {
		link->state = LINK_HANDSHAKING;
		handshake(link);
	} else {
		opened(link);
	}
}

/* --- data --- */

/* Writes what it can; false when the link is broken: then the end is on its way. */
static bool write_some(struct link *link, const uint8_t *bytes, size_t len, size_t *ret_written)
{
	ssize_t n;

	*ret_written = 0;
	while (*ret_written < len) {
		if (link->ssl != NULL) {
			char why[120];
			int kind;

			ERR_clear_error();
			errno = 0;
			n = SSL_write(link->ssl, bytes + *ret_written, (int) MIN(len - *ret_written, 16384U));
			kind = n > 0 ? SSL_ERROR_NONE : SSL_get_error(link->ssl, (int) n);
			if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE)
				return true;
			if (n <= 0) {
				enum link_end end = tls_end(link, (int) n, errno, why);

				end_soon(link, end, why);
				return false;
			}
		} else {
			n = send(link->io.fd, bytes + *ret_written, len - *ret_written, MSG_NOSIGNAL);
			if (n < 0 && errno == EAGAIN)
				return true;
			if (n < 0) {
				end_soon(link, end_of_errno(errno), strerror(errno));
				return false;
			}
		}
		*ret_written += (size_t) n;
	}
	return true;
}

static void end_if_wanted(struct link *link)
{
	if (link->end_wanted && link->unsent_len == 0)
		(void) shutdown(link->io.fd, SHUT_WR);
}

static void flush(struct link *link)
{
	size_t written;

	if (!write_some(link, link->unsent + link->unsent_at, link->unsent_len, &written)) {
		link->unsent_len = 0;
		return;
	}
	link->unsent_at += written;
	link->unsent_len -= written;
	end_if_wanted(link);
}

void link_send(struct link *link, const void *bytes, size_t len)
{
	size_t written = 0;

	if (link->state == LINK_DEAD)
		return;
	if (link->unsent_len == 0 && !write_some(link, bytes, len, &written))
		return;
	if (written == len)
		return;
	if (link->unsent_at > 0)
		memmove(link->unsent, link->unsent + link->unsent_at, link->unsent_len);
	link->unsent_at = 0;
	link->unsent = xreallocarray(link->unsent, link->unsent_len + len - written, 1);
	memcpy(link->unsent + link->unsent_len, (const uint8_t *) bytes + written, len - written);
	link->unsent_len += len - written;
	watch(link);
}

void link_send_end(struct link *link)
{
	assert(link->ssl == NULL);
	link->end_wanted = true;
	end_if_wanted(link);
}

static void read_once(struct link *link)
{
	static uint8_t buffer[READ_BYTES];
	char why[120];
	ssize_t n;

	if (link->ssl != NULL) {
		int kind;

		ERR_clear_error();
		errno = 0;
		n = SSL_read(link->ssl, buffer, sizeof(buffer));
		kind = n > 0 ? SSL_ERROR_NONE : SSL_get_error(link->ssl, (int) n);
		if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE)
			return;
		if (n <= 0) {
			ended(link, tls_end(link, (int) n, errno, why), why);
			return;
		}
	} else {
		n = recv(link->io.fd, buffer, sizeof(buffer), 0);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			ended(link, n == 0 ? LINK_EOF : end_of_errno(errno),
			      n == 0 ? "closed" : strerror(errno));
			return;
		}
		link->received += (uint64_t) n;
	}
	link->events->data(buffer, (size_t) n, link->userdata);
}

static void io_cb(struct ev_loop *ev UNUSED, struct ev_io *w, int revents)
{
	struct link *link = CONTAINER_OF(w, struct link, io);
	bool data, room;

	if (link->state == LINK_CONNECTING) {
		connected(link);
		return;
	}
	if (link->state == LINK_HANDSHAKING) {
		handshake(link);
		return;
	}
	if ((revents & EV_WRITE) != 0 && link->unsent_len > 0)
		flush(link);
	watch(link);
	data = (revents & EV_READ) != 0 && link->state == LINK_OPEN && link->want_data;
	room = (revents & EV_WRITE) != 0 && link->want_room && link->unsent_len == 0;
	/* One callback a turn: it may free the link. The other is still due in the next one. */
	if (room && (link->room_next || !data)) {
		link->room_next = false;
		link->events->room(link->userdata);
	} else if (data) {
		link->room_next = true;
		read_once(link);
	}
}

/* --- coming and going --- */

static struct link *new_link(struct ev_loop *ev, int fd, const struct link_events *events,
                             void *userdata)
{
	struct link *link = NEW0(struct link);
	int on = 1;

	link->ev = ev;
	link->events = events;
	link->userdata = userdata;
	link->want_data = true;
	ev_io_init(&link->io, io_cb, fd, 0);
	ev_timer_init(&link->defer, end_cb, 0., 0.);
	if (fd >= 0)
		(void) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return link;
}

static void use_tls(struct link *link, SSL_CTX *tls)
{
	link->ssl = SSL_new(tls);
	if (link->ssl == NULL || SSL_set_fd(link->ssl, link->io.fd) != 1)
		abort();
}

static void expect_name(SSL *ssl, const char *name)
{
	AUTO(free) char *copy = xstrdup(name); /* OpenSSL's macro takes no const */

	if (SSL_set_tlsext_host_name(ssl, copy) != 1 || SSL_set1_host(ssl, name) != 1)
		abort();
}

struct link *link_connect(struct ev_loop *ev, const struct endpoint *to, SSL_CTX *tls,
                          const char *name, const struct link_events *events, void *userdata)
{
	struct sockaddr_storage address;
	socklen_t len = endpoint_to_sockaddr(to, &address);
	int fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int error = fd < 0 ? errno : 0;
	struct link *link = new_link(ev, fd, events, userdata);

	if (fd >= 0 && connect(fd, (struct sockaddr *) &address, len) < 0 && errno != EINPROGRESS)
		error = errno;
	if (error != 0) {
		end_soon(link, end_of_errno(error), strerror(error));
		return link;
	}
	if (tls != NULL) {
		use_tls(link, tls);
		expect_name(link->ssl, name);
		SSL_set_connect_state(link->ssl);
	}
	watch(link);
	return link;
}

struct link *link_accepted(struct ev_loop *ev, int fd, SSL_CTX *tls,
                           const struct link_events *events, void *userdata)
{
	struct link *link = new_link(ev, fd, events, userdata);

	link->state = LINK_OPEN;
	if (tls != NULL) {
		use_tls(link, tls);
		SSL_set_accept_state(link->ssl);
		link->state = LINK_HANDSHAKING;
	}
	watch(link);
	return link;
}

void link_free(struct link *link)
{
	if (link == NULL)
		return;
	ev_io_stop(link->ev, &link->io);
	ev_timer_stop(link->ev, &link->defer);
	if (link->ssl != NULL) {
		if (link->state == LINK_OPEN && !link->reset) {
			ERR_clear_error();
			(void) SSL_shutdown(link->ssl);
		}
		SSL_free(link->ssl);
	}
	if (link->io.fd >= 0)
		(void) close(link->io.fd);
	free(link->unsent);
	free(link);
}

void link_reset(struct link *link)
{
	struct linger now = {.l_onoff = 1};

	link->reset = true;
	(void) setsockopt(link->io.fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

/* --- questions --- */

bool link_has_unsent(const struct link *link)
{
	return link->unsent_len > 0;
}

void link_want_room(struct link *link, bool want)
{
	link->want_room = want;
	watch(link);
}

void link_want_data(struct link *link, bool want)
{
	link->want_data = want;
	watch(link);
}

uint64_t link_raw_received(const struct link *link)
{
	return link->ssl != NULL ? BIO_number_read(SSL_get_rbio(link->ssl)) : link->received;
}

int link_fd(const struct link *link)
{
	return link->io.fd;
}

const char *link_end_name(enum link_end end)
{
	static const char *const names[] = {
	    [LINK_EOF] = "eof",
	    [LINK_RESET] = "reset",
	    [LINK_REFUSED] = "refused",
	    [LINK_UNREACHED] = "unreached",
	    [LINK_UNTRUSTED] = "untrusted",
	    [LINK_BROKEN] = "broken",
	    [LINK_LOCAL] = "local",
	};

	return names[end];
}
