/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The commands of netconf's control socket: `net status`, `net apply`, `net confirm`, `net
 * rollback`, `metrics`. docs/control.md describes what they answer.
 */

#include <ev.h>

#include "base/cleanup.h"

struct commands;
struct daemon;
struct endpoint;

/* Opens <runtime_dir>/netconf.sock. daemon is borrowed until commands_free(). 0 or -errno. */
int commands_new(struct ev_loop *ev, const char *runtime_dir, struct daemon *daemon,
                 struct commands **ret_commands);
/* AF_UNSPEC: none, as at first. */
void commands_set_metrics_port(struct commands *commands, const struct endpoint *at);
void commands_free(struct commands *commands);
DEFINE_AUTO(struct commands, commands_free);
