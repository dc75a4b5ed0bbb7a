/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One TCP connection of a test tool, of its own making or accepted, plain or with TLS, on a libev
 * loop. Tells precisely how it ended, since that is what the stories count.
 */

#include <ev.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/endpoint.h"

enum link_end {
	LINK_EOF,       /* the other side has ended its stream */
	LINK_RESET,     /* ECONNRESET, EPIPE */
	LINK_REFUSED,   /* ECONNREFUSED */
	LINK_UNREACHED, /* no route, no answer to the SYN, the kernel's own timeout */
	LINK_UNTRUSTED, /* its certificate or its name is wrong */
	LINK_BROKEN,    /* not TLS */
	LINK_LOCAL,     /* no port or descriptor of our own was left: proves nothing about others */
};

/* link_free() is allowed in each. */
struct link_events {
	void (*opened)(void *userdata); /* connected, and the handshake of TLS is done */
	void (*data)(const void *bytes, size_t len, void *userdata);
	/* After link_want_room(): something can be sent without being kept here. */
	void (*room)(void *userdata);
	/* After LINK_EOF sending may go on, and may fail later; after any other the link is dead. */
	void (*ended)(enum link_end end, const char *why, void *userdata);
};

struct link;

/* tls NULL: plain. name is what the certificate must be for, and goes into the SNI. */
struct link *link_connect(struct ev_loop *ev, const struct endpoint *to, SSL_CTX *tls,
                          const char *name, const struct link_events *events, void *userdata);
/* Takes fd, which must not block. */
struct link *link_accepted(struct ev_loop *ev, int fd, SSL_CTX *tls,
                           const struct link_events *events, void *userdata);
void link_free(struct link *link);
DEFINE_AUTO(struct link, link_free);

/* Sends now what the kernel takes, and the rest when it can. Its end comes behind it. */
void link_send(struct link *link, const void *bytes, size_t len);
void link_send_end(struct link *link); /* shutdown(2); plain links only */
void link_reset(struct link *link);    /* link_free() will send a reset */
bool link_has_unsent(const struct link *link);

void link_want_room(struct link *link, bool want);
void link_want_data(struct link *link, bool want); /* false: reads nothing, TCP pushes back */

/* Bytes of any kind that have arrived: above 0, the other side had begun to answer. */
uint64_t link_raw_received(const struct link *link);
int link_fd(const struct link *link);
const char *link_end_name(enum link_end end); /* "eof", "reset", ... */
