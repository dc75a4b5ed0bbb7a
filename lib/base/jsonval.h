/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Values of the JSON lines that daemons answer with. Pure; each returns a new object, which the
 * caller owns.
 */

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* NULL becomes null. JSON is UTF-8: of a text that is not, each byte beyond ASCII becomes '?'. */
json_t *jsonval_text(const char *text);
/* The same, and "" becomes null. */
json_t *jsonval_filled(const char *text);

/* A time in units of unit_us microseconds, to one decimal. */
json_t *jsonval_tenths(int64_t us, int64_t unit_us);

/* What stands at a row's offset. */
enum jsonval_member {
	JSONVAL_TEXT,  /* const char *; NULL or "": null */
	JSONVAL_CHARS, /* char []; "": null */
	JSONVAL_BOOL,
	JSONVAL_SIZE,
	JSONVAL_U64,
	JSONVAL_I64,
	JSONVAL_KNOWN,     /* int64_t; 0 or less: null */
	JSONVAL_MOMENT,    /* int64_t, wall clock seconds, as a date; 0 or less: null */
	JSONVAL_MOMENT_US, /* the same of microseconds */
};

/* A member of an object from one of a struct. A table ends with an empty row. */
struct jsonval_row {
	const char *key;
	enum jsonval_member member;
	size_t offset;
};

/* Adds what the rows say of `from` to the object, in their order. */
void jsonval_put(json_t *object, const struct jsonval_row *rows, const void *from);

/* "2026-01-31T03:30:00Z"; null: 0 or less. */
json_t *jsonval_moment(int64_t wall_s);
