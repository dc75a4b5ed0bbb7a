/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A scripted etcd: a gRPC server in the test program, on the test's own loop, that answers, stays
 * silent, is late or fails as it is told, and counts. It holds no data.
 */

#include <ev.h>
#include <grpc/status.h>
#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stdint.h>

#include "etcd/proto/etcd.pb-c.h"

#define SERVER_MEMBER_ID(n) (UINT64_C(100) + (n))

struct server;

enum server_method {
	SERVER_RANGE,
	SERVER_PUT,
	SERVER_TXN,
	SERVER_GRANT,
	SERVER_KEEPALIVE,
	SERVER_TTL,
	SERVER_MEMBERS,
	SERVER_STATUS,
	SERVER_HASHKV,
	SERVER_ALARM,
	SERVER_DEFRAGMENT,
	SERVER_MOVE_LEADER,
	SERVER_MEMBER_REMOVE,
	SERVER_COMPACT,
	SERVER_AUTHENTICATE,
	SERVER_WATCH,
	SERVER_SNAPSHOT,
	SERVER_METHODS,
};

/* What is done with a call. All zero: an empty answer with a header, at once. */
struct server_rule {
	bool silent;
	int delay_ms;
	grpc_status_code code;
	const char *text;
	bool junk;      /* an answer that cannot be parsed */
	unsigned times; /* then the rule before it holds again; 0: for ever */
};

/* port 0: any. The header names SERVER_MEMBER_ID(member). */
struct server *server_new(struct ev_loop *ev, unsigned member, int port);
void server_free(struct server *server);
const char *server_url(const struct server *server);

/* From now on it says that it is that member. */
void server_set_member(struct server *server, unsigned member);

void server_set(struct server *server, enum server_method method, struct server_rule rule);

unsigned server_calls(const struct server *server, enum server_method method);
unsigned server_cancelled(const struct server *server); /* calls that the client gave up */
/* Of the last call: whether it demanded a leader. */
bool server_last_has_leader(const struct server *server);
uint64_t server_cluster_id(struct server *server, uint64_t set); /* 0: only tells */

/* In every header from now on; 42 in the beginning. */
void server_set_revision(struct server *server, int64_t revision);

/* What is answered, besides the header. */
void server_set_answer(struct server *server, enum server_method method,
                       const ProtobufCMessage *message);

/* From now on calls need this token (NULL: none), and Authenticate gives it. */
void server_set_token(struct server *server, const char *token);
/* Except calls of this method. */
void server_set_open(struct server *server, enum server_method method);

/* The list that is given for MemberList. Borrowed. */
void server_set_members(struct server *server, Pb__Member **members, size_t n);

/* Ends the newest stream, after what was sent before. text is a constant. */
void server_end_stream(struct server *server, grpc_status_code code, const char *text);

/* --- watches: the newest stream --- */

struct server_watch {
	bool mute_create;   /* do not answer the creation */
	bool mute_progress; /* nor requests for progress */
	bool end_at_once;   /* end the stream as soon as it is created */
	/* What answers to requests for progress say; 0: the revision that all headers have. */
	int64_t progress_revision;
	/* Counters. */
	unsigned n_open;
	unsigned n_creates;
	unsigned n_progress;
	int64_t start_revision; /* of the last creation */
	int64_t created_us;     /* when it came */
	bool fragment;          /* was asked for */
};
struct server_watch *server_watch(struct server *server);

/* Events as text: "P5:key=value D6:key", put into one message; "P5:key=value@7": on lease 7. */
void server_send_events(struct server *server, const char *events, bool fragment);
void server_send(struct server *server, Pb__WatchResponse *response);

/* --- snapshots: the newest stream ---------------------------------------------------------------
 *
 * Silent until told. A rule with a code ends the stream at once.
 */

struct server_snapshot {
	bool endless; /* when all has been sent, empty blobs, one after the other */
	/* Counters. */
	unsigned n_open;
	unsigned n_sent;    /* messages that the connection has taken */
	uint64_t remaining; /* as the last blob said */
};
struct server_snapshot *server_snapshot(struct server *server);

void server_send_blob(struct server *server, const void *data, size_t len, uint64_t remaining);
/* Any bytes as a message. */
void server_send_bytes(struct server *server, const void *data, size_t len);
