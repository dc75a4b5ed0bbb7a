/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renders struct vip_report: the object of `vip status`, and the metrics by a table of one getter a
 * family. Pure, so the goldens of tests/unit/test_report.c are the whole truth about both formats.
 */
#include "vipd/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "vipd/election.h"

/* --- JSON --- */

/* REPORT_NONE becomes null. */
static json_t *whole_ms(int64_t us)
{
	return us == REPORT_NONE ? json_null() : json_integer(us / US_PER_MS);
}

/* With one decimal of the unit, which is `unit_us` long. */
static json_t *tenths(int64_t us, int64_t unit_us)
{
	return us == REPORT_NONE ? json_null() : jsonval_tenths(us, unit_us);
}

static json_t *time_json(int64_t wall_us)
{
	time_t seconds = (time_t) (wall_us / US_PER_S);
	char text[32];
	struct tm tm;

	if (gmtime_r(&seconds, &tm) == NULL ||
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		return json_null();
	return json_string(text);
}

static uint64_t sum_of_moves(const struct vip_report *report)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < report->n_moves; i++)
		sum += report->moves[i].count;
	return sum;
}

static json_t *move_json(const struct vip_report_move *move)
{
	json_t *json;

	if (move->to == NULL)
		return json_null();
	json = json_object();
	(void) json_object_set_new(json, "from", jsonval_text(move->from));
	(void) json_object_set_new(json, "to", jsonval_text(move->to));
	(void) json_object_set_new(json, "reason", jsonval_text(move->reason));
	(void) json_object_set_new(json, "time", time_json(move->wall_us));
	(void) json_object_set_new(json, "duration_ms", whole_ms(move->duration_us));
	return json;
}

static json_t *candidates_json(const struct vip_report *report)
{
	json_t *list = json_array();

	for (size_t i = 0; i < report->n_candidates; i++) {
		const struct vip_report_candidate *candidate = &report->candidates[i];
		json_t *json = json_object();

		(void) json_object_set_new(json, "node", jsonval_text(candidate->node));
		(void) json_object_set_new(json, "priority", json_integer(candidate->priority));
		(void) json_object_set_new(json, "health", jsonval_text(candidate->health));
		(void) json_array_append_new(list, json);
	}
	return list;
}

static json_t *warnings_json(const struct vip_report *report)
{
	json_t *list = json_array();

	for (size_t i = 0; i < report->n_warnings; i++)
		(void) json_array_append_new(list, jsonval_text(report->warnings[i]));
	return list;
}

static void put_election(json_t *json, const struct vip_report *r)
{
	(void) json_object_set_new(json, "vip", jsonval_text(r->vip));
	(void) json_object_set_new(json, "link", jsonval_text(r->link));
	(void) json_object_set_new(json, "link_problem", jsonval_text(r->link_problem));
	(void) json_object_set_new(json, "announce", jsonval_text(r->announce));
	(void) json_object_set_new(json, "cloud", jsonval_text(r->cloud));
	(void) json_object_set_new(json, "node", jsonval_text(r->node));
	(void) json_object_set_new(json, "state", jsonval_text(r->state));
	(void) json_object_set_new(json, "reason", jsonval_text(r->reason));
	(void) json_object_set_new(json, "since_s", tenths(r->in_state_us, US_PER_S));
	(void) json_object_set_new(json, "owner", jsonval_text(r->owner));
	(void) json_object_set_new(json, "epoch", json_integer(r->epoch));
	(void) json_object_set_new(json, "owner_revision", json_integer(r->owner_revision));
}

static void put_fence(json_t *json, const struct vip_report *r)
{
	(void) json_object_set_new(json, "fence", jsonval_text(r->fence));
	(void) json_object_set_new(json, "fence_window_ms", whole_ms(r->fence_window_us));
	(void) json_object_set_new(json, "fence_late_ms", whole_ms(r->fence_late_us));
	(void) json_object_set_new(json, "bound_ms", whole_ms(r->bound_us));
	(void) json_object_set_new(json, "fence_left_ms", whole_ms(r->fence_left_us));
	(void) json_object_set_new(json, "confirm_rtt_ms", tenths(r->confirm_rtt_us, US_PER_MS));
}

static void put_node(json_t *json, const struct vip_report *r)
{
	(void) json_object_set_new(json, "health", jsonval_text(health_state_name(r->health)));
	(void) json_object_set_new(json, "health_reason", jsonval_text(r->health_reason));
	(void) json_object_set_new(json, "readiness_unknown", json_boolean(r->readiness_unknown));
	(void) json_object_set_new(json, "priority", json_integer(r->priority));
	(void) json_object_set_new(json, "hold", json_boolean(r->hold));
	(void) json_object_set_new(json, "etcd_leader", json_boolean(r->etcd_leader));
	(void) json_object_set_new(json, "etcd_endpoint", jsonval_text(r->etcd_endpoint));
	(void) json_object_set_new(json, "etcd_ok", json_boolean(r->etcd_ok));
}

static void put_history(json_t *json, const struct vip_report *r)
{
	(void) json_object_set_new(json, "last_move", move_json(&r->last_move));
	(void) json_object_set_new(json, "moves", json_integer((json_int_t) sum_of_moves(r)));
	(void) json_object_set_new(json, "conflicts", json_integer((json_int_t) r->conflicts));
	(void) json_object_set_new(json, "in_use", json_boolean(r->in_use));
	(void) json_object_set_new(json, "foreign_mac", jsonval_text(r->foreign_mac));
	(void) json_object_set_new(json, "foreign_node", jsonval_text(r->foreign_node));
	(void) json_object_set_new(json, "readds", json_integer((json_int_t) r->readds));
	(void) json_object_set_new(json, "outside_reached", json_integer(r->outside_reached));
	(void) json_object_set_new(json, "outside_unreached", json_integer(r->outside_unreached));
	(void) json_object_set_new(json, "candidates", candidates_json(r));
	(void) json_object_set_new(json, "warnings", warnings_json(r));
}

json_t *report_status_json(const struct vip_report *report)
{
	json_t *json = json_object();

	put_election(json, report);
	put_fence(json, report);
	put_node(json, report);
	put_history(json, report);
	return json;
}

/* --- metrics --- */

static double owner_of(const void *from)
{
	return strcmp(((const struct vip_report *) from)->state, "owner") == 0;
}

static double seconds_of_move(const struct vip_report *r, int64_t us)
{
	return r->last_move.to != NULL && us != REPORT_NONE ? (double) us / (double) US_PER_S
	                                                    : (double) NAN;
}

static double last_move_time_of(const void *from)
{
	const struct vip_report *r = from;

	return seconds_of_move(r, r->last_move.wall_us);
}

static double last_move_duration_of(const void *from)
{
	const struct vip_report *r = from;

	return seconds_of_move(r, r->last_move.duration_us);
}

/* For a VIP that no cloud has to send here there is none of these. */
static double of_cloud(const struct vip_report *r, double value)
{
	return r->cloud != NULL ? value : (double) NAN;
}

static double cloud_assigned_of(const void *from)
{
	const struct vip_report *r = from;

	return of_cloud(r, r->cloud != NULL && strcmp(r->cloud, "assigned") == 0);
}

static double cloud_requests_of(const void *from)
{
	const struct vip_report *r = from;

	return of_cloud(r, (double) r->cloud_requests);
}

static double cloud_failures_of(const void *from)
{
	const struct vip_report *r = from;

	return of_cloud(r, (double) r->cloud_failures);
}

#define REPORT(member) offsetof(struct vip_report, member)
static const struct metrics_row families[] = {
    {"fairlead_vipd_owner{vip}", "1 while this node owns the VIP.", METRICS_CODE,
     .value = owner_of},
    {"fairlead_vipd_epoch{vip}", "How often the VIP has changed its owner.", METRICS_I64,
     .offset = REPORT(epoch)},
    {"fairlead_vipd_fence_left_seconds{vip}",
     "Until the fence acts unless the ownership is confirmed again; only where the address is "
     "held.",
     METRICS_US, .offset = REPORT(fence_left_us)},
    {"fairlead_vipd_fence_window_seconds{vip}", "What one confirmation grants.", METRICS_US,
     .offset = REPORT(fence_window_us)},
    {"fairlead_vipd_bound_seconds{vip}",
     "The longest that two nodes may answer for the VIP, whatever happens.", METRICS_US,
     .offset = REPORT(bound_us)},
    {"fairlead_vipd_confirm_rtt_seconds{vip}",
     "Round trip of the last confirmation that etcd answered.", METRICS_US,
     .offset = REPORT(confirm_rtt_us)},
    {"fairlead_vipd_confirmations_total{vip}", "Confirmations that etcd granted.", METRICS_U64,
     .offset = REPORT(confirmations)},
    {"fairlead_vipd_confirmation_failures_total{vip}",
     "Confirmations that failed or went unanswered.", METRICS_U64,
     .offset = REPORT(confirmation_failures)},
    {"fairlead_vipd_last_move_timestamp_seconds{vip}",
     "When the last known move was complete, since the epoch.", METRICS_CODE,
     .value = last_move_time_of},
    {"fairlead_vipd_last_move_duration_seconds{vip}", "How long the last known move took.",
     METRICS_CODE, .value = last_move_duration_of},
    {"fairlead_vipd_conflicts_total{vip}", "Claims of the VIP by a host that is not its owner.",
     METRICS_U64, .offset = REPORT(conflicts)},
    {"fairlead_vipd_in_use{vip}",
     "1 while a host that is no node of this cluster answers for the VIP.", METRICS_BOOL,
     .offset = REPORT(in_use)},
    {"fairlead_vipd_readds_total{vip}",
     "Times that another program deleted the address and it was added again.", METRICS_U64,
     .offset = REPORT(readds)},
    {"fairlead_vipd_outside_reached{vip}", "Nodes besides the owner that reach the VIP there.",
     METRICS_UNSIGNED, .offset = REPORT(outside_reached)},
    {"fairlead_vipd_outside_unreached{vip}",
     "Nodes besides the owner that have reached the VIP before and do not now.", METRICS_UNSIGNED,
     .offset = REPORT(outside_unreached)},
    {"fairlead_vipd_candidates{vip}", "Nodes in the race for the VIP.", METRICS_SIZE,
     .offset = REPORT(n_candidates)},
    {"fairlead_vipd_priority{vip}", "Priority of this node for the VIP.", METRICS_INT,
     .offset = REPORT(priority)},
    {"fairlead_vipd_readiness_unknown{vip}",
     "1 while the API server of this node answers and does not tell whether it is ready.",
     METRICS_BOOL, .offset = REPORT(readiness_unknown)},
    {"fairlead_vipd_hold{vip}", "1 while an operator holds this node out of the race.",
     METRICS_BOOL, .offset = REPORT(hold)},
    {"fairlead_vipd_etcd_ok{vip}", "1 while etcd answers.", METRICS_BOOL,
     .offset = REPORT(etcd_ok)},
    {"fairlead_vipd_etcd_leader{vip}", "1 while the etcd member of this node leads.", METRICS_BOOL,
     .offset = REPORT(etcd_leader)},
    {"fairlead_vipd_cloud_assigned{vip}",
     "1 while the cloud is known to send the VIP's packets here; only where a cloud has to.",
     METRICS_CODE, .value = cloud_assigned_of},
    {"fairlead_vipd_cloud_requests_total{vip}",
     "Requests to the cloud's API and its metadata service.", METRICS_CODE,
     .value = cloud_requests_of},
    {"fairlead_vipd_cloud_failures_total{vip}",
     "Times that the cloud could not be asked or told, or did not do it.", METRICS_CODE,
     .value = cloud_failures_of},
    {"fairlead_vipd_warnings{vip}", "Warnings that `fairlead vip status` shows.", METRICS_SIZE,
     .offset = REPORT(n_warnings)},
    {0},
};

static void put_state(struct metrics *m, const struct vip_report *reports, size_t n)
{
	metrics_family(m, "fairlead_vipd_state{vip,state}", METRICS_GAUGE,
	               "1 for the state that the VIP is in.");
	for (size_t i = 0; i < n; i++) {
		for (enum election_state s = 0; s < ELECTION_STATES; s++) {
			const struct metrics_label labels[] = {{"vip", reports[i].vip},
			                                       {"state", election_state_name(s)}};

			metrics_sample(m, strcmp(reports[i].state, election_state_name(s)) == 0, labels, 2);
		}
	}
}

static void put_health(struct metrics *m, const struct vip_report *reports, size_t n)
{
	metrics_family(m, "fairlead_vipd_health{vip,health}", METRICS_GAUGE,
	               "1 for the health of this node's API server.");
	for (size_t i = 0; i < n; i++) {
		for (enum health_state h = 0; h < HEALTH_STATES; h++) {
			const struct metrics_label labels[] = {{"vip", reports[i].vip},
			                                       {"health", health_state_name(h)}};

			metrics_sample(m, reports[i].health == h, labels, 2);
		}
	}
}

static void put_moves(struct metrics *m, const struct vip_report *reports, size_t n)
{
	metrics_family(m, "fairlead_vipd_moves_total{vip,reason}", METRICS_COUNTER,
	               "Moves of the VIP that this process has seen, by reason.");
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < reports[i].n_moves; k++) {
			const struct metrics_label labels[] = {{"vip", reports[i].vip},
			                                       {"reason", reports[i].moves[k].name}};

			metrics_sample(m, (double) reports[i].moves[k].count, labels, 2);
		}
	}
}

void report_metrics(struct metrics *m, const struct vip_report *reports, size_t n)
{
	AUTO(free) struct metrics_subject *subjects = xcalloc(n, sizeof(*subjects));

	metrics_family(m, "fairlead_vipd_build_info{version}", METRICS_GAUGE,
	               "1; the version is a label.");
	metrics_sample(m, 1, &(struct metrics_label){"version", FAIRLEAD_VERSION}, 1);
	put_state(m, reports, n);
	for (size_t i = 0; i < n; i++)
		subjects[i] = (struct metrics_subject){.from = &reports[i], .is = {"vip", reports[i].vip}};
	metrics_table(m, families, subjects, n);
	put_health(m, reports, n);
	put_moves(m, reports, n);
}

/* --- moves --- */

/*
 * Recognises a move by the epoch in the owner record. It begins with the old owner's last sign of
 * life and ends when its new owner holds the address, or, on other nodes, when they hear of the new
 * record.
 */

static void count(struct history *h, const char *reason)
{
	size_t i = 0;

	while (i < h->n_counts && strcmp(h->counts[i].reason, reason) != 0)
		i++;
	if (i == HISTORY_REASONS_MAX)
		i--;
	else if (i == h->n_counts) {
		h->n_counts++;
		(void) snprintf(h->counts[i].reason, sizeof(h->counts[i].reason), "%s", reason);
	}
	h->counts[i].count++;
}

static void moved(struct history *h, const struct record_owner *o, int64_t now_us)
{
	(void) snprintf(h->last.from, sizeof(h->last.from), "%s", h->owner);
	(void) snprintf(h->last.to, sizeof(h->last.to), "%s", o->node);
	(void) snprintf(h->last.reason, sizeof(h->last.reason), "%s", o->reason);
	h->last.wall_us = o->wall_us;
	h->last.begun_us = h->life_us;
	h->last.duration_us = h->life_us == 0 ? 0 : now_us - h->life_us;
	count(h, o->reason);
}

void history_on_facts(struct history *h, const struct facts *f, int64_t now_us)
{
	const struct record_owner *o = &f->owner;

	if (!f->has_owner)
		return;
	if (o->epoch != h->epoch && !o->released) {
		/* The first record that is seen is old news, unless it is the first of all. */
		if (h->epoch != 0 || o->epoch == 1)
			moved(h, o, now_us);
		h->epoch = o->epoch;
		(void) snprintf(h->owner, sizeof(h->owner), "%s", o->node);
	}
	if (h->epoch == 0) {
		h->epoch = o->epoch;
		(void) snprintf(h->owner, sizeof(h->owner), "%s", o->node);
	}
	h->life_us = f->life.us;
}

void history_on_held(struct history *h, int64_t now_us)
{
	if (h->last.begun_us == 0)
		return;
	h->last.duration_us = now_us - h->last.begun_us;
	h->last.begun_us = 0;
}

void history_report(const struct history *h, struct vip_report *report,
                    struct vip_report_count *counts)
{
	for (size_t i = 0; i < h->n_counts; i++) {
		counts[i].name = h->counts[i].reason;
		counts[i].count = h->counts[i].count;
	}
	report->moves = counts;
	report->n_moves = h->n_counts;
	if (h->last.to[0] == '\0')
		return;
	report->last_move.from = h->last.from[0] != '\0' ? h->last.from : NULL;
	report->last_move.to = h->last.to;
	report->last_move.reason = h->last.reason;
	report->last_move.wall_us = h->last.wall_us;
	report->last_move.duration_us = h->last.duration_us;
}
