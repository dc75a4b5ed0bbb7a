/* SPDX-License-Identifier: Apache-2.0 */
/* Digests: the examples of FIPS 180-2, RFC 1321 and RFC 4231, at once and in pieces. */
#include "web/digest.h"

#include <openssl/err.h>
#include <openssl/sslerr.h>
#include <string.h>

#include "base/macro.h"
#include "tests/unit/aborts.h"
#include "tests/unit/check.h"

static const struct {
	enum digest_kind kind;
	const char *text;
	const char *hex;
} cases[] = {
    {DIGEST_SHA256, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {DIGEST_SHA256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {DIGEST_SHA256, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {DIGEST_MD5, "", "d41d8cd98f00b204e9800998ecf8427e"},
    {DIGEST_MD5, "abc", "900150983cd24fb0d6963f7d28e17f72"},
};

static void test_cases(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(digest_free) struct digest *digest = digest_new(cases[i].kind);
		size_t len = strlen(cases[i].text);
		char hex[DIGEST_HEX_MAX];

		/* Whole, and then once more byte by byte. */
		digest_update(digest, cases[i].text, len);
		CHECK_EQ_STR(digest_finish_hex(digest, hex), cases[i].hex);
		for (size_t k = 0; k < len; k++) {
			uint8_t so_far[DIGEST_BYTES_MAX];

			digest_peek(digest, so_far); /* changes nothing */
			digest_update(digest, cases[i].text + k, 1);
		}
		CHECK_EQ_STR(digest_finish_hex(digest, hex), cases[i].hex);
		if (cases[i].kind == DIGEST_SHA256) {
			uint8_t bytes[DIGEST_SHA256_BYTES], peeked[DIGEST_SHA256_BYTES];

			digest_sha256(cases[i].text, len, bytes);
			digest_update(digest, cases[i].text, len);
			digest_peek(digest, peeked);
			CHECK(memcmp(bytes, peeked, sizeof(bytes)) == 0);
			CHECK_EQ_STR(digest_hex(bytes, sizeof(bytes), hex), cases[i].hex);
		}
	}
}

static void test_hmac(void)
{
	uint8_t bytes[DIGEST_SHA256_BYTES];
	char hex[DIGEST_HEX_MAX];

	digest_hmac_sha256("Jefe", 4, "what do ya want for nothing?", 28, bytes);
	CHECK_EQ_STR(digest_hex(bytes, sizeof(bytes), hex),
	             "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

static void take_sum(void)
{
	uint8_t bytes[DIGEST_SHA256_BYTES];

	digest_sha256("abc", 3, bytes);
}

static void take_hmac(void)
{
	uint8_t bytes[DIGEST_SHA256_BYTES];

	digest_hmac_sha256("Jefe", 4, "abc", 3, bytes);
}

static void begin_md5(void)
{
	digest_free(digest_new(DIGEST_MD5));
}

/* Of a connection that could not be made, of which nobody has asked why. */
static void take_sum_after_tls(void)
{
	ERR_raise(ERR_LIB_SSL, SSL_R_WRONG_VERSION_NUMBER);
	take_sum();
}

/* Nobody can go on without it, and nobody is to wonder why. */
static void test_without_openssl(void)
{
	aborts_without_openssl(take_sum, "<3>event=openssl_failed call=EVP_Digest ");
	aborts_without_openssl(take_hmac, "<3>event=openssl_failed call=HMAC ");
	aborts_without_openssl(begin_md5, "<3>event=openssl_failed call=EVP_DigestInit_ex ");
	aborts_without_openssl(take_sum_after_tls, ":digital envelope routines:");
}

int main(void)
{
	test_cases();
	test_hmac();
	test_without_openssl();
	return check_result();
}
