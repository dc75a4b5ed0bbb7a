/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How far the write-ahead log of a member goes. What a member has agreed to is in there first and
 * in its database a little later (100 ms, or 10,000 changes), so the database of a member that was
 * killed lacks what only its WAL has. Nothing is written.
 *
 * A WAL is a directory of files "<number>-<first index>.wal". Each is a row of frames: 8 bytes,
 * little-endian, of length and padding, a walpb.Record {1 type, 2 crc, 3 data}, and the padding; a
 * length of 0 is the end of what was written. The CRC-32C goes on from record to record and file to
 * file. Read off etcd 3.4 to 3.6, and measured against 3.4.23 and 3.5.16.
 *
 * Blocking. A file is passed through once, in little memory.
 */

#include <stdbool.h>
#include <stdint.h>

struct wal_reach {
	uint64_t cluster_id;
	uint64_t member_id;
	uint64_t term;   /* of the last entry */
	uint64_t last;   /* index of the last entry; 0: none */
	uint64_t commit; /* up to which it is known that a majority has them; may be more */
	uint64_t
	    n_writes; /* entries behind the index asked for, up to `commit`, that may change keys */
	uint64_t n_unsure; /* the same behind `commit`: a majority may have agreed to them or not */
	bool is_torn; /* it ends in the middle of a record, or with one that is wrong, as after a power
	                 cut: what is behind is not counted */
	bool has_gap; /* it begins behind the index asked for */
};

/*
 * `path` is the directory. Entries are counted behind the index `from`. -ENOENT if there is no WAL
 * in it, -EBADMSG if what is there is none, or -errno.
 */
int wal_read(const char *path, uint64_t from, struct wal_reach *ret_reach);
