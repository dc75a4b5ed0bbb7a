/* SPDX-License-Identifier: Apache-2.0 */
/* Answered at once, from the last round. */
#include "etcdwatch/healthcommand.h"

#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/commands_priv.h"

void healthcommand_run(struct control_request *request, int argc, const struct daemon *daemon)
{
	AUTO(free) struct healthreport *report = NEW0(struct healthreport);

	if (argc != 0) {
		control_fail(request, CONTROL_USAGE, "etcd health");
		return;
	}
	health_fill_report(daemon_health(daemon), report);
	control_reply(request, healthreport_summary_json(report));
	for (size_t i = 0; i < report->n_findings; i++)
		control_reply(request, healthreport_finding_json(report, report->findings[i]));
	control_ok(request);
}

void healthcommand_metrics(struct metrics *m, const struct daemon *daemon)
{
	AUTO(free) struct healthreport *report = NEW0(struct healthreport);

	health_fill_report(daemon_health(daemon), report);
	healthreport_metrics(m, report);
	if (daemon_notify(daemon) != NULL) {
		struct notifyreport telling;

		notify_fill_report(daemon_notify(daemon), &telling);
		notifyreport_metrics(m, &telling);
	}
}

/* --- notifycommand --- */

/* A test is answered when the receiver has. */

struct test {
	struct command command;
	struct notifycall *call;
	int64_t began_us;
};

/* NULL, and the request is over. */
static struct notify *find(struct control_request *request, int argc, const char *usage,
                           struct commands *c)
{
	struct notify *notify = daemon_notify(commands_daemon(c));

	if (argc != 0) {
		control_fail(request, CONTROL_USAGE, "%s", usage);
		return NULL;
	}
	if (notify == NULL)
		control_fail(request, CONTROL_NOTFOUND,
		             "nobody is told: there is no 'notify' in EtcdWatchConfig");
	return notify;
}

void notifystatuscommand_fn(struct control_request *request, int argc, char **argv UNUSED,
                            void *userdata)
{
	struct notify *notify = find(request, argc, "etcd notify status", userdata);
	struct notifyreport report;

	if (notify == NULL)
		return;
	notify_fill_report(notify, &report);
	control_reply(request, notifyreport_json(&report));
	control_ok(request);
}

static void tested_cb(const struct notifycall_result *result, void *userdata)
{
	struct test *t = userdata;
	struct control_request *request = t->command.request;
	int64_t took_us = mono_now_us() - t->began_us;

	command_end(&t->command);
	free(t);
	if (result->end != NOTIFYCALL_ARRIVED) {
		control_fail(request, CONTROL_FAILED, "%s", result->reason);
		return;
	}
	control_reply(request, json_pack("{s:i, s:I}", "status", result->status, "took_ms",
	                                 (json_int_t) (took_us / US_PER_MS)));
	control_ok(request);
}

static void give_up(struct command *command)
{
	struct test *t = CONTAINER_OF(command, struct test, command);

	notifycall_free(t->call);
	command_end(command);
	free(t);
}

void notifytestcommand_fn(struct control_request *request, int argc, char **argv UNUSED,
                          void *userdata)
{
	struct notify *notify = find(request, argc, "etcd notify test", userdata);
	struct test *t;
	int r;

	if (notify == NULL)
		return;
	t = NEW0(struct test);
	if (!command_begin(userdata, &t->command, request, give_up)) {
		free(t);
		return;
	}
	t->began_us = mono_now_us();
	r = notify_test(notify, tested_cb, t, &t->call);
	if (r < 0) {
		control_fail(request, CONTROL_FAILED, "cannot start the worker: %s", strerror(-r));
		command_end(&t->command);
		free(t);
	}
}
