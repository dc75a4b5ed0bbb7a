/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the settings by a table: each key is looked up once, has one type, and null stands for what
 * is not wanted. Prism and its probe process come from one build and may differ only while one of
 * them is being replaced, so nothing is guessed: what does not fit is an error.
 */
#include "prism/probe/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"

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
