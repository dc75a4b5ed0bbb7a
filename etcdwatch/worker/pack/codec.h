/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Encryption in the age format (age-encryption.org/v1), by the `age` program: whoever has an
 * identity decrypts with that program alone.
 */

#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/common/sink.h"

#define AGE_RECIPIENTS_MAX 64
#define AGE_KEY_MAX 256

struct age_recipients {
	const char *const *names; /* "age1...", "ssh-ed25519 AAAA..." */
	size_t n_names;
	const char *const *files; /* with one name a line */
	size_t n_files;
};

/*
 * A key pair that is good for as long as one file is checked: who encrypts has only the public keys
 * of those who may read, and can prove that what was written can be read only by being one of them.
 * The secret half is nowhere but in memory and in a pipe.
 */
struct age_identity {
	char recipient[AGE_KEY_MAX];
	char secret[AGE_KEY_MAX];
};

int age_identity_make(struct problem *problem, struct age_identity *ret_identity);
void age_identity_forget(struct age_identity *identity);

/* Stages. `next` is taken in any case, all else is borrowed for the call, but for `problem`.
 * `checker`, which may be NULL, is one recipient more. */
int age_encrypt_new(const struct age_recipients *recipients, const struct age_identity *checker,
                    struct sink *next, struct problem *problem, struct sink **ret_sink);

/* With identity files, or with the one identity, if that is not NULL. */
int age_decrypt_new(const char *const *files, size_t n_files, const struct age_identity *identity,
                    struct sink *next, struct problem *problem, struct sink **ret_sink);

/*
 * Compressing and decompressing with zstd, as stages. The frames carry a checksum, which is checked
 * on the way back, and can be read by the `zstd` program.
 */

/* Above these, zstd takes hundreds of megabytes of memory. */
#define ZSTDFLOW_LEVEL_MIN 1
#define ZSTDFLOW_LEVEL_MAX 19
/* What a frame says that a decompressor has to keep, as a power of two: 128 MiB. Ours say 8 MiB at
 * most; the `zstd` program takes as much as this without being told to take more. */
#define ZSTDFLOW_WINDOW_LOG_MAX 27

/* Each takes `next` and borrows `problem`. A stream that ends in the middle is an error when the
 * decompressor is finished. */
struct sink *zstdflow_compress_new(int level, struct sink *next, struct problem *problem);
struct sink *zstdflow_decompress_new(struct sink *next, struct problem *problem);
