/* SPDX-License-Identifier: Apache-2.0 */
/* The first eight bytes of a SHA-1, as a big-endian number: of the URLs in order and the token, or
 * of the members' ids in order. */
#include "bolt/memberid.h"

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/openssl.h"
#include "bolt/bytes.h"

static uint64_t digest(const void *data, size_t len)
{
	uint8_t hash[SHA_DIGEST_LENGTH];

	openssl_expect(EVP_Digest(data, len, hash, NULL, EVP_sha1(), NULL), "EVP_Digest");
	return bytes_be64(hash);
}

static int compare_texts(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

uint64_t memberid_of_member(const char *const *peer_urls, size_t n, const char *token)
{
	AUTO(free) const char **sorted = xcalloc(n + 1, sizeof(*sorted));
	AUTO(free) char *text = NULL;
	size_t len = strlen(token), at = 0;

	for (size_t i = 0; i < n; i++) {
		sorted[i] = peer_urls[i];
		len += strlen(peer_urls[i]);
	}
	qsort(sorted, n, sizeof(*sorted), compare_texts);
	sorted[n] = token;
	text = xcalloc(1, len + 1);
	for (size_t i = 0; i <= n; i++) {
		size_t part = strlen(sorted[i]);

		memcpy(text + at, sorted[i], part);
		at += part;
	}
	return digest(text, len);
}

static int compare_ids(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

uint64_t memberid_of_cluster(const uint64_t *member_ids, size_t n)
{
	AUTO(free) uint64_t *ids = xmemdup(member_ids, n * sizeof(*ids));

	qsort(ids, n, sizeof(*ids), compare_ids);
	for (size_t i = 0; i < n; i++)
		ids[i] = htobe64(ids[i]);
	return digest(ids, n * sizeof(*ids));
}
