/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* `etcd record status` of the control socket, and what the record adds to the metrics. */

#include "base/control.h"
#include "base/metrics.h"
#include "etcdwatch/daemon.h"

void recordcommand_run(struct control_request *request, int argc, const struct daemon *daemon);
void recordcommand_metrics(struct metrics *m, const struct daemon *daemon);
