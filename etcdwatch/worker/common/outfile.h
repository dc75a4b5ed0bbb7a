/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A file that is there whole or not at all. It is written under another name in the same directory
 * (".NAME.new"), synced, and only then given its own; the directory is synced too. A temporary file
 * that an earlier process left is removed first: it is of no use to anyone.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "etcdwatch/worker/common/problem.h"
#include "etcdwatch/worker/common/sink.h"
#include "web/digest.h"

struct outfile;

/* The problem is borrowed until outfile_free(). */
int outfile_new(const char *path, mode_t mode, struct problem *problem, struct outfile **ret_file);

/*
 * The same, but goes on behind what an earlier process left, of which there are ret_bytes; `digest`
 * gets them. Whoever does that knows at the end, by a digest of all, whether it belonged together.
 * A file that is not ours alone, or has another mode, is removed like that of outfile_new().
 */
int outfile_new_behind(const char *path, mode_t mode, struct digest *digest,
                       struct problem *problem, struct outfile **ret_file, uint64_t *ret_bytes);

/* One that the caller has open and that has no name: it is written from where it stands, and not
 * synced. `name` is for sentences. A copy of `fd` is kept. */
int outfile_new_at(int fd, const char *name, struct problem *problem, struct outfile **ret_file);

/* Drops what was written so far. */
int outfile_restart(struct outfile *file);

/* Removes what was not committed, if it is not to be kept for outfile_new_behind(). */
void outfile_keep(struct outfile *file);
void outfile_free(struct outfile *file);
DEFINE_AUTO(struct outfile, outfile_free);

/* What writes to it; finishing it syncs the file. Freed by whoever took it, before the file. */
struct sink *outfile_sink(struct outfile *file);

/* For one who writes at places of his choice, and reads; the file's. What is written so is synced
 * when the sink is finished. */
int outfile_fd(const struct outfile *file);

/* To read back what was written and synced, from the disk and not from memory: the position is at
 * the beginning. */
int outfile_open_again(struct outfile *file, int *ret_fd);

/* Gives it its name; a file that has it is replaced. When this returns 0, it is durable. */
int outfile_commit(struct outfile *file);
