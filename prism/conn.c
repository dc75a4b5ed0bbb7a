/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relaying, driven by the readiness of two sockets. Each event moves what can be moved both ways
 * and then says, in watch_both(), what is waited for next.
 */
#include "prism/conn.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/sockios.h>
#include <linux/tcp.h>

#include "base/macro.h"
#include "base/mono.h"
#include "prism/dial.h"

/* What the upstream has not answered for so long may be stuck. */
#define STUCK_US (2 * US_PER_S)
/* So many probes of a closed window unanswered, and it is not waited for any more. */
#define PROBES_MAX 3

/* --- the end --- */

/* With a reset (socket(7), SO_LINGER); but that would throw away what the kernel could not send
 * yet, and that was said before anything broke. */
static void close_socket(int fd, enum conn_end how)
{
	static const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
	int unsent = 0;

	if (how == CONN_END_RESET && ioctl(fd, SIOCOUTQ, &unsent) == 0 && unsent == 0)
		(void) setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	(void) close(fd);
}

void conn_end(struct conn *c, enum conn_end how)
{
	struct conn_host *host = c->host;

	opening_free(TAKE_PTR(c->opening));
	flow_fini(&c->up, &host->room);
	flow_fini(&c->down, &host->room);
	ev_io_stop(host->ev, &c->client);
	close_socket(c->client.fd, how);
	if (c->upstream != NULL) {
		ev_io_stop(host->ev, &c->server);
		close_socket(c->server.fd, how);
		upstreams_release(host->upstreams, c->upstream);
	}
	conn_host_gone(c);
}

/* --- relaying --- */

static int events_of(const struct flow *from_here, const struct flow *to_here)
{
	bool reads = from_here->state == FLOW_OPEN && !flow_is_pending(from_here);

	return (reads ? EV_READ : 0) | (flow_is_pending(to_here) ? EV_WRITE : 0);
}

static void watch_both(struct conn *c)
{
	watch_for(c->host->ev, &c->client, events_of(&c->up, &c->down));
	watch_for(c->host->ev, &c->server, events_of(&c->down, &c->up));
}

static bool ended_in_order(const struct flow *flow)
{
	return flow->state == FLOW_ENDING || flow->state == FLOW_ENDED;
}

/* After bytes moved. Ends the connection, or waits for more. */
static void conclude(struct conn *c, size_t up, size_t down)
{
	struct conns_counts *counts = &c->host->counts;
	bool asked = false;

	counts->bytes_up += up;
	counts->bytes_down += down;
	if (flow_is_done(&c->up) && flow_is_done(&c->down)) {
		conn_end(c, ended_in_order(&c->up) && ended_in_order(&c->down) ? CONN_END_DONE
		                                                               : CONN_END_RESET);
		return;
	}
	flow_finish(&c->up, c->server.fd);
	flow_finish(&c->down, c->client.fd);
	if (up + down > 0) {
		asked = up > 0 || c->asks;
		c->asks = down == 0;
		conn_host_moved(c);
	}
	if (down > 0)
		pulse_hear(&c->upstream->pulse, asked, c->born_us, c->moved_us);
	watch_both(c);
}

/* What became of one direction tells of the other. */
static void regard(struct conn *c, enum flow_break broke, struct flow *opposite)
{
	switch (broke) {
	case FLOW_FINE:
		break;
	case FLOW_SINK_BROKE:
		opposite->cut = true;
		break;
	case FLOW_SOURCE_BROKE:
	case FLOW_NO_MEMORY:
		flow_break(opposite, &c->host->room);
		break;
	}
}

/* A source in bulk has more by the time its sink takes some; else its own readiness tells. */
static void relay(struct conn *c, int client, int server)
{
	struct flow_room *room = &c->host->room;
	bool up_is_ready = (client & EV_READ) != 0 || (c->up.bulk && (server & EV_WRITE) != 0);
	bool down_is_ready = (server & EV_READ) != 0 || (c->down.bulk && (client & EV_WRITE) != 0);
	size_t up = 0, down = 0;

	enum flow_break broke;

	/* The kernel has no memory to watch one of the two. */
	if (((client | server) & EV_ERROR) != 0) {
		conn_end(c, CONN_END_RESET);
		return;
	}
	broke = flow_move(&c->up, room, c->client.fd, c->server.fd, up_is_ready, &up);
	regard(c, broke, &c->down);
	broke = flow_move(&c->down, room, c->server.fd, c->client.fd, down_is_ready, &down);
	regard(c, broke, &c->up);
	conclude(c, up, down);
}

static void client_cb(struct ev_loop *ev UNUSED, ev_io *w, int revents)
{
	relay(CONTAINER_OF(w, struct conn, client), revents, 0);
}

static void server_cb(struct ev_loop *ev UNUSED, ev_io *w, int revents)
{
	relay(CONTAINER_OF(w, struct conn, server), 0, revents);
}

/* --- beginning --- */

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

/* What was said meanwhile goes the usual way; that the client has ended is read once more. */
static void begin_relaying(struct conn *c, const struct opening_result *o)
{
	struct flow_room *room = &c->host->room;
	size_t up = 0, down = 0;

	c->upstream = o->upstream;
	watch_again(&c->client, c->client.fd);
	watch_again(&c->server, o->fd);
	if (o->rest_len > 0)
		regard(c, flow_push(&c->up, room, o->fd, o->rest, o->rest_len, &up), &c->down);
	if (o->answer_len > 0 && c->down.state == FLOW_OPEN)
		regard(c, flow_push(&c->down, room, c->client.fd, o->answer, o->answer_len, &down), &c->up);
	opening_free(TAKE_PTR(c->opening));
	conclude(c, o->sent + up, down);
}

static void opened_cb(const struct opening_result *result, void *userdata)
{
	struct conn *c = userdata;

	switch (result->outcome) {
	case OPENING_RELAY:
		begin_relaying(c, result);
		return;
	case OPENING_CLOSED:
		conn_end(c, CONN_END_DONE);
		return;
	case OPENING_RESET:
		conn_end(c, CONN_END_RESET);
		return;
	}
}

struct conn *conn_new(struct conn_host *host, int fd, const char *first, size_t first_len)
{
	AUTO(free) struct conn *c = new_conn(host, fd, -1);

	if (c == NULL)
		return NULL;
	c->opening = opening_new(host, fd, first, first_len, opened_cb, c);
	return c->opening != NULL ? TAKE_PTR(c) : NULL;
}

static bool adopt_flow(struct flow *flow, struct flow_room *room, struct handover_flow *from)
{
	if (from->held_len > 0 && flow_hold(flow, room, from->held, from->held_len) < 0)
		return false;
	if (from->pipe_read < 0)
		return true;
	flow->pipe = pipes_adopt(room->pipes, from->pipe_read, from->pipe_write);
	if (flow->pipe == NULL)
		return false;
	from->pipe_read = from->pipe_write = -1;
	return true;
}

struct conn *conn_new_relaying(struct conn_host *host, struct handover_conn *from,
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
	upstreams_take(host->upstreams, upstream);
	c->born_us = from->born_us;
	c->moved_us = from->moved_us;
	c->place = from->place;
	c->asks = from->asks;
	c->patient = from->patient;
	watch_both(c);
	return c;
}

/* --- patience --- */

/* There may be bytes for the upstream that it does not take: in a flow, or in the kernel. */
static bool may_be_stuck(const struct conn *c, int64_t now_us)
{
	if (c->opening != NULL || c->up.state == FLOW_BROKEN)
		return false;
	return flow_is_pending(&c->up) || (c->asks && now_us - c->moved_us >= STUCK_US);
}

/* Of a connection that the kernel does not watch: nothing is acknowledged any more. */
static bool is_gone(const struct tcp_info *info)
{
	return info->tcpi_last_ack_recv >= DIAL_USER_TIMEOUT_MS &&
	       (info->tcpi_probes >= PROBES_MAX || info->tcpi_retransmits > 0);
}

/*
 * TCP_USER_TIMEOUT is for peers that are gone. But the kernel also ends a connection whose peer
 * lives and does not read for so long, or reads too slowly to open its window wide
 * (tcp_probe_timer() and tcp_ack_probe()): an upload into something slow would be cut, while such a
 * peer is to be waited for as long as it answers (RFC 9293, 3.8.6.1). Once one was seen to be slow,
 * it is we who look whether it is there.
 */
bool conn_review(struct conn *c, int64_t now_us)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof(info);
	unsigned never = 0;

	if (c->opening != NULL)
		opening_doubt(c->opening, now_us);
	if (!may_be_stuck(c, now_us) ||
	    getsockopt(c->server.fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0)
		return true;
	if (!c->patient && info.tcpi_unacked == 0 && info.tcpi_notsent_bytes > 0)
		c->patient =
		    setsockopt(c->server.fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &never, sizeof(never)) == 0;
	return !c->patient || !is_gone(&info);
}

/* --- for the others --- */

bool conn_is_dialling(const struct conn *c)
{
	return c->opening != NULL && opening_is_dialling(c->opening);
}

bool conn_is_half_closed(const struct conn *c)
{
	if (c->opening != NULL)
		return opening_client_has_ended(c->opening);
	return c->up.state != FLOW_OPEN || c->down.state != FLOW_OPEN;
}

bool conn_is_owed(const struct conn *c)
{
	size_t said;

	if (c->opening == NULL)
		return c->asks || flow_is_pending(&c->up) || flow_is_pending(&c->down);
	(void) opening_first(c->opening, &said);
	return said > 0;
}

static void describe_flow(const struct flow *flow, struct handover_flow *ret)
{
	*ret = (struct handover_flow){
	    .pipe_read = -1,
	    .pipe_write = -1,
	};
	if (flow->pipe != NULL) {
		ret->pipe_read = flow->pipe->read_fd;
		ret->pipe_write = flow->pipe->write_fd;
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
	if (c->opening == NULL) {
		ret->asks = c->asks;
		ret->patient = c->patient;
		ret->server_fd = c->server.fd;
		ret->upstream = c->upstream->endpoint;
		return;
	}
	/* It has no answer yet: the process that follows says all of it again to an upstream, and finds
	 * for itself that the client has ended. */
	ret->up.held = opening_first(c->opening, &ret->up.held_len);
}
