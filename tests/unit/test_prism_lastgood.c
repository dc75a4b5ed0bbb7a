/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is remembered over a restart: the list, its text and what is refused of it, and the file,
 * with a real disk under it.
 */
#include "prism/lastgood.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/patient.h"
#include "tests/unit/turn.h"

#define DNS ENDPOINTS_FROM(ENDPOINTS_DNS)
#define MEMBERS ENDPOINTS_FROM(ENDPOINTS_MEMBERS)
#define SLICES ENDPOINTS_FROM(ENDPOINTS_SLICES)
#define STATIC ENDPOINTS_FROM(ENDPOINTS_STATIC)
#define EVERYBODY (~0u)

#define HEAD "# Upstreams that prism found. Written by prism, read when it starts.\n"

static struct ev_loop *ev;
static char directory[64];
static char path[128];

static struct endpoint endpoint_of(const char *text)
{
	struct endpoint e;

	if (endpoint_parse(text, 6443, &e) < 0)
		abort();
	return e;
}

static void add(struct lastgood *list, const char *endpoint, unsigned from)
{
	struct endpoint e = endpoint_of(endpoint);

	lastgood_add(list, &e, from);
}

static void test_add(void)
{
	struct endpoint five = endpoint_of("10.0.0.5"), e = endpoint_of("10.0.0.1:1");
	struct lastgood list = {.n = 0};

	CHECK_EQ_INT(lastgood_from(&list, &five), 0);
	lastgood_add(&list, &five, 0);
	lastgood_add(&list, &five, STATIC);
	CHECK_EQ_INT(list.n, 0);
	lastgood_add(&list, &five, DNS | STATIC);
	lastgood_add(&list, &five, SLICES);
	CHECK_EQ_INT(list.n, 1);
	CHECK_EQ_INT(lastgood_from(&list, &five), DNS | SLICES);
	for (unsigned i = 0; i < 2 * ENDPOINTS_MAX; i++, e.port++)
		lastgood_add(&list, &e, DNS);
	CHECK_EQ_INT(list.n, ENDPOINTS_MAX);
	lastgood_add(&list, &five, MEMBERS);
	CHECK_EQ_INT(lastgood_from(&list, &five), DNS | SLICES | MEMBERS);
}

/* An address stands in for each of its sources until that one has spoken. */
static void test_select(void)
{
	static const struct {
		unsigned silent;
		const char *want;
	} cases[] = {
	    {EVERYBODY, "5 6 7"},
	    {DNS | MEMBERS | SLICES, "5 6 7"},
	    {MEMBERS | SLICES, "5 6"},
	    {DNS | SLICES, "5 7"},
	    {DNS | MEMBERS, "5 6 7"},
	    {SLICES, "5"},
	    {MEMBERS, "5 6"},
	    {DNS, "7"},
	    {STATIC, ""},
	    {0, ""},
	};
	struct lastgood list = {.n = 0};

	add(&list, "10.0.0.5", MEMBERS | SLICES);
	add(&list, "10.0.0.6", MEMBERS);
	add(&list, "10.0.0.7", DNS);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct endpoints_list selected = {.n = 99};
		char text[64] = "";

		lastgood_select(&list, cases[i].silent, &selected);
		for (size_t k = 0; k < selected.n; k++) {
			size_t len = strlen(text);

			(void) snprintf(text + len, sizeof(text) - len, "%s%u", k > 0 ? " " : "",
			                selected.items[k].addr.bytes[3]);
		}
		CHECK_EQ_STR(text, cases[i].want);
	}
}

static void test_equal(void)
{
	struct lastgood a = {.n = 0}, b = {.n = 0};

	CHECK(lastgood_equal(&a, &b));
	add(&a, "10.0.0.5", DNS);
	CHECK(!lastgood_equal(&a, &b));
	add(&b, "10.0.0.5", SLICES);
	CHECK(!lastgood_equal(&a, &b));
	add(&a, "10.0.0.5", SLICES);
	add(&b, "10.0.0.5", DNS);
	CHECK(lastgood_equal(&a, &b));
	/* In whatever order. */
	add(&a, "10.0.0.6", DNS);
	add(&a, "10.0.0.7", DNS);
	add(&b, "10.0.0.7", DNS);
	add(&b, "10.0.0.6", DNS);
	CHECK(lastgood_equal(&a, &b));
}

static void test_text(void)
{
	AUTO(free) char *text = NULL;
	struct lastgood list = {.n = 0}, again;

	add(&list, "10.0.0.5", SLICES | DNS);
	add(&list, "[fd00::6]:7000", MEMBERS);
	text = lastgood_print(&list);
	CHECK_EQ_STR(text, HEAD "dns,slices 10.0.0.5:6443\nmembers [fd00::6]:7000\n# 2 in all\n");
	CHECK_EQ_INT(lastgood_parse(text, strlen(text), &again), 0);
	CHECK(lastgood_equal(&list, &again));

	/* Any piece of it is refused. */
	for (size_t len = 0; len < strlen(text); len++) {
		AUTO(free) char *piece = xstrndup(text, len);

		CHECK_EQ_INT(lastgood_parse(piece, len, &again), -EBADMSG);
	}
}

/* The longest list that there can be. */
static void test_text_full(void)
{
	AUTO(free) char *text = NULL;
	struct lastgood list = {.n = 0}, again;
	struct endpoint e = endpoint_of("[fd00:1111:2222:3333:4444:5555:6666:7777]:10000");

	for (unsigned i = 0; i < ENDPOINTS_MAX; i++, e.port++)
		lastgood_add(&list, &e, LASTGOOD_SOURCES);
	text = lastgood_print(&list);
	CHECK_EQ_INT(lastgood_parse(text, strlen(text), &again), 0);
	CHECK_EQ_INT(again.n, ENDPOINTS_MAX);
	CHECK(lastgood_equal(&list, &again));
}

static void test_text_refused(void)
{
	static const char *const texts[] = {
	    "",
	    "# 0 in all\n",
	    "slices 10.0.0.5:6443\n# 1 in all\n",
	    HEAD "slices 10.0.0.5:6443\n# 2 in all\n",
	    HEAD "slices 10.0.0.5:6443\n# 1 in all\n\n",
	    HEAD "slices 10.0.0.5:6443\n# 1 in all\nslices 10.0.0.6:6443\n",
	    HEAD "slices 10.0.0.5:6443\nslices 10.0.0.5:6443\n# 2 in all\n",
	    HEAD "slices 10.0.0.5:6443\ndns 10.0.0.5:6443\n# 1 in all\n",
	    HEAD "slices 10.0.0.5\n# 1 in all\n",
	    HEAD "slices 0.0.0.0:6443\n# 1 in all\n",
	    HEAD "slices  10.0.0.5:6443\n# 1 in all\n",
	    HEAD "slices\n# 1 in all\n",
	    HEAD " 10.0.0.5:6443\n# 1 in all\n",
	    HEAD "oracle 10.0.0.5:6443\n# 1 in all\n",
	    HEAD "static 10.0.0.5:6443\n# 1 in all\n",
	    HEAD "slices,oracle 10.0.0.5:6443\n# 1 in all\n",
	    HEAD "slices garbage\n# 1 in all\n",
	    HEAD "\n# 1 in all\n",
	};
	struct lastgood list;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (!CHECK_EQ_INT(lastgood_parse(texts[i], strlen(texts[i]), &list), -EBADMSG))
			(void) fprintf(stderr, "  for '%s'\n", texts[i]);
	}
	CHECK_EQ_INT(lastgood_parse(HEAD "# 0 in all\n\0x", strlen(HEAD) + 13, &list), -EBADMSG);
	CHECK_EQ_INT(lastgood_parse(HEAD "# 0 in all\n", strlen(HEAD) + 11, &list), 0);
}

/* --- the file --- */

static bool file_holds(const char *text)
{
	AUTO(free) char *data = NULL;
	size_t len;

	return file_read(path, 65536, &data, &len) == 0 && strstr(data, text) != NULL;
}

static bool wait_until_file_holds(const char *text)
{
	int64_t end_us = mono_now_us() + TURN_LIMIT_US;

	while (!file_holds(text) && mono_now_us() < end_us)
		turn_once(ev);
	return file_holds(text);
}

static void write_text(const char *text)
{
	CHECK_EQ_INT(file_write_atomic(path, text, strlen(text), 0644, FILE_VOLATILE), 0);
}

static void test_file(void)
{
	AUTO(lastgood_file_free) struct lastgood_file *file = NULL;
	struct lastgood list, more = {.n = 0}, none = {.n = 0};
	struct stat st;

	(void) unlink(path);
	CHECK_EQ_INT(lastgood_file_new(ev, path, &list, &file), -ENOENT);
	CHECK_EQ_INT(list.n, 0);
	add(&list, "10.0.0.5", SLICES);
	lastgood_file_put(file, &list);
	/* Not at once: others may follow. */
	CHECK(access(path, F_OK) < 0);
	add(&list, "10.0.0.6", SLICES);
	lastgood_file_put(file, &list);
	CHECK(wait_until_file_holds("# 2 in all"));
	CHECK_EQ_INT(stat(path, &st), 0);
	CHECK_EQ_INT(st.st_mode & 0777, 0644);

	/* The next one waits; nobody is never written. */
	add(&more, "10.0.0.7", SLICES);
	lastgood_file_put(file, &more);
	lastgood_file_put(file, &none);
	turn_for(ev, 2 * US_PER_S);
	CHECK(file_holds("10.0.0.6:6443\n# 2 in all"));
	/* But the end does not wait. */
	lastgood_file_free(TAKE_PTR(file));
	CHECK(file_holds("10.0.0.7:6443\n# 1 in all"));

	CHECK_EQ_INT(lastgood_file_new(ev, path, &list, &file), 0);
	CHECK(lastgood_equal(&list, &more));
	/* One that was only read is as it was. */
	lastgood_file_free(TAKE_PTR(file));
	CHECK(file_holds("10.0.0.7:6443\n# 1 in all"));
}

/* What is there already is not written again, not even after a change that was taken back. */
static void test_file_unchanged(void)
{
	AUTO(lastgood_file_free) struct lastgood_file *file = NULL;
	struct lastgood list, other = {.n = 0};
	struct stat before, after;

	write_text(HEAD "slices 10.0.0.5:6443\n# 1 in all\n");
	CHECK_EQ_INT(stat(path, &before), 0);
	CHECK_EQ_INT(lastgood_file_new(ev, path, &list, &file), 0);
	lastgood_file_put(file, &list);
	add(&other, "10.0.0.9", SLICES);
	lastgood_file_put(file, &other);
	lastgood_file_put(file, &list);
	turn_for(ev, 1500 * US_PER_MS);
	lastgood_file_free(TAKE_PTR(file));
	CHECK_EQ_INT(stat(path, &after), 0);
	CHECK_EQ_INT(after.st_ino, before.st_ino);
	CHECK_EQ_INT(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
}

/* A change that comes while the thread writes is not lost. */
static void test_file_changes_meanwhile(void)
{
	AUTO(lastgood_file_free) struct lastgood_file *file = NULL;
	struct lastgood list;

	(void) unlink(path);
	CHECK_EQ_INT(lastgood_file_new(ev, path, &list, &file), -ENOENT);
	add(&list, "10.0.0.5", SLICES);
	lastgood_file_put(file, &list);
	/* The file is there as soon as the thread is done, before the loop knows. */
	for (int64_t end_us = mono_now_us() + TURN_LIMIT_US;
	     access(path, F_OK) < 0 && mono_now_us() < end_us;)
		ev_run(ev, EVRUN_NOWAIT);
	add(&list, "10.0.0.6", SLICES);
	lastgood_file_put(file, &list);
	turn_for(ev, 100 * US_PER_MS);
	lastgood_file_free(TAKE_PTR(file));
	CHECK(file_holds("# 2 in all"));
}

/* Damaged, missing, or in no directory: said, and it goes on. */
static void test_file_unwell(void)
{
	AUTO(lastgood_file_free) struct lastgood_file *damaged = NULL;
	AUTO(lastgood_file_free) struct lastgood_file *nowhere = NULL;
	AUTO(free) char *long_text = xcalloc(1, 20001);
	struct lastgood list;

	write_text(HEAD "slices 10.0.0.5:6443\n# 1 in");
	CHECK_EQ_INT(lastgood_file_new(ev, path, &list, &damaged), -EBADMSG);
	CHECK_EQ_INT(list.n, 0);
	add(&list, "10.0.0.5", SLICES);
	lastgood_file_put(damaged, &list);
	lastgood_file_free(TAKE_PTR(damaged));
	CHECK(file_holds("# 1 in all"));

	memset(long_text, '#', 20000);
	write_text(long_text);
	CHECK_EQ_INT(lastgood_file_new(ev, path, &list, &damaged), -EFBIG);
	CHECK_EQ_INT(list.n, 0);

	CHECK_EQ_INT(lastgood_file_new(ev, "/nonexistent/upstreams", &list, &nowhere), -ENOENT);
	add(&list, "10.0.0.5", SLICES);
	lastgood_file_put(nowhere, &list);
	turn_for(ev, 1500 * US_PER_MS);
}

static void prepare(void)
{
	ev = ev_default_loop(0);
	(void) strcpy(directory, "/tmp/test_prism_lastgood.XXXXXX");
	CHECK(mkdtemp(directory) != NULL);
	(void) snprintf(path, sizeof(path), "%s/upstreams", directory);
}

static void clean_up(void)
{
	(void) unlink(path);
	CHECK_EQ_INT(rmdir(directory), 0);
	ev_loop_destroy(ev);
}

int main(void)
{
	static const patient_fn tests[] = {
	    test_file,         test_file_unchanged,
	    test_file_unwell,  test_add,
	    test_select,       test_equal,
	    test_text,         test_text_full,
	    test_text_refused, test_file_changes_meanwhile,
	};

	patiently(&(struct patient){.prepare = prepare, .finish = clean_up}, 3, tests,
	          ARRAY_SIZE(tests));
	return check_result();
}
