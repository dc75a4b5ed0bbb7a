/* SPDX-License-Identifier: Apache-2.0 */
#include "base/endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/un.h>

#include "base/macro.h"
#include "tests/unit/check.h"

static void test_parse(void)
{
	static const struct {
		const char *text;
		uint16_t default_port;
		const char *canonical; /* NULL: refused */
	} cases[] = {
	    {"10.0.0.5:6443", 0, "10.0.0.5:6443"},
	    {"10.0.0.5:6443", 1, "10.0.0.5:6443"},
	    {"10.0.0.5", 6443, "10.0.0.5:6443"},
	    {"10.0.0.5:1", 0, "10.0.0.5:1"},
	    {"10.0.0.5:65535", 0, "10.0.0.5:65535"},
	    {"[FD00::5]:6443", 0, "[fd00::5]:6443"},
	    {"[fd00::5]", 6443, "[fd00::5]:6443"},
	    {"fd00::5", 6443, "[fd00::5]:6443"},
	    {"::1", 6443, "[::1]:6443"},
	    {"::", 6443, "[::]:6443"},
	    {"[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535", 0,
	     "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535"},
	    /* Eight groups: the last one is no port. */
	    {"fd00:0:0:0:0:0:0:6443", 1, "[fd00::6443]:1"},
	    {"", 6443, NULL},
	    {"10.0.0.5", 0, NULL},
	    {"fd00::5", 0, NULL},
	    {"[fd00::5]", 0, NULL},
	    {"10.0.0.5:", 6443, NULL},
	    {"10.0.0.5:0", 6443, NULL},
	    {"10.0.0.5:65536", 0, NULL},
	    {"10.0.0.5:65537", 0, NULL},
	    {"10.0.0.5:100000", 0, NULL},
	    {"10.0.0.5:4294973739", 0, NULL},
	    {"10.0.0.5:06443", 0, NULL},
	    {"10.0.0.5:+6443", 0, NULL},
	    {"10.0.0.5:-1", 0, NULL},
	    {"10.0.0.5: 6443", 0, NULL},
	    {"10.0.0.5:6443 ", 0, NULL},
	    {"10.0.0.5:0x10", 0, NULL},
	    {"10.0.0.5:https", 0, NULL},
	    {" 10.0.0.5:6443", 0, NULL},
	    {"10.0.0.5:1:2", 0, NULL},
	    {"10.0.0.5/32:6443", 0, NULL},
	    {":6443", 0, NULL},
	    {"[]:6443", 0, NULL},
	    {"[10.0.0.5]:6443", 0, NULL},
	    {"[fd00::5:6443", 0, NULL},
	    {"[fd00::5]6443", 0, NULL},
	    {"[fd00::5]]:6443", 0, NULL},
	    {"[fd00::5]:", 6443, NULL},
	    {"[[fd00::5]]:6443", 0, NULL},
	    {"fd00::5]:6443", 0, NULL},
	    {"[fe80::1%eth0]:6443", 0, NULL},
	    {"[::ffff:10.0.0.5]:6443", 0, NULL},
	    {"[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:6443", 0, NULL},
	    {"localhost:6443", 0, NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct endpoint e = {.port = 99};
		char text[ENDPOINT_TEXT_MAX];
		int r = endpoint_parse(cases[i].text, cases[i].default_port, &e);

		if (!CHECK_EQ_INT(r, cases[i].canonical != NULL ? 0 : -EINVAL))
			(void) fprintf(stderr, "in the case '%s'\n", cases[i].text);
		if (cases[i].canonical == NULL)
			CHECK(e.port == 99 && !addr_is_set(&e.addr));
		else
			CHECK_EQ_STR(endpoint_format(&e, text), cases[i].canonical);
	}
}

static void test_order(void)
{
	/* In ascending order. */
	static const char *const texts[] = {"10.0.0.4:65535", "10.0.0.5:1",   "10.0.0.5:256",
	                                    "10.0.0.5:6443",  "[::1]:1",      "[::1]:2",
	                                    "[fd00::1]:443",  "[fd00::1]:444"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(texts); k++) {
			struct endpoint a = {0}, b = {0};
			int order;

			CHECK_EQ_INT(endpoint_parse(texts[i], 0, &a) + endpoint_parse(texts[k], 0, &b), 0);
			order = endpoint_compare(&a, &b);
			CHECK_EQ_INT((order > 0) - (order < 0), (i > k) - (i < k));
			CHECK_EQ_INT(endpoint_equal(&a, &b), i == k);
		}
	}
}

/* What lies behind the address is no leftover of the caller's stack. */
static bool rest_is_zero(const struct sockaddr_storage *storage, size_t len)
{
	const uint8_t *bytes = (const uint8_t *) storage;

	for (size_t i = len; i < sizeof(*storage); i++) {
		if (bytes[i] != 0)
			return false;
	}
	return true;
}

/* The kernel's view, byte by byte, and back. */
static void test_sockaddr(void)
{
	static const uint8_t four[4] = {10, 0, 0, 5}, six[16] = {0xfd, [15] = 5};
	struct sockaddr_storage storage;
	struct endpoint e = {0}, back = {0};
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	CHECK_EQ_INT(endpoint_parse("10.0.0.5:6443", 0, &e), 0);
	memset(&storage, 0xff, sizeof(storage));
	CHECK_EQ_INT(endpoint_to_sockaddr(&e, &storage), sizeof(in));
	CHECK(rest_is_zero(&storage, sizeof(in)));
	memcpy(&in, &storage, sizeof(in));
	CHECK_EQ_INT(in.sin_family, AF_INET);
	CHECK_EQ_INT(in.sin_port, htons(6443));
	CHECK(memcmp(&in.sin_addr, four, sizeof(four)) == 0);
	CHECK_EQ_INT(endpoint_from_sockaddr((struct sockaddr *) &storage, &back), 0);
	CHECK(endpoint_equal(&e, &back));

	CHECK_EQ_INT(endpoint_parse("[fd00::5]:6443", 0, &e), 0);
	memset(&storage, 0xff, sizeof(storage));
	CHECK_EQ_INT(endpoint_to_sockaddr(&e, &storage), sizeof(in6));
	memcpy(&in6, &storage, sizeof(in6));
	CHECK_EQ_INT(in6.sin6_family, AF_INET6);
	CHECK_EQ_INT(in6.sin6_port, htons(6443));
	CHECK(in6.sin6_flowinfo == 0 && in6.sin6_scope_id == 0);
	CHECK(memcmp(&in6.sin6_addr, six, sizeof(six)) == 0);
	CHECK_EQ_INT(endpoint_from_sockaddr((struct sockaddr *) &storage, &back), 0);
	CHECK(endpoint_equal(&e, &back));
}

/* A listener on "::" sees clients of IPv4 as ::ffff:10.0.0.5. */
static void test_mapped(void)
{
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(6443)};
	char text[ENDPOINT_TEXT_MAX];
	struct endpoint e = {0};

	CHECK_EQ_INT(inet_pton(AF_INET6, "::ffff:10.0.0.5", &in6.sin6_addr), 1);
	CHECK_EQ_INT(endpoint_from_sockaddr((struct sockaddr *) &in6, &e), 0);
	CHECK_EQ_STR(endpoint_format(&e, text), "10.0.0.5:6443");
}

static void test_other_families(void)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "/x"};
	struct endpoint e = {.port = 99};

	CHECK_EQ_INT(endpoint_from_sockaddr((struct sockaddr *) &un, &e), -EAFNOSUPPORT);
	CHECK_EQ_INT(e.port, 99);
}

int main(void)
{
	test_parse();
	test_order();
	test_sockaddr();
	test_mapped();
	test_other_families();
	return check_result();
}
