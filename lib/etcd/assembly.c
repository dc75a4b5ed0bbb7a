/* SPDX-License-Identifier: Apache-2.0 */
/* A growing array of events, cut at the border between the last whole revision and the one that is
 * still coming in. Pure: no stream, no clock. */
#include "etcd/assembly.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"

void assembly_init(struct assembly *assembly, int64_t next_revision, size_t held_max_bytes)
{
	*assembly = (struct assembly){
	    .next_revision = next_revision,
	    .held_max_bytes = held_max_bytes,
	};
}

static void drop(struct assembly *assembly, size_t n)
{
	for (size_t i = 0; i < n; i++)
		pb__event__free_unpacked(assembly->events[i], NULL);
	assembly->n_events -= n;
	if (assembly->n_events > 0)
		memmove(assembly->events, assembly->events + n,
		        assembly->n_events * sizeof(*assembly->events));
}

void assembly_reset(struct assembly *assembly)
{
	drop(assembly, assembly->n_events);
	assembly->n_complete = 0;
	assembly->held_bytes = 0;
	assembly->is_partial = false;
}

void assembly_fini(struct assembly *assembly)
{
	assembly_reset(assembly);
	free(assembly->events);
	assembly->events = NULL;
}

static void push(struct assembly *assembly, Pb__Event *event)
{
	if (assembly->n_events == assembly->n_room) {
		assembly->n_room = MAX(assembly->n_room * 2, (size_t) 8);
		assembly->events =
		    xreallocarray(assembly->events, assembly->n_room, sizeof(*assembly->events));
	}
	assembly->events[assembly->n_events++] = event;
}

static size_t event_bytes(const Pb__Event *event)
{
	return sizeof(*event) + sizeof(*event->kv) + event->kv->key.len + event->kv->value.len;
}

static size_t held_bytes(const struct assembly *assembly)
{
	size_t bytes = 0;

	for (size_t i = assembly->n_complete; i < assembly->n_events; i++)
		bytes += event_bytes(assembly->events[i]);
	return bytes;
}

int64_t assembly_last_revision(const struct assembly *assembly)
{
	return assembly->events[assembly->n_events - 1]->kv->mod_revision;
}

int assembly_add(struct assembly *assembly, Pb__WatchResponse *message)
{
	assembly->is_partial = message->fragment;
	for (size_t i = 0; i < message->n_events; i++) {
		Pb__Event *event = message->events[i];

		if (event->kv == NULL)
			return -EPROTO;
		if (event->kv->mod_revision < assembly->next_revision)
			continue;
		if (assembly->n_events > 0 && event->kv->mod_revision < assembly_last_revision(assembly))
			return -EPROTO;
		push(assembly, event);
		message->events[i] = NULL;
	}
	if (assembly->n_events == 0)
		return 0;
	assembly->n_complete = assembly->n_events;
	while (message->fragment && assembly->n_complete > 0 &&
	       assembly->events[assembly->n_complete - 1]->kv->mod_revision ==
	           assembly_last_revision(assembly))
		assembly->n_complete--;
	assembly->held_bytes = held_bytes(assembly);
	if (assembly->held_bytes > assembly->held_max_bytes)
		return -E2BIG;
	if (assembly->n_complete > 0)
		assembly->next_revision = assembly->events[assembly->n_complete - 1]->kv->mod_revision + 1;
	return 0;
}

struct etcd_event *assembly_events(const struct assembly *assembly)
{
	struct etcd_event *events = xcalloc(assembly->n_complete, sizeof(*events));

	for (size_t i = 0; i < assembly->n_complete; i++) {
		const Pb__Event *from = assembly->events[i];

		events[i].type = from->type == PB__EVENT__TYPE__DELETE ? ETCD_EVENT_DELETE : ETCD_EVENT_PUT;
		events[i].kv = (struct etcd_kv){
		    .key = {from->kv->key.data, from->kv->key.len},
		    .value = {from->kv->value.data, from->kv->value.len},
		    .create_revision = from->kv->create_revision,
		    .mod_revision = from->kv->mod_revision,
		    .version = from->kv->version,
		    .lease = from->kv->lease,
		};
	}
	return events;
}

void assembly_drop_complete(struct assembly *assembly)
{
	drop(assembly, assembly->n_complete);
	assembly->n_complete = 0;
}
