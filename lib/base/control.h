/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The control socket of a daemon: /run/fairlead/<daemon>.sock, a stream socket.
 *
 * Protocol, the same for all daemons: the client sends one line of words, "vip move 10.0.0.5 to
 * n2\n". The server answers with any number of lines, each one JSON object, then exactly one status
 * line: "ok\n", or "error <code> <sentence>\n" with code one of usage, denied, notfound, busy,
 * failed. Then it closes. Words are separated by spaces; a word that is empty or holds a space, a
 * quote or a backslash stands in double quotes with \" and \\ inside (base/words.h). What follows
 * the line is ignored. The client may close its sending half behind the line; when it closes
 * wholly, the answer is dropped. `help` is built in and lists the table of commands.
 *
 * Who may do what: the socket is mode 0660 and belongs to group `fairlead`, so reading is for that
 * group; a command that changes anything is for root only, by SO_PEERCRED (unix(7)).
 *
 * Limits: CONTROL_LINE_MAX bytes a command, CONTROL_CLIENTS_MAX clients (one more is told "busy"),
 * of which CONTROL_CLIENTS_ROOT can only be root's, CONTROL_IDLE_S seconds until a client is closed
 * that sends no whole line, or that reads nothing of a finished answer. A client that does not read
 * its answer is closed when more than CONTROL_ANSWER_MAX bytes wait for it.
 */

#include <ev.h>
#include <jansson.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "base/macro.h"

#define CONTROL_LINE_MAX 4096
#define CONTROL_WORDS_MAX 32
#define CONTROL_CLIENTS_MAX 32
#define CONTROL_CLIENTS_ROOT 8
#define CONTROL_IDLE_S 10
#define CONTROL_ANSWER_MAX (4 * 1024 * 1024)

struct control;
struct control_request;
struct metricsport;

enum control_error {
	CONTROL_USAGE,    /* the words are wrong */
	CONTROL_DENIED,   /* not allowed for this user */
	CONTROL_NOTFOUND, /* no such object */
	CONTROL_BUSY,     /* not now */
	CONTROL_FAILED,   /* tried, and it did not work */
};

/*
 * Runs a command. argv[0..argc) are the words behind the command's own. It must end the request
 * with exactly one control_ok() or control_fail(), at once or later; until then `request` stays
 * valid, also when the client has gone away.
 */
typedef void (*control_fn)(struct control_request *request, int argc, char **argv, void *userdata);

struct control_command {
	const char *words; /* "vip status": one to three words */
	bool changes;      /* root only */
	control_fn fn;
	/* What follows the words: "ADDRESS [to NODE]" or "". So many words as it has are passed on, or
	 * as it has outside of brackets, or between; others are refused. */
	const char *usage;
	const char *help; /* one sentence */
};

/* Makes the socket (replacing one that nobody serves; -EADDRINUSE if somebody does, -EEXIST if it
 * is something else than a socket). The group is given to the socket when it exists and the process
 * may; what the commands point to and userdata are borrowed until control_free(). */
int control_new(struct ev_loop *ev, const char *path, const char *group,
                const struct control_command *commands, size_t n_commands, void *userdata,
                struct control **ret_control);

/* The port's answer to the command `metrics`, which `help` lists last. port is borrowed until
 * control_free(). */
void control_add_metrics(struct control *control, const struct metricsport *port);

/* Closes all clients and removes the socket. Open requests become invalid. */
void control_free(struct control *control);

/* One line of the answer. Takes the object. */
void control_reply(struct control_request *request, json_t *object);

/* A descriptor that comes with the answer (SCM_RIGHTS of unix(7)), at its next line; it is
 * duplicated. At most one for each request. */
void control_pass_fd(struct control_request *request, int fd);

/* The status line; ends the request. */
void control_ok(struct control_request *request);
void control_fail(struct control_request *request, enum control_error error, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
