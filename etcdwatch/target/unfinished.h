/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What this node has begun in a target and not ended: keys of snapshots that are being copied, or
 * removed. Kept in a small file, so that what a crash leaves there can be told from another node's
 * copy that is under way, and only the node that left it clears it away.
 */

#include <stddef.h>

#include "base/cleanup.h"
#include "etcdwatch/catalog/listing.h"
#include "etcdwatch/work/disk.h"

struct unfinished;

/* Of the file at `path`; nothing is read yet. disk is borrowed. */
struct unfinished *unfinished_new(struct disk *disk, const char *path);
/* When the disk is gone. */
void unfinished_free(struct unfinished *unfinished);
DEFINE_AUTO(struct unfinished, unfinished_free);

/* r 0 or -errno. What cannot be read or written is known for as long as the process lives. */
typedef void (*unfinished_done_fn)(int r, void *userdata);

void unfinished_read(struct unfinished *unfinished, unfinished_done_fn done, void *userdata);
/* It is durable when this is over. Keys are copied; those that are in it already stay. */
void unfinished_add(struct unfinished *unfinished, const struct names *keys,
                    unfinished_done_fn done, void *userdata);
/* They are ended. Written some time soon: a key too many is looked into, and found to be ended. */
void unfinished_drop(struct unfinished *unfinished, const struct names *keys);

const struct names *unfinished_keys(const struct unfinished *unfinished);
