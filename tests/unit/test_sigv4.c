/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures: the four examples of S3's own documentation, encoding, and the order of queries. */
#include "web/sigv4.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "tests/unit/check.h"

#define EMPTY_SHA256 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define TEXT_SHA256 "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"
#define DATE "20130524T000000Z"
#define HOST "examplebucket.s3.amazonaws.com"

static const struct sigv4_key example_key = {
    .access_key = "AKIAIOSFODNN7EXAMPLE",
    .secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    .region = "us-east-1",
};

#define HEADERS_MAX 6
#define PAIRS_MAX 3

struct example {
	const char *method;
	const char *path;
	struct sigv4_pair query[PAIRS_MAX];
	struct sigv4_pair headers[HEADERS_MAX];
	const char *sha256;
	const char *names;
	const char *signature;
};

/* As the documentation prints them. */
static const struct example examples[] = {
    {
        .method = "GET",
        .path = "/test.txt",
        .headers = {{"host", HOST},
                    {"range", "bytes=0-9"},
                    {"x-amz-content-sha256", EMPTY_SHA256},
                    {"x-amz-date", DATE}},
        .sha256 = EMPTY_SHA256,
        .names = "host;range;x-amz-content-sha256;x-amz-date",
        .signature = "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
    },
    {
        .method = "PUT",
        .path = "/test$file.text",
        .headers = {{"date", "Fri, 24 May 2013 00:00:00 GMT"},
                    {"host", HOST},
                    {"x-amz-content-sha256", TEXT_SHA256},
                    {"x-amz-date", DATE},
                    {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
        .sha256 = TEXT_SHA256,
        .names = "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
        .signature = "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
    },
    {
        .method = "GET",
        .path = "/",
        .query = {{"lifecycle", ""}},
        .headers = {{"host", HOST}, {"x-amz-content-sha256", EMPTY_SHA256}, {"x-amz-date", DATE}},
        .sha256 = EMPTY_SHA256,
        .names = "host;x-amz-content-sha256;x-amz-date",
        .signature = "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
    },
    {
        .method = "GET",
        .path = "/",
        /* Not in order. */
        .query = {{"prefix", "J"}, {"max-keys", "2"}},
        .headers = {{"host", HOST}, {"x-amz-content-sha256", EMPTY_SHA256}, {"x-amz-date", DATE}},
        .sha256 = EMPTY_SHA256,
        .names = "host;x-amz-content-sha256;x-amz-date",
        .signature = "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
    },
};

static size_t count(const struct sigv4_pair *pairs, size_t max)
{
	size_t n = 0;

	while (n < max && pairs[n].name != NULL)
		n++;
	return n;
}

static void test_examples(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
		const struct example *e = &examples[i];
		AUTO(free) char *path = sigv4_encode_path(e->path);
		AUTO(free) char *query = sigv4_encode_query(e->query, count(e->query, PAIRS_MAX));
		const struct sigv4_request request = {.method = e->method,
		                                      .path = path,
		                                      .query = query,
		                                      .headers = e->headers,
		                                      .n_headers = count(e->headers, HEADERS_MAX),
		                                      .payload_sha256 = e->sha256,
		                                      .date = DATE};
		AUTO(free) char *got = sigv4_authorization(&example_key, &request);
		char want[512];

		(void) snprintf(want, sizeof(want),
		                "AWS4-HMAC-SHA256 "
		                "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
		                "SignedHeaders=%s, Signature=%s",
		                e->names, e->signature);
		CHECK_EQ_STR(got, want);
	}
}

static void test_path(void)
{
	static const struct {
		const char *path;
		const char *encoded;
	} cases[] = {
	    {"/", "/"},
	    {"/a/b-c_d.e~f", "/a/b-c_d.e~f"},
	    {"/a//b/../c", "/a//b/../c"},
	    {"/a b+c&d=e?f#g%h", "/a%20b%2Bc%26d%3De%3Ff%23g%25h"},
	    {"/\xc3\xa4", "/%C3%A4"},
	    {"/*'()!:@,;$\x01\x7f", "/%2A%27%28%29%21%3A%40%2C%3B%24%01%7F"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) char *encoded = sigv4_encode_path(cases[i].path);

		CHECK_EQ_STR(encoded, cases[i].encoded);
	}
}

static void test_query(void)
{
	static const struct sigv4_pair prefixes[] = {{"a-b", "1"}, {"a", "2"}, {"a.b", "3"}};
	static const struct sigv4_pair same[] = {{"b", "/"}, {"a", "z"}, {"a", " "}};
	AUTO(free) char *none = sigv4_encode_query(NULL, 0);
	/* A name comes before one that it begins, which "=" would turn round. */
	AUTO(free) char *first = sigv4_encode_query(prefixes, ARRAY_SIZE(prefixes));
	AUTO(free) char *second = sigv4_encode_query(same, ARRAY_SIZE(same));

	CHECK_EQ_STR(none, "");
	CHECK_EQ_STR(first, "a=2&a-b=1&a.b=3");
	CHECK_EQ_STR(second, "a=%20&a=z&b=%2F");
}

int main(void)
{
	test_examples();
	test_path();
	test_query();
	return check_result();
}
