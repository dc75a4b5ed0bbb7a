/* SPDX-License-Identifier: Apache-2.0 */
/* What a report says may come from a file or from a peer, and must not spoil the whole line. */
#include "base/jsonval.h"

#include <math.h>
#include <stdbool.h>

#include "base/civil.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/mono.h"

json_t *jsonval_text(const char *text)
{
	AUTO(free) char *ascii = NULL;
	json_t *json;

	if (text == NULL)
		return json_null();
	json = json_string(text);
	if (json != NULL)
		return json;
	ascii = xstrdup(text);
	for (char *p = ascii; *p != '\0'; p++)
		*p = (unsigned char) *p >= 0x80 ? '?' : *p;
	return json_string(ascii);
}

json_t *jsonval_tenths(int64_t us, int64_t unit_us)
{
	return json_real(round((double) us * 10 / (double) unit_us) / 10);
}

json_t *jsonval_moment(int64_t wall_s)
{
	char text[CIVIL_TEXT_MAX];

	return wall_s > 0 ? json_string(civil_format(wall_s, text)) : json_null();
}

json_t *jsonval_filled(const char *text)
{
	return jsonval_text(text != NULL && text[0] != '\0' ? text : NULL);
}

static json_t *value_of(const struct jsonval_row *row, const void *from)
{
	const void *at = (const char *) from + row->offset;

	switch (row->member) {
	case JSONVAL_TEXT:
		return jsonval_filled(*(const char *const *) at);
	case JSONVAL_CHARS:
		return jsonval_filled(at);
	case JSONVAL_BOOL:
		return json_boolean(*(const bool *) at);
	case JSONVAL_SIZE:
		return json_integer((json_int_t) * (const size_t *) at);
	case JSONVAL_U64:
		return json_integer((json_int_t) * (const uint64_t *) at);
	case JSONVAL_I64:
		return json_integer(*(const int64_t *) at);
	case JSONVAL_KNOWN:
		return *(const int64_t *) at > 0 ? json_integer(*(const int64_t *) at) : json_null();
	case JSONVAL_MOMENT:
		return jsonval_moment(*(const int64_t *) at);
	case JSONVAL_MOMENT_US:
		return jsonval_moment(*(const int64_t *) at / US_PER_S);
	}
	return NULL;
}

void jsonval_put(json_t *object, const struct jsonval_row *rows, const void *from)
{
	for (const struct jsonval_row *row = rows; row->key != NULL; row++)
		(void) json_object_set_new(object, row->key, value_of(row, from));
}
