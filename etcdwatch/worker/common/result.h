/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the worker prints for its caller: JSON objects on stdout, one a line. The last line says how
 * it ended: {"ok":true,...} or {"ok":false,"error":"CODE","reason":"a sentence"}.
 */

#include <jansson.h>

#include "etcdwatch/worker/common/problem.h"

/* Takes the object. */
void result_line(json_t *object);

/* Which step begins, {"doing":...,"name":...}: what it works on. */
void result_doing(const char *step, const char *name);

/* The last line; each returns the exit code. result_ok() takes the fields. If stdout is broken, a
 * success that nobody heard of is none. */
int result_ok(json_t *fields);
int result_fail(const struct problem *problem);
/* With more to tell; takes the fields. */
int result_fail_with(const struct problem *problem, json_t *fields);
