/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot that etcdwatch hands over becomes a file only if it is, byte for byte, what was
 * proven; else what had the name before is as it was.
 */
#include "cli/snapshot/jobs.h"

#include <sys/mman.h>

#include "tests/unit/scratch.h"
#include "tests/unit/snapfile.h"

#define SOURCE "tests/bolt/etcd-3.4.db"
#define DB_BYTES 40960
#define WHOLE ((size_t) -1)

static struct snapfile source;

/* The first `len` bytes of it, the one at `flipped` with another value. */
static int hand_over(size_t len, size_t flipped)
{
	int fd = memfd_create("snapshot", MFD_CLOEXEC);

	CHECK_EQ_INT(write(fd, source.bytes, len), (ssize_t) len);
	if (flipped != WHOLE) {
		char wrong = (char) (source.bytes[flipped] ^ 1);

		CHECK_EQ_INT(pwrite(fd, &wrong, 1, (off_t) flipped), 1);
	}
	return fd;
}

static int save(int fd, int64_t db_bytes)
{
	const struct cli cli = {.output = CLI_JSON};
	json_t *entry = json_pack("{s:I}", "db_bytes", (json_int_t) db_bytes);
	struct save_file file;
	int code;

	save_file_init(&file, "saved.db");
	if (fd >= 0) {
		save_file_begin(&file);
		save_file_end(&file, fd);
	}
	code = save_file_keep(&file, &cli, entry);
	save_file_fini(&file);
	json_decref(entry);
	if (fd >= 0)
		(void) close(fd);
	return code;
}

static void check_file(const char *want, size_t want_len)
{
	AUTO(free) char *got = NULL;
	char list[128];
	size_t len = 0;

	CHECK_EQ_INT(file_read("saved.db", SNAPFILE_BYTES_MAX, &got, &len), 0);
	CHECK(got != NULL && len == want_len && memcmp(got, want, len) == 0);
	CHECK_EQ_STR(scratch_list(".", list, sizeof(list)), "saved.db");
}

static void test_refused(void)
{
	static const struct {
		const char *what;
		size_t len, flipped;
		int64_t db_bytes;
	} cases[] = {
	    {"a byte of the database", WHOLE, 20000, DB_BYTES},
	    {"a byte of the digest", WHOLE, DB_BYTES + 7, DB_BYTES},
	    {"less of it", DB_BYTES - 512, WHOLE, DB_BYTES},
	    {"no digest", DB_BYTES, WHOLE, DB_BYTES},
	    {"nothing", 0, WHOLE, DB_BYTES},
	    {"another one, sound in itself", WHOLE, WHOLE, DB_BYTES + 4096},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t len = cases[i].len == WHOLE ? source.len : cases[i].len;

		CHECK_EQ_INT(file_write_atomic("saved.db", "old", 3, 0644, FILE_VOLATILE), 0);
		if (!CHECK(save(hand_over(len, cases[i].flipped), cases[i].db_bytes) != CLI_OK))
			(void) fprintf(stderr, "  it was %s\n", cases[i].what);
		check_file("old", 3);
	}
	CHECK(save(-1, DB_BYTES) != CLI_OK);
	check_file("old", 3);
}

/* It holds all secrets of the cluster, whatever had the name before. */
static void test_saved(void)
{
	struct stat st;

	CHECK_EQ_INT(save(hand_over(source.len, WHOLE), DB_BYTES), CLI_OK);
	check_file(source.bytes, source.len);
	CHECK_EQ_INT(stat("saved.db", &st), 0);
	CHECK_EQ_INT(st.st_mode & 0777, 0600);
}

/* What has come so far is copied and read back; the end of it tells how much that was. */
static void test_growing(void)
{
	static const size_t until[] = {0, 1, 511, 513, 4096, 20001, DB_BYTES, DB_BYTES + 5};
	const struct cli cli = {.output = CLI_JSON};
	json_t *entry = json_pack("{s:I}", "db_bytes", (json_int_t) DB_BYTES);
	int fd = memfd_create("snapshot", MFD_CLOEXEC);
	struct save_file file;
	size_t done = 0;

	save_file_init(&file, "saved.db");
	save_file_begin(&file);
	for (size_t i = 0; i < ARRAY_SIZE(until); i++) {
		size_t len = until[i] - done;

		CHECK_EQ_INT(pwrite(fd, source.bytes + done, len, (off_t) done), (ssize_t) len);
		save_file_copy(&file, fd);
		done = until[i];
		CHECK_EQ_INT(file.bytes, (off_t) done);
	}
	CHECK(pwrite(fd, source.bytes + done, source.len - done, (off_t) done) > 0);
	save_file_end(&file, fd);
	CHECK_EQ_INT(save_file_keep(&file, &cli, entry), CLI_OK);
	save_file_fini(&file);
	check_file(source.bytes, source.len);
	json_decref(entry);
	(void) close(fd);
}

/* The digest is that of the copy, and not of what was to be copied. */
static void test_read_back(void)
{
	int fd = hand_over(source.len - 100, WHOLE);
	struct save_file file;

	CHECK_EQ_INT(file_write_atomic("saved.db", "old", 3, 0644, FILE_VOLATILE), 0);
	save_file_init(&file, "saved.db");
	save_file_begin(&file);
	save_file_copy(&file, fd);
	CHECK_EQ_INT(pwrite(file.fd, "x", 1, (off_t) source.len - 101), 1);
	CHECK_EQ_INT(pwrite(fd, source.bytes + source.len - 100, 100, (off_t) source.len - 100), 100);
	save_file_end(&file, fd);
	CHECK(file.code != CLI_OK);
	save_file_fini(&file);
	check_file("old", 3);
	(void) close(fd);
}

int main(void)
{
	source = snapfile_load(SOURCE);
	scratch_enter();
	test_refused();
	test_saved();
	test_growing();
	test_read_back();
	scratch_leave();
	free(source.bytes);
	return check_result();
}
