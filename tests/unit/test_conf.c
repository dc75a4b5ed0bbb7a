/* SPDX-License-Identifier: Apache-2.0 */
/* Scalars, limits, files and the tables of lib/base/conf; whole messages are in the goldens. */
#include "base/conf.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/mono.h"
#include "tests/unit/check.h"

/* --- scalars --- */

static void test_durations(void)
{
	static const struct {
		const char *text;
		int r;
		int64_t us;
		const char *printed; /* NULL: as text */
	} cases[] = {
	    {"0", 0, 0, "0s"},
	    {"+0", 0, 0, "0s"},
	    {"3s", 0, 3 * US_PER_S, NULL},
	    {"1.5s", 0, 1500000, NULL},
	    {"250ms", 0, 250000, NULL},
	    {"1m30s", 0, 90 * US_PER_S, NULL},
	    {"1h0m0.000001s", 0, 3600 * US_PER_S + 1, "1h0.000001s"},
	    {".5s", 0, 500000, "500ms"},
	    {"1.s", 0, US_PER_S, "1s"},
	    {"1500us", 0, 1500, NULL},
	    {"1500\xc2\xb5s", 0, 1500, "1500us"},
	    {"1500\xce\xbcs", 0, 1500, "1500us"},
	    {"2000ns", 0, 2, "2us"},
	    {"1s1s", 0, 2 * US_PER_S, "2s"},
	    {"-1m1s", 0, -61 * US_PER_S, NULL},
	    {"25h", 0, 25 * 3600 * US_PER_S, NULL},
	    {"0.1h", 0, 360 * US_PER_S, "6m"},
	    {"61.250s", 0, 61250000, "1m1.25s"},
	    {"2562047h", 0, INT64_C(2562047) * 3600 * US_PER_S, NULL},
	    {"2562048h", -ERANGE, 0, NULL},
	    {"9223372036854775808ns", -ERANGE, 0, NULL},
	    {"99999999999999999999999999999999999999999s", -ERANGE, 0, NULL},
	    {"2562047h2562047h", -ERANGE, 0, NULL},
	    {"1ns", -EDOM, 0, NULL},
	    {"1.0000001s", -EDOM, 0, NULL},
	    {"0.3ns", -EDOM, 0, NULL},
	    {"", -EINVAL, 0, NULL},
	    {"s", -EINVAL, 0, NULL},
	    {".s", -EINVAL, 0, NULL},
	    {"-", -EINVAL, 0, NULL},
	    {"3", -EINVAL, 0, NULL},
	    {"3 s", -EINVAL, 0, NULL},
	    {" 3s", -EINVAL, 0, NULL},
	    {"3S", -EINVAL, 0, NULL},
	    {"1d", -EINVAL, 0, NULL},
	    {"1m30", -EINVAL, 0, NULL},
	    {"1m-30s", -EINVAL, 0, NULL},
	    {"--1s", -EINVAL, 0, NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[CONF_DURATION_TEXT_MAX];
		int64_t us = 0, again = 1;
		int r = conf_parse_duration(cases[i].text, &us);

		if (!CHECK_EQ_INT(r, cases[i].r) || !CHECK_EQ_INT(us, cases[i].us))
			(void) fprintf(stderr, "  for '%s'\n", cases[i].text);
		if (r < 0)
			continue;
		(void) conf_format_duration(us, text);
		CHECK_EQ_STR(text, cases[i].printed != NULL ? cases[i].printed : cases[i].text);
		CHECK_EQ_INT(conf_parse_duration(text, &again), 0);
		CHECK_EQ_INT(again, us);
	}
}

static void test_sizes(void)
{
	static const struct {
		const char *text;
		int r;
		int64_t bytes;
		const char *printed; /* NULL: as text */
	} cases[] = {
	    {"0", 0, 0, NULL},
	    {"0GiB", 0, 0, "0"},
	    {"1", 0, 1, NULL},
	    {"1B", 0, 1, "1"},
	    {"1023", 0, 1023, NULL},
	    {"1024", 0, 1024, "1KiB"},
	    {"3KiB", 0, 3072, NULL},
	    {"512MiB", 0, 512 << 20, NULL},
	    {"1GiB", 0, 1 << 30, NULL},
	    {"1536MiB", 0, INT64_C(1536) << 20, NULL},
	    {"2TiB", 0, INT64_C(2) << 40, NULL},
	    {"4096TiB", 0, INT64_C(4096) << 40, NULL},
	    {"1Gi", 0, 1 << 30, "1GiB"},
	    {"1Ki", 0, 1024, "1KiB"},
	    {"1Mi", 0, 1 << 20, "1MiB"},
	    {"1Ti", 0, INT64_C(1) << 40, "1TiB"},
	    {"1kB", 0, 1000, "1000"},
	    {"1MB", 0, 1000000, "1000000"},
	    {"20GB", 0, INT64_C(20000000000), "19531250KiB"},
	    {"1TB", 0, INT64_C(1000000000000), "976562500KiB"},
	    {"8388607TiB", 0, INT64_C(8388607) << 40, NULL},
	    {"8388608TiB", -ERANGE, 0, NULL},
	    {"9223372036854775807", 0, INT64_MAX, NULL},
	    {"9223372036854775808", -ERANGE, 0, NULL},
	    {"999999999999999999999999GiB", -ERANGE, 0, NULL},
	    {"", -EINVAL, 0, NULL},
	    {"GiB", -EINVAL, 0, NULL},
	    {"1.5GiB", -EINVAL, 0, NULL},
	    {"1 GiB", -EINVAL, 0, NULL},
	    {"01GiB", -EINVAL, 0, NULL},
	    {"-1GiB", -EINVAL, 0, NULL},
	    {"+1GiB", -EINVAL, 0, NULL},
	    {"1gib", -EINVAL, 0, NULL},
	    {"1G", -EINVAL, 0, NULL},
	    {"1KB", -EINVAL, 0, NULL},
	    {"1GiBs", -EINVAL, 0, NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[CONF_BYTES_TEXT_MAX];
		int64_t bytes = 0, again = 1;
		int r = conf_parse_bytes(cases[i].text, &bytes);

		if (!CHECK_EQ_INT(r, cases[i].r) || !CHECK_EQ_INT(bytes, cases[i].bytes))
			(void) fprintf(stderr, "  for '%s'\n", cases[i].text);
		if (r < 0)
			continue;
		(void) conf_format_bytes(bytes, text);
		CHECK_EQ_STR(text, cases[i].printed != NULL ? cases[i].printed : cases[i].text);
		CHECK_EQ_INT(conf_parse_bytes(text, &again), 0);
		CHECK_EQ_INT(again, bytes);
	}
}

static void test_integers(void)
{
	static const struct {
		const char *text;
		int r;
		int64_t value;
	} cases[] = {
	    {"0", 0, 0},
	    {"7", 0, 7},
	    {"-7", 0, -7},
	    {"9223372036854775807", 0, INT64_MAX},
	    {"-9223372036854775808", 0, INT64_MIN},
	    {"9223372036854775808", -ERANGE, 0},
	    {"-9223372036854775809", -ERANGE, 0},
	    {"18446744073709551617", -ERANGE, 0},
	    {"", -EINVAL, 0},
	    {"-", -EINVAL, 0},
	    {"-0", -EINVAL, 0},
	    {"00", -EINVAL, 0},
	    {"010", -EINVAL, 0},
	    {"+1", -EINVAL, 0},
	    {"1.0", -EINVAL, 0},
	    {"1e3", -EINVAL, 0},
	    {"0x10", -EINVAL, 0},
	    {"1_000", -EINVAL, 0},
	    {" 1", -EINVAL, 0},
	    {"99999999999999999999x", -EINVAL, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t value = 0;

		if (!CHECK_EQ_INT(conf_parse_int(cases[i].text, &value), cases[i].r) ||
		    !CHECK_EQ_INT(value, cases[i].value))
			(void) fprintf(stderr, "  for '%s'\n", cases[i].text);
	}
}

/* As Go's yaml v3 decodes into a bool. */
static void test_booleans(void)
{
	static const char *const yes[] = {"true", "True", "TRUE", "yes", "Yes", "YES",
	                                  "on",   "On",   "ON",   "y",   "Y"};
	static const char *const no[] = {"false", "False", "FALSE", "no", "No", "NO",
	                                 "off",   "Off",   "OFF",   "n",  "N"};
	static const char *const neither[] = {"",  "1", "0",       "tRUE", "yEs",
	                                      "t", "f", "enabled", "true "};
	bool value;

	for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
		value = false;
		CHECK(conf_parse_bool(yes[i], &value) == 0 && value);
		value = true;
		CHECK(conf_parse_bool(no[i], &value) == 0 && !value);
	}
	for (size_t i = 0; i < ARRAY_SIZE(neither); i++)
		CHECK_EQ_INT(conf_parse_bool(neither[i], &value), -EINVAL);
}

/* --- reading by a table --- */

struct item {
	char *name;
	uint16_t port;
	struct conf_strings tags;
};

struct target {
	char *text;
	int number;
	bool flag;
	int64_t time_us;
	struct conf_strings list;
	char name[8];
	int choice;
	char *secret;
	int64_t big;
	struct item *items;
	size_t n_items;
};

static const char *const colours[] = {"red", "green", NULL};

#define TARGET(member) offsetof(struct target, member)
static const struct conf_field inner_fields[] = {
    CONF_ROW("flag", conf_bool, TARGET(flag), "true", NULL),
    {0},
};

#define ITEM(member) offsetof(struct item, member)
static const struct conf_field item_fields[] = {
    CONF_ROW("name", conf_string, ITEM(name), NULL, NULL),
    CONF_ROW("port", conf_u16, ITEM(port), "80", NULL, .min = 1, .max = UINT16_MAX),
    CONF_ROW("tags", conf_strings, ITEM(tags), NULL, NULL, .max = 3),
    {0},
};

static const struct conf_field fields[] = {
    CONF_ROW("text", conf_string, TARGET(text), "some text", NULL),
    CONF_ROW("secret", conf_hidden, TARGET(secret), NULL, NULL),
    CONF_ROW("number", conf_int, TARGET(number), "-3", NULL, .min = -5, .max = 5),
    CONF_ROW("big", conf_int64, TARGET(big), NULL, NULL, .flags = CONF_ZERO_IS_NONE,
             .max = INT64_MAX),
    CONF_ROW("time", conf_duration, TARGET(time_us), "1.5s", NULL, .min = US_PER_S,
             .max = 5 * US_PER_S),
    CONF_ROW("list", conf_strings, TARGET(list), NULL, NULL, .min = 0, .max = 3),
    CONF_ROW("name", conf_text, TARGET(name), NULL, NULL, .size = 8),
    CONF_ROW("colour", conf_choice, TARGET(choice), "green", NULL, .choices = colours),
    CONF_ROW("inner", conf_map, 0, NULL, NULL, .fields = inner_fields),
    CONF_ROW("items", conf_list, TARGET(items), NULL, NULL, .item = &conf_map,
             .fields = item_fields, .size = sizeof(struct item),
             .count = TARGET(n_items) - TARGET(items), .max = 2),
    {.key = "theirs", .flags = CONF_PASS},
    {0},
};

static const struct conf_kind kinds[] = {{"NodeConfig", fields, NULL}, {0}};

static void target_fini(struct target *target)
{
	conf_fini(fields, target);
}

static void count_message(const char *message UNUSED, void *userdata)
{
	++*(unsigned *) userdata;
}

static void keep_message(const char *message, void *userdata)
{
	char **last = userdata;

	free(*last);
	*last = xstrdup(message);
}

/* The text of a NodeConfig's keys into target; the number of errors. */
static unsigned read_text(const char *keys, struct target *target)
{
	AUTO(free) char *text = xasprintf("apiVersion: fairlead/v1\nkind: NodeConfig\n%s", keys);
	AUTO(conf_free) struct conf *conf = conf_new();
	unsigned errors = 0;
	int r;

	conf_add_text(conf, "test", text, strlen(text));
	conf_read(conf, kinds, target);
	r = conf_finish(conf, count_message, &errors, NULL);
	CHECK_EQ_INT(r, errors > 0 ? -EINVAL : 0);
	return errors;
}

static void test_types(void)
{
	struct target t = {0};

	CHECK_EQ_INT(read_text("text: 1000\nnumber: -5\ntime: 1.5s\nlist: [on, 0x1, '']\n", &t), 1);
	CHECK_EQ_STR(t.text, "1000");
	CHECK_EQ_INT(t.number, -5);
	CHECK_EQ_INT(t.time_us, 1500000);
	CHECK_EQ_INT(t.list.n, 0);
	CHECK_EQ_INT(read_text("text: \"null\"\nlist: [on, 0x1, ~a]\nname: 1234567\ncolour: green\n"
	                       "inner: {flag: on}\ntheirs: [1, {2: 3}]\n",
	                       &t),
	             0);
	CHECK_EQ_STR(t.text, "null");
	CHECK_EQ_INT(t.list.n, 3);
	CHECK_EQ_STR(t.list.items[1], "0x1");
	CHECK_EQ_STR(t.name, "1234567");
	CHECK_EQ_INT(t.choice, 1);
	CHECK(t.flag);
	target_fini(&t);
}

/* What is wrong leaves what was there. */
static void test_errors_leave_the_slot(void)
{
	struct target t = {
	    .text = xstrdup("old"), .number = 3, .time_us = 7, .name = "old", .choice = 1};

	CHECK_EQ_INT(read_text("text: ''\nnumber: 6\ntime: 6s\nlist: [a, b, c, d]\nname: 12345678\n"
	                       "colour: blue\ninner: {flag: 2}\n",
	                       &t),
	             7);
	CHECK_EQ_STR(t.text, "old");
	CHECK_EQ_INT(t.number, 3);
	CHECK_EQ_INT(t.time_us, 7);
	CHECK_EQ_INT(t.list.n, 0);
	CHECK_EQ_STR(t.name, "old");
	CHECK_EQ_INT(t.choice, 1);
	CHECK_EQ_INT(read_text("text: ~\nnumber:\ninner:\nlist: null\n", &t), 2);
	target_fini(&t);
}

static void test_merge_and_alias(void)
{
	struct target t = {0};

	CHECK_EQ_INT(read_text("theirs: [&a {number: 1, text: a}, &b {number: 2, name: b}]\n"
	                       "<<: [*a, *b]\ntext: own\n",
	                       &t),
	             0);
	CHECK_EQ_INT(t.number, 1);
	CHECK_EQ_STR(t.text, "own");
	CHECK_EQ_STR(t.name, "b");
	/* In quotes it is a key like any other. */
	CHECK_EQ_INT(read_text("'<<': {number: 5}\n", &t), 1);
	CHECK_EQ_INT(t.number, 1);
	/* An anchor ends with its document, and the latest of a name counts. */
	CHECK_EQ_INT(read_text("theirs: [&x 3, &x 4]\nnumber: *x\n", &t), 0);
	CHECK_EQ_INT(t.number, 4);
	CHECK_EQ_INT(read_text("theirs: &x 3\n---\napiVersion: fairlead/v1\nkind: NodeConfig\n"
	                       "number: *x\n",
	                       &t),
	             1);
	target_fini(&t);
}

/* --- limits --- */

static char *repeat(const char *head, const char *unit, size_t n, const char *end, const char *tail)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	(void) fputs(head, out);
	for (size_t i = 0; i < n; i++)
		(void) fprintf(out, "%s%zu%s", unit, i, end);
	(void) fputs(tail, out);
	(void) fclose(out);
	return text;
}

static void check_limit(const char *what, const char *head, const char *unit, size_t fits,
                        const char *end, const char *tail, const char *message)
{
	for (int over = 0; over <= 1; over++) {
		AUTO(free) char *text = repeat(head, unit, fits + (size_t) over, end, tail);
		AUTO(conf_free) struct conf *conf = conf_new();
		AUTO(free) char *last = NULL;

		conf_add_text(conf, "test", text, strlen(text));
		if (!CHECK_EQ_INT(conf_finish(conf, keep_message, &last, NULL), over ? -EINVAL : 0) ||
		    !CHECK(!over || strstr(last, message) != NULL))
			(void) fprintf(stderr, "  for the limit of %s: %s\n", what, last);
	}
}

static void test_limits(void)
{
	/* The map, the key and the list count as well. */
	check_limit("nodes", "machine: [", "", CONF_NODES_MAX - 3, ",", "]\n",
	            "more than 200000 values");
	check_limit("keys", "machine: {", "k", CONF_MAP_KEYS_MAX, ": 1, ", "}\n",
	            "more than 1024 keys");
	check_limit("anchors", "machine: [", "&a", CONF_ANCHORS_MAX, " 1,", "]\n",
	            "more than 256 anchors");
	check_limit("documents", "", "---\n{a: ", CONF_DOCUMENTS_MAX, "}\n", "",
	            "more than 1024 documents");
}

static void test_depth(void)
{
	for (size_t depth = CONF_DEPTH_MAX - 1; depth <= CONF_DEPTH_MAX; depth++) {
		AUTO(conf_free) struct conf *conf = conf_new();
		char text[3 * CONF_DEPTH_MAX] = "a: ";

		memset(text + 3, '[', depth);
		memset(text + 3 + depth, ']', depth);
		conf_add_text(conf, "test", text, 3 + 2 * depth);
		CHECK_EQ_INT(conf_finish(conf, NULL, NULL, NULL), depth < CONF_DEPTH_MAX ? 0 : -EINVAL);
	}
}

static void test_long_file(void)
{
	AUTO(free) char *text = xcalloc(CONF_FILE_BYTES_MAX + 1, 1);
	unsigned errors = 0;

	memset(text, '#', CONF_FILE_BYTES_MAX + 1);
	for (size_t len = CONF_FILE_BYTES_MAX; len <= CONF_FILE_BYTES_MAX + 1; len++) {
		AUTO(conf_free) struct conf *conf = conf_new();

		conf_add_text(conf, "test", text, len);
		(void) conf_finish(conf, count_message, &errors, NULL);
		CHECK_EQ_INT(errors, len > CONF_FILE_BYTES_MAX);
	}
}

/* Every message up to the limit, then one that counts the rest. */
static void test_many_errors(void)
{
	AUTO(conf_free) struct conf *conf = conf_new();
	unsigned messages = 0;

	for (unsigned i = 0; i < CONF_PROBLEMS_MAX + 5; i++)
		conf_error(conf, NULL, NULL, "wrong");
	CHECK_EQ_INT(conf_finish(conf, count_message, &messages, NULL), -EINVAL);
	CHECK_EQ_INT(messages, CONF_PROBLEMS_MAX + 1);
}

/* --- files --- */

static void write_file(const char *directory, const char *name, const char *text)
{
	AUTO(free) char *path = xasprintf("%s/%s", directory, name);
	FILE *f = fopen(path, "w");

	if (CHECK(f != NULL)) {
		(void) fputs(text, f);
		(void) fclose(f);
	}
}

static void remove_file(const char *directory, const char *name)
{
	AUTO(free) char *path = xasprintf("%s/%s", directory, name);

	(void) unlink(path);
}

static void test_directory(void)
{
	static const char *const names[] = {"20.yaml", "10.yaml", ".hidden.yaml", "old.yaml~",
	                                    "30.yml"};
	char directory[] = "/tmp/fairlead-test-XXXXXX";
	AUTO(conf_free) struct conf *conf = conf_new();
	struct conf_strings notes = {0};
	char *error = NULL;
	struct target t = {0};

	if (!CHECK(mkdtemp(directory) != NULL))
		return;
	write_file(directory, "20.yaml", "apiVersion: fairlead/v1\nkind: NodeConfig\nnumber: 2\n");
	write_file(directory, "10.yaml", "apiVersion: fairlead/v1\nkind: NodeConfig\nnumber: 1\n");
	for (size_t i = 2; i < ARRAY_SIZE(names); i++)
		write_file(directory, names[i], "number: [\n");
	conf_add_path(conf, directory);
	conf_read(conf, kinds, &t);
	CHECK_EQ_INT(conf_finish(conf, keep_message, &error, &notes), 0);
	CHECK_EQ_INT(t.number, 2);
	CHECK(notes.n == 1 && strstr(notes.items[0], "30.yml is passed over") != NULL);

	conf_add_path(conf, "/nonexistent/fairlead.yaml");
	CHECK_EQ_INT(conf_finish(conf, keep_message, &error, NULL), -EINVAL);
	CHECK_EQ_STR(error, "/nonexistent/fairlead.yaml: cannot be read: No such file or directory");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		remove_file(directory, names[i]);
	CHECK(rmdir(directory) == 0);
	free(error);
	conf_strings_fini(&notes);
}

/* Into which nobody will ever write. */
static void test_fifo(void)
{
	char directory[] = "/tmp/fairlead-test-XXXXXX";
	AUTO(conf_free) struct conf *conf = conf_new();
	AUTO(free) char *fifo = NULL;
	AUTO(free) char *error = NULL;

	if (!CHECK(mkdtemp(directory) != NULL))
		return;
	fifo = xasprintf("%s/fifo", directory);
	CHECK_EQ_INT(mkfifo(fifo, 0600), 0);
	conf_add_path(conf, fifo);
	CHECK_EQ_INT(conf_finish(conf, keep_message, &error, NULL), -EINVAL);
	CHECK(error != NULL &&
	      strstr(error, "/fifo: cannot be read: it is a FIFO, not a file") != NULL);
	remove_file(directory, "fifo");
	CHECK(rmdir(directory) == 0);
}

/* --- writing --- */

/* What is written must read back as the same text, whatever it is. */
static void test_write_string(void)
{
	static const char *const texts[] = {
	    "plain",
	    "/etc/x.crt",
	    "1000",
	    "null",
	    "~",
	    "true",
	    "No",
	    "a b",
	    " lead",
	    "trail ",
	    "a: b",
	    "a #b",
	    "- a",
	    "\"quoted\"",
	    "back\\slash",
	    "it's",
	    "&a",
	    "*a",
	    "[a]",
	    "{a}",
	    "caf\xc3\xa9",
	    "\xf0\x9f\x9a\xa2",
	    "line\xe2\x80\xa8 end",
	    "%x",
	    "0.0.0.0",
	    "fd00::5",
	    "on",
	    "\xc2\x85",
	    "<<",
	    "---",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct target t = {0};
		char *text = NULL;
		size_t len;
		FILE *out = open_memstream(&text, &len);

		(void) fputs("text: ", out);
		conf_write_string(out, texts[i]);
		(void) fputc('\n', out);
		(void) fclose(out);
		CHECK_EQ_INT(read_text(text, &t), 0);
		CHECK_EQ_STR(t.text, texts[i]);
		target_fini(&t);
		free(text);
	}
}

/* --- tables --- */

static void check_printed(const struct target *target, const char *margin, const char *want)
{
	AUTO(free) char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	conf_print(fields, target, margin, out);
	(void) fclose(out);
	CHECK_EQ_STR(text, want);
}

static void test_defaults(void)
{
	struct target target = {0};

	conf_set_defaults(fields, &target);
	check_printed(&target, "# ",
	              "# text: \"some text\"\n# number: -3\n# time: 1.5s\n# colour: green\n"
	              "# inner:\n#   flag: true\n");
	target_fini(&target);
	CHECK(target.text == NULL);
}

/* What is printed reads back as the same. */
static void test_print(void)
{
	static const char text[] =
	    "text: a\nsecret: \"(hidden)\"\nnumber: 5\nbig: 5000000000\ntime: 2s\n"
	    "list:\n  - b\n  - \"1\"\nname: c\ncolour: red\ninner:\n  flag: false\n"
	    "items:\n  - name: d\n    port: 80\n    tags:\n      - x\n      - z\n  - port: 81\n";
	struct target target = {0};

	CHECK_EQ_INT(read_text(text, &target), 0);
	CHECK_EQ_INT(target.n_items, 2);
	CHECK_EQ_INT(target.items[1].port, 81);
	check_printed(&target, "", text);
	target_fini(&target);
	CHECK(target.n_items == 0 && target.items == NULL && target.secret == NULL);
}

static void test_list_errors(void)
{
	struct target target = {0};

	CHECK_EQ_INT(read_text("items: [{}, {}, {}]\n", &target), 1);
	CHECK_EQ_INT(target.n_items, 0);
	CHECK_EQ_INT(read_text("items: [{port: 0, prot: 1}, {port: 2}]\n", &target), 2);
	CHECK_EQ_INT(target.items[0].port, 80);
	CHECK_EQ_INT(target.items[1].port, 2);
	target_fini(&target);
}

static void test_equal_and_copy(void)
{
	static const char *const others[] = {
	    "text: b",
	    "secret: s",
	    "number: 1",
	    "big: 1",
	    "time: 1s",
	    "colour: red",
	    "inner: {flag: false}",
	};
	struct conf_field plain[ARRAY_SIZE(fields)];
	struct target a = {0}, b;
	size_t n = 0;

	for (size_t i = 0; fields[i].key != NULL; i++) {
		if (fields[i].type != &conf_strings && fields[i].type != &conf_list &&
		    fields[i].type != &conf_text)
			plain[n++] = fields[i];
	}
	plain[n] = (struct conf_field){0};
	conf_set_defaults(plain, &a);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		b = a;
		conf_copy(plain, &b, &a);
		CHECK(b.text != a.text);
		CHECK(conf_equal(plain, &a, &b));
		CHECK_EQ_INT(read_text(others[i], &b), 0);
		CHECK(!conf_equal(plain, &a, &b));
		target_fini(&b);
	}
	target_fini(&a);
}

int main(void)
{
	test_durations();
	test_sizes();
	test_integers();
	test_booleans();
	test_types();
	test_errors_leave_the_slot();
	test_merge_and_alias();
	test_limits();
	test_depth();
	test_long_file();
	test_many_errors();
	test_directory();
	test_fifo();
	test_write_string();
	test_defaults();
	test_print();
	test_list_errors();
	test_equal_and_copy();
	return check_result();
}
