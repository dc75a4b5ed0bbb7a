/* SPDX-License-Identifier: Apache-2.0 */
/* The probe process's end of the socket: messages of every length, what is none, and the end. */
#include "prism/probe/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/macro.h"
#include "base/mem.h"
#include "prism/checker.h"
#include "tests/unit/check.h"
#include "tests/unit/turn.h"

#define OPEN 1 /* what on_closed() cannot say */

static struct ev_loop *ev;
static unsigned n_messages;
static size_t last_len; /* of the text in the last message */
static int closed;

static void on_message(const json_t *message, void *userdata)
{
	CHECK(userdata == &n_messages);
	n_messages++;
	last_len = json_string_length(json_object_get(message, "text"));
}

static void on_closed(int r, void *userdata)
{
	CHECK(userdata == &n_messages);
	closed = r;
}

/* {"text":"..."} of so many bytes in all, or what is to be sent as it is. */
static char *make(const char *text, size_t len)
{
	AUTO(free) char *filling = NULL;

	if (text != NULL)
		return xstrdup(text);
	filling = xcalloc(1, len);
	memset(filling, 'x', len - strlen("{\"text\":\"\"}"));
	return xasprintf("{\"text\":\"%s\"}", filling);
}

#define TEXT_OF(len) ((len) -strlen("{\"text\":\"\"}"))

static void test_messages(void)
{
	static const struct {
		const char *text; /* NULL: an object of so many bytes */
		size_t len;
		unsigned messages;
		size_t text_len;
		int closed;
	} cases[] = {
	    {"{\"text\":\"x\"}", 0, 1, 1, OPEN},
	    {NULL, 100, 1, TEXT_OF(100), OPEN},
	    {NULL, CHECKER_MESSAGE_MAX, 1, TEXT_OF(CHECKER_MESSAGE_MAX), OPEN},
	    {NULL, CHECKER_MESSAGE_MAX + 1, 0, 0, -EBADMSG},
	    {"[1]", 0, 0, 0, -EBADMSG},
	    {"{\"text\":\"x\"", 0, 0, 0, -EBADMSG},
	    {"{\"text\":\"x\",\"text\":\"y\"}", 0, 0, 0, -EBADMSG},
	    {"x", 0, 0, 0, -EBADMSG},
	};
	static const struct wire_callbacks callbacks = {.message = on_message, .closed = on_closed};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) char *text = make(cases[i].text, cases[i].len);
		AUTO(wire_free) struct wire *wire = NULL;
		int ends[2];

		n_messages = 0;
		last_len = 0;
		closed = OPEN;
		CHECK_EQ_INT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
		wire = wire_new(ev, ends[1], &callbacks, &n_messages);
		turn_once(ev);
		CHECK_EQ_INT(n_messages, 0);
		CHECK_EQ_INT(send(ends[0], text, strlen(text), 0), strlen(text));
		CHECK(TURN_UNTIL(ev, n_messages > 0 || closed != OPEN));
		CHECK_EQ_INT(n_messages, cases[i].messages);
		CHECK_EQ_INT(last_len, cases[i].text_len);
		CHECK_EQ_INT(closed, cases[i].closed);
		/* Whoever is told nothing any more is not told of the end either. */
		(void) close(ends[0]);
		if (closed == OPEN)
			CHECK(TURN_UNTIL(ev, closed == 0));
		else
			turn_once(ev);
		CHECK_EQ_INT(closed, cases[i].closed == OPEN ? 0 : cases[i].closed);
		(void) close(ends[1]);
	}
}

int main(void)
{
	ev = ev_default_loop(EVFLAG_AUTO);
	test_messages();
	ev_loop_destroy(ev);
	return check_result();
}
