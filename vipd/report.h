/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What vipd tells about itself, rendered: the JSON lines of `vip status` and the metrics. Pure. The
 * core fills one struct vip_report a VIP with what is true now and calls; nothing is kept here.
 * Every string and array is borrowed for the length of the call. Times are microseconds, whatever
 * unit they are printed in. The fields of the JSON and the metrics are described in
 * docs/control.md.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/metrics.h"
#include "vipd/facts.h"
#include "vipd/health.h"

/* A time that there is not: printed as null, and left out of the metrics. */
#define REPORT_NONE INT64_MIN

struct vip_report_move {
	const char *from; /* NULL: nobody owned it */
	const char *to;   /* NULL: no move is known */
	const char *reason;
	int64_t wall_us; /* when it was complete, since the epoch */
	int64_t duration_us;
};

struct vip_report_count {
	const char *name; /* "owner silent": one of a few constant words, as it becomes a label */
	uint64_t count;
};

struct vip_report_candidate {
	const char *node;
	const char *health;
	int priority;
};

struct vip_report {
	const char *vip;
	const char *link;
	const char *link_problem; /* it is not there, or no subnet of it contains the VIP; NULL: fine */
	const char *announce;     /* "layer2", "bgp" or "hcloud" */
	const char *cloud;        /* "idle", "asking", "assigned" or "failed"; NULL: there is none */
	uint64_t cloud_requests;
	uint64_t cloud_failures;
	const char *node;   /* this one */
	const char *state;  /* "down", "standby", "taking", "owner" or "yielding" */
	const char *reason; /* of the last change of state */
	int64_t in_state_us;

	const char *owner; /* as etcd says; NULL: nobody */
	int64_t epoch;
	int64_t owner_revision;

	const char *fence; /* "nftables" or "lifetime": the one in force */
	int64_t fence_window_us;
	int64_t fence_late_us;
	int64_t bound_us;       /* two owners never overlap for longer */
	int64_t fence_left_us;  /* REPORT_NONE unless this node holds the address */
	int64_t confirm_rtt_us; /* of the last one that was answered; or REPORT_NONE */
	uint64_t confirmations;
	uint64_t confirmation_failures;

	enum health_state health;
	const char *health_reason;
	bool readiness_unknown; /* the API server answers, and not whether it is ready */
	int priority;
	bool hold;

	bool etcd_leader;          /* this node's member leads */
	const char *etcd_endpoint; /* that answered last; NULL: none yet */
	bool etcd_ok;              /* the last call was answered */

	struct vip_report_move last_move;
	/* The moves that this process has seen, by reason; their sum is `moves`. */
	const struct vip_report_count *moves;
	size_t n_moves;

	uint64_t conflicts;
	bool in_use;              /* another host answers for the address now */
	const char *foreign_mac;  /* the last foreign host that claimed the address; NULL: none */
	const char *foreign_node; /* its name, if it is a node in the race */
	uint64_t readds;

	/* Other nodes in the race that reach, or do not reach, the VIP at its owner. */
	unsigned outside_reached;
	unsigned outside_unreached;

	const struct vip_report_candidate *candidates;
	size_t n_candidates;
	const char *const *warnings;
	size_t n_warnings;
};

/* A new object: the caller owns it. */
json_t *report_status_json(const struct vip_report *report);

/* All families, each with one sample a VIP or more. */
void report_metrics(struct metrics *m, const struct vip_report *reports, size_t n);

/*
 * Where a VIP has moved, as far as this process has seen: the last move and a count by reason. Only
 * reporting reads it.
 */

#define HISTORY_REASONS_MAX 16

struct history {
	int64_t epoch; /* of the owner seen last; 0: none yet */
	char owner[NODECONF_NAME_MAX + 1];
	int64_t life_us; /* that owner's last sign of life */
	struct {
		char from[NODECONF_NAME_MAX + 1];
		char to[NODECONF_NAME_MAX + 1];
		char reason[RECORD_REASON_MAX + 1];
		int64_t wall_us;
		int64_t begun_us;
		int64_t duration_us;
	} last;
	struct {
		char reason[RECORD_REASON_MAX + 1];
		uint64_t count;
	} counts[HISTORY_REASONS_MAX]; /* the last one gathers what does not fit */
	size_t n_counts;
};

/* Call after every change of the facts. */
void history_on_facts(struct history *history, const struct facts *facts, int64_t now_us);

/* This node has just put the address on its link: the move to it is complete. */
void history_on_held(struct history *history, int64_t now_us);

/* Fills last_move, moves and n_moves; counts has room for HISTORY_REASONS_MAX. */
void history_report(const struct history *history, struct vip_report *report,
                    struct vip_report_count *counts);
