/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Write-ahead logs written by hand: how far they go, entries that are written anew, several files,
 * and every byte cut off or changed: then it ends earlier, and never later. (Real ones are read in
 * the stories.)
 */
#include "bolt/wal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/walfile.h"

#define PUT 4
#define LEASE_GRANT 8

static char dir[] = "/tmp/fairlead-wal-XXXXXX";

static void put_entry(struct walfile *log, uint64_t term, uint64_t index, unsigned request_field)
{
	uint8_t request[64], entry[128];
	size_t n = walfile_put_bytes(request, 100, "\x08\x01", 2), m;

	n += walfile_put_bytes(request + n, request_field, "x", 1);
	m = walfile_put_integer(entry, 1, 0);
	m += walfile_put_integer(entry + m, 2, term);
	m += walfile_put_integer(entry + m, 3, index);
	m += walfile_put_bytes(entry + m, 4, request, n);
	walfile_put_data(log, 2, entry, m);
}

static void put_state(struct walfile *log, uint64_t term, uint64_t commit)
{
	uint8_t state[64];
	size_t n = walfile_put_integer(state, 1, term);

	n += walfile_put_integer(state + n, 2, 1);
	n += walfile_put_integer(state + n, 3, commit);
	walfile_put_data(log, 3, state, n);
}

/* With room behind it, as etcd makes it. */
static void save(const struct walfile *log, const char *name, size_t len)
{
	AUTO(free) char *path = xasprintf("%s/%s", dir, name);
	AUTO(free) uint8_t *bytes = xcalloc(1, len + 64);

	memcpy(bytes, log->bytes, len);
	CHECK_EQ_INT(file_write_atomic(path, bytes, len + 64, 0600, FILE_VOLATILE), 0);
}

static void clear(void)
{
	AUTO(free) char *command = xasprintf("rm -f %s/*", dir);

	CHECK_EQ_INT(system(command), 0);
}

#define FIRST "0000000000000000-0000000000000000.wal"
#define SECOND "0000000000000001-0000000000000005.wal"

/* --- tests --- */

/* Entries 1 to 6, of which 5 is agreed on; 3 grants a lease. */
static void make_simple(struct walfile *log)
{
	walfile_begin(log, 0);
	for (uint64_t i = 1; i <= 6; i++) {
		put_entry(log, 2, i, i == 3 ? LEASE_GRANT : PUT);
		put_state(log, 2, i - 1);
	}
}

static void test_simple(void)
{
	struct wal_reach reach;
	struct walfile log;

	clear();
	make_simple(&log);
	save(&log, FIRST, log.len);
	save(&log, "0.tmp", log.len);
	CHECK_EQ_INT(wal_read(dir, 0, &reach), 0);
	CHECK(reach.member_id == 0xabc && reach.cluster_id == 0xdef);
	CHECK(reach.term == 2 && reach.last == 6 && reach.commit == 5);
	CHECK(reach.n_writes == 4 && !reach.is_torn && !reach.has_gap);
	CHECK_EQ_INT(wal_read(dir, 4, &reach), 0);
	CHECK(reach.n_writes == 1 && reach.n_unsure == 1 && reach.last == 6);
	CHECK_EQ_INT(wal_read(dir, 100, &reach), 0);
	CHECK_EQ_INT(reach.n_writes, 0);
}

/* A new leader has others under 4 and 5. */
static void test_written_anew(void)
{
	struct wal_reach reach;
	struct walfile log;

	clear();
	make_simple(&log);
	put_entry(&log, 3, 4, LEASE_GRANT);
	put_entry(&log, 3, 5, PUT);
	put_state(&log, 3, 5);
	save(&log, FIRST, log.len);
	CHECK_EQ_INT(wal_read(dir, 0, &reach), 0);
	CHECK(reach.term == 3 && reach.last == 5 && reach.commit == 5);
	CHECK(reach.n_writes == 3 && reach.n_unsure == 0);
}

static void test_two_files(void)
{
	struct wal_reach reach;
	struct walfile first, second;

	clear();
	walfile_begin(&first, 0);
	for (uint64_t i = 1; i <= 4; i++)
		put_entry(&first, 2, i, PUT);
	save(&first, FIRST, first.len);
	walfile_begin(&second, first.crc);
	put_state(&second, 2, 4);
	save(&second, SECOND, second.len);
	/* Just begun. */
	CHECK_EQ_INT(wal_read(dir, 4, &reach), 0);
	CHECK(reach.last == 4 && reach.commit == 4 && reach.n_writes == 0 && !reach.has_gap);
	CHECK_EQ_INT(wal_read(dir, 0, &reach), 0);
	CHECK(reach.last == 4 && reach.n_writes == 4);
	put_entry(&second, 2, 5, PUT);
	put_state(&second, 2, 5);
	save(&second, SECOND, second.len);
	CHECK_EQ_INT(wal_read(dir, 0, &reach), 0);
	CHECK(reach.last == 5 && reach.n_writes == 5);
	/* The second goes on from where the first is: it may not be another one's. */
	walfile_begin(&second, 12345);
	put_entry(&second, 2, 5, PUT);
	save(&second, SECOND, second.len);
	CHECK_EQ_INT(wal_read(dir, 0, &reach), 0);
	CHECK(reach.is_torn && reach.last == 4);
	/* The first was purged, and is wanted. */
	clear();
	save(&second, SECOND, second.len);
	CHECK_EQ_INT(wal_read(dir, 2, &reach), 0);
	CHECK(reach.has_gap && reach.last == 5);
}

static void test_none(void)
{
	struct wal_reach reach;
	struct walfile log = {.len = 0};

	clear();
	CHECK_EQ_INT(wal_read("/nowhere", 0, &reach), -ENOENT);
	CHECK_EQ_INT(wal_read(dir, 0, &reach), -ENOENT);
	save(&log, FIRST, 0);
	CHECK_EQ_INT(wal_read(dir, 0, &reach), -EBADMSG);
	memset(log.bytes, 0x7f, 100);
	save(&log, FIRST, 100);
	CHECK_EQ_INT(wal_read(dir, 0, &reach), -EBADMSG);
}

static void test_damaged(void)
{
	struct walfile log;

	clear();
	make_simple(&log);
	for (size_t i = 0; i < log.len; i++) {
		struct wal_reach reach = {0};
		uint8_t was = log.bytes[i];

		save(&log, FIRST, i); /* cut off, and zeros behind */
		if (wal_read(dir, 0, &reach) == 0)
			CHECK(reach.last <= 6 && reach.commit <= 5);
		log.bytes[i] ^= 0x15;
		save(&log, FIRST, log.len);
		if (wal_read(dir, 0, &reach) == 0)
			CHECK(reach.last <= 6 && reach.commit <= 5 && reach.n_writes <= 4);
		log.bytes[i] = was;
	}
}

int main(void)
{
	AUTO(free) char *command = NULL;

	if (mkdtemp(dir) == NULL)
		return EXIT_FAILURE;
	test_simple();
	test_written_anew();
	test_two_files();
	test_none();
	test_damaged();
	command = xasprintf("rm -r %s", dir);
	CHECK_EQ_INT(system(command), 0);
	return check_result();
}
