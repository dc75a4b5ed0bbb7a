/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A call of gRPC with one empty message out and a stream of messages in, at the pace of who reads,
 * over an HTTP/2 connection of its own: for snapshots, of which there is much. No more than
 * PULL_WINDOW_BYTES come that nobody has asked for; gRPC's own library knows 64 KiB, with which the
 * two ends wait for each other, and windows of 4 to 16 MiB by its own guess.
 */

#include <ev.h>
#include <grpc/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "etcd/channel.h"
#include "etcd/url.h"

/*
 * The bytes of a stream of gRPC, and the messages in them: a byte that is 1 where the message is
 * compressed, four for its length, the highest first, and the message
 * (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md). Pure.
 */

#define INBOX_HEAD_BYTES 5 /* before each message */

struct inbox {
	size_t max_bytes;         /* that may be in it */
	size_t message_max_bytes; /* without its head; with it, at most max_bytes */
	uint8_t *bytes;           /* twice as many, so that they are seldom moved */
	size_t begin;
	size_t end;
};

void inbox_init(struct inbox *inbox, size_t max_bytes, size_t message_max_bytes);
void inbox_fini(struct inbox *inbox);

/* False, and nothing added: it would be more than max_bytes. */
bool inbox_add(struct inbox *inbox, const void *data, size_t len);

struct inbox_message {
	const uint8_t *data; /* in the inbox: until the next inbox_add() */
	size_t len;
	size_t taken_bytes; /* with its head */
};

enum inbox_found {
	INBOX_NONE, /* a whole one: more has to come */
	INBOX_MESSAGE,
	INBOX_COMPRESSED, /* which nobody has asked for */
	INBOX_TOO_LONG,   /* ret_message has the length alone */
};

/* Takes the first message out. */
enum inbox_found inbox_take(struct inbox *inbox, struct inbox_message *ret_message);
bool inbox_is_empty(const struct inbox *inbox);

#define PULL_WINDOW_BYTES ((size_t) 512 << 10)
/* Of a message. The window opens again when half of it has been handed over in whole messages, so
 * one must fit into the other half. */
#define PULL_MESSAGE_MAX_BYTES (PULL_WINDOW_BYTES / 2 - INBOX_HEAD_BYTES)
#define PULL_TEXT_MAX 256

struct pull;

struct pull_callbacks {
	/* Borrowed until it returns. */
	void (*message)(const void *data, size_t len, void *userdata);
	/* Over. A good end comes when it is asked for, after the last message; a bad one may come
	 * unasked, and before messages that had come. What is no answer of gRPC's has the code that
	 * gRPC gives it: GRPC_STATUS_UNAVAILABLE where there is no connection. The pull is gone when it
	 * returns. */
	void (*ended)(grpc_status_code code, const char *text, void *userdata);
};

/* method: "/etcdserverpb.Maintenance/Snapshot"; token: NULL for none; pem: NULL for http and unix.
 * All copied but the callbacks, which are borrowed, and never called from inside this. */
struct pull *pull_open(struct ev_loop *ev, const struct url *url, const struct pem *pem,
                       const char *method, const char *token,
                       const struct pull_callbacks *callbacks, void *userdata);

/* Asks for one more message, or the end; the first comes unasked. Once after each, also inside
 * message(). Calls nobody back. */
void pull_next(struct pull *pull);

/* No callback runs any more. Also inside message(); NULL is fine. */
void pull_close(struct pull *pull);
