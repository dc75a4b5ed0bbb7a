/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Values of the JSON lines that daemons answer with. Pure; each returns a new object, which the
 * caller owns.
 */

#include <jansson.h>
#include <stdint.h>

/* NULL becomes null. JSON is UTF-8: of a text that is not, each byte beyond ASCII becomes '?'. */
json_t *jsonval_text(const char *text);

/* A time in units of unit_us microseconds, to one decimal. */
json_t *jsonval_tenths(int64_t us, int64_t unit_us);
