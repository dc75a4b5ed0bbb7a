/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thin cover of OpenSSL's one-shot digests, so that its headers stay in lib/web.
 */
#include "web/digest.h"

#include <openssl/evp.h>
#include <stdlib.h>

void digest_sha256(const void *data, size_t len, uint8_t ret_digest[static DIGEST_SHA256_BYTES])
{
	/* It can fail only for want of memory or of the provider that OpenSSL itself brings. */
	if (EVP_Digest(data, len, ret_digest, NULL, EVP_sha256(), NULL) != 1)
		abort();
}
