/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of connections, the one that moved last first, so that the oldest silent one is at the
 * end. One timer for all: once a second each is asked whether its time has come; a timer a
 * connection would cost more than the connection.
 */
#include "prism/conns.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "prism/conn.h"
#include "prism/balance.h"

#define SWEEP_S ((double) CONN_REVIEW_US / US_PER_S)
/* How often it is looked whether clients wait for an answer, while any does. */
#define DOUBT_LOOK_US (CONN_DOUBT_US / 2)
/* Whoever spoke within this is not silent, and no room is made at its cost. */
#define EVICT_SILENT_US US_PER_S

/* When all are to go: an answer may pause for so long and is not over. Where requests follow each
 * other more closely, the shorter pause between two of them is taken when time runs out (daemon.c
 * has the limit). */
#define LEAVE_SWEEP_S 0.1
#define LEAVE_PAUSE_US US_PER_S
#define LEAVE_HASTE_US (3 * US_PER_S)
#define LEAVE_SHORT_PAUSE_US (100 * US_PER_MS)

struct conns {
	struct conn_host host;
	TAILQ_HEAD(conn_list, conn) list;
	unsigned max;
	conns_room_fn room;
	void *userdata;
	struct balance_random random;
	int64_t leaving_us; /* all are to go, since then; MONO_NEVER: are not */
	ev_timer sweep;
	ev_timer doubt; /* while clients wait for answers */
	struct log_ratelimit full_limit;
};

/* --- for a connection --- */

static struct conns *conns_of(struct conn_host *host)
{
	return CONTAINER_OF(host, struct conns, host);
}

void conn_host_moved(struct conn *conn)
{
	struct conns *conns = conns_of(conn->host);

	conn->moved_us = mono_now_us();
	if (conn->asks && !ev_is_active(&conns->doubt))
		ev_timer_again(conns->host.ev, &conns->doubt);
	if (TAILQ_FIRST(&conns->list) == conn)
		return;
	TAILQ_REMOVE(&conns->list, conn, entry);
	TAILQ_INSERT_HEAD(&conns->list, conn, entry);
}

void conn_host_gone(struct conn *conn)
{
	struct conns *conns = conns_of(conn->host);

	TAILQ_REMOVE(&conns->list, conn, entry);
	conns->host.counts.connections--;
	free(conn);
	conns->room(conns->userdata);
}

/* --- whose time has come --- */

/* How long one must be silent to go, when all are to. Not the one that is owed something. */
static int64_t leave_pause_us(const struct conn *c, int64_t leaving_us)
{
	if (conn_is_owed(c))
		return MONO_NEVER;
	return leaving_us < LEAVE_HASTE_US ? LEAVE_PAUSE_US : LEAVE_SHORT_PAUSE_US;
}

static enum drain_verdict judge(const struct conns *conns, const struct conn *c, int64_t now)
{
	const struct config *config = conns->host.config;
	struct config_drain drain = config->drain;
	struct drain_facts facts = {
	    .silent_us = now - c->moved_us,
	    .age_us = now - c->born_us,
	    .leaving_us = -1,
	    .dead = c->upstream != NULL && c->upstream->dead,
	    .half_closed = conn_is_half_closed(c),
	    .place = c->place,
	};

	if (c->upstream != NULL && c->upstream->leaving_since_us != MONO_NEVER)
		facts.leaving_us = now - c->upstream->leaving_since_us;
	if (conns->leaving_us != MONO_NEVER) {
		facts.leaving_us = now - conns->leaving_us;
		drain.idle_us = leave_pause_us(c, facts.leaving_us);
		drain.spread_us = 0;
	}
	return drain_judge(&facts, &drain, &config->limits);
}

static void count_closed(struct conns *conns, const struct conn *c, enum drain_verdict verdict)
{
	struct conns_counts *counts = &conns->host.counts;

	switch (verdict) {
	case DRAIN_KEEP:
		break;
	case DRAIN_IDLE:
		counts->closed_idle++;
		break;
	case DRAIN_HALF_CLOSED:
		counts->closed_half++;
		break;
	case DRAIN_AGED:
		counts->closed_aged++;
		break;
	case DRAIN_LEAVING:
	case DRAIN_DEADLINE:
	case DRAIN_DEAD:
		if (c->upstream != NULL)
			c->upstream->counts.drained++;
		break;
	}
}

static void sweep_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct conns *conns = CONTAINER_OF(w, struct conns, sweep);
	int64_t now = mono_now_us();
	struct conn *next;

	for (struct conn *c = TAILQ_FIRST(&conns->list); c != NULL; c = next) {
		enum drain_verdict verdict = DRAIN_KEEP;

		next = TAILQ_NEXT(c, entry);
		if (!conn_is_dialling(c))
			verdict = judge(conns, c, now);
		if (verdict == DRAIN_KEEP) {
			if (!conn_review(c, now))
				conn_end(c, CONN_END_RESET);
			continue;
		}
		count_closed(conns, c, verdict);
		conn_end(c, CONN_END_DONE);
	}
	pipes_trim(conns->host.room.pipes);
	if (TAILQ_EMPTY(&conns->list))
		ev_timer_stop(conns->host.ev, w);
}

/* Each wait is doubted once: many answers take their time. Those that moved last are the first. */
static void doubt_cb(struct ev_loop *ev, ev_timer *w, int revents UNUSED)
{
	struct conns *conns = CONTAINER_OF(w, struct conns, doubt);
	int64_t now = mono_now_us();
	bool any_waits = false;
	const struct conn *c;

	TAILQ_FOREACH (c, &conns->list, entry) {
		int64_t waits_us = now - c->moved_us;

		if (waits_us >= CONN_DOUBT_US + DOUBT_LOOK_US)
			break;
		if (c->opening != NULL || !c->asks)
			continue;
		any_waits = any_waits || waits_us < CONN_DOUBT_US;
		if (waits_us >= CONN_DOUBT_US)
			upstreams_doubt(conns->host.upstreams, c->upstream, c->moved_us);
	}
	if (!any_waits)
		ev_timer_stop(ev, w);
}

void conns_review(struct conns *conns)
{
	if (ev_is_active(&conns->sweep))
		ev_feed_event(conns->host.ev, &conns->sweep, EV_TIMER);
}

void conns_leave(struct conns *conns)
{
	conns->leaving_us = mono_now_us();
	if (!ev_is_active(&conns->sweep))
		return;
	conns->sweep.repeat = LEAVE_SWEEP_S;
	ev_timer_again(conns->host.ev, &conns->sweep);
	ev_feed_event(conns->host.ev, &conns->sweep, EV_TIMER);
}

/* --- new ones --- */

static void add(struct conns *conns, struct conn *c)
{
	TAILQ_INSERT_HEAD(&conns->list, c, entry);
	conns->host.counts.connections++;
	if (!ev_is_active(&conns->sweep)) {
		ev_timer_set(&conns->sweep, SWEEP_S, SWEEP_S);
		ev_timer_start(conns->host.ev, &conns->sweep);
	}
}

static void reset(int fd)
{
	static const struct linger at_once = {.l_onoff = 1, .l_linger = 0};

	(void) setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	(void) close(fd);
}

/* The one that may go to make room; NULL: all of them speak. */
static struct conn *oldest_silent(const struct conns *conns)
{
	struct conn *oldest = TAILQ_LAST(&conns->list, conn_list);

	return oldest != NULL && mono_now_us() - oldest->moved_us >= EVICT_SILENT_US ? oldest : NULL;
}

bool conns_have_room(const struct conns *conns)
{
	return conns->host.counts.connections < conns->max || oldest_silent(conns) != NULL;
}

static bool make_room(struct conns *conns)
{
	struct conn *oldest = oldest_silent(conns);
	unsigned suppressed;

	if (log_ratelimit_allow(&conns->full_limit, mono_now_us(), &suppressed))
		log_warning("connections_full",
		            "max=%u suppressed=%u reason=\"the oldest silent ones are closed; raise "
		            "limits.maxConnections or LimitNOFILE=\"",
		            conns->max, suppressed);
	if (oldest == NULL)
		return false;
	conns->host.counts.evicted++;
	conn_end(oldest, CONN_END_DONE);
	return true;
}

static void start(struct conns *conns, int fd, const char *first, size_t len)
{
	struct conn *c;

	if (conns->host.counts.connections >= conns->max && !make_room(conns)) {
		conns->host.counts.shed++;
		reset(fd);
		return;
	}
	c = conn_new(&conns->host, fd, first, len);
	if (c == NULL) {
		conns->host.counts.shed++;
		reset(fd);
		return;
	}
	c->place = (uint16_t) (balance_next(&conns->random) >> 48);
	add(conns, c);
}

void conns_accept(struct conns *conns, int fd)
{
	conns->host.counts.accepted++;
	start(conns, fd, NULL, 0);
}

static void drop_pipe(const struct handover_flow *flow)
{
	if (flow->pipe_read >= 0)
		(void) close(flow->pipe_read);
	if (flow->pipe_write >= 0)
		(void) close(flow->pipe_write);
}

void conns_restore(struct conns *conns, const struct handover_conn *from)
{
	struct handover_conn rest = *from;
	struct upstream *upstream = NULL;
	struct conn *c = NULL;

	if (from->server_fd < 0) {
		start(conns, from->client_fd, from->up.held, from->up.held_len);
		return;
	}
	upstream = upstreams_find(conns->host.upstreams, &from->upstream);
	if (upstream != NULL)
		c = conn_new_relaying(&conns->host, &rest, upstream);
	if (c != NULL) {
		add(conns, c);
		return;
	}
	conns->host.counts.shed++;
	drop_pipe(&rest.up);
	drop_pipe(&rest.down);
	reset(from->client_fd);
	reset(from->server_fd);
}

void conns_save(const struct conns *conns, struct handover_writer *writer)
{
	const struct conn *c;

	/* The youngest last: read in this order, the list is the same again. */
	TAILQ_FOREACH_REVERSE(c, &conns->list, conn_list, entry)
	{
		struct handover_conn described;

		conn_describe(c, &described);
		handover_write_conn(writer, &described);
	}
}

/* --- all of them --- */

struct conns *conns_new(struct ev_loop *ev, const struct config *config,
                        struct upstreams *upstreams, unsigned max, conns_room_fn room,
                        void *userdata)
{
	struct conns *conns = NEW0(struct conns);

	conns->host = (struct conn_host){
	    .ev = ev,
	    .config = config,
	    .upstreams = upstreams,
	};
	flow_room_init(&conns->host.room, pipes_new(MIN(max / 4 + 2, PIPES_MAX)));
	TAILQ_INIT(&conns->list);
	conns->max = max;
	conns->room = room;
	conns->userdata = userdata;
	conns->random.state = (uint64_t) mono_now_us() | 1;
	conns->leaving_us = MONO_NEVER;
	conns->full_limit = (struct log_ratelimit){.interval_us = 60 * US_PER_S, .burst = 1};
	ev_init(&conns->sweep, sweep_cb);
	/* What has arrived is read before anybody is found to be silent. */
	ev_set_priority(&conns->sweep, EV_MINPRI);
	ev_timer_init(&conns->doubt, doubt_cb, 0., mono_to_ev(DOUBT_LOOK_US));
	ev_set_priority(&conns->doubt, EV_MINPRI);
	return conns;
}

void conns_free(struct conns *conns)
{
	struct conn *c, *next;

	if (conns == NULL)
		return;
	for (c = TAILQ_FIRST(&conns->list); c != NULL; c = next) {
		next = TAILQ_NEXT(c, entry);
		conn_end(c, CONN_END_DONE);
	}
	ev_timer_stop(conns->host.ev, &conns->sweep);
	ev_timer_stop(conns->host.ev, &conns->doubt);
	flow_room_fini(&conns->host.room);
	free(conns);
}

struct conns_counts conns_count(const struct conns *conns)
{
	struct conns_counts counts = conns->host.counts;

	counts.pipes = pipes_count(conns->host.room.pipes);
	return counts;
}

unsigned conns_max(const struct conns *conns)
{
	return conns->max;
}
