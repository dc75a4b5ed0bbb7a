/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Segments of a record made for tests: a writer whose bytes go into a file at once, and frames put
 * into words.
 */

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/record/segment.h"
#include "tests/unit/check.h"

#define RECORDFILE_MAX 8192

/* One whole segment in memory. */
struct recordfile {
	struct record_writer *writer;
	size_t ends[64]; /* of the header, and of each frame */
	size_t n_ends;
	uint8_t bytes[RECORDFILE_MAX];
	size_t len;
};

static inline UNUSED void recordfile_flush(struct recordfile *file)
{
	struct bytes pending = record_writer_pending(file->writer);

	if (pending.len == 0 || !CHECK(file->len + pending.len <= sizeof(file->bytes)))
		return;
	memcpy(file->bytes + file->len, pending.data, pending.len);
	file->len += pending.len;
	file->ends[file->n_ends++] = file->len;
	record_writer_written(file->writer);
}

static inline UNUSED void recordfile_begin(struct recordfile *file, int64_t first,
                                           uint64_t sequence,
                                           const uint8_t previous[DIGEST_SHA256_BYTES])
{
	struct record_header header = {
	    .sequence = sequence,
	    .cluster_id = 0xc1,
	    .member_id = 0xa,
	    .member = "cp1",
	    .first_revision = first,
	    .wall_us = 1000000 * first,
	};

	if (previous != NULL)
		memcpy(header.previous, previous, sizeof(header.previous));
	*file = (struct recordfile){.writer = record_writer_new(&header)};
	recordfile_flush(file);
}

static inline UNUSED void recordfile_add(struct recordfile *file, const struct record_frame *frame)
{
	struct record_buffer buffer = {0};

	CHECK_EQ_INT(record_encode(&buffer, frame), 0);
	record_writer_add(file->writer, (struct bytes){.data = buffer.data, .len = buffer.len});
	record_buffer_fini(&buffer);
	recordfile_flush(file);
}

/* A put of "k<revision>", seen at so many seconds as its revision. */
static inline UNUSED void recordfile_put(struct recordfile *file, int64_t revision)
{
	char key[32];
	struct record_event event = {
	    .create_revision = revision,
	    .version = 1,
	    .value = bytes_of_text("v"),
	};

	(void) snprintf(key, sizeof(key), "k%" PRId64, revision);
	event.key = bytes_of_text(key);
	recordfile_add(file, &(struct record_frame){.type = RECORD_EVENTS,
	                                            .revision = revision,
	                                            .wall_us = 1000000 * revision,
	                                            .events = &event,
	                                            .n_events = 1});
}

static inline UNUSED void recordfile_progress(struct recordfile *file, int64_t revision,
                                              int64_t wall_us)
{
	recordfile_add(file, &(struct record_frame){
	                         .type = RECORD_PROGRESS, .revision = revision, .wall_us = wall_us});
}

static inline UNUSED void recordfile_gap(struct recordfile *file, int64_t from, int64_t to)
{
	recordfile_add(file, &(struct record_frame){.type = RECORD_GAP,
	                                            .revision = from,
	                                            .last_lost = to,
	                                            .wall_us = 1000000 * from,
	                                            .reason = bytes_of_text("compacted")});
}

static inline UNUSED void recordfile_end(struct recordfile *file, int64_t revision,
                                         uint8_t ret_digest[static DIGEST_SHA256_BYTES])
{
	record_writer_end(file->writer, revision, 1000000 * revision + 1, ret_digest);
	recordfile_flush(file);
}

/* The first `len` bytes of it. */
static inline UNUSED void recordfile_save(const struct recordfile *file, size_t len,
                                          const char *path)
{
	CHECK_EQ_INT(file_write_atomic(path, file->bytes, len, 0600, FILE_VOLATILE), 0);
}

/* And ends with it. */
static inline UNUSED void recordfile_close(struct recordfile *file, const char *path)
{
	recordfile_save(file, file->len, path);
	record_writer_free(file->writer);
	file->writer = NULL;
}

/* Each file's revisions, and how it ends: "1-3. 4-5 ": a point stands for an end. */
static inline UNUSED const char *recordfile_content(const char *directory)
{
	static char text[1024];
	struct dirent **names = NULL;
	int n = scandir(directory, &names, NULL, alphasort);
	size_t len = 0;

	text[0] = '\0';
	for (int i = 0; i < n; i++) {
		AUTO(record_reader_free) struct record_reader *reader = NULL;
		AUTO(free) char *path = xasprintf("%s/%s", directory, names[i]->d_name);
		char fault[RECORD_FAULT_MAX];
		struct record_frame frame;
		bool has_gap = false;

		if (names[i]->d_name[0] != '.' && record_reader_open(path, &reader, fault) == 0) {
			while (record_reader_next(reader, &frame) > 0)
				has_gap |= frame.type == RECORD_GAP;
			len += (size_t) snprintf(
			    text + len, sizeof(text) - len, "%s%" PRId64 "-%" PRId64 "%s%s ",
			    record_begins_chain(record_reader_header(reader)) ? "*" : "",
			    record_reader_header(reader)->first_revision, record_reader_revision(reader),
			    has_gap ? "!" : "", record_reader_tail(reader) == RECORD_TAIL_CLOSED ? "." : "");
		}
		free(names[i]);
	}
	free(names);
	return text;
}
