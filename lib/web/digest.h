/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Message digests, by OpenSSL. Pure.
 */

#include <stddef.h>
#include <stdint.h>

#define DIGEST_SHA256_BYTES 32

void digest_sha256(const void *data, size_t len, uint8_t ret_digest[static DIGEST_SHA256_BYTES]);
