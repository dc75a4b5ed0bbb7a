/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets of several lines, in all the ways in which YAML writes a text and in all the places where
 * one can stand: nothing of them is left, and what follows them is. That each is YAML and has its
 * three lines in one value, the reader of the configuration says. Then texts in which a secret once
 * was left, or too much was taken.
 */
#include "cli/support/blank.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/conf.h"
#include "base/macro.h"
#include "base/mem.h"
#include "tests/unit/check.h"

/* What must not be found. */
static const char *const lines[] = {"alpha7", "beta77", "gamma7"};

/* How a value is written: INDENT stands for the blanks before a line of it. */
#define INDENT "\x01"

static const struct style {
	const char *name, *text;
	bool in_flow;    /* may stand within { } and [ ] */
	bool is_shallow; /* its lines may begin anywhere */
} styles[] = {
    {"plain", "alpha7\n" INDENT "beta77\n" INDENT "gamma7", true, false},
    {"plain, an empty line", "alpha7\n\n" INDENT "beta77\n" INDENT "  gamma7", true, false},
    {"single quoted", "'alpha7\n" INDENT "beta77\n" INDENT "gamma7'", true, true},
    {"single quoted, quotes in it", "'alpha7\n" INDENT "be''beta77''\n\n" INDENT "''gamma7'", true,
     true},
    {"single quoted, like a key", "'alpha7\n" INDENT "b: beta77\n" INDENT "- gamma7'", true, true},
    {"single quoted, ends alone", "'alpha7\n" INDENT "beta77 # x\n" INDENT "gamma7\n" INDENT "'",
     true, true},
    {"single quoted, begins alone", "'\n" INDENT "alpha7\n" INDENT "beta77\n" INDENT "gamma7'",
     true, true},
    {"double quoted", "\"alpha7\n" INDENT "beta77\n" INDENT "gamma7\"", true, true},
    {"double quoted, quotes in it",
     "\"alpha7 \\\"\n" INDENT "\\\"beta77\\\" 'x\n\n" INDENT "\\\\gamma7\"", true, true},
    {"double quoted, joined", "\"alpha7\\\n" INDENT "beta77 \\\n" INDENT "\\ gamma7\"", true, true},
    {"double quoted, begins alone", "\"\\\n" INDENT "alpha7\n" INDENT "beta77\n" INDENT "gamma7\"",
     true, true},
    {"literal", "|\n" INDENT "alpha7\n\n" INDENT "  beta77\n" INDENT "gamma7", false, false},
    {"literal, stripped", "|- # x\n" INDENT "alpha7\n" INDENT "# beta77\n" INDENT "- gamma7", false,
     false},
    {"literal, quotes in it", "|+\n" INDENT "alpha7\n" INDENT "'beta77\n" INDENT "\"gamma7\n\n",
     false, false},
    {"folded", ">\n" INDENT "alpha7\n" INDENT "beta77\n\n\n" INDENT "gamma7", false, false},
    {"folded, stripped", ">-\n" INDENT "alpha7\n" INDENT "k: beta77\n" INDENT "gamma7", false,
     false},
    {"folded, begins empty", ">\n\n\n" INDENT "alpha7\n" INDENT " beta77\n" INDENT "gamma7", false,
     false},
};

/* Where: VALUE stands for it, and what `kept` tells of stays. */
#define VALUE "\x02"

static const struct place {
	const char *text;
	size_t indent; /* of its lines */
	bool is_flow;
	bool keeps;
} places[] = {
    {"password: " VALUE "\nkept: 1\n", 2, false, true},
    {"password:   " VALUE "\n\n# x\nkept: 1\n", 1, false, true},
    {"a:\n  password: " VALUE "\n  kept: 1\n", 4, false, true},
    {"a:\n    b:\n        \"secretKey\": " VALUE "\n    kept: 1\n", 10, false, true},
    {"a:\n- password: " VALUE "\n  kept: 1\n", 4, false, true},
    {"a:\n  - - 'psk': " VALUE "\n      kept: 1\n", 8, false, true},
    {"? password\n: " VALUE "\nkept: 1\n", 2, false, true},
    {"a:\n  ? password\n  : " VALUE "\n  kept: 1\n", 4, false, true},
    {"password: !!str " VALUE "\nkept: 1\n", 2, false, true},
    {"password: &a " VALUE "\nkept: 1\n", 2, false, true},
    {"password: &a !!str " VALUE "\nkept: 1\n", 2, false, true},
    {"password:\n  " VALUE "\nkept: 1\n", 2, false, true},
    {"password:\n\n    " VALUE "\nkept: 1\n", 2, false, true},
    {"password: # x\n  # y\n  " VALUE "\nkept: 1\n", 2, false, true},
    {"password: !!str\n  " VALUE "\nkept: 1\n", 2, false, true},
    {"a:\n  password: &a\n    " VALUE "\n  kept: 1\n", 4, false, true},
    {"tokens:\n- " VALUE "\n- x\nkept: 1\n", 2, false, true},
    {"tokens:\n  - x\n  - " VALUE "\nkept: 1\n", 4, false, true},
    {"tokens:\n  -\n    " VALUE "\nkept: 1\n", 4, false, true},
    {"headers:\n  X: " VALUE "\n  Y: z\nkept: 1\n", 4, false, true},
    {"headers:\n  X:\n    " VALUE "\n  Y: z\nkept: 1\n", 4, false, true},
    {"c:\n- --password\n- " VALUE "\n- kept\n", 2, false, true},
    {"c:\n- \"--password\"\n- " VALUE "\n- kept\n", 2, false, true},
    {"c:\n  - --password\n  -\n    " VALUE "\n  - kept\n", 4, false, true},
    {"c:\n  - - --password\n    - " VALUE "\n    - kept\n", 6, false, true},
    {"a: {password: " VALUE ", b: 1}\nkept: 1\n", 2, true, true},
    {"a: {b: 1, password: " VALUE "}\nkept: 1\n", 2, true, true},
    {"a: {b: 1,\n  password: " VALUE "}\nkept: 1\n", 4, true, true},
    {"a: {b: 1,\n  password:\n  " VALUE "}\nkept: 1\n", 4, true, true},
    {"a:\n  b: {\n  password: " VALUE "\n  }\n  kept: 1\n", 4, true, true},
    {"headers: {X: " VALUE ", Y: z}\nkept: 1\n", 2, true, true},
    {"tokens: [x, " VALUE ", y]\nkept: 1\n", 2, true, true},
    {"tokens: [\n  x,\n  " VALUE ", y\n  ]\nkept: 1\n", 2, true, true},
    {"c: [a, --password, " VALUE ", b]\nkept: 1\n", 2, true, true},
    {"c: [a, \"--password\",\n  " VALUE ", b]\nkept: 1\n", 2, true, true},
    {"{a: 1, password: " VALUE ", b: 1}\n", 1, true, false},
    {"{\"a\": 1,\n\"password\":\n" VALUE ",\n\"b\": 1}\n", 1, true, false},
};

static char *fill(const struct place *place, const struct style *style, size_t indent)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = xmemstream_open(&text, &len);

	for (const char *p = place->text; *p != '\0'; p++) {
		if (*p != VALUE[0]) {
			(void) fputc(*p, out);
			continue;
		}
		for (const char *q = style->text; *q != '\0'; q++) {
			if (*q == INDENT[0])
				(void) fprintf(out, "%*s", (int) indent, "");
			else
				(void) fputc(*q, out);
		}
	}
	xmemstream_close(out);
	return text;
}

static bool has_all(const char *text)
{
	bool all = true;

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		all = all && strstr(text, lines[i]) != NULL;
	return all;
}

static bool is_in_one_value(const struct conf_node *node)
{
	bool found = node->shape == CONF_SCALAR && has_all(node->text);

	for (size_t i = 0; node->shape != CONF_SCALAR && i < node->n; i++)
		found = found || is_in_one_value(node->values[i]);
	return found;
}

static bool is_yaml(const char *text)
{
	AUTO(conf_free) struct conf *conf = conf_new();
	const struct conf_node *document;

	conf_add_text(conf, "test", text, strlen(text));
	document = conf_document(conf, 0);
	return document != NULL && is_in_one_value(document);
}

static void check(const struct place *place, const struct style *style, size_t indent)
{
	static const struct texts none;
	AUTO(free) char *text = fill(place, style, indent);
	AUTO(free) char *got = NULL;
	bool ok = CHECK(is_yaml(text));
	size_t n = 0;

	got = blank_text(text, strlen(text), BLANK_YAML, &none, &n);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		ok = CHECK(strstr(got, lines[i]) == NULL) && ok;
	ok = CHECK(!place->keeps || strstr(got, "kept") != NULL) && ok;
	if (!ok)
		(void) fprintf(stderr, "  %s, of\n%s\nis\n%s\n", style->name, text, got);
}

/* What is around the values: "hunter2" is a secret, "admin" is known to be one, and "kept" stays.
 */
static void test_around(void)
{
	static const struct {
		enum blank_format format;
		const char *text;
	} cases[] = {
	    /* Comments and keys behind a value whose later lines lost their indentation. */
	    {BLANK_YAML, "headers:\n  X: |\n    alpha\n  # the old one: hunter2\nkept: 1\n"},
	    {BLANK_YAML, "headers:\n  X: |\n    alpha\n    b\n  # was hunter2\n  Y: z\nkept: 1\n"},
	    {BLANK_YAML, "tokens:\n  - |\n    a\n  # - hunter2\nkept: 1\n"},
	    {BLANK_YAML, "tokens:\n  - 'a\nb'\n  # - hunter2\nkept: 1\n"},
	    {BLANK_YAML, "password:\n  |\n  a\nadmin: kept\n"},
	    /* What is behind a known value, and belongs to it. */
	    {BLANK_YAML, "kept: 1 # --password=adminhunter2\n"},
	    {BLANK_YAML, "kept: [a, --password=adminhunter2]\n"},
	    {BLANK_YAML, "kept: 1 # --password=admin,hunter2\n"},
	    {BLANK_YAML, "kept: 1 # --password admin]hunter2\n"},
	    {BLANK_YAML, "kept: 1\n# --password=adminhunter2"},
	    {BLANK_YAML, "a: [--password, admin, kept]\n"},
	    {BLANK_YAML, "a: [--password, 'adminhunter2', kept]\n"},
	    /* A quote without its end, in a string of JSON. */
	    {BLANK_PLAIN, "{\"reason\":\"with token='hunter2\",\"n\":1}\nkept\n"},
	    {BLANK_PLAIN, "[{\"reason\":\"with token='hunter2\"}]\r\nkept\n"},
	    /* That is none. */
	    {BLANK_PLAIN, "[info] kept --password 'a\nhunter2'\n"},
	    {BLANK_PLAIN, "[info] kept PASSWORD=\"a]\nhunter2\"\n"},
	    {BLANK_PLAIN, "{ kept --password 'a\nhunter2'; }\n"},
	    /* Keys below a secret name. */
	    {BLANK_YAML, "tokens: {\nhunter2: admin}\nkept: 1\n"},
	    {BLANK_YAML, "tokens: {a: {\n\"hunter2\": admin},\nhunter2: x}\nkept: 1\n"},
	    {BLANK_YAML, "tokens: [{\nhunter2: admin}]\nkept: 1\n"},
	    {BLANK_YAML, "tokens: {\n? hunter2\n: x}\nkept: 1\n"},
	};
	static char admin[] = "admin", *words[] = {admin};
	const struct texts known = {.items = words, .n = 1};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *text = cases[i].text;
		size_t n = 0;
		AUTO(free) char *got = blank_text(text, strlen(text), cases[i].format, &known, &n);
		bool ok = CHECK(strstr(got, "hunter2") == NULL);

		if (!CHECK(strstr(got, "kept") != NULL) || !ok)
			(void) fprintf(stderr, "  %s\nis\n%s\n", text, got);
	}
}

/* A file in base64, on one line: as long as it takes to read it, not its square. */
#define LONG_BYTES ((size_t) 1024 * 1024)
#define LONG_SECONDS 5 /* of the processor; it is a fraction of one, also with sanitizers */

static void test_long_word(void)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	static const struct texts none;
	AUTO(free) char *text = xcalloc(LONG_BYTES + 1, 1);
	AUTO(free) char *got = NULL;
	uint32_t random = 1;
	size_t n = 0;
	clock_t begin;

	(void) snprintf(text, LONG_BYTES, "icon: ");
	for (size_t i = strlen(text); i < LONG_BYTES; i++) {
		random = random * 1664525 + 1013904223;
		text[i] = digits[random >> 26];
	}
	begin = clock();
	got = blank_text(text, LONG_BYTES, BLANK_PLAIN, &none, &n);
	CHECK((clock() - begin) / CLOCKS_PER_SEC < LONG_SECONDS);
	CHECK(strcmp(got, text) == 0);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(styles); k++) {
			if (places[i].is_flow && !styles[k].in_flow)
				continue;
			check(&places[i], &styles[k], places[i].indent);
			check(&places[i], &styles[k], places[i].indent + 3);
			if (styles[k].is_shallow)
				check(&places[i], &styles[k], 0);
		}
	}
	test_around();
	test_long_word();
	return check_result();
}
