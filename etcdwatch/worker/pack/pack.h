/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A snapshot file becomes a packed one: compressed with zstd, encrypted with age, both, and, when
 * encrypted, bundled with other files. The plain file is removed when all of this is true: the
 * packed one was written and synced; it was read back from the disk, decrypted, decompressed and
 * found to hold the same snapshot; it has its name; its directory was synced. Whatever goes wrong
 * before, the plain file is there and no packed one with a name is not whole.
 *
 * To decrypt what is encrypted for others, a key pair is made for this one file, is one recipient
 * more, and is forgotten (codec.h).
 */

#include <stdbool.h>

#include "etcdwatch/worker/pack/codec.h"
#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/common/sink.h"

struct pack_request {
	const char *path;
	const char *name;                 /* of the snapshot in a bundle; NULL: as the file is called */
	int level;                        /* of zstd; 0: do not compress */
	struct age_recipients recipients; /* none: do not encrypt */
	const char *const *extra;
	size_t n_extra;
	const char *sha256; /* that the plain file has to have, or NULL */
	bool keep_plain;
};

struct pack_result {
	char *path; /* the plain file's, with .tar, .zst, .age for what was done; the caller frees it */
	struct tap_result packed;
	struct tap_result plain;
	bool plain_removed;
};

int pack_run(const struct pack_request *request, struct problem *problem,
             struct pack_result *ret_result);
