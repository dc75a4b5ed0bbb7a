/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for segments of the record: whatever the bytes are, they are read within
 * bounds, and revisions follow each other. Nearly no input would get past the checksums, so, as the
 * first byte chooses, the bytes are the file itself, or frames (type, length, payload) behind a
 * header that are sealed here.
 *
 * max_len: 4096
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "etcdwatch/record/segment.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char file[] = "/dev/shm/fairlead-fuzz-XXXXXX";
static bool is_prepared;

static void remove_file(void)
{
	(void) unlink(file);
}

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void prepare(void)
{
	int fd;

	if (is_prepared)
		return;
	fd = mkstemp(file);
	must(fd >= 0 && close(fd) == 0 && atexit(remove_file) == 0);
	is_prepared = true;
}

static void save(struct bytes bytes)
{
	FILE *f = fopen(file, "we");

	must(f != NULL && fwrite(bytes.data, 1, bytes.len, f) == bytes.len && fclose(f) == 0);
}

static void make(const uint8_t *data, size_t size)
{
	struct record_header header = {.first_revision = 1, .member = "m"};
	AUTO(record_writer_free) struct record_writer *writer = record_writer_new(&header);
	uint8_t digest[DIGEST_SHA256_BYTES], frame[5 + 255];

	for (size_t at = 0; at + 2 <= size;) {
		size_t len = MIN((size_t) data[at + 1], size - at - 2);

		memset(frame, 0, 5);
		frame[0] = (uint8_t) len;
		frame[4] = (uint8_t) (data[at] % 9);
		memcpy(frame + 5, data + at + 2, len);
		record_writer_add(writer, (struct bytes){.data = frame, .len = 5 + len});
		at += 2 + len;
	}
	record_writer_end(writer, 0, 0, digest);
	save(record_writer_pending(writer));
}

static volatile uint8_t sum; /* of all bytes, so that reading them is not left out */

static void look(const struct record_frame *frame)
{
	for (size_t i = 0; i < frame->n_events; i++) {
		const struct record_event *e = &frame->events[i];

		for (size_t k = 0; k < e->key.len; k++)
			sum ^= e->key.data[k];
		for (size_t k = 0; k < e->value.len; k++)
			sum ^= e->value.data[k];
	}
	for (size_t k = 0; k < frame->reason.len; k++)
		sum ^= frame->reason.data[k];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(record_reader_free) struct record_reader *reader = NULL;
	char fault[RECORD_FAULT_MAX];
	struct record_frame frame;
	int64_t last;
	int r;

	if (size == 0)
		return 0;
	prepare();
	if (data[0] % 2 == 0)
		save((struct bytes){.data = data + 1, .len = size - 1});
	else
		make(data + 1, size - 1);
	r = record_reader_open(file, &reader, fault);
	must(r == 0 || r == -EBADMSG || r == -ENODATA || r == -EPROTONOSUPPORT);
	if (r < 0)
		return 0;
	last = record_reader_revision(reader);
	while ((r = record_reader_next(reader, &frame)) > 0) {
		must(frame.type != RECORD_EVENTS || frame.revision == last + 1);
		last = record_reader_revision(reader);
		look(&frame);
	}
	must(r == 0 ? record_reader_tail(reader) != RECORD_TAIL_NONE : r == -EBADMSG);
	must(record_reader_offset(reader) <= size + 4096 * 9);
	return 0;
}
