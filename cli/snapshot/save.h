/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A snapshot that etcdwatch has taken and proven becomes a file of the one who asked. The daemon
 * passes a descriptor, so that neither of the two opens a path that the other chooses: the file is
 * made with the rights of who runs this program, and read with those of the daemon.
 */

#include <jansson.h>

#include "cli/cli.h"

/* Copies what the descriptor has, checks its digest, gives it its name, over what has that name,
 * and prints what `talosctl etcd snapshot` prints. `entry` is the snapshot's catalogue entry.
 * CLI_OK, or what is wrong is said on standard error; then the file is as it was. */
int etcd_save(const struct cli *cli, int fd, const json_t *entry, const char *path);
