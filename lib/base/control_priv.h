/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The inside of the control socket, for the two files that make it up and for nobody else:
 *   control.c        the server: the socket, the commands, the answers
 *   control_client.c one client: its line in, its answer out
 */

#include <sys/queue.h>
#include <sys/types.h>

#include "base/control.h"

/* One that is connected. */
struct client;

struct control_request {
	struct control *control;
	struct client *client; /* NULL: gone */
	TAILQ_ENTRY(control_request) entry;
};

struct control {
	struct ev_loop *ev;
	char *path;
	dev_t dev; /* of the socket's file: another server may have put its own there since */
	ino_t ino;
	int fd;
	ev_io acceptable;
	ev_timer accept_again;
	struct control_command *commands;
	size_t n_commands;
	void *userdata;
	const struct metricsport *metrics_port; /* NULL: no command `metrics` */
	size_t n_clients;
	size_t n_others; /* of them, who are not root */
	TAILQ_HEAD(, client) clients;
	TAILQ_HEAD(, control_request) requests;
};

/* control.c: runs the command. It may end the request, and the client be freed, before this
 * returns. `text` is copied. */
void control_run_line(struct control_request *request, const char *text, uid_t uid);

/* control_client.c. Takes the descriptor; one client too many is told so. */
void control_client_add(struct control *control, int fd);
void control_client_free(struct client *c);
/* Adds to the answer. Frees a client that is gone or lets too much pile up. */
void control_client_append(struct client *c, const char *data, size_t len);
/* A descriptor that goes with the next byte of the answer; duplicated, at most one. */
void control_client_pass_fd(struct client *c, int fd);
/* Its request is over: the status line is the last thing that it gets. It may be freed by this. */
void control_client_finish(struct client *c, const char *status_line);
