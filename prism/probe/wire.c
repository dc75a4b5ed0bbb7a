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

/*
 * Reads the settings by a table: each key is looked up once, has one type, and null stands for what
 * is not wanted. Prism and its probe process come from one build and may differ only while one of
 * them is being replaced, so nothing is guessed: what does not fit is an error.
 */

struct text_key {
	const char *key;
	size_t offset;
	bool required;
};

static const struct text_key text_keys[] = {
    {"path", offsetof(struct settings, path), true},
    {"serverName", offsetof(struct settings, server_name), true},
    {"caFile", offsetof(struct settings, ca_file), false},
    {"clientCertFile", offsetof(struct settings, client_cert_file), false},
    {"clientKeyFile", offsetof(struct settings, client_key_file), false},
    {"tokenFile", offsetof(struct settings, token_file), false},
    {"kubeconfig", offsetof(struct settings, kubeconfig), false},
    {"membersSocket", offsetof(struct settings, members_socket), false},
    {"membersFile", offsetof(struct settings, members_file), false},
};

void settings_free(struct settings *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(text_keys); i++)
		free(*(char **) (void *) ((char *) s + text_keys[i].offset));
	for (size_t i = 0; i < s->n_names; i++)
		free(s->names[i].name);
	free(s->names);
	free(s);
}

static bool take_text(const json_t *message, const struct text_key *key, struct settings *s)
{
	const json_t *value = json_object_get(message, key->key);

	if (value == NULL || json_is_null(value))
		return !key->required;
	/* jansson lets no NUL into a text unless it is asked to. */
	if (!json_is_string(value) || json_string_length(value) == 0 ||
	    json_string_length(value) >= SETTINGS_TEXT_MAX)
		return false;
	*(char **) (void *) ((char *) s + key->offset) = xstrdup(json_string_value(value));
	return true;
}

static bool take_number(const json_t *object, const char *key, json_int_t max, json_int_t *ret)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_integer(value) || json_integer_value(value) < 1 || json_integer_value(value) > max)
		return false;
	*ret = json_integer_value(value);
	return true;
}

static bool take_through(const json_t *message, struct settings *s)
{
	const json_t *value = json_object_get(message, "through");

	if (value == NULL || json_is_null(value))
		return true;
	return json_is_string(value) && endpoint_parse(json_string_value(value), 0, &s->through) == 0;
}

static bool take_names(const json_t *message, struct settings *s)
{
	const json_t *names = json_object_get(message, "names");
	size_t n = json_array_size(names);

	if (names == NULL || json_is_null(names))
		return true;
	if (!json_is_array(names) || n > SETTINGS_NAMES_MAX)
		return false;
	s->names = xcalloc(n, sizeof(*s->names));
	for (size_t i = 0; i < n; i++) {
		const json_t *entry = json_array_get(names, i);
		const char *name = json_string_value(json_object_get(entry, "name"));
		json_int_t port;

		if (name == NULL || name[0] == '\0' || strlen(name) >= SETTINGS_TEXT_MAX ||
		    !take_number(entry, "port", UINT16_MAX, &port))
			return false;
		s->names[i] = (struct settings_name){xstrdup(name), (uint16_t) port};
		s->n_names++;
	}
	return true;
}

/* What is wrong; NULL: nothing. */
static const char *fill(const json_t *message, struct settings *s)
{
	const char *type = json_string_value(json_object_get(message, "type"));
	const json_t *debug = json_object_get(message, "debug");
	const json_t *checks = json_object_get(message, "checks");
	json_int_t timeout_ms, interval_ms, members_port;

	if (type == NULL || strcmp(type, "settings") != 0)
		return "type";
	if (!json_is_boolean(debug))
		return "debug";
	if (!json_is_boolean(checks))
		return "checks";
	s->debug = json_is_true(debug);
	s->checks = json_is_true(checks);
	for (size_t i = 0; i < ARRAY_SIZE(text_keys); i++) {
		if (!take_text(message, &text_keys[i], s))
			return text_keys[i].key;
	}
	if (!take_number(message, "timeoutMs", SETTINGS_MS_MAX, &timeout_ms))
		return "timeoutMs";
	if (!take_number(message, "slicesIntervalMs", SETTINGS_MS_MAX, &interval_ms))
		return "slicesIntervalMs";
	if (!take_number(message, "membersPort", UINT16_MAX, &members_port))
		return "membersPort";
	if (!take_through(message, s))
		return "through";
	if (!take_names(message, s))
		return "names";
	s->timeout_ms = (unsigned) timeout_ms;
	s->slices_interval_us = interval_ms * 1000;
	s->members_port = (uint16_t) members_port;
	return NULL;
}

int settings_parse(const json_t *message, struct settings **ret_settings, const char **ret_error)
{
	AUTO(settings_free) struct settings *s = NEW0(struct settings);
	const char *error = fill(message, s);

	if (error != NULL) {
		*ret_error = error;
		return -EBADMSG;
	}
	*ret_settings = TAKE_PTR(s);
	return 0;
}

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
