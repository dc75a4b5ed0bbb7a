/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Driven by three things: the race for an upstream (dial.h), the readiness of two sockets, and the
 * timer of a silent upstream. Each handler moves what can be moved and then says, in watch_both(),
 * what it waits for next.
 */
#include "prism/conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fsm.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

#define FIRST_BYTES 2048 /* holds most TLS ClientHellos */

static const struct fsm_state states[] = {
    [CONN_DIALLING] = {"dialling", FSM_TO(CONN_WAITING) | FSM_TO(CONN_RELAYING)},
    [CONN_WAITING] = {"waiting", FSM_TO(CONN_DIALLING) | FSM_TO(CONN_RELAYING)},
    [CONN_RELAYING] = {"relaying", 0},
};

static void set_state(struct conn *c, enum conn_state state)
{
	struct conns_counts *counts = &c->host->counts;

	fsm_check(states, ARRAY_SIZE(states), c->state, state);
	if (c->state == CONN_DIALLING)
		counts->dialling--;
	if (state == CONN_DIALLING)
		counts->dialling++;
	c->state = (uint8_t) state;
}

/* --- the end ------------------------------------------------------------------------------------
 */

/* Closed with a reset instead of an orderly end (socket(7), SO_LINGER). */
static void close_socket(int fd, enum conn_end how)
{
	static const struct linger at_once = {.l_onoff = 1, .l_linger = 0};

	if (how == CONN_END_RESET)
		(void) setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	(void) close(fd);
}

static void leave_upstream(struct conn *c, enum conn_end how)
{
	struct conn_host *host = c->host;

	if (c->upstream == NULL)
		return;
	ev_io_stop(host->ev, &c->server);
	close_socket(c->server.fd, how);
	ev_io_set(&c->server, -1, 0);
	upstreams_release(host->upstreams, c->upstream);
	c->upstream = NULL;
}

static void end_opening(struct conn *c)
{
	struct conn_opening *o = c->opening;

	if (o == NULL)
		return;
	c->opening = NULL;
	ev_timer_stop(c->host->ev, &o->silence);
	dial_free(o->dial);
	free(o->first);
	free(o);
}

void conn_end(struct conn *c, enum conn_end how)
{
	struct conn_host *host = c->host;

	end_opening(c);
	leave_upstream(c, how);
	flow_fini(&c->up, &host->room);
	flow_fini(&c->down, &host->room);
	ev_io_stop(host->ev, &c->client);
	close_socket(c->client.fd, how);
	if (c->state == CONN_DIALLING)
		host->counts.dialling--;
	conn_host_gone(c);
}

/* --- what it waits for --------------------------------------------------------------------------
 */

static void watch(struct conn *c, ev_io *w, int events)
{
	struct ev_loop *ev = c->host->ev;

	if (ev_is_active(w) ? (w->events & (EV_READ | EV_WRITE)) == events : events == 0)
		return;
	ev_io_stop(ev, w);
	if (events == 0)
		return;
	ev_io_modify(w, events);
	ev_io_start(ev, w);
}

static void watch_both(struct conn *c)
{
	const struct conn_opening *o = c->opening;
	int client = 0, server = 0;

	switch ((enum conn_state) c->state) {
	case CONN_DIALLING:
		break;
	case CONN_WAITING:
		if (!c->up.ended && o->len < c->host->config->connect.replay_bytes)
			client = EV_READ;
		server = EV_READ | (o->sent < o->len ? EV_WRITE : 0);
		break;
	case CONN_RELAYING:
		if (!c->up.ended && !flow_is_pending(&c->up))
			client |= EV_READ;
		if (flow_is_pending(&c->up))
			server |= EV_WRITE;
		if (!c->down.ended && !flow_is_pending(&c->down))
			server |= EV_READ;
		if (flow_is_pending(&c->down))
			client |= EV_WRITE;
		break;
	}
	watch(c, &c->client, client);
	if (c->upstream != NULL)
		watch(c, &c->server, server);
}

/* --- relaying -----------------------------------------------------------------------------------
 */

/* After something moved, or a side broke (r < 0). Ends the connection, or waits for more. */
static void conclude(struct conn *c, int r, size_t up, size_t down)
{
	struct conns_counts *counts = &c->host->counts;

	counts->bytes_up += up;
	counts->bytes_down += down;
	if (r < 0) {
		conn_end(c, CONN_END_RESET);
		return;
	}
	if (c->up.shut && c->down.shut) {
		conn_end(c, CONN_END_DONE);
		return;
	}
	if (up + down > 0)
		conn_host_moved(c);
	watch_both(c);
}

/* A source in bulk has more by the time its sink takes some; else its own readiness tells. */
static void relay(struct conn *c, int client, int server)
{
	struct flow_room *room = &c->host->room;
	bool up_is_ready = (client & EV_READ) != 0 || (c->up.bulk && (server & EV_WRITE) != 0);
	bool down_is_ready = (server & EV_READ) != 0 || (c->down.bulk && (client & EV_WRITE) != 0);
	size_t up = 0, down = 0;
	int r;

	r = flow_move(&c->up, room, c->client.fd, c->server.fd, up_is_ready, &up);
	if (r == 0)
		r = flow_move(&c->down, room, c->server.fd, c->client.fd, down_is_ready, &down);
	conclude(c, r, up, down);
}

/* --- the first bytes ----------------------------------------------------------------------------
 */

/* The upstream has spoken, or can no longer be changed: what was not sent yet goes the usual way.
 */
static int begin_relaying(struct conn *c)
{
	struct conn_opening *o = c->opening;
	size_t moved = 0;
	int r = 0;

	set_state(c, CONN_RELAYING);
	if (o->sent < o->len)
		r = flow_push(&c->up, c->server.fd, o->first + o->sent, o->len - o->sent, &moved);
	c->host->counts.bytes_up += o->sent + moved;
	end_opening(c);
	return r;
}

/* The upstream was silent, or broke off without a byte: what the client said goes to another. */
static void try_another(struct conn *c, enum judge_evidence evidence, const char *reason)
{
	struct conn_opening *o = c->opening;
	struct conn_host *host = c->host;

	upstreams_tell(host->upstreams, c->upstream, evidence, reason);
	ev_timer_stop(host->ev, &o->silence);
	if (!dial_has_more(o->dial)) {
		/* A silent one may still answer. */
		if (evidence != JUDGE_SILENT)
			conn_end(c, CONN_END_RESET);
		return;
	}
	c->upstream->counts.replays++;
	leave_upstream(c, CONN_END_RESET);
	o->sent = 0;
	c->up.shut = false;
	set_state(c, CONN_DIALLING);
	watch_both(c);
	(void) dial_start(o->dial);
}

static void silence_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	try_another(w->data, JUDGE_SILENT, "it accepted a connection and stayed silent");
}

/* False: the connection has changed hands, or is over. */
static bool send_first(struct conn *c)
{
	struct conn_opening *o = c->opening;
	struct conn_host *host = c->host;
	ssize_t n;

	if (o->sent < o->len) {
		n = send(c->server.fd, o->first + o->sent, o->len - o->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno != EAGAIN && errno != EINTR) {
			try_another(c, JUDGE_CUT, strerror(errno));
			return false;
		}
		o->sent += n > 0 ? (size_t) n : 0;
		if (o->sent > 0 && !ev_is_active(&o->silence)) {
			ev_timer_set(&o->silence, mono_to_ev(host->config->connect.replay_us), 0.);
			ev_timer_start(host->ev, &o->silence);
		}
	}
	if (c->up.ended && !c->up.shut && o->sent == o->len) {
		(void) shutdown(c->server.fd, SHUT_WR);
		c->up.shut = true;
	}
	return true;
}

static bool make_room_for_first(struct conn_opening *o, size_t max)
{
	size_t size = o->size == 0 ? MIN((size_t) FIRST_BYTES, max) : max;
	char *first;

	if (o->len < o->size)
		return true;
	first = realloc(o->first, size);
	if (first == NULL)
		return false;
	o->first = first;
	o->size = size;
	return true;
}

static void read_first(struct conn *c)
{
	struct conn_opening *o = c->opening;
	size_t max = c->host->config->connect.replay_bytes;
	ssize_t n;

	if (!make_room_for_first(o, max)) {
		conn_end(c, CONN_END_RESET);
		return;
	}
	n = recv(c->client.fd, o->first + o->len, o->size - o->len, MSG_DONTWAIT);
	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		conn_end(c, CONN_END_RESET);
		return;
	}
	if (n == 0)
		c->up.ended = true;
	if (n > 0) {
		o->len += (size_t) n;
		conn_host_moved(c);
	}
	if (!send_first(c))
		return;
	/* More than can be held: whoever has it now keeps it. */
	conclude(c, o->len >= max ? begin_relaying(c) : 0, 0, 0);
}

static void read_answer(struct conn *c)
{
	struct conn_host *host = c->host;
	size_t moved = 0;
	ssize_t n;
	int r;

	n = recv(c->server.fd, host->room.buffer, FLOW_BUFFER_BYTES, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0 && c->opening->len > 0) {
		try_another(c, JUDGE_CUT,
		            n == 0 ? "it closed a connection without a byte" : strerror(errno));
		return;
	}
	if (n <= 0) {
		conn_end(c, n == 0 ? CONN_END_DONE : CONN_END_RESET);
		return;
	}
	upstreams_tell(host->upstreams, c->upstream, JUDGE_ANSWERED, NULL);
	r = begin_relaying(c);
	if (r == 0)
		r = flow_push(&c->down, c->client.fd, host->room.buffer, (size_t) n, &moved);
	conclude(c, r, 0, moved);
}

/* --- events -------------------------------------------------------------------------------------
 */

static void client_cb(struct ev_loop *ev UNUSED, ev_io *w, int revents)
{
	struct conn *c = CONTAINER_OF(w, struct conn, client);

	if (c->state == CONN_RELAYING)
		relay(c, revents, 0);
	else
		read_first(c);
}

static void server_cb(struct ev_loop *ev UNUSED, ev_io *w, int revents)
{
	struct conn *c = CONTAINER_OF(w, struct conn, server);

	if (c->state == CONN_RELAYING) {
		relay(c, 0, revents);
		return;
	}
	if ((revents & EV_WRITE) != 0 && !send_first(c))
		return;
	if ((revents & EV_READ) != 0)
		read_answer(c);
	else
		watch_both(c);
}

static bool is_without_replay(const struct conn *c)
{
	const struct config_connect *config = &c->host->config->connect;

	return config->replay_us == 0 || c->opening->len >= config->replay_bytes;
}

static void dial_cb(int fd, struct upstream *upstream, void *userdata)
{
	struct conn *c = userdata;
	struct conn_host *host = c->host;

	if (fd < 0) {
		host->counts.failed++;
		conn_end(c, CONN_END_RESET);
		return;
	}
	c->upstream = upstream;
	ev_io_set(&c->server, fd, 0);
	if (is_without_replay(c)) {
		conclude(c, begin_relaying(c), 0, 0);
		return;
	}
	set_state(c, CONN_WAITING);
	if (!c->up.ended)
		read_first(c); /* it has spoken by now, most likely */
	else if (send_first(c))
		watch_both(c);
}

/* --- beginning ----------------------------------------------------------------------------------
 */

static struct conn *new_conn(struct conn_host *host, int client_fd, int server_fd)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->host = host;
	c->born_us = mono_now_us();
	c->moved_us = c->born_us;
	ev_io_init(&c->client, client_cb, client_fd, 0);
	ev_io_init(&c->server, server_cb, server_fd, 0);
	return c;
}

struct conn *conn_new(struct conn_host *host, int fd, const char *first, size_t first_len)
{
	AUTO(free) struct conn_opening *o = calloc(1, sizeof(*o));
	AUTO(free) struct conn *c = new_conn(host, fd, -1);

	if (c == NULL || o == NULL)
		return NULL;
	if (first_len > 0) {
		o->first = malloc(first_len);
		if (o->first == NULL)
			return NULL;
		memcpy(o->first, first, first_len);
		o->len = o->size = first_len;
	}
	o->dial = dial_new(host->ev, host->upstreams, &host->config->connect, dial_cb, c);
	if (o->dial == NULL) {
		free(o->first);
		return NULL;
	}
	ev_init(&o->silence, silence_cb);
	o->silence.data = c;
	c->state = CONN_DIALLING;
	host->counts.dialling++;
	(void) dial_start(o->dial); /* the first start always starts */
	c->opening = TAKE_PTR(o);
	return TAKE_PTR(c);
}

static bool adopt_flow(struct flow *flow, struct flow_room *room, const struct handover_flow *from)
{
	flow->ended = from->ended;
	flow->shut = from->shut;
	if (from->held_len > 0) {
		flow->held = malloc(sizeof(*flow->held) + from->held_len);
		if (flow->held == NULL)
			return false;
		flow->held->offset = 0;
		flow->held->len = from->held_len;
		memcpy(flow->held->data, from->held, from->held_len);
	}
	if (from->pipe_read >= 0) {
		flow->pipe = pipes_adopt(room->pipes, from->pipe_read, from->pipe_write, from->pipe_bytes);
		return flow->pipe != NULL;
	}
	return true;
}

struct conn *conn_new_relaying(struct conn_host *host, const struct handover_conn *from,
                               struct upstream *upstream)
{
	struct conn *c = new_conn(host, from->client_fd, from->server_fd);

	if (c == NULL)
		return NULL;
	if (!adopt_flow(&c->up, &host->room, &from->up) ||
	    !adopt_flow(&c->down, &host->room, &from->down)) {
		flow_fini(&c->up, &host->room);
		flow_fini(&c->down, &host->room);
		free(c);
		return NULL;
	}
	c->upstream = upstream;
	upstreams_take(upstream);
	c->born_us = from->born_us;
	c->moved_us = from->moved_us;
	c->place = from->place;
	c->state = CONN_RELAYING;
	watch_both(c);
	return c;
}

/* --- for the others -----------------------------------------------------------------------------
 */

bool conn_is_half_closed(const struct conn *c)
{
	return c->up.ended || c->down.ended;
}

static void describe_flow(const struct flow *flow, struct handover_flow *ret)
{
	*ret = (struct handover_flow){
	    .pipe_read = -1, .pipe_write = -1, .ended = flow->ended, .shut = flow->shut};
	if (flow->pipe != NULL) {
		ret->pipe_read = flow->pipe->read_fd;
		ret->pipe_write = flow->pipe->write_fd;
		ret->pipe_bytes = flow->pipe->bytes;
	}
	if (flow->held != NULL) {
		ret->held = flow->held->data + flow->held->offset;
		ret->held_len = flow->held->len - flow->held->offset;
	}
}

void conn_describe(const struct conn *c, struct handover_conn *ret)
{
	*ret = (struct handover_conn){
	    .client_fd = c->client.fd,
	    .server_fd = -1,
	    .born_us = c->born_us,
	    .moved_us = c->moved_us,
	    .place = c->place,
	};
	describe_flow(&c->up, &ret->up);
	describe_flow(&c->down, &ret->down);
	if (c->state == CONN_RELAYING) {
		ret->server_fd = c->server.fd;
		ret->upstream = c->upstream->endpoint;
		return;
	}
	/* It has no answer yet: the process that follows says all of it again to an upstream. */
	ret->up.held = c->opening->first;
	ret->up.held_len = c->opening->len;
	ret->up.shut = false;
}
