/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A bbolt database file, for reading (bulk.h writes one): its meta pages and the bytes of its other
 * pages. It is read with pread(2) and never mapped, so the memory in use does not grow with the
 * file, and a file that is cut off or rewritten meanwhile gives an error, not a signal. Nothing the
 * file says is believed before it was checked; what does not hold is told as a fault.
 *
 * Blocking: for the CLI and for worker threads. A file may be read by several threads, each with
 * its own struct bolt.
 *
 * Source of the format: go.etcd.io/bbolt of etcd 3.4 to 3.6, which have the same one.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/macro.h"

/* bbolt takes the page size of the machine that made the file. */
#define BOLT_PAGE_BYTES_MIN 4096
#define BOLT_PAGE_BYTES_MAX 65536

/* etcd advises against more than 8 GiB. */
#define BOLT_FILE_BYTES_MAX ((uint64_t) 1 << 40)

/* Of a database that keeps no list of its free pages, as etcd's. */
#define BOLT_NO_FREELIST UINT64_MAX

/*
 * What is wrong, and where. Filled by the call that fails, and untouched by those that do not.
 * -EBADMSG means that the file is damaged; any other error that it could not be read.
 */
#define BOLT_WHAT_MAX 200
#define BOLT_NO_PAGE UINT64_MAX
struct bolt_fault {
	uint64_t page;            /* BOLT_NO_PAGE when it is not about one */
	char what[BOLT_WHAT_MAX]; /* one line, "page 12: ...", with nothing of the file's own text */
};

/* Of the meta page in force. */
struct bolt_meta {
	uint32_t page_bytes;
	uint64_t root;     /* the page of the root bucket */
	uint64_t freelist; /* the page of the list of free pages, or BOLT_NO_FREELIST */
	uint64_t n_pages;  /* every page's number is less (bbolt's high-water mark) */
	uint64_t txid;     /* the transaction that wrote it */
};

struct bolt;

/*
 * Reads the database in the first n_bytes of fd. Both are borrowed until bolt_close(), and so is
 * `fault`, in which all that is done with the database reports. -EBADMSG, -EIO, ...
 */
int bolt_open(int fd, uint64_t n_bytes, struct bolt_fault *fault, struct bolt **ret_db);
void bolt_close(struct bolt *db);
DEFINE_AUTO(struct bolt, bolt_close);

const struct bolt_meta *bolt_get_meta(const struct bolt *db);

/*
 * bbolt keeps two meta pages and writes them in turn, so one may be broken by a crash. Whole copies
 * made by a transaction (etcd's snapshots) have two good ones that say the same; this tells whether
 * it is so: 0 or -EBADMSG.
 */
int bolt_check_both_metas(struct bolt *db);

/*
 * For one who waits: how far each pass over the file has come. What it is ("digest", "keys",
 * "tree", "hashkv"; static), and of how many bytes, 0: nobody knows beforehand. It begins with 0
 * bytes, and goes on with each page that is come to: free pages are not, so it may end before it is
 * at 100 %.
 */
typedef void (*bolt_pass_fn)(const char *pass, uint64_t bytes, uint64_t of_bytes, void *userdata);
void bolt_on_pass(struct bolt *db, bolt_pass_fn fn, void *userdata);

/*
 * Whether somebody has the file open for writing, as etcd has: 1, 0, or -errno. bbolt holds a lock
 * (flock(2)) meanwhile, which is seen from whatever container. A file that is not there is used by
 * nobody.
 */
int bolt_is_locked(const char *path);

/* --- for the other files of this library --- */

/* Page `id` (0 or 1) with this meta; what is behind these bytes is zero. */
#define BOLT_META_BYTES 80
void bolt_format_meta(const struct bolt_meta *meta, uint64_t id,
                      uint8_t page[static BOLT_META_BYTES]);

/* All of [offset, offset + len), or an error. */
int bolt_read(struct bolt *db, uint64_t offset, void *buf, size_t len);

/* A pass begins, over all of the file, or over a part that nobody knows; it has come so much
 * further; what is read from here on is none of it. */
void bolt_pass_begin(struct bolt *db, const char *pass, bool is_whole);
void bolt_pass_add(struct bolt *db, uint64_t bytes);
void bolt_pass_end(struct bolt *db);

/* Reports a fault. */
void bolt_note_fault(struct bolt *db, uint64_t page, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* The same, and is -EBADMSG: where it is used, so that whoever reads one file alone, as a compiler
 * does, sees that an error is what comes back. */
#define bolt_fail(db, page, ...) (bolt_note_fault(db, page, __VA_ARGS__), -EBADMSG)
