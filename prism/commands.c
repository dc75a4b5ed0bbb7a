/* SPDX-License-Identifier: Apache-2.0 */
/* Answers the control socket from what the daemon reports; every answer is there at once. */
#include "prism/daemon.h"

#include <string.h>

#include "base/macro.h"

static void status_fn(struct control_request *request, int argc UNUSED, char **argv UNUSED,
                      void *userdata)
{
	struct daemon *daemon = userdata;
	struct report report;

	daemon_report(daemon, &report);
	control_reply(request, report_overview_json(&report));
	for (size_t i = 0; i < report.n_upstreams; i++)
		control_reply(request, report_upstream_json(&report, report.upstreams[i]));
	control_ok(request);
}

static void reply_upstream(struct control_request *request, struct daemon *daemon, const char *name)
{
	struct report report;

	daemon_report(daemon, &report);
	for (size_t i = 0; i < report.n_upstreams; i++) {
		if (strcmp(report.upstreams[i]->name, name) == 0)
			control_reply(request, report_upstream_json(&report, report.upstreams[i]));
	}
}

static void set_drained(struct control_request *request, char **argv, struct daemon *daemon,
                        bool drained)
{
	struct endpoint endpoint;
	char name[ENDPOINT_TEXT_MAX];

	/* However the address is written: an upstream's name is its one canonical form. */
	if (endpoint_parse(argv[0], 0, &endpoint) < 0) {
		control_fail(request, CONTROL_USAGE, "'%s' is not ADDRESS:PORT", argv[0]);
		return;
	}
	(void) endpoint_format(&endpoint, name);
	if (daemon_drain(daemon, name, drained) < 0) {
		control_fail(request, CONTROL_NOTFOUND,
		             "no upstream '%s': 'fairlead prism status' lists them", name);
		return;
	}
	reply_upstream(request, daemon, name);
	control_ok(request);
}

static void drain_fn(struct control_request *request, int argc UNUSED, char **argv, void *userdata)
{
	set_drained(request, argv, userdata, true);
}

static void undrain_fn(struct control_request *request, int argc UNUSED, char **argv,
                       void *userdata)
{
	set_drained(request, argv, userdata, false);
}

/* Daemons that are not root's may say it: it decides when a probe is sent, and what an answer is
 * worth that leaves readiness unknown (judge.h). */
static void suspect_fn(struct control_request *request, int argc, char **argv, void *userdata)
{
	struct daemon *daemon = userdata;
	struct endpoint endpoint;
	char name[ENDPOINT_TEXT_MAX] = "local";

	if (strcmp(argv[0], "local") != 0) {
		if (endpoint_parse(argv[0], 0, &endpoint) < 0) {
			control_fail(request, CONTROL_USAGE, "'%s' is neither ADDRESS:PORT nor 'local'",
			             argv[0]);
			return;
		}
		(void) endpoint_format(&endpoint, name);
	}
	if (daemon_suspect(daemon, name, argc == 2 ? argv[1] : "") < 0) {
		control_fail(request, CONTROL_NOTFOUND,
		             "no upstream '%s': 'fairlead prism status' lists them", name);
		return;
	}
	control_ok(request);
}

static const struct control_command table[] = {
    {"prism status", false, status_fn, "", "prism as a whole, then each upstream."},
    {"prism drain", true, drain_fn, "UPSTREAM", "Leave an upstream: no new connections go there."},
    {"prism undrain", true, undrain_fn, "UPSTREAM", "Use it again."},
    {"prism suspect", false, suspect_fn, "UPSTREAM|local [REASON]",
     "Ask an upstream soon, as another program saw that it fails."},
};

int daemon_open_commands(struct service *service, struct daemon *daemon)
{
	return service_serve(service, table, ARRAY_SIZE(table), daemon);
}
