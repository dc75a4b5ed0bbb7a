/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Before prism becomes another process it asks: would that one start? Runs the program, as it lies
 * on disk now, with the own command line and --check. What it has to say goes to standard error,
 * which is the log.
 */

#include <ev.h>
#include <stdbool.h>

#include "base/cleanup.h"

#define RELOAD_CHECK_S 10

struct reload_check;

/* Once, never before reload_check_new() returned. It may free the check. */
typedef void (*reload_checked_fn)(bool good, void *userdata);

/* argv ends with NULL. 0 or -errno. */
int reload_check_new(struct ev_loop *ev, const char *program, char *const *argv,
                     reload_checked_fn checked, void *userdata, struct reload_check **ret_check);
void reload_check_free(struct reload_check *check); /* ends the program if it still runs */
DEFINE_AUTO(struct reload_check, reload_check_free);
