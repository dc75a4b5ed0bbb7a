/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Bytes to and from one endpoint, on a connection of their own: TLS for https, where the other end
 * must be who the URL says and speak HTTP/2 (ALPN, RFC 7301), and plain for http and unix. Nothing
 * is read ahead of what is handed over. SIGPIPE must be ignored (loop.h): OpenSSL uses write(2).
 */

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "etcd/channel.h"
#include "etcd/url.h"

struct transport;

struct transport_callbacks {
	/* It can be sent from now on. */
	void (*opened)(void *userdata);
	/* Borrowed until it returns: true; or false, when it has freed the transport. */
	bool (*received)(const uint8_t *data, size_t len, void *userdata);
	/* It cannot be opened, or is over: nothing comes any more. The transport is to be freed, in
	 * here or later. */
	void (*closed)(const char *text, void *userdata);
};

/* Begins to connect. pem is NULL for http and unix, and not needed afterwards. callbacks are
 * borrowed, and not called from inside this. */
struct transport *transport_new(struct ev_loop *ev, const struct url *url, const struct pem *pem,
                                const struct transport_callbacks *callbacks, void *userdata);
void transport_free(struct transport *transport); /* NULL is fine */

/* Once it is open; the data are copied, and leave when they can. closed() is not called from
 * inside this. */
void transport_send(struct transport *transport, const void *data, size_t len);
/* What was given to transport_send() and has not left. */
size_t transport_unsent(const struct transport *transport);
