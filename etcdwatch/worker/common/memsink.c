/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes behind each other, and a NUL at the end. */
#include "etcdwatch/worker/common/memsink.h"

#include <errno.h>
#include <string.h>

#include "base/macro.h"

static int memory_write(struct sink *sink, const void *data, size_t len)
{
	struct memsink *memory = CONTAINER_OF(sink, struct memsink, sink);

	if (len >= memory->size - memory->len)
		return -EMSGSIZE;
	memcpy(memory->text + memory->len, data, len);
	memory->len += len;
	return 0;
}

static int memory_finish(struct sink *sink)
{
	struct memsink *memory = CONTAINER_OF(sink, struct memsink, sink);

	memory->text[memory->len] = '\0';
	return 0;
}

static void memory_free(struct sink *sink UNUSED)
{
}

void memsink_init(struct memsink *memory, char *text, size_t size)
{
	*memory = (struct memsink){
	    .sink = {memory_write, memory_finish, memory_free}, .text = text, .size = size};
}
