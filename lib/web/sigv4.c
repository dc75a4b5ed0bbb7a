/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request is written in one canonical form, which is hashed; that hash, the date and the scope
 * (day, region, service) make the text that is signed, by a key that is derived from the secret one
 * for that scope alone.
 */
#include "web/sigv4.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "web/digest.h"

#define ALGORITHM "AWS4-HMAC-SHA256"
#define DAY_LEN 8

/* --- encoding --- */

static bool is_unreserved(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
	       c == '.' || c == '_' || c == '~';
}

/* `keep` is one more that stays as it is, or NUL. */
static char *encode(const char *text, char keep)
{
	char *out = xcalloc(3 * strlen(text) + 1, 1), *p = out;

	for (; *text != '\0'; text++) {
		if (is_unreserved(*text) || *text == keep)
			*p++ = *text;
		else
			p += sprintf(p, "%%%02X", (unsigned char) *text);
	}
	return out;
}

char *sigv4_encode_path(const char *path)
{
	return encode(path, '/');
}

struct encoded {
	char *name;
	char *value;
};

static int by_name(const void *a, const void *b)
{
	const struct encoded *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order != 0 ? order : strcmp(x->value, y->value);
}

char *sigv4_encode_query(const struct sigv4_pair *pairs, size_t n)
{
	AUTO(free) struct encoded *encoded = xcalloc(n + 1, sizeof(*encoded));
	char *query = xstrdup("");

	for (size_t i = 0; i < n; i++)
		encoded[i] = (struct encoded){encode(pairs[i].name, '\0'), encode(pairs[i].value, '\0')};
	qsort(encoded, n, sizeof(*encoded), by_name);
	for (size_t i = 0; i < n; i++) {
		char *longer =
		    xasprintf("%s%s%s=%s", query, i > 0 ? "&" : "", encoded[i].name, encoded[i].value);

		free(query);
		free(encoded[i].name);
		free(encoded[i].value);
		query = longer;
	}
	return query;
}

/* --- signing --- */

/* "host;x-amz-date" */
static char *names_of(const struct sigv4_request *request)
{
	char *names = xstrdup("");

	for (size_t i = 0; i < request->n_headers; i++) {
		char *longer = xasprintf("%s%s%s", names, i > 0 ? ";" : "", request->headers[i].name);

		free(names);
		names = longer;
	}
	return names;
}

static char *canonical_headers(const struct sigv4_request *request)
{
	char *text = xstrdup("");

	for (size_t i = 0; i < request->n_headers; i++) {
		char *longer =
		    xasprintf("%s%s:%s\n", text, request->headers[i].name, request->headers[i].value);

		free(text);
		text = longer;
	}
	return text;
}

static void hash_request(const struct sigv4_request *request, const char *names,
                         char hex[static DIGEST_HEX_MAX])
{
	AUTO(free) char *headers = canonical_headers(request);
	AUTO(free)
	char *text = xasprintf("%s\n%s\n%s\n%s\n%s\n%s", request->method, request->path, request->query,
	                       headers, names, request->payload_sha256);
	uint8_t hash[DIGEST_SHA256_BYTES];

	digest_sha256(text, strlen(text), hash);
	(void) digest_hex(hash, sizeof(hash), hex);
}

/* The secret, then day, region, service and an end, each signed with what the one before gave. */
static void derive_key(const struct sigv4_key *key, const char *day,
                       uint8_t ret_key[static DIGEST_SHA256_BYTES])
{
	const char *const parts[] = {key->region, "s3", "aws4_request"};
	AUTO(free) char *secret = xasprintf("AWS4%s", key->secret_key);
	uint8_t next[DIGEST_SHA256_BYTES];

	digest_hmac_sha256(secret, strlen(secret), day, DAY_LEN, ret_key);
	explicit_bzero(secret, strlen(secret));
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		digest_hmac_sha256(ret_key, DIGEST_SHA256_BYTES, parts[i], strlen(parts[i]), next);
		memcpy(ret_key, next, sizeof(next));
	}
}

char *sigv4_authorization(const struct sigv4_key *key, const struct sigv4_request *request)
{
	AUTO(free)
	char *scope = xasprintf("%.*s/%s/s3/aws4_request", DAY_LEN, request->date, key->region);
	AUTO(free) char *names = names_of(request);
	AUTO(free) char *text = NULL;
	uint8_t signing_key[DIGEST_SHA256_BYTES], signature[DIGEST_SHA256_BYTES];
	char hex[DIGEST_HEX_MAX];

	hash_request(request, names, hex);
	text = xasprintf("%s\n%s\n%s\n%s", ALGORITHM, request->date, scope, hex);
	derive_key(key, request->date, signing_key);
	digest_hmac_sha256(signing_key, sizeof(signing_key), text, strlen(text), signature);
	explicit_bzero(signing_key, sizeof(signing_key));
	return xasprintf("%s Credential=%s/%s, SignedHeaders=%s, Signature=%s", ALGORITHM,
	                 key->access_key, scope, names, digest_hex(signature, sizeof(signature), hex));
}
