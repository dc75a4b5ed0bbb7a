/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The end of a run: by a signal, or because the time is up, whichever comes first.
 */

#include "client.h"

#include <signal.h>

#include "base/macro.h"
#include "base/mono.h"

const struct endpoint *client_target(const struct client *client, uint64_t id)
{
	return &client->to[id % client->n_to];
}

void client_unstop(struct client *client, struct client_stop *stop)
{
	ev_signal_stop(client->ev, &stop->term);
	ev_signal_stop(client->ev, &stop->interrupt);
	ev_timer_stop(client->ev, &stop->timer);
}

static void stop_now(struct ev_loop *ev, struct client_stop *stop)
{
	ev_signal_stop(ev, &stop->term);
	ev_signal_stop(ev, &stop->interrupt);
	ev_timer_stop(ev, &stop->timer);
	stop->fn(stop->userdata);
}

static void term_cb(struct ev_loop *ev, struct ev_signal *w, int revents UNUSED)
{
	stop_now(ev, CONTAINER_OF(w, struct client_stop, term));
}

static void interrupt_cb(struct ev_loop *ev, struct ev_signal *w, int revents UNUSED)
{
	stop_now(ev, CONTAINER_OF(w, struct client_stop, interrupt));
}

static void timer_cb(struct ev_loop *ev, struct ev_timer *w, int revents UNUSED)
{
	stop_now(ev, CONTAINER_OF(w, struct client_stop, timer));
}

void client_on_stop(struct client *client, struct client_stop *stop, void (*fn)(void *userdata),
                    void *userdata)
{
	stop->fn = fn;
	stop->userdata = userdata;
	ev_signal_init(&stop->term, term_cb, SIGTERM);
	ev_signal_init(&stop->interrupt, interrupt_cb, SIGINT);
	ev_timer_init(&stop->timer, timer_cb, mono_to_ev(client->duration_us), 0.);
	ev_signal_start(client->ev, &stop->term);
	ev_signal_start(client->ev, &stop->interrupt);
	if (client->duration_us > 0)
		ev_timer_start(client->ev, &stop->timer);
}
