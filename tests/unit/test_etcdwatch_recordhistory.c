/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of the history: within its limits, the last revisions and keys that are still what
 * they were. */
#include "etcdwatch/record/recordhistory.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/macro.h"
#include "base/mem.h"
#include "tests/unit/check.h"

static struct recordhistory *history;

static void put(int64_t revision, const char *key, size_t value_bytes)
{
	AUTO(free) uint8_t *value = xcalloc(1, value_bytes + 1);
	const struct record_event event = {.key = bytes_of_text(key),
	                                   .value = {.data = value, .len = value_bytes}};

	recordhistory_add(history, revision, &event, 1);
}

static void put_own_key(int64_t revision)
{
	char key[32];

	(void) snprintf(key, sizeof(key), "k%" PRId64, revision);
	put(revision, key, 1);
}

static void begin(void)
{
	recordhistory_free(history);
	history = recordhistory_new();
}

static bool has_key(const char *name, int64_t revision)
{
	const struct recordhistory_key *keys;
	size_t n = recordhistory_keys(history, &keys);

	for (size_t i = 0; i < n; i++) {
		if (keys[i].name_len == strlen(name) && memcmp(keys[i].name, name, strlen(name)) == 0)
			return keys[i].revision == revision;
	}
	return false;
}

static void test_limits(void)
{
	begin();
	CHECK_EQ_INT(recordhistory_first(history), 0);
	for (int64_t i = 5; i < 5 + RECORDHISTORY_REVISIONS_MAX; i++)
		put(i, "k", 1);
	CHECK_EQ_INT(recordhistory_first(history), 5);
	put(5 + RECORDHISTORY_REVISIONS_MAX, "k", 1);
	CHECK_EQ_INT(recordhistory_first(history), 6);
	/* One that is larger than the limit stands alone. */
	put(6 + RECORDHISTORY_REVISIONS_MAX, "k", RECORDHISTORY_BYTES_MAX);
	CHECK_EQ_INT(recordhistory_first(history), 6 + RECORDHISTORY_REVISIONS_MAX);
	put(7 + RECORDHISTORY_REVISIONS_MAX, "k", RECORDHISTORY_BYTES_MAX - 2);
	CHECK_EQ_INT(recordhistory_first(history), 7 + RECORDHISTORY_REVISIONS_MAX);
	put(8 + RECORDHISTORY_REVISIONS_MAX, "", 1);
	CHECK_EQ_INT(recordhistory_first(history), 7 + RECORDHISTORY_REVISIONS_MAX);
	CHECK_EQ_INT(recordhistory_last(history), 8 + RECORDHISTORY_REVISIONS_MAX);
}

static void test_fits(void)
{
	const struct record_event both[] = {{.key = bytes_of_text("a"), .value = bytes_of_text("1")},
	                                    {.is_delete = true, .key = bytes_of_text("b")}};

	begin();
	recordhistory_add(history, 9, both, 2);
	CHECK(recordhistory_fits(history, 9, both, 2, false));
	CHECK(!recordhistory_fits(history, 9, both, 1, false));
	CHECK(recordhistory_fits(history, 9, both, 1, true));
	CHECK(!recordhistory_fits(history, 9, both + 1, 1, true));
	CHECK(!recordhistory_fits(history, 9, NULL, 0, true));
}

static void test_keys(void)
{
	const struct record_event deletes = {.is_delete = true, .key = bytes_of_text("a")};
	AUTO(free) char *long_name = xcalloc(1, RECORDHISTORY_KEY_BYTES_MAX + 2);
	const struct recordhistory_key *keys;

	begin();
	put(1, "a", 1);
	put(2, "b", 1);
	CHECK(has_key("a", 1) && has_key("b", 2));
	put(3, "b", 1);
	CHECK(has_key("a", 1) && has_key("b", 3));
	recordhistory_add(history, 4, &deletes, 1);
	CHECK(!has_key("a", 1) && has_key("b", 3));
	put(5, "large", RECORDHISTORY_VALUE_BYTES_MAX + 1);
	memset(long_name, 'x', RECORDHISTORY_KEY_BYTES_MAX + 1);
	put(6, long_name, 1);
	CHECK_EQ_INT((int) recordhistory_keys(history, &keys), 1);
	/* Nothing of another history is mixed into it. */
	put(8, "c", 1);
	CHECK_EQ_INT((int) recordhistory_keys(history, &keys), 1);
	CHECK(has_key("c", 8));
	CHECK_EQ_INT(recordhistory_first(history), 8);
}

/* Some of each age are there. */
static void test_ages(void)
{
	enum { LAST = 100000 };
	const struct recordhistory_key *keys;
	size_t n;

	begin();
	for (int64_t i = 1; i <= LAST; i++)
		put_own_key(i);
	n = recordhistory_keys(history, &keys);
	CHECK(n > RECORDHISTORY_KEYS_MAX / 2 && n <= RECORDHISTORY_KEYS_MAX);
	for (int64_t age = 64; age < LAST; age *= 4) {
		size_t n_of_age = 0;

		for (size_t i = 0; i < n; i++)
			n_of_age += LAST - keys[i].revision >= age / 4 && LAST - keys[i].revision < age;
		if (!CHECK(n_of_age >= 2))
			(void) fprintf(stderr, "  none is less than %" PRId64 " old\n", age);
	}
	CHECK(has_key("k1", 1));
}

int main(void)
{
	test_limits();
	test_fits();
	test_keys();
	test_ages();
	recordhistory_free(history);
	return check_result();
}
