/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `fairlead support` may show: a secret of several lines, in all the ways in which YAML writes
 * a text and in all the places where one can stand, is not there, and what follows it is. That each
 * is YAML and has its three lines in one value, the reader of the configuration says. Then what is
 * left of each kind of text.
 */
#include "cli/support/show.h"

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
    {"password: " VALUE "\nmtu: 9000\n", 2, false, true},
    {"password:   " VALUE "\n\n# x\nmtu: 9000\n", 1, false, true},
    {"machine:\n  password: " VALUE "\n  mtu: 9000\n", 4, false, true},
    {"machine:\n    network:\n        \"secretKey\": " VALUE "\n    mtu: 9000\n", 10, false, true},
    {"machine:\n- password: " VALUE "\n  mtu: 9000\n", 4, false, true},
    {"machine:\n  - - 'psk': " VALUE "\n      mtu: 9000\n", 8, false, true},
    {"? password\n: " VALUE "\nmtu: 9000\n", 2, false, true},
    {"machine:\n  ? password\n  : " VALUE "\n  mtu: 9000\n", 4, false, true},
    {"password: !!str " VALUE "\nmtu: 9000\n", 2, false, true},
    {"\"\": " VALUE "\nmtu: 9000\n", 2, false, true},
    {"mtu port: " VALUE "\nmtu: 9000\n", 2, false, true},
    {"password: &a " VALUE "\nmtu: 9000\n", 2, false, true},
    {"password: &a !!str " VALUE "\nmtu: 9000\n", 2, false, true},
    {"password:\n  " VALUE "\nmtu: 9000\n", 2, false, true},
    {"password:\n\n    " VALUE "\nmtu: 9000\n", 2, false, true},
    {"password: # x\n  # y\n  " VALUE "\nmtu: 9000\n", 2, false, true},
    {"password: !!str\n  " VALUE "\nmtu: 9000\n", 2, false, true},
    {"machine:\n  password: &a\n    " VALUE "\n  mtu: 9000\n", 4, false, true},
    {"tokens:\n- " VALUE "\n- x\nmtu: 9000\n", 2, false, true},
    {"tokens:\n  - x\n  - " VALUE "\nmtu: 9000\n", 4, false, true},
    {"tokens:\n  -\n    " VALUE "\nmtu: 9000\n", 4, false, true},
    {"headers:\n  X: " VALUE "\n  Y: z\nmtu: 9000\n", 4, false, true},
    {"headers:\n  X:\n    " VALUE "\n  Y: z\nmtu: 9000\n", 4, false, true},
    {"c:\n- --password\n- " VALUE "\n- kept\n", 2, false, false},
    {"c:\n- \"--password\"\n- " VALUE "\n- kept\n", 2, false, false},
    {"c:\n  - --password\n  -\n    " VALUE "\n  - kept\n", 4, false, false},
    {"c:\n  - - --password\n    - " VALUE "\n    - kept\n", 6, false, false},
    {"machine: {password: " VALUE ", b: 1}\nmtu: 9000\n", 2, true, true},
    {"machine: {b: 1, password: " VALUE "}\nmtu: 9000\n", 2, true, true},
    {"machine: {b: 1,\n  password: " VALUE "}\nmtu: 9000\n", 4, true, true},
    {"machine: {b: 1,\n  password:\n  " VALUE "}\nmtu: 9000\n", 4, true, true},
    {"machine:\n  b: {\n  password: " VALUE "\n  }\n  mtu: 9000\n", 4, true, true},
    {"headers: {X: " VALUE ", Y: z}\nmtu: 9000\n", 2, true, true},
    {"tokens: [x, " VALUE ", y]\nmtu: 9000\n", 2, true, true},
    {"tokens: [\n  x,\n  " VALUE ", y\n  ]\nmtu: 9000\n", 2, true, true},
    {"c: [a, --password, " VALUE ", b]\nmtu: 9000\n", 2, true, true},
    {"c: [a, \"--password\",\n  " VALUE ", b]\nmtu: 9000\n", 2, true, true},
    {"{a: 1, password: " VALUE ", b: 1}\n", 1, true, false},
    {"{\"mtu\": 1,\n\"password\":\n" VALUE ",\n\"b\": 1}\n", 1, true, false},
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
	AUTO(free) char *text = fill(place, style, indent);
	AUTO(free) char *got = NULL;
	bool ok = CHECK(is_yaml(text));
	size_t n = 0;

	got = show_text(SHOW_CONFIG, NULL, text, strlen(text), &n);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		ok = CHECK(strstr(got, lines[i]) == NULL) && ok;
	ok = CHECK(!place->keeps || strstr(got, "mtu: 9000") != NULL) && ok;
	if (!ok)
		(void) fprintf(stderr, "  %s, of\n%s\nis\n%s\n", style->name, text, got);
}

/* What comes of a text of each kind, as a whole. */
static void test_kinds(void)
{
	static const struct {
		enum show_kind kind;
		const char *text, *want;
	} cases[] = {
	    {SHOW_CONFIG, "name: cp-1\n\n# hunter2\nmtu: 9000\n", "   1 name: cp-1\n   4 mtu: 9000\n"},
	    {SHOW_CONFIG, "links: [eth0, 'a b', {name: x}]\n",
	     "   1 links:\n   1   - eth0\n   1   - <string, 3 bytes>\n   1   -\n   1     name: x\n"},
	    {SHOW_CONFIG, "pw: x\npin: 1234\nsalt: {a: 1}\nhunter2: [1, 2]\n",
	     "   1 <key, 2 bytes>: <string, 1 bytes>\n   2 <key, 3 bytes>: <string, 4 bytes>\n"
	     "   3 <key, 4 bytes>: <map, 1 keys>\n   4 <key, 7 bytes>: <list, 2 items>\n"},
	    /* An alias, written first or last where it may be shown. */
	    {SHOW_CONFIG, "name: &a x\npw: *a\n",
	     "   1 name: <string, 1 bytes>\n   2 <key, 2 bytes>: <string, 1 bytes>\n"},
	    {SHOW_CONFIG, "pw: &a x\nname: *a\n",
	     "   1 <key, 2 bytes>: <string, 1 bytes>\n   2 name: <string, 1 bytes>\n"},
	    {SHOW_CONFIG, "pw: &a {name: x}\nlinks: [*a]\n",
	     "   1 <key, 2 bytes>: <map, 1 keys>\n   2 links:\n   1   - <map, 1 keys>\n"},
	    {SHOW_CONFIG, "url: https://u:hunter2@h.example:1/a/b?c\nendpoint: https://10.0.0.5:2379\n",
	     "   1 url: https://<user, 9 bytes>@h.example:1<path, 6 bytes>\n"
	     "   2 endpoint: https://10.0.0.5:2379\n"},
	    {SHOW_CONFIG, "schedule: 0 */6 * * *\nname: AKIAhunter2IOSFODNN7EXAMPLE\n---\nmtu: 1\n",
	     "   1 schedule: 0 */6 * * *\n   2 name: <string, 27 bytes>\n     ---\n   4 mtu: 1\n"},
	    {SHOW_CONFIG, "name: [\n", "<not read: text, 8 bytes>\n"},
	    {SHOW_LOG,
	     "2026-11-22T13:45:00+0000 n1 vipd[1]: event=vip_state vip=10.0.0.5 old=taking "
	     "new=owner reason=\"etcd 'hunter2' says: no\"\n",
	     "2026-11-22T13:45:00+0000 n1 vipd[1]: event=vip_state vip=10.0.0.5 old=taking new=owner "
	     "reason=\"etcd <string, 9 bytes> says: no\"\n"},
	    {SHOW_LOG,
	     "2026-11-22T13:45:00+0000 n1 vipd[1]: event=vip_state pin=hunter2 vip=a "
	     "reason=\"with --password hunter2\" x\n",
	     "2026-11-22T13:45:00+0000 n1 vipd[1]: event=vip_state <field, 10 bytes> vip=a "
	     "reason=\"with <string, 18 bytes>\" <field, 1 bytes>\n"},
	    {SHOW_LOG,
	     "2026-11-22T13:45:00+0000 n1 vipd[1]: event=hunter2 vip=a\n"
	     "2026-11-22T13:45:00+0000 n1 vipd[1]: curl -u bob:hunter2\nhunter2\n",
	     "2026-11-22T13:45:00+0000 n1 vipd[1]: <line, 13 bytes>\n"
	     "2026-11-22T13:45:00+0000 n1 vipd[1]: <line, 19 bytes>\n<line, 7 bytes>\n"},
	    {SHOW_LOG,
	     "2026-11-22T13:45:00+0000 n1 systemd[1]: fairlead-vipd.service: Main process exited, "
	     "code=killed, status=9/KILL\n"
	     "2026-11-22T13:45:00+0000 n1 systemd[1]: Started fairlead-vipd.service - fairlead: vipd.\n"
	     "2026-11-22T13:45:00+0000 n1 kernel: e1000e 0000:00:1f.6 eth0: NIC Link is Down\n"
	     "2026-11-22T13:45:00+0000 n1 kernel: Unknown parameters pin=hunter2\n",
	     "2026-11-22T13:45:00+0000 n1 systemd[1]: fairlead-vipd.service: Main process exited, "
	     "code=killed, status=9/KILL\n"
	     "2026-11-22T13:45:00+0000 n1 systemd[1]: Started fairlead-vipd.service - fairlead: vipd.\n"
	     "2026-11-22T13:45:00+0000 n1 kernel: e1000e 0000:00:1f.6 eth0: NIC Link is Down\n"
	     "2026-11-22T13:45:00+0000 n1 kernel: <line, 30 bytes>\n"},
	    {SHOW_METRICS,
	     "# HELP hunter2\nfairlead_vipd_owner{vip=\"10.0.0.5\"} 1\nfairlead_prism_pipes 0\n"
	     "fairlead_vipd_owner{vip=\"a\",pin=\"hunter2\"} 1\nfairlead_vipd_owner hunter2\nhunter2 "
	     "1\n",
	     "fairlead_vipd_owner{vip=\"10.0.0.5\"} 1\nfairlead_prism_pipes 0\n"
	     "fairlead_vipd_owner{vip=\"a\",<label, 3 bytes>} 1\n<line, 27 bytes>\n<line, 9 bytes>\n"},
	    {SHOW_KERNEL,
	     "[{\"ifname\":\"eth0\",\"mtu\":1500,\"ifalias\":\"hunter2\",\"flags\":[\"UP\"]}]",
	     "[\n {\n  \"ifname\": \"eth0\",\n  \"mtu\": 1500,\n"
	     "  \"2 <key, 7 bytes>\": \"<string, 7 bytes>\",\n  \"flags\": [\n   \"UP\"\n  ]\n }\n]\n"},
	    {SHOW_KERNEL, "hunter2", "<text, 7 bytes>\n"},
	    {SHOW_LINES, "a 1\na hunter2\n", "a 1\n<line, 9 bytes>\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *text = cases[i].text;
		size_t n = 0;
		AUTO(free)
		char *got = show_text(cases[i].kind, "^a [0-9]+$", text, strlen(text), &n);

		CHECK_EQ_STR(got, cases[i].want);
		CHECK_EQ_INT(n > 0, strchr(cases[i].want, '<') != NULL);
	}
}

static void test_answer(void)
{
	json_t *answer =
	    json_loads("[{\"vip\":\"10.0.0.5\",\"pass\\u0077ord\":\"hunter2\",\"pin\":1234,"
	               "\"reason\":\"no 'hunter2'\",\"salt\":[1],\"hold\":true,"
	               "\"warnings\":[\"n1's is b=hunter2\"],\"age_s\":3}]",
	               0, NULL);
	size_t n = 0;
	json_t *shown = show_answer(answer, &n);
	AUTO(free) char *text = json_dumps(shown, JSON_COMPACT);

	CHECK_EQ_STR(text, "[{\"vip\":\"10.0.0.5\",\"1 <key, 8 bytes>\":\"<string, 7 bytes>\","
	                   "\"2 <key, 3 bytes>\":\"<number, 4 bytes>\",\"reason\":\"no <string, 9 "
	                   "bytes>\",\"4 <key, 4 bytes>\":\"<list, 1 items>\",\"hold\":true,"
	                   "\"warnings\":[\"n1's is <string, 9 bytes>\"],\"age_s\":3}]");
	CHECK_EQ_INT((int) n, 8);
	json_decref(answer);
	json_decref(shown);
}

/* A file in base64, on one line: as long as it takes to read it, not its square. */
#define LONG_BYTES ((size_t) 1024 * 1024)
#define LONG_SECONDS 5 /* of the processor; it is a fraction of one, also with sanitizers */

static void test_long_word(void)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	AUTO(free) char *text = xcalloc(LONG_BYTES + 1, 1);
	AUTO(free) char *got = NULL;
	uint32_t random = 1;
	size_t n = 0;
	clock_t begin;

	(void) snprintf(text, LONG_BYTES, "name: ");
	for (size_t i = strlen(text); i < LONG_BYTES; i++) {
		random = random * 1664525 + 1013904223;
		text[i] = digits[random >> 26];
	}
	begin = clock();
	got = show_text(SHOW_CONFIG, NULL, text, LONG_BYTES, &n);
	CHECK((clock() - begin) / CLOCKS_PER_SEC < LONG_SECONDS);
	CHECK_EQ_STR(got, "   1 name: <string, 1048570 bytes>\n");
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
	test_kinds();
	test_answer();
	test_long_word();
	return check_result();
}
