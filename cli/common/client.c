/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One question, one answer, one connection. The socket is non-blocking and poll(2) carries the
 * deadline, so a daemon that hangs, at whatever point, costs the operator the timeout and no more.
 */
#include "cli/common/client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/words.h"

void client_answer_free(struct client_answer *answer)
{
	if (answer == NULL)
		return;
	free(answer->lines);
	json_decref(answer->objects);
	free(answer->error);
	free(answer->sentence);
	if (answer->fd >= 0)
		(void) close(answer->fd);
	free(answer);
}

/* --- the answer's text --- */

/* "ok", or "error <code> <sentence>"; without its newline. */
static int parse_status(const char *status, struct client_answer *answer)
{
	const char *code, *space;

	if (strcmp(status, "ok") == 0)
		return 0;
	if (strncmp(status, "error ", 6) != 0)
		return -EBADMSG;
	code = status + 6;
	space = strchr(code, ' ');
	if (space == NULL || space == code)
		return -EBADMSG;
	answer->error = xstrndup(code, (size_t) (space - code));
	answer->sentence = xstrdup(space + 1);
	return 0;
}

int client_parse_answer(const char *text, struct client_answer **ret_answer)
{
	AUTO(client_answer_free) struct client_answer *answer = NEW0(struct client_answer);
	AUTO(free) char *status = NULL;
	const char *line = text;
	int r;

	answer->fd = -1;
	answer->objects = json_array();
	/* Only the status line begins with anything but a brace, and it is the last one. */
	for (; *line == '{'; line++) {
		size_t len = strcspn(line, "\n");
		json_t *object;

		if (line[len] == '\0')
			return -EBADMSG;
		object = json_loadb(line, len, 0, NULL);
		if (object == NULL)
			return -EBADMSG;
		(void) json_array_append_new(answer->objects, object);
		line += len;
	}
	answer->lines = xstrndup(text, (size_t) (line - text));
	status = xstrdup(line);
	if (status[0] == '\0' || status[strlen(status) - 1] != '\n')
		return -EBADMSG;
	status[strlen(status) - 1] = '\0';
	r = parse_status(status, answer);
	if (r < 0)
		return r;
	*ret_answer = TAKE_PTR(answer);
	return 0;
}

/* --- the exchange --- */

static int wait_for(int fd, short events, int64_t deadline_us)
{
	struct pollfd p = {.fd = fd, .events = events};
	int64_t left_us = deadline_us - mono_now_us();
	int n;

	if (left_us <= 0)
		return -ETIMEDOUT;
	n = poll(&p, 1, (int) (left_us / US_PER_MS + 1));
	return n < 0 && errno != EINTR ? -errno : 0;
}

/* connect(2) on a unix socket answers at once; EAGAIN says that the server's queue is full. */
static int dial(const char *path, int64_t deadline_us)
{
	AUTO(close) int fd = -1;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int r;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	(void) strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	while (connect(fd, (const struct sockaddr *) &address, sizeof(address)) < 0) {
		if (errno != EAGAIN)
			return -errno;
		/* Nothing tells when there is room: ask again in a while. */
		r = wait_for(-1, 0, MIN(deadline_us, mono_now_us() + 50 * US_PER_MS));
		if (r < 0 || mono_now_us() >= deadline_us)
			return -ETIMEDOUT;
	}
	return TAKE_FD(fd);
}

static int send_line(int fd, const char *line, int64_t deadline_us)
{
	size_t len = strlen(line);

	while (len > 0) {
		ssize_t n = send(fd, line, len, MSG_NOSIGNAL);
		int r;

		if (n >= 0) {
			line += n;
			len -= (size_t) n;
			continue;
		}
		/* A server that refuses us may have closed already; what it said is still to be read. */
		if (errno == EPIPE)
			return 0;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		r = wait_for(fd, POLLOUT, deadline_us);
		if (r < 0)
			return r;
	}
	return 0;
}

struct listener {
	client_object_fn each; /* or NULL */
	void *userdata;
	size_t told; /* of the text so far */
};

/* Lines that are no object are judged at the end. */
static void tell(struct listener *listener, const char *text, size_t len, int passed_fd)
{
	const char *newline;

	while (listener->each != NULL &&
	       (newline = memchr(text + listener->told, '\n', len - listener->told)) != NULL) {
		size_t end = (size_t) (newline - text);
		json_t *object = json_loadb(text + listener->told, end - listener->told, 0, NULL);

		if (json_is_object(object))
			listener->each(object, passed_fd, listener->userdata);
		json_decref(object);
		listener->told = end + 1;
	}
}

/* The first one stays. */
static void take_fds(struct msghdr *message, int *passed_fd)
{
	for (struct cmsghdr *h = CMSG_FIRSTHDR(message); h != NULL; h = CMSG_NXTHDR(message, h)) {
		size_t n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(h) + i * sizeof(int), sizeof(fd));
			if (*passed_fd < 0)
				*passed_fd = fd;
			else
				(void) close(fd);
		}
	}
}

static ssize_t receive_some(int fd, char *buffer, size_t len, int *passed_fd)
{
	char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
	struct iovec data = {.iov_base = buffer, .iov_len = len};
	struct msghdr message = {
	    .msg_iov = &data,
	    .msg_iovlen = 1,
	    .msg_control = control,
	    .msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);

	if (n >= 0)
		take_fds(&message, passed_fd);
	return n;
}

/* Until there is more to read, or it is time for the next NULL. */
static int wait_for_more(int fd, int64_t deadline_us, const struct listener *listener,
                         int passed_fd)
{
	int64_t until_us = deadline_us;

	if (listener->each != NULL && passed_fd >= 0) {
		listener->each(NULL, passed_fd, listener->userdata);
		until_us = MIN(deadline_us, mono_now_us() + CLIENT_TICK_US);
	}
	return wait_for(fd, POLLIN, until_us);
}

static int receive_all(int fd, int64_t deadline_us, struct listener *listener, int *passed_fd,
                       char **ret_text)
{
	AUTO(free) char *text = NULL;
	size_t len = 0, room = 0;

	for (;;) {
		ssize_t n;
		int r;

		if (room - len < 2) {
			room = MAX(2 * room, 65536);
			text = xreallocarray(text, room, 1);
		}
		n = receive_some(fd, text + len, room - len - 1, passed_fd);
		/* A reset is an end as well: whether the answer is whole, its last line tells. */
		if (n == 0 || (n < 0 && errno == ECONNRESET))
			break;
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (n > 0) {
			len += (size_t) n;
			if (len > CLIENT_ANSWER_MAX)
				return -EBADMSG;
			tell(listener, text, len, *passed_fd);
			continue;
		}
		r = wait_for_more(fd, deadline_us, listener, *passed_fd);
		if (r < 0)
			return r;
	}
	text[len] = '\0';
	if (strlen(text) != len)
		return -EBADMSG;
	*ret_text = TAKE_PTR(text);
	return 0;
}

int client_ask(const char *socket_path, const char *const *words, size_t n_words,
               int64_t timeout_us, struct client_answer **ret_answer)
{
	return client_ask_each(socket_path, words, n_words, timeout_us, NULL, NULL, ret_answer);
}

int client_ask_each(const char *socket_path, const char *const *words, size_t n_words,
                    int64_t timeout_us, client_object_fn each, void *userdata,
                    struct client_answer **ret_answer)
{
	struct listener listener = {.each = each, .userdata = userdata};
	int64_t deadline_us = mono_now_us() + timeout_us;
	AUTO(free) char *joined = NULL;
	AUTO(free) char *line = NULL;
	AUTO(free) char *text = NULL;
	AUTO(close) int fd = -1;
	AUTO(close) int passed_fd = -1;
	int r;

	r = words_join(words, n_words, &joined);
	if (r < 0)
		return r;
	line = xasprintf("%s\n", joined);
	fd = dial(socket_path, deadline_us);
	if (fd < 0)
		return fd;
	r = send_line(fd, line, deadline_us);
	if (r < 0)
		return r;
	r = receive_all(fd, deadline_us, &listener, &passed_fd, &text);
	if (text == NULL)
		return r;
	r = client_parse_answer(text, ret_answer);
	if (r == 0)
		(*ret_answer)->fd = TAKE_FD(passed_fd);
	return r;
}
