/* SPDX-License-Identifier: Apache-2.0 */
#include "base/addr.h"

#include <errno.h>

#include "base/macro.h"
#include "tests/unit/check.h"

static void test_parse(void)
{
	static const struct {
		const char *text;
		const char *canonical; /* NULL: refused */
	} cases[] = {
	    {"10.0.0.5", "10.0.0.5"},
	    {"255.255.255.255", "255.255.255.255"},
	    {"0.0.0.0", "0.0.0.0"},
	    {"2001:DB8:0:0::1", "2001:db8::1"},
	    {"::", "::"},
	    {"fe80::1", "fe80::1"},
	    {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
	    {"", NULL},
	    {"10.0.0", NULL},
	    {"10.0.0.256", NULL},
	    {"10.0.0.05", NULL},
	    {" 10.0.0.5", NULL},
	    {"10.0.0.5/32", NULL},
	    {"0x0a000005", NULL},
	    {"fe80::1%eth0", NULL},
	    {"[::1]", NULL},
	    {"::ffff:10.0.0.5", NULL},
	    {"::ffff:a00:5", NULL},
	    {"host", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct addr a = {.family = 99};
		char text[ADDR_TEXT_MAX];
		int r = addr_parse(cases[i].text, &a);

		if (!CHECK_EQ_INT(r, cases[i].canonical != NULL ? 0 : -EINVAL))
			(void) fprintf(stderr, "in the case '%s'\n", cases[i].text);
		if (cases[i].canonical == NULL)
			CHECK_EQ_INT(a.family, 99);
		else
			CHECK_EQ_STR(addr_format(&a, text), cases[i].canonical);
	}
}

static void test_prefix(void)
{
	static const struct {
		const char *text;
		const char *canonical;
	} cases[] = {
	    {"10.0.0.5", "10.0.0.5/32"},
	    {"10.0.0.5/0", "10.0.0.5/0"},
	    {"10.0.0.5/24", "10.0.0.5/24"},
	    {"2001:db8::1", "2001:db8::1/128"},
	    {"2001:db8::1/64", "2001:db8::1/64"},
	    {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128",
	     "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128"},
	    {"10.0.0.5/33", NULL},
	    {"2001:db8::1/129", NULL},
	    {"10.0.0.5/", NULL},
	    {"10.0.0.5/+8", NULL},
	    {"10.0.0.5/-1", NULL},
	    {"10.0.0.5/08", NULL},
	    {"10.0.0.5/ 8", NULL},
	    {"10.0.0.5/8/8", NULL},
	    {"10.0.0.5/4294967304", NULL},
	    {"/8", NULL},
	    {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/8", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct prefix p = {.len = 99};
		char text[PREFIX_TEXT_MAX];
		int r = prefix_parse(cases[i].text, &p);

		if (!CHECK_EQ_INT(r, cases[i].canonical != NULL ? 0 : -EINVAL))
			(void) fprintf(stderr, "in the case '%s'\n", cases[i].text);
		if (cases[i].canonical == NULL)
			CHECK_EQ_INT(p.len, 99);
		else
			CHECK_EQ_STR(prefix_format(&p, text), cases[i].canonical);
	}
}

static void test_mac(void)
{
	static const struct {
		const char *text;
		const char *canonical;
	} cases[] = {
	    {"02:00:00:00:00:01", "02:00:00:00:00:01"},
	    {"AB:cd:EF:01:23:45", "ab:cd:ef:01:23:45"},
	    {"02:00:00:00:00", NULL},
	    {"02:00:00:00:00:1", NULL},
	    {"02-00-00-00-00-01", NULL},
	    {"02:00:00:00:00:0g", NULL},
	    {"02:00:00:00:00:01:", NULL},
	    {"", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct mac m = {{1, 2, 3, 4, 5, 6}};
		char text[MAC_TEXT_MAX];
		int r = mac_parse(cases[i].text, &m);

		CHECK_EQ_INT(r, cases[i].canonical != NULL ? 0 : -EINVAL);
		CHECK_EQ_STR(mac_format(&m, text),
		             cases[i].canonical != NULL ? cases[i].canonical : "01:02:03:04:05:06");
	}
}

static void test_predicates(void)
{
	static const struct {
		const char *text;
		bool multicast, loopback, unspecified, linklocal;
	} cases[] = {
	    {"10.0.0.5", false, false, false, false},   {"224.0.0.1", true, false, false, false},
	    {"239.255.0.1", true, false, false, false}, {"240.0.0.1", false, false, false, false},
	    {"127.1.2.3", false, true, false, false},   {"0.0.0.0", false, false, true, false},
	    {"169.254.0.9", false, false, false, true}, {"2001:db8::1", false, false, false, false},
	    {"ff02::1", true, false, false, false},     {"::1", false, true, false, false},
	    {"::", false, false, true, false},          {"fe80::1", false, false, false, true},
	    {"febf::1", false, false, false, true},     {"fec0::1", false, false, false, false},
	};
	const struct addr none = {0};
	char text[ADDR_TEXT_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct addr a = {0};

		CHECK_EQ_INT(addr_parse(cases[i].text, &a), 0);
		if (!CHECK_EQ_INT(addr_is_multicast(&a), cases[i].multicast) ||
		    !CHECK_EQ_INT(addr_is_loopback(&a), cases[i].loopback) ||
		    !CHECK_EQ_INT(addr_is_unspecified(&a), cases[i].unspecified) ||
		    !CHECK_EQ_INT(addr_is_linklocal(&a), cases[i].linklocal))
			(void) fprintf(stderr, "in the case '%s'\n", cases[i].text);
		CHECK(addr_is_set(&a));
		CHECK_EQ_INT(addr_len_bytes(&a), a.family == AF_INET ? 4 : 16);
	}
	CHECK(!addr_is_set(&none) && !addr_is_unspecified(&none) && !addr_is_multicast(&none) &&
	      !addr_is_loopback(&none) && !addr_is_linklocal(&none));
	CHECK_EQ_INT(addr_len_bytes(&none), 0);
	CHECK_EQ_STR(addr_format(&none, text), "");
}

static void test_order(void)
{
	/* In ascending order. */
	static const char *const texts[] = {"0.0.0.0", "9.255.0.0", "10.0.0.4", "10.0.0.5",
	                                    "::",      "::1",       "fd00::1",  "ff02::1"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(texts); k++) {
			struct addr a = {0}, b = {0};
			int order;

			CHECK_EQ_INT(addr_parse(texts[i], &a) + addr_parse(texts[k], &b), 0);
			order = addr_compare(&a, &b);
			CHECK_EQ_INT((order > 0) - (order < 0), (i > k) - (i < k));
			CHECK_EQ_INT(addr_equal(&a, &b), i == k);
		}
	}
}

static void test_from_bytes(void)
{
	static const uint8_t bytes[16] = {10, 0, 0, 5, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
	static const struct {
		sa_family_t family;
		size_t len;
		int want;
	} cases[] = {
	    {AF_INET, 4, 0},        {AF_INET6, 16, 0},       {AF_INET, 16, -EINVAL},
	    {AF_INET6, 4, -EINVAL}, {AF_UNSPEC, 0, -EINVAL}, {AF_UNIX, 4, -EINVAL},
	    {AF_INET, 3, -EINVAL},  {AF_INET6, 17, -EINVAL},
	};
	struct addr a, parsed;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_EQ_INT(addr_from_bytes(cases[i].family, bytes, cases[i].len, &a), cases[i].want);
	/* What lies behind the four bytes of an IPv4 address does not count. */
	CHECK_EQ_INT(addr_from_bytes(AF_INET, bytes, 4, &a), 0);
	CHECK_EQ_INT(addr_parse("10.0.0.5", &parsed), 0);
	CHECK(addr_equal(&a, &parsed));
}

static void test_networks(void)
{
	static const struct {
		const char *text, *masked;
	} cases[] = {
	    {"10.1.2.255/8", "10.0.0.0/8"},        {"10.1.2.255/25", "10.1.2.128/25"},
	    {"10.1.2.255/32", "10.1.2.255/32"},    {"10.1.2.255/0", "0.0.0.0/0"},
	    {"fd00:ffff::1/17", "fd00:8000::/17"}, {"fd00::1/128", "fd00::1/128"},
	};
	struct prefix a, b;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct prefix p = {0}, masked = {0};

		CHECK(prefix_parse(cases[i].text, &p) == 0 && prefix_parse(cases[i].masked, &masked) == 0);
		CHECK_EQ_INT(prefix_is_masked(&p), prefix_equal(&p, &masked));
		CHECK(prefix_contains(&p, &p.addr) && prefix_contains(&masked, &p.addr));
		prefix_mask(&p);
		CHECK(prefix_equal(&p, &masked) && prefix_is_masked(&p));
	}
	CHECK(prefix_parse("10.0.0.0/8", &a) == 0 && prefix_parse("10.0.0.0/9", &b) == 0);
	CHECK(prefix_compare(&a, &b) < 0 && prefix_compare(&b, &a) > 0 && !prefix_equal(&a, &b));
	CHECK(prefix_parse("11.0.0.0/8", &b) == 0 && !prefix_contains(&a, &b.addr));
	CHECK(prefix_parse("a00::/8", &b) == 0 && !prefix_contains(&a, &b.addr));
}

int main(void)
{
	test_networks();
	test_parse();
	test_prefix();
	test_mac();
	test_predicates();
	test_order();
	test_from_bytes();
	return check_result();
}
