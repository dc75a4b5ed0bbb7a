/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names order the files: the sequence in them grows. The last file is the one that a crash may
 * have left in the middle of a frame; whatever is cut from it etcd still has, unless it was
 * compacted, and then that is told as a gap. A file without a whole header is not what a crash
 * leaves: recordfile.c gives a segment its name when its header is synced.
 */
#include "etcdwatch/record/recorddir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

#define DAMAGED_SUFFIX ".damaged"
/* So much of the newest chain is read for its history, by whole segments. */
#define HISTORY_BYTES_MAX ((uint64_t) 64 << 20)

static int fail(char *reason, int r, const char *what, const char *path)
{
	(void) snprintf(reason, RECORDDIR_REASON_MAX, "%s '%.300s': %s", what, path, strerror(-r));
	return r;
}

static char *path_of(const char *directory, const struct record_header *header)
{
	char name[RECORD_NAME_MAX];

	return xasprintf("%s/%s", directory, record_name(header, name));
}

void recorddir_fini(struct recorddir *dir)
{
	free(dir->segments);
	recordhistory_free(dir->history);
	*dir = (struct recorddir){0};
}

void recorddir_add(struct recorddir *dir, const struct record_segment *segment)
{
	dir->segments = xreallocarray(dir->segments, dir->n + 1, sizeof(*dir->segments));
	dir->segments[dir->n++] = *segment;
}

int recorddir_sync(const char *directory)
{
	AUTO(close) int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0)
		return -errno;
	return 0;
}

int recorddir_drop(struct recorddir *dir, const char *directory, size_t n,
                   char ret_reason[static RECORDDIR_REASON_MAX])
{
	size_t gone = 0;
	int r = 0;

	while (gone < n && r == 0) {
		AUTO(free) char *path = path_of(directory, &dir->segments[gone].header);

		if (unlink(path) < 0 && errno != ENOENT)
			r = fail(ret_reason, -errno, "cannot remove", path);
		else
			gone++;
	}
	dir->n -= gone;
	if (gone > 0)
		memmove(dir->segments, dir->segments + gone, dir->n * sizeof(*dir->segments));
	return r;
}

/* --- what is there --- */

static int compare_segments(const void *a, const void *b)
{
	const struct record_segment *x = a, *y = b;

	return x->header.sequence < y->header.sequence ? -1 : x->header.sequence > y->header.sequence;
}

/* By their names. */
static int list(struct recorddir *dir, const char *directory, char *reason)
{
	DIR *stream = opendir(directory);
	const struct dirent *entry;

	if (stream == NULL)
		return fail(reason, -errno, "cannot look into", directory);
	while (dir->n < RECORDDIR_SEGMENTS_MAX && (entry = readdir(stream)) != NULL) {
		struct record_segment segment = {0};

		if (record_name_parse(entry->d_name, &segment.header))
			recorddir_add(dir, &segment);
	}
	(void) closedir(stream);
	if (dir->n == RECORDDIR_SEGMENTS_MAX)
		return fail(reason, -E2BIG, "too many segments are in", directory);
	if (dir->n > 0)
		qsort(dir->segments, dir->n, sizeof(*dir->segments), compare_segments);
	return 0;
}

/* One in the middle. What is not closed there does not go on, which recordbase.c sees. */
static void peek(struct recorddir *dir, const char *directory, struct record_segment *s)
{
	AUTO(free) char *path = path_of(directory, &s->header);
	char fault[RECORD_FAULT_MAX];
	struct record_frame end;
	struct stat st;
	int r = record_peek_end(path, &s->header, &end, &s->bytes, fault);

	if (r == 0) {
		s->closed = true;
		s->last_revision = end.revision;
		s->end_us = end.wall_us;
		memcpy(s->digest, end.digest, sizeof(s->digest));
		return;
	}
	s->last_revision = s->header.first_revision - 1;
	if (stat(path, &st) == 0)
		s->bytes = (uint64_t) st.st_size;
	(void) snprintf(dir->damage, sizeof(dir->damage), "'%.300s' is not closed, or damaged", path);
}

/* --- the last one --- */

static int write_all(int fd, struct bytes bytes)
{
	while (bytes.len > 0) {
		ssize_t n = write(fd, bytes.data, bytes.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		bytes.data += n;
		bytes.len -= (size_t) n;
	}
	return 0;
}

/* Cuts what does not count, and writes the end behind what does. */
static int close_segment(struct record_segment *s, const char *path, struct record_reader *reader)
{
	AUTO(record_writer_free) struct record_writer *writer = record_writer_resume(reader);
	AUTO(close) int fd = open(path, O_WRONLY | O_CLOEXEC);
	uint64_t offset = record_reader_offset(reader);
	int r;

	s->end_us = wall_now_us();
	record_writer_end(writer, s->last_revision, s->end_us, s->digest);
	if (fd < 0 || ftruncate(fd, (off_t) offset) < 0 || lseek(fd, 0, SEEK_END) < 0)
		return -errno;
	r = write_all(fd, record_writer_pending(writer));
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r < 0) {
		/* Half an end is cut off by the next try. */
		return r;
	}
	s->closed = true;
	s->bytes = offset + record_writer_pending(writer).len;
	return 0;
}

static int read_all(struct recorddir *dir, struct record_segment *s, struct record_reader *reader)
{
	struct record_frame frame;
	int r;

	dir->reached_us = s->header.wall_us;
	while ((r = record_reader_next(reader, &frame)) > 0) {
		if (record_tells_time(&frame))
			dir->reached_us = frame.wall_us;
		dir->has_gap |= frame.type == RECORD_GAP;
		if (frame.type == RECORD_END) {
			s->end_us = frame.wall_us;
			memcpy(s->digest, frame.digest, sizeof(s->digest));
		}
	}
	s->last_revision = record_reader_revision(reader);
	s->closed = record_reader_tail(reader) == RECORD_TAIL_CLOSED;
	return r;
}

/* 0: it is there, and closed; -ENODATA, -EBADMSG: it has no header that can be used. */
static int mend(struct recorddir *dir, struct record_segment *s, const char *path, char *reason)
{
	AUTO(record_reader_free) struct record_reader *reader = NULL;
	struct stat st;
	int r = record_reader_open(path, &reader, reason);

	if (r < 0)
		return r;
	s->header = *record_reader_header(reader);
	r = read_all(dir, s, reader);
	if (r < 0 && r != -EBADMSG) {
		(void) snprintf(reason, RECORDDIR_REASON_MAX, "%s", record_reader_fault(reader));
		return r;
	}
	if (r == -EBADMSG)
		(void) snprintf(dir->damage, sizeof(dir->damage), "%s", record_reader_fault(reader));
	if (stat(path, &st) < 0)
		return fail(reason, -errno, "cannot look at", path);
	s->bytes = (uint64_t) st.st_size;
	if (s->closed && r == 0)
		return 0;
	dir->n_cut = s->bytes - record_reader_offset(reader);
	r = close_segment(s, path, reader);
	return r < 0 ? fail(reason, r, "cannot close", path) : 0;
}

/* Removes it from the list; the file is out of the way. */
static int put_aside(struct recorddir *dir, const char *path, char *reason)
{
	AUTO(free) char *aside = xasprintf("%s" DAMAGED_SUFFIX, path);

	(void) snprintf(dir->damage, sizeof(dir->damage), "%s", reason);
	if (rename(path, aside) < 0)
		return fail(reason, -errno, "cannot put aside", path);
	dir->n--;
	return 0;
}

static int open_last(struct recorddir *dir, const char *directory,
                     const struct recorddir_certain *certain, char *reason)
{
	while (dir->n > 0) {
		struct record_segment *s = &dir->segments[dir->n - 1];
		AUTO(free) char *path = path_of(directory, &s->header);
		int r;

		if (certain->path != NULL && strcmp(certain->path, path) == 0 &&
		    truncate(path, (off_t) certain->bytes) < 0)
			return fail(reason, -errno, "cannot cut", path);
		r = mend(dir, s, path, reason);
		if (r == 0)
			return 0;
		if (r != -ENODATA && r != -EBADMSG)
			return r;
		r = put_aside(dir, path, reason);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Also one that an earlier start has set aside, which ended before it could tell. */
static int find_lost(struct recorddir *dir, const char *directory, char *reason)
{
	uint64_t last = dir->n > 0 ? dir->segments[dir->n - 1].header.sequence : 0;
	DIR *stream = opendir(directory);
	const struct dirent *entry;

	if (stream == NULL)
		return fail(reason, -errno, "cannot look into", directory);
	while ((entry = readdir(stream)) != NULL) {
		AUTO(free) char *name = xstrdup(entry->d_name);
		char *suffix = strstr(name, DAMAGED_SUFFIX);
		struct record_header lost;

		if (suffix == NULL || suffix[strlen(DAMAGED_SUFFIX)] != '\0')
			continue;
		*suffix = '\0';
		if (record_name_parse(name, &lost) && lost.first_revision > 0 &&
		    lost.sequence > MAX(last, dir->lost.sequence))
			dir->lost = lost;
	}
	(void) closedir(stream);
	return 0;
}

static void read_segment(struct recordhistory *history, const char *path)
{
	AUTO(record_reader_free) struct record_reader *reader = NULL;
	char fault[RECORD_FAULT_MAX];
	struct record_frame frame;

	if (record_reader_open(path, &reader, fault) < 0)
		return;
	while (record_reader_next(reader, &frame) > 0) {
		if (frame.type == RECORD_EVENTS)
			recordhistory_add(history, frame.revision, frame.events, frame.n_events);
		else if (frame.type == RECORD_HASH)
			recordhistory_set_hash(
			    history, &(struct recordhistory_hash){.revision = frame.revision,
			                                          .compact_revision = frame.compact_revision,
			                                          .hash = frame.hash});
	}
}

/* At least back to the last change. */
static struct recordhistory *read_history(const struct recorddir *dir, const char *directory)
{
	AUTO(recordhistory_free) struct recordhistory *history = recordhistory_new();
	size_t i = dir->n, first = recordchain_newest(dir->segments, dir->n);
	bool has_change = false;
	uint64_t bytes = 0;

	while (i > first && (!has_change || bytes + dir->segments[i - 1].bytes <= HISTORY_BYTES_MAX)) {
		const struct record_segment *s = &dir->segments[--i];

		bytes += s->bytes;
		has_change |= s->last_revision >= s->header.first_revision;
	}
	for (; i < dir->n; i++) {
		AUTO(free) char *path = path_of(directory, &dir->segments[i].header);

		read_segment(history, path);
	}
	if (dir->n == 0 || recordhistory_last(history) != dir->segments[dir->n - 1].last_revision)
		return NULL;
	return TAKE_PTR(history);
}

int recorddir_open(const char *directory, const struct recorddir_certain *certain,
                   struct recorddir *ret_dir, char ret_reason[static RECORDDIR_REASON_MAX])
{
	struct recorddir dir = {0};
	int r;

	if (mkdir(directory, 0700) < 0 && errno != EEXIST)
		return fail(ret_reason, -errno, "cannot make", directory);
	r = list(&dir, directory, ret_reason);
	if (r == 0)
		r = open_last(&dir, directory, certain, ret_reason);
	if (r == 0)
		r = find_lost(&dir, directory, ret_reason);
	for (size_t i = 0; r == 0 && i + 1 < dir.n; i++)
		peek(&dir, directory, &dir.segments[i]);
	if (r == 0)
		dir.history = read_history(&dir, directory);
	if (r == 0) {
		r = recorddir_sync(directory);
		if (r < 0)
			(void) fail(ret_reason, r, "cannot sync", directory);
	}
	if (r < 0) {
		recorddir_fini(&dir);
		return r;
	}
	*ret_dir = dir;
	return 0;
}
