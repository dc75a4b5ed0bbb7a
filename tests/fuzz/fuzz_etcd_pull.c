/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for what a server sends behind a call of gRPC, through a real socket: the
 * first byte says what the user does, the second how what is sent is cut, the rest is sent: as it
 * is, or as the content of an answer of HTTP/2 that is right. Whatever it is, no message comes that
 * nobody asked for, a good end comes when it is asked for, one end comes when the server hangs up,
 * and of a right answer's content all messages, in order, and the end that it deserves.
 */
#include <errno.h>
#include <ev.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "etcd/pull.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The content of an input is 1700 messages at most. */
#define TURNS_MAX 10000

enum habit {
	HABIT_ASK,   /* at once */
	HABIT_LATER, /* in another turn */
	HABIT_CLOSE, /* in the third message */
	HABIT_ASK_AND_CLOSE,
	HABIT_NEVER, /* and closes in the end */
	HABITS,
};

static struct ev_loop *ev;
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static int listener = -1;
static struct url url;

static struct {
	struct pull *pull;
	enum habit habit;
	bool is_asked;
	unsigned n_messages;
	bool is_over;
	grpc_status_code code;
	/* What is to come; NULL: anything. */
	const uint8_t *content;
	size_t content_len;
	size_t content_at;
} user;

/* --- the user --- */

static void check_content(const uint8_t *data, size_t len)
{
	const uint8_t *head;
	size_t left = user.content_len - user.content_at;

	if (user.content == NULL)
		return;
	head = user.content + user.content_at;
	if (left < INBOX_HEAD_BYTES + len || head[0] != 0 || head[1] != 0 ||
	    ((size_t) head[2] << 16 | (size_t) head[3] << 8 | head[4]) != len ||
	    memcmp(head + INBOX_HEAD_BYTES, data, len) != 0)
		abort();
	user.content_at += INBOX_HEAD_BYTES + len;
}

static void on_message(const void *data, size_t len, void *userdata)
{
	if (userdata != &user || user.is_over || user.pull == NULL || !user.is_asked ||
	    len > PULL_MESSAGE_MAX_BYTES)
		abort();
	free(xmemdup(data, len));
	check_content(data, len);
	user.is_asked = false;
	user.n_messages++;
	if (user.habit == HABIT_ASK || user.habit == HABIT_ASK_AND_CLOSE ||
	    (user.habit == HABIT_CLOSE && user.n_messages < 3)) {
		pull_next(user.pull);
		user.is_asked = true;
	}
	if (user.n_messages == 3 && (user.habit == HABIT_CLOSE || user.habit == HABIT_ASK_AND_CLOSE))
		pull_close(TAKE_PTR(user.pull));
	free(xmemdup(data, len));
}

static void on_ended(grpc_status_code code, const char *text, void *userdata)
{
	if (userdata != &user || user.is_over || user.pull == NULL ||
	    (code == GRPC_STATUS_OK && !user.is_asked) || strlen(text) >= PULL_TEXT_MAX)
		abort();
	user.is_over = true;
	user.code = code;
	user.pull = NULL;
}

/* What a right answer with that content comes to, behind its last whole message. */
static grpc_status_code right_code(void)
{
	const uint8_t *head = user.content + user.content_at;
	size_t left = user.content_len - user.content_at;

	if (left == 0)
		return GRPC_STATUS_OK;
	if (left >= INBOX_HEAD_BYTES && head[0] == 0 &&
	    ((size_t) head[1] << 24 | (size_t) head[2] << 16 | (size_t) head[3] << 8 | head[4]) >
	        PULL_MESSAGE_MAX_BYTES)
		return GRPC_STATUS_RESOURCE_EXHAUSTED;
	return GRPC_STATUS_INTERNAL;
}

/* --- the server --- */

static void remove_socket(void)
{
	(void) unlink(address.sun_path);
}

static void prepare(void)
{
	AUTO(free) char *text = NULL;

	if (ev != NULL)
		return;
	ev = ev_loop_new(EVFLAG_AUTO);
	(void) snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/fuzz-pull-%ld",
	                (long) getpid());
	text = xasprintf("unix://%s", address.sun_path);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (bind(listener, (const struct sockaddr *) &address, sizeof(address)) < 0 ||
	    listen(listener, 1) < 0 || url_parse(text, &url) < 0)
		abort();
	(void) atexit(remove_socket);
}

struct bytes {
	uint8_t *data;
	size_t len;
};

static void append(struct bytes *to, const void *data, size_t len)
{
	to->data = xreallocarray(to->data, to->len + len + 1, 1);
	memcpy(to->data + to->len, data, len);
	to->len += len;
}

static void append_frame(struct bytes *to, uint8_t type, uint8_t flags, uint8_t stream,
                         const void *payload, size_t len)
{
	const uint8_t head[] = {
	    (uint8_t) (len >> 16), (uint8_t) (len >> 8), (uint8_t) len, type, flags, 0, 0, 0, stream};

	append(to, head, sizeof(head));
	append(to, payload, len);
}

/* The content in frames, and around it all that belongs to an answer. */
static struct bytes make_answer(const uint8_t *content, size_t len, size_t frame_max)
{
	static const char headers[] = "\x88\x0f\x10\x10"
	                              "application/grpc";
	static const char trailers[] = "\0\x0bgrpc-status\x01"
	                               "0";
	struct bytes answer = {0};

	append_frame(&answer, 4, 0, 0, "", 0);
	append_frame(&answer, 1, 4, 1, headers, sizeof(headers) - 1);
	for (size_t at = 0; at < len; at += MIN(frame_max, len - at))
		append_frame(&answer, 0, 0, 1, content + at, MIN(frame_max, len - at));
	append_frame(&answer, 1, 5, 1, trailers, sizeof(trailers) - 1);
	return answer;
}

/* What the client says does not matter. */
static void turn(int fd)
{
	uint8_t in[4096];

	(void) ev_run(ev, EVRUN_NOWAIT);
	while (fd >= 0 && recv(fd, in, sizeof(in), 0) > 0)
		;
	if (user.habit == HABIT_LATER && user.pull != NULL && !user.is_asked) {
		pull_next(user.pull);
		user.is_asked = true;
	}
}

static int take_connection(void)
{
	for (unsigned i = 0; i < TURNS_MAX; i++) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0)
			return fd;
		turn(-1);
	}
	abort();
}

static void send_bytes(int fd, const uint8_t *data, size_t len, size_t piece)
{
	while (len > 0) {
		ssize_t n = send(fd, data, MIN(len, piece), MSG_NOSIGNAL);

		turn(fd);
		/* It has had enough, or is full for now. */
		if (n < 0 && errno != EAGAIN)
			return;
		data += MAX(n, 0);
		len -= (size_t) MAX(n, 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct pull_callbacks callbacks = {.message = on_message, .ended = on_ended};
	struct bytes answer = {0};
	bool is_right, ends;
	size_t piece;
	int fd;

	if (size < 2)
		return 0;
	prepare();
	memset(&user, 0, sizeof(user));
	user.habit = (enum habit)(data[0] % HABITS);
	user.is_asked = true;
	is_right = (data[0] & 0x40) != 0;
	ends = (data[0] & 0x80) == 0;
	piece = 1 + (size_t) data[1] * 17;
	data += 2;
	size -= 2;
	if (is_right) {
		answer = make_answer(data, size, piece);
		user.content = data;
		user.content_len = size;
	} else {
		append(&answer, data, size);
	}
	user.pull = pull_open(ev, &url, NULL, "/a.B/C", "token", &callbacks, &user);
	fd = take_connection();
	send_bytes(fd, answer.data, answer.len, piece);
	if (ends)
		(void) close(TAKE_FD(fd));
	for (unsigned i = 0; user.pull != NULL && i < (ends ? TURNS_MAX : 10); i++) {
		turn(fd);
		if (user.pull != NULL && !user.is_asked && user.habit == HABIT_NEVER && i > 5)
			break;
	}
	if (ends && user.pull != NULL && user.is_asked)
		abort();
	if (is_right && user.is_over && user.code != right_code())
		abort();
	pull_close(TAKE_PTR(user.pull));
	if (fd >= 0)
		(void) close(fd);
	free(answer.data);
	return 0;
}
