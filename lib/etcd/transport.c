/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	DIALLING ── connected ──► SHAKING ── the peer is who it should be ──► OPEN
 *	    │                        │                                          │
 *	    └────────────────────────┴──────────── any fault ───────────────────┴──► OVER
 *
 * Without TLS there is nothing to do in SHAKING, and it is left at once.
 *
 * OpenSSL may have to write in order to read: whatever the socket is ready for, both are tried.
 *
 * It is read first, and all of a turn: who has ended and closed has perhaps sent more before than
 * was read by then, and an error of writing to him must not be in its way. What cannot be sent is
 * dropped, and the next read says why.
 */
#include "etcd/transport.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fsm.h"
#include "base/loop.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcd/dial.h"

/* So long one address may take to answer: its first SYN may be lost. */
#define CONNECT_US (3 * US_PER_S)
/* And so long TLS, of who has taken the connection: a kernel does that for a process that hangs. */
#define SHAKE_US (5 * US_PER_S)
/* A record of TLS is no longer (RFC 8446, section 5.1). */
#define READ_BYTES ((size_t) 16 << 10)
/* So much at a time, and the loop turns to others. */
#define TURN_BYTES ((size_t) 256 << 10)
#define TEXT_MAX 256

enum transport_state {
	TRANSPORT_DIALLING,
	TRANSPORT_SHAKING,
	TRANSPORT_OPEN,
	TRANSPORT_OVER,
};

static const struct fsm_state states[] = {
    [TRANSPORT_DIALLING] = {"dialling", FSM_TO(TRANSPORT_SHAKING) | FSM_TO(TRANSPORT_OVER)},
    [TRANSPORT_SHAKING] = {"shaking", FSM_TO(TRANSPORT_OPEN) | FSM_TO(TRANSPORT_OVER)},
    [TRANSPORT_OPEN] = {"open", FSM_TO(TRANSPORT_OVER)},
    [TRANSPORT_OVER] = {"over", 0},
};

struct transport {
	struct ev_loop *ev;
	const struct transport_callbacks *callbacks;
	void *userdata;
	enum transport_state state;
	struct dial *dial; /* DIALLING */
	bool is_secure;
	SSL *ssl; /* NULL: not secure, or it cannot be, and text says why */
	int fd;
	ev_io io;
	ev_timer shaking; /* the time of it */
	char *out;        /* not sent yet */
	size_t out_len;
	char text[TEXT_MAX]; /* why it is over */
	uint8_t in[READ_BYTES];
};

enum progress {
	PROGRESS_DONE,
	PROGRESS_WAIT, /* until the socket is ready for something */
	PROGRESS_OVER, /* text says why */
};

/* The one writer of the state. */
static void change_state(struct transport *t, enum transport_state state)
{
	fsm_check(states, ARRAY_SIZE(states), t->state, state);
	t->state = state;
}

static void watch(struct transport *t, int events)
{
	if ((t->io.events & (EV_READ | EV_WRITE)) == events && ev_is_active(&t->io))
		return;
	ev_io_stop(t->ev, &t->io);
	ev_io_set(&t->io, t->fd, events);
	ev_io_start(t->ev, &t->io);
}

/* Calls out: last act. */
static void end(struct transport *t)
{
	change_state(t, TRANSPORT_OVER);
	ev_io_stop(t->ev, &t->io);
	ev_timer_stop(t->ev, &t->shaking);
	t->callbacks->closed(t->text, t->userdata);
}

static void set_text(struct transport *t, const char *text)
{
	(void) snprintf(t->text, sizeof(t->text), "%s", text);
}

/* --- TLS --- */

static const char *newest_reason(void)
{
	const char *reason = ERR_reason_error_string(ERR_peek_last_error());

	return reason != NULL ? reason : "TLS failed";
}

/* The one thing on this connection; RFC 7540, section 3.3. */
static const uint8_t h2[] = {2, 'h', '2'};

/* NULL with the reason in text. */
static SSL *make_ssl(struct transport *t, const struct url *url, const struct pem *pem)
{
	SSL_CTX *context = pem_context(pem);
	SSL *ssl = context != NULL ? SSL_new(context) : NULL;
	char number[ADDR_TEXT_MAX];
	int r;

	SSL_CTX_free(context); /* counted: ssl has it */
	if (ssl == NULL) {
		(void) snprintf(t->text, sizeof(t->text), "our certificates cannot be used: %s",
		                newest_reason());
		return NULL;
	}
	if (addr_is_set(&url->addr))
		r = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), addr_format(&url->addr, number));
	else
		r = (int) (SSL_set1_host(ssl, url->host) == 1 &&
		           SSL_set_tlsext_host_name(ssl, (void *) (uintptr_t) url->host) == 1);
	if (r != 1 || SSL_set_alpn_protos(ssl, h2, sizeof(h2)) != 0) {
		set_text(t, newest_reason());
		SSL_free(ssl);
		return NULL;
	}
	/* "etcd*.example" is no name of a host, for gRPC and for Go neither. */
	SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	SSL_set_connect_state(ssl);
	return ssl;
}

/* What an operator can do about it, where OpenSSL's reason does not tell. */
static const struct {
	int reason;
	const char *text;
} explained[] = {
    {SSL_R_WRONG_VERSION_NUMBER, "it does not speak TLS"},
    {SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, "it speaks no TLS that is 1.2 or newer"},
    {SSL_R_UNSUPPORTED_PROTOCOL, "it speaks no TLS that is 1.2 or newer"},
    {SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL, "it does not speak HTTP/2"},
};

/* What is said to a client whose certificate is missing or not the right one. With TLS 1.3 it comes
 * after the handshake. */
static const int refusals[] = {
    SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED,
    SSL_R_SSLV3_ALERT_BAD_CERTIFICATE,
    SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE,
    SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED,
    SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED,
    SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN,
    SSL_R_TLSV1_ALERT_UNKNOWN_CA,
    SSL_R_TLSV1_ALERT_ACCESS_DENIED,
};

/* Into text: why TLS has failed. */
static void explain(struct transport *t)
{
	int reason = ERR_GET_REASON(ERR_peek_last_error());
	long verified = SSL_get_verify_result(t->ssl);
	bool is_anonymous = SSL_get_certificate(t->ssl) == NULL;

	for (size_t i = 0; i < ARRAY_SIZE(explained); i++) {
		if (explained[i].reason != reason)
			continue;
		set_text(t, explained[i].text);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		if (refusals[i] != reason)
			continue;
		(void) snprintf(t->text, sizeof(t->text), "%s: %s",
		                is_anonymous ? "it wants a client's certificate"
		                             : "it does not accept our certificate",
		                newest_reason());
		return;
	}
	if (verified != X509_V_OK)
		(void) snprintf(t->text, sizeof(t->text), "its certificate is not accepted: %s",
		                X509_verify_cert_error_string(verified));
	else
		(void) snprintf(t->text, sizeof(t->text), "TLS: %s", newest_reason());
}

/* What the next call of OpenSSL leaves behind is to be its own. */
static void forget_errors(void)
{
	ERR_clear_error();
	errno = 0;
}

/* What a call of OpenSSL that returned r has come to. */
static enum progress judge(struct transport *t, int r)
{
	int saved_errno = errno;

	if (r > 0)
		return PROGRESS_DONE;
	switch (SSL_get_error(t->ssl, r)) {
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE:
		return PROGRESS_WAIT;
	case SSL_ERROR_ZERO_RETURN:
		set_text(t, "it closed the connection");
		return PROGRESS_OVER;
	case SSL_ERROR_SYSCALL:
		set_text(t, saved_errno != 0 ? strerror(saved_errno) : "it closed the connection");
		return PROGRESS_OVER;
	default:
		explain(t);
		return PROGRESS_OVER;
	}
}

static enum progress shake(struct transport *t)
{
	const unsigned char *protocol;
	unsigned len;
	enum progress progress;

	if (!t->is_secure)
		return PROGRESS_DONE;
	forget_errors();
	progress = judge(t, SSL_do_handshake(t->ssl));
	if (progress != PROGRESS_DONE)
		return progress;
	SSL_get0_alpn_selected(t->ssl, &protocol, &len);
	if (len == h2[0] && memcmp(protocol, h2 + 1, len) == 0)
		return PROGRESS_DONE;
	set_text(t, "it does not speak HTTP/2");
	return PROGRESS_OVER;
}

/* --- bytes --- */

static enum progress judge_plain(struct transport *t, ssize_t n)
{
	if (n > 0)
		return PROGRESS_DONE;
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return PROGRESS_WAIT;
	set_text(t, n < 0 ? strerror(errno) : "it closed the connection");
	return PROGRESS_OVER;
}

static enum progress read_some(struct transport *t, size_t *ret_len)
{
	ssize_t n;

	if (t->is_secure) {
		*ret_len = 0;
		forget_errors();
		return judge(t, SSL_read_ex(t->ssl, t->in, sizeof(t->in), ret_len));
	}
	n = recv(t->fd, t->in, sizeof(t->in), 0);
	*ret_len = n > 0 ? (size_t) n : 0;
	return judge_plain(t, n);
}

static enum progress write_some(struct transport *t, size_t *ret_len)
{
	ssize_t n;

	if (t->is_secure) {
		*ret_len = 0;
		forget_errors();
		return judge(t, SSL_write_ex(t->ssl, t->out, t->out_len, ret_len));
	}
	n = send(t->fd, t->out, t->out_len, MSG_NOSIGNAL);
	*ret_len = n > 0 ? (size_t) n : 0;
	return judge_plain(t, n);
}

static enum progress flush(struct transport *t)
{
	while (t->out_len > 0) {
		size_t n;
		enum progress progress = write_some(t, &n);

		if (progress != PROGRESS_DONE)
			return progress;
		t->out_len -= n;
		memmove(t->out, t->out + n, t->out_len);
	}
	return PROGRESS_DONE;
}

/* False: it is gone. */
static bool receive(struct transport *t)
{
	enum progress progress = PROGRESS_DONE;

	for (size_t total = 0; total < TURN_BYTES;) {
		size_t len;

		progress = read_some(t, &len);
		if (progress != PROGRESS_DONE)
			break;
		total += len;
		if (!t->callbacks->received(t->in, len, t->userdata))
			return false;
	}
	if (progress != PROGRESS_OVER)
		return true;
	end(t);
	return false;
}

static void go_on_shaking(struct transport *t)
{
	switch (shake(t)) {
	case PROGRESS_DONE:
		break;
	case PROGRESS_WAIT:
		watch(t, SSL_want_write(t->ssl) ? EV_WRITE : EV_READ);
		return;
	case PROGRESS_OVER:
		end(t);
		return;
	}
	change_state(t, TRANSPORT_OPEN);
	ev_timer_stop(t->ev, &t->shaking);
	watch(t, EV_READ);
	t->callbacks->opened(t->userdata);
}

static void go_on(struct transport *t)
{
	bool wants_write;

	if (!receive(t))
		return;
	wants_write = t->is_secure && SSL_want_write(t->ssl);
	if (flush(t) == PROGRESS_OVER)
		t->out_len = 0;
	watch(t, wants_write || t->out_len > 0 ? EV_READ | EV_WRITE : EV_READ);
}

static void shaking_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct transport *t = CONTAINER_OF(w, struct transport, shaking);

	set_text(t, "it takes connections and does not answer");
	end(t);
}

static void io_cb(struct ev_loop *ev UNUSED, ev_io *w, int revents)
{
	struct transport *t = CONTAINER_OF(w, struct transport, io);

	loop_expect_watched(revents);
	if (t->state == TRANSPORT_SHAKING)
		go_on_shaking(t);
	else
		go_on(t);
}

static void dialled_cb(int fd, const char *text, void *userdata)
{
	struct transport *t = userdata;

	t->dial = NULL;
	t->fd = fd;
	if (fd < 0)
		set_text(t, text);
	if (fd < 0 || (t->is_secure && t->ssl == NULL)) {
		end(t);
		return;
	}
	if (t->is_secure && SSL_set_fd(t->ssl, fd) != 1) {
		set_text(t, newest_reason());
		end(t);
		return;
	}
	change_state(t, TRANSPORT_SHAKING);
	ev_timer_start(t->ev, &t->shaking);
	go_on_shaking(t);
}

struct transport *transport_new(struct ev_loop *ev, const struct url *url, const struct pem *pem,
                                const struct transport_callbacks *callbacks, void *userdata)
{
	struct transport *t = NEW0(struct transport);

	t->ev = ev;
	t->callbacks = callbacks;
	t->userdata = userdata;
	t->fd = -1;
	t->is_secure = url->scheme == URL_HTTPS;
	if (t->is_secure)
		t->ssl = make_ssl(t, url, pem);
	ev_init(&t->io, io_cb);
	ev_timer_init(&t->shaking, shaking_cb, mono_to_ev(SHAKE_US), 0.);
	t->dial = dial_start(ev, url, CONNECT_US, dialled_cb, t);
	return t;
}

void transport_free(struct transport *t)
{
	if (t == NULL)
		return;
	dial_cancel(t->dial);
	ev_io_stop(t->ev, &t->io);
	ev_timer_stop(t->ev, &t->shaking);
	SSL_free(t->ssl);
	if (t->fd >= 0)
		(void) close(t->fd);
	free(t->out);
	free(t);
}

void transport_send(struct transport *t, const void *data, size_t len)
{
	t->out = xreallocarray(t->out, t->out_len + len, 1);
	memcpy(t->out + t->out_len, data, len);
	t->out_len += len;
	watch(t, EV_READ | EV_WRITE);
}

size_t transport_unsent(const struct transport *t)
{
	return t->out_len;
}
