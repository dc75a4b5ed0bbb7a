/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Units of systemd that a restore stops, keeps stopped over a reboot, and starts again. A unit is
 * held by a drop-in with ConditionPathExists=!RESTORESTATE_DIR/hold-UNIT. Each unit has a hold file
 * of its own, because etcd is released before the API servers. Functions that return int return an
 * exit code and have printed what is wrong. hold and release may be repeated.
 */

#include <stdbool.h>

/* As systemd names its files: with ".service" where that is missing. To be freed. */
char *restoreunit_name(const char *unit);

bool restoreunit_exists(const char *unit);

/* Whether it runs, waits for a restart, has failed, or is started at boot. */
bool restoreunit_may_run(const char *unit);

/* Whether systemd has stopped it, or never started it. */
bool restoreunit_is_stopped(const char *unit);

int restoreunit_hold(const char *unit);
int restoreunit_release(const char *unit);
