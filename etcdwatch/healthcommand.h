/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* `etcd health` of the control socket, and what the watchdog adds to the metrics. */

#include "base/control.h"
#include "base/metrics.h"
#include "etcdwatch/daemon.h"

void healthcommand_run(struct control_request *request, int argc, const struct daemon *daemon);
void healthcommand_metrics(struct metrics *m, const struct daemon *daemon);
