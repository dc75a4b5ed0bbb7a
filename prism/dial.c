/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One attempt an upstream, in a row that stays as it was at the start. An attempt is spent when it
 * has failed or won; one that merely lost the race may be tried again. All of it lives for the time
 * of a handshake or two, so that an established connection pays nothing for it.
 */
#include "prism/dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mono.h"

/*
 * A peer that died without a word: while data waits to be acknowledged the connection ends after
 * TCP_USER_TIMEOUT, and when nothing is under way the probes begin after KEEP_IDLE and the next one
 * finds that timeout exceeded, which counts instead of their number (tcp_keepalive_timer() in the
 * kernel): 13 s.
 */
#define KEEP_IDLE_S 10
#define KEEP_INTERVAL_S 3

/* Ports from which the kernel takes the near end of a connection, if nobody changed it (ip(7)).
 * Only a connection to one of these can meet itself. */
#define EPHEMERAL_PORT_MIN 1024

/* Later than it asked to be called, the process itself was not running. */
#define PAUSE_US (100 * US_PER_MS)

struct attempt {
	ev_io io; /* active: under way */
	struct dial *dial;
	struct upstream *upstream;
	int64_t started_us;
	int64_t took_us; /* to connect at once, as to this machine; -1: it takes longer */
	bool spent;
};

struct dial {
	struct ev_loop *ev;
	struct upstreams *upstreams;
	const struct config_connect *config;
	dial_done_fn done;
	void *userdata;
	ev_timer hedge;  /* the next attempt */
	ev_timer budget; /* the end; or at once, when all has failed already */
	int64_t ends_us; /* when the budget does */
	int error;       /* of the last failure */
	size_t n;
	struct attempt attempts[];
};

/* --- one attempt --- */

static bool is_under_way(const struct attempt *a)
{
	return a->io.active != 0; /* ev_is_active() would cast const away */
}

/* Ends it and hands the socket over. */
static int take_socket(struct attempt *a)
{
	int fd = a->io.fd;

	ev_io_stop(a->dial->ev, &a->io);
	return fd;
}

static void abandon(struct attempt *a)
{
	(void) close(take_socket(a));
	upstreams_release(a->dial->upstreams, a->upstream);
}

static void abandon_all(struct dial *d)
{
	for (size_t i = 0; i < d->n; i++) {
		if (is_under_way(&d->attempts[i]))
			abandon(&d->attempts[i]);
	}
}

/* This machine's own, and may be over in a moment. */
static bool is_shortage(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

/* What speaks of the upstream, and not of this machine. */
static bool is_evidence(int error)
{
	return error == ECONNREFUSED || error == EHOSTUNREACH || error == ENETUNREACH ||
	       error == ETIMEDOUT || error == ECONNRESET || error == EHOSTDOWN;
}

/* Since the order was made it may have shown a wrong certificate. */
static bool may_start(const struct attempt *a)
{
	return !a->spent && !is_under_way(a) && judge_is_usable(a->upstream->judge.state);
}

static struct attempt *find_next(struct dial *d)
{
	for (size_t i = 0; i < d->n; i++) {
		if (may_start(&d->attempts[i]))
			return &d->attempts[i];
	}
	return NULL;
}

static void fail(struct attempt *a, int error)
{
	struct dial *d = a->dial;

	a->spent = true;
	d->error = error;
	if (find_next(d) != NULL)
		a->upstream->counts.retries++;
	if (is_evidence(error))
		upstreams_tell(d->upstreams, a->upstream, JUDGE_CONNECT_FAILED, strerror(error));
}

static void set_option(int fd, int level, int option, int value)
{
	(void) setsockopt(fd, level, option, &value, sizeof(value));
}

static int open_socket(const struct upstream *upstream)
{
	int fd = socket(upstream->endpoint.addr.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEP_IDLE_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEP_INTERVAL_S);
	set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, DIAL_USER_TIMEOUT_MS);
	return fd;
}

/*
 * 0: connected; -EINPROGRESS; other -errno. Within this machine the handshake is over when
 * connect(2) returns, but it was not yet when connect(2) looked, because it held the socket: asked
 * again it says so, which is cheaper than a turn of the loop.
 */
static int connect_socket(int fd, const struct upstream *upstream)
{
	struct sockaddr_storage address;
	socklen_t len = endpoint_to_sockaddr(&upstream->endpoint, &address);
	bool is_near = upstream->local || addr_is_loopback(&upstream->endpoint.addr);

	if (connect(fd, (struct sockaddr *) &address, len) == 0)
		return 0;
	if (errno != EINPROGRESS || !is_near)
		return -errno;
	if (connect(fd, (struct sockaddr *) &address, len) == 0)
		return 0;
	return errno == EALREADY ? -EINPROGRESS : -errno;
}

/* 0 or -errno. */
static int begin(struct attempt *a)
{
	struct dial *d = a->dial;
	int fd, r;

	fd = open_socket(a->upstream);
	if (fd < 0)
		return fd;
	a->started_us = mono_now_us();
	r = connect_socket(fd, a->upstream);
	if (r < 0 && r != -EINPROGRESS) {
		(void) close(fd);
		return r;
	}
	a->took_us = r == 0 ? mono_now_us() - a->started_us : -1;
	upstreams_take(d->upstreams, a->upstream);
	ev_io_set(&a->io, fd, EV_WRITE);
	ev_io_start(d->ev, &a->io);
	/* In this turn of the loop still: it is never polled. */
	if (r == 0)
		ev_feed_event(d->ev, &a->io, EV_WRITE);
	return 0;
}

/* A connection to a port that nobody listens on may meet its own opening half (RFC 9293, 3.5). */
static bool met_itself(int fd, const struct endpoint *to)
{
	struct sockaddr_storage address;
	socklen_t len = sizeof(address);
	struct endpoint near;

	return to->port >= EPHEMERAL_PORT_MIN &&
	       getsockname(fd, (struct sockaddr *) &address, &len) == 0 &&
	       endpoint_from_sockaddr((struct sockaddr *) &address, &near) == 0 &&
	       endpoint_equal(&near, to);
}

/* --- the race --- */

static bool any_under_way(const struct dial *d)
{
	for (size_t i = 0; i < d->n; i++) {
		if (is_under_way(&d->attempts[i]))
			return true;
	}
	return false;
}

static struct attempt *latest(struct dial *d)
{
	struct attempt *found = NULL;

	for (size_t i = 0; i < d->n; i++) {
		struct attempt *a = &d->attempts[i];

		if (is_under_way(a) && (found == NULL || a->started_us >= found->started_us))
			found = a;
	}
	return found;
}

static void finish(struct dial *d, int fd, struct upstream *upstream)
{
	ev_timer_stop(d->ev, &d->hedge);
	ev_timer_stop(d->ev, &d->budget);
	abandon_all(d);
	d->done(fd, upstream, d->userdata);
}

/* The budget is for all of them: with many the steps are shorter. */
static double hedge_delay(const struct dial *d)
{
	return mono_to_ev(MIN(d->config->hedge_us, d->config->budget_us / (int64_t) (d->n + 1)));
}

/* The one that has not answered for longest makes room. False: none is under way. */
static bool give_up_slowest(struct dial *d)
{
	struct attempt *slowest = NULL;

	for (size_t i = 0; i < d->n; i++) {
		struct attempt *a = &d->attempts[i];

		if (is_under_way(a) && (slowest == NULL || a->started_us < slowest->started_us))
			slowest = a;
	}
	if (slowest == NULL)
		return false;
	abandon(slowest);
	slowest->spent = true;
	return true;
}

/* Starts the next one that can be started. False: there is none, and none is under way. */
static bool go_on(struct dial *d)
{
	struct attempt *a;
	int r;

	while ((a = find_next(d)) != NULL) {
		r = begin(a);
		if (r < 0 && !is_shortage(-r)) {
			fail(a, -r);
			continue;
		}
		if (r < 0 && give_up_slowest(d))
			continue;
		/* It is under way; or there is not even one socket, and it is tried again. */
		if (r < 0)
			d->error = -r;
		d->hedge.repeat = hedge_delay(d);
		ev_timer_again(d->ev, &d->hedge);
		return true;
	}
	ev_timer_stop(d->ev, &d->hedge);
	return any_under_way(d);
}

/* What the kernel measured of the handshake. It took longer until this process noticed, and how
 * much longer says nothing about how far away the upstream is. */
static int64_t rtt_of_socket(int fd, int64_t took_us)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0 || info.tcpi_rtt == 0)
		return took_us;
	return MIN(took_us, (int64_t) info.tcpi_rtt);
}

static void attempt_cb(struct ev_loop *ev UNUSED, ev_io *w, int revents)
{
	struct attempt *a = CONTAINER_OF(w, struct attempt, io);
	struct dial *d = a->dial;
	socklen_t len = sizeof(int);
	int error = 0;
	int64_t took_us = a->took_us;
	int64_t rtt_us = took_us;
	int fd;

	/* Nobody waits for it any more, and the socket knows of no error. */
	if ((revents & EV_ERROR) != 0)
		error = ENOMEM;
	else if (took_us < 0 && getsockopt(a->io.fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (error == 0 && met_itself(a->io.fd, &a->upstream->endpoint))
		error = ECONNREFUSED;
	if (error == 0) {
		fd = take_socket(a);
		a->spent = true;
		if (took_us < 0) {
			took_us = mono_now_us() - a->started_us;
			rtt_us = rtt_of_socket(fd, took_us);
		}
		upstreams_tell_connected(d->upstreams, a->upstream, took_us, rtt_us);
		finish(d, fd, a->upstream);
		return;
	}
	abandon(a);
	fail(a, error);
	if (!go_on(d))
		finish(d, -d->error, NULL);
}

/* It is this process that was late: that says nothing of the upstream. */
static bool was_paused(const struct attempt *slow)
{
	return mono_now_us() - slow->started_us > slow->dial->config->hedge_us + PAUSE_US;
}

static void hedge_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct dial *d = CONTAINER_OF(w, struct dial, hedge);
	struct attempt *slow = latest(d);

	if (slow != NULL && !was_paused(slow))
		upstreams_tell(d->upstreams, slow->upstream, JUDGE_CONNECT_SLOW,
		               "no answer to a connection attempt");
	if (find_next(d) != NULL && slow != NULL)
		slow->upstream->counts.hedges++;
	if (!go_on(d))
		finish(d, -d->error, NULL);
}

static void start_budget(struct dial *d, int64_t us)
{
	d->ends_us = mono_now_us() + us;
	ev_timer_set(&d->budget, mono_to_ev(us), 0.);
	ev_timer_start(d->ev, &d->budget);
}

static void budget_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct dial *d = CONTAINER_OF(w, struct dial, budget);

	/* It is this process that was late: what it could not try in time gets its time now. */
	if (mono_now_us() > d->ends_us + PAUSE_US && any_under_way(d)) {
		start_budget(d, d->config->budget_us);
		return;
	}
	for (size_t i = 0; i < d->n; i++) {
		struct attempt *a = &d->attempts[i];

		if (!is_under_way(a))
			continue;
		a->spent = true;
		d->error = ETIMEDOUT;
	}
	finish(d, -d->error, NULL);
}

/* --- outside --- */

struct dial *dial_new(struct ev_loop *ev, struct upstreams *upstreams,
                      const struct config_connect *config, dial_done_fn done, void *userdata)
{
	struct upstream *order[BALANCE_MAX];
	size_t n = upstreams_order(upstreams, order);
	struct dial *d = calloc(1, sizeof(*d) + n * sizeof(d->attempts[0]));

	if (d == NULL) {
		for (size_t i = 0; i < n; i++)
			upstreams_unref(upstreams, order[i]);
		return NULL;
	}
	d->ev = ev;
	d->upstreams = upstreams;
	d->config = config;
	d->done = done;
	d->userdata = userdata;
	d->error = ENETUNREACH;
	d->n = n;
	for (size_t i = 0; i < n; i++) {
		d->attempts[i].dial = d;
		d->attempts[i].upstream = order[i];
		ev_init(&d->attempts[i].io, attempt_cb);
	}
	ev_init(&d->hedge, hedge_cb);
	ev_init(&d->budget, budget_cb);
	/* After a pause of the whole process an answer that is there counts before the time. */
	ev_set_priority(&d->hedge, EV_MINPRI);
	ev_set_priority(&d->budget, EV_MINPRI);
	return d;
}

void dial_free(struct dial *d)
{
	if (d == NULL)
		return;
	ev_timer_stop(d->ev, &d->hedge);
	ev_timer_stop(d->ev, &d->budget);
	abandon_all(d);
	for (size_t i = 0; i < d->n; i++)
		upstreams_unref(d->upstreams, d->attempts[i].upstream);
	free(d);
}

bool dial_has_more(const struct dial *d)
{
	for (size_t i = 0; i < d->n; i++) {
		if (may_start(&d->attempts[i]))
			return true;
	}
	return false;
}

bool dial_start(struct dial *d)
{
	bool goes_on;

	if (d->n > 0 && !dial_has_more(d))
		return false;
	goes_on = go_on(d);
	/* What has failed already is told from the loop, as everything is. */
	start_budget(d, goes_on ? d->config->budget_us : 0);
	return true;
}
