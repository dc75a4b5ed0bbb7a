/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Fields of what a daemon answered, for the renderers. Nothing is taken for granted of them: a CLI
 * and a daemon of different versions get along, so each of these has an answer for a field that is
 * missing or of another type.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NULL when it is not there, or not text. */
const char *field_text(const json_t *object, const char *key);
/* "" then. */
const char *field_string(const json_t *object, const char *key);
/* "-" then, and also when it is empty. */
const char *field_text_or_dash(const json_t *object, const char *key);

/* False also when there is no such boolean. */
bool field_is_true(const json_t *object, const char *key);
bool field_is_false(const json_t *object, const char *key);

/* 0 then. */
json_int_t field_integer(const json_t *object, const char *key);

/* "59s", "12m", "47h", "3d"; "0s" for what two clocks put into the future. */
#define FIELD_AGE_MAX 32
const char *field_age(int64_t age_us, char buf[static FIELD_AGE_MAX]);

/* To the second where one waits for it: "59s", "1m09s", "2h05m". */
const char *field_span(int64_t span_us, char buf[static FIELD_AGE_MAX]);
