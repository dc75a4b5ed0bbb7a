/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What of the control socket is about drills: the command `etcd drill [JOB]`, which answers a line
 * {"phase": "..."} as each phase begins and at the end what was found, and the parts of
 * `etcd snapshot jobs` and `metrics`.
 */

#include <jansson.h>

#include "base/cleanup.h"
#include "base/control.h"
#include "base/metrics.h"

struct daemon;
struct drill;
struct drillcommand;

/* The daemon is borrowed until drillcommand_free(), after which nothing is answered any more. */
struct drillcommand *drillcommand_new(struct daemon *daemon);
void drillcommand_free(struct drillcommand *command);
DEFINE_AUTO(struct drillcommand, drillcommand_free);

void drillcommand_run(struct drillcommand *command, struct control_request *request, int argc,
                      char **argv);

/* NULL: that job has no drills; then it is null. */
json_t *drillcommand_status(const struct drill *drill);
void drillcommand_metrics(struct metrics *m, const struct daemon *daemon);
