/* SPDX-License-Identifier: Apache-2.0 */
/* URLs of configurations, and of what etcd says of its members. */
#include "base/conf_check.h"

#include "base/macro.h"
#include "tests/unit/check.h"

static void test_parse(void)
{
	static const struct {
		const char *text;
		struct conf_url want;
	} cases[] = {
	    {"https://10.0.0.1:2379", {true, "10.0.0.1", true, true, ""}},
	    {"http://10.0.0.1", {false, "10.0.0.1", true, false, ""}},
	    {"https://[fd00::1]:6443/readyz?x#y", {true, "fd00::1", true, true, "/readyz?x#y"}},
	    {"https://s3.example.org/b", {true, "s3.example.org", false, false, "/b"}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct conf_url url = {0};

		CHECK_EQ_STR(conf_parse_url(cases[i].text, &url), NULL);
		CHECK_EQ_STR(url.host, cases[i].want.host);
		CHECK_EQ_STR(url.rest, cases[i].want.rest);
		CHECK_EQ_INT(url.https, cases[i].want.https);
		CHECK_EQ_INT(url.is_address, cases[i].want.is_address);
		CHECK_EQ_INT(url.has_port, cases[i].want.has_port);
	}
}

static void test_wrong(void)
{
	static const struct {
		const char *text, *wrong; /* a part of it */
	} cases[] = {
	    {"10.0.0.1:2379", "does not begin with"},
	    {"ftp://10.0.0.1", "does not begin with"},
	    {"https://a b", "has a space"},
	    {"https://", "host"},
	    {"https://10.0.0.1:0", "no valid port"},
	    {"https://10.0.0.1:65536", "no valid port"},
	    {"https://10.0.0.1:", "no valid port"},
	    {"https://[10.0.0.1]", "brackets around an IPv4"},
	    {"https://10.0.0.256", "not a whole IPv4 address"},
	    {"https://N1.example.org", "in lower case"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct conf_url url = {.rest = "as it was"};
		const char *wrong = conf_parse_url(cases[i].text, &url);

		if (!CHECK(wrong != NULL && strstr(wrong, cases[i].wrong) != NULL))
			(void) fprintf(stderr, "  of '%s': %s\n", cases[i].text, wrong);
		CHECK_EQ_STR(url.rest, "as it was");
	}
}

static void test_addr(void)
{
	static const struct {
		const char *url;
		const char *want; /* NULL: none */
	} cases[] = {
	    {"https://10.0.0.1:2379", "10.0.0.1"},
	    {"http://10.0.0.1", "10.0.0.1"},
	    {"https://[fd00::1]:2379/", "fd00::1"},
	    {"https://[fd00::1]", "fd00::1"},
	    {"https://0.0.0.0:2379", "0.0.0.0"},
	    /* Nobody's address. */
	    {"https://n1.example.org:2379", NULL},
	    {"https://localhost:2379", NULL},
	    {"https://10.0.0:2379", NULL},
	    {"https://fd00::1:2379", NULL},
	    {"https://[fd00::1:2379", NULL},
	    {"https://", NULL},
	    {"unix:///run/etcd.sock", NULL},
	    {"10.0.0.1:2379", NULL},
	    {"", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct addr addr = {0};
		char text[ADDR_TEXT_MAX];
		bool is_one = conf_url_addr(cases[i].url, &addr) == 0;

		if (!CHECK_EQ_STR(is_one ? addr_format(&addr, text) : NULL, cases[i].want))
			(void) fprintf(stderr, "  of '%s'\n", cases[i].url);
	}
}

int main(void)
{
	test_parse();
	test_wrong();
	test_addr();
	return check_result();
}
