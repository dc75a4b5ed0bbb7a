/* SPDX-License-Identifier: Apache-2.0 */
/* What the scripted etcd says on a watch; see server.h. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcd/call.h"
#include "server_inside.h"

static void send_at(struct server *server, Pb__WatchResponse *response, int64_t revision)
{
	Pb__ResponseHeader header = server_header(server);

	header.revision = revision != 0 ? revision : header.revision;
	if (server_stream(server) == NULL)
		return;
	response->header = &header;
	incoming_send(server_stream(server), call_pack(&response->base));
}

void server_send(struct server *server, Pb__WatchResponse *response)
{
	send_at(server, response, 0);
}

void server_send_events(struct server *server, const char *text, bool fragment)
{
	Pb__WatchResponse response;
	AUTO(free) char *copy = xstrdup(text);
	Pb__Event events[16];
	Pb__KeyValue kvs[16];
	Pb__Event *list[16];
	char *save = NULL;
	size_t n = 0;

	pb__watch_response__init(&response);
	for (char *word = strtok_r(copy, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save)) {
		char *key = strchr(word, ':') + 1;
		char *value = strchr(key, '=');

		pb__event__init(&events[n]);
		pb__key_value__init(&kvs[n]);
		events[n].type = word[0] == 'D' ? PB__EVENT__TYPE__DELETE : PB__EVENT__TYPE__PUT;
		events[n].kv = &kvs[n];
		kvs[n].mod_revision = atoll(word + 1);
		if (value != NULL) {
			char *lease = strchr(value, '@');

			*value = '\0';
			if (lease != NULL) {
				*lease = '\0';
				kvs[n].lease = atoll(lease + 1);
			}
			kvs[n].value.data = (uint8_t *) value + 1;
			kvs[n].value.len = strlen(value + 1);
		}
		kvs[n].key.data = (uint8_t *) key;
		kvs[n].key.len = strlen(key);
		list[n] = &events[n];
		n++;
	}
	response.events = list;
	response.n_events = n;
	response.fragment = fragment;
	server_send(server, &response);
}

void server_watch_request(struct server *server, struct incoming_call *call,
                          const Pb__WatchRequest *request)
{
	struct server_watch *watch = server_watch(server);
	Pb__WatchResponse response;

	pb__watch_response__init(&response);
	if (request->request_case == PB__WATCH_REQUEST__REQUEST_CREATE) {
		watch->n_creates++;
		watch->start_revision = request->create->start_revision;
		watch->fragment = request->create->fragment;
		watch->created_us = mono_now_us();
		response.created = true;
		if (!incoming_is_authorized(call)) {
			/* As 3.4 says it. */
			response.canceled = true;
			response.cancel_reason =
			    (char *) (uintptr_t) "rpc error: code = PermissionDenied desc = "
			                         "etcdserver: permission denied";
		}
		if (!watch->mute_create)
			server_send(server, &response);
		if (watch->end_at_once)
			server_end_stream(server, GRPC_STATUS_UNAVAILABLE, "gone");
		return;
	}
	watch->n_progress++;
	response.watch_id = -1;
	if (!watch->mute_progress)
		send_at(server, &response, watch->progress_revision);
}
