/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Structs as JSON objects and back, by tables: one table serves both ways, so that what is written
 * is what is read. A member that is zero is not written, and one that is not there is zero. The same
 * tables compare and copy. Pure.
 */

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

enum record_type {
	RECORD_BOOL,
	RECORD_U8,
	RECORD_U16,
	RECORD_U32,
	RECORD_U64,
	RECORD_ENUM, /* int or unsigned, never negative; also an enum of ours */
	RECORD_TEXT, /* char[size], with its zero */
	RECORD_MAC,
	RECORD_ADDR,
	RECORD_PREFIX,
	RECORD_BYTES, /* uint8_t[size] */
	RECORD_RAW,   /* struct raw_message */
};

struct record_field {
	const char *key;
	enum record_type type;
	size_t offset;
	size_t size; /* RECORD_TEXT, RECORD_BYTES */
};

#define RECORD_FIELD(name, kind, type, member)                           \
	{                                                                    \
		name, kind, offsetof(type, member), sizeof(((type *) 0)->member) \
	}

/* Adds the members of the table to the object. The table ends with a NULL key. */
void record_write(json_t *object, const struct record_field *fields, const void *from);

/* Into a struct that is zero. 0, or -EBADMSG: a value is not one of its kind; what was read so far
 * may own memory. */
int record_read(const json_t *object, const struct record_field *fields, void *to);
/* A single one. */
void record_write_field(json_t *object, const struct record_field *field, const void *from);
int record_read_field(const json_t *object, const struct record_field *field, void *to);

/* An order of two values; 0: they are equal. Not RECORD_RAW. */
int record_compare(const struct record_field *field, const void *a, const void *b);
/* Of the first n rows: the first order that is not 0; bits 1 << row of those that differ. */
int record_order(const struct record_field *fields, size_t n, const void *a, const void *b);
unsigned record_differs(const struct record_field *fields, size_t n, const void *a, const void *b);
void record_copy(const struct record_field *field, const void *from, void *to);
/* RECORD_BOOL to RECORD_ENUM. -EBADMSG: it is too large. */
uint64_t record_number(const struct record_field *field, const void *from);
int record_set_number(const struct record_field *field, uint64_t number, void *to);
