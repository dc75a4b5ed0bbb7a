/* SPDX-License-Identifier: Apache-2.0 */
/*
 * past DIRECTORY BASE_MB RECORD_MB: a snapshot, base.db, and what was recorded behind it, record/,
 * as if etcd had been written to for a while: 20,000 keys that are put again and again, with values
 * of 1,000 bytes that do not compress. For measuring how fast a rebuild is, without an etcd.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "bolt/bulk.h"
#include "bolt/mvcc.h"
#include "bolt/snapshot.h"
#include "etcdwatch/record/segment.h"

#define N_KEYS 20000
#define VALUE_BYTES 1000
#define MB 1000000
#define SEGMENT_BYTES ((size_t) 64 << 20)
#define CLUSTER_ID 0xc1

static uint64_t seed = 1;

static int die(const char *what)
{
	(void) fprintf(stderr, "past: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* The change that makes this revision; the value is good until the next call. */
static struct record_event change_at(int64_t revision, char key[static 64])
{
	static uint8_t value[VALUE_BYTES];
	int64_t round = (revision - 2) / N_KEYS, number = (revision - 2) % N_KEYS;

	for (size_t i = 0; i + 8 <= sizeof(value); i += 8) {
		seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		memcpy(value + i, &seed, 8);
	}
	(void) snprintf(key, 64, "/registry/configmaps/default/object-%08" PRId64, number);
	return (struct record_event){.key = bytes_of_text(key),
	                             .create_revision = 2 + number,
	                             .version = round + 1,
	                             .value = {.data = value, .len = sizeof(value)}};
}

static void write_base(const char *directory, int64_t last)
{
	AUTO(free) char *path = xasprintf("%s/base.db", directory);
	AUTO(close) int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	AUTO(bulk_free) struct bulk *bulk = bulk_new(fd, 4096);
	static uint8_t value[VALUE_BYTES + 256];
	uint8_t rev[MVCC_REV_BYTES];
	uint64_t n_bytes;
	char key[64];
	int r = bulk_begin(bulk, bytes_of_text("key"));

	for (int64_t i = 2; i <= last && r == 0; i++) {
		struct record_event e = change_at(i, key);
		struct mvcc_kv kv = {.key = e.key,
		                     .create_revision = e.create_revision,
		                     .mod_revision = i,
		                     .version = e.version,
		                     .value = e.value};
		size_t len = mvcc_format_kv(&kv, value);

		r = bulk_add(bulk, mvcc_format_rev((struct mvcc_rev){.main = i}, rev),
		             (struct bytes){.data = value, .len = len});
	}
	if (r == 0)
		r = bulk_begin(bulk, bytes_of_text("lease"));
	if (r == 0)
		r = bulk_begin(bulk, bytes_of_text("meta"));
	if (r == 0)
		r = bulk_finish(bulk, &n_bytes);
	if (r == 0)
		r = snapshot_append_digest(fd, n_bytes);
	errno = -r;
	if (r < 0)
		(void) die(path);
}

/* --- the record --- */

static void flush(struct record_writer *writer, FILE *file)
{
	struct bytes pending = record_writer_pending(writer);

	if (fwrite(pending.data, 1, pending.len, file) != pending.len)
		(void) die("cannot write the record");
	record_writer_written(writer);
}

static void add_revision(struct record_writer *writer, int64_t revision)
{
	struct record_buffer buffer = {0};
	char key[64];
	struct record_event e = change_at(revision, key);
	const struct record_frame frame = {.type = RECORD_EVENTS,
	                                   .revision = revision,
	                                   .wall_us = revision * 1000,
	                                   .events = &e,
	                                   .n_events = 1};

	if (record_encode(&buffer, &frame) < 0)
		(void) die("a change is too long");
	record_writer_add(writer, (struct bytes){.data = buffer.data, .len = buffer.len});
	record_buffer_fini(&buffer);
}

/* One segment from this revision on; returns the last one in it. */
static int64_t write_segment(const char *directory, struct record_header *header, int64_t last)
{
	struct record_writer *writer = record_writer_new(header);
	char name[RECORD_NAME_MAX];
	AUTO(free)
	char *path = xasprintf("%s/record/%s", directory, record_name(header, name));
	FILE *file = fopen(path, "we");
	int64_t revision = header->first_revision - 1;
	size_t n_bytes = 0;

	if (file == NULL)
		(void) die(path);
	while (revision < last && n_bytes < SEGMENT_BYTES) {
		add_revision(writer, ++revision);
		n_bytes += record_writer_pending(writer).len;
		flush(writer, file);
	}
	record_writer_end(writer, revision, revision * 1000, header->previous);
	flush(writer, file);
	record_writer_free(writer);
	if (fclose(file) != 0)
		(void) die(path);
	return revision;
}

int main(int argc, char **argv)
{
	struct record_header header = {.sequence = 1, .cluster_id = CLUSTER_ID};
	AUTO(free) char *record = NULL;
	int64_t base, last, done;

	if (argc != 4) {
		(void) fputs("usage: past DIRECTORY BASE_MB RECORD_MB\n", stderr);
		return 2;
	}
	base = 1 + atol(argv[2]) * MB / VALUE_BYTES;
	last = base + atol(argv[3]) * MB / VALUE_BYTES;
	record = xasprintf("%s/record", argv[1]);
	if (mkdir(record, 0700) < 0)
		(void) die(record);
	write_base(argv[1], base);
	for (done = base; done < last; header.sequence++) {
		header.first_revision = done + 1;
		header.wall_us = header.first_revision * 1000;
		done = write_segment(argv[1], &header, last);
	}
	(void) printf("base to revision %" PRId64 ", record to %" PRId64 "\n", base, last);
	return 0;
}
