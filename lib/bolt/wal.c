/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files are read from the one on that holds the index asked for; each begins with the state of
 * raft at that time, so those before it are not needed. Entries may be written again under the same
 * index, by a new leader: the later one counts, and so does what it cuts off.
 */
#include "bolt/wal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "bolt/bytes.h"
#include "bolt/crc32c.h"

#define NAME_BYTES 37 /* 16 digits, '-', 16 digits, ".wal" */
#define FILES_MAX 65536
/* etcd takes requests of 1.5 MiB, unless it is told otherwise. */
#define RECORD_BYTES_MAX ((uint64_t) 256 << 20)
/* Indices of writes are remembered in between, to be cut off again. */
#define WRITES_MAX ((size_t) 1 << 22)

enum record_type {
	RECORD_METADATA = 1, /* {1 member id, 2 cluster id} */
	RECORD_ENTRY = 2,    /* raftpb.Entry {1 type, 2 term, 3 index, 4 data} */
	RECORD_STATE = 3,    /* raftpb.HardState {1 term, 2 vote, 3 commit} */
	RECORD_CRC = 4,      /* the CRC so far */
};

/* Fields of an InternalRaftRequest; the header tells it from a request of etcd 2, by which members
 * tell their names. */
enum request_field {
	REQUEST_PUT = 4,
	REQUEST_DELETE_RANGE = 5,
	REQUEST_TXN = 6,
	REQUEST_LEASE_REVOKE = 9, /* with its keys */
	REQUEST_HEADER = 100,
};

struct wal {
	uint64_t from;
	uint32_t crc;
	bool is_first; /* nothing has been read of the WAL yet */
	bool ended;    /* at a record that is wrong */
	uint8_t *buf;
	size_t size;
	uint64_t *writes; /* indices, ascending */
	size_t n_writes;
	struct wal_reach reach;
};

/* --- files --- */

struct file {
	uint64_t number;
	uint64_t index; /* of its first entry */
};

static int compare_files(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static bool parse_name(const char *name, struct file *ret)
{
	int end = 0;

	return strlen(name) == NAME_BYTES &&
	       sscanf(name, "%16" SCNx64 "-%16" SCNx64 ".wal%n", &ret->number, &ret->index, &end) ==
	           2 &&
	       end == NAME_BYTES;
}

/* In order. */
static int list_files(const char *path, struct file **ret_files, size_t *ret_n)
{
	DIR *stream = opendir(path);
	AUTO(free) struct file *files = NULL;
	const struct dirent *entry;
	size_t n = 0;

	if (stream == NULL)
		return -errno;
	while ((entry = readdir(stream)) != NULL && n < FILES_MAX) {
		files = xreallocarray(files, n + 1, sizeof(*files));
		n += parse_name(entry->d_name, &files[n]);
	}
	(void) closedir(stream);
	if (n == 0)
		return -ENOENT;
	qsort(files, n, sizeof(*files), compare_files);
	*ret_files = TAKE_PTR(files);
	*ret_n = n;
	return 0;
}

/* --- records --- */

static bool read_integers(struct bytes message, uint64_t *ret, uint32_t max_field,
                          struct bytes *ret_data, uint32_t data_field)
{
	struct proto_field field;
	int r;

	while ((r = proto_next(&message, &field)) > 0) {
		if (field.type == PROTO_VARINT && field.number <= max_field)
			ret[field.number] = field.integer;
		else if (field.type == PROTO_BYTES && field.number == data_field && ret_data != NULL)
			*ret_data = field.bytes;
	}
	return r == 0;
}

static bool is_write(struct bytes request)
{
	struct proto_field field;
	bool has_header = false, has_write = false;

	while (proto_next(&request, &field) > 0) {
		has_header |= field.number == REQUEST_HEADER;
		has_write |= (field.number >= REQUEST_PUT && field.number <= REQUEST_TXN) ||
		             field.number == REQUEST_LEASE_REVOKE;
	}
	return has_header && has_write;
}

static void take_entry(struct wal *w, struct bytes data)
{
	uint64_t values[4] = {0};
	struct bytes request = {0};

	if (!read_integers(data, values, 3, &request, 4))
		return;
	w->reach.term = values[2];
	w->reach.last = values[3];
	while (w->n_writes > 0 && w->writes[w->n_writes - 1] >= values[3])
		w->n_writes--;
	if (values[3] <= w->from || values[1] != 0 || !is_write(request) || w->n_writes == WRITES_MAX)
		return;
	w->writes = xreallocarray(w->writes, w->n_writes + 1, sizeof(*w->writes));
	w->writes[w->n_writes++] = values[3];
}

static void take_record(struct wal *w, uint64_t type, struct bytes data)
{
	uint64_t values[4] = {0};

	switch (type) {
	case RECORD_METADATA:
		if (read_integers(data, values, 2, NULL, 0)) {
			w->reach.member_id = values[1];
			w->reach.cluster_id = values[2];
		}
		break;
	case RECORD_ENTRY:
		take_entry(w, data);
		break;
	case RECORD_STATE:
		if (read_integers(data, values, 3, NULL, 0))
			w->reach.commit = values[3];
		break;
	default:
		break;
	}
}

/* False: it is wrong, and the WAL ends before it. */
static bool check_record(struct wal *w, struct bytes record)
{
	uint64_t values[3] = {0};
	struct bytes data = {0};

	if (!read_integers(record, values, 2, &data, 3))
		return false;
	if (values[1] == RECORD_CRC) {
		if (!w->is_first && w->crc != (uint32_t) values[2])
			return false;
		w->crc = (uint32_t) values[2];
	} else {
		w->crc = crc32c_update(w->crc, data.data, data.len);
		if (w->crc != (uint32_t) values[2])
			return false;
	}
	w->is_first = false;
	take_record(w, values[1], data);
	return true;
}

/* --- frames --- */

/* 1: a record was read; 0: it was the end. */
static int read_frame(struct wal *w, FILE *f)
{
	uint8_t head[8];
	uint64_t length, padding;
	size_t n = fread(head, 1, sizeof(head), f);

	if (n < sizeof(head)) {
		w->ended = n > 0;
		return ferror(f) ? -EIO : 0;
	}
	length = bytes_le64(head);
	if (length == 0)
		return 0;
	padding = length >> 63 != 0 ? length >> 56 & 7 : 0;
	length &= ~(UINT64_C(0xff) << 56);
	if (length > RECORD_BYTES_MAX) {
		w->ended = true;
		return 0;
	}
	if (length + padding > w->size) {
		w->size = (size_t) (length + padding);
		w->buf = xreallocarray(w->buf, w->size, 1);
	}
	n = fread(w->buf, 1, (size_t) (length + padding), f);
	if (n < length + padding ||
	    !check_record(w, (struct bytes){.data = w->buf, .len = (size_t) length})) {
		w->ended = true;
		return ferror(f) ? -EIO : 0;
	}
	return 1;
}

static int read_file(struct wal *w, const char *path, const struct file *file)
{
	AUTO(free)
	char *name = xasprintf("%s/%016" PRIx64 "-%016" PRIx64 ".wal", path, file->number, file->index);
	AUTO(fclose) FILE *f = fopen(name, "re");
	int r;

	if (f == NULL)
		return -errno;
	do
		r = read_frame(w, f);
	while (r > 0);
	return r;
}

/* The last file that begins at the index behind `from`, or before. */
static size_t first_needed(const struct file *files, size_t n, uint64_t from)
{
	size_t first = 0;

	for (size_t i = 1; i < n; i++) {
		if (files[i].index <= from + 1)
			first = i;
	}
	return first;
}

int wal_read(const char *path, uint64_t from, struct wal_reach *ret_reach)
{
	struct wal w = {.from = from, .is_first = true};
	AUTO(free) struct file *files = NULL;
	size_t n = 0, first;
	int r = list_files(path, &files, &n);

	if (n == 0)
		return r;
	first = first_needed(files, n, from);
	/* The first file of all says 0, and begins with 1. */
	w.reach.has_gap = files[first].index > from + 1;
	w.reach.last = files[first].index > 0 ? files[first].index - 1 : 0;
	for (size_t i = first; i < n && r >= 0 && !w.ended; i++)
		r = read_file(&w, path, &files[i]);
	for (size_t i = 0; i < w.n_writes; i++)
		*(w.writes[i] <= w.reach.commit ? &w.reach.n_writes : &w.reach.n_unsure) += 1;
	w.reach.is_torn = w.ended;
	free(w.buf);
	free(w.writes);
	if (r < 0)
		return r;
	if (w.is_first)
		return -EBADMSG;
	*ret_reach = w.reach;
	return 0;
}
