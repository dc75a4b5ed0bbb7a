/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whether any snapshot may go. While members hold different data, or may, nobody knows whose
 * snapshots are the good ones.
 */

#include <stdbool.h>

#include "etcdwatch/cluster/view.h"

/* What the watchdog has found; all NULL: nobody watches. Small: copied. */
struct doubt {
	bool (*data_differ)(const void *userdata);
	const void *userdata; /* borrowed */
};

/* By a fresh view of the cluster, and by that. */
bool doubt_stands(const struct doubt *doubt, const struct view *view);
