/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What all ways of being a client share: whom to ask, what, and the counters. apiclient.c fills it
 * from the options; one of the functions below runs and adds its own figures to the summary.
 */

#include <ev.h>
#include <jansson.h>

#include "question.h"
#include "tally.h"

#define CLIENT_TARGETS_MAX 8
#define CLIENT_CHUNK_MAX 262144

struct client {
	struct ev_loop *ev;
	struct endpoint to[CLIENT_TARGETS_MAX]; /* taken in turn */
	size_t n_to;
	SSL_CTX *tls; /* NULL: plain */
	const char *name;
	struct question question;
	unsigned rate;        /* new connections a second */
	uint64_t count;       /* so many of them; 0: no limit */
	unsigned connections; /* that are kept */
	unsigned opening;     /* of them at the same time */
	int64_t every_us;     /* between the questions of one connection; 0: at start and end */
	int64_t duration_us;  /* 0: until SIGTERM */
	int64_t timeout_us;
	uint64_t bytes;
	bool server_ends_first, client_ends_first;
	int64_t stall_us; /* a flow reads nothing for so long at first */
	size_t chunk;     /* what a flow sends at a time */
	struct tally tally;
	json_t *summary;
};

/* Each runs until it is done; the summary is complete then. */
void client_open(struct client *client); /* a new connection for each question, at a fixed rate */
void client_kept(struct client *client); /* connections that are kept, a question now and then */
void client_flow(struct client *client); /* bulk, both ways at once, and half-closes */

/* The target of connection number `id`. */
const struct endpoint *client_target(const struct client *client, uint64_t id);
/* Calls fn on SIGTERM, on SIGINT, and when the duration is over; once. */
struct client_stop {
	struct ev_signal term, interrupt;
	struct ev_timer timer;
	void (*fn)(void *userdata);
	void *userdata;
};
void client_on_stop(struct client *client, struct client_stop *stop, void (*fn)(void *userdata),
                    void *userdata);
void client_unstop(struct client *client, struct client_stop *stop);
