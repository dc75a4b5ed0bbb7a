/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The snapshot that a command reads, named as for `fairlead etcd restore`: a file, packed or not,
 * an id, "latest" or s3:TARGET/ID. The command's options are cli_etcd_snapshot_options.
 */

#include "cli/cli.h"
#include "cli/snapshot/file.h"

/* CLI_OK; or it has said what is wrong, and the fault's text is set if that is about the snapshot.
 * `ret_file` must stay where it is until etcd_file_fini(), which is to be called in either case. */
int etcd_file_find(const struct cli *cli, const char *name, struct etcd_file *ret_file);
