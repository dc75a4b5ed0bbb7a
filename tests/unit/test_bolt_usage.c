/* SPDX-License-Identifier: Apache-2.0 */
/* Where a key's beginning ends, and that whatever keys there are do not cost more than they may. */
#include "bolt/usage.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/unit/boltkv.h"
#include "tests/unit/check.h"

static void test_prefixes(void)
{
	static const struct {
		const char *key;
		unsigned depth;
		const char *want;
	} cases[] = {
	    {"/registry/pods/default/a", 2, "/registry/pods"},
	    {"/registry/pods/default/a", 1, "/registry"},
	    {"/registry/pods/default/a", 16, "/registry/pods/default"},
	    {"/registry/health", 2, "/registry"},
	    {"/registry//x", 2, "/registry/"},
	    {"registry/pods/x", 2, "registry/pods"},
	    {"flat", 2, "flat"},
	    {"/", 2, "/"},
	    {"//", 1, "/"},
	    {"", 2, ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t len = usage_prefix_len(bytes_of_text(cases[i].key), cases[i].depth);
		AUTO(free) char *got = xstrndup(cases[i].key, len);

		CHECK_EQ_STR(got, cases[i].want);
	}
}

static void test_many(void)
{
	const size_t n = USAGE_PARTS_MAX + 10;
	AUTO(free) struct boltkv *kvs = xcalloc(n, sizeof(*kvs));
	AUTO(usage_free) struct usage *usage = NULL;
	struct bolt_fault fault;
	struct boltfile f;
	struct bolt *db;
	int fd;

	for (size_t i = 0; i < n; i++) {
		AUTO(free) char *key = xasprintf("%05zu", i);

		kvs[i] = boltkv_put((int64_t) i + 2, 0, key, (int64_t) i + 2, 1, "123");
	}
	f = boltkv_file(kvs, n, -1, -1, 20);
	fd = boltfile_fd(&f);
	CHECK_EQ_INT(bolt_open(fd, f.n_pages * f.page_bytes, &fault, &db), 0);
	CHECK_EQ_INT(usage_new(db, 2, &usage), 0);
	bolt_close(db);
	(void) close(fd);
	boltfile_free(&f);
	CHECK_EQ_INT(usage_count(usage), USAGE_PARTS_MAX);
	CHECK(bytes_equal_text(usage_at(usage, 0)->prefix, "00000"));
	CHECK_EQ_INT(usage_at(usage, 0)->bytes, 8);
	CHECK_EQ_INT(usage_rest(usage)->changes, 10);
	CHECK_EQ_INT(usage_rest(usage)->keys, 10);
	CHECK_EQ_INT(usage_rest(usage)->live_bytes, 80);
}

int main(void)
{
	test_prefixes();
	test_many();
	return check_result();
}
