/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the probe process and the socket to it. Nothing here waits: a message that does not fit into
 * the socket is not sent, and a process that has been killed is reaped when libev says so.
 *
 *	          spawned
 *	 WAITING ─────────► RUNNING ─── end of file, garbage, a question left open ───┐
 *	  ▲   ▲                │                                                      ▼
 *	  │   └──── died ──────┘                                          ENDING (killed)
 *	  └──────────────────────────── reaped ───────────────────────────────────────┘
 *
 * WAITING lasts from a tenth of a second to five, doubled each time until a process has lived for a
 * while. Whoever leaves RUNNING calls `lost`, as the last act.
 */
#include "prism/checker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fsm.h"
#include "base/jsonval.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/printable.h"
#include "base/spawn.h"

/*
 * Every field of an answer has one type and bounds; what is outside of them is no answer, since a
 * process that sends it is not to be believed in anything.
 */

/* No request takes longer. */
#define RTT_MAX_US (24 * 3600 * US_PER_S)

static const enum endpoints_source sources[] = {ENDPOINTS_DNS, ENDPOINTS_MEMBERS, ENDPOINTS_SLICES};

/* --- to the probe process --- */

static json_t *endpoint_json(const struct endpoint *endpoint)
{
	char text[ENDPOINT_TEXT_MAX];

	return json_string(endpoint_format(endpoint, text));
}

/* Where a client on this node reaches prism; a listener on every address is on loopback too. */
static json_t *through_json(const struct config *config)
{
	struct endpoint through;

	if (config->n_listen == 0)
		return json_null();
	through = config->listen[0];
	if (addr_is_unspecified(&through.addr))
		(void) addr_parse(through.addr.family == AF_INET6 ? "::1" : "127.0.0.1", &through.addr);
	return endpoint_json(&through);
}

/* Those hosts that are not addresses. */
static json_t *names_json(const struct config_sources *from)
{
	json_t *names = json_array();

	for (size_t i = 0; i < from->n_hosts; i++) {
		const struct config_host *host = &from->hosts[i];
		struct addr addr;

		if (addr_parse(host->name, &addr) < 0)
			(void) json_array_append_new(
			    names, json_pack("{s:s, s:i}", "name", host->name, "port", (int) host->port));
	}
	return names;
}

json_t *checkermsg_settings(const struct config *config, bool debug)
{
	const struct config_health *health = &config->health;
	const struct config_sources *from = &config->sources;
	const int64_t timeout_ms = MAX(health->timeout_us / US_PER_MS, 1);
	const int64_t interval_ms = MAX(from->slices_interval_us / US_PER_MS, 1);

	return json_pack(
	    "{s:s, s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:I, s:o, s:o, s:o, s:i, s:o}",
	    "type", "settings", "debug", debug, "checks", health->enabled, "path",
	    jsonval_filled(health->path), "serverName", jsonval_filled(health->server_name), "caFile",
	    jsonval_filled(health->ca_file), "clientCertFile", jsonval_filled(health->client_cert_file),
	    "clientKeyFile", jsonval_filled(health->client_key_file), "tokenFile",
	    jsonval_filled(health->token_file), "timeoutMs", (json_int_t) timeout_ms, "kubeconfig",
	    jsonval_filled(from->kubeconfig), "slicesIntervalMs", (json_int_t) interval_ms, "through",
	    through_json(config), "membersSocket", jsonval_filled(from->members_socket), "membersFile",
	    jsonval_filled(from->members_file), "membersPort",
	    (int) (from->members_port != 0 ? from->members_port : 6443), "names", names_json(from));
}

json_t *checkermsg_probe(uint64_t id, const struct endpoint *endpoint)
{
	return json_pack("{s:s, s:I, s:o}", "type", "probe", "id", (json_int_t) id, "endpoint",
	                 endpoint_json(endpoint));
}

json_t *checkermsg_forget(const struct endpoint *endpoint)
{
	return json_pack("{s:s, s:o}", "type", "forget", "endpoint", endpoint_json(endpoint));
}

/* --- from it --- */

static bool evidence_of(const char *verdict, enum judge_evidence *ret_evidence)
{
	if (strcmp(verdict, "connected") == 0) {
		*ret_evidence = JUDGE_PROBE_CONNECTED;
		return true;
	}
	if (strcmp(verdict, "unreached") == 0) {
		*ret_evidence = JUDGE_PROBE_UNREACHED;
		return true;
	}
	if (strcmp(verdict, "stalled") == 0) {
		*ret_evidence = JUDGE_PROBE_STALLED;
		return true;
	}
	for (int v = 0; v < READYZ_N_VERDICTS; v++) {
		if (strcmp(verdict, readyz_verdict_name((enum readyz_verdict) v)) == 0) {
			*ret_evidence = judge_evidence_of((enum readyz_verdict) v);
			return true;
		}
	}
	return false;
}

/* For the log and the terminal: cut, and visible. */
static void take_text(const char *text, char ret_text[static READYZ_REASON_MAX])
{
	(void) snprintf(ret_text, READYZ_REASON_MAX, "%s", text);
	printable_ascii(ret_text);
}

static bool take_verdict(const json_t *json, struct checkermsg *m)
{
	const json_t *id = json_object_get(json, "id"), *rtt = json_object_get(json, "rttUs");
	const char *verdict = json_string_value(json_object_get(json, "verdict"));
	const char *reason = json_string_value(json_object_get(json, "reason"));

	if (!json_is_integer(id) || !json_is_integer(rtt) || verdict == NULL || reason == NULL)
		return false;
	m->type = CHECKERMSG_VERDICT;
	m->id = (uint64_t) json_integer_value(id);
	m->rtt_us = json_integer_value(rtt);
	take_text(reason, m->text);
	return m->rtt_us >= 0 && m->rtt_us <= RTT_MAX_US && evidence_of(verdict, &m->evidence);
}

static bool take_list(const json_t *array, struct endpoints_list *list)
{
	size_t n = json_array_size(array);

	if (n == 0 || n > ENDPOINTS_MAX)
		return false;
	for (size_t i = 0; i < n; i++) {
		const char *text = json_string_value(json_array_get(array, i));

		if (text == NULL || endpoint_parse(text, 0, &list->items[i]) < 0)
			return false;
	}
	list->n = n;
	return true;
}

static bool take_source(const json_t *json, struct checkermsg *m)
{
	const char *source = json_string_value(json_object_get(json, "source"));
	const char *error = json_string_value(json_object_get(json, "error"));
	const json_t *array = json_object_get(json, "endpoints");
	bool known = false;

	for (size_t i = 0; i < ARRAY_SIZE(sources) && source != NULL && !known; i++) {
		known = strcmp(source, endpoints_source_name(sources[i])) == 0;
		m->source = sources[i];
	}
	if (!known)
		return false;
	m->type = array != NULL ? CHECKERMSG_ENDPOINTS : CHECKERMSG_ERROR;
	if (array != NULL)
		return error == NULL && take_list(array, &m->list);
	if (error == NULL || error[0] == '\0')
		return false;
	take_text(error, m->text);
	return true;
}

int checkermsg_parse(const char *data, size_t len, struct checkermsg *ret_message)
{
	json_t *json = json_loadb(data, len, JSON_REJECT_DUPLICATES, NULL);
	const char *type = json_string_value(json_object_get(json, "type"));
	struct checkermsg m = {.id = 0};
	bool good = false;

	if (type != NULL && strcmp(type, "verdict") == 0)
		good = take_verdict(json, &m);
	else if (type != NULL && strcmp(type, "endpoints") == 0)
		good = take_source(json, &m);
	json_decref(json);
	if (!good)
		return -EBADMSG;
	*ret_message = m;
	return 0;
}

#define BACKOFF_MIN_US (100 * US_PER_MS)
#define BACKOFF_MAX_US (5 * US_PER_S)
/* One that has lived for so long did not die of what is always there. */
#define STEADY_US (10 * US_PER_S)
/* Lines about it, and about each source, in an interval. */
#define LOG_INTERVAL_US (60 * US_PER_S)
#define LOG_BURST 6
/* An answer is due within one timeout. */
#define OVERDUE_TIMEOUTS 3
/* It may be the machine that stands still. */
#define OVERDUE_MIN_US (6 * US_PER_S)

enum state {
	WAITING,
	RUNNING,
	ENDING,
};

static const struct fsm_state states[] = {
    [WAITING] = {"waiting", FSM_TO(RUNNING)},
    [RUNNING] = {"running", FSM_TO(ENDING) | FSM_TO(WAITING)},
    [ENDING] = {"ending", FSM_TO(WAITING)},
};

struct question {
	uint64_t id;
	int64_t asked_us;
};

struct checker {
	struct ev_loop *ev;
	const char *program;
	const struct config *config;
	const struct checker_callbacks *callbacks;
	void *userdata;
	char *settings; /* the first message to each process */
	enum state state;
	const char *why; /* ENDING: a constant */
	int fd;          /* RUNNING only */
	ev_io readable;
	ev_child child;   /* RUNNING and ENDING */
	ev_timer again;   /* WAITING */
	ev_timer overdue; /* RUNNING, while a question is open */
	int64_t started_us;
	int64_t backoff_us;
	unsigned restarts;
	struct question open[CHECKER_PROBES_MAX];
	size_t n_open;
	char errors[ENDPOINTS_N_SOURCES][READYZ_REASON_MAX];
	struct log_ratelimit error_limits[ENDPOINTS_N_SOURCES];
	struct log_ratelimit end_limit;
	char in[CHECKER_ANSWER_MAX];
};

/* --- the process --- */

/* With its end of the socket as CHECKER_FD, our standard error, and nothing else of ours: a
 * client's connection that another process holds would never end. */
static int spawn(const char *program, int its_end, pid_t *ret_pid)
{
	const char *const argv[] = {program, NULL};

	return spawn_program(&(struct spawn){.argv = argv, .extra = its_end, .given = SPAWN_EXTRA},
	                     ret_pid);
}

/* False when it does not fit now. A process that is gone is noticed by reading. */
static bool send_text(struct checker *c, const char *text)
{
	return send(c->fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

/* The one writer of the state. */
static void set_state(struct checker *c, enum state state, const char *reason)
{
	fsm_check(states, ARRAY_SIZE(states), c->state, state);
	log_debug("probe_process_state", "old=%s new=%s reason=\"%s\"", states[c->state].name,
	          states[state].name, reason);
	if (c->state == RUNNING) {
		ev_io_stop(c->ev, &c->readable);
		ev_timer_stop(c->ev, &c->overdue);
		(void) close(TAKE_FD(c->fd));
		c->n_open = 0;
	}
	c->state = state;
	if (state == WAITING) {
		ev_timer_set(&c->again, mono_to_ev(c->backoff_us), 0.);
		ev_timer_start(c->ev, &c->again);
	} else if (state == RUNNING) {
		c->started_us = mono_now_us();
		ev_io_set(&c->readable, c->fd, EV_READ);
		ev_io_start(c->ev, &c->readable);
	}
}

/* WAITING -> RUNNING. 0 or -errno. */
static int start(struct checker *c)
{
	AUTO(close) int its_end = -1;
	int ends[2];
	pid_t pid;
	int r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	c->fd = ends[0];
	its_end = ends[1];
	r = spawn(c->program, its_end, &pid);
	if (r < 0) {
		(void) close(TAKE_FD(c->fd));
		return r;
	}
	ev_child_set(&c->child, pid, 0);
	ev_child_start(c->ev, &c->child);
	set_state(c, RUNNING, "spawned");
	if (!send_text(c, c->settings))
		return 0; /* it is dead already, and libev will say so */
	log_debug("probe_process_started", "pid=%d", (int) pid);
	return 0;
}

/* RUNNING -> ENDING. The callback may free the checker, so this comes last. */
static void end(struct checker *c, const char *why)
{
	/* While its end is pending it has been reaped, and the number may be another's. */
	if (!ev_is_pending(&c->child))
		(void) kill(c->child.pid, SIGKILL);
	c->why = why;
	set_state(c, ENDING, why);
	c->callbacks->lost(c->userdata);
}

/* The callback may free the checker, so it comes last. */
static void child_cb(struct ev_loop *ev, ev_child *w, int revents UNUSED)
{
	struct checker *c = CONTAINER_OF(w, struct checker, child);
	bool was_running = c->state == RUNNING;
	int status = w->rstatus;
	unsigned suppressed;

	ev_child_stop(ev, w);
	c->backoff_us = mono_now_us() - c->started_us >= STEADY_US
	                    ? BACKOFF_MIN_US
	                    : MIN(c->backoff_us * 2, BACKOFF_MAX_US);
	if (log_ratelimit_allow(&c->end_limit, mono_now_us(), &suppressed))
		log_warning("probe_process_ended",
		            "pid=%d %s=%d suppressed=%u reason=\"%s; again in %lld ms\"", (int) w->rpid,
		            WIFSIGNALED(status) ? "signal" : "exit",
		            WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), suppressed,
		            was_running ? "it ended" : c->why, (long long) (c->backoff_us / US_PER_MS));
	set_state(c, WAITING, "it ended");
	if (was_running)
		c->callbacks->lost(c->userdata);
}

static void again_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct checker *c = CONTAINER_OF(w, struct checker, again);
	unsigned suppressed;
	int r;

	r = start(c);
	if (r == 0) {
		c->restarts++;
		return;
	}
	c->backoff_us = MIN(c->backoff_us * 2, BACKOFF_MAX_US);
	if (log_ratelimit_allow(&c->end_limit, mono_now_us(), &suppressed))
		(void) log_warning_errno(r, "probe_process_failed",
		                         "program=%s suppressed=%u reason=\"again in %lld ms\"", c->program,
		                         suppressed, (long long) (c->backoff_us / US_PER_MS));
	ev_timer_set(w, mono_to_ev(c->backoff_us), 0.);
	ev_timer_start(c->ev, w);
}

/* --- questions and answers --- */

static int64_t overdue_us(const struct checker *c)
{
	return MAX(OVERDUE_TIMEOUTS * c->config->health.timeout_us, OVERDUE_MIN_US);
}

static void arm_overdue(struct checker *c, int64_t after_us)
{
	ev_timer_set(&c->overdue, mono_to_ev(after_us), 0.);
	ev_timer_start(c->ev, &c->overdue);
}

static void overdue_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct checker *c = CONTAINER_OF(w, struct checker, overdue);
	int64_t now_us = mono_now_us(), oldest_us = now_us;

	for (size_t i = 0; i < c->n_open; i++)
		oldest_us = MIN(oldest_us, c->open[i].asked_us);
	if (c->n_open == 0)
		return;
	if (now_us - oldest_us >= overdue_us(c))
		end(c, "it does not answer");
	else
		arm_overdue(c, oldest_us + overdue_us(c) - now_us);
}

/* True if it was open; it is not any more. */
static bool close_question(struct checker *c, uint64_t id)
{
	for (size_t i = 0; i < c->n_open; i++) {
		if (c->open[i].id == id) {
			c->open[i] = c->open[--c->n_open];
			return true;
		}
	}
	return false;
}

static void note_error(struct checker *c, enum endpoints_source source, const char *text)
{
	char *error = c->errors[source];
	unsigned suppressed;

	if (strcmp(error, text) == 0)
		return;
	(void) snprintf(error, READYZ_REASON_MAX, "%s", text);
	if (!log_ratelimit_allow(&c->error_limits[source], mono_now_us(), &suppressed))
		return;
	if (text[0] != '\0')
		log_warning("source_failed", "source=%s err=\"%s\" suppressed=%u",
		            endpoints_source_name(source), text, suppressed);
	else
		log_info("source_recovered", "source=%s suppressed=%u", endpoints_source_name(source),
		         suppressed);
}

/* The callbacks may free the checker, so they come last. */
static void take(struct checker *c, const struct checkermsg *m)
{
	switch (m->type) {
	case CHECKERMSG_VERDICT:
		if (close_question(c, m->id))
			c->callbacks->verdict(m->id, m->evidence, m->text, m->rtt_us, c->userdata);
		else
			log_debug("probe_unknown_id", "id=%llu", (unsigned long long) m->id);
		break;
	case CHECKERMSG_ENDPOINTS:
		note_error(c, m->source, "");
		c->callbacks->endpoints(m->source, &m->list, c->userdata);
		break;
	case CHECKERMSG_ERROR:
		note_error(c, m->source, m->text);
		break;
	}
}

/* One message a turn of the loop, which comes back for more. */
static void readable_cb(struct ev_loop *ev UNUSED, ev_io *w, int revents)
{
	struct checker *c = CONTAINER_OF(w, struct checker, readable);
	/* With MSG_TRUNC it is the length of the whole message. */
	ssize_t n = recv(c->fd, c->in, sizeof(c->in), MSG_DONTWAIT | MSG_TRUNC);
	struct checkermsg message;

	loop_expect_watched(revents);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		end(c, "it has closed the socket");
	else if ((size_t) n > sizeof(c->in) || checkermsg_parse(c->in, (size_t) n, &message) < 0)
		end(c, "it says what nobody understands");
	else
		take(c, &message);
}

static bool send_json(struct checker *c, json_t *message)
{
	AUTO(free) char *text = json_dumps(message, JSON_COMPACT);

	json_decref(message);
	return send_text(c, text);
}

bool checker_probe(struct checker *c, uint64_t id, const struct endpoint *endpoint)
{
	if (c->state != RUNNING || c->n_open == CHECKER_PROBES_MAX ||
	    !send_json(c, checkermsg_probe(id, endpoint)))
		return false;
	c->open[c->n_open++] = (struct question){.id = id, .asked_us = mono_now_us()};
	if (!ev_is_active(&c->overdue))
		arm_overdue(c, overdue_us(c));
	return true;
}

void checker_forget(struct checker *c, const struct endpoint *endpoint)
{
	/* If it does not fit: the probe process closes what it is asked nothing about, later. */
	if (c->state == RUNNING)
		(void) send_json(c, checkermsg_forget(endpoint));
}

/* --- the whole --- */

int checker_new(struct ev_loop *ev, const char *program, const struct config *config,
                const struct checker_callbacks *callbacks, void *userdata,
                struct checker **ret_checker)
{
	AUTO(checker_free) struct checker *c = NEW0(struct checker);
	json_t *settings = checkermsg_settings(config, log_is_enabled(LOG_LEVEL_DEBUG));
	int r;

	c->ev = ev;
	c->program = program;
	c->config = config;
	c->callbacks = callbacks;
	c->userdata = userdata;
	c->fd = -1;
	c->backoff_us = BACKOFF_MIN_US / 2; /* it is doubled before it is used */
	ev_init(&c->readable, readable_cb);
	ev_init(&c->child, child_cb);
	ev_init(&c->again, again_cb);
	ev_init(&c->overdue, overdue_cb);
	c->end_limit = (struct log_ratelimit){.interval_us = LOG_INTERVAL_US, .burst = LOG_BURST};
	for (size_t i = 0; i < ENDPOINTS_N_SOURCES; i++)
		c->error_limits[i] = c->end_limit;
	c->settings = json_dumps(settings, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(settings);
	/* For the process that is started. Its libcurl has its TLS from OpenSSL, but comes with GnuTLS
	 * as well, which nobody uses, and which would set itself up before main(): 0.2 MB
	 * (gnutls_global_init(3)). */
	(void) setenv("GNUTLS_NO_IMPLICIT_INIT", "1", 0);
	if (strlen(c->settings) > CHECKER_MESSAGE_MAX)
		return -E2BIG;
	r = start(c);
	if (r < 0)
		return r;
	*ret_checker = TAKE_PTR(c);
	return 0;
}

void checker_free(struct checker *c)
{
	if (c == NULL)
		return;
	ev_io_stop(c->ev, &c->readable);
	ev_timer_stop(c->ev, &c->again);
	ev_timer_stop(c->ev, &c->overdue);
	if (ev_is_active(&c->child)) {
		bool reaped = ev_is_pending(&c->child);

		ev_child_stop(c->ev, &c->child);
		if (!reaped) {
			(void) kill(c->child.pid, SIGKILL);
			(void) waitpid(c->child.pid, NULL, 0);
		}
	}
	if (c->fd >= 0)
		(void) close(c->fd);
	free(c->settings);
	free(c);
}

bool checker_is_running(const struct checker *c)
{
	return c->state == RUNNING;
}

unsigned checker_restarts(const struct checker *c)
{
	return c->restarts;
}

const char *checker_source_error(const struct checker *c, enum endpoints_source source)
{
	return c->errors[source];
}
