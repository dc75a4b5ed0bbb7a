/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Looks up etcd's members again and again: in another daemon's control socket, and if that gives
 * nothing, in a file. What it finds is read anew each time, so that a change needs no signal.
 */

#include <ev.h>
#include <jansson.h>

#include "base/cleanup.h"
#include "prism/endpoints.h"
#include "prism/probe/found.h"
#include "prism/probe/wire.h"

/*
 * etcd's member list as addresses of API servers: on a stacked control plane each member has one
 * beside it. Pure. A member counts with the addresses in its client URLs, or in its peer URLs if
 * those have none; host names are passed over.
 */

/* What `etcdctl member list -w json` prints. 0, or -EBADMSG with the reason, a constant, in
 * *ret_error. */
int memberlist_parse(const char *text, size_t len, uint16_t port, struct endpoints_list *ret_list,
                     const char **ret_error);

/* What a daemon answers to `etcd members`: JSON objects, one a line (docs/control.md), without the
 * status line. The same. */
int memberlist_parse_lines(const char *text, uint16_t port, struct endpoints_list *ret_list,
                           const char **ret_error);

/*
 * One question to another daemon over its control socket (base/control.h has the protocol), on the
 * loop.
 */

#define ASK_ANSWER_MAX 65536

struct ask;

/*
 * Once, and never before ask_new() returned; not after ask_free(). lines: the JSON lines, each with
 * its newline, or NULL; then `error` says why. Both are borrowed until the return. The callback may
 * free the ask.
 */
typedef void (*ask_done_fn)(const char *lines, const char *error, void *userdata);

/* command is a line of words, without its newline. Always succeeds: what fails shows in `done`. */
struct ask *ask_new(struct ev_loop *ev, const char *socket_path, const char *command,
                    int64_t timeout_us, ask_done_fn done, void *userdata);
void ask_free(struct ask *ask);
DEFINE_AUTO(struct ask, ask_free);

#define MEMBERS_INTERVAL_US (10 * 1000 * 1000)

struct members;

/* settings are borrowed until members_free(), and name a socket or a file. `found` is called after
 * each look, and never from inside members_new(). */
struct members *members_new(struct ev_loop *ev, const struct settings *settings,
                            int64_t interval_us, found_fn found, void *userdata);
void members_free(struct members *members);
DEFINE_AUTO(struct members, members_free);
