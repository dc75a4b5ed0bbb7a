/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Write-ahead logs written by hand: how far they go, entries that are written anew, several files,
 * and every byte cut off or changed: then it ends earlier, and never later. (Real ones are read in
 * the stories.)
 */
#include "bolt/wal.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "bolt/crc32c.h"
#include "tests/unit/check.h"

#define FILE_MAX 65536
#define PUT 4
#define LEASE_GRANT 8

static char dir[] = "/tmp/fairlead-wal-XXXXXX";

struct log {
	uint8_t bytes[FILE_MAX];
	size_t len;
	uint32_t crc;
};

/* --- writing ---------------------------------------------------------------------------------- */

static size_t put_varint(uint8_t *p, uint64_t v)
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		p[n++] = (uint8_t) (v | 0x80);
	p[n++] = (uint8_t) v;
	return n;
}

static size_t put_integer(uint8_t *p, unsigned field, uint64_t v)
{
	size_t n = put_varint(p, (uint64_t) field << 3);

	return n + put_varint(p + n, v);
}

static size_t put_bytes(uint8_t *p, unsigned field, const void *data, size_t len)
{
	size_t n = put_varint(p, (uint64_t) field << 3 | 2);

	n += put_varint(p + n, len);
	if (len > 0)
		memcpy(p + n, data, len);
	return n + len;
}

static void put_record(struct log *log, unsigned type, const void *data, size_t len, uint32_t crc)
{
	uint8_t record[1024];
	size_t n = put_integer(record, 1, type), padding;
	uint64_t head;

	n += put_integer(record + n, 2, crc);
	if (data != NULL)
		n += put_bytes(record + n, 3, data, len);
	padding = (8 - n % 8) % 8;
	head = n;
	if (padding > 0)
		head |= (0x80 | (uint64_t) padding) << 56;
	head = htole64(head);
	memcpy(log->bytes + log->len, &head, sizeof(head));
	memcpy(log->bytes + log->len + 8, record, n);
	memset(log->bytes + log->len + 8 + n, 0, padding);
	log->len += 8 + n + padding;
}

static void put_data(struct log *log, unsigned type, const void *data, size_t len)
{
	log->crc = crc32c_update(log->crc, data, len);
	put_record(log, type, data, len, log->crc);
}

static void put_entry(struct log *log, uint64_t term, uint64_t index, unsigned request_field)
{
	uint8_t request[64], entry[128];
	size_t n = put_bytes(request, 100, "\x08\x01", 2), m;

	n += put_bytes(request + n, request_field, "x", 1);
	m = put_integer(entry, 1, 0);
	m += put_integer(entry + m, 2, term);
	m += put_integer(entry + m, 3, index);
	m += put_bytes(entry + m, 4, request, n);
	put_data(log, 2, entry, m);
}

static void put_state(struct log *log, uint64_t term, uint64_t commit)
{
	uint8_t state[64];
	size_t n = put_integer(state, 1, term);

	n += put_integer(state + n, 2, 1);
	n += put_integer(state + n, 3, commit);
	put_data(log, 3, state, n);
}

/* As each file begins. */
static void begin(struct log *log, uint32_t crc)
{
	uint8_t metadata[64];
	size_t n = put_integer(metadata, 1, 0xabc);

	n += put_integer(metadata + n, 2, 0xdef);
	*log = (struct log){.crc = crc};
	put_record(log, 4, NULL, 0, crc);
	put_data(log, 1, metadata, n);
}

/* With room behind it, as etcd makes it. */
static void save(const struct log *log, const char *name, size_t len)
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

/* --- tests ------------------------------------------------------------------------------------ */

/* Entries 1 to 6, of which 5 is agreed on; 3 grants a lease. */
static void make_simple(struct log *log)
{
	begin(log, 0);
	for (uint64_t i = 1; i <= 6; i++) {
		put_entry(log, 2, i, i == 3 ? LEASE_GRANT : PUT);
		put_state(log, 2, i - 1);
	}
}

static void test_simple(void)
{
	struct wal_reach reach;
	struct log log;

	clear();
	make_simple(&log);
	save(&log, FIRST, log.len);
	save(&log, "0.tmp", log.len);
	CHECK_EQ_INT(wal_read(dir, 0, &reach), 0);
	CHECK(reach.member_id == 0xabc && reach.cluster_id == 0xdef);
	CHECK(reach.term == 2 && reach.last == 6 && reach.commit == 5);
	CHECK(reach.n_writes == 4 && !reach.is_torn && !reach.has_gap);
	CHECK_EQ_INT(wal_read(dir, 4, &reach), 0);
	CHECK(reach.n_writes == 1 && reach.last == 6);
	CHECK_EQ_INT(wal_read(dir, 100, &reach), 0);
	CHECK_EQ_INT(reach.n_writes, 0);
}

/* A new leader has others under 4 and 5. */
static void test_written_anew(void)
{
	struct wal_reach reach;
	struct log log;

	clear();
	make_simple(&log);
	put_entry(&log, 3, 4, LEASE_GRANT);
	put_entry(&log, 3, 5, PUT);
	put_state(&log, 3, 5);
	save(&log, FIRST, log.len);
	CHECK_EQ_INT(wal_read(dir, 0, &reach), 0);
	CHECK(reach.term == 3 && reach.last == 5 && reach.commit == 5);
	CHECK_EQ_INT(reach.n_writes, 3);
}

static void test_two_files(void)
{
	struct wal_reach reach;
	struct log first, second;

	clear();
	begin(&first, 0);
	for (uint64_t i = 1; i <= 4; i++)
		put_entry(&first, 2, i, PUT);
	save(&first, FIRST, first.len);
	begin(&second, first.crc);
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
	begin(&second, 12345);
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
	struct log log = {.len = 0};

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
	struct log log;

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
