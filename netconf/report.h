/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the daemon says of itself. Pure. */

#include <jansson.h>

#include "base/metrics.h"
#include "netconf/change/statedir.h"
#include "netconf/dhcp/dhcpclients.h"
#include "netconf/drift.h"
#include "netconf/left.h"

struct daemon_report {
	const struct checkpoint_state *change; /* NULL: none is under way */
	const struct statedir_outcome *last;   /* id "": there was none */
	const struct left_blocked *blocked;
	bool is_preparing;  /* a change is being planned */
	bool has_confirmed; /* a configuration was ever confirmed */
	struct drift_report drift;
	const struct dhcpclients *clients;
	int64_t now_us, wall_us;
};

json_t *report_json(const struct daemon_report *report);
void report_metrics(struct metrics *metrics, const struct daemon_report *report);
