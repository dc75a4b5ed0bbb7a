/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of upstreams: what is read from a text, what replaces what, and what the merge makes of
 * doubles, of this node's own names, of loops, and of too much. Lists are written as words:
 * "10.0.0.5:6443 [fd00::5]:6443"; without a port they mean 6443.
 */
#include "prism/endpoints.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "tests/unit/check.h"

#define WORDS_MAX 16
#define TEXT_MAX 4096

static struct endpoint endpoint_of(const char *text)
{
	struct endpoint e;

	/* What endpoint_parse() refuses may still come in as a value. */
	if (strcmp(text, "10.0.0.9:0") == 0) {
		(void) endpoint_parse("10.0.0.9", 1, &e);
		e.port = 0;
		return e;
	}
	if (endpoint_parse(text, 6443, &e) < 0) {
		(void) fprintf(stderr, "no endpoint: '%s'\n", text);
		abort();
	}
	return e;
}

static size_t endpoints_of(const char *words, struct endpoint ret_endpoints[static WORDS_MAX])
{
	AUTO(free) char *copy = xstrdup(words);
	size_t n = 0;

	for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " "))
		ret_endpoints[n++] = endpoint_of(word);
	return n;
}

static void set_list(struct endpoints_list *list, const char *words)
{
	list->n = endpoints_of(words, list->items);
}

static void put(char *text, const char *words)
{
	size_t len = strlen(text);

	(void) snprintf(text + len, TEXT_MAX - len, "%s%s", len > 0 ? " " : "", words);
}

static const char *list_text(const struct endpoints_list *list, char text[static TEXT_MAX])
{
	text[0] = '\0';
	for (size_t i = 0; i < list->n; i++) {
		char buf[ENDPOINT_TEXT_MAX];

		put(text, endpoint_format(&list->items[i], buf));
	}
	return text;
}

/* --- a text --- */

static void test_parse_text(void)
{
	static const struct {
		const char *text;
		const char *list;
		unsigned bad_line;
	} cases[] = {
	    {"", "", 0},
	    {"\n\n", "", 0},
	    {"# nothing yet\n   \t\n#\n", "", 0},
	    {"10.0.0.5\n", "10.0.0.5:6443", 0},
	    {"10.0.0.5", "10.0.0.5:6443", 0},
	    {"10.0.0.5:7000\n10.0.0.4\n", "10.0.0.5:7000 10.0.0.4:6443", 0},
	    {"fd00::5\n[fd00::6]:7000\n[fd00::7]\n", "[fd00::5]:6443 [fd00::6]:7000 [fd00::7]:6443", 0},
	    {"  10.0.0.5\t# cp-1\n\t10.0.0.6:6443   #cp-2\n", "10.0.0.5:6443 10.0.0.6:6443", 0},
	    {"10.0.0.5#cp-1\n", "10.0.0.5:6443", 0},
	    {"10.0.0.5\r\n10.0.0.6\r\n\r\n", "10.0.0.5:6443 10.0.0.6:6443", 0},
	    {"10.0.0.5\n10.0.0.5:6443\n 10.0.0.5\n", "10.0.0.5:6443", 0},
	    {"garbage\n", "", 1},
	    {"10.0.0.5\ngarbage\n10.0.0.6\nmore\n", "10.0.0.5:6443 10.0.0.6:6443", 2},
	    {"10.0.0.5 10.0.0.6\n10.0.0.7\n", "10.0.0.7:6443", 1},
	    {"https://10.0.0.5:6443\n", "", 1},
	    {"cp1.example.org\n", "", 1},
	    {"10.0.0.5:\n", "", 1},
	    {"10.0.0.5:0\n", "", 1},
	    {"10.0.0.5:65536\n", "", 1},
	    {"10.0.0.256\n", "", 1},
	    {"::ffff:10.0.0.5\n", "", 1},
	    {"0.0.0.0\n", "", 1},
	    {"::\n", "", 1},
	    {"224.0.0.1\n", "", 1},
	    {"255.255.255.255\n", "", 1},
	    {"fe80::1\n", "", 1},
	    {"\x01\x02\xff\n10.0.0.5\n", "10.0.0.5:6443", 1},
	    {"1111111111111111111111111111111111111111111111111111111111111111111111111111111111\n10.0."
	     "0.5",
	     "10.0.0.5:6443", 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct endpoints_list list = {.n = 99};
		char text[TEXT_MAX];
		unsigned bad_line = 99;

		endpoints_parse_text(cases[i].text, 6443, &list, &bad_line);
		if (!CHECK_EQ_STR(list_text(&list, text), cases[i].list) ||
		    !CHECK_EQ_INT(bad_line, cases[i].bad_line))
			(void) fprintf(stderr, "  for '%s'\n", cases[i].text);
	}
}

/* 10,000 lines: the first ENDPOINTS_MAX addresses, and the line that had no more room. */
static void test_parse_many(void)
{
	AUTO(free) char *text = xcalloc(10000, 32);
	struct endpoints_list list;
	unsigned bad_line;
	size_t len = 0;

	for (unsigned i = 0; i < 10000; i++)
		len += (size_t) sprintf(text + len, "10.0.%u.%u\n", i / 200, i % 200 + 1);
	endpoints_parse_text(text, 6443, &list, &bad_line);
	CHECK_EQ_INT(list.n, ENDPOINTS_MAX);
	CHECK_EQ_INT(bad_line, ENDPOINTS_MAX + 1);

	len = 0;
	for (unsigned i = 0; i < 10000; i++)
		len += (size_t) sprintf(text + len, "10.0.0.%u\n", i % 10 + 1);
	endpoints_parse_text(text, 6443, &list, &bad_line);
	CHECK_EQ_INT(list.n, 10);
	CHECK_EQ_INT(bad_line, 0);

	/* Lines of every length around what an address may have. */
	for (len = 0; len < 4 * ENDPOINT_TEXT_MAX; len++) {
		memset(text, '1', len);
		text[len] = '\0';
		endpoints_parse_text(text, 6443, &list, &bad_line);
		CHECK_EQ_INT(list.n, 0);
		CHECK_EQ_INT(bad_line, len > 0);
	}
}

static void test_accept(void)
{
	static const struct {
		const char *old, *update, *want;
		bool accepted;
	} cases[] = {
	    {"", "", "", true},
	    {"", "10.0.0.5:6443", "10.0.0.5:6443", true},
	    {"10.0.0.5:6443", "10.0.0.6:6443 10.0.0.7:6443", "10.0.0.6:6443 10.0.0.7:6443", true},
	    {"10.0.0.6:6443 10.0.0.7:6443", "10.0.0.5:6443", "10.0.0.5:6443", true},
	    {"10.0.0.5:6443", "", "10.0.0.5:6443", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct endpoints_list list, update;
		char text[TEXT_MAX];

		set_list(&list, cases[i].old);
		set_list(&update, cases[i].update);
		CHECK_EQ_INT(endpoints_accept(&list, &update), cases[i].accepted);
		CHECK_EQ_STR(list_text(&list, text), cases[i].want);
	}
}

/* --- the merge --- */

/* "127.0.0.1:6443(static,local)*": with its sources, and a star for the local one. */
static const char *merged_text(const struct endpoints_merged *merged, char text[static TEXT_MAX])
{
	text[0] = '\0';
	for (size_t i = 0; i < merged->n; i++) {
		const struct endpoints_entry *entry = &merged->items[i];
		char buf[ENDPOINT_TEXT_MAX], names[128] = "", item[256];

		for (unsigned s = 0; s < ENDPOINTS_N_SOURCES; s++) {
			if ((entry->from & ENDPOINTS_FROM(s)) == 0)
				continue;
			if (names[0] != '\0')
				(void) strcat(names, ",");
			(void) strcat(names, endpoints_source_name((enum endpoints_source) s));
		}
		(void) snprintf(item, sizeof(item), "%s(%s)%s", endpoint_format(&entry->endpoint, buf),
		                names, entry->local ? "*" : "");
		put(text, item);
	}
	return text;
}

struct merge_case {
	const char *name;
	const char *listeners, *addresses;
	const char *lists[ENDPOINTS_N_SOURCES];
	const char *want;
	unsigned loops;
};

#define LISTENERS "127.0.0.1:7445 [::1]:7445"
#define ADDRESSES "127.0.0.1 ::1 10.0.0.5 fd00::5"

static const struct merge_case merge_cases[] = {
    {"nothing", LISTENERS, ADDRESSES, {0}, "", 0},
    {"one source, sorted",
     LISTENERS,
     ADDRESSES,
     {[ENDPOINTS_STATIC] = "fd00::9 10.0.0.8 10.0.0.7:7000 10.0.0.7"},
     "10.0.0.7:6443(static) 10.0.0.7:7000(static) 10.0.0.8:6443(static) [fd00::9]:6443(static)",
     0},
    {"doubles are one, of all their sources",
     LISTENERS,
     ADDRESSES,
     {[ENDPOINTS_STATIC] = "10.0.0.7 10.0.0.7",
      [ENDPOINTS_DNS] = "10.0.0.8",
      [ENDPOINTS_FILE] = "10.0.0.7",
      [ENDPOINTS_SLICES] = "10.0.0.8 10.0.0.7",
      [ENDPOINTS_LASTGOOD] = "10.0.0.9"},
     "10.0.0.7:6443(static,file,slices) 10.0.0.8:6443(dns,slices) 10.0.0.9:6443(lastgood)",
     0},
    {"own addresses with the port of the local API server are the local one",
     LISTENERS,
     ADDRESSES,
     {[ENDPOINTS_LOCAL] = "127.0.0.1",
      [ENDPOINTS_STATIC] = "10.0.0.5 10.0.0.6",
      [ENDPOINTS_SLICES] = "fd00::5 10.0.0.6"},
     "10.0.0.6:6443(static,slices) 127.0.0.1:6443(static,local,slices)*",
     0},
    {"under whichever of its names it was given",
     LISTENERS,
     ADDRESSES,
     {[ENDPOINTS_LOCAL] = "10.0.0.5", [ENDPOINTS_STATIC] = "127.0.0.1 ::1"},
     "10.0.0.5:6443(static,local)*",
     0},
    {"but not with another port",
     LISTENERS,
     ADDRESSES,
     {[ENDPOINTS_LOCAL] = "127.0.0.1", [ENDPOINTS_STATIC] = "10.0.0.5:7000"},
     "10.0.0.5:7000(static) 127.0.0.1:6443(local)*",
     0},
    {"and not where no local one is known",
     LISTENERS,
     ADDRESSES,
     {[ENDPOINTS_STATIC] = "10.0.0.5 127.0.0.1"},
     "10.0.0.5:6443(static) 127.0.0.1:6443(static)",
     0},
    {"another loopback address is another server",
     LISTENERS,
     ADDRESSES,
     {[ENDPOINTS_LOCAL] = "127.0.0.1", [ENDPOINTS_STATIC] = "127.0.0.2"},
     "127.0.0.1:6443(local)* 127.0.0.2:6443(static)",
     0},
    {"a listener is a loop",
     LISTENERS,
     ADDRESSES,
     {[ENDPOINTS_STATIC] = "127.0.0.1:7445 10.0.0.6",
      [ENDPOINTS_FILE] = "127.0.0.1:7445 [::1]:7445"},
     "10.0.0.6:6443(static)",
     2},
    {"other addresses with that port are not",
     LISTENERS,
     ADDRESSES,
     {[ENDPOINTS_STATIC] = "127.0.0.2:7445 10.0.0.5:7445 10.0.0.6:7445"},
     "10.0.0.5:7445(static) 10.0.0.6:7445(static) 127.0.0.2:7445(static)",
     0},
    {"unless it listens on all addresses",
     "0.0.0.0:7445",
     ADDRESSES,
     {[ENDPOINTS_STATIC] =
          "127.0.0.1:7445 127.9.9.9:7445 10.0.0.5:7445 10.0.0.6:7445 10.0.0.5:7446"},
     "10.0.0.5:7446(static) 10.0.0.6:7445(static)",
     3},
    {"of both families",
     "[::]:7445",
     ADDRESSES,
     {[ENDPOINTS_STATIC] = "127.0.0.1:7445 [::1]:7445 10.0.0.5:7445 [fd00::5]:7445 [fd00::6]:7445"},
     "[fd00::6]:7445(static)",
     4},
    {"a loop that several name is one",
     LISTENERS,
     ADDRESSES,
     {[ENDPOINTS_STATIC] = "127.0.0.1:7445", [ENDPOINTS_SLICES] = "127.0.0.1:7445"},
     "",
     1},
    {"prism has the own address, the API server the loopback one",
     "10.0.0.5:6443",
     ADDRESSES,
     {[ENDPOINTS_LOCAL] = "127.0.0.1", [ENDPOINTS_SLICES] = "10.0.0.5 10.0.0.6"},
     "10.0.0.6:6443(slices) 127.0.0.1:6443(local)*",
     1},
    {"a local one that is prism itself",
     "0.0.0.0:6443",
     ADDRESSES,
     {[ENDPOINTS_LOCAL] = "127.0.0.1", [ENDPOINTS_SLICES] = "10.0.0.5 10.0.0.6"},
     "10.0.0.6:6443(slices)",
     2},
    {"what cannot be dialled",
     LISTENERS,
     ADDRESSES,
     {[ENDPOINTS_SLICES] =
          "0.0.0.0 :: 224.0.0.1 ff02::1 255.255.255.255 fe80::1 10.0.0.9:0 10.0.0.6",
      [ENDPOINTS_LOCAL] = "0.0.0.0"},
     "10.0.0.6:6443(slices)",
     0},
    {"an IPv4 link-local one can",
     LISTENERS,
     ADDRESSES,
     {[ENDPOINTS_STATIC] = "169.254.1.1"},
     "169.254.1.1:6443(static)",
     0},
};

static void test_merge(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(merge_cases); i++) {
		const struct merge_case *c = &merge_cases[i];
		struct endpoints_list lists[ENDPOINTS_N_SOURCES] = {0};
		struct endpoint listeners[WORDS_MAX], own[WORDS_MAX];
		struct addr addresses[WORDS_MAX];
		struct endpoints_self self = {.listeners = listeners, .addresses = addresses};
		struct endpoints_merged merged;
		char text[TEXT_MAX];

		self.n_listeners = endpoints_of(c->listeners, listeners);
		self.n_addresses = endpoints_of(c->addresses, own);
		for (size_t k = 0; k < self.n_addresses; k++)
			addresses[k] = own[k].addr;
		for (unsigned s = 0; s < ENDPOINTS_N_SOURCES; s++)
			set_list(&lists[s], c->lists[s] != NULL ? c->lists[s] : "");
		endpoints_merge(lists, &self, &merged);
		if (!CHECK_EQ_STR(merged_text(&merged, text), c->want) ||
		    !CHECK_EQ_INT(merged.n_loops, c->loops) || !CHECK_EQ_INT(merged.n_dropped, 0))
			(void) fprintf(stderr, "  in '%s'\n", c->name);
	}
}

/* Every source full, and no two alike: what the configuration names is kept. */
static void test_merge_full(void)
{
	struct endpoints_list lists[ENDPOINTS_N_SOURCES] = {0};
	struct endpoints_self self = {0};
	struct endpoints_merged merged, again;

	for (unsigned s = 0; s < ENDPOINTS_N_SOURCES; s++) {
		unsigned n = s == ENDPOINTS_STATIC ? 33 : s == ENDPOINTS_LOCAL ? 1 : ENDPOINTS_MAX;

		for (unsigned i = 0; i < n; i++) {
			struct endpoint e = {{AF_INET, {10, 0, (uint8_t) (10 - s), (uint8_t) (i + 1)}}, 6443};

			CHECK(endpoints_add(&lists[s], &e));
		}
	}
	endpoints_merge(lists, &self, &merged);
	CHECK_EQ_INT(merged.n, ENDPOINTS_MAX);
	CHECK_EQ_INT(merged.n_dropped, 33 + 1 + 5 * ENDPOINTS_MAX - ENDPOINTS_MAX);
	for (size_t i = 1; i < merged.n; i++)
		CHECK(endpoint_compare(&merged.items[i - 1].endpoint, &merged.items[i].endpoint) < 0);
	for (size_t i = 0; i < merged.n; i++) {
		CHECK((merged.items[i].from &
		       (ENDPOINTS_FROM(ENDPOINTS_STATIC) | ENDPOINTS_FROM(ENDPOINTS_LOCAL) |
		        ENDPOINTS_FROM(ENDPOINTS_DNS))) != 0);
	}

	endpoints_merge(lists, &self, &again);
	CHECK(endpoints_merged_equal(&merged, &again));
	again.items[3].from |= ENDPOINTS_FROM(ENDPOINTS_SLICES);
	CHECK(!endpoints_merged_equal(&merged, &again));
	again = merged;
	again.items[3].local = !again.items[3].local;
	CHECK(!endpoints_merged_equal(&merged, &again));
	again = merged;
	again.items[3].endpoint.port++;
	CHECK(!endpoints_merged_equal(&merged, &again));
	again = merged;
	again.n--;
	CHECK(!endpoints_merged_equal(&merged, &again));
}

static void test_add(void)
{
	struct endpoints_list list = {.n = 0};
	struct endpoint e = endpoint_of("10.0.0.1:1");

	for (unsigned i = 0; i < ENDPOINTS_MAX; i++, e.port++)
		CHECK(endpoints_add(&list, &e));
	CHECK(!endpoints_contains(&list, &e));
	CHECK(!endpoints_add(&list, &e));
	CHECK_EQ_INT(list.n, ENDPOINTS_MAX);
	e.port--;
	CHECK(endpoints_contains(&list, &e));
	CHECK(endpoints_add(&list, &e));
	CHECK_EQ_INT(list.n, ENDPOINTS_MAX);
}

static void test_sources(void)
{
	static const struct {
		const char *name;
		bool discovered;
	} sources[ENDPOINTS_N_SOURCES] = {
	    {"static", false}, {"local", false}, {"dns", true},      {"file", false},
	    {"members", true}, {"slices", true}, {"lastgood", true},
	};
	enum endpoints_source source = ENDPOINTS_DNS;

	for (unsigned i = 0; i < ENDPOINTS_N_SOURCES; i++) {
		CHECK_EQ_STR(endpoints_source_name((enum endpoints_source) i), sources[i].name);
		CHECK(endpoints_source_parse(sources[i].name, &source));
		CHECK_EQ_INT(source, i);
		CHECK_EQ_INT(endpoints_is_discovered(ENDPOINTS_FROM(i)), sources[i].discovered);
		/* The operator's word is enough, whoever else says the same. */
		CHECK_EQ_INT(endpoints_is_discovered(ENDPOINTS_FROM(i) | ENDPOINTS_FROM(ENDPOINTS_STATIC)),
		             0);
		CHECK_EQ_INT(endpoints_is_discovered(ENDPOINTS_FROM(i) | ENDPOINTS_FROM(ENDPOINTS_SLICES)),
		             sources[i].discovered);
	}
	CHECK(!endpoints_source_parse("", &source));
	CHECK(!endpoints_source_parse("Slices", &source));
}

int main(void)
{
	test_parse_text();
	test_parse_many();
	test_accept();
	test_merge();
	test_merge_full();
	test_add();
	test_sources();
	return check_result();
}
