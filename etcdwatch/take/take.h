/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Takes a snapshot of one member: streams it into a file that is called half taken
 * (leftover.h), which only whoever proves it may give another name. The loop hands bytes over in
 * large buffers, of which there are few: when the disk is slow the stream pauses. The file is there
 * whole and synced, and its digest is the one that the member sent, before the end is told as good.
 */

#include <stdint.h>

#include "base/cleanup.h"
#include "etcd/etcd.h"
#include "etcdwatch/work/disk.h"

#define TAKE_HEX_MAX 65
#define TAKE_VERSION_MAX 32
#define TAKE_REASON_MAX 512

struct take;

struct take_options {
	const char *directory; /* it is made if only its last part is missing */
	const char *job;
	const char *endpoint;    /* of the member */
	uint64_t expected_bytes; /* as the member says that its database is long; 0: not known */
	uint64_t reserve_bytes;  /* must stay free on the disk */
	unsigned stall_ms;       /* as for etcd_snapshot_start() */
};

struct take_result {
	/* 0, or -errno: -ENOSPC for the reserve too; -EBADMSG the digest is wrong; -ECANCELED. Without
	 * 0 there is no file. */
	int r;
	const char *reason; /* a sentence; "" if r is 0 */
	const char *path;
	uint64_t db_bytes;
	uint64_t file_bytes; /* with the digest */
	char db_sha256[TAKE_HEX_MAX];
	char file_sha256[TAKE_HEX_MAX];
	char server_version[TAKE_VERSION_MAX]; /* "": not told (before 3.6) */
	int64_t took_us;
};

/* The handle is gone when this returns; the file is the callee's. */
typedef void (*take_done_fn)(const struct take_result *result, void *userdata);

/* The file is there, and grows from now on; the path is borrowed. */
typedef void (*take_opened_fn)(const char *path, void *userdata);

/* Everything is copied but etcd, disk and userdata; `opened` may be NULL. */
struct take *take_start(struct etcd *etcd, struct disk *disk, const struct take_options *options,
                        take_opened_fn opened, take_done_fn done, void *userdata);

/* It ends as soon as the disk lets it, with -ECANCELED. */
void take_cancel(struct take *take);

/* Only when the disk is gone already, or from nowhere: done is not called. The file is left for the
 * next start to remove. NULL is fine. */
void take_abandon(struct take *take);

uint64_t take_bytes_so_far(const struct take *take);
uint64_t take_bytes_total(const struct take *take); /* 0: not known yet */
