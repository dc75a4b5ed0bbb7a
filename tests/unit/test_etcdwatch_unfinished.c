/* SPDX-License-Identifier: Apache-2.0 */
/* What is begun in a target outlives the process; what is ended does not. */
#include "etcdwatch/target/unfinished.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/fileio.h"
#include "base/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/turn.h"

static char directory[] = "/tmp/test_etcdwatch_unfinished.XXXXXX";
static struct ev_loop *ev;

struct answer {
	unsigned n;
	int r;
};

static void done_cb(int r, void *userdata)
{
	struct answer *a = userdata;

	a->n++;
	a->r = r;
}

static int wait_for(struct answer *a)
{
	int64_t until_us = mono_now_us() + 10 * US_PER_S;

	while (a->n == 0 && mono_now_us() < until_us)
		turn_once(ev);
	CHECK_EQ_INT(a->n, 1);
	return a->r;
}

static struct unfinished *open_read(struct disk *disk, const char *path, int want)
{
	struct unfinished *u = unfinished_new(disk, path);
	struct answer a = {0};

	unfinished_read(u, done_cb, &a);
	CHECK_EQ_INT(wait_for(&a), want);
	return u;
}

static int add(struct unfinished *u, const char *key)
{
	AUTO(free) char *copy = xstrdup(key);
	const struct names keys = {.items = &copy, .n = 1};
	struct answer a = {0};

	unfinished_add(u, &keys, done_cb, &a);
	return wait_for(&a);
}

static void drop(struct unfinished *u, const char *key)
{
	AUTO(free) char *copy = xstrdup(key);
	const struct names keys = {.items = &copy, .n = 1};

	unfinished_drop(u, &keys);
}

static void test_life(struct disk *disk, const char *path)
{
	struct unfinished *u = open_read(disk, path, 0);

	CHECK_EQ_INT(unfinished_keys(u)->n, 0);
	CHECK_EQ_INT(add(u, "a/\"1\".db"), 0);
	CHECK_EQ_INT(add(u, "a/2.db"), 0);
	CHECK_EQ_INT(add(u, "a/2.db"), 0);
	CHECK_EQ_INT(unfinished_keys(u)->n, 2);
	/* The process ends here, in whatever way. */
	unfinished_free(u);

	u = open_read(disk, path, 0);
	CHECK_EQ_INT(unfinished_keys(u)->n, 2);
	CHECK(names_have(unfinished_keys(u), "a/\"1\".db"));
	drop(u, "a/\"1\".db");
	drop(u, "a/never.db");
	CHECK_EQ_INT(add(u, "a/3.db"), 0); /* behind the writing of what was dropped */
	unfinished_free(u);

	u = open_read(disk, path, 0);
	CHECK_EQ_INT(unfinished_keys(u)->n, 2);
	CHECK(names_have(unfinished_keys(u), "a/2.db") && names_have(unfinished_keys(u), "a/3.db"));
	unfinished_free(u);
}

/* It is used all the same: what was left is then a stray, and is told. */
static void test_broken(struct disk *disk, const char *path)
{
	struct unfinished *u;

	CHECK_EQ_INT(file_write_atomic(path, "[\"a\", 7", 7, 0600, FILE_VOLATILE), 0);
	u = open_read(disk, path, -EBADMSG);
	CHECK_EQ_INT(unfinished_keys(u)->n, 0);
	CHECK_EQ_INT(add(u, "a/2.db"), 0);
	unfinished_free(u);
	CHECK_EQ_INT(file_write_atomic(path, "[\"a\", 7, null, \"b\"]", 19, 0600, FILE_VOLATILE), 0);
	u = open_read(disk, path, 0);
	CHECK_EQ_INT(unfinished_keys(u)->n, 2);
	unfinished_free(u);
	/* No room, no directory, no permission: it is known as long as the process lives. */
	u = open_read(disk, "/proc/nowhere/unfinished", 0);
	CHECK(add(u, "a/2.db") < 0);
	CHECK_EQ_INT(unfinished_keys(u)->n, 1);
	unfinished_free(u);
}

int main(void)
{
	AUTO(free) char *path = NULL;
	AUTO(free) char *clear = NULL;
	struct disk *disk = NULL;

	ev = ev_default_loop(0);
	if (mkdtemp(directory) == NULL || disk_new(ev, &disk) < 0)
		return 1;
	path = xasprintf("%s/.storing-site", directory);
	test_life(disk, path);
	test_broken(disk, path);
	disk_free(disk);
	clear = xasprintf("rm -rf '%s'", directory);
	return system(clear) == 0 ? check_result() : 1;
}
