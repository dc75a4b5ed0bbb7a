/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See readyz.h. One request at a time and answers of a few bytes, which always have room in an
 * empty socket: one that has not ends the connection.
 */

#include "readyz.h"

#include <assert.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>

#include "base/macro.h"
#include "base/mem.h"

#define REQUEST_MAX 4096

#define ANSWER_MAX 512

static const char BROKEN[] = "[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n";

struct prober {
	struct reactor_watch watch;
	struct readyz *readyz;
	LIST_ENTRY(prober) link;
	int fd;
	SSL *ssl;
	char request[REQUEST_MAX + 1];
	size_t have;
};

struct readyz {
	struct reactor *reactor;
	SSL_CTX *context;
	bool ready;
	LIST_HEAD(, prober) list;
};

static void prober_end(struct prober *p)
{
	SSL_free(p->ssl);
	(void) close(p->fd);
	LIST_REMOVE(p, link);
	free(p);
}

static bool prober_answer(struct prober *p)
{
	bool ready = p->readyz->ready;
	const char *body = ready ? "ok" : BROKEN;
	char answer[ANSWER_MAX];
	int len = snprintf(answer, sizeof(answer),
	                   "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n\r\n%s",
	                   ready ? "200 OK" : "500 Internal Server Error", strlen(body), body);

	assert(len > 0 && (size_t) len < sizeof(answer));
	return SSL_write(p->ssl, answer, len) == len;
}

/* False: too long a request, or no room for the answer. */
static bool prober_take(struct prober *p)
{
	p->request[p->have] = '\0';
	if (strstr(p->request, "\r\n\r\n") == NULL)
		return p->have < REQUEST_MAX;
	p->have = 0;
	return prober_answer(p);
}

/* SSL_read() makes the handshake as well. False: the connection is over. */
static bool prober_read(struct prober *p)
{
	for (;;) {
		int n = SSL_read(p->ssl, p->request + p->have, (int) (REQUEST_MAX - p->have));

		if (n <= 0)
			return SSL_get_error(p->ssl, n) == SSL_ERROR_WANT_READ;
		p->have += (size_t) n;
		if (!prober_take(p))
			return false;
	}
}

static void prober_event(struct reactor_watch *watch, uint32_t events UNUSED)
{
	struct prober *p = CONTAINER_OF(watch, struct prober, watch);

	ERR_clear_error();
	if (!prober_read(p))
		prober_end(p);
}

int readyz_new(struct reactor *reactor, const char *cert_file, const char *key_file,
               struct readyz **ret_readyz)
{
	AUTO(readyz_free) struct readyz *readyz = NEW0(struct readyz);

	readyz->reactor = reactor;
	readyz->ready = true;
	LIST_INIT(&readyz->list);
	readyz->context = SSL_CTX_new(TLS_server_method());
	if (readyz->context == NULL ||
	    SSL_CTX_use_certificate_chain_file(readyz->context, cert_file) != 1 ||
	    SSL_CTX_use_PrivateKey_file(readyz->context, key_file, SSL_FILETYPE_PEM) != 1) {
		ERR_print_errors_fp(stderr);
		return -EINVAL;
	}
	*ret_readyz = TAKE_PTR(readyz);
	return 0;
}

void readyz_free(struct readyz *readyz)
{
	if (readyz == NULL)
		return;
	while (!LIST_EMPTY(&readyz->list))
		prober_end(LIST_FIRST(&readyz->list));
	SSL_CTX_free(readyz->context);
	free(readyz);
}

void readyz_serve(struct readyz *readyz, int fd)
{
	struct prober *p = NEW0(struct prober);

	p->watch.fn = prober_event;
	p->readyz = readyz;
	p->fd = fd;
	p->ssl = SSL_new(readyz->context);
	LIST_INSERT_HEAD(&readyz->list, p, link);
	if (p->ssl == NULL || SSL_set_fd(p->ssl, fd) != 1) {
		prober_end(p);
		return;
	}
	SSL_set_accept_state(p->ssl);
	if (reactor_add(readyz->reactor, fd, EPOLLIN, &p->watch) < 0)
		prober_end(p);
}

void readyz_set(struct readyz *readyz, bool ready)
{
	readyz->ready = ready;
}
