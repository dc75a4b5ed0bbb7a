/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prism-probe: the part of prism that speaks TLS, HTTP, JSON and DNS with others, in a process of
 * its own. It is started by prism with a socket as descriptor 3, takes everything from there, and
 * ends with it. Nothing is kept: when it dies, prism starts another one.
 */
#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/probecert.h"
#include "prism/checker.h"
#include "prism/probe/members.h"
#include "prism/probe/names.h"
#include "prism/probe/prober.h"
#include "prism/probe/signing.h"
#include "prism/probe/slices.h"
#include "prism/probe/wire.h"

struct process {
	struct ev_loop *ev;
	struct wire *wire;
	struct settings *settings; /* NULL until they come */
	struct prober *prober;
	struct slices *slices;
	struct members *members;
	struct names *names;
	ev_idle rest; /* runs after an answer, when there is nothing else to do */
	int exit_code;
};

static void stop(struct process *p, int exit_code)
{
	p->exit_code = exit_code;
	ev_break(p->ev, EVBREAK_ALL);
}

/* A handshake and an answer take several times what is kept of them, in pieces all over the heap.
 */
static void rest_cb(struct ev_loop *ev, ev_idle *w, int revents UNUSED)
{
	ev_idle_stop(ev, w);
	(void) malloc_trim(0);
}

/* --- outwards --- */

static void on_verdict(uint64_t id, const char *verdict, const char *reason, int64_t rtt_us,
                       void *userdata)
{
	struct process *p = userdata;

	wire_send_verdict(p->wire, id, verdict, reason, rtt_us);
	ev_idle_start(p->ev, &p->rest);
}

static void on_slices(const struct endpoints_list *list, const char *error, void *userdata)
{
	struct process *p = userdata;

	wire_send_endpoints(p->wire, "slices", list, error);
	ev_idle_start(p->ev, &p->rest);
}

static void on_members(const struct endpoints_list *list, const char *error, void *userdata)
{
	struct process *p = userdata;

	wire_send_endpoints(p->wire, "members", list, error);
	ev_idle_start(p->ev, &p->rest);
}

static void on_names(const struct endpoints_list *list, const char *error, void *userdata)
{
	struct process *p = userdata;

	wire_send_endpoints(p->wire, "dns", list, error);
	ev_idle_start(p->ev, &p->rest);
}

/* --- inwards --- */

static int begin(struct process *p, const json_t *message)
{
	const struct settings *s;
	const char *error;
	int r;

	r = settings_parse(message, &p->settings, &error);
	if (r < 0)
		return log_error_errno(r, "probe_settings_bad", "key=%s", error);
	s = p->settings;
	p->settings->client_directory = PROBECERT_DIRECTORY;
	if (s->debug)
		log_set_level(LOG_LEVEL_DEBUG);
	p->prober = prober_new(p->ev, s, on_verdict, p);
	if (s->kubeconfig != NULL && s->through.port != 0) {
		r = slices_new(p->ev, s, on_slices, p, &p->slices);
		if (r < 0)
			return log_error_errno(r, "probe_http_failed", "what=slices");
	}
	if (s->members_socket != NULL || s->members_file != NULL)
		p->members = members_new(p->ev, s, MEMBERS_INTERVAL_US, on_members, p);
	if (s->n_names > 0)
		p->names = names_new(p->ev, s, NAMES_INTERVAL_US, on_names, p);
	return 0;
}

static int obey(struct process *p, const json_t *message)
{
	const char *type = json_string_value(json_object_get(message, "type"));
	const char *text = json_string_value(json_object_get(message, "endpoint"));
	const json_t *id = json_object_get(message, "id");
	struct endpoint endpoint;

	if (type == NULL || text == NULL || endpoint_parse(text, 0, &endpoint) < 0)
		return log_error_errno(-EBADMSG, "probe_message_bad", "type=\"%s\"",
		                       type != NULL ? type : "");
	if (strcmp(type, "probe") == 0 && json_is_integer(id))
		prober_probe(p->prober, (uint64_t) json_integer_value(id), &endpoint);
	else if (strcmp(type, "forget") == 0)
		prober_forget(p->prober, &endpoint);
	else
		return log_error_errno(-EBADMSG, "probe_message_bad", "type=\"%s\"", type);
	return 0;
}

static void on_message(const json_t *message, void *userdata)
{
	struct process *p = userdata;
	int r = p->settings == NULL ? begin(p, message) : obey(p, message);

	if (r < 0)
		stop(p, EXIT_FAILURE);
}

static void on_closed(int r, void *userdata)
{
	if (r < 0)
		(void) log_error_errno(r, "probe_wire_broken", "what=\"from prism\"");
	stop(userdata, r < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* --- the process --- */

static int run(struct process *p)
{
	static const struct wire_callbacks callbacks = {.message = on_message, .closed = on_closed};

	p->ev = ev_default_loop(EVFLAG_AUTO);
	if (p->ev == NULL) {
		(void) log_error_errno(-ENOSYS, "probe_no_loop", "what=libev");
		return EXIT_FAILURE;
	}
	ev_idle_init(&p->rest, rest_cb);
	p->wire = wire_new(p->ev, CHECKER_FD, &callbacks, p);
	ev_run(p->ev, 0);
	ev_idle_stop(p->ev, &p->rest);
	names_free(p->names);
	members_free(p->members);
	slices_free(p->slices);
	prober_free(p->prober);
	settings_free(p->settings);
	wire_free(p->wire);
	ev_loop_destroy(p->ev);
	return p->exit_code;
}

int main(int argc, char **argv)
{
	struct process p = {.exit_code = EXIT_FAILURE};

	if (argc == 4 && strcmp(argv[1], "--sign") == 0)
		return signing_run(argv[2], argv[3]);
	if (argc > 1 || fcntl(CHECKER_FD, F_GETFD) < 0) {
		(void) fputs("prism-probe is started by prism(8), and not by hand.\n", stderr);
		return 2;
	}
	/* Its life is prism's: who ends prism, or all of its service, ends this by the closed socket.
	 */
	(void) signal(SIGTERM, SIG_IGN);
	(void) signal(SIGINT, SIG_IGN);
	(void) signal(SIGHUP, SIG_IGN);
	(void) signal(SIGPIPE, SIG_IGN);
	/* Also when the loop does not turn. */
	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
	return run(&p);
}
