/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What runs etcd and the API server on this node, so that a restore can stop it, keep it stopped
 * over a reboot, and start it again. A service is a JSON object, as the state file keeps it:
 *
 *   {"name": "etcd", "manifest": PATH, "held": PATH, "etcd": true}   a static pod of kubelet
 *   {"name": "etcd.service", "unit": true, "etcd": true}             a unit of systemd
 *
 * A manifest is held in the directory `stopped` next to the manifests. restoreservice.h holds a unit.
 * Each function may be repeated.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Units of systemd that a restore stops, keeps stopped over a reboot, and starts again. A unit is
 * held by a drop-in with ConditionPathExists=!RESTORESTATE_DIR/hold-UNIT. Each unit has a hold file
 * of its own, because etcd is released before the API servers. Functions that return int return an
 * exit code and have printed what is wrong. hold and release may be repeated.
 */

/* Whether systemd has stopped it, or never started it. */
bool restoreunit_is_stopped(const char *unit);

/*
 * The services, API servers first. `manifests` and `stopped` are the manifests of etcd in their
 * directories, as the worker's `restore host` has them. NULL: etcd runs in no way that is known
 * here, which is said.
 */
json_t *restoreservice_find(const char *directory, const json_t *manifests, const json_t *stopped,
                            const char *unit);

/* The directory where manifests are held; to be freed. */
char *restoreservice_stopped_dir(const char *directory);

/* Stops them and keeps them stopped; starts those that are etcd's, or all others. CLI_OK; or it is
 * said what is wrong. */
int restoreservice_hold_all(const json_t *services);
int restoreservice_release_all(const json_t *services, bool is_etcd);

/* Whether the API server is a static pod: its end is to be waited for, as kubelet gives it 30 s. */
bool restoreservice_has_api_pod(const json_t *services);

/*
 * How long no sign of etcd must have been seen before it counts as stopped. Between two starts of a
 * static pod that fails there is none, and kubelet may start it once more until it notices that the
 * manifest is gone, fileCheckFrequency later. 0 for units, which systemd stops at once.
 */
int64_t restoreservice_settle_us(const json_t *services);
