/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A snapshot that etcdwatch takes becomes a file of the user who asked for it. The daemon passes a
 * descriptor, so that neither of the two opens a path that the other chooses: the file is made with
 * the rights of the user who runs this program, and read with those of the daemon.
 */

#include <jansson.h>
#include <sys/types.h>

#include "cli/cli.h"

struct save_file {
	const char *path; /* borrowed */
	char *temporary;  /* NULL: nothing was copied */
	off_t bytes;      /* that were copied, and whose digest fits */
	int code;         /* CLI_OK, or what went wrong was said */
};

/* Copies what the descriptor has into a temporary file next to `path`, syncs it and checks its
 * digest. What is wrong is said on standard error. */
void save_file_copy(struct save_file *file, const char *path, int fd);

/* Gives the copy its name, over what has that name, if it is the snapshot of that catalogue entry
 * (NULL: the daemon has none), and prints what `talosctl etcd snapshot` prints. Else the file that
 * had the name is as it was. CLI_OK, or what is wrong is said. */
int save_file_keep(struct save_file *file, const struct cli *cli, const json_t *entry);

/* Removes what has not got its name. */
void save_file_fini(struct save_file *file);
