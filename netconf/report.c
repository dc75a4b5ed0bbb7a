/* SPDX-License-Identifier: Apache-2.0 */
/* JSON and metrics. */
#include "netconf/report.h"

#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mono.h"

static json_t *change_json(const struct daemon_report *report)
{
	const struct checkpoint_state *change = report->change;

	if (change == NULL)
		return json_null();
	return json_pack(
	    "{s:s, s:s, s:o, s:o, s:o}", "id", change->id, "phase", phase_name(change->phase), "left_s",
	    jsonval_tenths(MAX(change->deadline_us - report->now_us, (int64_t) 0), US_PER_S), "began_s",
	    jsonval_tenths(change->began_wall_us, US_PER_S), "reason", jsonval_text(change->reason));
}

static json_t *last_json(const struct statedir_outcome *last)
{
	if (last->id[0] == '\0')
		return json_null();
	return json_pack("{s:s, s:s, s:o, s:o, s:o}", "id", last->id, "how", last->how, "reason",
	                 jsonval_text(last->reason), "left_undone", jsonval_text(last->left), "ended_s",
	                 jsonval_tenths(last->ended_wall_us, US_PER_S));
}

json_t *report_json(const struct daemon_report *report)
{
	return json_pack("{s:o, s:b, s:b, s:o}", "change", change_json(report), "preparing",
	                 report->is_preparing, "confirmed", report->has_confirmed, "last",
	                 last_json(report->last));
}

void report_metrics(struct metrics *m, const struct daemon_report *report)
{
	metrics_family(m, "fairlead_netconf_confirmed", METRICS_GAUGE,
	               "Whether a configuration of the network was ever confirmed.");
	metrics_sample(m, report->has_confirmed, NULL, 0);
	metrics_family(m, "fairlead_netconf_change_phase", METRICS_GAUGE,
	               "The change that is under way: 1 for its phase.");
	for (enum phase phase = PHASE_PREPARED; phase < PHASES; phase++) {
		const struct metrics_label label = {"phase", phase_name(phase)};

		metrics_sample(m, report->change != NULL && report->change->phase == phase, &label, 1);
	}
}
