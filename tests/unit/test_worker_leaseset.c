/* SPDX-License-Identifier: Apache-2.0 */
/* The leases of a database that is made anew: which of them stay, and how they are written. */
#include "etcdwatch/worker/rebuild/rebuildmerge.h"

#include <sys/mman.h>

#include "base/cleanup.h"
#include "bolt/bulk.h"
#include "tests/unit/leasebucket.h"

static const char *write_leases(struct leaseset *set)
{
	static const char *text;
	AUTO(close) int fd = memfd_create("leases", MFD_CLOEXEC);
	AUTO(bulk_free) struct bulk *bulk = bulk_new(fd, 4096);
	AUTO(bolt_close) struct bolt *db = NULL;
	struct bolt_fault fault;
	uint64_t n_bytes;
	size_t n;

	CHECK_EQ_INT(bulk_begin(bulk, bytes_of_text("lease")), 0);
	CHECK_EQ_INT(leaseset_write(set, bulk, &n), 0);
	CHECK_EQ_INT(bulk_finish(bulk, &n_bytes), 0);
	CHECK_EQ_INT(bolt_open(fd, n_bytes, &fault, &db), 0);
	text = leasebucket_text(db);
	return text;
}

static void see(struct leaseset *set, const char *key, int64_t lease)
{
	leaseset_see_key(set, bytes_of_text(key), lease < 0, lease < 0 ? 0 : lease);
}

static void test_leases(void)
{
	struct leaseset *set = leaseset_new(LEASESET_KEYS_MAX);

	leaseset_see_lease(set, 7, 70);
	leaseset_see_lease(set, 5, 50);
	CHECK_EQ_STR(write_leases(set), "5:50 7:70 "); /* by id, keys or not */
	leaseset_free(set);

	set = leaseset_new(LEASESET_KEYS_MAX);
	leaseset_see_lease(set, 5, 50);
	leaseset_see_lease(set, 6, 60);
	leaseset_see_lease(set, 7, 70);
	see(set, "a", 5);
	see(set, "b", 6);
	see(set, "c", 7);
	see(set, "b", -1); /* deleted */
	see(set, "c", 0);  /* put without a lease */
	leaseset_see_lease(set, 5, 0);
	leaseset_see_lease(set, 6, 0);
	leaseset_see_lease(set, 7, 0);
	/* A key hangs on 5: that it is gone was told before the deletion of its key, which is not in.
	 */
	CHECK_EQ_STR(write_leases(set), "5:50 ");
	leaseset_free(set);

	set = leaseset_new(LEASESET_KEYS_MAX);
	see(set, "a", 9);
	see(set, "b", 9);
	CHECK_EQ_INT((int) leaseset_count_unknown(set), 1);
	see(set, "a", -1);
	CHECK_EQ_INT((int) leaseset_count_unknown(set), 1);
	leaseset_see_late(set, 8, 80); /* is of a later moment */
	leaseset_see_late(set, 9, 90);
	CHECK_EQ_INT((int) leaseset_count_unknown(set), 0);
	CHECK_EQ_STR(write_leases(set), "9:90 ");
	leaseset_free(set);

	/* More keys than are counted: all leases stay. */
	set = leaseset_new(2);
	leaseset_see_lease(set, 5, 50);
	see(set, "a", 5);
	see(set, "b", 5);
	see(set, "c", 5);
	leaseset_see_lease(set, 5, 0);
	CHECK_EQ_STR(write_leases(set), "5:50 ");
	leaseset_free(set);
}

int main(void)
{
	test_leases();
	return check_result();
}
