/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One message a turn of the loop, since the callback may free the wire. What is sent is ASCII, so
 * that no text of a remote side can make a message that is not UTF-8.
 */
#include "prism/probe/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/jsonval.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/macro.h"
#include "base/mem.h"
#include "prism/checker.h"

struct wire {
	int fd;
	struct ev_loop *ev;
	const struct wire_callbacks *callbacks;
	void *userdata;
	ev_io readable;
};

/* 0, or -errno: -EBADMSG for one that is too long. The end of the file is a message of length 0. */
static int receive(int fd, char **ret_message, size_t *ret_len)
{
	AUTO(free) char *message = NULL;
	/* With MSG_TRUNC it is the length of the whole message. All but the first have some 70 bytes,
	 * so that no room for the longest is kept. */
	ssize_t n = recv(fd, NULL, 0, MSG_DONTWAIT | MSG_PEEK | MSG_TRUNC);

	if (n > CHECKER_MESSAGE_MAX)
		return -EBADMSG;
	if (n >= 0) {
		message = xcalloc(1, (size_t) n + 1);
		n = recv(fd, message, (size_t) n, MSG_DONTWAIT);
	}
	if (n < 0)
		return -errno;
	*ret_message = TAKE_PTR(message);
	*ret_len = (size_t) n;
	return 0;
}

/* The callbacks may free the wire, so they come last. */
static void readable_cb(struct ev_loop *ev, ev_io *w, int revents)
{
	struct wire *wire = CONTAINER_OF(w, struct wire, readable);
	AUTO(free) char *text = NULL;
	json_t *message = NULL;
	size_t len = 0;
	int r;

	loop_expect_watched(revents);
	r = receive(wire->fd, &text, &len);
	if (r == -EAGAIN || r == -EINTR)
		return;
	if (r == 0 && len > 0)
		message = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	if (json_is_object(message)) {
		wire->callbacks->message(message, wire->userdata);
	} else {
		ev_io_stop(ev, w);
		wire->callbacks->closed(r == 0 && len > 0 ? -EBADMSG : r, wire->userdata);
	}
	json_decref(message);
}

struct wire *wire_new(struct ev_loop *ev, int fd, const struct wire_callbacks *callbacks,
                      void *userdata)
{
	struct wire *wire = NEW0(struct wire);

	wire->fd = fd;
	wire->ev = ev;
	wire->callbacks = callbacks;
	wire->userdata = userdata;
	ev_io_init(&wire->readable, readable_cb, fd, EV_READ);
	ev_io_start(ev, &wire->readable);
	return wire;
}

void wire_free(struct wire *wire)
{
	if (wire == NULL)
		return;
	ev_io_stop(wire->ev, &wire->readable);
	free(wire);
}

/* Takes the message. One that cannot be sent needs no word: prism is gone, as reading will tell. */
static void send_message(struct wire *wire, json_t *message)
{
	AUTO(free) char *text = json_dumps(message, JSON_COMPACT | JSON_ENSURE_ASCII);

	json_decref(message);
	if (send(wire->fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		log_debug("probe_send_failed", "err=\"%s\"", strerror(errno));
}

void wire_send_verdict(struct wire *wire, uint64_t id, const char *verdict, const char *reason,
                       int64_t rtt_us)
{
	send_message(wire, json_pack("{s:s, s:I, s:s, s:o, s:I}", "type", "verdict", "id",
	                             (json_int_t) id, "verdict", verdict, "reason",
	                             jsonval_text(reason), "rttUs", (json_int_t) rtt_us));
}

void wire_send_endpoints(struct wire *wire, const char *source, const struct endpoints_list *list,
                         const char *error)
{
	json_t *message = json_pack("{s:s, s:s, s:o}", "type", "endpoints", "source", source, "error",
	                            jsonval_text(list != NULL ? NULL : error));

	if (list != NULL) {
		json_t *array = json_array();
		char text[ENDPOINT_TEXT_MAX];

		for (size_t i = 0; i < list->n; i++)
			(void) json_array_append_new(array,
			                             json_string(endpoint_format(&list->items[i], text)));
		(void) json_object_set_new(message, "endpoints", array);
	}
	send_message(wire, message);
}
