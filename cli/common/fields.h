/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Fields of what a daemon answered, for the renderers. Nothing is taken for granted of them: a CLI
 * and a daemon of different versions get along, so each of these has an answer for a field that is
 * missing or of another type.
 *
 * An upstream of `prism status`, as all commands judge it.
 *
 * How far a snapshot is on its way to a target: of what etcdwatch reports of one, in the words of
 * all screens. Pure.
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

/* It is this text. */
bool field_is(const json_t *object, const char *key, const char *want);

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

#define SIZE_TEXT_MAX 32

/* "1.5 GB": powers of 1000, as etcd's own tools count. Returns text. */
const char *size_text(int64_t bytes, char text[static SIZE_TEXT_MAX]);

/* Its overview, the first object, says whether upstreams are checked at all. */
bool upstream_is_checked(const json_t *overview);
/* Drained ones are not looked at by anybody. */
bool upstream_is_good(const json_t *upstream, bool is_checked);

/* What the first API server answers of those that do not tell whether they are ready; NULL: all
 * tell. Also of `vip status`, whose objects have the answer under another key. */
const char *upstream_unknown(const json_t *objects, const char *reason_key);
#define UPSTREAM_UNKNOWN_TEXT "an API server does not tell whether it is ready: "
#define UPSTREAM_UNKNOWN_TO_DO "Give the probes a certificate: fairlead init --probe-certificate"

/* "45%, 12.0 MB/s, 30s left", as far as it is known; to be freed. NULL: nothing is being sent. */
char *sent_text(const json_t *target);

/* 0 to 1; less than 0: nothing is being sent. */
double sent_part(const json_t *target);
