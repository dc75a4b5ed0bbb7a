/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Takes off whatever a snapshot was packed in: age, then zstd, then a bundle, each of which may be
 * there or not. What is there is told by the first bytes of each layer, as a file's name may have
 * been lost on the way.
 */

#include <stdbool.h>

#include "etcdwatch/worker/pack/age.h"
#include "etcdwatch/worker/pack/extract.h"
#include "etcdwatch/worker/common/problem.h"
#include "etcdwatch/worker/common/sink.h"

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
