/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns everything that lives as long as the process, and carries news from one to another: sources
 * to upstreams, verdicts to upstreams, accepted sockets to connections.
 */
#include "prism/daemon.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "prism/checker.h"
#include "prism/conns.h"
#include "prism/listener.h"
#include "prism/flow.h"
#include "prism/reload.h"
#include "prism/sources.h"

/* Descriptors that are not for connections: listeners, control clients, the probe process, files.
 */
#define RESERVED_FDS 48
/* Of a descriptor budget: two sockets a connection, and for one in four a pipe, as long as there
 * may be so many pipes (conns.c). */
#define FDS_PER_2_CONNECTIONS 5
#define FDS_FOR_PIPES (2 * PIPES_MAX)

/* After SIGTERM what still speaks is cut off. */
#define STOP_LIMIT_S 5.0

enum daemon_phase {
	DAEMON_RUNNING,
	DAEMON_CHECKING,       /* what would follow is being tried */
	DAEMON_CHECKING_AGAIN, /* the same, and then once more: it was changed meanwhile */
	DAEMON_LEAVING,        /* the loop ends for daemon_exec() */
	DAEMON_STOPPING,       /* connections end, then the process */
};

struct daemon {
	struct service *service;
	struct loop *loop; /* the service's */
	struct config *config;
	enum daemon_phase phase;
	struct listeners *listeners;
	struct upstreams *upstreams;
	struct conns *conns;
	struct sources *sources;
	struct checker *checker;
	struct reload_check *check;
	ev_timer stop_limit;

	struct report_listener report_listeners[CONFIG_LISTEN_MAX];
	struct report_source report_sources[ENDPOINTS_N_SOURCES];
	struct upstream *report_upstreams[BALANCE_MAX];
};

/* --- news --- */

static bool has_room_cb(void *userdata)
{
	const struct daemon *d = userdata;

	return conns_have_room(d->conns);
}

static void accepted_cb(int fd, void *userdata)
{
	struct daemon *d = userdata;

	conns_accept(d->conns, fd);
}

static const struct listeners_callbacks listeners_callbacks = {
    .has_room = has_room_cb,
    .accepted = accepted_cb,
};

static void room_cb(void *userdata)
{
	struct daemon *d = userdata;

	if (d->phase != DAEMON_STOPPING)
		listeners_resume(d->listeners);
	else if (conns_count(d->conns).connections == 0)
		loop_stop(d->loop, EXIT_SUCCESS);
}

static void review_listening(struct daemon *d)
{
	bool refuse = d->config->when_down == CONFIG_WHEN_DOWN_REFUSE;

	if (d->phase != DAEMON_STOPPING)
		listeners_refuse(d->listeners, refuse && !upstreams_are_usable(d->upstreams));
}

static void usable_cb(bool usable, void *userdata)
{
	struct daemon *d = userdata;

	review_listening(d);
	if (usable)
		log_notice("upstreams_usable", "upstreams=%zu", upstreams_n(d->upstreams));
	else
		log_error("upstreams_unusable",
		          "upstreams=%zu reason=\"none answers; all are still tried for each client\"",
		          upstreams_n(d->upstreams));
}

static void verified_cb(const struct endpoint *endpoint, void *userdata)
{
	struct daemon *d = userdata;

	sources_on_verified(d->sources, endpoint);
}

static void died_cb(void *userdata)
{
	struct daemon *d = userdata;

	conns_review(d->conns);
}

static const struct upstreams_callbacks upstreams_callbacks = {
    .usable = usable_cb,
    .verified = verified_cb,
    .died = died_cb,
};

static void sources_changed_cb(const struct endpoints_merged *merged, void *userdata)
{
	struct daemon *d = userdata;

	if (merged->n_loops + merged->n_dropped > 0)
		log_warning("upstreams_left_out",
		            "loops=%zu too_many=%zu reason=\"a listener of prism itself cannot be an "
		            "upstream\"",
		            merged->n_loops, merged->n_dropped);
	upstreams_set_list(d->upstreams, merged);
	/* Also when the first list makes nothing usable, which is no change. */
	review_listening(d);
}

static void verdict_cb(uint64_t id, enum judge_evidence evidence, const char *reason,
                       int64_t rtt_us, void *userdata)
{
	struct daemon *d = userdata;

	upstreams_on_verdict(d->upstreams, id, evidence, reason, rtt_us);
}

static void endpoints_cb(enum endpoints_source source, const struct endpoints_list *list,
                         void *userdata)
{
	struct daemon *d = userdata;

	sources_update(d->sources, source, list);
}

static void checker_lost_cb(void *userdata)
{
	struct daemon *d = userdata;

	upstreams_on_checker_lost(d->upstreams);
}

static const struct checker_callbacks checker_callbacks = {
    .verdict = verdict_cb,
    .endpoints = endpoints_cb,
    .lost = checker_lost_cb,
};

/* --- what the image before this one left --- */

struct inheritance {
	struct daemon *daemon;
	unsigned connections;
};

static void inherit_listener_cb(int fd, const struct endpoint *at, void *userdata)
{
	const struct daemon *d = ((struct inheritance *) userdata)->daemon;

	if (endpoint_equal(at, &d->config->metrics_at))
		metricsport_inherit(d->service->metrics_port, fd);
	else
		listeners_inherit(d->listeners, fd);
}

static void inherit_upstream_cb(const struct handover_upstream *u, void *userdata)
{
	struct inheritance *i = userdata;

	upstreams_restore(i->daemon->upstreams, u);
	/* Discovery begins anew, and must not have to before these are used. What was configured is
	 * there already, if it still is. */
	if (judge_is_usable(u->state))
		sources_inherit(i->daemon->sources, &u->endpoint, u->from);
}

static void inherit_conn_cb(const struct handover_conn *conn, void *userdata)
{
	struct inheritance *i = userdata;

	conns_restore(i->daemon->conns, conn);
	i->connections++;
}

static void inherit(struct daemon *d, const struct handover *handover)
{
	static const struct handover_reader_ops ops = {
	    .listener = inherit_listener_cb,
	    .upstream = inherit_upstream_cb,
	    .conn = inherit_conn_cb,
	};
	struct inheritance i = {.daemon = d};

	/* Timers begin now, and not when the loop was made. */
	ev_now_update(loop_ev(d->loop));
	handover_read(handover, &ops, &i);
	log_info("handover", "connections=%u upstreams=%zu", i.connections, upstreams_n(d->upstreams));
}

/* --- beginning --- */

static unsigned max_connections(const struct config *config)
{
	unsigned wanted = config->limits.max_connections;
	rlim_t reserved = RESERVED_FDS, room, fds;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		(void) setrlimit(RLIMIT_NOFILE, &limit);
	}
	(void) getrlimit(RLIMIT_NOFILE, &limit);
	if (addr_is_set(&config->metrics_at.addr))
		reserved += 1 + METRICSPORT_CLIENTS_MAX;
	fds = limit.rlim_cur > reserved ? limit.rlim_cur - reserved : 0;
	room = fds * 2 / FDS_PER_2_CONNECTIONS;
	if (fds > FDS_FOR_PIPES)
		room = MAX(room, (fds - FDS_FOR_PIPES) / 2);
	room = MIN(MAX(room, (rlim_t) 1), (rlim_t) 1000000);
	if (wanted > room)
		log_warning("connections_limited",
		            "wanted=%u max=%u reason=\"RLIMIT_NOFILE allows no more: raise LimitNOFILE=\"",
		            wanted, (unsigned) room);
	return wanted == 0 || wanted > room ? (unsigned) room : wanted;
}

static int start_checker(struct daemon *d)
{
	int r;

	r = checker_new(loop_ev(d->loop), d->service->helper, d->config, &checker_callbacks, d,
	                &d->checker);
	if (r < 0)
		return log_error_errno(r, "probe_process_failed", "program=%s", d->service->helper);
	upstreams_set_checker(d->upstreams, d->checker);
	return 0;
}

void daemon_metrics(struct metrics *m, void *userdata)
{
	struct report report;

	daemon_report(userdata, &report);
	report_metrics(m, &report);
}

static int make_parts(struct daemon *d)
{
	struct ev_loop *ev = loop_ev(d->loop);
	int r;

	d->listeners = listeners_new(ev, &listeners_callbacks, d);
	listeners_inherit_from_systemd(d->listeners);
	r = upstreams_new(ev, d->config, &upstreams_callbacks, d, &d->upstreams);
	if (r < 0)
		return log_error_errno(r, "upstreams_failed", "reason=\"cannot make the table\"");
	d->conns = conns_new(ev, d->config, d->upstreams, max_connections(d->config), room_cb, d);
	r = sources_new(ev, d->config, sources_changed_cb, d, &d->sources);
	return r < 0 ? log_error_errno(r, "sources_failed", "reason=\"cannot watch the sources\"") : 0;
}

/* All that can be started. 0 or -errno of the first that cannot, logged. */
static int start_services(struct daemon *d)
{
	int first, r;

	first = listeners_open(d->listeners, d->config->listen, d->config->n_listen);
	r = start_checker(d);
	first = first < 0 ? first : r;
	r = daemon_open_commands(d->service, d);
	if (r < 0)
		log_error_errno(r, "control_failed", "dir=%s", d->service->runtime_dir);
	metricsport_set(d->service->metrics_port, &d->config->metrics_at);
	return first < 0 ? first : r;
}

int daemon_new(struct service *service, struct config *config, const struct handover *handover,
               struct daemon **ret_daemon)
{
	AUTO(daemon_free) struct daemon *d = NEW0(struct daemon);
	int r;

	d->service = service;
	d->loop = service->loop;
	d->config = config;
	ev_init(&d->stop_limit, NULL);
	log_info("starting", "version=%s", FAIRLEAD_VERSION);
	r = make_parts(d);
	if (r < 0)
		return r;
	if (handover != NULL)
		inherit(d, handover);
	r = start_services(d);
	/* What is carried already is worth more than a listener or a control socket. */
	if (r < 0 && handover == NULL)
		return r;
	loop_notify(d->loop, "READY=1");
	*ret_daemon = TAKE_PTR(d);
	return 0;
}

void daemon_free(struct daemon *d)
{
	if (d == NULL)
		return;
	ev_timer_stop(loop_ev(d->loop), &d->stop_limit);
	reload_check_free(d->check);
	checker_free(d->checker);
	sources_free(d->sources);
	conns_free(d->conns);
	upstreams_free(d->upstreams);
	listeners_free(d->listeners);
	config_free(d->config);
	free(d);
}

/* --- becoming another process --- */

static void checked_cb(bool good, void *userdata)
{
	struct daemon *d = userdata;

	reload_check_free(TAKE_PTR(d->check));
	if (d->phase == DAEMON_CHECKING_AGAIN) {
		d->phase = DAEMON_RUNNING;
		daemon_reload(d);
		return;
	}
	if (d->phase != DAEMON_CHECKING)
		return;
	if (!good) {
		log_error("reload_refused", "reason=\"what is on disk would not start, see above; the "
		                            "running configuration stays\"");
		d->phase = DAEMON_RUNNING;
		loop_notify(d->loop, "READY=1");
		return;
	}
	d->phase = DAEMON_LEAVING;
	loop_stop(d->loop, EXIT_SUCCESS);
}

void daemon_reload(struct daemon *d)
{
	int r;

	if (d->phase == DAEMON_CHECKING)
		d->phase = DAEMON_CHECKING_AGAIN;
	if (d->phase != DAEMON_RUNNING)
		return;
	r = reload_check_new(loop_ev(d->loop), d->service->self, d->service->argv, checked_cb, d,
	                     &d->check);
	if (r < 0) {
		log_error_errno(r, "reload_refused", "path=%s", d->service->self);
		loop_notify(d->loop, "READY=1");
		return;
	}
	d->phase = DAEMON_CHECKING;
	loop_notify_reloading(d->loop);
}

bool daemon_wants_exec(const struct daemon *d)
{
	return d->phase == DAEMON_LEAVING;
}

static void write_upstreams(const struct daemon *d, struct handover_writer *writer)
{
	for (size_t i = 0; i < upstreams_n(d->upstreams); i++) {
		const struct upstream *u = upstreams_get(d->upstreams, i);

		handover_write_upstream(writer, &(struct handover_upstream){
		                                    .endpoint = u->endpoint,
		                                    .state = u->judge.state,
		                                    .since_us = u->judge.since_us,
		                                    .rtt_us = u->rtt.smoothed_us,
		                                    .drained = u->drained,
		                                    .from = sources_from(d->sources, &u->endpoint),
		                                    .reason = u->judge.reason,
		                                });
	}
}

/* Without it, files that became wrong in this moment would end the next process, and with it every
 * connection. So if there is no memory for it, this process goes on as it is. */
static int write_config(const struct daemon *d, struct handover_writer *writer)
{
	AUTO(free) char *yaml = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&yaml, &len);
	bool is_whole;

	if (out == NULL)
		return -ENOMEM;
	config_print(d->config, out);
	is_whole = fflush(out) == 0 && ferror(out) == 0;
	if (fclose(out) != 0 || !is_whole)
		return -ENOMEM;
	handover_write_config(writer, yaml, len);
	return 0;
}

static int write_all(const struct daemon *d, struct handover_writer *writer)
{
	int r;

	r = write_config(d, writer);
	if (r < 0)
		return r;
	for (size_t i = 0; i < listeners_n(d->listeners); i++) {
		struct endpoint at = listeners_endpoint(d->listeners, i);

		if (listeners_fd(d->listeners, i) >= 0)
			handover_write_listener(writer, listeners_fd(d->listeners, i), &at);
	}
	/* It is taken for a listener by a version without such a port, which lets go of it then. */
	if (metricsport_fd(d->service->metrics_port) >= 0)
		handover_write_listener(writer, metricsport_fd(d->service->metrics_port),
		                        &d->config->metrics_at);
	write_upstreams(d, writer);
	conns_save(d->conns, writer);
	return handover_arm(writer);
}

void daemon_exec(struct daemon *d)
{
	AUTO(handover_writer_free) struct handover_writer *writer = NULL;
	int r;

	assert(d->phase == DAEMON_LEAVING);
	r = handover_writer_new(&writer);
	if (r == 0)
		r = write_all(d, writer);
	if (r == 0) {
		/* It has no part in what follows. */
		upstreams_set_checker(d->upstreams, NULL);
		checker_free(TAKE_PTR(d->checker));
		(void) execv(d->service->self, d->service->argv);
		r = -errno;
	}
	log_error_errno(r, "exec_failed", "path=%s reason=\"this process goes on\"", d->service->self);
	if (writer != NULL)
		handover_cancel(writer);
	d->phase = DAEMON_RUNNING;
	if (d->checker == NULL)
		(void) start_checker(d);
	loop_notify(d->loop, "READY=1");
}

/* --- ending --- */

static void stop_limit_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct daemon *d = CONTAINER_OF(w, struct daemon, stop_limit);

	log_info("stop_limit", "connections=%u", conns_count(d->conns).connections);
	loop_stop(d->loop, EXIT_SUCCESS);
}

void daemon_stop(struct daemon *d)
{
	if (d->phase == DAEMON_STOPPING)
		return;
	d->phase = DAEMON_STOPPING;
	loop_notify(d->loop, "STOPPING=1");
	log_info("stopping", "connections=%u", conns_count(d->conns).connections);
	listeners_close(d->listeners);
	conns_leave(d->conns);
	if (conns_count(d->conns).connections == 0) {
		loop_stop(d->loop, EXIT_SUCCESS);
		return;
	}
	ev_timer_init(&d->stop_limit, stop_limit_cb, STOP_LIMIT_S, 0.);
	ev_timer_start(loop_ev(d->loop), &d->stop_limit);
}

/* --- for the commands --- */

static struct report_totals totals(const struct daemon *d)
{
	struct conns_counts c = conns_count(d->conns);

	return (struct report_totals){
	    .connections = c.connections,
	    .max_connections = conns_max(d->conns),
	    .dialling = c.dialling,
	    .pipes = c.pipes,
	    .accepted = c.accepted,
	    .failed = c.failed,
	    .evicted = c.evicted,
	    .shed = c.shed,
	    .accept_pauses = listeners_pauses(d->listeners),
	    .closed_idle = c.closed_idle,
	    .closed_half = c.closed_half,
	    .closed_aged = c.closed_aged,
	    .bytes_up = c.bytes_up,
	    .bytes_down = c.bytes_down,
	};
}

void daemon_report(struct daemon *d, struct report *ret)
{
	*ret = (struct report){
	    .listeners = d->report_listeners,
	    .upstreams = d->report_upstreams,
	    .n_upstreams = upstreams_n(d->upstreams),
	    .sources = d->report_sources,
	    .totals = totals(d),
	    .accepting = !listeners_are_paused(d->listeners),
	    .probing = d->checker != NULL && checker_is_running(d->checker),
	    .probe_restarts = d->checker != NULL ? checker_restarts(d->checker) : 0,
	    .checks = d->config->health.enabled,
	    .now_us = mono_now_us(),
	    .notes = (const char *const *) d->config->notes.items,
	    .n_notes = d->config->notes.n,
	};
	for (size_t i = 0; i < listeners_n(d->listeners); i++) {
		d->report_listeners[ret->n_listeners++] = (struct report_listener){
		    .endpoint = listeners_endpoint(d->listeners, i),
		    .open = listeners_is_open(d->listeners, i),
		};
	}
	for (size_t i = 0; i < ret->n_upstreams; i++)
		d->report_upstreams[i] = upstreams_get(d->upstreams, i);
	for (enum endpoints_source s = 0; s < ENDPOINTS_N_SOURCES; s++) {
		const char *error = sources_error(d->sources, s);

		if (error[0] == '\0' && d->checker != NULL)
			error = checker_source_error(d->checker, s);
		if (sources_count(d->sources, s) > 0 || error[0] != '\0')
			d->report_sources[ret->n_sources++] = (struct report_source){
			    .source = s, .n = sources_count(d->sources, s), .error = error};
	}
}

int daemon_suspect(struct daemon *d, const char *upstream, const char *reason)
{
	return upstreams_suspect(d->upstreams, upstream, reason);
}

int daemon_drain(struct daemon *d, const char *upstream, bool drained)
{
	return upstreams_drain(d->upstreams, upstream, drained);
}
