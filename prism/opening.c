/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two upstreams at most are waited for at a time: the one that was tried last, and the one before
 * it that was merely silent. Evidence about an upstream is told only when the client had said
 * enough that a server must answer (hello_look()): clients are not trusted to speak of servers.
 */
#include "prism/opening.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fsm.h"
#include "base/macro.h"
#include "base/mono.h"
#include "prism/dial.h"

/*
 * The frame of a ClientHello and nothing inside it: records of type "handshake" (RFC 8446, section
 * 5.1), over one or more of which the message is spread, which begins with its type and its length
 * (section 4).
 */

#define RECORD_HEADER_BYTES 5
#define RECORD_HANDSHAKE 22
#define RECORD_MAJOR_VERSION 3
#define RECORD_MAX_BYTES 16384
#define MESSAGE_HEADER_BYTES 4
#define MESSAGE_CLIENT_HELLO 1

/* The header of the message may itself be spread over records. */
struct message {
	uint8_t header[MESSAGE_HEADER_BYTES];
	size_t len; /* bytes of it so far, header included */
};

static void take(struct message *m, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; m->len + i < MESSAGE_HEADER_BYTES && i < len; i++)
		m->header[m->len + i] = bytes[i];
	m->len += len;
}

static enum hello judge(const struct message *m)
{
	size_t body;

	if (m->len > 0 && m->header[0] != MESSAGE_CLIENT_HELLO)
		return HELLO_FOREIGN;
	if (m->len < MESSAGE_HEADER_BYTES)
		return HELLO_PART;
	body = (size_t) m->header[1] << 16 | (size_t) m->header[2] << 8 | m->header[3];
	return m->len >= MESSAGE_HEADER_BYTES + body ? HELLO_WHOLE : HELLO_PART;
}

enum hello hello_look(const char *first, size_t len)
{
	const uint8_t *at = (const uint8_t *) first, *end = at + len;
	struct message message = {.len = 0};
	enum hello hello = HELLO_PART;

	while (at < end && hello == HELLO_PART) {
		size_t size;

		if (at[0] != RECORD_HANDSHAKE || (end - at > 1 && at[1] != RECORD_MAJOR_VERSION))
			return HELLO_FOREIGN;
		if (end - at < RECORD_HEADER_BYTES)
			return HELLO_PART;
		size = (size_t) at[3] << 8 | at[4];
		if (size == 0 || size > RECORD_MAX_BYTES)
			return HELLO_FOREIGN;
		at += RECORD_HEADER_BYTES;
		take(&message, at, MIN(size, (size_t) (end - at)));
		at += MIN(size, (size_t) (end - at));
		hello = judge(&message);
	}
	return hello;
}

#define FIRST_BYTES 2048 /* holds most TLS ClientHellos */

/* With so much held by all connections together, who says more than FIRST_BYTES has the upstream
 * that it has. */
#define HELD_FOR_REPLAY_BYTES (64 * 1024 * 1024)

/* Later than it asked to be called, the process itself was not running. */
#define PAUSE_US (100 * US_PER_MS)

enum opening_state {
	OPENING_DIALLING,
	OPENING_WAITING,
};

static const struct fsm_state states[] = {
    [OPENING_DIALLING] = {"dialling", FSM_TO(OPENING_WAITING)},
    [OPENING_WAITING] = {"waiting", FSM_TO(OPENING_DIALLING)},
};

/* To an upstream whose answer is waited for. */
struct line {
	ev_io io;
	struct upstream *upstream; /* NULL: there is no such line */
	size_t sent;               /* of first */
	bool shut;                 /* it was told that the client has ended */
	bool timed;                /* its silence was, or is being measured */
};

struct opening {
	struct conn_host *host;
	opening_done_fn done;
	void *userdata;
	struct dial *dial;
	ev_io client;
	ev_timer silence;
	int64_t silent_at_us; /* when that is to run out */
	struct line now;      /* connected last; none while dialling */
	struct line before;   /* silent, and there was another to try */
	size_t len;           /* of first */
	size_t size;          /* bytes that first has */
	char *first;          /* what the client said, or NULL */
	enum opening_state state;
	bool client_ended;
};

static void set_state(struct opening *o, enum opening_state state)
{
	struct conns_counts *counts = &o->host->counts;

	fsm_check(states, ARRAY_SIZE(states), o->state, state);
	if (state == OPENING_DIALLING)
		counts->dialling++;
	else
		counts->dialling--;
	o->state = state;
}

/* --- lines --- */

static void watch_all(struct opening *o)
{
	bool reads = o->state == OPENING_WAITING && !o->client_ended;

	watch_for(o->host->ev, &o->client, reads ? EV_READ : 0);
	if (o->now.upstream != NULL)
		watch_for(o->host->ev, &o->now.io, EV_READ | (o->now.sent < o->len ? EV_WRITE : 0));
	if (o->before.upstream != NULL)
		watch_for(o->host->ev, &o->before.io, EV_READ | (o->before.sent < o->len ? EV_WRITE : 0));
}

static void set_line(struct line *line, int fd, struct upstream *upstream)
{
	ev_io_set(&line->io, fd, 0);
	line->upstream = upstream;
	line->sent = 0;
	line->shut = false;
	line->timed = false;
}

static void close_line(struct opening *o, struct line *line)
{
	static const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
	struct upstream *upstream = line->upstream;

	if (upstream == NULL)
		return;
	ev_io_stop(o->host->ev, &line->io);
	(void) setsockopt(line->io.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	(void) close(line->io.fd);
	set_line(line, -1, NULL);
	upstreams_release(o->host->upstreams, upstream);
}

static void move_line(struct opening *o, struct line *to, struct line *from)
{
	ev_io_stop(o->host->ev, &from->io);
	set_line(to, from->io.fd, from->upstream);
	to->sent = from->sent;
	to->shut = from->shut;
	to->timed = from->timed;
	set_line(from, -1, NULL);
}

/* --- the end --- */

static void end(struct opening *o, enum opening_outcome outcome)
{
	const struct opening_result result = {.outcome = outcome, .fd = -1};

	o->done(&result, o->userdata);
}

static void hand_over(struct opening *o, struct line *line, const char *answer, size_t answer_len)
{
	const struct opening_result result = {
	    .outcome = OPENING_RELAY,
	    .fd = line->io.fd,
	    .upstream = line->upstream,
	    .sent = line->sent,
	    .rest = line->sent < o->len ? o->first + line->sent : NULL,
	    .rest_len = o->len - line->sent,
	    .answer = answer,
	    .answer_len = answer_len,
	};

	/* Who goes on from here relies on it: each of the two was watched here (watch_again()). */
	watch_for(o->host->ev, &o->client, EV_READ);
	watch_for(o->host->ev, &line->io, EV_READ);
	ev_io_stop(o->host->ev, &o->client);
	ev_io_stop(o->host->ev, &line->io);
	set_line(line, -1, NULL);
	o->done(&result, o->userdata);
}

/* --- to another --- */

static void tell(struct opening *o, const struct line *line, enum judge_evidence evidence,
                 const char *reason)
{
	if (!o->client_ended && hello_look(o->first, o->len) == HELLO_WHOLE)
		upstreams_tell(o->host->upstreams, line->upstream, evidence, reason);
}

static void dial_another(struct opening *o)
{
	set_state(o, OPENING_DIALLING);
	watch_all(o);
	(void) dial_start(o->dial);
}

static void start_silence(struct opening *o)
{
	int64_t replay_us = o->host->config->connect.replay_us;

	o->silent_at_us = mono_now_us() + replay_us;
	ev_timer_set(&o->silence, mono_to_ev(replay_us), 0.);
	ev_timer_start(o->host->ev, &o->silence);
}

static void silence_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct opening *o = CONTAINER_OF(w, struct opening, silence);

	/* It is this process that was late: the upstream has the time again. */
	if (mono_now_us() > o->silent_at_us + PAUSE_US) {
		start_silence(o);
		return;
	}
	tell(o, &o->now, JUDGE_SILENT, "it accepted a connection and stayed silent");
	if (!dial_has_more(o->dial))
		return;
	o->now.upstream->counts.replays++;
	/* The one that has waited longest is as likely to answer as any. */
	if (o->before.upstream == NULL)
		move_line(o, &o->before, &o->now);
	else
		close_line(o, &o->now);
	dial_another(o);
}

/* None is left but, maybe, the silent one. False: nor that. */
static bool go_back(struct opening *o)
{
	if (o->before.upstream == NULL)
		return false;
	move_line(o, &o->now, &o->before);
	if (o->state == OPENING_DIALLING)
		set_state(o, OPENING_WAITING);
	watch_all(o);
	return true;
}

/* The upstream has gone without a byte. error 0: in order. */
static void on_cut(struct opening *o, struct line *line, int error)
{
	enum opening_outcome otherwise = error == 0 ? OPENING_CLOSED : OPENING_RESET;

	/* Who says nothing and ends is owed nothing but an end. */
	if (o->client_ended && o->len == 0) {
		end(o, otherwise);
		return;
	}
	tell(o, line, JUDGE_CUT,
	     error == 0 ? "it closed a connection without a byte" : strerror(error));
	if (line == &o->before) {
		close_line(o, line);
		return;
	}
	ev_timer_stop(o->host->ev, &o->silence);
	if (dial_has_more(o->dial)) {
		line->upstream->counts.replays++;
		close_line(o, line);
		dial_another(o);
		return;
	}
	close_line(o, line);
	if (!go_back(o))
		end(o, otherwise);
}

/* --- the first bytes --- */

/* A server is silent when it has all of what it must answer. What is no TLS is not understood here:
 * then any byte may be all. */
static void time_silence(struct opening *o)
{
	struct line *line = &o->now;

	if (line->timed || o->len == 0 || line->sent < o->len ||
	    hello_look(o->first, o->len) == HELLO_PART)
		return;
	line->timed = true;
	start_silence(o);
}

/* 0, or -errno: the upstream has gone. */
static int send_first(struct opening *o, struct line *line)
{
	ssize_t n;

	if (line->sent < o->len) {
		n = send(line->io.fd, o->first + line->sent, o->len - line->sent,
		         MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		line->sent += n > 0 ? (size_t) n : 0;
	}
	if (o->client_ended && !line->shut && line->sent == o->len) {
		(void) shutdown(line->io.fd, SHUT_WR);
		line->shut = true;
	}
	return 0;
}

/* The last thing that a handler does, as any of it may be the end. */
static void send_to_all(struct opening *o)
{
	int r;

	if (o->before.upstream != NULL && send_first(o, &o->before) < 0)
		close_line(o, &o->before);
	r = send_first(o, &o->now);
	if (r < 0) {
		on_cut(o, &o->now, -r);
		return;
	}
	/* More than can be held: whoever has it now keeps it. */
	if (o->len >= o->host->config->connect.replay_bytes) {
		hand_over(o, &o->now, NULL, 0);
		return;
	}
	time_silence(o);
	watch_all(o);
}

/* False: no more is held. */
static bool make_room(struct opening *o, size_t max)
{
	struct flow_room *room = &o->host->room;
	size_t size = o->size == 0 ? MIN((size_t) FIRST_BYTES, max) : max;
	char *first;

	if (o->len < o->size)
		return true;
	if (o->size > 0 && room->held >= HELD_FOR_REPLAY_BYTES)
		return false;
	first = realloc(o->first, size);
	if (first == NULL)
		return false;
	room->held += size - o->size;
	o->first = first;
	o->size = size;
	return true;
}

static void read_first(struct opening *o)
{
	ssize_t n;

	if (!make_room(o, o->host->config->connect.replay_bytes)) {
		hand_over(o, &o->now, NULL, 0);
		return;
	}
	n = recv(o->client.fd, o->first + o->len, o->size - o->len, MSG_DONTWAIT);
	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		end(o, OPENING_RESET);
		return;
	}
	o->len += n > 0 ? (size_t) n : 0;
	o->client_ended = n == 0;
	send_to_all(o);
}

static void read_answer(struct opening *o, struct line *line)
{
	struct conn_host *host = o->host;
	ssize_t n;

	n = recv(line->io.fd, host->room.buffer, FLOW_BUFFER_BYTES, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		on_cut(o, line, n < 0 ? errno : 0);
		return;
	}
	upstreams_tell(host->upstreams, line->upstream, JUDGE_ANSWERED, NULL);
	hand_over(o, line, host->room.buffer, (size_t) n);
}

/* --- events --- */

static void client_cb(struct ev_loop *ev UNUSED, ev_io *w, int revents)
{
	struct opening *o = CONTAINER_OF(w, struct opening, client);

	if ((revents & EV_ERROR) != 0)
		end(o, OPENING_RESET);
	else
		read_first(o);
}

static void line_cb(struct ev_loop *ev UNUSED, ev_io *w, int revents)
{
	struct opening *o = w->data;
	struct line *line = CONTAINER_OF(w, struct line, io);
	int r;

	if ((revents & EV_ERROR) != 0) {
		end(o, OPENING_RESET);
		return;
	}
	/* First what it says: one that answers and breaks has answered. */
	if ((revents & EV_READ) != 0) {
		read_answer(o, line);
		return;
	}
	r = send_first(o, line);
	if (r < 0) {
		on_cut(o, line, -r);
		return;
	}
	if (line == &o->now)
		time_silence(o);
	watch_all(o);
}

static void dial_cb(int fd, struct upstream *upstream, void *userdata)
{
	struct opening *o = userdata;
	const struct config_connect *config = &o->host->config->connect;

	if (fd < 0) {
		if (go_back(o))
			return;
		o->host->counts.failed++;
		end(o, OPENING_RESET);
		return;
	}
	set_line(&o->now, fd, upstream);
	set_state(o, OPENING_WAITING);
	if (config->replay_us == 0 || o->len >= config->replay_bytes)
		hand_over(o, &o->now, NULL, 0);
	else if (o->client_ended)
		send_to_all(o);
	else
		read_first(o); /* it has spoken by now, most likely */
}

/* --- beginning --- */

struct opening *opening_new(struct conn_host *host, int client_fd, const char *first, size_t len,
                            opening_done_fn done, void *userdata)
{
	AUTO(opening_free) struct opening *o = calloc(1, sizeof(*o));

	if (o == NULL)
		return NULL;
	o->host = host;
	o->done = done;
	o->userdata = userdata;
	o->state = OPENING_DIALLING;
	host->counts.dialling++;
	ev_io_init(&o->client, client_cb, client_fd, 0);
	ev_init(&o->now.io, line_cb);
	ev_init(&o->before.io, line_cb);
	o->now.io.data = o;
	o->before.io.data = o;
	ev_init(&o->silence, silence_cb);
	/* After a pause of the whole process an answer that is there counts before the time. */
	ev_set_priority(&o->silence, EV_MINPRI);
	if (len > 0) {
		o->first = malloc(len);
		if (o->first == NULL)
			return NULL;
		memcpy(o->first, first, len);
		o->len = o->size = len;
		host->room.held += len;
	}
	o->dial = dial_new(host->ev, host->upstreams, &host->config->connect, dial_cb, o);
	if (o->dial == NULL)
		return NULL;
	(void) dial_start(o->dial); /* the first start always starts */
	return TAKE_PTR(o);
}

void opening_free(struct opening *o)
{
	if (o == NULL)
		return;
	if (o->state == OPENING_DIALLING)
		o->host->counts.dialling--;
	ev_timer_stop(o->host->ev, &o->silence);
	ev_io_stop(o->host->ev, &o->client);
	close_line(o, &o->now);
	close_line(o, &o->before);
	dial_free(o->dial);
	o->host->room.held -= o->size;
	free(o->first);
	free(o);
}

/* --- for the others --- */

void opening_doubt(struct opening *o, int64_t now_us)
{
	int64_t since_us = o->silent_at_us - o->host->config->connect.replay_us;

	if (ev_is_active(&o->silence) && o->now.upstream != NULL && now_us - since_us >= CONN_DOUBT_US)
		upstreams_doubt(o->host->upstreams, o->now.upstream, since_us);
}

bool opening_is_dialling(const struct opening *o)
{
	return o->state == OPENING_DIALLING;
}

bool opening_client_has_ended(const struct opening *o)
{
	return o->client_ended;
}

const char *opening_first(const struct opening *o, size_t *ret_len)
{
	*ret_len = o->len;
	return o->first;
}
