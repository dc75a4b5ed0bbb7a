/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The way back: whatever `pack` made becomes the snapshot file again, which is there whole and
 * checked or not at all. Nothing that is there is overwritten.
 */

#include "etcdwatch/worker/pack/opener.h"
#include "etcdwatch/worker/common/problem.h"
#include "etcdwatch/worker/common/tap.h"

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
