/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for a daemon's control socket, a real one: whatever a client sends, the
 * answer is JSON objects, one a line, then exactly one status line, and then the end. Words that a
 * command was given are a line again that splits into the same words.
 * max_len: 6000
 */
#include <ev.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/control.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An answer has as many bytes as its question, each of which may be six in JSON, and a few. */
#define ANSWER_MAX (8 * CONTROL_LINE_MAX)
#define TURNS_MAX 1000

static struct sockaddr_un address = {.sun_family = AF_UNIX};
static unsigned n_begun;

static void check_words(int argc, char **argv)
{
	AUTO(free) char *line = NULL;
	char *again[CONTROL_WORDS_MAX];

	if (words_join((const char *const *) argv, (size_t) argc, &line) < 0 ||
	    words_split(line, again, CONTROL_WORDS_MAX) != argc)
		abort();
	for (int i = 0; i < argc; i++) {
		if (strcmp(argv[i], again[i]) != 0)
			abort();
	}
}

/* Says each word again. Whether it is UTF-8 is no matter of the line's. */
static void echo(struct control_request *request, int argc, char **argv, void *userdata UNUSED)
{
	n_begun++;
	check_words(argc, argv);
	for (int i = 0; i < argc; i++) {
		json_t *word = json_string(argv[i]);

		control_reply(request, json_pack("{s:o}", "word", word != NULL ? word : json_null()));
	}
	control_ok(request);
}

static void refuse(struct control_request *request, int argc, char **argv, void *userdata UNUSED)
{
	n_begun++;
	control_fail(request, CONTROL_NOTFOUND, "no such thing as '%s'", argc > 0 ? argv[0] : "");
}

static const struct control_command commands[] = {
    {"echo", false, echo, "[WORD...]", "Says it again."},
    {"echo all", true, echo, "[WORD...]", "Says it again."},
    {"refuse", false, refuse, "[WORD]", "Does not."},
};

static void remove_socket(void)
{
	(void) unlink(address.sun_path);
}

static struct ev_loop *server(void)
{
	static struct control *control; /* for as long as the process lives */
	static struct ev_loop *ev;

	if (control != NULL)
		return ev;
	ev = ev_loop_new(EVFLAG_AUTO);
	(void) snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/fuzz-control-%ld",
	                (long) getpid());
	if (control_new(ev, address.sun_path, "no-such-group", commands, ARRAY_SIZE(commands), NULL,
	                &control) < 0)
		abort();
	(void) atexit(remove_socket);
	return ev;
}

static size_t ask(struct ev_loop *ev, const uint8_t *data, size_t size, char *answer)
{
	AUTO(close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	size_t len = 0;
	ssize_t n;

	if (connect(fd, (const struct sockaddr *) &address, sizeof(address)) < 0 ||
	    send(fd, data, size, MSG_NOSIGNAL) != (ssize_t) size || shutdown(fd, SHUT_WR) < 0)
		abort();
	for (unsigned i = 0; i < TURNS_MAX; i++) {
		(void) ev_run(ev, EVRUN_NOWAIT);
		n = recv(fd, answer + len, ANSWER_MAX - len, 0);
		if (n == 0)
			return len;
		len += n > 0 ? (size_t) n : 0;
	}
	abort();
}

static void check_status(const char *line)
{
	static const char *const codes[] = {"usage ", "denied ", "notfound ", "busy ", "failed "};

	if (strcmp(line, "ok\n") == 0)
		return;
	if (strncmp(line, "error ", 6) != 0 || strcspn(line, "\n") + 1 != strlen(line))
		abort();
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		if (strncmp(line + 6, codes[i], strlen(codes[i])) == 0)
			return;
	}
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char answer[ANSWER_MAX + 1];
	struct ev_loop *ev = server();
	const char *line = answer, *end;
	size_t len;

	n_begun = 0;
	len = ask(ev, data, size, answer);
	answer[len] = '\0';
	if (strlen(answer) != len || n_begun > 1)
		abort();
	for (; *line == '{'; line = end + 1) {
		json_t *object;

		end = strchr(line, '\n');
		if (end == NULL)
			abort();
		object = json_loadb(line, (size_t) (end - line), 0, NULL);
		if (!json_is_object(object))
			abort();
		json_decref(object);
	}
	check_status(line);
	return 0;
}
