/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whether a client has said enough for a TLS server to have to answer. Pure. Clients are not
 * trusted: one that sends half a greeting and waits, or none at all, would otherwise have every
 * server be judged as silent.
 */

#include <stddef.h>

enum hello {
	HELLO_PART,    /* nothing yet, or what may become a ClientHello */
	HELLO_WHOLE,   /* a ClientHello, all of it: any TLS server answers, if only with an alert */
	HELLO_FOREIGN, /* something else: a TLS server may close without a word */
};

/* first: the client's bytes from the very first on. */
enum hello hello_look(const char *first, size_t len);
