/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One connection to the server. Its first bytes are looked at where they lie: a ClientHello for the
 * probes' name gets TLS and /readyz whatever the mode is, any other connection gets the mode.
 * A visitor frees itself when it is over.
 */

#include <ev.h>
#include <openssl/ssl.h>
#include <stdint.h>

#include "script.h"

struct visitors {
	struct ev_loop *ev;
	const struct script *script;
	SSL_CTX *tls;           /* NULL: nobody is a probe */
	const char *probe_name; /* the SNI that probes send */
	uint64_t count;
};

/* Takes fd, which must not block. `from` is the other end, for the log. */
void visitor_new(struct visitors *visitors, int fd, const char *from);
