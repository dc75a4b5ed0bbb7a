/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fileio.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "tests/unit/check.h"

static char dir[] = "/tmp/fairlead-fileio-XXXXXX";

static char *in_dir(const char *name)
{
	return xasprintf("%s/%s", dir, name);
}

static void test_read(void)
{
	static const struct {
		size_t len, max;
		int want;
	} cases[] = {
	    {0, 0, 0},
	    {0, 10, 0},
	    {1, 0, -EFBIG},
	    {10, 10, 0},
	    {11, 10, -EFBIG},
	    {4095, 4095, 0},
	    {4096, 4096, 0},
	    {4097, 4097, 0},
	    {4097, 4096, -EFBIG},
	    {100000, 1 << 20, 0},
	    {100000, 5000, -EFBIG},
	};
	AUTO(free) char *path = in_dir("read");
	AUTO(free) char *content = xcalloc(1, 100001);

	memset(content, 'x', 100000);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *data = NULL;
		size_t len = 4711;

		CHECK_EQ_INT(file_write_atomic(path, content, cases[i].len, 0600, FILE_VOLATILE), 0);
		CHECK_EQ_INT(file_read(path, cases[i].max, &data, &len), cases[i].want);
		if (cases[i].want == 0) {
			CHECK_EQ_INT(len, cases[i].len);
			CHECK(data != NULL && data[len] == '\0' && memcmp(data, content, len) == 0);
		} else {
			CHECK(data == NULL && len == 4711);
		}
		free(data);
	}
}

static void test_read_errors(void)
{
	AUTO(free) char *missing = in_dir("missing");
	AUTO(free) char *fifo = in_dir("fifo");
	char *data = NULL;
	size_t len;

	CHECK_EQ_INT(file_read(missing, 10, &data, &len), -ENOENT);
	CHECK_EQ_INT(file_read(dir, 10, &data, &len), -EISDIR);
	/* Nobody writes into it, or will. */
	CHECK_EQ_INT(mkfifo(fifo, 0600), 0);
	(void) alarm(60);
	CHECK_EQ_INT(file_read(fifo, 10, &data, &len), -EOPNOTSUPP);
	(void) alarm(0);
	CHECK_EQ_INT(unlink(fifo), 0);
	CHECK(data == NULL);
	/* Where others put it in the place of a file. */
	CHECK_EQ_INT(file_read("/dev/null", 10, &data, &len), 0);
	CHECK_EQ_INT(len, 0);
	free(TAKE_PTR(data));
	/* Files of /proc say that they are empty, and are not. */
	CHECK_EQ_INT(file_read("/proc/self/status", 1 << 16, &data, &len), 0);
	CHECK(data != NULL && len > 0 && strncmp(data, "Name:", 5) == 0);
	free(data);
}

static unsigned files_in_dir(void)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	unsigned n = 0;

	while ((e = readdir(d)) != NULL)
		n += e->d_name[0] != '.';
	(void) closedir(d);
	return n;
}

static void test_write(void)
{
	static const enum file_durability ways[] = {FILE_VOLATILE, FILE_WHOLE, FILE_DURABLE};
	AUTO(free) char *path = in_dir("write");
	AUTO(free) char *leftover = xasprintf("%s.new.%d", path, (int) getpid());
	AUTO(free) char *target = in_dir("target");

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		const mode_t old_mask = umask(0777);
		char *data = NULL;
		size_t len = 0;
		struct stat st;
		unsigned before;

		/* Neither the umask nor what an earlier process left behind matters, and a link that
		 * somebody put there is not followed. */
		(void) unlink(leftover);
		CHECK_EQ_INT(symlink(target, leftover), 0);
		CHECK_EQ_INT(file_write_atomic(path, "one", 3, 0640, ways[i]), 0);
		(void) umask(old_mask);
		CHECK_EQ_INT(access(target, F_OK), -1);
		CHECK_EQ_INT(stat(path, &st), 0);
		CHECK_EQ_INT(st.st_mode & 07777, 0640);
		before = files_in_dir();
		CHECK_EQ_INT(file_write_atomic(path, "two\n", 4, 0600, ways[i]), 0);
		CHECK_EQ_INT(files_in_dir(), before);
		CHECK_EQ_INT(file_read(path, 100, &data, &len), 0);
		CHECK_EQ_STR(data, "two\n");
		free(data);
	}
}

/* Nothing is left behind, and what was there stays. */
static void test_write_errors(void)
{
	AUTO(free) char *nowhere = in_dir("no/such/place");
	AUTO(free) char *taken = in_dir("taken");
	AUTO(free) char *inside = in_dir("taken/file");
	unsigned before;

	CHECK_EQ_INT(file_write_atomic(nowhere, "x", 1, 0600, FILE_DURABLE), -ENOENT);
	CHECK_EQ_INT(mkdir(taken, 0700), 0);
	CHECK_EQ_INT(file_write_atomic(inside, "x", 1, 0600, FILE_VOLATILE), 0);
	before = files_in_dir();
	CHECK_EQ_INT(file_write_atomic(taken, "x", 1, 0600, FILE_VOLATILE), -EISDIR);
	CHECK_EQ_INT(files_in_dir(), before);
	CHECK_EQ_INT(access(inside, F_OK), 0);
}

#define BIG 200000

struct writer {
	const char *path;
	atomic_bool stop;
};

static void *write_for_ever(void *arg)
{
	struct writer *w = arg;
	AUTO(free) char *content = xcalloc(1, BIG);

	for (int i = 0; !atomic_load(&w->stop); i++) {
		memset(content, 'a' + i % 26, BIG);
		(void) file_write_atomic(w->path, content, BIG, 0600, FILE_VOLATILE);
	}
	return NULL;
}

/* A reader never sees a mixture, however often the file is replaced. */
static void test_never_mixed(void)
{
	AUTO(free) char *path = in_dir("mixed");
	struct writer w = {.path = path};
	pthread_t thread;
	bool mixed = false;

	CHECK_EQ_INT(file_write_atomic(path, "", 0, 0600, FILE_VOLATILE), 0);
	CHECK_EQ_INT(pthread_create(&thread, NULL, write_for_ever, &w), 0);
	for (int i = 0; i < 300; i++) {
		char *data = NULL;
		size_t len = 0;

		if (!CHECK_EQ_INT(file_read(path, BIG, &data, &len), 0))
			break;
		mixed = mixed || (len != 0 && len != BIG);
		for (size_t k = 1; k < len; k++)
			mixed = mixed || data[k] != data[0];
		free(data);
	}
	atomic_store(&w.stop, true);
	(void) pthread_join(thread, NULL);
	CHECK(!mixed);
}

int main(void)
{
	AUTO(free) char *cleanup = NULL;

	if (mkdtemp(dir) == NULL)
		return 1;
	test_read();
	test_read_errors();
	test_write();
	test_write_errors();
	test_never_mixed();
	cleanup = xasprintf("rm -r %s", dir);
	CHECK_EQ_INT(system(cleanup), 0);
	return check_result();
}
