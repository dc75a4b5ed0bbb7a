/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What one process image leaves to the next: prism reloads, and is upgraded, by execve(2) in place,
 * and descriptors stay open over that. A memfd holds lines of text that say what each descriptor
 * is, and behind a line the raw bytes that belong to it. Its number is in the environment,
 * HANDOVER_ENV. Words that a version does not know are passed over, so an older and a newer prism
 * understand each other.
 *
 *	prism 1
 *	listener fd=5 at=127.0.0.1:7445
 *	upstream at=10.0.0.5:6443 state=ready since=12345 rtt=800 drained=0 from=dns,slices, reason=10
 *	readyz 200conn client=9 ...
 *
 * Writing changes nothing: when execve() fails the process goes on as if it had not tried.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/endpoint.h"
#include "prism/endpoints.h"
#include "prism/judge.h"

#define HANDOVER_ENV "FAIRLEAD_PRISM_HANDOVER"
#define HANDOVER_BYTES_MAX (256u << 20)

/* One direction of a connection. That its source has ended shows again when it is read. */
struct handover_flow {
	int pipe_read, pipe_write; /* -1: none */
	const char *held;          /* read and not yet passed on; borrowed */
	size_t held_len;
};

struct handover_conn {
	int client_fd;
	int server_fd;            /* -1: no upstream yet; up.held is what the client said first */
	struct endpoint upstream; /* when there is one */
	int64_t born_us;
	int64_t moved_us; /* when a byte went either way */
	uint16_t place;
	bool asks;
	bool patient;
	struct handover_flow up, down;
};

struct handover_upstream {
	struct endpoint endpoint;
	enum judge_state state;
	int64_t since_us;
	int64_t rtt_us;
	bool drained;
	unsigned from;      /* ENDPOINTS_FROM(): who has named it, for until they speak again */
	const char *reason; /* NUL-terminated; borrowed */
};

struct handover_writer;

int handover_writer_new(struct handover_writer **ret_writer);
void handover_writer_free(struct handover_writer *writer);
DEFINE_AUTO(struct handover_writer, handover_writer_free);
void handover_write_config(struct handover_writer *writer, const char *yaml, size_t len);
void handover_write_listener(struct handover_writer *writer, int fd, const struct endpoint *at);
void handover_write_upstream(struct handover_writer *writer, const struct handover_upstream *u);
void handover_write_conn(struct handover_writer *writer, const struct handover_conn *conn);

/*
 * The end of writing: descriptors named in it are made to survive execve(2), and the environment to
 * tell. 0; -EFBIG when it is more than the next process would read; -errno when anything failed on
 * the way. handover_cancel() undoes it.
 */
int handover_arm(struct handover_writer *writer);
void handover_cancel(struct handover_writer *writer);

struct handover_reader_ops {
	/* The configuration that was in force, as YAML. */
	void (*config)(const char *yaml, size_t len, void *userdata);
	void (*listener)(int fd, const struct endpoint *at, void *userdata); /* takes fd */
	void (*upstream)(const struct handover_upstream *u, void *userdata);
	void (*conn)(const struct handover_conn *conn, void *userdata); /* takes its descriptors */
};

struct handover;

/*
 * What the image before this one left, with close-on-exec on all descriptors again. -ENOENT:
 * nothing; -EBADMSG: garbled, and other -errno: unreadable; then every descriptor that came over is
 * closed: a client that sees its connection end is better off than one that waits for ever. To be
 * called before anything else opens a descriptor.
 */
int handover_open(struct handover **ret_handover);
void handover_free(struct handover *handover);
DEFINE_AUTO(struct handover, handover_free);

/* Calls for each line of a kind; any of the ops may be NULL. */
void handover_read(const struct handover *handover, const struct handover_reader_ops *ops,
                   void *userdata);
