/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How much room a disk has, asked before something is written whose size is known, or is said by
 * somebody else: a disk that is full stops whoever else writes to it, etcd above all.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/statvfs.h>
#include <sys/types.h>

#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/common/sink.h"
#include "web/digest.h"

/* Root may also write to what a file system keeps back for it, as ext4 does. */
uint64_t room_of(const struct statvfs *fs, bool is_root);

/* What we may still write where the directory is; or -errno. */
int room_free_bytes(const char *directory, uint64_t *ret_bytes);
/* What anybody may: for who leaves the rest to others, whoever we are. */
int room_common_bytes(const char *directory, uint64_t *ret_bytes);

/* Whether that many bytes fit beside `path`, a file to be, for what the sentence calls `purpose`
 * ("to fetch 'x'"). 0; -ENOSPC and NO_SPACE; what cannot be told is room enough. */
int room_check(const char *path, uint64_t need_bytes, struct problem *problem, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

/* Removes a file or a tree; links in it are removed, not followed. 0, also when nothing is there, or
 * -errno. For places that nobody else may write to: it goes by paths. */
int file_remove_tree(const char *path);

/* Removes a directory and what is in it, by descriptors: whoever may write above it cannot lead it
 * elsewhere. Links are removed, not followed. */

/*
 * `name` in the directory `holder`. 0, also when nothing is there; -EPERM, and nothing is touched,
 * when it is no directory, not this process' own, or others may write into it; what else the system
 * says, and then a part may be gone.
 */
int treerm(int holder, const char *name);

/* Files that are read from beginning to end, into a sink. */

/* Opens a regular file. */
int infile_open(const char *path, struct problem *problem, int *ret_fd, mode_t *ret_mode,
                uint64_t *ret_bytes);

/* That many bytes from where the descriptor stands, or to its end, to the sink, which is not
 * finished. -ECANCELED, or what else the system or the sink says. ret_bytes: how many; or NULL. */
int file_feed(int fd, uint64_t max_bytes, struct sink *sink, uint64_t *ret_bytes);

/* All of it from where the descriptor stands; the sink is not finished. `path` is for sentences. It
 * tells how far it is, as `step` (result.h; static). */
int infile_feed(int fd, const char *path, const char *step, struct sink *sink,
                struct problem *problem);

/*
 * A file that is there whole or not at all. It is written under another name in the same directory
 * (".NAME.new"), synced, and only then given its own; the directory is synced too. A temporary file
 * that an earlier process left is removed first: it is of no use to anyone.
 */

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
