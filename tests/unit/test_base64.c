/* SPDX-License-Identifier: Apache-2.0 */
/* Base64: RFC 4648's own examples, every byte, and what is refused. */
#include "base/base64.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "tests/unit/check.h"

/* What is encoded has no spaces. */
static void check_encoded(const char *data, size_t len, const char *text)
{
	AUTO(free) char *encoded = base64_encode(data, len);

	if (strpbrk(text, " \n") == NULL)
		CHECK_EQ_STR(encoded, text);
}

static void test_good(void)
{
	static const struct {
		const char *text;
		const char *data;
		size_t len;
	} cases[] = {
	    {"", "", 0},
	    {"Zg==", "f", 1},
	    {"Zm8=", "fo", 2},
	    {"Zm9v", "foo", 3},
	    {"Zm9vYg==", "foob", 4},
	    {"Zm9vYmE=", "fooba", 5},
	    {"Zm9vYmFy", "foobar", 6},
	    {" Zm9v\r\n\tYmFy\n", "foobar", 6},
	    {"Z m 9 v Y g = =", "foob", 4},
	    {"AAAA", "\0\0\0", 3},
	    {"////", "\xff\xff\xff", 3},
	    {"+/+/", "\xfb\xff\xbf", 3},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) char *data = NULL;
		size_t len = 0;

		if (!CHECK_EQ_INT(base64_decode(cases[i].text, &data, &len), 0))
			continue;
		CHECK_EQ_INT(len, cases[i].len);
		CHECK(memcmp(data, cases[i].data, len) == 0 && data[len] == '\0');
		check_encoded(cases[i].data, cases[i].len, cases[i].text);
	}
}

static void test_bad(void)
{
	static const char *const cases[] = {
	    "Z",          "Zg",       "Zg=",     "Zm9vY",        "=",
	    "==",         "===",      "====",    "Z===",         "Zg==Zg==",
	    "Zg=g",       "Zm9v=",    "Zm9vYg=", "Zm9v====",     "Zh==",
	    "Zm9=",       "Zm-v",     "Zm_v",    "Zm9v\x01YmFy", "Zm9v\xc3",
	    "-----BEGIN", "Zm9v,Zg=", "Zg== a",  "Zm9vYg==A",
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *data = NULL;
		size_t len = 7;

		if (!CHECK_EQ_INT(base64_decode(cases[i], &data, &len), -EINVAL))
			(void) fprintf(stderr, "  '%s'\n", cases[i]);
		CHECK(data == NULL && len == 7);
		free(data);
	}
}

int main(void)
{
	test_good();
	test_bad();
	return check_result();
}
