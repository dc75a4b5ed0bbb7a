/* SPDX-License-Identifier: Apache-2.0 */
/* How much a server can make us take: what is known of an object, what it says, what it sends, and
 * what the disk has room for; and of a list of entries. All the rest of fetching is for the stories
 * about S3. */
#include "etcdwatch/worker/store/s3get.h"

#include <errno.h>

#include "etcdwatch/worker/source/sourcefind.h"
#include "tests/unit/s3fake.h"
#include "tests/unit/scratch.h"

#define TEN "0123456789"
#define TEN_SHA256 "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882"
#define NAMES_MAX 256

static int get(const struct s3get_request *more, struct problem *problem)
{
	struct s3get_request request = *more;
	struct s3get_result result;

	*problem = (struct problem){0};
	request.key = "x/a.db";
	request.path = "a.db";
	return s3get_run(s3, &request, problem, &result);
}

static void expect(const struct problem *problem, const char *code, const char *text)
{
	CHECK_EQ_STR(problem->code, code);
	if (!CHECK(strstr(problem->reason, text) != NULL))
		(void) fprintf(stderr, "  '%s' lacks '%s'\n", problem->reason, text);
}

/* Before a byte of it is asked for. */
static void expect_not_asked(const char *code, const char *text, const struct problem *problem)
{
	char names[NAMES_MAX];

	expect(problem, code, text);
	CHECK_EQ_INT(heard->n, 1);
	CHECK(asked(0, "HEAD "));
	CHECK_EQ_STR(scratch_list(".", names, sizeof(names)), "");
}

static void test_right(void)
{
	struct problem problem;

	START(ANSWER("200 OK", "Content-Length: 10\r\n" ETAG, ""),
	      ANSWER("200 OK", "Content-Length: 10\r\n" ETAG, TEN));
	CHECK_EQ_INT(get(&(struct s3get_request){.n_bytes = 10, .more_bytes = 10}, &problem), 0);
	CHECK(scratch_shell("test \"$(cat a.db)\" = " TEN " && rm a.db"));
	/* Nothing is known of it, and it is believed. */
	START(ANSWER("200 OK", "Content-Length: 10\r\n" ETAG, ""),
	      ANSWER("200 OK", "Content-Length: 10\r\n" ETAG, TEN));
	CHECK_EQ_INT(get(&(struct s3get_request){0}, &problem), 0);
	CHECK(scratch_shell("rm a.db"));
}

static void test_another_size(void)
{
	struct problem problem;

	START(ANSWER("200 OK", "Content-Length: 11\r\n" ETAG, ""));
	CHECK(get(&(struct s3get_request){.n_bytes = 10}, &problem) < 0);
	expect_not_asked("MISMATCH", "'x/a.db' has 11 bytes, and 10 by the catalogue", &problem);
	START(ANSWER("200 OK", "Content-Length: 9\r\n" ETAG, ""));
	CHECK(get(&(struct s3get_request){.n_bytes = 10}, &problem) < 0);
	expect_not_asked("MISMATCH", "has 9 bytes, and 10", &problem);
}

static void test_no_room(void)
{
	struct problem problem;

	START(ANSWER("200 OK", "Content-Length: 1000000000000000000\r\n" ETAG, ""));
	CHECK_EQ_INT(get(&(struct s3get_request){0}, &problem), -ENOSPC);
	expect_not_asked("NO_SPACE", "'x/a.db' of 1000000000000000000 bytes", &problem);
	START(ANSWER("200 OK", "Content-Length: 10\r\n" ETAG, ""));
	CHECK_EQ_INT(
	    get(&(struct s3get_request){.n_bytes = 10, .more_bytes = UINT64_C(1) << 60}, &problem),
	    -ENOSPC);
	expect_not_asked("NO_SPACE", "takes 1152921504606846986 bytes", &problem);
}

/* It says ten, and sends more. */
static void test_more_than_said(void)
{
	struct problem problem;

	START(ANSWER("200 OK", "Content-Length: 10\r\n" ETAG, ""),
	      ANSWER("200 OK", "Content-Length: 20\r\n" ETAG, TEN TEN));
	CHECK_EQ_INT(get(&(struct s3get_request){.n_bytes = 10, .sha256 = TEN_SHA256}, &problem),
	             -ESTALE);
	expect(&problem, "S3_CHANGED", "was to have 10 bytes, and 20 or more came");
	CHECK(!scratch_exists("a.db"));
	CHECK(scratch_shell("test $(stat -c %%s .a.db.new) -le 10"));
	/* What is left of it does not stand in the way of the true one. */
	START(ANSWER("200 OK", "Content-Length: 10\r\n" ETAG, ""),
	      ANSWER("200 OK", "Content-Length: 10\r\n" ETAG, TEN));
	CHECK_EQ_INT(get(&(struct s3get_request){.n_bytes = 10, .sha256 = TEN_SHA256}, &problem), 0);
	CHECK(scratch_shell("test \"$(cat a.db)\" = " TEN " && rm a.db"));
}

/* --- lists --- */

#define ID "20261121T203000Z-j-n1-r1"

/* So many keys that could be that snapshot's entry, below names of so many letters. */
static char *make_list(size_t n, size_t name_len)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	CHECK(f != NULL);
	(void) fputs("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n<ListBucketResult>", f);
	for (size_t i = 0; i < n; i++)
		(void) fprintf(f, "<Contents><Key>%0*zu/" ID ".json</Key></Contents>", (int) name_len, i);
	(void) fputs("</ListBucketResult>", f);
	CHECK(fclose(f) == 0);
	return text;
}

static void expect_list(size_t n, size_t name_len, const char *code, const char *text)
{
	AUTO(free) char *list = make_list(n, name_len);
	const char *const answers[] = {list};
	struct source_request request = {.name = ID, .s3_prefix = "p/"};
	struct sourcefound found = {0};
	struct problem problem = {0};

	start(NULL, answers, 1);
	request.s3 = s3;
	CHECK(sourcefind_s3(&request, &problem, &found) < 0);
	expect(&problem, code, text);
	sourcefound_fini(&found);
}

static void test_lists(void)
{
	expect_list(2, 16, "NOT_FOUND", "there are 2 snapshots '" ID "'");
	expect_list(SOURCEFIND_KEYS_MAX, 16, "NOT_FOUND", "there are 100000 snapshots");
	expect_list(SOURCEFIND_KEYS_MAX + 1, 16, "TOO_MANY", "below 'p/' in the bucket");
	/* Not the folder of a cluster. */
	expect_list(SOURCEFIND_KEYS_MAX + 1, 15, "NOT_FOUND", "there are 0 snapshots");
	/* Longer than a key can be. */
	expect_list(2, CATALOG_KEY_MAX + 1, "NOT_FOUND", "there are 0 snapshots");
}

int main(void)
{
	fake_up();
	scratch_enter();
	test_right();
	test_another_size();
	test_no_room();
	test_more_than_said();
	test_lists();
	stop_server();
	scratch_leave();
	return check_result();
}
