/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The commands of prism's control socket: `prism status`, `prism drain UPSTREAM`,
 * `prism undrain UPSTREAM`, `metrics`. docs/control.md describes what they answer.
 */

#include <ev.h>

#include "base/cleanup.h"

struct commands;
struct daemon;
struct metricsport;

/* Opens <runtime_dir>/prism.sock. metrics_port and daemon are borrowed until commands_free(). 0 or
 * -errno. */
int commands_new(struct ev_loop *ev, const char *runtime_dir, struct metricsport *metrics_port,
                 struct daemon *daemon, struct commands **ret_commands);
void commands_free(struct commands *commands);
DEFINE_AUTO(struct commands, commands_free);
