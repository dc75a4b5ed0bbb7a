/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which device is meant: patterns, expressions, selectors; and what this machine's devices are
 * known by.
 */
#include "netconf/config/selector.h"

#include <errno.h>

#include "netconf/config/resolve.h"
#include "tests/unit/netdevices.h"

static void test_glob(void)
{
	static const struct {
		const char *pattern, *text;
		bool matches;
	} cases[] = {
	    {"", "", true},
	    {"", "a", false},
	    {"*", "", true},
	    {"*", "abc", true},
	    {"a*", "abc", true},
	    {"*c", "abc", true},
	    {"a*c", "abc", true},
	    {"a*d", "abc", false},
	    {"a?c", "abc", true},
	    {"?", "", false},
	    {"*b*", "abc", true},
	    {"**", "x", true},
	    {"a*b*c", "aXbXbYc", true},
	    {"ABC", "abc", true},
	    {"a*bc", "abcbd", false},
	    {"*ab", "aab", true},
	    {"00:*", "00:1f", true},
	    {"a", "ab", false},
	    {"ab", "a", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (!CHECK_EQ_INT(selector_glob(cases[i].pattern, cases[i].text), cases[i].matches))
			(void) fprintf(stderr, "  for '%s' and '%s'\n", cases[i].pattern, cases[i].text);
	}
}

static void test_expressions(void)
{
	static const struct {
		const char *text;
		const char *matches; /* a letter for each device that it chooses */
	} cases[] = {
	    {"true", "01234"},
	    {"false", ""},
	    {"mac(link.permanent_addr) == \"02:00:00:00:00:a3\"", "0"},
	    {"mac(link.permanent_addr) == ''", "1234"},
	    {"mac(link.hardware_addr) == '02:00:00:00:00:a3'", "03"},
	    {"glob(\"02:00:*\", mac(link.permanent_addr))", "0"},
	    {"link.driver == 'igb'", "01"},
	    {"glob('igb', link.driver)", "01"},
	    {"glob(link.driver, 'igb')", "01"},
	    {"glob(link.kind, link.kind)", "01234"},
	    {"glob('*', '*')", "01234"},
	    {"link.driver != \"igb\"", "234"},
	    {"'igb' == link.driver && link.bus_path.endsWith('.1')", "1"},
	    {"link.driver == 'virtio_net' || link.kind == 'vlan'", "23"},
	    {"!(link.driver == 'igb' || link.name == 'lo')", "23"},
	    {"!!true && !false", "01234"},
	    {"link.bus_path.startsWith('0000:01') && !link.bus_path.contains('00.1')", "0"},
	    {"link.pci_id == '8086:1533' && link.driver == 'igb' || link.name == 'lo'", "014"},
	    {"link.name == 'lo' || link.pciid == '8086:1533' && link.driver == 'x'", "4"},
	    {" ( ( true ) ) ", "01234"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(expression_free) struct expression *e = NULL;
		char got[ARRAY_SIZE(devices) + 1] = "";
		const char *wrong = NULL;
		size_t at, n = 0;

		if (!CHECK_EQ_INT(expression_parse(cases[i].text, &wrong, &at, &e), 0)) {
			(void) fprintf(stderr, "  %s: %s\n", cases[i].text, wrong);
			continue;
		}
		for (size_t k = 0; k < ARRAY_SIZE(devices); k++) {
			if (expression_matches(e, &devices[k]))
				got[n++] = (char) ('0' + k);
		}
		if (!CHECK_EQ_STR(got, cases[i].matches))
			(void) fprintf(stderr, "  for %s\n", cases[i].text);
	}
}

/* Neither depth nor length of what somebody writes is a danger. */
static void test_expression_limits(void)
{
	char text[4096];
	struct expression *e = NULL;
	const char *wrong = NULL;
	size_t at = 0;

	memset(text, '(', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	CHECK_EQ_INT(expression_parse(text, &wrong, &at, &e), -EINVAL);
	CHECK_EQ_STR(wrong, "the expression is nested too deep");
	CHECK_EQ_INT(at, EXPRESSION_DEPTH_MAX);
	memset(text, '!', sizeof(text) - 1);
	CHECK_EQ_INT(expression_parse(text, &wrong, &at, &e), -EINVAL);
	text[0] = '\0';
	for (int i = 0; i < 40; i++)
		(void) strcat(text, i == 0 ? "true" : "&&true");
	CHECK_EQ_INT(expression_parse(text, &wrong, &at, &e), -EINVAL);
	CHECK_EQ_STR(wrong, "the expression is too long");
	CHECK(e == NULL);
}

static void test_selectors(void)
{
	char igb[] = "igb", bus[] = "*:01:00.0", mac[] = "02:*:A3";
	struct selector s = {.driver = igb};

	CHECK(selector_matches(&s, &devices[0]) && selector_matches(&s, &devices[1]));
	CHECK(!selector_matches(&s, &devices[2]));
	s.bus_path = bus;
	CHECK(selector_matches(&s, &devices[0]) && !selector_matches(&s, &devices[1]));
	s = (struct selector){.permanent_mac = mac};
	CHECK(selector_matches(&s, &devices[0]) && !selector_matches(&s, &devices[3]));
	s = (struct selector){.mac = mac};
	CHECK(selector_matches(&s, &devices[3]));
	CHECK(!resolve_is_candidate(&s, &devices[3]) && resolve_is_candidate(&s, &devices[0]));
	s.has_physical = true;
	CHECK(resolve_is_candidate(&s, &devices[3]) && selector_matches(&s, &devices[3]));
	CHECK(!selector_matches(&s, &devices[0]));
	CHECK(!resolve_is_candidate(&s, &devices[4]));
}

/* --- this machine --- */

static void test_devices(void)
{
	AUTO(model_free) struct model *m = model_new();
	AUTO(devices_free) struct devices *read = NULL;
	const struct device *list;
	struct link *link;
	size_t n;

	(void) model_add_link(m, "lo", LINK_LOOPBACK);
	link = model_add_link(m, "nosuchlink", LINK_OTHER);
	(void) snprintf(link->kind_name, sizeof(link->kind_name), "tun");
	link->mac.bytes[0] = 2;
	link->altnames = xcalloc(1, sizeof(*link->altnames));
	link->altnames[link->n_altnames++] = xstrdup("other");
	read = devices_read(m);
	list = devices_list(read, &n);
	if (!CHECK_EQ_INT(n, 2))
		return;
	CHECK_EQ_STR(list[0].name, "lo");
	CHECK(!list[0].is_physical && !list[1].is_physical);
	CHECK_EQ_STR(list[1].kind, "tun");
	CHECK_EQ_STR(list[1].driver, "");
	CHECK_EQ_STR(list[1].altnames[0], "other");
}

int main(void)
{
	test_glob();
	test_expressions();
	test_expression_limits();
	test_selectors();
	test_devices();
	return check_result();
}
