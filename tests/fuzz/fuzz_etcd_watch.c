/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for what a watch brings: messages, each behind a byte that says how long
 * it is. Whatever they are, what is handed out comes in the order of revisions, each of them once
 * and whole, and nothing that is older than what was asked for.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "etcd/assembly.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FIRST_REVISION 5

/* *revision is the last that was handed out: no event of it may come again. All bytes of those that
 * come are read. */
static void hand_out(struct assembly *assembly, int64_t *revision)
{
	AUTO(free) struct etcd_event *events = assembly_events(assembly);
	int64_t last = *revision;

	for (size_t i = 0; i < assembly->n_complete; i++) {
		int64_t r = events[i].kv.mod_revision;

		free(xmemdup(events[i].kv.key.data, events[i].kv.key.len));
		free(xmemdup(events[i].kv.value.data, events[i].kv.value.len));

		if (r < FIRST_REVISION || r <= *revision || r < last)
			abort();
		last = r;
	}
	*revision = last;
	assembly_drop_complete(assembly);
	if (assembly->next_revision <= last)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct assembly assembly;
	int64_t revision = 0;
	size_t len;

	assembly_init(&assembly, FIRST_REVISION, 64u << 20);
	for (; size > 0; data += 1 + len, size -= 1 + len) {
		Pb__WatchResponse *message;
		int r;

		len = MIN((size_t) data[0], size - 1);
		message = pb__watch_response__unpack(NULL, len, data + 1);
		if (message == NULL) {
			assembly_reset(&assembly); /* the stream is begun anew */
			continue;
		}
		r = assembly_add(&assembly, message);
		pb__watch_response__free_unpacked(message, NULL);
		if (r < 0)
			break;
		hand_out(&assembly, &revision);
	}
	assembly_fini(&assembly);
	return 0;
}
