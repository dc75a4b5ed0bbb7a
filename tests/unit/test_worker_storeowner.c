/* SPDX-License-Identifier: Apache-2.0 */
/* Whose a prefix is, with a store in memory: the mark is made once, compared each time, and
 * whatever else is there is left alone. */
#include "etcdwatch/worker/store/storeowner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "tests/unit/check.h"
#include "web/s3.h"

#define OURS "00112233445566778899aabbccddeeff"
#define THEIRS "ffeeddccbbaa99887766554433221100"
#define MARK(id) \
	"{\"version\":1,\"owner\":\"" id "\",\"node\":\"n9\",\"since\":\"2026-11-21T20:30:00Z\"}"

static struct {
	char key[64];
	char text[4096 + 64]; /* "": there is no such object */
	size_t n_puts;
	bool is_denied;         /* to read */
	const char *put_before; /* another cluster writes this right before us */
	const char *put_beside; /* or right behind us */
	bool keeps_first, refuses_condition;
} store;

static int get(struct s3 *s3, const char *key, uint64_t offset UNUSED, s3_data_fn data,
               void *userdata, struct s3_object *ret_object UNUSED)
{
	if (store.is_denied)
		return s3_fail(s3, -EACCES, S3_DENIED, "no right to read");
	if (store.text[0] == '\0')
		return s3_fail(s3, -ENOENT, S3_NOT_FOUND, "there is no such object");
	CHECK_EQ_STR(key, store.key);
	return data(store.text, strlen(store.text), userdata);
}

static int put(struct s3 *s3, const char *key, const struct s3_piece *piece)
{
	ssize_t n;

	if (piece->is_new && store.refuses_condition)
		return s3_fail(s3, -EINVAL, S3_REFUSED, "a header is not implemented");
	if (store.put_before != NULL)
		(void) snprintf(store.text, sizeof(store.text), "%s", store.put_before);
	if (piece->is_new && store.keeps_first && store.text[0] != '\0')
		return s3_fail(s3, -EEXIST, S3_EXISTS, "the object is there");
	n = pread(piece->fd, store.text, sizeof(store.text) - 1, (off_t) piece->offset);

	store.text[MAX(n, 0)] = '\0';
	CHECK_EQ_INT(n, (long) piece->n_bytes);
	(void) snprintf(store.key, sizeof(store.key), "%s", key);
	store.n_puts++;
	if (store.put_beside != NULL)
		(void) snprintf(store.text, sizeof(store.text), "%s", store.put_beside);
	return 0;
}

static const struct s3_ops ops = {.get = get, .put = put};
static const struct storeowner ours = {.id = OURS, .node = "n1", .prefix = "cluster-a/"};

/* Nothing was written before but `text`. */
static int check(const char *text, const struct storeowner *owner, bool removes,
                 struct problem *problem)
{
	AUTO(s3_free) struct s3 *s3 = s3_new_of(&ops, &store);

	(void) snprintf(store.key, sizeof(store.key), "cluster-a/fairlead-owner.json");
	(void) snprintf(store.text, sizeof(store.text), "%s", text);
	store.n_puts = 0;
	*problem = (struct problem){0};
	return storeowner_check(s3, owner, removes, problem);
}

static void test_first_use(void)
{
	AUTO(free) char *written = NULL;
	struct problem problem;

	CHECK_EQ_INT(check("", &ours, false, &problem), 0);
	CHECK_EQ_INT((long) store.n_puts, 1);
	CHECK_EQ_STR(store.key, "cluster-a/fairlead-owner.json");
	CHECK(strstr(store.text, "\"owner\":\"" OURS "\",\"node\":\"n1\",\"since\":\"2") != NULL);
	written = xstrdup(store.text);
	CHECK_EQ_INT(check(written, &ours, true, &problem), 0);
	CHECK_EQ_INT((long) store.n_puts, 0);
	/* Two at once: where the store knows conditions, the first one's mark stays; it may be our own,
	 * whose answer did not come. */
	store.keeps_first = true;
	store.put_before = MARK(THEIRS);
	CHECK(check("", &ours, false, &problem) < 0);
	CHECK_EQ_STR(problem.code, "FOREIGN");
	CHECK_EQ_STR(store.text, MARK(THEIRS));
	store.put_before = MARK(OURS);
	CHECK_EQ_INT(check("", &ours, false, &problem), 0);
	store.put_before = NULL;
	CHECK_EQ_INT(check("", &ours, false, &problem), 0);
	CHECK_EQ_INT((long) store.n_puts, 1);
	store.keeps_first = false;
	store.refuses_condition = true;
	CHECK_EQ_INT(check("", &ours, false, &problem), 0);
	CHECK_EQ_INT((long) store.n_puts, 1);
	store.refuses_condition = false;
	/* Elsewhere the one whose mark did not stay is told. */
	store.put_beside = MARK(THEIRS);
	CHECK(check("", &ours, false, &problem) < 0);
	CHECK_EQ_STR(problem.code, "FOREIGN");
	store.put_beside = NULL;
}

static void test_foreign(void)
{
	static const char *const odd[] = {"no JSON",
	                                  "{}",
	                                  "[]",
	                                  "{\"owner\":1}",
	                                  "{\"owner\":\"00112233445566778899aabbccddeefg\"}",
	                                  "{\"owner\":\"0011\"}"};
	char *longer = xcalloc(1, 4098);
	struct problem problem;

	for (int removes = 0; removes < 2; removes++) {
		CHECK(check(MARK(THEIRS), &ours, removes, &problem) < 0);
		CHECK_EQ_STR(problem.code, "FOREIGN");
		CHECK(strstr(problem.reason,
		             "another cluster, " THEIRS ", since 2026-11-21T20:30:00Z by its "
		             "node n9, and this one is " OURS " (node n1)") != NULL);
		CHECK_EQ_INT((long) store.n_puts, 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
		CHECK(check(odd[i], &ours, false, &problem) < 0);
		CHECK_EQ_STR(problem.code, "FOREIGN");
		CHECK_EQ_INT((long) store.n_puts, 0);
	}
	memset(longer, ' ', 4097);
	CHECK(check(longer, &ours, false, &problem) < 0);
	CHECK_EQ_STR(problem.code, "FOREIGN");
	free(longer);
}

static void test_unknown(void)
{
	const struct storeowner unknown = {.id = "", .node = "n1", .prefix = "cluster-a/"};
	const struct storeowner none = {.id = NULL};
	struct problem problem;

	CHECK(check("", &unknown, false, &problem) < 0);
	CHECK_EQ_STR(problem.code, "OWNER_UNKNOWN");
	CHECK_EQ_INT((long) store.n_puts, 0);
	CHECK_EQ_INT(check(MARK(THEIRS), &none, true, &problem), 0);
	/* Without the right to read nothing is written over, and nothing removed. */
	store.is_denied = true;
	CHECK_EQ_INT(check(MARK(THEIRS), &ours, false, &problem), 0);
	CHECK_EQ_INT((long) store.n_puts, 0);
	CHECK(check(MARK(THEIRS), &ours, true, &problem) < 0);
	CHECK_EQ_STR(problem.code, "S3_DENIED");
	store.is_denied = false;
}

static void test_take_over(void)
{
	AUTO(s3_free) struct s3 *s3 = s3_new_of(&ops, &store);
	AUTO(free) char *before = NULL;
	struct problem problem = {0};

	(void) snprintf(store.text, sizeof(store.text), "%s", MARK(THEIRS));
	CHECK_EQ_INT(storeowner_take_over(s3, &ours, &problem, &before), 0);
	CHECK_EQ_STR(before, THEIRS);
	CHECK_EQ_INT(storeowner_check(s3, &ours, true, &problem), 0);
}

int main(void)
{
	test_first_use();
	test_foreign();
	test_unknown();
	test_take_over();
	return check_result();
}
