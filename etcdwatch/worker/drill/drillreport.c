/* SPDX-License-Identifier: Apache-2.0 */
/* Collects, as the drill goes on, what is one object at its end. */
#include "etcdwatch/worker/drill/drillreport.h"

#include <errno.h>
#include <inttypes.h>

#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/worker/common/result.h"

static const char *const phase_names[] = {
    [DRILLREPORT_FETCH] = "fetch", [DRILLREPORT_UNPACK] = "unpack",
    [DRILLREPORT_PROVE] = "prove", [DRILLREPORT_RESTORE] = "restore",
    [DRILLREPORT_START] = "start", [DRILLREPORT_COMPARE] = "compare",
};

struct drillreport {
	int64_t began_us;
	enum drillreport_phase phase; /* DRILLREPORT_N_PHASES: none yet */
	int64_t phase_began_us;
	json_t *checks;
	json_t *phases; /* those that are over */
	json_t *versions;
};

struct drillreport *drillreport_new(void)
{
	struct drillreport *report = NEW0(struct drillreport);

	report->began_us = mono_now_us();
	report->phase = DRILLREPORT_N_PHASES;
	report->checks = json_array();
	report->phases = json_object();
	report->versions = json_object();
	return report;
}

void drillreport_free(struct drillreport *report)
{
	if (report == NULL)
		return;
	json_decref(report->checks);
	json_decref(report->phases);
	json_decref(report->versions);
	free(report);
}

static void end_phase(struct drillreport *report)
{
	int64_t now_us = mono_now_us();

	if (report->phase != DRILLREPORT_N_PHASES)
		(void) json_object_set_new(report->phases, phase_names[report->phase],
		                           json_integer((now_us - report->phase_began_us) / US_PER_MS));
	report->phase_began_us = now_us;
}

void drillreport_begin(struct drillreport *report, enum drillreport_phase phase)
{
	end_phase(report);
	report->phase = phase;
	result_line(json_pack("{s:s}", "phase", phase_names[phase]));
}

int drillreport_compare(struct drillreport *report, const char *check, const char *wanted_by,
                        int64_t wanted, const char *found_in, int64_t found,
                        struct problem *problem)
{
	(void) json_array_append_new(
	    report->checks, json_pack("{s:s, s:b, s:I, s:I}", "check", check, "ok", wanted == found,
	                              "wanted", (json_int_t) wanted, "found", (json_int_t) found));
	if (wanted == found)
		return 0;
	return problem_set(problem, -EBADMSG, "DIFFERS",
	                   "%s is %" PRId64 " in %s, and %" PRId64 " by %s", check, found, found_in,
	                   wanted, wanted_by);
}

void drillreport_passed(struct drillreport *report, const char *check)
{
	(void) json_array_append_new(report->checks, json_pack("{s:s, s:b}", "check", check, "ok", 1));
}

void drillreport_version(struct drillreport *report, const char *of, const char *version)
{
	(void) json_object_set_new(report->versions, of, jsonval_text(version));
}

json_t *drillreport_json(struct drillreport *report)
{
	end_phase(report);
	report->phase = DRILLREPORT_N_PHASES;
	return json_pack("{s:O, s:O, s:O, s:I}", "checks", report->checks, "phases", report->phases,
	                 "versions", report->versions, "took_ms",
	                 (json_int_t) ((mono_now_us() - report->began_us) / US_PER_MS));
}
