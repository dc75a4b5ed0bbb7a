/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A snapshot that etcdwatch takes becomes a file of the user who asked for it. The daemon passes a
 * descriptor, so that neither of the two opens a path that the other chooses: the file is made with
 * the rights of the user who runs this program, and read with those of the daemon.
 */

#include <jansson.h>
#include <sys/types.h>

#include "bolt/snapshot.h"
#include "cli/common/cli.h"

struct save_file {
	const char *path; /* borrowed */
	char *temporary;  /* NULL: nothing was copied */
	int fd;           /* of that; -1: it is whole, or cannot be */
	struct snapshot_sum *sum;
	struct bolt_fault fault;
	off_t bytes;  /* that were copied */
	int priority; /* of this process, when nothing is being taken */
	int code;     /* CLI_OK, or what went wrong was said */
};

void save_file_init(struct save_file *file, const char *path);

/* Makes a temporary file next to `path`, which is empty. Like the next two, says on standard error
 * what is wrong. */
void save_file_begin(struct save_file *file);

/* Copies what the descriptor has got since, and reads the copy back for its digest. */
void save_file_copy(struct save_file *file, int fd);

/* The descriptor has all of it: copies the rest, checks the digest and syncs the copy. */
void save_file_end(struct save_file *file, int fd);

/* Gives the copy its name, over what has that name, if it is the snapshot of that catalogue entry
 * (NULL: the daemon has none), and prints what `talosctl etcd snapshot` prints. Else the file that
 * had the name is as it was. CLI_OK, or what is wrong is said. */
int save_file_keep(struct save_file *file, const struct cli *cli, const json_t *entry);

/* Removes what has not got its name. */
void save_file_fini(struct save_file *file);
