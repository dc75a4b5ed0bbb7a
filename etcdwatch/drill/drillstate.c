/* SPDX-License-Identifier: Apache-2.0 */
/* From JSON and back. A field that is not there is as if it had never been written. */
#include "etcdwatch/drill/drillstate.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/civil.h"
#include "base/jsonval.h"
#include "base/macro.h"

#define VERSION 1

void drillstate_fini(struct drillstate *state)
{
	json_decref(state->result);
	*state = (struct drillstate){.since_s = 0};
}

void drillstate_add(struct drillstate *state, int64_t began_s, const char *id, int64_t took_ms,
                    const char *code, const char *reason, const json_t *result)
{
	json_t *copy = result != NULL ? json_deep_copy(result) : NULL;

	json_decref(state->result);
	state->result = copy;
	state->last_s = began_s;
	state->last_took_ms = took_ms;
	state->last_ok = code[0] == '\0';
	(void) snprintf(state->last_id, sizeof(state->last_id), "%s", id);
	(void) snprintf(state->code, sizeof(state->code), "%s", code);
	(void) snprintf(state->reason, sizeof(state->reason), "%s", reason);
	if (!state->last_ok) {
		state->failures++;
		return;
	}
	state->failures = 0;
	state->good_s = began_s;
	(void) snprintf(state->good_id, sizeof(state->good_id), "%s", id);
}

/* --- JSON --- */

static json_t *moment(int64_t s)
{
	char text[CIVIL_TEXT_MAX];

	return s > 0 ? json_string(civil_format(s, text)) : json_null();
}

static bool read_moment(const json_t *object, const char *key, int64_t *ret_s)
{
	const json_t *value = json_object_get(object, key);

	*ret_s = 0;
	if (value == NULL || json_is_null(value))
		return true;
	return json_is_string(value) && civil_parse(json_string_value(value), ret_s) == 0 && *ret_s > 0;
}

static bool read_text(const json_t *object, const char *key, char *text, size_t size)
{
	const json_t *value = json_object_get(object, key);

	if (value == NULL || json_is_null(value))
		return true;
	if (!json_is_string(value) || json_string_length(value) >= size ||
	    strlen(json_string_value(value)) != json_string_length(value))
		return false;
	(void) snprintf(text, size, "%s", json_string_value(value));
	return true;
}

static bool read_integer(const json_t *object, const char *key, int64_t max, int64_t *ret_value)
{
	const json_t *value = json_object_get(object, key);

	*ret_value = json_integer_value(value);
	return value == NULL || (json_is_integer(value) && *ret_value >= 0 && *ret_value <= max);
}

static bool read_all(const json_t *object, struct drillstate *s)
{
	int64_t failures = 0;
	bool good = json_integer_value(json_object_get(object, "version")) == VERSION &&
	            read_moment(object, "since", &s->since_s) &&
	            read_moment(object, "last", &s->last_s) &&
	            read_moment(object, "good", &s->good_s) &&
	            read_text(object, "last_id", s->last_id, sizeof(s->last_id)) &&
	            read_text(object, "good_id", s->good_id, sizeof(s->good_id)) &&
	            read_text(object, "code", s->code, sizeof(s->code)) &&
	            read_text(object, "reason", s->reason, sizeof(s->reason)) &&
	            read_integer(object, "last_took_ms", INT64_MAX, &s->last_took_ms) &&
	            read_integer(object, "failures", INT_MAX, &failures);

	s->last_ok = json_is_true(json_object_get(object, "last_ok"));
	s->failures = (unsigned) failures;
	return good;
}

int drillstate_parse(const char *text, size_t len, struct drillstate *ret_state)
{
	json_t *object = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	struct drillstate state = {.since_s = 0};
	json_t *result = json_object_get(object, "result");
	bool good = json_is_object(object) && read_all(object, &state) &&
	            (result == NULL || json_is_null(result) || json_is_object(result));

	if (good && json_is_object(result))
		state.result = json_incref(result);
	json_decref(object);
	if (!good)
		return -EINVAL;
	*ret_state = state;
	return 0;
}

char *drillstate_print(const struct drillstate *s)
{
	json_t *object = json_pack(
	    "{s:i, s:o, s:o, s:o, s:b, s:o, s:o, s:I, s:O*, s:I, s:o, s:o}", "version", VERSION,
	    "since", moment(s->since_s), "last", moment(s->last_s), "last_id", jsonval_text(s->last_id),
	    "last_ok", (int) s->last_ok, "code", jsonval_text(s->code), "reason",
	    jsonval_text(s->reason), "last_took_ms", (json_int_t) s->last_took_ms, "result", s->result,
	    "failures", (json_int_t) s->failures, "good", moment(s->good_s), "good_id",
	    jsonval_text(s->good_id));
	char *text = json_dumps(object, JSON_INDENT(1));

	json_decref(object);
	return text;
}
