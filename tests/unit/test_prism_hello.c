/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a client has said enough, byte by byte. */
#include "prism/opening.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/macro.h"
#include "base/mem.h"
#include "tests/unit/check.h"

#define R(len) "\x16\x03\x01\x00" len
#define WHOLE_6 "\x01\x00\x00\x02xy" /* a message of six bytes */

static void test_table(void)
{
#define TEXT(s) s, sizeof(s) - 1
	static const struct {
		const char *first;
		size_t len;
		enum hello want;
	} cases[] = {
	    {TEXT(""), HELLO_PART},
	    {TEXT("\x16"), HELLO_PART},
	    {TEXT("\x16\x03\x01"), HELLO_PART},
	    {TEXT(R("\x06")), HELLO_PART},
	    {TEXT(R("\x06") "\x01"), HELLO_PART},
	    {TEXT(R("\x06") "\x01\x00\x00\x02x"), HELLO_PART},
	    {TEXT(R("\x06") WHOLE_6), HELLO_WHOLE},
	    /* What comes behind it does not matter. */
	    {TEXT(R("\x06") WHOLE_6 "garbage"), HELLO_WHOLE},
	    {TEXT(R("\x04") "\x01\x00\x00\x00"), HELLO_WHOLE},
	    /* Spread over records, its header too. */
	    {TEXT(R("\x02") "\x01\x00" R("\x04") "\x00\x02xy"), HELLO_WHOLE},
	    {TEXT(R("\x02") "\x01\x00" R("\x03") "\x00\x02x"), HELLO_PART},
	    {TEXT(R("\x02") "\x01\x00" R("\x03") "\x00\x02x" R("\x01") "y"), HELLO_WHOLE},
	    {TEXT(R("\x01") "\x01"), HELLO_PART},
	    /* Longer than what was sent of it. */
	    {TEXT(R("\x06") "\x01\x00\x00\x03xy"), HELLO_PART},
	    {TEXT(R("\x06") "\x01\xff\xff\xffxy"), HELLO_PART},
	    /* Something else. */
	    {TEXT("GET / HTTP/1.1\r\n\r\n"), HELLO_FOREIGN},
	    {TEXT("\x16\x02\x01"), HELLO_FOREIGN},
	    {TEXT("\x15\x03\x01\x00\x02\x01\x00"), HELLO_FOREIGN},
	    {TEXT(R("\x06") "\x02\x00\x00\x02xy"), HELLO_FOREIGN},
	    {TEXT(R("\x00")), HELLO_FOREIGN},
	    {TEXT("\x16\x03\x01\x40\x01"), HELLO_FOREIGN}, /* 16385 */
	    {TEXT("\x16\x03\x01\x40\x00"), HELLO_PART},
	    {TEXT(R("\x02") "\x01\x00"
	                    "hello"),
	     HELLO_FOREIGN},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		/* In memory of its own, so that a look beyond the end is seen. */
		char *bytes = xmemdup(cases[i].first, cases[i].len);

		if (!CHECK_EQ_INT(hello_look(bytes, cases[i].len), cases[i].want))
			(void) fprintf(stderr, "  case %zu\n", i);
		free(bytes);
	}
}

/* Any prefix of a whole one is a part, and no bytes at all make it look beyond the end. */
static void test_prefixes_and_noise(void)
{
	static const char whole[] = R("\x02") "\x01\x00" R("\x03") "\x00\x02x" R("\x01") "y";
	uint64_t x = 88172645463325252;

	for (size_t len = 0; len < sizeof(whole) - 1; len++) {
		char *bytes = xmemdup(whole, len);

		CHECK_EQ_INT(hello_look(bytes, len), HELLO_PART);
		free(bytes);
	}
	for (int i = 0; i < 20000; i++) {
		size_t len = (size_t) (x >> 20) % 64;
		char *bytes = xcalloc(1, len + 1);
		char *exact;

		for (size_t k = 0; k < len; k++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			bytes[k] = (char) (x % 5 == 0 ? x >> 32 : (uint64_t) "\x16\x03\x01\x00"[k % 4]);
		}
		exact = xmemdup(bytes, len);
		(void) hello_look(exact, len);
		free(exact);
		free(bytes);
	}
}

int main(void)
{
	test_table();
	test_prefixes_and_noise();
	return check_result();
}
