/* SPDX-License-Identifier: Apache-2.0 */
/* Answered at once, from the last round. */
#include "etcdwatch/healthcommand.h"

#include "base/mem.h"

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
