/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From an accepted client to an upstream that has answered.
 *
 *	DIALLING --connected--> WAITING --first byte from an upstream--> done
 *	    ^                      |
 *	    +---- silent, or cut --+     the client's first bytes go to another upstream as well
 *
 * What the client said is kept until an upstream has said anything, and sent to as many as it
 * takes. One that stays silent is not given up for one that may not even be there: it is kept until
 * another has answered, and the first to answer has the client.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "prism/conn_host.h"

/*
 * Whether a client has said enough for a TLS server to have to answer. Pure. Clients are not
 * trusted: one that sends half a greeting and waits, or none at all, would otherwise have every
 * server be judged as silent.
 */

enum hello {
	HELLO_PART,    /* nothing yet, or what may become a ClientHello */
	HELLO_WHOLE,   /* a ClientHello, all of it: any TLS server answers, if only with an alert */
	HELLO_FOREIGN, /* something else: a TLS server may close without a word */
};

/* first: the client's bytes from the very first on. */
enum hello hello_look(const char *first, size_t len);

struct opening;

enum opening_outcome {
	OPENING_RELAY,  /* there is an upstream, and it goes on from here */
	OPENING_CLOSED, /* the upstream has ended it in order, without a word */
	OPENING_RESET,  /* there is no upstream, or a side broke */
};

struct opening_result {
	enum opening_outcome outcome;
	/* The rest when the outcome is RELAY. */
	int fd;                    /* the upstream's socket, taken by the callee */
	struct upstream *upstream; /* with a count in its connections, taken by the callee */
	size_t sent;               /* of what the client said */
	const char *rest;          /* what of it was not sent yet, borrowed until opening_free() */
	size_t rest_len;
	const char *answer; /* what the upstream said first, borrowed for the call */
	size_t answer_len;
};

/* Exactly once, never before opening_new() returned, never after opening_free(), which it may call.
 * Both sockets of a RELAY have been watched, but are not any more: watch_again() is for them. */
typedef void (*opening_done_fn)(const struct opening_result *result, void *userdata);

/* Reads from client_fd, which stays the caller's, until it is done. first: what the client said
 * already. NULL: no memory. */
struct opening *opening_new(struct conn_host *host, int client_fd, const char *first, size_t len,
                            opening_done_fn done, void *userdata);
void opening_free(struct opening *opening);
DEFINE_AUTO(struct opening, opening_free);

/* Once a second: one that has what it must answer and is silent is doubted. */
void opening_doubt(struct opening *opening, int64_t now_us);
bool opening_is_dialling(const struct opening *opening);
bool opening_client_has_ended(const struct opening *opening);
/* What the client has said; borrowed. */
const char *opening_first(const struct opening *opening, size_t *ret_len);
