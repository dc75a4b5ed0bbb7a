/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One file of the record: what happened in etcd behind a revision, change by change, as a watch
 * over all keys told it. The daemon writes them, the worker reads them; recordbase.h says which of
 * them belong together. Here only their format is known. Numbers are little-endian.
 *
 * File name: `<cluster id, 16 hex digits>-<first revision, 20 digits>-<sequence, 10 digits>.rec`.
 *
 * Header: "FLRECORD", version (4 bytes, 1), length of the name (2), sequence (8), cluster id (8),
 *   member id (8), first revision (8), wall time (8), digest of the segment before it (32), name,
 *   checksum (4). A later version has the same layout, so that its checksum tells a later version
 *   from a damaged one.
 * Frame: length of the payload (4), type (1), payload, checksum (4).
 *
 * A checksum is the CRC-32C of all bytes of the file before it but for the other checksums, so that
 * a frame that is missing, doubled or elsewhere is as wrong as a changed one. A segment that is
 * closed ends with a frame END, which has the SHA-256 of all bytes before that frame: this is the
 * segment's digest, which the header of the next one repeats. All zeros there: a chain begins.
 *
 * The header's wall time is when nothing behind the first revision's predecessor had been seen:
 * when the chain began, else that of the last EVENTS or PROGRESS before it. END tells when the
 * segment was closed, be it days later; of etcd that says nothing.
 *
 * Payloads (times are wall clock, microseconds since the epoch, 8 bytes; revisions 8 bytes):
 *   EVENTS     one whole revision: revision, time, n (4), then n times in the order of etcd:
 *              kind (1: 0 put, 1 delete), length of the key (4), key, and of a put create revision,
 *              version, lease (8 each), length of the value (4), value
 *   PROGRESS   revision, time: all up to it has been seen
 *   LEASE      id (8), TTL as it was granted, seconds (8; 0: the lease is gone), time
 *   HASH       revision, compact revision (-1: none), time, member id (8), hash (4): what that
 *              member answered to HashKV at the revision
 *   COMPACTED  revision, time: this was found to be compacted
 *   GAP        first and last revision that are lost (the last is 0 while nobody knows it), time,
 * the reason in words; nothing but END may follow END        last revision, time, digest (32);
 * nothing may follow
 *
 * The last segment of a chain may be open: still written to, or left by a crash. Then it ends with
 * its last frame that is whole. Bytes behind that in which no other whole frame is are what had not
 * got to the disk; if there is one, something in the middle is damaged.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bolt/bytes.h"
#include "web/digest.h"

#define RECORD_SUFFIX ".rec"
#define RECORD_NAME_MAX 64
#define RECORD_MEMBER_NAME_MAX 256
#define RECORD_FRAME_BYTES_MAX ((size_t) 128 << 20) /* of a payload; a watch holds back less */
/* Of EVENTS; more than a watch hands out of one revision. In memory each takes more than the few
 * bytes that it may have in the file: all of them no more than the longest payload. */
#define RECORD_FRAME_EVENTS_MAX ((size_t) 2 << 20)
#define RECORD_FAULT_MAX 512

struct record_header {
	uint64_t sequence; /* grows with each segment of a directory */
	uint64_t cluster_id;
	uint64_t member_id; /* whom it was recorded from in the beginning */
	char member[RECORD_MEMBER_NAME_MAX];
	int64_t first_revision; /* that is expected: one more than the last one of the chain so far */
	int64_t wall_us;
	uint8_t previous[DIGEST_SHA256_BYTES]; /* zeros: a chain begins */
};

bool record_begins_chain(const struct record_header *header);

/* Returns `buf`. */
const char *record_name(const struct record_header *header, char buf[static RECORD_NAME_MAX]);
/* Whether it is one, and what it says: cluster id, first revision and sequence. */
bool record_name_parse(const char *name, struct record_header *ret_header);

enum record_type {
	RECORD_EVENTS = 1,
	RECORD_PROGRESS,
	RECORD_LEASE,
	RECORD_HASH,
	RECORD_COMPACTED,
	RECORD_GAP,
	RECORD_END,
};

struct record_event {
	bool is_delete; /* then there is nothing but the key */
	struct bytes key;
	int64_t create_revision;
	int64_t version;
	int64_t lease; /* 0: none */
	struct bytes value;
};

struct record_frame {
	enum record_type type;
	int64_t wall_us;
	int64_t revision; /* EVENTS, PROGRESS, HASH, COMPACTED; GAP: the first lost; END: the last */
	const struct record_event *events; /* EVENTS, at least one */
	size_t n_events;
	int64_t lease, ttl_s;                /* LEASE */
	int64_t compact_revision;            /* HASH */
	uint64_t member_id;                  /* HASH */
	uint32_t hash;                       /* HASH */
	int64_t last_lost;                   /* GAP */
	struct bytes reason;                 /* GAP; no NUL behind it */
	uint8_t digest[DIGEST_SHA256_BYTES]; /* END */
};

/* EVENTS and PROGRESS: by its time all up to its revision, and nothing else, had been seen. */
bool record_tells_time(const struct record_frame *frame);

/* What a revision has, in two numbers: the same for the same changes. 0: there are none of those.
 */
struct record_sum {
	uint32_t puts, deletes;
};
struct record_sum record_event_sum(const struct record_event *events, size_t n_events);
/* The revision that was recorded may be the one that is seen now. Deletions need not be there any
 * more, as a compaction at their own revision removes them. */
bool record_sum_fits(struct record_sum recorded, struct record_sum seen);

/* --- writing --- */

/* Bytes that grow; `data` is freed by record_buffer_fini(). {0} is an empty one. */
struct record_buffer {
	uint8_t *data;
	size_t len, size;
};

void record_buffer_fini(struct record_buffer *buffer);

#define RECORD_BARE_HEAD_BYTES 5 /* length and type, in front of the payload */

/* Adds a frame as it will stand in a file, but for its checksum: what one thread puts together and
 * another one seals. Not for END. -E2BIG: longer than a frame may be, or of more
 * events; nothing was added. */
int record_encode(struct record_buffer *buffer, const struct record_frame *frame);

struct record_writer;
struct record_reader;

/* Begins a segment; its header is the first that is pending. */
struct record_writer *record_writer_new(const struct record_header *header);
/* Goes on where the reader has come to, which must not be behind an END. The reader cannot read on
 * then. */
struct record_writer *record_writer_resume(struct record_reader *reader);
void record_writer_free(struct record_writer *writer);
DEFINE_AUTO(struct record_writer, record_writer_free);

/* Seals frames that record_encode() made. */
void record_writer_add(struct record_writer *writer, struct bytes frames);
/* Adds END, with the last revision, and tells the segment's digest. Nothing may be added then. */
void record_writer_end(struct record_writer *writer, int64_t revision, int64_t wall_us,
                       uint8_t ret_digest[static DIGEST_SHA256_BYTES]);

/* What is to be written at the end of the file. It stays until record_writer_written(), which
 * forgets it. */
struct bytes record_writer_pending(const struct record_writer *writer);
void record_writer_written(struct record_writer *writer);

/* --- reading --- */

enum record_tail {
	RECORD_TAIL_NONE,   /* not at its end yet */
	RECORD_TAIL_CLOSED, /* ends with END */
	RECORD_TAIL_OPEN,   /* ends with a whole frame */
	RECORD_TAIL_TORN,   /* and there are bytes behind it that count for nothing */
};

/*
 * Opens a file and reads its header. 0; -ENODATA if there is less than a header; -EBADMSG if it is
 * damaged or none of ours; -EPROTONOSUPPORT if a later version wrote it; or -errno. ret_fault is
 * then a sentence with the path and, for damage, the offset.
 */
int record_reader_open(const char *path, struct record_reader **ret_reader,
                       char ret_fault[static RECORD_FAULT_MAX]);
void record_reader_free(struct record_reader *reader);
DEFINE_AUTO(struct record_reader, record_reader_free);

/*
 * The next frame. 1; 0: that was all, and record_reader_tail() says how it ends; -EBADMSG: damaged;
 * or -errno, with record_reader_fault(). What the frame points to is good until the next call. That
 * revisions follow each other without a gap, and that progress does not run ahead of them, has been
 * checked. Memory: RECORD_FRAME_BYTES_MAX, twice: for the longest frame and for its events, or in
 * search of another frame behind a wrong one.
 */
int record_reader_next(struct record_reader *reader, struct record_frame *ret_frame);

/*
 * What the END of a closed segment says, read from the end of the file without what is before it:
 * neither order nor digest are proven. 0; -ENODATA: it is not closed; or as record_reader_open().
 */
int record_peek_end(const char *path, struct record_header *ret_header,
                    struct record_frame *ret_end, uint64_t *ret_bytes,
                    char ret_fault[static RECORD_FAULT_MAX]);

const struct record_header *record_reader_header(const struct record_reader *reader);
const char *record_reader_path(const struct record_reader *reader);
enum record_tail record_reader_tail(const struct record_reader *reader);
/* Where the next frame begins: after the end, how much of the file counts. */
uint64_t record_reader_offset(const struct record_reader *reader);
/* The last one that has been read; before that, one less than the header's first. */
int64_t record_reader_revision(const struct record_reader *reader);
/* A sentence with path and offset; "" when all is well. */
const char *record_reader_fault(const struct record_reader *reader);
