/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What prism tells about itself, rendered: the JSON lines of `prism status` and the metrics. Pure.
 * The core fills a struct report with what is true now; nothing is kept here. Every string and
 * array is borrowed for the length of the call. The fields and the metrics are described in
 * docs/control.md.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/metrics.h"
#include "prism/endpoints.h"
#include "prism/upstream.h"

struct report_listener {
	struct endpoint endpoint;
	bool open; /* false: closed, because no upstream is usable (whenDown: refuse) */
};

struct report_source {
	enum endpoints_source source;
	size_t n;          /* addresses that it names */
	const char *error; /* "" when all is well */
};

struct report_totals {
	unsigned connections; /* now */
	unsigned max_connections;
	unsigned dialling; /* of them: no upstream yet */
	unsigned pipes;    /* open, in use or in the pool */
	uint64_t accepted;
	uint64_t failed;        /* reset, because no upstream could be reached */
	uint64_t evicted;       /* the oldest silent ones, to make room */
	uint64_t shed;          /* new ones, for want of room or memory */
	uint64_t accept_pauses; /* out of descriptors */
	uint64_t closed_idle;
	uint64_t closed_half;
	uint64_t closed_aged;
	uint64_t bytes_up; /* from clients */
	uint64_t bytes_down;
};

struct report {
	const struct report_listener *listeners;
	size_t n_listeners;
	struct upstream *const *upstreams;
	size_t n_upstreams;
	const struct report_source *sources;
	size_t n_sources;
	struct report_totals totals;
	bool accepting; /* false: paused, out of descriptors */
	bool probing;   /* the probe process runs */
	unsigned probe_restarts;
	bool checks; /* healthCheck.enabled */
	int64_t now_us;
	const char *const *notes; /* of the configuration */
	size_t n_notes;
};

/* New objects: the caller owns them. The first line of `prism status`, then one an upstream. */
json_t *report_overview_json(const struct report *report);
json_t *report_upstream_json(const struct report *report, const struct upstream *upstream);

void report_metrics(struct metrics *m, const struct report *report);
