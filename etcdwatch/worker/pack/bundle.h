/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A snapshot together with other files, as one tar archive:
 *
 *   NAME.db              the snapshot, first
 *   extra/etc/...        the other files, with their whole path, permissions and owners
 *   manifest.json        last: what all of them are, with their sizes and SHA-256
 *
 * An archive without its manifest is not whole. The format is POSIX ustar, with a pax header before
 * an entry for what does not fit in there; libarchive writes and reads it.
 */

#include <archive_entry.h>
#include <jansson.h>

#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/common/sink.h"

#define BUNDLE_EXTRA_DIR "extra"
#define BUNDLE_MANIFEST "manifest.json"
#define BUNDLE_VERSION 1

#define BUNDLE_PATH_MAX 1024 /* of a path, and of what a link says */
/* What is bundled is certificates, keys and manifests: a larger tree was not meant. */
#define BUNDLE_FILES_MAX 10000u
#define BUNDLE_EXTRA_BYTES_MAX ((uint64_t) 1 << 30)
#define BUNDLE_DEPTH_MAX 32
#define BUNDLE_NAME_MAX 255 /* NAME_MAX of file systems */

struct bundle;

/* Writes into `next`, which it takes. */
struct bundle *bundle_new(struct sink *next, struct problem *problem);
void bundle_free(struct bundle *bundle);
DEFINE_AUTO(struct bundle, bundle_free);

/* The snapshot, from where `fd` stands: exactly n_bytes, or it is an error. `path` is for messages;
 * `name` is what it is called in the archive. */
int bundle_add_snapshot(struct bundle *bundle, int fd, const char *path, const char *name,
                        uint64_t n_bytes, struct tap_result *ret_snapshot);

/*
 * A file, or a directory with all that is in it, in the order of names. Links are kept as links,
 * but for `path` itself, which is followed. Sockets, devices and pipes are left out, with a line in
 * the log. A file that changes its size meanwhile is an error.
 */
int bundle_add_extra(struct bundle *bundle, const char *path);

/* The manifest and the end; finishes `next`. */
int bundle_finish(struct bundle *bundle);

/* --- for both directions --- */

/* One of the manifest's objects, of an entry. `sha256` is of a file. */
json_t *bundle_describe(const char *name, struct archive_entry *entry, const char *sha256);
