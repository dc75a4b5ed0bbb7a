/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Message digests, by OpenSSL. Pure.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

#define DIGEST_SHA256_BYTES 32
#define DIGEST_MD5_BYTES 16
#define DIGEST_BYTES_MAX 32
#define DIGEST_HEX_MAX (2 * DIGEST_BYTES_MAX + 1)

void digest_sha256(const void *data, size_t len, uint8_t ret_digest[static DIGEST_SHA256_BYTES]);
void digest_hmac_sha256(const void *key, size_t key_len, const void *data, size_t len,
                        uint8_t ret_digest[static DIGEST_SHA256_BYTES]);

/* Of what comes piece by piece. */
enum digest_kind {
	DIGEST_SHA256,
	DIGEST_MD5, /* says that nothing was damaged on its way, and nothing more */
};

struct digest;

struct digest *digest_new(enum digest_kind kind);
void digest_free(struct digest *digest);
DEFINE_AUTO(struct digest, digest_free);

void digest_update(struct digest *digest, const void *data, size_t len);

/* Of all so far; it goes on. */
void digest_peek(const struct digest *digest, uint8_t *ret_digest);

/* Of all so far; then it begins anew. */
void digest_finish(struct digest *digest, uint8_t *ret_digest);

/* The same in lower-case hexadecimal; returns `hex`. */
const char *digest_finish_hex(struct digest *digest, char hex[static DIGEST_HEX_MAX]);

/* len <= DIGEST_BYTES_MAX; returns `hex`. */
const char *digest_hex(const uint8_t *bytes, size_t len, char hex[static DIGEST_HEX_MAX]);
