/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* JSON objects, one a line, as they come through a pipe. What is none is passed over. */

#include <jansson.h>

#include "base/cleanup.h"

struct lines;

/* The object is borrowed. */
typedef void (*lines_fn)(json_t *object, void *userdata);

struct lines *lines_new(lines_fn fn, void *userdata);
void lines_free(struct lines *lines);
DEFINE_AUTO(struct lines, lines_free);

/* Reads once, and calls for each line that is whole: 1, 0 at the end, or -errno. */
int lines_read(struct lines *lines, int fd);
