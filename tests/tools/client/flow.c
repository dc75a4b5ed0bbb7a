/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Long streams, every byte compared. Against a server that echoes: as much as the line takes, both
 * ways at once; the connection ends when all has come back, or (client_ends_first) the client ends
 * its side right behind its last byte and must still get all of the echo. Against a server that
 * ends first (server_ends_first): the server sends its stream and its end, and the client sends
 * only then. A client that stalls sends as much as it can and reads nothing for a while, so that
 * everything between it and the server runs full.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "client.h"
#include "tests/tools/traffic/stream.h"

/* Of a client that stalls: little is to lie in the kernel. */
#define STALLED_BUFFER_BYTES 65536

struct flow {
	struct flows *flows;
	uint64_t id;
	struct link *link;
	uint64_t sent, received;
	int64_t began_us;
	struct ev_timer stall;
};

struct flows {
	struct client *client;
	struct flow *flows;
	size_t running;
	struct client_stop stop;
};

static void flow_end(struct flow *f, enum outcome outcome, const char *why)
{
	struct flows *all = f->flows;

	tally_add(&all->client->tally, outcome, f->id, mono_now_us() - f->began_us, why);
	ev_timer_stop(all->client->ev, &f->stall);
	link_free(TAKE_PTR(f->link));
	if (--all->running == 0)
		ev_break(all->client->ev, EVBREAK_ALL);
}

/* Called when all that was sent before is with the kernel. */
static void room_cb(void *userdata)
{
	static uint8_t chunk[CLIENT_CHUNK_MAX];
	struct flow *f = userdata;
	const struct client *client = f->flows->client;
	size_t len = MIN(client->bytes - f->sent, client->chunk);

	if (len > 0) {
		stream_fill(f->id, f->sent, chunk, len);
		f->sent += len;
		link_send(f->link, chunk, len);
		return;
	}
	link_want_room(f->link, false);
	if (client->client_ends_first || client->server_ends_first)
		link_send_end(f->link);
	/* The other side had ended before and will not be heard again: its own record tells whether
	 * all of it arrived. */
	if (client->server_ends_first)
		flow_end(f, OUTCOME_OK, "");
}

static void stall_cb(struct ev_loop *ev UNUSED, struct ev_timer *w, int revents UNUSED)
{
	link_want_data(CONTAINER_OF(w, struct flow, stall)->link, true);
}

static void opened_cb(void *userdata)
{
	struct flow *f = userdata;

	if (f->flows->client->stall_us > 0) {
		int bytes = STALLED_BUFFER_BYTES;

		(void) setsockopt(link_fd(f->link), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
		link_want_data(f->link, false);
		ev_timer_start(f->flows->client->ev, &f->stall);
	}
	/* One byte, because a balancer may wait for a client to speak first. */
	if (f->flows->client->server_ends_first) {
		uint8_t first;

		stream_fill(f->id, 0, &first, 1);
		link_send(f->link, &first, 1);
		f->sent = 1;
	} else {
		link_want_room(f->link, true);
	}
}

static void data_cb(const void *bytes, size_t len, void *userdata)
{
	struct flow *f = userdata;
	const struct client *client = f->flows->client;
	uint64_t seed = client->server_ends_first ? STREAM_SEED_SERVER : f->id;
	size_t right = stream_match(seed, f->received, bytes, len);
	char why[80];

	if (right < len || f->received + len > client->bytes) {
		(void) snprintf(why, sizeof(why), "byte %" PRIu64 " differs", f->received + right);
		flow_end(f, OUTCOME_WRONG, why);
		return;
	}
	f->received += len;
	if (f->received == client->bytes && !client->client_ends_first && !client->server_ends_first)
		link_send_end(f->link);
}

static void ended_cb(enum link_end end, const char *why, void *userdata)
{
	struct flow *f = userdata;
	const struct client *client = f->flows->client;
	char text[120];

	if (end == LINK_EOF && f->received == client->bytes) {
		if (client->server_ends_first)
			link_want_room(f->link, true);
		else
			flow_end(f, OUTCOME_OK, "");
		return;
	}
	(void) snprintf(text, sizeof(text), "%s after %" PRIu64 " bytes out, %" PRIu64 " in", why,
	                f->sent, f->received);
	flow_end(f, outcome_of_end(end, f->received > 0), text);
}

static const struct link_events events = {
    .opened = opened_cb,
    .data = data_cb,
    .room = room_cb,
    .ended = ended_cb,
};

static void stop_cb(void *userdata)
{
	struct flows *all = userdata;

	for (size_t i = 0; i < all->client->connections; i++)
		if (all->flows[i].link != NULL)
			flow_end(&all->flows[i], OUTCOME_STALLED, "out of time");
}

void client_flow(struct client *client)
{
	struct flows all = {.client = client, .running = client->connections};
	int64_t began_us = mono_now_us();
	uint64_t received = 0;
	double seconds;

	all.flows = xcalloc(client->connections, sizeof(*all.flows));
	client_on_stop(client, &all.stop, stop_cb, &all);
	for (size_t i = 0; i < client->connections; i++) {
		struct flow *f = &all.flows[i];

		f->flows = &all;
		f->id = i;
		f->began_us = mono_now_us();
		ev_timer_init(&f->stall, stall_cb, mono_to_ev(client->stall_us), 0.);
		f->link = link_connect(client->ev, client_target(client, i), NULL, NULL, &events, f);
	}
	ev_run(client->ev, 0);
	seconds = (double) (mono_now_us() - began_us) / (double) US_PER_S;
	for (size_t i = 0; i < client->connections; i++)
		received += all.flows[i].received;
	(void) json_object_set_new(client->summary, "received", json_integer((json_int_t) received));
	(void) json_object_set_new(client->summary, "seconds", json_real(seconds));
	free(all.flows);
}
