/* SPDX-License-Identifier: Apache-2.0 */
/* Both ways through a table. */
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

static size_t width_of(const struct record_field *field)
{
	switch (field->type) {
	case RECORD_BOOL:
		return sizeof(bool);
	case RECORD_U8:
		return sizeof(uint8_t);
	case RECORD_U16:
		return sizeof(uint16_t);
	case RECORD_U32:
	case RECORD_ENUM:
		return sizeof(uint32_t);
	case RECORD_U64:
		return sizeof(uint64_t);
	case RECORD_TEXT:
	case RECORD_MAC:
	case RECORD_ADDR:
	case RECORD_PREFIX:
	case RECORD_BYTES:
	case RECORD_RAW:
		break;
	}
	return 0;
}

static uint64_t number_of(const struct record_field *field, const void *slot)
{
	uint8_t u8;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;

	switch (width_of(field)) {
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

static int set_number(const struct record_field *field, uint64_t number, void *slot)
{
	uint8_t u8 = (uint8_t) number;
	uint16_t u16 = (uint16_t) number;
	uint32_t u32 = (uint32_t) number;
	size_t width = width_of(field);

	if (width < sizeof(number) && number >> (8 * width) != 0)
		return -EBADMSG;
	if (field->type == RECORD_BOOL)
		*(bool *) slot = number != 0;
	else if (width == sizeof(u8))
		memcpy(slot, &u8, sizeof(u8));
	else if (width == sizeof(u16))
		memcpy(slot, &u16, sizeof(u16));
	else if (width == sizeof(u32))
		memcpy(slot, &u32, sizeof(u32));
	else
		memcpy(slot, &number, sizeof(number));
	return 0;
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
static json_t *value_of(const struct record_field *field, const void *slot)
{
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
	number = number_of(field, slot);
	if (number > INT64_MAX)
		return bytes_json(&number, sizeof(number));
	return number != 0 ? json_integer((json_int_t) number) : NULL;
}

void record_write(json_t *object, const struct record_field *fields, const void *from)
{
	for (const struct record_field *field = fields; field->key != NULL; field++) {
		json_t *value = value_of(field, (const char *) from + field->offset);

		if (value != NULL)
			(void) json_object_set_new(object, field->key, value);
	}
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

static int read_number(const struct record_field *field, const json_t *value, void *slot)
{
	uint64_t number;

	if (json_is_integer(value) && json_integer_value(value) >= 0)
		return set_number(field, (uint64_t) json_integer_value(value), slot);
	if (field->type != RECORD_U64 || read_bytes(value, sizeof(number), &number) < 0)
		return -EBADMSG;
	return set_number(field, number, slot);
}

static int read_value(const struct record_field *field, const json_t *value, void *slot)
{
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
	return read_number(field, value, slot);
}

int record_read(const json_t *object, const struct record_field *fields, void *to)
{
	if (!json_is_object(object))
		return -EBADMSG;
	for (const struct record_field *field = fields; field->key != NULL; field++) {
		const json_t *value = json_object_get(object, field->key);
		int r = value != NULL ? read_value(field, value, (char *) to + field->offset) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}
