/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The way back: whatever `pack` made becomes the snapshot file again, which is there whole and
 * checked or not at all. Nothing that is there is overwritten.
 */

#include <stdbool.h>

#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/common/sink.h"
#include "etcdwatch/worker/pack/codec.h"
#include "etcdwatch/worker/pack/unbundle.h"

/*
 * Takes off whatever a snapshot was packed in: age, then zstd, then a bundle, each of which may be
 * there or not. What is there is told by the first bytes of each layer, as a file's name may have
 * been lost on the way.
 */

struct opener_keys {
	const char *const *files; /* of age identities */
	size_t n_files;
	const struct age_identity *identity; /* instead of them, or NULL */
};

struct opener_found {
	bool age;
	bool zstd;
	bool bundle;
};

/* Enough of a file to tell by. */
#define OPENER_HEAD_BYTES 263

/* Whether a file that begins so has any of the layers. */
bool opener_is_packed(const void *head, size_t len);

/* Takes `plain`, which gets the snapshot; borrows the rest. `extract` may be NULL. */
struct sink *opener_new(const struct opener_keys *keys, struct extract *extract, struct sink *plain,
                        struct opener_found *found, struct problem *problem);

struct unpack_request {
	const char *path;
	const char *to; /* NULL: the same without .age, .zst, .tar */
	/* An open file without a name to write into; then `to` is only for sentences. NULL: none. */
	const int *to_fd;
	struct opener_keys keys;
	const char *extra_dir;     /* for the other files of a bundle, or NULL */
	const char *packed_sha256; /* what is known of them, or NULL */
	const char *plain_sha256;
	uint64_t plain_bytes; /* of the snapshot in it; 0: not known, then the disk is the bound */
};

struct unpack_result {
	char *path; /* the caller frees it */
	struct tap_result packed;
	struct tap_result plain;
	struct opener_found found;
};

int unpack_run(const struct unpack_request *request, struct problem *problem,
               struct unpack_result *ret_result);
