/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the daemon says of itself. Pure. */

#include <jansson.h>

#include "base/metrics.h"
#include "netconf/daemon.h"

json_t *report_json(const struct daemon_report *report);
void report_metrics(struct metrics *metrics, const struct daemon_report *report);
