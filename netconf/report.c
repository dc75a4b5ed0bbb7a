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
	    "{s:s, s:s, s:o, s:o, s:o, s:o}", "id", change->id, "phase", phase_name(change->phase),
	    "left_s", jsonval_tenths(MAX(change->deadline_us - report->now_us, (int64_t) 0), US_PER_S),
	    "began_s", jsonval_tenths(change->began_wall_us, US_PER_S), "reason",
	    jsonval_text(change->reason), "left_undone", jsonval_text(change->left));
}

static json_t *last_json(const struct statedir_outcome *last)
{
	if (last->id[0] == '\0')
		return json_null();
	return json_pack("{s:s, s:s, s:o, s:o, s:o}", "id", last->id, "how", last->how, "reason",
	                 jsonval_text(last->reason), "left_undone", jsonval_text(last->left), "ended_s",
	                 jsonval_tenths(last->ended_wall_us, US_PER_S));
}

static json_t *left_alone_json(const struct daemon_report *report)
{
	json_t *list = json_array();
	struct fight_left left;

	for (size_t i = 0; fight_get(report->drift.fight, i, report->now_us, &left); i++)
		(void) json_array_append_new(
		    list,
		    json_pack("{s:o, s:o, s:o, s:o}", "step", jsonval_text(left.step), "since_s",
		              jsonval_tenths(report->wall_us - (report->now_us - left.since_us), US_PER_S),
		              "next_s", jsonval_tenths(left.until_us - report->now_us, US_PER_S), "by",
		              jsonval_text(left.by)));
	return list;
}

static json_t *drift_json(const struct daemon_report *report)
{
	const struct drift_report *drift = &report->drift;

	return json_pack("{s:s, s:I, s:o, s:I, s:I, s:o, s:o}", "state", drift_state_name(drift->state),
	                 "steps", (json_int_t) drift->n_steps, "first", jsonval_text(drift->first),
	                 "repairs", (json_int_t) drift->n_repairs, "waiting",
	                 (json_int_t) drift->n_waiting, "duplicate", jsonval_text(drift->duplicate),
	                 "left_alone", left_alone_json(report));
}

static json_t *blocked_json(const struct left_blocked *blocked)
{
	if (blocked->reason[0] == '\0')
		return json_null();
	return json_pack("{s:s, s:o}", "id", blocked->id, "reason", jsonval_text(blocked->reason));
}

static json_t *lease_json(const struct dhcpclients_info *info, int64_t now_us)
{
	const struct lease *lease = info->lease;
	json_t *addresses = json_array(), *server = json_null(), *left = json_null();
	char text[PREFIX_TEXT_MAX], name[ADDR_TEXT_MAX];

	for (size_t i = 0; lease != NULL && i < lease->n_addresses; i++)
		(void) json_array_append_new(addresses,
		                             json_string(prefix_format(&lease->addresses[i], text)));
	if (lease != NULL && addr_is_set(&lease->server))
		server = json_string(addr_format(&lease->server, name));
	if (lease != NULL && lease->ends_us != MONO_NEVER)
		left = jsonval_tenths(MAX(lease->ends_us - now_us, (int64_t) 0), US_PER_S);
	return json_pack("{s:o, s:i, s:b, s:o, s:o, s:o}", "link", jsonval_text(info->link), "family",
	                 info->family == AF_INET ? 4 : 6, "running", info->is_running, "addresses",
	                 addresses, "server", server, "left_s", left);
}

static json_t *leases_json(const struct daemon_report *report)
{
	json_t *leases = json_array();
	struct dhcpclients_info info;

	for (size_t i = 0; i < dhcpclients_count(report->clients); i++) {
		dhcpclients_get(report->clients, i, &info);
		(void) json_array_append_new(leases, lease_json(&info, report->now_us));
	}
	return leases;
}

json_t *report_json(const struct daemon_report *report)
{
	return json_pack("{s:o, s:o, s:b, s:b, s:o, s:o, s:o}", "change", change_json(report),
	                 "blocked", blocked_json(report->blocked), "preparing", report->is_preparing,
	                 "confirmed", report->has_confirmed, "last", last_json(report->last), "drift",
	                 drift_json(report), "leases", leases_json(report));
}

/* What they have in common: a sample for each client. */
static void sample_clients(struct metrics *m, const struct daemon_report *report, bool left)
{
	for (size_t i = 0; i < dhcpclients_count(report->clients); i++) {
		struct dhcpclients_info info;
		struct metrics_label labels[] = {{"link", NULL}, {"family", NULL}};

		dhcpclients_get(report->clients, i, &info);
		labels[0].value = info.link;
		labels[1].value = info.family == AF_INET ? "4" : "6";
		if (!left)
			metrics_sample(m, info.lease != NULL, labels, ARRAY_SIZE(labels));
		else if (info.lease != NULL && info.lease->ends_us != MONO_NEVER)
			metrics_sample(m, (double) (info.lease->ends_us - report->now_us) / (double) US_PER_S,
			               labels, ARRAY_SIZE(labels));
	}
}

void report_metrics(struct metrics *m, const struct daemon_report *report)
{
	metrics_family(m, "fairlead_netconf_build_info{version}", METRICS_GAUGE,
	               "1; the version is a label.");
	metrics_sample(m, 1, &(struct metrics_label){"version", FAIRLEAD_VERSION}, 1);
	metrics_family(m, "fairlead_netconf_confirmed", METRICS_GAUGE,
	               "Whether a configuration of the network was ever confirmed.");
	metrics_sample(m, report->has_confirmed, NULL, 0);
	metrics_family(m, "fairlead_netconf_blocked", METRICS_GAUGE,
	               "Whether files of an earlier change keep netconf from changing anything.");
	metrics_sample(m, report->blocked->reason[0] != '\0', NULL, 0);
	metrics_family(m, "fairlead_netconf_drift{state}", METRICS_GAUGE,
	               "How the network compares with what was confirmed: 1 for its state.");
	for (enum drift_state state = DRIFT_OFF; state <= DRIFT_FIGHT; state++) {
		const struct metrics_label label = {"state", drift_state_name(state)};

		metrics_sample(m, report->drift.state == state, &label, 1);
	}
	metrics_family(m, "fairlead_netconf_drift_repairs_total", METRICS_COUNTER,
	               "Steps that set right what others had changed.");
	metrics_sample(m, (double) report->drift.n_repairs, NULL, 0);
	metrics_family(m, "fairlead_netconf_duplicate_address", METRICS_GAUGE,
	               "Whether another host has an IPv6 address that was confirmed.");
	metrics_sample(m, report->drift.duplicate[0] != '\0', NULL, 0);
	metrics_family(m, "fairlead_netconf_change_phase{phase}", METRICS_GAUGE,
	               "The change that is under way: 1 for its phase.");
	for (enum phase phase = PHASE_PREPARED; phase < PHASES; phase++) {
		const struct metrics_label label = {"phase", phase_name(phase)};

		metrics_sample(m, report->change != NULL && report->change->phase == phase, &label, 1);
	}
	metrics_family(m, "fairlead_netconf_dhcp_lease{link,family}", METRICS_GAUGE,
	               "Whether the DHCP client of a link and family has a lease.");
	sample_clients(m, report, false);
	metrics_family(m, "fairlead_netconf_dhcp_lease_left_seconds{link,family}", METRICS_GAUGE,
	               "How long the lease is good for, unless it is renewed.");
	sample_clients(m, report, true);
}
