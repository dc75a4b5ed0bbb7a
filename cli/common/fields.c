/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads single fields of a daemon's JSON objects, and writes ages, sizes and states as people read
 * them. Pure.
 */
#include "cli/common/fields.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

const char *field_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

const char *field_string(const json_t *object, const char *key)
{
	const char *text = field_text(object, key);

	return text != NULL ? text : "";
}

const char *field_text_or_dash(const json_t *object, const char *key)
{
	const char *text = field_text(object, key);

	return text != NULL && text[0] != '\0' ? text : "-";
}

bool field_is(const json_t *object, const char *key, const char *want)
{
	const char *text = field_text(object, key);

	return text != NULL && strcmp(text, want) == 0;
}

bool field_is_true(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}

bool field_is_false(const json_t *object, const char *key)
{
	return json_is_false(json_object_get(object, key));
}

json_int_t field_integer(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

const char *field_age(int64_t age_us, char buf[static FIELD_AGE_MAX])
{
	long long s = MAX(age_us, 0) / US_PER_S;

	if (s < 60)
		(void) snprintf(buf, FIELD_AGE_MAX, "%llds", s);
	else if (s < 3600)
		(void) snprintf(buf, FIELD_AGE_MAX, "%lldm", s / 60);
	else if (s < 48 * 3600LL)
		(void) snprintf(buf, FIELD_AGE_MAX, "%lldh", s / 3600);
	else
		(void) snprintf(buf, FIELD_AGE_MAX, "%lldd", s / 86400);
	return buf;
}

const char *field_span(int64_t span_us, char buf[static FIELD_AGE_MAX])
{
	long long s = MAX(span_us, 0) / US_PER_S;

	if (s < 60)
		(void) snprintf(buf, FIELD_AGE_MAX, "%llds", s);
	else if (s < 3600)
		(void) snprintf(buf, FIELD_AGE_MAX, "%lldm%02llds", s / 60, s % 60);
	else
		(void) snprintf(buf, FIELD_AGE_MAX, "%lldh%02lldm", s / 3600, s / 60 % 60);
	return buf;
}

/* --- sizes --- */

const char *size_text(int64_t bytes, char text[static SIZE_TEXT_MAX])
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
	double size = (double) MAX(bytes, 0);
	size_t unit = 0;

	while (size >= 1000 && unit + 1 < ARRAY_SIZE(units)) {
		size /= 1000;
		unit++;
	}
	(void) snprintf(text, SIZE_TEXT_MAX, "%.*f %s", unit == 0 || size >= 10 ? 0 : 1, size,
	                units[unit]);
	return text;
}

/* --- upstreams --- */

/* Where prism may not ask /readyz, it knows no better than that a server is alive. */

bool upstream_is_checked(const json_t *overview)
{
	return !field_is_false(overview, "checks");
}

const char *upstream_unknown(const json_t *objects, const char *reason_key)
{
	const json_t *object;
	size_t i;

	json_array_foreach(objects, i, object)
	{
		if (field_is_true(object, "readiness_unknown"))
			return field_text_or_dash(object, reason_key);
	}
	return NULL;
}

bool upstream_is_good(const json_t *upstream, bool is_checked)
{
	const char *state = field_text(upstream, "state");

	if (!is_checked)
		return field_is_true(upstream, "usable");
	return state != NULL && (strcmp(state, "ready") == 0 || strcmp(state, "alive") == 0);
}

/* --- on the way to a target --- */

double sent_part(const json_t *target)
{
	int64_t of = field_integer(target, "sent_of_bytes");

	return of > 0 ? MIN((double) field_integer(target, "sent_bytes") / (double) of, 1.0) : -1.0;
}

char *sent_text(const json_t *target)
{
	int64_t of = field_integer(target, "sent_of_bytes"), sent = field_integer(target, "sent_bytes");
	int64_t rate = field_integer(target, "sent_bytes_per_s");
	int percent = (int) (100 * sent_part(target));
	char speed[SIZE_TEXT_MAX], left[FIELD_AGE_MAX];

	if (of <= 0)
		return NULL;
	if (rate <= 0 || sent >= of)
		return xasprintf("%d%%", percent);
	return xasprintf(
	    "%d%%, %s/s, %s left", percent, size_text(rate, speed),
	    field_span((int64_t) ((double) (of - sent) / (double) rate * (double) US_PER_S), left));
}
