/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One connection of the load generator: opens, asks, and tells when the answer is whole. Embedded
 * by who uses it; zeroed before the first link_open().
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/endpoint.h"
#include "bench/tools/common/reactor.h"

/* What is asked, the same each time; message_fini() frees. */
struct message {
	uint8_t *bytes;
	uint32_t len;
	uint32_t answer_bytes;
};

/* 0, or -EINVAL for lengths that the origin would not take. */
int message_init(struct message *m, uint32_t request_bytes, uint32_t response_bytes);
void message_fini(struct message *m);

struct link;

/* r: 0, the answer is there; or -errno, and the link has been closed. -EPIPE: the other side ended
 * the connection, asked or not. May ask again, close or open again from in here. */
typedef void (*link_done_fn)(struct link *link, int r);

struct link {
	struct reactor_watch watch;
	struct reactor *reactor;
	const struct message *message;
	link_done_fn done;
	uint64_t *moved; /* counts the bytes of requests and answers; borrowed */
	int fd;
	bool is_open;
	bool connecting;
	bool wants_room; /* watched for EPOLLOUT as well */
	uint32_t to_send;
	uint32_t to_receive;
	uint8_t answer_first; /* the answer's first byte: who answered */
};

/* Source addresses rotate through 127.2.0.1 ... .16, so that a target on 127/8 never runs out of
 * ports. 0 or -errno; done() is called for what happens later. */
int link_open(struct link *link, struct reactor *reactor, const struct endpoint *to);
/* Of an open link whose last question was answered. m is borrowed until then. The same returns. */
int link_ask(struct link *link, const struct message *m);
void link_close(struct link *link); /* a closed one is fine */
