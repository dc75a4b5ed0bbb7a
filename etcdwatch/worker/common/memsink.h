/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The end of a pipeline in memory: a short text, such as a program's answer. */

#include <stddef.h>

#include "etcdwatch/worker/common/sink.h"

struct memsink {
	struct sink sink;
	char *text; /* the caller's; ends with NUL once the sink is finished */
	size_t size;
	size_t len;
};

/* Borrows text, of size bytes. More than fits is -EMSGSIZE. Freeing the sink frees nothing. */
void memsink_init(struct memsink *memory, char *text, size_t size);
