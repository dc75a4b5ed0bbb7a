/* SPDX-License-Identifier: Apache-2.0 */
/* Reads single fields of a daemon's JSON objects, and writes ages as people read them. Pure. */
#include "cli/common/fields.h"

#include <stdio.h>

#include "base/macro.h"
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
