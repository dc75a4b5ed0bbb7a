/* SPDX-License-Identifier: Apache-2.0 */
/* All ways through a table. */
#include "netconf/model/record.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "netconf/model/model.h"

/* --- numbers --- */

uint64_t record_number(const struct record_field *field, const void *from)
{
	const void *slot = (const char *) from + field->offset;
	uint8_t u8;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;

	switch (field->size) {
	case sizeof(u8):
		memcpy(&u8, slot, sizeof(u8));
		return u8;
	case sizeof(u16):
		memcpy(&u16, slot, sizeof(u16));
		return u16;
	case sizeof(u32):
		memcpy(&u32, slot, sizeof(u32));
		return u32;
	default:
		memcpy(&u64, slot, sizeof(u64));
		return u64;
	}
}

int record_set_number(const struct record_field *field, uint64_t number, void *to)
{
	void *slot = (char *) to + field->offset;

	if (field->size < sizeof(number) && number >> (8 * field->size) != 0)
		return -EBADMSG;
	if (field->type == RECORD_BOOL)
		*(bool *) slot = number != 0;
	else if (field->size == sizeof(uint8_t))
		*(uint8_t *) slot = (uint8_t) number;
	else if (field->size == sizeof(uint16_t))
		*(uint16_t *) slot = (uint16_t) number;
	else if (field->size == sizeof(uint32_t))
		*(uint32_t *) slot = (uint32_t) number;
	else
		*(uint64_t *) slot = number;
	return 0;
}

/* --- comparing, copying --- */

int record_compare(const struct record_field *field, const void *a, const void *b)
{
	const void *one = (const char *) a + field->offset, *other = (const char *) b + field->offset;
	uint64_t n, m;

	switch (field->type) {
	case RECORD_TEXT:
		return strcmp(one, other);
	case RECORD_ADDR:
		return addr_compare(one, other);
	case RECORD_PREFIX:
		return prefix_compare(one, other);
	case RECORD_MAC:
	case RECORD_BYTES:
	case RECORD_RAW:
		return memcmp(one, other, field->size);
	case RECORD_BOOL:
	case RECORD_U8:
	case RECORD_U16:
	case RECORD_U32:
	case RECORD_U64:
	case RECORD_ENUM:
		break;
	}
	n = record_number(field, a);
	m = record_number(field, b);
	return n < m ? -1 : n > m;
}

int record_order(const struct record_field *fields, size_t n, const void *a, const void *b)
{
	int order = 0;

	for (size_t i = 0; i < n && order == 0; i++)
		order = record_compare(&fields[i], a, b);
	return order;
}

unsigned record_differs(const struct record_field *fields, size_t n, const void *a, const void *b)
{
	unsigned differs = 0;

	for (size_t i = 0; i < n; i++)
		differs |= record_compare(&fields[i], a, b) != 0 ? 1u << i : 0u;
	return differs;
}

void record_copy(const struct record_field *field, const void *from, void *to)
{
	memcpy((char *) to + field->offset, (const char *) from + field->offset, field->size);
}

/* --- writing --- */

static json_t *bytes_json(const void *data, size_t len)
{
	AUTO(free) char *text = base64_encode(data, len);

	return json_string(text);
}

static bool is_zero(const void *data, size_t len)
{
	const uint8_t *bytes = data;

	for (size_t i = 0; i < len; i++) {
		if (bytes[i] != 0)
			return false;
	}
	return true;
}

/* JSON is UTF-8, which a link's name need not be. */
static json_t *text_json(const char *text)
{
	json_t *string = json_string(text);

	return string != NULL ? string : json_pack("{s:o}", "bytes", bytes_json(text, strlen(text)));
}

/* NULL: it is zero. */
static json_t *value_of(const struct record_field *field, const void *from)
{
	const void *slot = (const char *) from + field->offset;
	const struct raw_message *raw = slot;
	char text[PREFIX_TEXT_MAX];
	uint64_t number;

	switch (field->type) {
	case RECORD_TEXT:
		return *(const char *) slot != '\0' ? text_json(slot) : NULL;
	case RECORD_MAC:
		return is_zero(slot, sizeof(struct mac)) ? NULL : json_string(mac_format(slot, text));
	case RECORD_ADDR:
		return addr_is_set(slot) ? json_string(addr_format(slot, text)) : NULL;
	case RECORD_PREFIX:
		return addr_is_set(&((const struct prefix *) slot)->addr)
		           ? json_string(prefix_format(slot, text))
		           : NULL;
	case RECORD_BYTES:
		return is_zero(slot, field->size) ? NULL : bytes_json(slot, field->size);
	case RECORD_RAW:
		return raw->len > 0 ? bytes_json(raw->data, raw->len) : NULL;
	case RECORD_BOOL:
	case RECORD_U8:
	case RECORD_U16:
	case RECORD_U32:
	case RECORD_U64:
	case RECORD_ENUM:
		break;
	}
	/* A set of bits may have its highest one set, which JSON's integers here cannot say. */
	number = record_number(field, from);
	if (number > INT64_MAX)
		return bytes_json(&number, sizeof(number));
	return number != 0 ? json_integer((json_int_t) number) : NULL;
}

void record_write_field(json_t *object, const struct record_field *field, const void *from)
{
	json_t *value = value_of(field, from);

	if (value != NULL)
		(void) json_object_set_new(object, field->key, value);
}

void record_write(json_t *object, const struct record_field *fields, const void *from)
{
	for (const struct record_field *field = fields; field->key != NULL; field++)
		record_write_field(object, field, from);
}

/* --- reading --- */

static int read_bytes(const json_t *value, size_t want, void *to)
{
	const char *text = json_string_value(value);
	AUTO(free) char *data = NULL;
	size_t len;

	if (text == NULL || base64_decode(text, &data, &len) < 0 || len != want)
		return -EBADMSG;
	memcpy(to, data, len);
	return 0;
}

static int read_raw(const json_t *value, struct raw_message *raw)
{
	const char *text = json_string_value(value);
	char *data;
	size_t len;

	if (text == NULL || base64_decode(text, &data, &len) < 0)
		return -EBADMSG;
	raw->data = data;
	raw->len = len;
	return 0;
}

static int read_text(const json_t *value, size_t size, char *to)
{
	const char *text = json_string_value(value);
	AUTO(free) char *data = NULL;
	size_t len = text != NULL ? strlen(text) : 0;

	if (text == NULL) {
		text = json_string_value(json_object_get(value, "bytes"));
		if (text == NULL || base64_decode(text, &data, &len) < 0)
			return -EBADMSG;
		text = data;
	}
	if (len >= size)
		return -EBADMSG;
	memcpy(to, text, len);
	return 0;
}

static int read_number(const struct record_field *field, const json_t *value, void *to)
{
	uint64_t number;

	if (json_is_integer(value) && json_integer_value(value) >= 0)
		return record_set_number(field, (uint64_t) json_integer_value(value), to);
	if (field->type != RECORD_U64 || read_bytes(value, sizeof(number), &number) < 0)
		return -EBADMSG;
	return record_set_number(field, number, to);
}

static int read_value(const struct record_field *field, const json_t *value, void *to)
{
	void *slot = (char *) to + field->offset;
	const char *text = json_string_value(value);

	switch (field->type) {
	case RECORD_TEXT:
		return read_text(value, field->size, slot);
	case RECORD_MAC:
		return text != NULL && mac_parse(text, slot) == 0 ? 0 : -EBADMSG;
	case RECORD_ADDR:
		return text != NULL && addr_parse(text, slot) == 0 ? 0 : -EBADMSG;
	case RECORD_PREFIX:
		return text != NULL && prefix_parse(text, slot) == 0 ? 0 : -EBADMSG;
	case RECORD_BYTES:
		return read_bytes(value, field->size, slot);
	case RECORD_RAW:
		return read_raw(value, slot);
	case RECORD_BOOL:
	case RECORD_U8:
	case RECORD_U16:
	case RECORD_U32:
	case RECORD_U64:
	case RECORD_ENUM:
		break;
	}
	return read_number(field, value, to);
}

int record_read_field(const json_t *object, const struct record_field *field, void *to)
{
	const json_t *value = json_object_get(object, field->key);

	return value != NULL ? read_value(field, value, to) : 0;
}

int record_read(const json_t *object, const struct record_field *fields, void *to)
{
	int r = json_is_object(object) ? 0 : -EBADMSG;

	for (const struct record_field *field = fields; field->key != NULL && r == 0; field++)
		r = record_read_field(object, field, to);
	return r;
}
