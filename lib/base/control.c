/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the listening socket, the clients and the open requests. A request is an object of its own
 * and outlives its client: the handler may answer into the void, and what it answers is dropped.
 */
#include "base/control_priv.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/mem.h"
#include "base/metricsport.h"
#include "base/printable.h"
#include "base/unixsock.h"
#include "base/words.h"

/* Out of descriptors: accepting is tried again after this. */
#define ACCEPT_PAUSE_S 1.

static const char *const error_names[] = {
    [CONTROL_USAGE] = "usage", [CONTROL_DENIED] = "denied", [CONTROL_NOTFOUND] = "notfound",
    [CONTROL_BUSY] = "busy",   [CONTROL_FAILED] = "failed",
};

/* --- requests --- */

static void request_free(struct control_request *request)
{
	TAILQ_REMOVE(&request->control->requests, request, entry);
	free(request);
}

/* Ends the request: the status line is the last thing that its client gets. */
static void finish(struct control_request *request, const char *status_line)
{
	struct client *c = request->client;

	request_free(request);
	if (c != NULL)
		control_client_finish(c, status_line);
}

void control_reply(struct control_request *request, json_t *object)
{
	AUTO(free) char *text = NULL;
	AUTO(free) char *line = NULL;

	if (request->client != NULL) {
		/* Fifteen digits: 0.1 stays 0.1. */
		text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(15));
		assert(text != NULL);
		line = xasprintf("%s\n", text);
		control_client_append(request->client, line, strlen(line));
	}
	json_decref(object);
}

void control_pass_fd(struct control_request *request, int fd)
{
	if (request->client != NULL)
		control_client_pass_fd(request->client, fd);
}

void control_ok(struct control_request *request)
{
	finish(request, "ok\n");
}

void control_fail(struct control_request *request, enum control_error error, const char *fmt, ...)
{
	AUTO(free) char *line = NULL;
	char sentence[1024];
	va_list ap;

	va_start(ap, fmt);
	(void) vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	/* A status is one line, whatever the sentence was made of. */
	printable_blank(sentence, strlen(sentence));
	line = xasprintf("error %s %s\n", error_names[error], sentence);
	finish(request, line);
}

/* --- commands --- */

static void refuse_unknown(struct control_request *request, int argc, char **argv)
{
	const struct control *control = request->control;
	AUTO(free) const char **names = xcalloc(control->n_commands, sizeof(*names));
	char typed[CMDNAME_TEXT_MAX];
	const char *nearest;

	for (size_t i = 0; i < control->n_commands; i++)
		names[i] = control->commands[i].words;
	nearest = cmdname_nearest(argc, argv, names, control->n_commands);
	(void) cmdname_typed(argc, argv, typed);
	if (nearest != NULL)
		control_fail(request, CONTROL_USAGE, "unknown command '%s': did you mean '%s'?", typed,
		             nearest);
	else
		control_fail(request, CONTROL_USAGE, "unknown command '%s': 'help' lists them all", typed);
}

/* Built in: one object a command. */
static void reply_help(struct control_request *request)
{
	const struct control *control = request->control;

	for (size_t i = 0; i < control->n_commands; i++) {
		const struct control_command *command = &control->commands[i];

		control_reply(request, json_pack("{s:s, s:s, s:b, s:s}", "command", command->words, "usage",
		                                 command->usage, "changes", command->changes, "help",
		                                 command->help));
	}
	control_ok(request);
}

/* Built in: of a daemon that has a port for them. */
static void reply_metrics(struct control_request *request)
{
	control_reply(request, metricsport_answer(request->control->metrics_port));
	control_ok(request);
}

/* The command that covers most of the words: "vip status" comes before "vip". */
static const struct control_command *find_command(const struct control *control, int argc,
                                                  char **argv, int *ret_n_words)
{
	const struct control_command *found = NULL;
	int most = 0;

	for (size_t i = 0; i < control->n_commands; i++) {
		int n = cmdname_match(control->commands[i].words, argc, argv);

		if (n > most) {
			most = n;
			found = &control->commands[i];
		}
	}
	*ret_n_words = most;
	return found;
}

/* Can a command have so many words behind its own? What stands in brackets may be left out. Of
 * alternatives (" | ") and of a list ("...") the command counts them itself. */
static bool is_count_right(const char *usage, int n)
{
	int least = 0, most = 0, depth = 0;

	if (strstr(usage, " | ") != NULL || strstr(usage, "...") != NULL)
		return true;
	for (const char *p = usage; *p != '\0'; p++) {
		bool begins = p == usage || p[-1] == ' ';

		depth += *p == '[' ? 1 : 0;
		least += begins && depth == 0 ? 1 : 0;
		most += begins ? 1 : 0;
		depth -= *p == ']' ? 1 : 0;
	}
	return n >= least && n <= most;
}

/* The words are the handler's for as long as it runs; the client may be freed under it, and its
 * line with it. Hence the copy. */
void control_run_line(struct control_request *request, const char *text, uid_t uid)
{
	AUTO(free) char *line = xstrdup(text);
	struct control *control = request->control;
	const struct control_command *command;
	char *argv[CONTROL_WORDS_MAX + 1];
	int argc, n_words;

	argc = words_split(line, argv, CONTROL_WORDS_MAX);
	if (argc == -E2BIG) {
		control_fail(request, CONTROL_USAGE, "more than %d words", CONTROL_WORDS_MAX);
		return;
	}
	if (argc < 0) {
		control_fail(request, CONTROL_USAGE,
		             "a word with a space, a quote or a backslash stands in double quotes, with "
		             "\\\" and \\\\ inside; control characters are not allowed");
		return;
	}
	if (argc == 0) {
		control_fail(request, CONTROL_USAGE, "an empty line: 'help' lists the commands");
		return;
	}
	argv[argc] = NULL;
	if (argc == 1 && strcmp(argv[0], "help") == 0) {
		reply_help(request);
		return;
	}
	command = find_command(control, argc, argv, &n_words);
	if (command == NULL) {
		refuse_unknown(request, argc, argv);
		return;
	}
	if (command->changes && uid != 0) {
		control_fail(request, CONTROL_DENIED, "'%s' is for root only, and you are uid %u",
		             command->words, (unsigned) uid);
		return;
	}
	if (!is_count_right(command->usage, argc - n_words))
		control_fail(request, CONTROL_USAGE, "%s%s%s", command->words,
		             command->usage[0] != '\0' ? " " : "", command->usage);
	else if (command->fn == NULL)
		reply_metrics(request);
	else
		command->fn(request, argc - n_words, argv + n_words, control->userdata);
}

/* --- the socket --- */

static void acceptable_cb(struct ev_loop *ev, ev_io *w, int revents)
{
	struct control *control = CONTAINER_OF(w, struct control, acceptable);

	loop_expect_watched(revents);
	for (int i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		int fd = accept4(control->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			control_client_add(control, fd);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
			/* The connection stays in the queue, so the socket stays readable: without a pause
			 * the loop would spin. */
			ev_io_stop(ev, w);
			ev_timer_again(ev, &control->accept_again);
		}
		if (errno != ECONNABORTED && errno != EINTR)
			return;
	}
}

static void accept_again_cb(struct ev_loop *ev, ev_timer *w, int revents UNUSED)
{
	struct control *control = CONTAINER_OF(w, struct control, accept_again);

	ev_timer_stop(ev, w);
	ev_io_start(ev, &control->acceptable);
}

/* --- the server --- */

int control_new(struct ev_loop *ev, const char *path, const char *group,
                const struct control_command *commands, size_t n_commands, void *userdata,
                struct control **ret_control)
{
	struct control *control;
	struct stat st;
	int fd;

	fd = unixsock_listen(path, group, CONTROL_CLIENTS_MAX);
	if (fd < 0)
		return fd;
	control = NEW0(struct control);
	control->ev = ev;
	control->path = xstrdup(path);
	control->fd = fd;
	control->commands = xcalloc(n_commands + 1, sizeof(control->commands[0]));
	memcpy(control->commands, commands, n_commands * sizeof(commands[0]));
	control->n_commands = n_commands;
	control->userdata = userdata;
	if (stat(path, &st) == 0) {
		control->dev = st.st_dev;
		control->ino = st.st_ino;
	}
	TAILQ_INIT(&control->clients);
	TAILQ_INIT(&control->requests);
	ev_io_init(&control->acceptable, acceptable_cb, fd, EV_READ);
	ev_io_start(ev, &control->acceptable);
	ev_timer_init(&control->accept_again, accept_again_cb, 0., ACCEPT_PAUSE_S);
	*ret_control = control;
	return 0;
}

void control_add_metrics(struct control *control, const struct metricsport *port)
{
	control->metrics_port = port;
	control->commands[control->n_commands++] = (struct control_command){
	    "metrics", false, NULL, "", "Metrics in the Prometheus text format."};
}

void control_free(struct control *control)
{
	struct stat st;

	if (control == NULL)
		return;
	while (!TAILQ_EMPTY(&control->clients))
		control_client_free(TAILQ_FIRST(&control->clients));
	while (!TAILQ_EMPTY(&control->requests))
		request_free(TAILQ_FIRST(&control->requests));
	ev_io_stop(control->ev, &control->acceptable);
	ev_timer_stop(control->ev, &control->accept_again);
	if (stat(control->path, &st) == 0 && st.st_dev == control->dev && st.st_ino == control->ino)
		(void) unlink(control->path);
	(void) close(control->fd);
	free(control->path);
	free(control->commands);
	free(control);
}
