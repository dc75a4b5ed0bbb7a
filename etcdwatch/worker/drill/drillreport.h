/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a drill tells: a line {"phase": "..."} as each phase begins, and at the end which checks
 * were made, what each phase took, and which versions took part. docs/control.md has the fields.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "etcdwatch/worker/common/problem.h"

enum drillreport_phase {
	DRILLREPORT_FETCH,
	DRILLREPORT_UNPACK,
	DRILLREPORT_PROVE,
	DRILLREPORT_RESTORE,
	DRILLREPORT_START,
	DRILLREPORT_COMPARE,
	DRILLREPORT_N_PHASES,
};

struct drillreport;

struct drillreport *drillreport_new(void);
void drillreport_free(struct drillreport *report);
DEFINE_AUTO(struct drillreport, drillreport_free);

/* Ends the phase before. */
void drillreport_begin(struct drillreport *report, enum drillreport_phase phase);

/*
 * One check. If the numbers differ, the problem is DIFFERS, and its sentence says what is how much
 * where: "live_keys is 12 in the snapshot, and 13 by the catalogue". 0, or -EBADMSG.
 */
int drillreport_compare(struct drillreport *report, const char *check, const char *wanted_by,
                        int64_t wanted, const char *found_in, int64_t found,
                        struct problem *problem);

/* One that has no number. */
void drillreport_passed(struct drillreport *report, const char *check);

/* "etcd": "3.5.16" */
void drillreport_version(struct drillreport *report, const char *of, const char *version);

/* All of it, as a new object: "checks", "phases", "versions", "took_ms". Ends the last phase. */
json_t *drillreport_json(struct drillreport *report);
