/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the listening socket, the clients and the open requests. A client goes one way:
 *
 *     READING --whole line--> RUNNING --control_ok/fail--> CLOSING --answer sent--> freed
 *        |                       |                            |
 *        +-- idle, overlong -->--+---- gone, too much --------+--> freed
 *
 * In READING a timer runs; in RUNNING none does, because a command may take its time; in CLOSING
 * the timer gives the client time to read. A request is an object of its own and outlives its
 * client: the handler may answer into the void, and what it answers is dropped. Nobody but this
 * file holds a client, and each function that may free one does so last.
 */
#include "base/control.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cmdname.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/unixsock.h"
#include "base/words.h"

/* Out of descriptors: accepting is tried again after this. */
#define ACCEPT_PAUSE_S 1.
/* An answer is written on the spot whenever this much of it waits, and else by the loop. */
#define FLUSH_BYTES 65536
/* Of what follows the line, this much is read away before the close; see close_client(). */
#define DISCARD_BYTES 65536

enum phase {
	READING,
	RUNNING,
	CLOSING,
};

struct client {
	struct control *control;
	struct control_request *request; /* RUNNING only */
	enum phase phase;
	uid_t uid;
	int fd;
	ev_io readable;
	ev_io writable;
	ev_timer timer;
	size_t line_len;
	char line[CONTROL_LINE_MAX + 1];
	char *out; /* out[out_start..out_end) waits for the client */
	size_t out_start, out_end, out_room;
	int passed_fd; /* goes with the byte at out[passed_at]; -1: none */
	size_t passed_at;
	TAILQ_ENTRY(client) entry;
};

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
	const struct control_command *commands;
	size_t n_commands;
	void *userdata;
	size_t n_clients;
	TAILQ_HEAD(, client) clients;
	TAILQ_HEAD(, control_request) requests;
};

static const char *const error_names[] = {
    [CONTROL_USAGE] = "usage", [CONTROL_DENIED] = "denied", [CONTROL_NOTFOUND] = "notfound",
    [CONTROL_BUSY] = "busy",   [CONTROL_FAILED] = "failed",
};

/* --- clients ---------------------------------------------------------------------------------- */

static void client_free(struct client *c)
{
	struct control *control = c->control;

	if (c->request != NULL)
		c->request->client = NULL;
	ev_io_stop(control->ev, &c->readable);
	ev_io_stop(control->ev, &c->writable);
	ev_timer_stop(control->ev, &c->timer);
	TAILQ_REMOVE(&control->clients, c, entry);
	control->n_clients--;
	(void) close(c->fd);
	if (c->passed_fd >= 0)
		(void) close(c->passed_fd);
	free(c->out);
	free(c);
}

/*
 * Closes in peace. Input that is still unread at close(2) would reset the connection, and the
 * client would see an error behind a good answer.
 */
static void close_client(struct client *c)
{
	char discarded[4096];

	(void) shutdown(c->fd, SHUT_WR);
	for (size_t i = 0; i < DISCARD_BYTES / sizeof(discarded); i++) {
		if (read(c->fd, discarded, sizeof(discarded)) <= 0)
			break;
	}
	client_free(c);
}

static void restart_timer(struct client *c)
{
	c->timer.repeat = CONTROL_IDLE_S;
	ev_timer_again(c->control->ev, &c->timer);
}

/* With the descriptor, once all before it has gone. */
static ssize_t send_some(struct client *c)
{
	bool passes = c->passed_fd >= 0 && c->out_start == c->passed_at;
	size_t len =
	    c->passed_fd >= 0 && !passes ? c->passed_at - c->out_start : c->out_end - c->out_start;
	char buffer[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = {0};
	struct iovec data = {.iov_base = c->out + c->out_start, .iov_len = len};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
	struct cmsghdr *header;
	ssize_t n;

	if (passes) {
		message.msg_control = buffer;
		message.msg_controllen = sizeof(buffer);
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(header), &c->passed_fd, sizeof(int));
	}
	n = sendmsg(c->fd, &message, MSG_NOSIGNAL);
	if (n > 0 && passes)
		(void) close(TAKE_FD(c->passed_fd));
	return n;
}

/* Sends what it can. false: the client cannot be reached any more. */
static bool flush(struct client *c)
{
	while (c->out_start < c->out_end) {
		ssize_t n = send_some(c);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			if (errno != EAGAIN)
				return false;
			ev_io_start(c->control->ev, &c->writable);
			return true;
		}
		c->out_start += (size_t) n;
		if (c->phase == CLOSING)
			restart_timer(c);
	}
	ev_io_stop(c->control->ev, &c->writable);
	c->out_start = c->out_end = 0;
	return true;
}

/* Sends on, and lets go of a client that is gone or has all that it came for. Frees it then. */
static void pump(struct client *c)
{
	if (!flush(c))
		client_free(c);
	else if (c->phase == CLOSING && c->out_end == 0)
		close_client(c);
}

/* Adds to the answer. Frees a client that is gone or lets too much pile up. */
static void append(struct client *c, const char *data, size_t len)
{
	if (c->out_end - c->out_start + len > CONTROL_ANSWER_MAX) {
		client_free(c);
		return;
	}
	if (c->out_start > 0) {
		memmove(c->out, c->out + c->out_start, c->out_end - c->out_start);
		c->out_end -= c->out_start;
		c->passed_at -= MIN(c->out_start, c->passed_at);
		c->out_start = 0;
	}
	if (c->out_end + len > c->out_room) {
		c->out_room = MAX(c->out_end + len, 2 * c->out_room);
		c->out = xreallocarray(c->out, c->out_room, 1);
	}
	memcpy(c->out + c->out_end, data, len);
	c->out_end += len;
	if (c->out_end >= FLUSH_BYTES)
		pump(c);
	else
		ev_io_start(c->control->ev, &c->writable);
}

/* --- requests --------------------------------------------------------------------------------- */

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
	if (c == NULL)
		return;
	c->request = NULL;
	c->phase = CLOSING;
	restart_timer(c);
	append(c, status_line, strlen(status_line));
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
		append(request->client, line, strlen(line));
	}
	json_decref(object);
}

void control_pass_fd(struct control_request *request, int fd)
{
	struct client *c = request->client;

	if (c == NULL)
		return;
	assert(c->passed_fd < 0);
	c->passed_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	c->passed_at = c->out_end;
}

void control_ok(struct control_request *request)
{
	finish(request, "ok\n");
}

/* A status is one line, whatever the sentence was made of. */
static void blank_control_characters(char *s)
{
	for (; *s != '\0'; s++) {
		if ((unsigned char) *s < 0x20 || *s == 0x7f)
			*s = ' ';
	}
}

void control_fail(struct control_request *request, enum control_error error, const char *fmt, ...)
{
	AUTO(free) char *line = NULL;
	char sentence[1024];
	va_list ap;

	va_start(ap, fmt);
	(void) vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	blank_control_characters(sentence);
	line = xasprintf("error %s %s\n", error_names[error], sentence);
	finish(request, line);
}

/* --- commands --------------------------------------------------------------------------------- */

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

/* The words are the handler's for as long as it runs; the client may be freed under it, and its
 * line with it. Hence the copy. */
static void run_line(struct control_request *request, const char *text, uid_t uid)
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
	command->fn(request, argc - n_words, argv + n_words, control->userdata);
}

/* Begins the client's one request; it may be over, and the client freed, when this returns. */
static struct control_request *begin_request(struct client *c)
{
	struct control_request *request = NEW0(struct control_request);

	request->control = c->control;
	request->client = c;
	TAILQ_INSERT_TAIL(&c->control->requests, request, entry);
	c->request = request;
	c->phase = RUNNING;
	ev_timer_stop(c->control->ev, &c->timer);
	return request;
}

/* --- the loop's callbacks --------------------------------------------------------------------- */

/* End of input. A client that only closed its sending half (`echo ... | socat`) waits for the
 * answer. */
static void on_end(struct client *c)
{
	struct pollfd hangup = {.fd = c->fd};

	ev_io_stop(c->control->ev, &c->readable);
	if (poll(&hangup, 1, 0) == 1 && (hangup.revents & (POLLHUP | POLLERR)) != 0)
		client_free(c);
	else if (c->phase == READING)
		control_fail(begin_request(c), CONTROL_USAGE, "the line has no end");
}

/* line[0..len) came, without its newline. */
static void on_line(struct client *c, size_t len)
{
	c->line[len] = '\0';
	/* A NUL would hide the rest of the line. Made another control character, it is refused as one.
	 */
	for (char *p = c->line; p < c->line + len; p++)
		*p = *p == '\0' ? '\x01' : *p;
	run_line(begin_request(c), c->line, c->uid);
}

static void on_input(struct client *c, size_t n)
{
	char *newline = memchr(c->line + c->line_len, '\n', n);

	c->line_len += n;
	if (newline != NULL)
		on_line(c, (size_t) (newline - c->line));
	else if (c->line_len == sizeof(c->line))
		control_fail(begin_request(c), CONTROL_USAGE, "a line of more than %d bytes",
		             CONTROL_LINE_MAX);
}

static void readable_cb(struct ev_loop *ev UNUSED, ev_io *w, int revents)
{
	struct client *c = CONTAINER_OF(w, struct client, readable);
	bool reading = c->phase == READING;
	char discarded[4096];
	ssize_t n;

	if ((revents & EV_ERROR) != 0) {
		client_free(c);
		return;
	}
	/* `line` has one byte more than the limit, for the newline. What follows the line is ignored.
	 */
	if (reading)
		n = read(c->fd, c->line + c->line_len, sizeof(c->line) - c->line_len);
	else
		n = read(c->fd, discarded, sizeof(discarded));
	if (n > 0 && reading)
		on_input(c, (size_t) n);
	else if (n == 0)
		on_end(c);
	else if (n < 0 && errno != EAGAIN && errno != EINTR)
		client_free(c);
}

static void writable_cb(struct ev_loop *ev UNUSED, ev_io *w, int revents)
{
	struct client *c = CONTAINER_OF(w, struct client, writable);

	if ((revents & EV_ERROR) != 0)
		client_free(c);
	else
		pump(c);
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct client *c = CONTAINER_OF(w, struct client, timer);

	log_debug("control_client_idle", "uid=%u phase=%d", (unsigned) c->uid, (int) c->phase);
	client_free(c);
}

/* Takes the descriptor. */
static void add_client(struct control *control, int fd)
{
	struct ucred peer = {.uid = (uid_t) -1};
	socklen_t len = sizeof(peer);
	struct client *c;

	if (control->n_clients >= CONTROL_CLIENTS_MAX ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0) {
		static const char busy[] = "error busy too many clients: try again in a few seconds\n";

		(void) send(fd, busy, sizeof(busy) - 1, MSG_NOSIGNAL);
		(void) close(fd);
		return;
	}
	c = NEW0(struct client);
	c->control = control;
	c->fd = fd;
	c->passed_fd = -1;
	c->uid = peer.uid;
	ev_io_init(&c->readable, readable_cb, fd, EV_READ);
	ev_io_init(&c->writable, writable_cb, fd, EV_WRITE);
	ev_init(&c->timer, timer_cb);
	ev_io_start(control->ev, &c->readable);
	restart_timer(c);
	TAILQ_INSERT_TAIL(&control->clients, c, entry);
	control->n_clients++;
}

static void acceptable_cb(struct ev_loop *ev, ev_io *w, int revents)
{
	struct control *control = CONTAINER_OF(w, struct control, acceptable);

	loop_expect_watched(revents);
	for (int i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		int fd = accept4(control->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			add_client(control, fd);
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

/* --- the server ------------------------------------------------------------------------------- */

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
	control->commands = commands;
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

void control_free(struct control *control)
{
	struct stat st;

	if (control == NULL)
		return;
	while (!TAILQ_EMPTY(&control->requests)) {
		struct control_request *request = TAILQ_FIRST(&control->requests);

		if (request->client != NULL)
			request->client->request = NULL;
		request_free(request);
	}
	while (!TAILQ_EMPTY(&control->clients))
		client_free(TAILQ_FIRST(&control->clients));
	ev_io_stop(control->ev, &control->acceptable);
	ev_timer_stop(control->ev, &control->accept_again);
	if (stat(control->path, &st) == 0 && st.st_dev == control->dev && st.st_ino == control->ino)
		(void) unlink(control->path);
	(void) close(control->fd);
	free(control->path);
	free(control);
}
