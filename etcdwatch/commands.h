/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The commands of etcdwatch's control socket: those on the cluster,
 * `etcd snapshot jobs`, `list`, `save`, `delete`, `prune` and `accept`, `etcd drill`, `metrics`.
 * docs/control.md describes what they answer.
 */

#include "base/cleanup.h"

struct commands;
struct daemon;
struct endpoint;
struct service;

/* Opens the control socket, and the port for metrics; AF_UNSPEC: none. daemon is borrowed until
 * commands_free(), and the control socket is closed before that. 0 or -errno. */
int commands_new(struct service *service, const struct endpoint *metrics_at, struct daemon *daemon,
                 struct commands **ret_commands);
void commands_free(struct commands *commands);
DEFINE_AUTO(struct commands, commands_free);
