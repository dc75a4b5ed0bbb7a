/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which links are made by programs that run containers, as far as a name tells: they come and go
 * with their programs, and belong to no description of a node. By the names that Docker, Podman,
 * libvirt, LXC, kube-proxy and the usual network plugins give.
 */

#include <stdbool.h>

bool containerlink_is(const char *name);
