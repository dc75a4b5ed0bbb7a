/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thin cover of OpenSSL's digests, so that its headers stay in lib/web. They can fail only for
 * want of memory or of what OpenSSL itself is to have; that is said, and ends the process.
 */
#include "web/digest.h"

#include <assert.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/openssl.h"

struct digest {
	const EVP_MD *md;
	EVP_MD_CTX *ctx;
};

static void begin(struct digest *digest)
{
	openssl_expect(EVP_DigestInit_ex(digest->ctx, digest->md, NULL), "EVP_DigestInit_ex");
}

void digest_sha256(const void *data, size_t len, uint8_t ret_digest[static DIGEST_SHA256_BYTES])
{
	openssl_expect(EVP_Digest(data, len, ret_digest, NULL, EVP_sha256(), NULL), "EVP_Digest");
}

void digest_hmac_sha256(const void *key, size_t key_len, const void *data, size_t len,
                        uint8_t ret_digest[static DIGEST_SHA256_BYTES])
{
	openssl_expect(HMAC(EVP_sha256(), key, (int) key_len, data, len, ret_digest, NULL) != NULL,
	               "HMAC");
}

struct digest *digest_new(enum digest_kind kind)
{
	struct digest *digest = NEW0(struct digest);

	digest->md = kind == DIGEST_SHA256 ? EVP_sha256() : EVP_md5();
	digest->ctx = mem_expect(EVP_MD_CTX_new());
	begin(digest);
	return digest;
}

void digest_free(struct digest *digest)
{
	if (digest == NULL)
		return;
	EVP_MD_CTX_free(digest->ctx);
	free(digest);
}

void digest_update(struct digest *digest, const void *data, size_t len)
{
	openssl_expect(EVP_DigestUpdate(digest->ctx, data, len), "EVP_DigestUpdate");
}

void digest_peek(const struct digest *digest, uint8_t *ret_digest)
{
	EVP_MD_CTX *copy = mem_expect(EVP_MD_CTX_new());

	openssl_expect(EVP_MD_CTX_copy_ex(copy, digest->ctx), "EVP_MD_CTX_copy_ex");
	openssl_expect(EVP_DigestFinal_ex(copy, ret_digest, NULL), "EVP_DigestFinal_ex");
	EVP_MD_CTX_free(copy);
}

void digest_finish(struct digest *digest, uint8_t *ret_digest)
{
	openssl_expect(EVP_DigestFinal_ex(digest->ctx, ret_digest, NULL), "EVP_DigestFinal_ex");
	begin(digest);
}

const char *digest_finish_hex(struct digest *digest, char hex[static DIGEST_HEX_MAX])
{
	uint8_t bytes[DIGEST_BYTES_MAX];

	digest_finish(digest, bytes);
	return digest_hex(bytes, (size_t) EVP_MD_get_size(digest->md), hex);
}

const char *digest_hex(const uint8_t *bytes, size_t len, char hex[static DIGEST_HEX_MAX])
{
	static const char digits[] = "0123456789abcdef";

	assert(len <= DIGEST_BYTES_MAX);
	for (size_t i = 0; i < len; i++) {
		hex[2 * i] = digits[bytes[i] >> 4];
		hex[2 * i + 1] = digits[bytes[i] & 15];
	}
	hex[2 * len] = '\0';
	return hex;
}
